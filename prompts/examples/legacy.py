import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def example(x, w):
    """y = softmax(x) @ w: 128 rows of x (128, 256), w (256, 512), float32."""
    y = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    i_row = nl.arange(128)[:, None]
    rows = nl.load(x[i_row, nl.arange(256)[None, :]])
    # The negated maximum of each row is the bias of the exponential.
    low = nisa.tensor_reduce(nl.max, rows, axis=[1], negate=True, keepdims=True)
    power = nisa.activation(op=nl.exp, data=rows, bias=low)
    inverse = nl.reciprocal(nl.sum(power, axis=[1], keepdims=True))
    # Contraction lies on partitions: 128 columns of power at a time are transposed. Products add to
    # a PSUM tile of zeros.
    result = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
    for k in nl.affine_range(2):
        turned = nisa.nc_transpose(power[i_row, k * 128 + nl.arange(128)[None, :]])
        moving = nl.load(w[k * 128 + i_row, nl.arange(512)[None, :]])
        result += nisa.nc_matmul(nl.copy(turned), moving)
    # Out of PSUM and divided by the sum at once.
    scaled = nisa.tensor_scalar(result, op0=nl.multiply, operand0=inverse)
    nl.store(y, scaled)
    return y
