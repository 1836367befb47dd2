# SPDX-License-Identifier: Apache-2.0
"""Small kernels of one thing each, for hone calibrate, in the legacy dialect; see current.py."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def load_tiles(a, chains):
    columns = a.shape[1] // chains
    tiles = []
    for k in range(chains):
        tile = nl.ndarray((nl.par_dim(128), columns), dtype=a.dtype, buffer=nl.sbuf)
        tile[...] = nl.load(a[0:128, k * columns:(k + 1) * columns])
        tiles.append(tile)
    return tiles


def store_tiles(a, tiles):
    columns = a.shape[1] // len(tiles)
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for k in range(len(tiles)):
        nl.store(out[0:128, k * columns:(k + 1) * columns], value=tiles[k])
    return out


@nki.jit
def nothing(a):
    return store_tiles(a, load_tiles(a, 1))


@nki.jit
def vector_scale(a, chains, rounds):
    tiles = load_tiles(a, chains)
    for r in nl.static_range(rounds):
        for k in nl.static_range(chains):
            tiles[k][...] = nisa.tensor_scalar(tiles[k], nl.multiply, 1.0078125,
                                               engine=nisa.vector_engine)
    return store_tiles(a, tiles)


@nki.jit
def vector_sum(a, chains, rounds):
    tiles = load_tiles(a, chains + 1)
    for r in nl.static_range(rounds):
        for k in nl.static_range(chains):
            tiles[k][...] = nisa.tensor_tensor(tiles[k], tiles[chains], nl.add,
                                               engine=nisa.vector_engine)
    return store_tiles(a, tiles)


@nki.jit
def vector_reduce(a, chains, rounds):
    tiles = load_tiles(a, chains)
    out = nl.ndarray((128, chains * rounds), dtype=nl.float32, buffer=nl.shared_hbm)
    sums = nl.ndarray((nl.par_dim(128), chains * rounds), dtype=nl.float32, buffer=nl.sbuf)
    for r in nl.static_range(rounds):
        for k in nl.static_range(chains):
            at = r * chains + k
            sums[0:128, at:at + 1] = nisa.tensor_reduce(nl.add, tiles[k], axis=(1,), keepdims=True)
    nl.store(out, value=sums)
    return out


@nki.jit
def vector_reciprocal(a, chains, rounds):
    tiles = load_tiles(a, chains)
    for r in nl.static_range(rounds):
        for k in nl.static_range(chains):
            tiles[k][...] = nisa.reciprocal(tiles[k])
    return store_tiles(a, tiles)


@nki.jit
def scalar_copy(a, chains, rounds):
    tiles = load_tiles(a, chains)
    for r in nl.static_range(rounds):
        for k in nl.static_range(chains):
            tiles[k][...] = nisa.activation(nl.copy, tiles[k], scale=1.0078125)
    return store_tiles(a, tiles)


@nki.jit
def scalar_exp(a, chains, rounds):
    tiles = load_tiles(a, chains)
    for r in nl.static_range(rounds):
        for k in nl.static_range(chains):
            tiles[k][...] = nisa.activation(nl.exp, tiles[k], scale=-0.25)
    return store_tiles(a, tiles)


@nki.jit
def scalar_tables(a, chains, rounds):
    tiles = load_tiles(a, chains)
    for r in nl.static_range(rounds):
        for k in nl.static_range(chains):
            tiles[k][...] = nisa.activation(nl.exp, tiles[k], scale=-0.25)
        for k in nl.static_range(chains):
            tiles[k][...] = nisa.activation(nl.tanh, tiles[k])
    return store_tiles(a, tiles)


@nki.jit
def gpsimd_sum(a, chains, rounds):
    tiles = load_tiles(a, chains + 1)
    for r in nl.static_range(rounds):
        for k in nl.static_range(chains):
            tiles[k][...] = nisa.tensor_tensor(tiles[k], tiles[chains], nl.add,
                                               engine=nisa.gpsimd_engine)
    return store_tiles(a, tiles)


@nki.jit
def gpsimd_chain(a, rounds):
    tiles = load_tiles(a, 1)
    for r in nl.static_range(rounds):
        tiles[0][...] = nisa.tensor_tensor(tiles[0], tiles[0], nl.multiply,
                                           engine=nisa.gpsimd_engine)
    return store_tiles(a, tiles)


@nki.jit
def vector_beside_gpsimd(a, chains, rounds):
    tiles = load_tiles(a, chains)
    for r in nl.static_range(rounds):
        for k in nl.static_range(chains // 2):
            tiles[k][...] = nisa.tensor_scalar(tiles[k], nl.multiply, 1.0078125,
                                               engine=nisa.vector_engine)
        for k in nl.static_range(chains // 2, chains):
            tiles[k][...] = nisa.tensor_tensor(tiles[k], tiles[k], nl.multiply,
                                               engine=nisa.gpsimd_engine)
    return store_tiles(a, tiles)


@nki.jit
def from_engine_to_engine(a, rounds):
    tiles = load_tiles(a, 1)
    for r in nl.static_range(rounds):
        tiles[0][...] = nisa.tensor_scalar(tiles[0], nl.multiply, 1.0078125,
                                           engine=nisa.vector_engine)
        tiles[0][...] = nisa.activation(nl.copy, tiles[0], scale=1.0078125)
    return store_tiles(a, tiles)


@nki.jit
def tensor_products(a, b, rounds):
    weights = load_tiles(a, 2)
    moving = load_tiles(b, 1)[0]
    columns = b.shape[1]
    out = nl.ndarray((128, 4 * columns), dtype=nl.float32, buffer=nl.shared_hbm)
    for k in nl.static_range(4):
        sums = nl.zeros((nl.par_dim(128), columns), dtype=nl.float32, buffer=nl.psum)
        for r in nl.static_range(rounds):
            sums[...] += nisa.nc_matmul(weights[r % 2], moving)
        tile = nisa.tensor_copy(sums, engine=nisa.vector_engine)
        nl.store(out[0:128, k * columns:(k + 1) * columns], value=tile)
    return out


@nki.jit
def tensor_after_pauses(a, b, rounds):
    weights = load_tiles(a, 2)
    waits = load_tiles(b, 1)[0]
    moving = nl.ndarray((nl.par_dim(128), 512), dtype=a.dtype, buffer=nl.sbuf)
    for r in nl.static_range(rounds):
        sums = nl.zeros((nl.par_dim(128), 512), dtype=nl.float32, buffer=nl.psum)
        waits[...] = nisa.tensor_scalar(waits, nl.multiply, 1.0078125, engine=nisa.vector_engine)
        moving[...] = nisa.tensor_copy(waits[0:128, 0:512], engine=nisa.vector_engine)
        for k in nl.static_range(20):
            sums[...] += nisa.nc_matmul(weights[k % 2], moving)
        waits[0:128, 0:512] = nisa.tensor_copy(sums, engine=nisa.vector_engine)
    return store_tiles(b, [waits])


@nki.jit
def tensor_chain(a, b, rounds):
    weights = load_tiles(a, 1)[0]
    tiles = load_tiles(b, 1)
    for r in nl.static_range(rounds):
        sums = nisa.nc_matmul(weights, tiles[0])
        tiles[0][...] = nisa.tensor_copy(sums, engine=nisa.vector_engine, dtype=b.dtype)
    return store_tiles(b, tiles)


@nki.jit
def loads(a, chains):
    tiles = load_tiles(a, chains)
    sums = nl.ndarray((nl.par_dim(128), chains), dtype=nl.float32, buffer=nl.sbuf)
    out = nl.ndarray((128, chains), dtype=nl.float32, buffer=nl.shared_hbm)
    for k in nl.static_range(chains):
        sums[0:128, k:k + 1] = nisa.tensor_copy(tiles[k][0:128, 0:1], engine=nisa.vector_engine)
    nl.store(out, value=sums)
    return out


@nki.jit
def loads_in_pieces(a, chains, run):
    columns = a.shape[1] // chains
    half = columns // 2
    sums = nl.ndarray((nl.par_dim(128), chains), dtype=nl.float32, buffer=nl.sbuf)
    out = nl.ndarray((128, chains), dtype=nl.float32, buffer=nl.shared_hbm)
    row, piece, column = nl.mgrid[0:128, 0:half // run, 0:run]
    for k in nl.static_range(chains):
        tile = nl.load(a[row, k * columns + 2 * run * piece + column])
        sums[0:128, k:k + 1] = nisa.tensor_copy(tile[0:128, 0, 0:1], engine=nisa.vector_engine)
    nl.store(out, value=sums)
    return out


@nki.jit
def loads_of_rows(a):
    rows, columns = a.shape
    tile = nl.ndarray((nl.par_dim(1), rows * columns), dtype=a.dtype, buffer=nl.sbuf)
    out = nl.ndarray((1, rows * columns), dtype=a.dtype, buffer=nl.shared_hbm)
    for k in nl.static_range(rows):
        tile[0:1, k * columns:(k + 1) * columns] = nl.load(a[k:k + 1, 0:columns])
    nl.store(out, value=tile)
    return out


@nki.jit
def there_and_back(a, rounds):
    tiles = load_tiles(a, 1)
    for r in nl.static_range(rounds):
        there = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.hbm)
        nl.store(there, value=tiles[0])
        tiles[0][...] = nl.load(there)
    return store_tiles(a, tiles)
