# SPDX-License-Identifier: Apache-2.0
"""Kernels with one planted fault each: the kernel, what is wrong, the text that is replaced, what
stands there instead, and words of the statement that a diagnosis has to name. The words are looked
for in the faulty kernel; None: the statement that was changed. FIRST was written before there was
any diagnosis, SECOND after it was done and before it was ever run on them."""

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
