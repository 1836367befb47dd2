/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of API calls: what a Python value means there, and the legacy rules for dtypes. */
#include "nki/api/api.h"

/* Larger sizes, positions and steps are mistakes. Below it, sums and products of a few stay
 * exact. */
#define LARGEST_NUMBER ((int64_t)1 << 40)

bool api_want_number(struct value value, double *number) {
    switch (value.kind) {
    case VALUE_BOOL: *number = value.b; return true;
    case VALUE_INT: *number = (double)value.i; return true;
    case VALUE_FLOAT: *number = value.f; return true;
    case VALUE_HOST:
        if (array_count(value.host) != 1)
            return false;
        *number = api_host_read(value.host, 0);
        return true;
    default: return false;
    }
}

bool api_want_int(struct interp *in, const struct nki_node *node, const char *what,
                  struct value value, int64_t *number) {
    if (value.kind == VALUE_BOOL)
        *number = value.b;
    else if (value.kind == VALUE_INT)
        *number = value.i;
    else if (value.kind == VALUE_FLOAT && value.f == (double)(int64_t)value.f)
        *number = (int64_t)value.f;
    else
        return interp_error(in, node, "hone-argument", "%s must be an integer; found %s", what,
                            value_type_name(value));
    if (*number > LARGEST_NUMBER || *number < -LARGEST_NUMBER)
        return interp_error(in, node, "hone-limit", "%s is %lld, which is far too large", what,
                            (long long)*number);
    return true;
}

bool api_want_tensor(struct interp *in, const struct nki_node *node, const char *what,
                     struct value value, const struct tensor **tensor) {
    if (value.kind != VALUE_TENSOR)
        return interp_error(in, node, "hone-argument", "%s must be a tensor; found %s", what,
                            value_type_name(value));
    *tensor = value.tensor;
    return true;
}

/* The types and names of Python and numpy as dtypes. The dtype of a tensor arrives as
 * VALUE_DTYPE. */
bool api_want_dtype(struct interp *in, const struct nki_node *node, struct value value,
                    enum dtype *dtype) {
    *dtype = DTYPE_NONE;
    if (value.kind == VALUE_NONE)
        return true;
    if (value.kind == VALUE_DTYPE)
        *dtype = (enum dtype)value.i;
    else if (value.kind == VALUE_STR)
        *dtype = dtype_find((struct str){value.str->at, value.str->len});
    else if (value.kind == VALUE_NATIVE && strcmp(value.native->name, "float") == 0)
        *dtype = DTYPE_FLOAT32;
    else if (value.kind == VALUE_NATIVE && strcmp(value.native->name, "int") == 0)
        *dtype = DTYPE_INT32;
    else if (value.kind == VALUE_NATIVE && strcmp(value.native->name, "bool") == 0)
        *dtype = DTYPE_BOOL;
    if (*dtype == DTYPE_NONE)
        return interp_error(in, node, "hone-argument",
                            "dtype must be a type like nl.float32; found %s",
                            value_type_name(value));
    return true;
}

bool api_want_mask(struct interp *in, const struct nki_node *node, struct value value,
                   const struct index_expr **mask) {
    static const struct index_expr never = {.mask = true, .n_terms = 1, .term = {{.c0 = -1}}};
    *mask = NULL;
    if (value.kind == VALUE_NONE || (value.kind == VALUE_BOOL && value.b))
        return true;
    if (value.kind == VALUE_BOOL)
        *mask = &never;
    else if (value.kind == VALUE_INDEX && value.index->mask)
        *mask = value.index;
    else
        return interp_error(in, node, "err_unsupported_expression_in_mask",
                            "mask= takes a comparison of index expressions; found %s",
                            value_type_name(value));
    return true;
}

/* Buffers, as members of an enumeration: number = space, plus 16 for shared and 32 for what an
 * allocator of nki.compiler gives, which is no nl.sbuf to the compiler. */
#define BUFFER_SHARED 16
#define BUFFER_OWN 32
static const struct value_enum buffers[] = {
    {"buffer", "sbuf", NKI_SBUF},
    {"buffer", "psum", NKI_PSUM},
    {"buffer", "private_hbm", NKI_HBM},
    {"buffer", "hbm", NKI_HBM},
    {"buffer", "shared_hbm", NKI_HBM + BUFFER_SHARED},
    {"buffer", "sbuf.alloc", NKI_SBUF + BUFFER_OWN},
    {"buffer", "psum.alloc", NKI_PSUM + BUFFER_OWN},
};

struct value api_buffer_value(struct api_buffer buffer) {
    int64_t number =
        (int64_t)buffer.space + (buffer.shared ? BUFFER_SHARED : 0) + (buffer.own ? BUFFER_OWN : 0);
    for (size_t i = 0; i < COUNT_OF(buffers); i++)
        if (buffers[i].number == number)
            return (struct value){.kind = VALUE_ENUM, .enumeration = &buffers[i]};
    return NONE_VALUE;
}

bool api_buffer_name(struct str name, struct value *result) {
    for (size_t i = 0; i < COUNT_OF(buffers); i++)
        if (str_is(name, buffers[i].member)) {
            *result = (struct value){.kind = VALUE_ENUM, .enumeration = &buffers[i]};
            return true;
        }
    return false;
}

