#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hone migrate on kernels of our own: for each row of core/migrate/migrate.def a kernel that has
the old form, what becomes of it, and the numbers of both.

    migrate.py HONE"""

import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "..", "..", "core", "migrate", "migrate.def")

HEAD = """import nki
import nki.isa as nisa
import nki.language as nl


"""
BODY = HEAD + """@nki.jit
def kernel(x):
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
%s
    nisa.dma_copy(dst=out, src=t)
    return out
"""
INPUT = "x=128x512:float32"
REG = """    n = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.memset(dst=n, value=3)
    reg = nisa.register_alloc()
    nisa.register_load(reg, n)
"""
PSUM = """    ps = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
    nisa.tensor_copy(dst=ps, src=t)
"""


def body(lines):
    return BODY % "\n".join("    " + line if line else "" for line in lines.splitlines())


class Case:
    """rows: of the table, which it covers. has, lacks: what the new source has, and lacks; asks:
    how many questions; numbers: True identical, None not compared."""

    def __init__(self, rows, old, to, source, has=(), lacks=(), asks=0, numbers=True, inputs=True,
                 accepted=True, name=None):
        self.rows, self.old, self.to, self.source = rows.split(), old, to, source
        self.has, self.lacks, self.asks, self.numbers = has, lacks, asks, numbers
        self.inputs, self.accepted, self.name = inputs, accepted, name


OLDER_LAUNCH = """import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, scale=2.0):
    i = nl.program_id(0)  # rows
    # columns
    j = nl.program_id(axis=1)
    \"\"\"kept
  as it is\"\"\"
    rows = nl.num_programs(0)
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    p, f = nl.mgrid[0:64, 0:128]
    t = nl.load(x[i * 64 + p, j * 128 + f])
    nl.store(out[i * 64 + p, j * 128 + f],
             value=nl.multiply(t, scale * rows))
    return out


def launch(x):
    width = x.shape[1] // 128
    return kernel[2, width](x, scale=3.0)
"""

CASES = [
    Case("psumAccumulateFlag is_moving_zero", "0.1", "0.6", body("""\
ps = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(dst=ps, stationary=t[0:128, 0:128], moving=t,  # kept
               psumAccumulateFlag=0, is_moving_zero=False)"""),
         ["moving=t,  # kept\n", "is_moving_onezero=False"], ["psumAccumulateFlag"], numbers=None,
         inputs=False),
    Case("nki.tensor", "0.1", "0.2", HEAD + """def is_one(a):
    return isinstance(a, nki.tensor)
""", ["nki.meta.tensor"], [], numbers=None, inputs=False),
    Case("platform_target mode", "0.2", "0.3",
         body("nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)").replace(
             "@nki.jit", "@nki.jit(mode='auto', platform_target='trn2')  # why"),
         ["@nki.jit()  # why"], ["mode", "platform_target"]),
    Case("dma_from_psum", "0.2", "0.7", body(PSUM.replace("    ", "") + """\
# to HBM
nisa.dma_copy(dst=out[0:128, 0:512], src=ps[0:128, 0:512])"""),
         ["# to HBM\n    staged_1 = nl.ndarray(ps[0:128, 0:512].shape, "
          "dtype=ps[0:128, 0:512].dtype, buffer=nl.sbuf)\n"
          "    nisa.tensor_copy(dst=staged_1, src=ps[0:128, 0:512])\n"
          "    nisa.dma_copy(dst=out[0:128, 0:512], src=staged_1)"]),
    Case("dma_add", "0.2", "0.3", body("""\
nisa.dma_copy(dst=out, src=t)
nisa.dma_copy(dst=out, src=t, dst_rmw_op=nl.add, unique_indices=True)
nisa.dma_copy(dst=out, src=t, dst_rmw_op=None)"""),
         ["nisa.dma_compute(dst=out, srcs=[t, out], reduce_op=nl.add, unique_indices=True)",
          "nisa.dma_copy(dst=out, src=t)\n"], ["dst_rmw_op"]),
    Case("dma_compute affine_select", "0.2", "0.3", body("""\
