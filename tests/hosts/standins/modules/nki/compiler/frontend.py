# SPDX-License-Identifier: Apache-2.0
from standin import driver, host

if "frontend" in host.LINE["api"]:
    ParserFrontend = driver.Frontend
if set(host.LINE["api"]) & {"context", "driver"}:
    TracerFrontend = driver.Frontend
