# SPDX-License-Identifier: Apache-2.0
"""Kernels with one planted fault each: the kernel, what is wrong, the text that is replaced, what
stands there instead, and words of the statement that a diagnosis has to name. The words are looked
for in the faulty kernel; None: the statement that was changed. FIRST was written before there was
any diagnosis, SECOND after it was done and before it was ever run on them. So was FIFTH: kernels of
operations that no earlier set has."""

FIRST = [
    (
        "softmax",
        "wrong operator",
        "nisa.tensor_reduce(dst=part_max, op=nl.maximum",
        "nisa.tensor_reduce(dst=part_max, op=nl.add",
        None,
    ),
    (
        "softmax",
        "accumulator without its first value",
        "        nisa.memset(dst=row_sum, value=0.0)\n",
        "",
        "nisa.tensor_tensor(dst=row_sum",
    ),
    (
        "softmax",
        "stale tile: the sum of the tile before is kept",
        "            part_sum = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
        "            nisa.tensor_reduce(dst=part_sum, op=nl.add, data=power, axis=1)\n",
        "            if n == 0:\n"
        "                part_sum = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
        "                nisa.tensor_reduce(dst=part_sum, op=nl.add, data=power, axis=1)\n",
        "nisa.tensor_tensor(dst=row_sum",
    ),
    (
        "softmax",
        "sum of part of a tile",
        "op=nl.add, data=power, axis=1)",
        "op=nl.add, data=power[0:TILE_M, 0:TILE_N - 1], axis=1)",
        None,
    ),
    (
        "softmax",
        "subtracts in place of multiplying",
        "data=power, op0=nl.multiply, operand0=inverse",
        "data=power, op0=nl.subtract, operand0=inverse",
        None,
    ),
    (
        "layernorm",
        "wrong scale",
        "nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / N)",
        "nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / M)",
        None,
    ),
    (
        "layernorm",
        "missing eps",
        "operand0=1.0 / N,\n"
        "                           op1=nl.add, operand1=1e-2)",
        "operand0=1.0 / N)",
        "nisa.tensor_scalar(dst=variance",
    ),
    (
        "layernorm",
        "the other weights",
        "src=b.ap([[0, TILE_M], [1, N]])",
        "src=g.ap([[0, TILE_M], [1, N]])",
        None,
    ),
    (
        "layernorm",
        "square of the wrong tile",
        "data1=apart, data2=apart",
        "data1=rows, data2=rows",
        None,
    ),
    (
        "layernorm",
        "wrong function",
        "op=nl.rsqrt, data=variance",
        "op=nl.sqrt, data=variance",
        None,
    ),
    (
        "attention",
        "scale forgotten",
        "op0=nl.multiply, operand0=D ** -0.5",
        "op0=nl.multiply, operand0=1.0",
        None,
    ),
    (
        "attention",
        "sum of one block only",
        "op=nl.add, data=power, axis=1",
        "op=nl.add, data=power[0:TILE, 0:TILE], axis=1",
        None,
    ),
    (
        "attention",
        "transpose forgotten",
        "nisa.nc_transpose(dst=turned, data=weights[0:TILE, t * TILE:(t + 1) * TILE])",
        "nisa.tensor_copy(dst=turned, src=weights[0:TILE, t * TILE:(t + 1) * TILE])",
        None,
    ),
    (
        "attention",
        "the same block of values each time",
        "src=v[t * TILE:(t + 1) * TILE, 0:D]",
        "src=v[0:TILE, 0:D]",
        None,
    ),
    (
        "tail",
        "tail forgotten",
        "nisa.tensor_tensor(dst=product[0:rows, 0:N], data1=bent[0:rows, 0:N],\n"
        "                           data2=weight[0:rows, 0:N], op=nl.multiply)",
        "cols = N - N % TILE_M\n"
        "        nisa.tensor_tensor(dst=product[0:rows, 0:cols], data1=bent[0:rows, 0:cols],\n"
        "                           data2=weight[0:rows, 0:cols], op=nl.multiply)",
        "nisa.tensor_tensor(dst=product|nisa.tensor_reduce(dst=top",
    ),
    (
        "tail",
        "narrow type",
        "bent = nl.ndarray((TILE_M, N), dtype=nl.float32",
        "bent = nl.ndarray((TILE_M, N), dtype=nl.bfloat16",
        "nisa.activation(dst=bent",
    ),
    (
        "tail",
        "rows read one too far",
        "src=w[first:first + rows, 0:N]",
        "src=w[min(first + 1, M - rows):min(first + 1, M - rows) + rows, 0:N]",
        None,
    ),
    (
        "swiglu",
        "starts anew with each product",
        "nisa.nc_matmul(dst=up_sum, stationary=x_tile, moving=b_tile, accumulate=k > 0)",
        "nisa.nc_matmul(dst=up_sum, stationary=x_tile, moving=b_tile, accumulate=False)",
        None,
    ),
    (
        "swiglu",
        "operands mixed up",
        "data1=gate, data2=sigmoid, op=nl.multiply",
        "data1=sigmoid, data2=sigmoid, op=nl.multiply",
        None,
    ),
    (
        "swiglu",
        "wrong matrix",
        "nisa.nc_matmul(dst=up_sum, stationary=x_tile, moving=b_tile",
        "nisa.nc_matmul(dst=up_sum, stationary=x_tile, moving=a_tile",
        None,
    ),
    (
        "matmul",
        "wrong columns",
        "src=b[k * TILE_K:(k + 1) * TILE_K, n * TILE_N:(n + 1) * TILE_N]",
        "src=b[k * TILE_K:(k + 1) * TILE_K, 0:TILE_N]",
        "dst=b_tile",
    ),
    (
        "add_rmsnorm_matmul",
        "wrong axis of the mean",
        "nl.multiply(square_sum, 1.0 / K)",
        "nl.multiply(square_sum, 1.0 / N)",
        None,
    ),
    (
        "add_rmsnorm_matmul",
        "difference in place of sum",
        "total = nl.add(x_tile, z_tile)",
        "total = nl.subtract(x_tile, z_tile)",
        None,
    ),
    (
        "silu",
        "wrong constant",
        "below = nl.add(power, 1.0)",
        "below = nl.add(power, 2.0)",
        None,
    ),
]

