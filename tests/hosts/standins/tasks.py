# SPDX-License-Identifier: Apache-2.0
"""The seed tasks in a size that takes a moment, in both dialects: the seed's own kernel where it is
of that dialect, otherwise the one in kernels/. Also kernels that are wrong, each in its own way."""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(HERE))), "seeds")
SIZES = {"silu": "M, N = 256, 512", "softmax": "M, N = 256, 512",
         "matmul": "M, N, K = 256, 512, 256",
         "add_rmsnorm_matmul": "M, N, K = 256, 512, 256"}
TASKS = sorted(SIZES)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def kernel(name, dialect):
    own = os.path.join(HERE, "kernels", "%s_%s.py" % (name, dialect))
    return read(own if os.path.exists(own) else os.path.join(SEEDS, name, "kernel.py"))


# A seed's reference computes in float32, in an order that depends on BLAS. In double precision its
# last digits are the same everywhere.
IN_DOUBLE = """

forward_in_float32 = forward


def forward(*inputs):
    wide = [x.astype(np.float64) if isinstance(x, np.ndarray) else x for x in inputs]
    return forward_in_float32(*wide).astype(np.float32)
"""


def reference(name):
    text = read(os.path.join(SEEDS, name, "reference.py"))
    smaller, count = re.subn(r"^M, N(, K)? = \d.*$", SIZES[name], text, flags=re.M)
    if count != 1:
        raise SystemExit("seeds/%s/reference.py has no line of sizes" % name)
    return smaller + IN_DOUBLE


def make(folder, name, dialect, change=None):
    """A task's folder. `change` is (old, new) in the kernel."""
    text = kernel(name, dialect)
    if change:
        if change[0] not in text:
            raise SystemExit("%s (%s) has no %r" % (name, dialect, change[0]))
        text = text.replace(*change)
    write(os.path.join(folder, "kernel.py"), text)
    write(os.path.join(folder, "reference.py"), reference(name))
    return folder


# What turns silu into a kernel that fails: (legacy, current). The first two do not compile.
BAD = {
    "no such name": (("nl.exp(", "nl.expp("), ("nisa.reciprocal(", "nisa.reciprocall(")),
    "too many partitions": (("TILE_M = 128\n", "TILE_M = 256\n"), ("128, 256\n", "256, 256\n")),
    "wrong": (("nl.add(power, 1.0)", "nl.add(power, 1.5)"), ("operand0=1.0)", "operand0=1.5)")),
    "subtly wrong": (("nl.multiply(x_tile, -1.0)", "nl.multiply(x_tile, -1.001)"),
                     ("scale=-1.0", "scale=-1.001")),
    "zeros": (("nl.multiply(x_tile, gate)", "nl.multiply(x_tile, 0.0)"),
              ("nisa.tensor_tensor(dst=tile, data1=tile, data2=below, op=nl.multiply)",
               "nisa.memset(dst=tile, value=0.0)")),
    "copies": (("value=y_tile", "value=x_tile"),
               ("            nisa.tensor_tensor(dst=tile, data1=tile, data2=below, "
                "op=nl.multiply)\n",
                "")),
}


def with_decorator(folder, words):
    """silu in the current dialect, with options for its decorator. One parameter has a default."""
    made = make(folder, "silu", "current", ("@nki.jit\ndef kernel(x):",
                                            "@nki.jit%s\ndef kernel(x, one=1.0):" % words))
    path = os.path.join(made, "kernel.py")
    write(path, read(path).replace("operand0=1.0", "operand0=one"))
    return made


def big_tile(text):
    """A kernel with one tile more than fits SBUF, which the back end finds."""
    return text.replace("    for m in", "    big = nl.ndarray((128, 70000), dtype=nl.float32, "
                        "buffer=nl.sbuf)\n    nisa.memset(dst=big, value=0.0)\n    nisa.dma_copy("
                        "dst=y[0:128, 0:512], src=big[0:128, 0:512])\n    for m in", 1)


def bad(folder, what, dialect):
    return make(folder, "silu", dialect, BAD[what][dialect == "current"])


if __name__ == "__main__":
    make(*sys.argv[1:4])
