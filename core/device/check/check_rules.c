/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that several instructions share: shapes, types and operators of operands. check_move.c,
 * check_matmul.c and check_compute.c say which instruction follows which rule. Source: the NKI ISA
 * reference of NKI 0.6. */
#include "device/check/own.h"

bool check_same_partitions(struct check *c, size_t a, size_t b) {
    const struct nki_ap *x = check_tile(c, a), *y = check_tile(c, b);
    if (!x || !y || x->count[0] == y->count[0])
        return true;
    check_error(c, "err_num_partition_mismatch", "%s has %d partitions and %s has %d",
                check_param(c, a), x->count[0], check_param(c, b), y->count[0]);
    return false;
}

bool check_same_shape(struct check *c, size_t a, size_t b) {
    return check_same_partitions(c, a, b) && check_same_free(c, a, b);
}

bool check_same_free(struct check *c, size_t a, size_t b) {
    const struct nki_ap *x = check_tile(c, a), *y = check_tile(c, b);
    if (!x || !y || nki_ap_free(x) == nki_ap_free(y))
        return true;
    check_error(c, "hone-shape", "%s has %lld elements per partition and %s has %lld",
                check_param(c, a), (long long)nki_ap_free(x), check_param(c, b),
                (long long)nki_ap_free(y));
    return false;
}

bool check_vector(struct check *c, size_t k, size_t like) {
    const struct nki_ap *ap = check_tile(c, k);
    if (!ap)
        return true;
    if (!check_same_partitions(c, k, like))
        return false;
    if (nki_ap_free(ap) == 1)
        return true;
    check_error(c, "hone-shape",
                "%s has %lld elements per partition; one per partition or a number is allowed",
                check_param(c, k), (long long)nki_ap_free(ap));
    return false;
}

bool check_same_dtype(struct check *c, size_t a, size_t b) {
    const struct nki_ap *x = check_tile(c, a), *y = check_tile(c, b);
    if (!x || !y || x->dtype == y->dtype)
        return true;
    check_error(c, "hone-dtype", "%s is %s and %s is %s; they must be of the same type",
                check_param(c, a), dtype_name(x->dtype), check_param(c, b), dtype_name(y->dtype));
    return false;
}

bool check_int_dtype(struct check *c, size_t k) {
    const struct nki_ap *ap = check_tile(c, k);
    if (!ap || dtype_is_int(ap->dtype))
        return true;
    check_error(c, "hone-dtype", "%s is %s; an integer type is needed here", check_param(c, k),
                dtype_name(ap->dtype));
    return false;
}

bool check_not_dtype(struct check *c, size_t k, uint64_t refused, const char *allowed) {
    const struct nki_ap *ap = check_tile(c, k);
    if (!ap || !(refused >> ap->dtype & 1))
        return true;
    check_error(c, "hone-dtype", "%s is %s; %s", check_param(c, k), dtype_name(ap->dtype), allowed);
    return false;
}

bool check_not_both_psum(struct check *c, size_t a, size_t b) {
    const struct nki_ap *x = check_tile(c, a), *y = check_tile(c, b);
    if (!x || !y || check_space(c, x) != NKI_PSUM || check_space(c, y) != NKI_PSUM)
        return true;
    if (c->legacy) {
        check_warn(c, "err_unsupported_memory",
                   "%s and %s are both in PSUM; the compiler copies one", check_param(c, a),
                   check_param(c, b));
        return true;
    }
    check_error(c, "err_unsupported_memory",
                "%s and %s are both in PSUM; at most one may be, copy the other to SBUF",
                check_param(c, a), check_param(c, b));
    return false;
}

bool check_free_range(struct check *c, size_t k, int64_t low, int64_t high) {
    const struct nki_ap *ap = check_tile(c, k);
    if (!ap || (nki_ap_free(ap) >= low && nki_ap_free(ap) <= high))
        return true;
    check_error(c, "err_size_of_dimension_exceed_arch_limit",
                "%s has %lld elements per partition, %lld to %lld are allowed", check_param(c, k),
                (long long)nki_ap_free(ap), (long long)low, (long long)high);
    return false;
}

bool check_alu(struct check *c, size_t k) {
    enum nki_func func = check_func(c, k);
    if (func == NKI_FUNC_NONE)
        return true;
    bool simulated = func == NKI_FUNC_DIVIDE || func == NKI_FUNC_MOD || func == NKI_FUNC_FMOD;
    if ((!nki_func_has(func, 'b') && !nki_func_has(func, 'u')) || (simulated && !c->legacy)) {
        check_error(c, "hone-operator", "%s=nl.%s is no operator of the vector engine's ALU",
                    check_param(c, k), nki_func_name(func));
        return false;
    }
    bool late = nki_func_has(func, '4') ||
                (!c->legacy && (func == NKI_FUNC_SQUARE || func == NKI_FUNC_RELU));
    if (late && c->generation < NKI_GEN4) {
        check_error(c, "hone-generation", "%s=nl.%s needs trn3, this is %s", check_param(c, k),
                    nki_func_name(func), c->image->generation->name);
        return false;
    }
    return true;
}

bool check_reduce_op(struct check *c, size_t k) {
    enum nki_func func = check_func(c, k);
    if (func == NKI_FUNC_NONE || nki_func_has(func, 'r') || func == NKI_FUNC_SUBTRACT)
        return true;
    check_error(c, "hone-operator",
                "%s=nl.%s cannot reduce; add, multiply, maximum, minimum, the logical and the "
                "bitwise operators can",
                check_param(c, k), nki_func_name(func));
    return false;
}

bool check_no_packed(struct check *c) {
    for (size_t k = 0; k < c->instr->n_operands; k++) {
        const struct nki_ap *ap = check_tile(c, k);
        if (ap && dtype_kind(ap->dtype) == 'x') {
            check_error(c, "NCC_ESPP004", "%s is %s; packed types are for matmuls and copies",
                        check_param(c, k), dtype_name(ap->dtype));
            return false;
        }
    }
    return true;
}

bool check_generation(struct check *c, enum nki_generation least) {
    if (c->generation >= least)
        return true;
    check_error(c, "hone-generation", "it exists from %s on, this is %s",
                nki_generation_name(least), c->image->generation->name);
    return false;
}

bool check_one_class(struct check *c, size_t op0, size_t op1) {
    enum nki_func a = check_func(c, op0), b = check_func(c, op1);
    if (a == NKI_FUNC_NONE || b == NKI_FUNC_NONE || nki_func_has(a, 'i') == nki_func_has(b, 'i'))
        return true;
    check_error(c, "hone-operator",
                "%s=nl.%s and %s=nl.%s: both must be arithmetic or both bitwise",
                check_param(c, op0), nki_func_name(a), check_param(c, op1), nki_func_name(b));
    return false;
}