SECOND = [
    (
        "silu",
        "wrong sign",
        "nl.multiply(x_tile, -1.0)",
        "nl.multiply(x_tile, 1.0)",
        None,
    ),
    (
        "softmax",
        "maximum from another block of rows",
        "nisa.tensor_tensor(dst=row_max, data1=row_max, data2=part_max, op=nl.maximum)",
        "nisa.tensor_tensor(dst=row_max, data1=row_max, data2=part_max, op=nl.minimum)",
        None,
    ),
    (
        "softmax",
        "divides by another exponential",
        "op=nl.exp, data=shifted)\n"
        "            part_sum",
        "op=nl.sigmoid, data=shifted)\n"
        "            part_sum",
        None,
    ),
    (
        "matmul",
        "block of the other operand",
        "a_t[k * TILE_K:(k + 1) * TILE_K, m * TILE_M:(m + 1) * TILE_M]",
        "a_t[k * TILE_K:(k + 1) * TILE_K, 0:TILE_M]",
        None,
    ),
    (
        "matmul",
        "the last product is missing",
        "for k in range(K // TILE_K):",
        "for k in range(K // TILE_K - 1):",
        "nisa.nc_matmul(|dst=a_tile|dst=b_tile",
    ),
    (
        "add_rmsnorm_matmul",
        "no weights",
        "gain.broadcast_to((TILE_M, K))",
        "1.0",
        None,
    ),
    (
        "add_rmsnorm_matmul",
        "square of one of two",
        "squares = nl.square(total)",
        "squares = nl.square(x_tile)",
        None,
    ),
    (
        "layernorm",
        "scale and shift exchanged",
        "nisa.tensor_tensor(dst=scaled, data1=normal, data2=gain, op=nl.multiply)",
        "nisa.tensor_tensor(dst=scaled, data1=normal, data2=shift, op=nl.multiply)",
        None,
    ),
    (
        "layernorm",
        "mean not subtracted from what is normalised",
        "nisa.tensor_scalar(dst=normal, data=apart",
        "nisa.tensor_scalar(dst=normal, data=rows",
        None,
    ),
    (
        "attention",
        "not the inverse",
        "nisa.reciprocal(dst=inverse, data=total)",
        "nisa.tensor_copy(dst=inverse, src=total)",
        None,
    ),
    (
        "attention",
        "weights not normalised",
        "data=weights[0:TILE, t * TILE:(t + 1) * TILE]",
        "data=power[0:TILE, t * TILE:(t + 1) * TILE]",
        None,
    ),
    (
        "swiglu",
        "the first product is kept for all",
        "moving=a_tile, accumulate=k > 0",
        "moving=a_tile, accumulate=k < 0",
        None,
    ),
    (
        "tail",
        "one row too few",
        "rows = min(TILE_M, M - first)",
        "rows = min(TILE_M - 1, M - first)",
        "nisa.dma_copy(|rows = min",
    ),
]

