# SPDX-License-Identifier: Apache-2.0
"""Small kernels of one thing each, for hone calibrate, in the current dialect. A tile is 128
partitions high; an input has `chains` of them side by side. What one instruction makes the next of
its chain takes, so nothing can be left out; with many chains an engine never waits."""

import nki
import nki.isa as nisa
import nki.language as nl


def load_tiles(a, chains):
    columns = a.shape[1] // chains
    tiles = []
    for k in range(chains):
        tile = nl.ndarray((128, columns), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=a[0:128, k * columns:(k + 1) * columns])
        tiles.append(tile)
    return tiles


def store_tiles(a, tiles):
    columns = a.shape[1] // len(tiles)
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for k in range(len(tiles)):
        nisa.dma_copy(dst=out[0:128, k * columns:(k + 1) * columns], src=tiles[k])
    return out


@nki.jit
def nothing(a):
    return store_tiles(a, load_tiles(a, 1))


@nki.jit
def vector_scale(a, chains, rounds):
    tiles = load_tiles(a, chains)
    for r in range(rounds):
        for k in range(chains):
            nisa.tensor_scalar(dst=tiles[k], data=tiles[k], op0=nl.multiply, operand0=1.0078125,
                               engine=nisa.vector_engine)
    return store_tiles(a, tiles)


@nki.jit
def vector_sum(a, chains, rounds):
    tiles = load_tiles(a, chains + 1)
    for r in range(rounds):
        for k in range(chains):
            nisa.tensor_tensor(dst=tiles[k], data1=tiles[k], data2=tiles[chains],
                               op=nl.add, engine=nisa.vector_engine)
    return store_tiles(a, tiles)


@nki.jit
def vector_reduce(a, chains, rounds):
    tiles = load_tiles(a, chains)
    out = nl.ndarray((128, chains * rounds), dtype=nl.float32, buffer=nl.shared_hbm)
    sums = nl.ndarray((128, chains * rounds), dtype=nl.float32, buffer=nl.sbuf)
    for r in range(rounds):
        for k in range(chains):
            at = r * chains + k
            nisa.tensor_reduce(dst=sums[0:128, at:at + 1], op=nl.add, data=tiles[k], axis=1)
    nisa.dma_copy(dst=out, src=sums)
    return out


@nki.jit
def vector_reciprocal(a, chains, rounds):
    tiles = load_tiles(a, chains)
    for r in range(rounds):
        for k in range(chains):
            nisa.reciprocal(dst=tiles[k], data=tiles[k])
    return store_tiles(a, tiles)


@nki.jit
def scalar_copy(a, chains, rounds):
    tiles = load_tiles(a, chains)
    for r in range(rounds):
        for k in range(chains):
            nisa.activation(dst=tiles[k], op=nl.copy, data=tiles[k], scale=1.0078125)
    return store_tiles(a, tiles)


@nki.jit
def scalar_exp(a, chains, rounds):
    tiles = load_tiles(a, chains)
    for r in range(rounds):
        for k in range(chains):
            nisa.activation(dst=tiles[k], op=nl.exp, data=tiles[k], scale=-0.25)
    return store_tiles(a, tiles)


@nki.jit
def scalar_tables(a, chains, rounds):
    tiles = load_tiles(a, chains)
    for r in range(rounds):
        for k in range(chains):
            nisa.activation(dst=tiles[k], op=nl.exp, data=tiles[k], scale=-0.25)
        for k in range(chains):
            nisa.activation(dst=tiles[k], op=nl.tanh, data=tiles[k])
    return store_tiles(a, tiles)


@nki.jit
def gpsimd_sum(a, chains, rounds):
    tiles = load_tiles(a, chains + 1)
    for r in range(rounds):
        for k in range(chains):
            nisa.tensor_tensor(dst=tiles[k], data1=tiles[k], data2=tiles[chains],
                               op=nl.add, engine=nisa.gpsimd_engine)
    return store_tiles(a, tiles)


@nki.jit
def gpsimd_chain(a, rounds):
    tiles = load_tiles(a, 1)
    for r in range(rounds):
        nisa.tensor_tensor(dst=tiles[0], data1=tiles[0], data2=tiles[0], op=nl.multiply,
                           engine=nisa.gpsimd_engine)
    return store_tiles(a, tiles)


@nki.jit
def vector_beside_gpsimd(a, chains, rounds):
    tiles = load_tiles(a, chains)
    for r in range(rounds):
        for k in range(chains // 2):
            nisa.tensor_scalar(dst=tiles[k], data=tiles[k], op0=nl.multiply, operand0=1.0078125,
                               engine=nisa.vector_engine)
        for k in range(chains // 2, chains):
            nisa.tensor_tensor(dst=tiles[k], data1=tiles[k], data2=tiles[k], op=nl.multiply,
                               engine=nisa.gpsimd_engine)
    return store_tiles(a, tiles)


@nki.jit
def from_engine_to_engine(a, rounds):
    tiles = load_tiles(a, 1)
    for r in range(rounds):
        nisa.tensor_scalar(dst=tiles[0], data=tiles[0], op0=nl.multiply, operand0=1.0078125,
                           engine=nisa.vector_engine)
        nisa.activation(dst=tiles[0], op=nl.copy, data=tiles[0], scale=1.0078125)
    return store_tiles(a, tiles)


@nki.jit
def tensor_products(a, b, rounds):
    weights = load_tiles(a, 2)
    moving = load_tiles(b, 1)[0]
    columns = b.shape[1]
    out = nl.ndarray((128, 4 * columns), dtype=nl.float32, buffer=nl.shared_hbm)
    for k in range(4):
        sums = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.psum)
        for r in range(rounds):
            nisa.nc_matmul(dst=sums, stationary=weights[r % 2], moving=moving)
        tile = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=tile, src=sums, engine=nisa.vector_engine)
        nisa.dma_copy(dst=out[0:128, k * columns:(k + 1) * columns], src=tile)
    return out


