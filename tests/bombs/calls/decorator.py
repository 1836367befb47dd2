# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


def endless(function):
    while True:  # <-
        function = wrap(function)  # <-


def wrap(function):
    def inner():  # <-
        return function()
    return inner  # <-


@endless
def work():
    pass


@nki.jit
def kernel(x):
    work()  # <-
    return x