# Of other kinds, ten in each dialect: a wrong place, order or block, a mask, a sign, sums taken
# twice. Written before they were ever run, but for one that did not compile as it was first. Then
# the first suspect was the fault in 8; walks, tiles of other statements and other instructions are
# tried since.
THIRD = [
    (
        "softmax",
        "stored in reverse order",
        "n * TILE_N:(n + 1) * TILE_N], src=share)",
        "(N // TILE_N - 1 - n) * TILE_N:(N // TILE_N - n) * TILE_N], src=share)",
        None,
    ),
    (
        "softmax",
        "the last sum twice, the others not at all",
        "dst=row_sum, data1=row_sum, data2=part_sum",
        "dst=row_sum, data1=part_sum, data2=part_sum",
        None,
    ),
    (
        "tail",
        "all blocks stored in the first one's place",
        "dst=y[first:first + rows, 0:N], src=out",
        "dst=y[0:rows, 0:N], src=out",
        None,
    ),
    (
        "tail",
        "another function with the same range",
        "op=nl.tanh",
        "op=nl.sigmoid",
        None,
    ),
    (
        "layernorm",
        "another eps",
        "op1=nl.add, operand1=1e-2)",
        "op1=nl.add, operand1=1e-1)",
        None,
    ),
    (
        "attention",
        "queries in place of keys",
        "src=k_t[0:D, 0:S]",
        "src=q_t[0:D, 0:S]",
        None,
    ),
    (
        "attention",
        "the first block of queries each time",
        "stationary=q[0:D, m * TILE:(m + 1) * TILE]",
        "stationary=q[0:D, 0:TILE]",
        None,
    ),
    (
        "attention",
        "twice as steep",
        "op=nl.exp, data=scores, bias=lowest",
        "op=nl.exp, data=scores, bias=lowest, scale=2.0",
        None,
    ),
    (
        "swiglu",
        "all columns stored in the first ones' place",
        "dst=y[0:M, first:first + TILE_N], src=out",
        "dst=y[0:M, 0:TILE_N], src=out",
        None,
    ),
    (
        "swiglu",
        "adds in place of multiplying",
        "data1=bent, data2=up_sum, op=nl.multiply",
        "data1=bent, data2=up_sum, op=nl.add",
        None,
    ),
    (
        "silu",
        "the negated tile",
        "y_tile = nl.multiply(x_tile, gate)",
        "y_tile = nl.multiply(negated, gate)",
        None,
    ),
    (
        "silu",
        "stored in reverse order",
        "nl.store(y[m * TILE_M + i_row, n * TILE_N + i_col], value=y_tile)",
        "nl.store(y[m * TILE_M + i_row, (N // TILE_N - 1 - n) * TILE_N + i_col], value=y_tile)",
        None,
    ),
    (
        "silu",
        "a mask that leaves out a column",
        "n * TILE_N + i_col], value=y_tile)",
        "n * TILE_N + i_col], value=y_tile, mask=i_col < TILE_N - 1)",
        None,
    ),
    (
        "silu",
        "narrow type of one step",
        "power = nl.exp(negated)",
        "power = nl.exp(negated, dtype=nl.bfloat16)",
        None,
    ),
    (
        "silu",
        "rows from the other end",
        "x_tile = nl.load(x[m * TILE_M + i_row",
        "x_tile = nl.load(x[(M // TILE_M - 1 - m) * TILE_M + i_row",
        None,
    ),
    (
        "add_rmsnorm_matmul",
        "the root forgotten",
        "inverse = nl.rsqrt(shifted)",
        "inverse = nl.reciprocal(shifted)",
        None,
    ),
    (
        "add_rmsnorm_matmul",
        "mean of half of the row",
        "square_sum = nl.sum(squares,",
        "square_sum = nl.sum(squares[:, 0:K // 2],",
        None,
    ),
    (
        "add_rmsnorm_matmul",
        "products taken off",
        "acc += nl.matmul(",
        "acc -= nl.matmul(",
        None,
    ),
    (
        "add_rmsnorm_matmul",
        "the first block of rows each time",
        "z_tile = nl.load(z[m * TILE_M:(m + 1) * TILE_M, 0:K])",
        "z_tile = nl.load(z[0:TILE_M, 0:K])",
        None,
    ),
    (
        "add_rmsnorm_matmul",
        "the first block of the contraction each time",
        "nl.matmul(scaled[:, k * TILE_K:(k + 1) * TILE_K], w_tile)",
        "nl.matmul(scaled[:, 0:TILE_K], w_tile)",
        None,
    ),
]

