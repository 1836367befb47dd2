# SPDX-License-Identifier: Apache-2.0
"""The context of the intermediate representation, which has a place of its own from 0.6 on."""

from standin import driver, host

if "0.6" <= host.LINE["nki"] < "0.7":
    nki_ir_context = driver.nki_ir_context