nisa.dma_compute(t, [t, t], [1.0, 1.0], nl.add)
nisa.affine_select(t, [[1, 512]], 0, -1, t, 0.0)"""),
         ["nisa.dma_compute(t, [t, t], scales=[1.0, 1.0], reduce_op=nl.add)",
          "nisa.affine_select(t, [[1, 512]], offset=0, channel_multiplier=-1, on_true_tile=t, "
          "on_false_value=0.0)"]),
    Case("memset dge_mode", "0.2", "0.3", body("""\
n = nl.ndarray((128, 1), dtype=nl.int32, buffer=nl.sbuf)
nisa.memset(dst=n, value=2.0)
nisa.dma_copy(dst=t, src=x, dge_mode=1)"""), ["value=2)", "dge_mode=nisa.dge_mode.swdge"]),
    Case("memset reduce_axis", "0.2", "0.3", body("""\
n = nl.ndarray((128, 1), dtype=nl.int32, buffer=nl.sbuf)
nisa.memset(dst=n, value=2.5)
b = nl.ndarray((128, 4, 128), dtype=nl.float32, buffer=nl.sbuf)
s = nl.ndarray((128, 4, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_reduce(dst=s, op=nl.add, data=b, axis=1)"""),
         ["# hone migrate (NKI 0.3): a tile of whole numbers takes no fraction: which number is "
          "meant?\n    nisa.memset(dst=n, value=2.5)", "data=b, axis=2)"], asks=1, numbers=None,
         inputs=False),
    Case("sendrecv register_move", "0.2", "0.3", HEAD + """def exchange(dst, src, wide, reg):
    nisa.sendrecv(src=src, dst=dst, send_to_rank=1, recv_from_rank=1, use_gpsimd_dma=True,
                  pipe_id=0)
    nisa.sendrecv(src=src, dst=dst, send_to_rank=1, recv_from_rank=1, pipe_id=0,
                  use_gpsimd_dma=not wide)
    nisa.register_move(reg, imm=42)
""", ["recv_from_rank=1, dma_engine=nisa.dma_engine.gpsimd_dma,\n",
      "dma_engine=nisa.dma_engine.gpsimd_dma if not wide else nisa.dma_engine.dma)",
      "nisa.register_move(reg, src=nisa.register_alloc(42))"], numbers=None, inputs=False),
    Case("shared_output buffer list_default star identity", "0.2", "0.6",
         body("flag = 1\nif flag is not scale:  # either\n    pass\n"
              "if x is None:\n    pass").replace(
             "kernel(x)", "kernel(x, *, axes=[0], scale=(1))").replace("nl.shared_hbm", "nl.hbm")
         .replace("buffer=nl.sbuf", "buffer='sbuf'"),
         ["def kernel(x, axes=(0,), scale=(1)):", "buffer=nl.shared_hbm", "buffer=nl.sbuf",
          "if flag != scale:  # either", "if x is None:"]),
    Case("star", "0.2", "0.6", body("pass").replace("kernel(x)", "kernel(x, k=1, *, axis)"),
         ["kernel(x, k=1, *, axis)", "# hone migrate (NKI 0.3): a kernel's signature"], asks=1,
         numbers=None, inputs=False, accepted=False),
    Case("dma_cast transpose_rank range_select", "0.1", "0.6", body("""\
h = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)
nisa.dma_copy(dst=h, src=t, dge_mode=nisa.dge_mode.hwdge)
nisa.range_select(dst=t, on_true_tile=t, comp_op0=nl.less, comp_op1=nl.less, bound0=t, bound1=t)
q = nl.ndarray((128, 4096), dtype=nl.bfloat16, buffer=nl.sbuf)
r = nl.ndarray((128, 4, 8, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
nisa.dma_transpose(dst=q, src=r)"""), ["# hone migrate (NKI 0.3): hwdge",
                                       "# hone migrate (NKI 0.2)",
                                       "# hone migrate (NKI 0.4): source and tile"], asks=3,
         numbers=None, inputs=False),
    Case("import", "0.3", "0.4", body("nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)")
         .replace("import nki\n", "import neuronxcc.nki as nki\nimport neuronxcc.nki.typing as nt\n"
                  "from neuronxcc.nki.language import par_dim, load\n")
         .replace("import nki.isa", "import neuronxcc.nki.isa")
         .replace("import nki.language", "import neuronxcc.nki.language"),
         ["import nki\n", "import nki.typing as nt", "from nki.language import load\n",
          "import nki.isa as nisa"], ["neuronxcc", "par_dim"]),
    Case("nl.tile_size.total_available_sbuf_size nl.tile_size.psum_fmax dynamic_copy "
         "transpose_engine quantize", "0.3", "0.6", body("""\
bytes = nl.tile_size.total_available_sbuf_size
most = nl.tile_size.psum_fmax
nisa.tensor_copy_dynamic_src(dst=t, src=t, offset=bytes)
nisa.nc_transpose(dst=t, data=t, engine=nisa.tensor_engine)
nisa.quantize_mx(dst=t, src=t, dst_scale=t)"""),
         ["nl.tile_size.sbuf_fmax_bytes", "nl.tile_size.psum_bank_fmax"], asks=3, numbers=None,
         inputs=False, accepted=False),
    Case("rsqrt", "0.4", "0.5", body(PSUM.replace("    ", "") + "u = nl.rsqrt(ps)  # root"),
         ["rsqrt_1 = nl.ndarray(ps.shape, dtype=ps.dtype, buffer=nl.sbuf)\n"
          "    nisa.activation(dst=rsqrt_1, op=nl.rsqrt, data=ps)\n    u = rsqrt_1  # root"]),
    Case("fori nl.affine_range nl.sequential_range nl.static_range", "0.5", "0.7",
         body(REG.replace("    ", "") + """\
for i in nl.affine_range(2):
    for k in nl.sequential_range(1, 2):
        for l in nl.static_range(1):
            nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)
for j in nl.dynamic_range(1, 5, 2):  # on the device
    # one round
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)

    for k in nl.dynamic_range(2):
        nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=3.0)"""),
         ["for i in range(2):", "for k in range(1, 2):", "for l in range(1):",
          "    def fori_body_1(j):  # on the device\n        # one round\n",
          "        def fori_body_2(k):\n", "        nl.fori_loop(0, 2, fori_body_2)\n"
          "    nl.fori_loop(1, 5, fori_body_1, step=2)\n"], ["dynamic_range"]),
    Case("while", "0.5", "0.7", body(REG.replace("    ", "") + """\