# Of kernels that no diagnosis was tried on before, written when all of THIRD was found and before
# they were ever run. Then the first suspect was the fault in 17 of 20; moves of a tile by its own
# extent, which found two more, came after.
FOURTH = [
    (
        "rope",
        "the difference the other way",
        "data1=near, data2=far",
        "data1=far, data2=near",
        None,
    ),
    ("rope", "another sign", "data2=across, op=nl.add", "data2=across, op=nl.subtract", None),
    (
        "rope",
        "sine in place of cosine",
        "dst=along, data1=rows[0:TILE, H:D], data2=cosine",
        "dst=along, data1=rows[0:TILE, H:D], data2=sine",
        None,
    ),
    (
        "rope",
        "both halves in the first one's place",
        "dst=out[0:TILE, H:D]",
        "dst=out[0:TILE, 0:H]",
        None,
    ),
    (
        "rope",
        "the wrong half",
        "dst=far, data1=rows[0:TILE, H:D]",
        "dst=far, data1=rows[0:TILE, 0:H]",
        None,
    ),
    ("conv", "weights in reverse", "taps[0:TILE_C, k:k + 1]", "taps[0:TILE_C, 3 - k:4 - k]", None),
    (
        "conv",
        "windows in reverse",
        "window[0:TILE_C, k:k + TILE_T]",
        "window[0:TILE_C, 3 - k:3 - k + TILE_T]",
        "nisa.tensor_scalar(dst=part",
    ),
    ("conv", "the smaller one", "op1=nl.maximum", "op1=nl.minimum", None),
    (
        "conv",
        "the first block's shift",
        "src=b[c * TILE_C:(c + 1) * TILE_C",
        "src=b[0:TILE_C",
        None,
    ),
    (
        "conv",
        "a weight fewer",
        "for k in range(4):",
        "for k in range(3):",
        "nisa.tensor_tensor(dst=acc|nisa.tensor_scalar(dst=part|dst=taps",
    ),
    ("conv", "sums begin at 1", "dst=acc, value=0.0", "dst=acc, value=1.0", None),
    ("groupnorm", "mean of the whole row", "total, 1.0 / L", "total, 1.0 / N", None),
    ("groupnorm", "squares around 0", "multiply(apart, apart)", "multiply(group, group)", None),
    ("groupnorm", "one over the root", "root = nl.sqrt(", "root = nl.rsqrt(", None),
    ("groupnorm", "the first gain each time", "gain[:, n * L:(n + 1) * L]", "gain[:, 0:L]",
     "scaled = "),
    (
        "groupnorm",
        "groups from the other end",
        "group = nl.load(x[m * TILE_M:(m + 1) * TILE_M, n * L:(n + 1) * L])",
        "group = nl.load(x[m * TILE_M:(m + 1) * TILE_M, N - (n + 1) * L:N - n * L])",
        None,
    ),
    ("mlp", "not halved", "scale=0.5", "scale=1.0", None),
    ("mlp", "nothing added", "bias=shift, scale", "scale", None),
    (
        "mlp",
        "operands exchanged",
        "dst=hidden, stationary=a_tile, moving=x_tile",
        "dst=hidden, stationary=x_tile, moving=a_tile",
        None,
    ),
    ("mlp", "the first block each time", "src=c[h * TILE:(h + 1) * TILE", "src=c[0:TILE", None),
]

