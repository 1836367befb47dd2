# SPDX-License-Identifier: Apache-2.0
from standin import host, kernels

if "frontend" in host.LINE["api"]:
    ParserFrontend = TracerFrontend = kernels.Frontend
