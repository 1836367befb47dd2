import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def example(x, w):
    """y = softmax(x) @ w: 128 rows of x (128, 256), w (256, 512), float32."""
    y = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    rows = nl.ndarray((128, 256), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=x[0:128, 0:256])
    # The negated maximum of each row is the bias of the exponential, which also sums the row.
    low = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=low, op=nl.maximum, data=rows, axis=1, negate=True)
    power = nl.ndarray((128, 256), dtype=nl.float32, buffer=nl.sbuf)
    total = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation_reduce(dst=power, op=nl.exp, data=rows, bias=low, reduce_op=nl.add,
                           reduce_res=total)
    nisa.reciprocal(dst=total, data=total)
    # Contraction lies on partitions: 128 columns of power at a time are transposed.
    result = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
    for k in range(2):
        turned = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_transpose(dst=turned, data=power[:, k * 128:(k + 1) * 128])
        stationary = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=stationary, src=turned)
        moving = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=moving, src=w[k * 128:(k + 1) * 128, 0:512])
        # The first product overwrites the PSUM tile, the others add to it.
        nisa.nc_matmul(dst=result, stationary=stationary, moving=moving)
    # Out of PSUM and divided by the sum at once; dma_copy does not read PSUM.
    scaled = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=scaled, data=result, op0=nl.multiply, operand0=total)
    nisa.dma_copy(dst=y, src=scaled)
    return y
