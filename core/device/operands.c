/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of each instruction in the order of nki/instructions.def: what they do (roles) and
 * what may stand for them (kinds). Names for the positions are in operands.h. */
#include "device/image.h"

static const struct {
    const char *roles, *kinds;
} rows[NKI_OP_COUNT] = {
    [NKI_OP_DMA_COPY] = {"ds---", "ttNee"},
    [NKI_OP_DMA_TRANSPOSE] = {"ds----", "ttINee"},
    [NKI_OP_DMA_COMPUTE] = {"ds----", "tlfxbe"},
    [NKI_OP_TENSOR_COPY] = {"ds", "tt"},
    [NKI_OP_TENSOR_COPY_PREDICATED] = {"mss-", "tvtb"},
    [NKI_OP_MEMSET] = {"d-", "tn"},
    [NKI_OP_NC_TRANSPOSE] = {"ds", "tt"},
    [NKI_OP_NC_STREAM_SHUFFLE] = {"ms-", "tti"},
    [NKI_OP_LOCAL_GATHER] = {"dss--", "tttNN"},
    [NKI_OP_NC_N_GATHER] = {"dss", "ttt"},
    [NKI_OP_NC_MATMUL] = {"mss-------", "tttbbbbIIe"},
    [NKI_OP_NC_MATMUL_MX] = {"mssss---", "tttttIIb"},
    [NKI_OP_NONZERO_WITH_COUNT] = {"ms--", "ttNN"},
    [NKI_OP_QUANTIZE_MX] = {"dsm", "ttt"},
    [NKI_OP_ACTIVATION] = {"d-sss-d-", "tftVVFTe"},
    [NKI_OP_ACTIVATION_REDUCE] = {"d-s-dss", "tftfTVV"},
    [NKI_OP_ACTIVATE2] = {"d-sss------d-", "tftVVFFNbbFTe"},
    [NKI_OP_TENSOR_SCALAR] = {"ds-s--s-", "ttfVbFVb"},
    [NKI_OP_TENSOR_TENSOR] = {"dss-", "tttf"},
    [NKI_OP_SCALAR_TENSOR_TENSOR] = {"ds-s-s--", "ttfvftbb"},
    [NKI_OP_TENSOR_TENSOR_SCAN] = {"dsss----", "tttvffbb"},
    [NKI_OP_TENSOR_SCALAR_CUMULATIVE] = {"ds--ss-", "ttffvVe"},
    [NKI_OP_TENSOR_SCALAR_REDUCE] = {"ds-s-d--s-", "ttfvfTbeVb"},
    [NKI_OP_TENSOR_REDUCE] = {"d-s---", "tftxbb"},
    [NKI_OP_TENSOR_PARTITION_REDUCE] = {"d-s", "tft"},
    [NKI_OP_RECIPROCAL] = {"ds", "tt"},
    [NKI_OP_EXPONENTIAL] = {"dssd-s", "ttVTeV"},
    [NKI_OP_BN_STATS] = {"ds", "tt"},
    [NKI_OP_BN_AGGR] = {"ds", "tt"},
    [NKI_OP_MAX8] = {"ds", "tt"},
    [NKI_OP_NC_FIND_INDEX8] = {"dss", "ttt"},
    [NKI_OP_NC_MATCH_REPLACE8] = {"dss-d", "tttnT"},
    [NKI_OP_SELECT_REDUCE] = {"dsssd---", "ttvvTeFb"},
    [NKI_OP_RANGE_SELECT] = {"ds--ss-d---", "ttffvveTFNN"},
    [NKI_OP_AFFINE_SELECT] = {"d--ss--", "tiNtvFN"},
    [NKI_OP_IOTA] = {"d---", "tiNN"},
    [NKI_OP_DROPOUT] = {"dss", "ttv"},
    [NKI_OP_SEQUENCE_BOUNDS] = {"ds", "tt"},
    [NKI_OP_RNG] = {"d", "t"},
    [NKI_OP_ELEMENTWISE] = {"d-s", "tft"},
};

const char *device_roles(enum nki_op op) {
    return rows[op].roles;
}

const char *device_kinds(enum nki_op op) {
    return rows[op].kinds;
}
