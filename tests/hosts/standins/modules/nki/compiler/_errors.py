# SPDX-License-Identifier: Apache-2.0
from standin.compiler import NCCError   # noqa: F401