while reg:
    nisa.tensor_scalar(dst=n, data=n, op0=nl.subtract, operand0=1)
    nisa.register_load(reg, n)"""),
         ["    def while_body_1(reg):\n", "        reg = nisa.register_alloc()\n"
          "        nisa.register_load(reg, n)\n        return reg\n"
          "    nl.while_loop(reg, while_body_1)\n"], numbers=None),
    Case("fori", "0.5", "0.7", body("""\
a = 0
for i in nl.dynamic_range(4):
    a = a + 1
for i in nl.dynamic_range(4):
    b = i
print(b)"""), ["for i in nl.dynamic_range(4):"], asks=2, numbers=None, inputs=False,
         accepted=False),
    Case("structural if_register", "0.6", "0.7", HEAD + """class Shape(nl.NKIObject):
    def __init__(self, a):
        self.a = a


""" + body(REG.replace("    ", "") + """\
one = Shape(1)
if one == Shape(1):
    pass
if reg:
    nisa.memset(dst=t, value=0.0)""")[len(HEAD):],
         ["# hone migrate (NKI 0.7): Python compares such objects by identity",
          "# hone migrate (NKI 0.7): it has no value while the kernel is traced"], asks=2,
         numbers=None, inputs=False, accepted=None),
]


OLDER = """import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np
from neuronxcc.nki.language import par_dim

TILE = 256


@nki.jit(show_compiler_tb=True)
def kernel(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
%s
    return out
"""


# two kernels whose outputs have one name, an import that holds in one of them, and host code
OLDER_FILE = """import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def first(x):
    import neuronxcc.nki.isa as nisa
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.hbm)
    nl.store(out, nisa.tensor_copy(nl.load(x)))
    return out


@nki.jit
def second(x):
    out = nl.ndarray((128, 512), dtype=np.float32, buffer=nl.hbm)
    nl.store(out, nl.load(x))
    return out


