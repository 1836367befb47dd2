# SPDX-License-Identifier: Apache-2.0
"""The generations of NeuronCores by every name they have. The table (generations.def) is the one
that hone reads."""

import collections

from hone_runner import tables

# name: of the product ("trn2"), what a person writes; alias: of the core ("gen3").
Generation = collections.namedtuple("Generation", "id number name alias sbuf_bytes")

TABLE = [Generation(*row) for row in tables.Table("generations.def").of("GENERATION")]
# Instances that have the cores of another product.
SAME = {"inf2": "trn1"}


def find(name):
    """The generation that a name, an alias or an instance's family stands for, or None."""
    name = SAME.get(name, name)
    return next((row for row in TABLE if name in (row.name, row.alias)), None)


def names():
    """The names of all, for people."""
    every = [row.name for row in TABLE]
    return ", ".join(every[:-1]) + " and " + every[-1]