bool api_want_buffer(struct interp *in, const struct nki_node *node, struct value value,
                     struct api_buffer *buffer) {
    *buffer = (struct api_buffer){.space = NKI_SBUF};
    if (value.kind == VALUE_NONE)
        return true;
    if (value.kind == VALUE_STR && interp_dialect(in) != NKI_DIALECT_LEGACY &&
        !interp_rule(in, NKI_RULE_ENUMS))
        (void)!api_buffer_name((struct str){value.str->at, value.str->len}, &value);
    if (value.kind != VALUE_ENUM || strcmp(value.enumeration->type, "buffer") != 0)
        return interp_error(in, node, "err_unsupported_memory",
                            "buffer must be nl.sbuf, nl.psum, "
                            "nl.hbm, nl.private_hbm or nl.shared_hbm; found %s",
                            value_type_name(value));
    int64_t number = value.enumeration->number;
    *buffer = (struct api_buffer){.space = (enum nki_space)(number & (BUFFER_SHARED - 1)),
                                  .shared = number & BUFFER_SHARED,
                                  .own = number & BUFFER_OWN};
    return true;
}

/* Type promotion of the legacy dialect (neuronxcc.nki reference, "type promotion"). */
static enum dtype promote_int(enum dtype a, enum dtype b) {
    if (a == DTYPE_BOOL)
        return b;
    if (b == DTYPE_BOOL)
        return a;
    bool sa = dtype_kind(a) == 'i', sb = dtype_kind(b) == 'i';
    size_t na = dtype_bytes(a), nb = dtype_bytes(b);
    if (sa == sb)
        return na >= nb ? a : b;
    size_t sign = sa ? na : nb, plain = sa ? nb : na;
    size_t need = sign > plain ? sign : plain * 2;
    return need == 1   ? DTYPE_INT8
           : need == 2 ? DTYPE_INT16
           : need == 4 ? DTYPE_INT32
                       : DTYPE_FLOAT32;
}

enum dtype api_promote(enum dtype a, enum dtype b) {
    bool fa = dtype_is_float(a), fb = dtype_is_float(b);
    if (a == b)
        return a;
    if (fa != fb)
        return fa ? a : b;
    if (!fa)
        return promote_int(a, b);
    size_t na = dtype_bytes(a), nb = dtype_bytes(b);
    if (na == 4 && nb == 4)
        return DTYPE_FLOAT32;
    if (na != nb)
        return na > nb ? a : b;
    return na == 2 ? DTYPE_FLOAT32 : DTYPE_BFLOAT16;
}

bool api_has_int64(struct interp *in) {
    const char *release = interp_program(in)->release;
    return interp_dialect(in) != NKI_DIALECT_LEGACY && release &&
           nki_release_has(NKI_DIALECT_CURRENT, release, STR("nisa.NkiScalar"));
}

/* ---- classes -------------------------------------------------------------------------------- */

static bool is_tensor(struct interp *in, struct value value) {
    (void)in;
    return value.kind == VALUE_TENSOR;
}

/* nl.DType is str to NKI, whose dtypes are their names. */
static bool is_dtype(struct interp *in, struct value value) {
    (void)in;
    return value.kind == VALUE_DTYPE || value.kind == VALUE_STR;
}

static bool is_instruction(struct interp *in, struct value value) {
    (void)in;
    return value.kind == VALUE_INSTRUCTION;
}

static bool is_grid(struct interp *in, struct value value) {
    (void)in;
    return value.kind == VALUE_GRID;
}

static bool is_tile_grid(struct interp *in, struct value value) {
    return is_grid(in, value) && !api_grid_is_blocks(value.grid);
}

static bool is_block_grid(struct interp *in, struct value value) {
    return is_grid(in, value) && api_grid_is_blocks(value.grid);
}

static bool is_scalar(struct interp *in, struct value value) {
    return api_scalar_dtype(in, value) != DTYPE_NONE;
}

/* Up to NKI 0.6 what counts a loop is a register, too. */
static bool is_register(struct interp *in, struct value value) {
    return value.kind == VALUE_REGISTER &&
           (!is_scalar(in, value) || !interp_rule(in, NKI_RULE_LOOPS_BY_FUNCTION));
}

static bool no_class_call(struct interp *in, const struct call *call, struct value *result);

/* The classes that NKI's modules declare (its stubs), as natives of which isinstance() asks here.
 * Kernels name them in annotations and isinstance(); what makes their values are functions. */
static const struct {
    struct value_native native;
    bool (*has)(struct interp *in, struct value value);
} classes[] = {
    {{"nl.NkiTensor", no_class_call, NULL}, is_tensor},
    {{"nl.DType", no_class_call, NULL}, is_dtype},
    {{"nl.NkiGrid", no_class_call, NULL}, is_grid},
    {{"nl.NkiTileGrid", no_class_call, NULL}, is_tile_grid},
    {{"nl.NkiBlockGrid", no_class_call, NULL}, is_block_grid},
    {{"nisa.NkiInstruction", no_class_call, NULL}, is_instruction},
    {{"nisa.NkiScalar", no_class_call, NULL}, is_scalar},
    {{"nisa.VirtualRegister", no_class_call, NULL}, is_register},
};

static bool no_class_call(struct interp *in, const struct call *call, struct value *result) {
    (void)result;
    return interp_error(in, call->node, "TypeError",
                        "a class of NKI makes no values for kernels: nl.ndarray makes tensors, "
                        "nisa.register_alloc registers, nisa.scalar_load scalars");
}

bool api_class_name(struct interp *in, const char *module, struct str name, struct value *result) {
    size_t len = strlen(module);
    if (str_is(name, "NkiValidationError") && strcmp(module, "nisa") == 0)
        return interp_builtin(in, "NkiValidationError", result);
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        const char *full = classes[i].native.name;
        if (strncmp(full, module, len) == 0 && full[len] == '.' && str_is(name, full + len + 1)) {
            *result = (struct value){.kind = VALUE_NATIVE, .native = &classes[i].native};
            return true;
        }
    }
    return false;
}

bool api_is_of(struct interp *in, struct value value, const struct value_native *type) {
    for (size_t i = 0; i < COUNT_OF(classes); i++)
        if (type == &classes[i].native)
            return classes[i].has(in, value);
    return false;
}