def numbers():
    return np.random.rand(128, 512).astype(np.float32)
"""


def older(lines):
    return OLDER % "\n".join("    " + line if line else "" for line in lines.splitlines())


CASES += [
    Case("inner_import", "legacy", "0.6", older("""\
import numpy as np  # again
t = nl.load(x)
nl.store(out, value=nl.exp(t))"""), ["    t = nl.load(x)\n"], ["again"]),
    Case("import", "legacy", "0.7", older("""\
acc = nl.zeros((2, par_dim(128), 1), dtype=np.float32, buffer=nl.sbuf)
for n in nl.affine_range(512 // TILE):  # columns
    i_row = nl.arange(128)[:, None]
    i_col = n * TILE + nl.arange(TILE)[None, :]
    # load
    a = nl.load(x[i_row, i_col])
    m = nisa.tensor_reduce(np.add, a, axis=1)
    b = nisa.activation(op=nl.exp, data=a, scale=0.5)  # kept
    acc[n, i_row, 0] = m * 2.0
    both = nl.add(a, b) - m
    both += acc[n]
    nl.store(out[i_row, i_col], value=-both + b)"""),
         ["@nki.jit()\n",
          "    acc = [nl.zeros((128, 1), dtype=nl.float32, buffer=nl.sbuf) for _ in range(2)]"
          "\n    for n in range(512 // TILE):  # columns\n        # load\n",
          "a = nl.load(x[0:128, n * TILE:n * TILE + TILE])\n",
          "m = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
          "        nisa.tensor_reduce(dst=m, op=nl.add, data=a, axis=1)\n",
          "b = nl.ndarray(a.shape, dtype=nl.float32, buffer=nl.sbuf)\n"
          "        nisa.activation(dst=b, op=nl.exp, data=a, scale=0.5)  # kept\n",
          "nisa.tensor_scalar(dst=acc[n][0:128, 0:1], data=m, op0=nl.multiply, operand0=2.0)\n"],
         ["arange", "neuronxcc", "par_dim", "i_row"]),
    Case("import", "legacy", "0.3", older("""\
for n in nl.affine_range(3):
    i_p, i_f = nl.mgrid[0:128, 0:200]
    inside = (i_f < 512 - n * 200)
    a = nl.load(x[i_p, n * 200 + i_f], mask=inside)
    b = nl.multiply(a, 3.0, mask=(n * 200 + i_f < 512))
    nl.store(out[i_p, n * 200 + i_f], b, mask=inside)"""),
         ["a[0:128, 0:min(200, 512 - n * 200)]", "nl.affine_range(3)"], ["mask", "mgrid"]),
    Case("import", "legacy", "0.7", older("""\
i_p = nl.arange(128)[:, None]
i_q = nl.arange(128)[None, :]
k = nl.load(x[i_p, nl.arange(512)[None, :]])
place = nisa.iota(expr=2 * i_q + i_p, dtype=nl.int32)
ps = nl.zeros((4, par_dim(128), 128), dtype=np.float32, buffer=nl.psum)
for j in nl.affine_range(4):
    t = nisa.nc_transpose(k[i_p, j * 128 + i_q])
    s = nisa.tensor_copy(t)
    low = nisa.affine_select(pred=(i_p >= i_q), on_true_tile=s, on_false_value=0.0)
    for r in nl.affine_range(2):
        ps[j, i_p, i_q] += nisa.nc_matmul(low, k[i_p, r * 128 + i_q])
    ps[j] += nl.matmul(low, s, transpose_x=True)
    nl.store(out[i_p, j * 128 + i_q], ps[j, i_p, i_q])"""),
         ["nisa.iota(dst=place, pattern=[[2, 128]], offset=0, channel_multiplier=1)",
          "nisa.affine_select(dst=low, pattern=[[-1, 128]], offset=0, channel_multiplier=1, "
          "cmp_op=nl.greater_equal, on_true_tile=s, on_false_value=0.0)",
          "nisa.nc_matmul(dst=ps[j], stationary=low, moving=s)"], ["arange", "+="]),
    Case("import", "legacy", "0.7", older("""\
i_p = nl.arange(128)[:, None, None]
i_b = nl.arange(2)[None, :, None]
i_f = nl.arange(256)[None, None, :]
flat = nl.ndarray((par_dim(128), 512), dtype=nl.float32, buffer=nl.sbuf)
flat[i_p, i_b * 256 + i_f] = nl.load(x[i_p, 256 * i_b + i_f])
nl.store(out[i_p, i_b * 256 + i_f], value=flat[i_p, i_b * 256 + i_f])"""),
         ["flat.ap(pattern=[[512, 128], [256, 2], [1, 256]], offset=0)"], ["arange"]),
    Case("import", "legacy", "0.7", older("""\
i_p = nl.arange(128)[:, None]
i_f = nl.arange(512)[None, :]
acc = nl.ndarray((par_dim(128), 512), dtype=nl.float32, buffer=nl.sbuf)
t = nl.load(x[i_p, i_f])
# sums
for k in nl.affine_range(2, 5):
    for n in nl.affine_range(2):
        u = nl.loop_reduce(t, op=np.add, loop_indices=[n], dtype=nl.float32)
        acc[...] = nl.loop_reduce(nl.exp(t), np.max, (n,))
nl.store(out[i_p, i_f], value=nl.add(u, acc))"""),
         ["    # sums\n    for k in range(2, 5):\n        u = nl.ndarray((128, 512), "
          "dtype=nl.float32, buffer=nl.sbuf)\n        for n in range(2):\n"
          "            if n == 0:\n                nisa.tensor_copy(dst=u, src=t)\n"
          "            else:\n                nisa.tensor_tensor(dst=u, data1=u, data2=t, "
          "op=nl.add)\n            if n == 0:\n",
          "nisa.tensor_tensor(dst=acc, data1=acc, data2=nl.exp(t), op=nl.maximum)"]),
    Case("import", "legacy", "0.7", older("""\
i_p = nl.arange(128)[:, None]
i_f = nl.arange(512)[None, :]
t = nl.load(x[i_p, i_f])
for n in nl.affine_range(2):
    u = nl.loop_reduce(t, op=np.add, loop_indices=list((n,)), dtype=nl.float32)
nl.store(out[i_p, i_f], value=u)"""),
         ["# hone migrate (NKI 0.1): nl.loop_reduce is not in NKI any more"], asks=1, numbers=None,
         accepted=False),
    # a transpose reads what its mask says, and writes it turned
    Case("import", "legacy", "0.7", older("""\
p, f = nl.mgrid[0:128, 0:128]
for j in nl.affine_range(4):
    inside = (p < 100) & (j * 128 + f < 450)
    t = nl.load(x[p, j * 128 + f], mask=inside)
    u = nisa.nc_transpose(t, mask=inside)
    w = nl.zeros((par_dim(128), 128), dtype=nl.float32, buffer=nl.sbuf)
    w[p, f] = nisa.nc_transpose(t[p, f], mask=inside)
    back = nisa.nc_transpose(w)
    nl.store(out[p, j * 128 + f], value=back, mask=inside)
    nl.store(out[0:66, j * 128:j * 128 + 100], value=u[0:66, 0:100])"""),
         ["dst=u[0:min(128, 450 - (j * 128)), 0:min(128, 100)], data=t[0:min(128, 100), "],
         ["mask", "mgrid"]),
    # rows and columns that an index of zeros repeats
    Case("import", "legacy", "0.7", older("""\
p, f = nl.arange(128)[:, None], nl.arange(512)[None, :]
row = nl.load(x[0 * p + nl.arange(1)[:, None] + 5, f])
column = nl.load(x[p, 0 * f + 3])
both = nl.add(row, column)
nl.store(out[p, f], value=nl.multiply(both, both[0 * p + p, 0 * f + 7]))"""),
         ["x.ap(pattern=[[0, 128], [1, 512]], offset=(5) * 512)",
          "x.ap(pattern=[[512, 128], [0, 512]], offset=3)",
          "both.ap(pattern=[[512, 128], [0, 512]], offset=7)"], ["arange"]),
    # a loop of one round with these inputs has more with others
    Case("import", "legacy", "0.7", older("""\
p, f = nl.arange(128)[:, None], nl.arange(512)[None, :]
for n in nl.affine_range(x.shape[1] // 512):
    t = nl.load(x[p, n * 512 + f])
    nl.store(out[p, n * 512 + f], value=nl.exp(t))"""),
         ["x[0:128, n * 512:n * 512 + 512]"], ["arange"]),
    # programs of a launch
    Case("import", "legacy", "0.7", OLDER_LAUNCH, [
        "def kernel(x, scale=2.0, grid=(1, 1)):\n",
        "    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)\n"
        "    for program_x in range(grid[0]):\n        for program_y in range(grid[1]):\n"
        "            i = program_x  # rows\n            # columns\n            j = program_y\n",
        "        \"\"\"kept\n  as it is\"\"\"\n",
        "x[i * 64:i * 64 + 64, j * 128:j * 128 + 128]", "rows = grid[0]\n",
        "    return kernel(x, scale=3.0, grid=(2, width))\n"], ["program_id", "num_programs"],
         name="launch"),
    Case("import", "legacy", "0.7", OLDER_FILE, [
        "dtype=nl.float32, buffer=nl.shared_hbm", "nki.isa.dma_copy(dst=out, src=nl.load(x))",
        "rand(128, 512).astype(np.float32)"], ["nl.hbm"], name="second"),
    # programs of a launch over two cores: each core runs every second, or half of them in a row
    Case("import", "legacy", "0.7", OLDER_LAUNCH.replace(
        "kernel[2, width]", "kernel[nl.spmd_dim(1, nl.nc(2)), width]"), [
            "for program_x in range(nl.program_id(0), grid[0], nl.num_programs(0)):",
            "kernel[2](x, scale=3.0, grid=(2 * 1, width))"], ["nl.nc", "spmd_dim"], name="launch"),
    Case("import", "legacy", "0.7", OLDER_LAUNCH.replace(
        "kernel[2, width]", "kernel[nl.nc(2) * 1, width]"), [
            "range(nl.program_id(0) * grid[0] // nl.num_programs(0), (nl.program_id(0) + 1) * "
            "grid[0] // nl.num_programs(0)):"], ["nl.nc"], name="launch"),
    # a mask of a product runs over [K, N] of what moves
    Case("import", "legacy", "0.7", older("""\
p, f, m = nl.arange(128)[:, None], nl.arange(512)[None, :], nl.arange(64)[None, :]
a = nl.load(x[p, f])
for n in nl.affine_range(2):
    inside = (p < 100) & (n * 512 + f < 700)
    s = nl.zeros((par_dim(64), 512), dtype=nl.float32, buffer=nl.psum)
    s[nl.arange(64)[:, None], f] += nisa.nc_matmul(a[p, m], a[p, f], mask=inside)
    nl.store(out[64 * n + nl.arange(64)[:, None], f], value=s, mask=n * 512 + f < 700)
nl.store(out[64 + nl.arange(64)[:, None], 256 + nl.arange(256)[None, :]], value=a[0:64, 0:256])"""),
         ["nisa.nc_matmul(dst=s[0:64, 0:min(512, 700 - (n * 512))], "
          "stationary=a[0:min(128, 100), 0:64], "
          "moving=a[0:min(128, 100), 0:min(512, 700 - (n * 512))])"], ["mask"]),
    # a mask without an index is a condition; a condition beside an index cuts as well
    Case("import", "legacy", "0.7", older("""\
p, f = nl.arange(128)[:, None], nl.arange(512)[None, :]
a = nl.load(x[p, f])
sums = nl.zeros((par_dim(128), 512), dtype=nl.float32, buffer=nl.sbuf)
for n in nl.affine_range(3):
    first = n < 2
    b = nisa.activation(op=nl.exp, data=a, mask=first)
    sums[p, f] = nisa.tensor_tensor(sums, a, np.add, mask=first)
    sums[p, f] = nl.add(sums, a, mask=(n >= 1) & (f < 300))
    nl.store(out[p, f], value=sums, mask=n == 2)"""),
         ["        if first:\n            nisa.activation(dst=b, op=nl.exp, data=a)\n",
          "        if n >= 1:\n            nisa.tensor_tensor(dst=sums[0:128, 0:min(512, 300)], ",
          "        if n == 2:\n            nisa.dma_copy("], ["mask"]),
    # what the package nki takes in SBUF alone, or of one dtype, goes by way of a tile
    Case("import", "legacy", "0.7", older("""\
p, f = nl.arange(128)[:, None], nl.arange(128)[None, :]
a = nl.load(x[p, f], dtype=nl.bfloat16)
s = nl.ndarray((par_dim(128), 128), dtype=nl.float32, buffer=nl.psum)
s[...] = nisa.nc_matmul(a, a)
before = p >= f
low = nisa.affine_select(pred=before, on_true_tile=s, on_false_value=0.0)
t = nl.ndarray((par_dim(128), 128), dtype=nl.float32, buffer=nl.psum)
t[...] = nisa.nc_transpose(a)
both = nl.subtract(s, t)
r = nl.ndarray((par_dim(128), 128), dtype=nl.float32, buffer=nl.sbuf)
r[...] = nisa.activation(op=nl.tanh, data=both, dtype=nl.bfloat16)
nl.store(out[p, f], value=low)
nl.store(out[p, 128 + f], value=r)
nl.store(out[p, 256 + f], value=r)
nl.store(out[p, 384 + f], value=r)"""),
         ["on_true_tile=tile_", "nisa.nc_transpose(dst=tile_", "nisa.activation(dst=tile_"],
         ["arange"]),
    Case("import", "legacy", "0.7", OLDER_LAUNCH.replace("kernel[2, width]", "kernel[sizes()]"),
         ["over what does the kernel loop instead?", "x[i * 64:i * 64 + 64, "], asks=1,
         numbers=None, accepted=False),
]


def run(hone, folder, case, number):
    path = os.path.join(folder, "kernel_%d.py" % number)
    with open(path, "w", encoding="utf-8") as file:
        file.write(case.source)
    command = [hone, "migrate", path, "--from", case.old, "--to", case.to, "--json"]
    if case.inputs:
        command += ["--input", INPUT]
    if case.name:
        command += ["--kernel-name", case.name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    try:
        return done, json.loads(done.stdout)
    except ValueError:
        sys.exit("%s: %s%s" % (" ".join(case.rows), done.stdout, done.stderr))


def check(hone, folder, case, number):
    """What is wrong with it."""
    done, found = run(hone, folder, case, number)
    source, wrong = found["source"], []
    wrong += ["lacks %r" % text for text in case.has if text not in source]
    wrong += ["still has %r" % text for text in case.lacks if text in source]
    if len(found["questions"]) != case.asks:
        wrong.append("%d questions, not %d: %s" % (len(found["questions"]), case.asks,
                                                   found["questions"]))
    if case.accepted is not None and found["accepted"] != case.accepted:
        wrong.append("accepted: %s %s" % (found["accepted"], found["diagnostics"]))
    if found["identical"] is not case.numbers:
        wrong.append("identical: %s (%s)" % (found["identical"], found["difference"]))
    good = found["accepted"] and not case.asks and found["identical"] is not False
    if done.returncode != (0 if good else 1):
        wrong.append("exit status %d" % done.returncode)
    return ["%s: %s" % (" ".join(case.rows), one) for one in wrong] + (
        [source] if wrong else [])


def rows():
    """The names of all rows."""
    with open(TABLE, encoding="utf-8") as file:
        text = file.read()
    named = re.findall(r'^NAME\("[\d.]+", "([\w.]+)"', text, re.M)
    words = re.findall(r'^KEYWORD\("[\d.]+", "[\w.]+", "(\w+)"', text, re.M)
    steps = re.findall(r'^(?:STEP|ASK)\("[\d.]+", (\w+),', text, re.M)
    return set(named + words + steps)


def usage(hone, folder):
    """Releases that there are not, no way back, and a source that does not tell."""
    path = os.path.join(folder, "usage.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(body("nisa.affine_select(t, [[1, 512]], 0, -1, t, 0.0)"))
    wrong = []
    for args, text in ((["--to", "0.7"], "stood in another order"),
                       (["--from", "0.6", "--to", "0.3"], "no way back"),
                       (["--to", "0.9"], "0.9")):
        done = subprocess.run([hone, "migrate", path] + args, capture_output=True, text=True,
                              check=False)
        if done.returncode != 2 or text not in done.stderr:
            wrong.append("%s: %d %s" % (args, done.returncode, done.stderr))
    return wrong


def writes(hone, folder):
    """--write changes the file; a second migration finds nothing more."""
    path = os.path.join(folder, "written.py")
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(next(case for case in CASES
                        if "nl.static_range" in case.rows).source.replace("\n", "\r\n"))
    for expected in ("a", "0 changes, 0 questions"):
        done = subprocess.run([hone, "migrate", path, "--from", "0.5", "--to", "2.33", "--write",
                               "--no-verify"], capture_output=True, text=True, check=False)
        if done.returncode or done.stdout or expected not in done.stderr:
            return ["--write: %d %s%s" % (done.returncode, done.stdout, done.stderr)]
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    if "\n" in text.replace("\r\n", "") or "nl.fori_loop" not in text:
        return ["--write: %r" % text]
    return []


SHAPES = """import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

PART = 128


@nki.jit
def kernel(x):
    rows, cols = x.shape
    half = cols // 2
    out = nl.ndarray((rows, 2 * cols), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(PART)[:, None]
    i_f = nl.arange(half)[None, :]
    i_g = half + nl.arange(x.shape[1] // 2)[None, :]
    for i in nl.affine_range(rows // PART):
        p, f = nl.mgrid[0:PART, half:cols]
        g = nl.mgrid[0:128, 0:cols // 4]
        a = nl.load(x[i * PART + i_p, i_f])
        b = nl.load(x[i * PART + i_p, i_g])
        nl.store(out[i * PART + i_p, i_f], nl.load(x[i * PART + p, f]))
        nl.store(out[i * PART + i_p, i_f + half], nl.subtract(a, b))
        d = nl.ndarray((nl.par_dim(PART), cols), dtype=x.dtype, buffer=nl.sbuf)
        d[i_p, 2 * i_f] = nl.copy(a)
        d[i_p, 2 * i_f + 1] = nl.copy(b)
        d[g.p, g.x] = nl.load(x[i * PART + g.p, g.x])
        nl.store(out[i * PART + i_p, cols + nl.arange(cols)[None, :]], d)
    return out
"""


def outputs(hone, folder, path, shape):
    """What a kernel returns for inputs of a shape."""
    done = subprocess.run([hone, "sim", path, "--input", "x=%s:float32" % shape, "--no-time",
                           "--save-outputs", folder], capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stdout + done.stderr
    with open(os.path.join(folder, "output_0.npy"), "rb") as file:
        return file.read()


def shapes(hone, folder):
    """A migrated kernel is right for other shapes than those that it was migrated with, or it is
    asked about what is not."""
    old, new = os.path.join(folder, "old.py"), os.path.join(folder, "new.py")
    case = Case("", "legacy", "0.7", SHAPES)
    _, found = run(hone, folder, case, 1000)
    for path, text in (old, SHAPES), (new, found["source"]):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    wrong = ["shapes: %s" % found["questions"]] if found["questions"] else []
    for shape in "128x512", "256x1024", "384x768":
        if outputs(hone, folder, old, shape) != outputs(hone, folder, new, shape):
            wrong.append("shapes: %s differ\n%s" % (shape, found["source"]))
    asked = SHAPES.replace("nl.arange(x.shape[1] // 2)[None, :]", "index(cols)").replace(
        "@nki.jit\n", "def index(n):\n    return nl.arange(n // 2)[None, :]\n\n\n@nki.jit\n")
    _, found = run(hone, folder, Case("", "legacy", "0.7", asked), 1001)
    if not any("the names" in str(one) for one in found["questions"]):
        wrong.append("shapes: nothing was asked: %s\n%s" % (found["questions"], found["source"]))
    return wrong


def main():
    hone, wrong = sys.argv[1], []
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(CASES):
            wrong += check(hone, folder, case, number)
        wrong += usage(hone, folder) + writes(hone, folder) + shapes(hone, folder)
    covered = set(row for case in CASES for row in case.rows)
    wrong += ["no kernel for the row %s" % row for row in sorted(rows() - covered)]
    wrong += ["no such row: %s" % row for row in sorted(covered - rows())]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