@nki.jit
def tensor_after_pauses(a, b, rounds):
    """The engine idles while Vector works on what its next products need."""
    weights = load_tiles(a, 2)
    waits = load_tiles(b, 1)[0]
    moving = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    sums = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
    for r in range(rounds):
        nisa.tensor_scalar(dst=waits, data=waits, op0=nl.multiply, operand0=1.0078125,
                           engine=nisa.vector_engine)
        nisa.tensor_copy(dst=moving, src=waits[0:128, 0:512], engine=nisa.vector_engine)
        for k in range(20):
            nisa.nc_matmul(dst=sums, stationary=weights[k % 2], moving=moving)
        nisa.tensor_copy(dst=waits[0:128, 0:512], src=sums, engine=nisa.vector_engine)
    return store_tiles(b, [waits])


@nki.jit
def tensor_chain(a, b, rounds):
    weights = load_tiles(a, 1)[0]
    tiles = load_tiles(b, 1)
    for r in range(rounds):
        sums = nl.ndarray((128, b.shape[1]), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=sums, stationary=weights, moving=tiles[0])
        nisa.tensor_copy(dst=tiles[0], src=sums, engine=nisa.vector_engine)
    return store_tiles(b, tiles)


@nki.jit
def loads(a, chains):
    """Sums of what is loaded, so that every load counts."""
    tiles = load_tiles(a, chains)
    sums = nl.ndarray((128, chains), dtype=nl.float32, buffer=nl.sbuf)
    out = nl.ndarray((128, chains), dtype=nl.float32, buffer=nl.shared_hbm)
    for k in range(chains):
        nisa.tensor_copy(dst=sums[0:128, k:k + 1], src=tiles[k][0:128, 0:1],
                         engine=nisa.vector_engine)
    nisa.dma_copy(dst=out, src=sums)
    return out


@nki.jit
def loads_in_pieces(a, chains, run):
    """Every other `run` of a row: descriptors of as many elements."""
    columns = a.shape[1] // chains
    sums = nl.ndarray((128, chains), dtype=nl.float32, buffer=nl.sbuf)
    out = nl.ndarray((128, chains), dtype=nl.float32, buffer=nl.shared_hbm)
    for k in range(chains):
        tile = nl.ndarray((128, columns // (2 * run), run), dtype=a.dtype, buffer=nl.sbuf)
        rows = a[0:128, k * columns:(k + 1) * columns].reshape((128, columns // (2 * run), 2 * run))
        nisa.dma_copy(dst=tile, src=rows[0:128, 0:columns // (2 * run), 0:run])
        nisa.tensor_copy(dst=sums[0:128, k:k + 1], src=tile[0:128, 0, 0:1],
                         engine=nisa.vector_engine)
    nisa.dma_copy(dst=out, src=sums)
    return out


@nki.jit
def there_and_back(a, rounds):
    tiles = load_tiles(a, 1)
    for r in range(rounds):
        there = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.private_hbm)
        nisa.dma_copy(dst=there, src=tiles[0])
        nisa.dma_copy(dst=tiles[0], src=there)
    return store_tiles(a, tiles)


@nki.jit
def loads_of_rows(a):
    """A row each into one partition: little to move, much to issue."""
    rows, columns = a.shape
    tile = nl.ndarray((1, rows * columns), dtype=a.dtype, buffer=nl.sbuf)
    out = nl.ndarray((1, rows * columns), dtype=a.dtype, buffer=nl.shared_hbm)
    for k in range(rows):
        nisa.dma_copy(dst=tile[0:1, k * columns:(k + 1) * columns], src=a[k:k + 1, 0:columns])
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def loads_of_rows_by_gpsimd(a):
    rows, columns = a.shape
    tile = nl.ndarray((1, rows * columns), dtype=a.dtype, buffer=nl.sbuf)
    out = nl.ndarray((1, rows * columns), dtype=a.dtype, buffer=nl.shared_hbm)
    for k in range(rows):
        nisa.dma_copy(dst=tile[0:1, k * columns:(k + 1) * columns], src=a[k:k + 1, 0:columns],
                      engine=nisa.gpsimd_engine)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def gathers(a, n, chains):
    index = nl.ndarray((128, 1), dtype=n.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=n)
    sums = nl.ndarray((128, chains), dtype=nl.float32, buffer=nl.sbuf)
    out = nl.ndarray((128, chains), dtype=nl.float32, buffer=nl.shared_hbm)
    for k in range(chains):
        tile = nl.ndarray((128, a.shape[1]), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=a.ap(pattern=[[a.shape[1], 128], [1, a.shape[1]]], offset=0,
                                         vector_offset=index, indirect_dim=0))
        nisa.tensor_copy(dst=sums[0:128, k:k + 1], src=tile[0:128, 0:1], engine=nisa.vector_engine)
    nisa.dma_copy(dst=out, src=sums)
    return out
