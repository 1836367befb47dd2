# SPDX-License-Identifier: Apache-2.0
"""Reads a compiler's objects: inputs and outputs of a compiled kernel, under the names that the
releases use, and where its NEFF is."""

import glob
import os

from . import arrays


def spec_row(spec):
    """{"name", "dtype", "shape"} of a tensor spec: an object, or a (name, ...) pair."""
    if isinstance(spec, (tuple, list)):
        name, rest = spec[0], spec[1] if len(spec) > 1 else None
        return {"name": str(name), "dtype": arrays.dtype_name(getattr(rest, "dtype", None)),
                "shape": shape_of(rest)}
    return {"name": str(spec.name), "dtype": arrays.dtype_name(getattr(spec, "dtype", None)),
            "shape": shape_of(spec)}


def shape_of(spec):
    shape = getattr(spec, "shape", None)
    return [int(size) for size in shape] if shape is not None else None


def described(compiled):
    """Inputs and outputs of a compiled kernel, where its object tells them. Outputs that alias an
    input carry that input's name in the NEFF."""
    rows = {"inputs": None, "outputs": None}
    for key, name in (("inputs", "input_specs"), ("outputs", "output_specs")):
        specs = getattr(compiled, name, None)
        if specs is None:
            specs = getattr(getattr(compiled, "descriptor", None), name, None)
        if specs:
            rows[key] = [spec_row(spec) for spec in specs]
    aliases = getattr(compiled, "input_output_aliases", None)
    if callable(aliases):
        aliases = aliases()
    for index, name in (aliases.items() if isinstance(aliases, dict) else ()):
        if rows["outputs"] and isinstance(index, int) and index < len(rows["outputs"]):
            rows["outputs"][index]["alias"] = str(name)
    return rows


def described_by(results):
    """Outputs from the returned arrays: types and shapes, no names."""
    if results is None:
        return None
    several = results if isinstance(results, (tuple, list)) else [results]
    return [{"name": "", "dtype": arrays.dtype_name(getattr(one, "dtype", None)),
             "shape": shape_of(one)} for one in several]


def first_telling(*objects):
    """The answer of the first object that knows anything about outputs."""
    rows = [described(one) for one in objects if one is not None]
    return next((row for row in rows if row["outputs"]), rows[0] if rows else described(None))


def find_neff(folder):
    found = glob.glob(os.path.join(folder, "**", "*.neff"), recursive=True)
    return min(found, key=lambda path: (os.path.basename(path) != "kernel.neff", len(path)),
               default=None)