# Ten kernels of other operations, two faults each, written before any of them was run: the first
# suspect was the fault in 17 of 20. With nothing suspected where one of several loads takes another
# part of an input, and the one after it where what is left out is small.
FIFTH = [
    ("logsumexp", "the largest is taken out twice", "data1=size, data2=top, op=nl.add",
     "data1=size, data2=top, op=nl.subtract", None),
    ("logsumexp", "the largest power in place of their sum", "dst=total, op=nl.add",
     "dst=total, op=nl.maximum", None),
    ("transposed", "blocks are not turned", "nisa.nc_transpose(dst=turned, data=block)",
     "nisa.tensor_copy(dst=turned, src=block)", None),
    ("transposed", "the first block's factors", "src=s[n * TILE:(n + 1) * TILE, 0:1]",
     "src=s[0:TILE, 0:1]", None),
    ("pool", "one column further", "rows[0:TILE, 1:N:2]", "rows[0:TILE, 0:N:2]", None),
    ("pool", "the sum", "data2=odd, op=nl.maximum", "data2=odd, op=nl.add", None),
    ("distances", "not squared", "op=nl.square, data=apart", "op=nl.abs, data=apart", None),
    ("distances", "without the last columns", "data=squares, axis=1",
     "data=squares[0:TILE, 0:N - 20], axis=1", None),
    ("mixture", "another curve", "op=nl.sigmoid", "op=nl.tanh", None),
    ("mixture", "added to the wrong one", "data1=part, data2=other", "data1=part, data2=one", None),
    ("polynomial", "another factor", "rows, 0.25", "rows, 0.2", None),
    ("polynomial", "with itself", "nl.multiply(first, rows)", "nl.multiply(first, first)", None),
    ("unit", "without the root", "nl.rsqrt(safe)", "nl.reciprocal(safe)", None),
    ("unit", "nothing is added", "nl.add(total, 0.01)", "nl.add(total, 0.0)", None),
    ("adam", "shares exchanged", "nl.multiply(before, 0.9)", "nl.multiply(before, 0.1)", None),
    ("adam", "up the slope", "nl.subtract(param, step)", "nl.add(param, step)", None),
    ("difference", "the other way", "nl.subtract(rows, before)", "nl.subtract(before, rows)", None),
    ("difference", "the last in place of the first", "m * TILE:(m + 1) * TILE, 0:1])",
     "m * TILE:(m + 1) * TILE, N - 1:N])", None),
    ("centred_matmul", "mean over the wrong length", "total, 1.0 / N", "total, 1.0 / K", None),
    ("centred_matmul", "the first block of weights each time", "w[k * TILE:(k + 1) * TILE, :]",
     "w[0:TILE, :]", None),
]

# Ten kernels of operations that no set before has (scans, counts of moments, masks by place, sums
# over partitions, functions of the kernel's own, lists of tiles, arrays of batches), two faults
# each, written before any of them was run: the first suspect was the fault in 16, and in 18 beside
# the kernel that is right. Places by number, rows that are read in part and tiles that are the same
# each round came after.
SIXTH = [
    ("recurrence", "takes off in place of adding", "op0=nl.multiply, op1=nl.add)",
     "op0=nl.multiply, op1=nl.subtract)", None),
    ("recurrence", "begins anew with each piece", "nisa.tensor_copy(dst=state, src=h[",
     "nisa.tensor_scalar(dst=state, op0=nl.multiply, operand0=0.0, data=h[", None),
    ("moments", "the variance of the first piece", "dst=both, data=counts)",
     "dst=both, data=counts[0:TILE, 0:6])", None),
    ("moments", "the mean in place of the variance", "data=both[0:TILE, 1:2]",
     "data=both[0:TILE, 0:1]", None),
    ("causal", "without the diagonal's place", "offset=m * TILE, ", "offset=0, ", None),
    ("causal", "what is masked still counts", "on_false_value=-1e30", "on_false_value=0.0", None),
    ("covariance", "the last rows alone", "dst=pairs, stationary=rows, moving=rows, "
     "accumulate=m > 0", "dst=pairs, stationary=rows, moving=rows, accumulate=False", None),
    ("covariance", "over the wrong length", "data=sums, op0=nl.multiply, operand0=1.0 / M",
     "data=sums, op0=nl.multiply, operand0=1.0 / N", None),
    ("curve", "the square in place of the cube", "nl.multiply(square, rows)",
     "nl.multiply(rows, rows)", None),
    ("curve", "a digit fewer", "nl.multiply(cube, 0.0447)", "nl.multiply(cube, 0.447)", None),
    ("surprise", "every class up to the wanted one", "op0=nl.equal", "op0=nl.less_equal", None),
    ("surprise", "the largest is not put back", "data1=size_of_it, data2=top, op=nl.add",
     "data1=size_of_it, data2=top, op=nl.maximum", None),
    ("columns", "with their signs", "op=nl.abs, data=rows", "op=nl.copy, data=rows", None),
    ("columns", "the last tile each time", "data1=kept[m]", "data1=kept[-1]", None),
    ("batches", "the first batch's shift", "b[i:i + 1, 0:N]", "b[0:1, 0:N]", None),
    ("batches", "the batches of x in reverse", "x[i, k * TILE", "x[B - 1 - i, k * TILE", None),
    ("levels", "cut off at another size", "operand1=-12.0", "operand1=-15.0", None),
    ("levels", "the sum of sizes", "dst=top, op=nl.maximum", "dst=top, op=nl.add", None),
    ("likeness", "one row's size twice", "nl.multiply(left, right)", "nl.multiply(left, left)",
     None),
    ("likeness", "without the root", "nl.rsqrt(nl.add(sizes, 1.0))",
     "nl.reciprocal(nl.add(sizes, 1.0))", None),
]
