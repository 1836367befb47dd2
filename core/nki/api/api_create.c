/* SPDX-License-Identifier: Apache-2.0 */
/* nl functions that make tensors: ndarray and its relatives, constants of the host, random numbers.
 * What moves data is in api_move.c. */
#include "nki/api/api.h"

#include "base/half/half.h"

/* nl.par_dim(n) of the legacy dialect: an index expression without dimensions marks the size. */
static bool is_par_dim(struct value v) {
    return v.kind == VALUE_INDEX && v.index->n_dims == 0 && !v.index->mask;
}

bool nl_par_dim(struct interp *in, const struct call *call, struct value *result) {
    struct value v[1];
    int64_t size;
    if (!api_bind(in, call, "value", v) ||
        !api_want_int(in, call->node, "the size given to nl.par_dim", v[0], &size))
        return false;
    if (interp_dialect(in) != NKI_DIALECT_LEGACY) {
        interp_warn(in, call->node, "hone-deprecated-name",
                    "nl.par_dim has no effect any more: dimension 0 is the "
                    "partition dimension");
        *result = value_int(size);
        return true;
    }
    struct index_expr mark = {.at = {.c0 = size}};
    *result = (struct value){.kind = VALUE_INDEX, .index = index_new(in, &mark)};
    return true;
}

static bool read_shape(struct interp *in, const struct nki_node *node, struct value value,
                       struct tensor_request *request) {
    struct value items[TENSOR_MAX_DIMS];
    request->part = -1;
    if (value.kind != VALUE_TUPLE && value.kind != VALUE_LIST) {
        if (is_par_dim(value))
            value = value_int(value.index->at.c0);
        return tensor_read_shape(in, node, value, request->shape, &request->n_dims);
    }
    size_t n = value.seq->items.len;
    if (n > TENSOR_MAX_DIMS)
        return interp_error(in, node, "err_exceed_max_supported_dimension",
                            "a shape has %zu dimensions; at most %d are allowed", n,
                            TENSOR_MAX_DIMS);
    for (size_t i = 0; i < n; i++) {
        items[i] = value.seq->items.at[i];
        if (is_par_dim(items[i])) {
            request->part = (int)i;
            items[i] = value_int(items[i].index->at.c0);
        } else if (items[i].kind == VALUE_FLOAT && items[i].f == (double)(int64_t)items[i].f) {
            items[i] = value_int((int64_t)items[i].f);
        }
    }
    return tensor_read_shape(in, node, value_tuple(in, items, n), request->shape, &request->n_dims);
}

static bool read_address(struct interp *in, const struct nki_node *node, struct value value,
                         struct tensor_request *request) {
    request->address_partition = -1;
    if (value.kind == VALUE_NONE)
        return true;
    int64_t partition, byte;
    if (value.kind != VALUE_TUPLE || value.seq->items.len != 2 ||
        !api_want_int(in, node, "address", value.seq->items.at[0], &partition) ||
        !api_want_int(in, node, "address", value.seq->items.at[1], &byte))
        return interp_error(in, node, "hone-argument",
                            "address= is a pair (partition, byte offset)");
    request->address_partition = (int32_t)partition;
    request->address_byte = byte;
    return true;
}

/* ---- kernels that allocate their tiles themselves (legacy dialect) ----------------------------
 */

static bool tell_implicit(struct interp *in, const struct nki_node *node, enum api_implicit what) {
    static const struct {
        const char *code, *text;
    } texts[] = {
        [API_IMPLICIT_VALUE] = {"err_tensor_creation_on_scratchpad_with_init_value_not_supported",
                                "a tile cannot be created with a value: create it with nl.ndarray "
                                "and write to it"},
        [API_IMPLICIT_BIAS] = {"err_bias_tensor_must_be_specified_in_allocation",
                               "an activation needs its bias: use nisa.activation with a tile as "
                               "bias="},
        [API_IMPLICIT_TRANSPOSE] =
            {"err_transpose_on_tensor_engine_not_allowed_in_allocated_kernel",
             "the Tensor engine transposes only with an identity matrix of the kernel's own: use "
             "nisa.nc_matmul with it, or engine=nisa.vector_engine for up to 32 x 32"},
    };
    return interp_error(in, node, texts[what].code,
                        "this kernel allocates its tiles itself (sbuf.mod_alloc and the like), so "
                        "the compiler adds none: %s",
                        texts[what].text);
}

bool api_implicit(struct interp *in, const struct nki_node *node, enum api_implicit what) {
    struct api *api = api_of(in);
    if (interp_dialect(in) != NKI_DIALECT_LEGACY)
        return true;
    if (api->allocates)
        return tell_implicit(in, node, what);
    if (!api->implied)
        api->implicit = what;
    if (!api->implied)
        api->implied = node;
    return true;
}

bool api_allocates(struct interp *in) {
    struct api *api = api_of(in);
    if (interp_dialect(in) != NKI_DIALECT_LEGACY || api->allocates || interp_auto_allocates(in))
        return true;
    api->allocates = true;
    return !api->implied || tell_implicit(in, api->implied, api->implicit);
}

/* A compiler places all tiles of a memory, or none (nki.compiler.sbuf.auto_alloc in the reference
 * of neuronxcc 2.26; what users report of NCC_EGCA111 for the package nki). One warning for each
 * memory, where the first tile of the second kind is made. */
static void note_placed(struct interp *in, const struct nki_node *node, enum nki_space space,
                        bool own) {
    if (space == NKI_HBM || interp_auto_allocates(in))
        return;
    struct api_placed *placed = &api_of(in)->placed[space == NKI_PSUM];
    uint32_t *first = own ? &placed->own : &placed->automatic;
    if (!*first)
        *first = interp_loc(in, node) + 1;
    if (placed->told || !placed->own || !placed->automatic)
        return;
    placed->told = true;
    const struct nki_loc *locs = interp_program(in)->locs.at;
    interp_warn(in, node, "hone-mixed-allocation",
                "tiles in %s with addresses of the kernel's own (line %u) and tiles that the "
                "compiler places (line %u): it places all tiles of a memory or none (NCC_EGCA111)",
                space == NKI_PSUM ? "PSUM" : "SBUF", locs[placed->own - 1].line,
                locs[placed->automatic - 1].line);
}

/* What ndarray, zeros, ones and full have in common. */
struct creation {
    struct value shape, dtype, buffer, name, address;
};

/* A tensor of one name is of one shape and type on both cores (LNC guide). */
static bool is_as_shared(struct interp *in, const struct nki_node *node,
                         const struct tensor *shared, const struct tensor_request *request) {
    struct tensor wanted = {.n_dims = request->n_dims};
    bool same = shared->n_dims == request->n_dims && shared->dtype == request->dtype;
    for (int d = 0; d < request->n_dims; d++) {
        wanted.dim[d].size = request->shape[d];
        same = same && shared->dim[d].size == request->shape[d];
    }
    const char *name = tensor_storage(in, shared)->name;
    if (same || interp_cores(in) < 2 || !str_is(request->name, name))
        return true;
    return interp_error(in, node, "hone-cores-differ",
                        "`%s` in nl.shared_hbm is %s %s on core 0 and %s %s on core 1; both cores "
                        "share it, and make it with the same shape and dtype",
                        name, tensor_shape_text(in, shared), dtype_name(shared->dtype),
                        tensor_shape_text(in, &wanted), dtype_name(request->dtype));
}

/* All instances of a launch share these tensors. The first instance makes them. */
static struct tensor *shared_tensor(struct interp *in, const struct nki_node *node,
                                    const struct tensor_request *request) {
    struct api *api = api_of(in);
    size_t index = api->next_shared++;
    if (api->instances > 0) {
        struct api_shared *shared = api->shared;
        for (size_t i = 0; shared && i < index; i++)
            shared = shared->next;
        if (shared)
            return is_as_shared(in, node, shared->tensor, request) ? shared->tensor : NULL;
    }
    struct api_shared **end = &api->shared;
    while (*end)
        end = &(*end)->next;
    *end = ARENA_NEW(interp_arena(in), struct api_shared);
    return (*end)->tensor = tensor_new(in, node, request);
}

/* A name= is given once in each program of a launch. In a loop on the device the compiler sees the
 * statement once, where hone runs it in every round. */
static bool take_name(struct interp *in, const struct nki_node *node, struct value name) {
    struct api *api = api_of(in);
    if (name.kind != VALUE_STR || !name.str->len || api->loop ||
        interp_dialect(in) == NKI_DIALECT_LEGACY)
        return true;
    struct value_dict **taken = &api->taken[interp_program_id(in, 0) & 1];
    if (!*taken)
        *taken = value_new_dict(in).dict;
    if (value_dict_find(in, *taken, name))
        return interp_error(in, node, "hone-argument",
                            "Tensor name '" STR_FMT "' is already in use: give each tensor a name "
                            "of its own, with the loop's index in it, or none",
                            (int)name.str->len, name.str->at);
    value_dict_put(in, *taken, name, value_bool(true));
    return true;
}

static struct tensor *create(struct interp *in, const struct nki_node *node,
                             const struct creation *creation, bool zeroed) {
    struct tensor_request request = {.name = interp_target_name(in)};
    struct api_buffer buffer;
    if (!read_shape(in, node, creation->shape, &request) ||
        !api_want_dtype(in, node, creation->dtype, &request.dtype) ||
        !api_want_buffer(in, node, creation->buffer, &buffer) ||
        !read_address(in, node, creation->address, &request))
        return NULL;
    request.space = buffer.space;
    request.shared = buffer.shared;
    note_placed(in, node, buffer.space, buffer.own || request.address_partition >= 0);
    if (request.dtype == DTYPE_NONE) {
        interp_error(in, node, "hone-argument", "dtype is missing");
        return NULL;
    }
    if (creation->name.kind == VALUE_STR && creation->name.str->len)
        request.name = (struct str){creation->name.str->at, creation->name.str->len};
    if (!take_name(in, node, creation->name))
        return NULL;
    if (request.space != NKI_HBM && request.part < 0)
        request.part = 0;
    if (request.space != NKI_HBM && request.n_dims < 2 &&
        interp_dialect(in) != NKI_DIALECT_LEGACY) {
        interp_error(in, node, "hone-rank",
                     "a tile in SBUF or PSUM has at least two dimensions: "
                     "(partitions, elements)");
        return NULL;
    }
    if (request.space != NKI_HBM && request.n_dims == 1)
        request.shape[request.n_dims++] = 1;
    request.zeroed = zeroed && request.space == NKI_PSUM;
    if (request.shared && interp_scope(in)) {
        interp_error(in, node, "err_shared_hbm_must_in_kernel_level",
                     "a tensor in nl.shared_hbm is made in a loop: make it before the loop");
        return NULL;
    }
    if (request.shared && interp_dialect(in) == NKI_DIALECT_LEGACY && interp_in_helper(in))
        interp_warn(in, node, "hone-helper-output",
                    "a tensor in nl.shared_hbm is made in a function that the kernel calls; NKI's "
                    "documentation refuses that: make it in the kernel, and pass it on");
    return request.shared ? shared_tensor(in, node, &request) : tensor_new(in, node, &request);
}

bool nl_ndarray(struct interp *in, const struct call *call, struct value *result) {
    struct value v[6];
    if (!api_bind(in, call,
                  interp_dialect(in) == NKI_DIALECT_LEGACY
                      ? "shape, dtype, *, buffer=None, name='', lazy_initialization=False, "
                        "address=None"
                      : "shape, dtype, buffer=None, name='', address=None",
                  v))
        return false;
    bool legacy = interp_dialect(in) == NKI_DIALECT_LEGACY;
    struct creation creation = {v[0], v[1], v[2], v[3], legacy ? v[5] : v[4]};
    struct tensor *t = create(in, call->node, &creation, false);
    *result = value_tensor(t);
    return t != NULL;
}

/* Fills a tile block by block, because blocks are tiles of their own. */
static bool fill_blocks(struct interp *in, const struct nki_node *node, const struct tensor *t,
                        double value) {
    struct tensor block;
    int part = MAX_OF(tensor_part(t), 0);
    tensor_read(&block, t);
    int64_t blocks = 1, step = 1;
    for (int d = 0; d < part; d++)
        blocks *= t->dim[d].size;
    for (int d = part + 1; d < t->n_dims; d++)
        step *= t->dim[d].size;
    block.n_dims = (uint8_t)(t->n_dims - part);
    for (int d = part; d < t->n_dims; d++)
        block.dim[d - part] = t->dim[d];
    for (int64_t k = 0; k < blocks; k++) {
        block.offset = t->offset + k * step;
        if (!interp_spend(in, node, 1) || !api_memset(in, node, tensor_keep(in, &block), value))
            return false;
    }
    return true;
}

static bool create_filled(struct interp *in, const struct call *call,
                          const struct creation *creation, double value, struct value *result) {
    bool legacy = interp_dialect(in) == NKI_DIALECT_LEGACY;
    struct tensor *t = create(in, call->node, creation, legacy && value == 0);
    if (!t || (t->space != NKI_HBM && !api_implicit(in, call->node, API_IMPLICIT_VALUE)))
        return false;
    *result = value_tensor(t);
    if (t->space == NKI_HBM && legacy)
        return interp_error(in, call->node, "err_hbm_tensor_with_init_value_not_supported",
                            "a tensor in HBM cannot be created with a value: store a tile to it");
    if (tensor_storage(in, t)->zeroed)
        return true;
    return fill_blocks(in, call->node, t, value);
}

/* nl.zeros and nl.ones. The native's data is the value. */
bool nl_filled(struct interp *in, const struct call *call, struct value *result) {
    struct value v[5];
    if (!api_bind(in, call, "shape, dtype, buffer=None, name='', lazy_initialization=False", v))
        return false;
    struct creation creation = {v[0], v[1], v[2], v[3], NONE_VALUE};
    return create_filled(in, call, &creation, call->data ? 1 : 0, result);
}

bool nl_full(struct interp *in, const struct call *call, struct value *result) {
    struct value v[6];
    double value;
    if (!api_bind(in, call,
                  "shape, fill_value, dtype, buffer=None, name='', lazy_initialization=False", v))
        return false;
    if (!api_want_number(v[1], &value))
        return interp_error(in, call->node, "hone-argument",
                            "fill_value must be a number; found %s", value_type_name(v[1]));
    struct creation creation = {v[0], v[2], v[3], v[4], NONE_VALUE};
    return create_filled(in, call, &creation, value, result);
}

/* nl.zeros_like (data is set) and nl.empty_like. */
bool nl_like(struct interp *in, const struct call *call, struct value *result) {
    struct value v[4];
    const struct tensor *x;
    if (!api_bind(in, call, "x, dtype=None, buffer=None, name=''", v) ||
        !api_want_tensor(in, call->node, "x", v[0], &x))
        return false;
    enum dtype dtype;
    struct api_buffer buffer;
    if (!api_want_dtype(in, call->node, v[1], &dtype) ||
        !api_want_buffer(in, call->node, v[2], &buffer))
        return false;
    struct tensor_request request = {
        .space = v[2].kind == VALUE_NONE ? x->space : buffer.space,
        .shared = buffer.shared,
        .dtype = dtype ? dtype : x->dtype,
        .n_dims = x->n_dims,
        .part = MAX_OF(tensor_part(x), 0),
        .name = interp_target_name(in),
        .address_partition = -1,
    };
    for (int d = 0; d < x->n_dims; d++)
        request.shape[d] = x->dim[d].size;
    note_placed(in, call->node, request.space, buffer.own);
    struct tensor *t = tensor_new(in, call->node, &request);
    *result = value_tensor(t);
    return t && (!call->data || fill_blocks(in, call->node, t, 0));
}

/* Random bits scaled to [0, 1). */
bool nl_rand(struct interp *in, const struct call *call, struct value *result) {
    struct value v[4];
    if (!api_bind(in, call, "shape, dtype=None, buffer=None, name=''", v))
        return false;
    struct creation creation = {v[0], v[1], v[2], v[3], NONE_VALUE};
    if (v[1].kind == VALUE_NONE)
        creation.dtype = (struct value){.kind = VALUE_DTYPE, .i = DTYPE_FLOAT32};
    struct tensor *t = create(in, call->node, &creation, false);
    struct tensor *bits = t ? api_tile_like(in, call->node, t, NKI_SBUF, DTYPE_UINT32) : NULL;
    struct api_build b;
    if (!bits)
        return false;
    api_start(&b, in, call->node, NKI_OP_RNG);
    api_put_tensor(&b, NKI_RNG_dst, bits);
    struct api_op scale = {.in = in, .node = call->node, .func = NKI_FUNC_MULTIPLY, .dst = t};
    *result = value_tensor(t);
    return api_emit(&b) && api_emit_scalar(&scale, bits, operand_float(0x1p-32), false);
}

/* ---- constants of the host ------------------------------------------------------------------ */

/* Numbers as the bytes of a device dtype. */
static void convert_constant(const struct array *from, enum dtype to, void *bytes) {
    int64_t n = array_count(from);
    for (int64_t i = 0; i < n; i++) {
        double value = api_host_read(from, i);
        float single = (float)value;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        switch (to) {
        case DTYPE_FLOAT32:
        case DTYPE_TFLOAT32: ((float *)bytes)[i] = single; break;
        case DTYPE_BFLOAT16:
            ((uint16_t *)bytes)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
            break;
        case DTYPE_FLOAT16: ((uint16_t *)bytes)[i] = half_from_double(value); break;
        case DTYPE_INT32: ((int32_t *)bytes)[i] = (int32_t)value; break;
        case DTYPE_UINT32: ((uint32_t *)bytes)[i] = (uint32_t)(int64_t)value; break;
        case DTYPE_INT16: ((int16_t *)bytes)[i] = (int16_t)value; break;
        case DTYPE_UINT16: ((uint16_t *)bytes)[i] = (uint16_t)value; break;
        default: ((int8_t *)bytes)[i] = (int8_t)value; break;
        }
    }
}

static enum dtype device_dtype(enum dtype dtype) {
    return dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT32 : dtype == DTYPE_INT64 ? DTYPE_INT32 : dtype;
}

bool nl_shared_constant(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    enum dtype dtype;
    if (!api_bind(in, call, "constant, dtype=None", v) ||
        !api_want_dtype(in, call->node, v[1], &dtype))
        return false;
    if (v[0].kind != VALUE_HOST || v[0].host->ndim < 1 || v[0].host->ndim > ARRAY_MAX_DIMS)
        return interp_error(in, call->node, "hone-argument",
                            "nl.shared_constant takes a numpy array; found %s",
                            value_type_name(v[0]));
    const struct array *array = v[0].host;
    struct tensor_request request = {
        .space = NKI_HBM,
        .shared = true,
        .n_dims = array->ndim,
        .address_partition = -1,
        .dtype = device_dtype(dtype ? dtype : array->dtype),
        .name = interp_target_name(in),
    };
    memcpy(request.shape, array->shape, sizeof array->shape);
    struct tensor *t = tensor_new(in, call->node, &request);
    if (!t)
        return false;
    void *bytes =
        arena_alloc(interp_arena(in), (size_t)array_count(array), dtype_bytes(request.dtype));
    convert_constant(array, request.dtype, bytes);
    tensor_storage(in, t)->constant = bytes;
    *result = value_tensor(t);
    return true;
}

bool nl_shared_identity_matrix(struct interp *in, const struct call *call, struct value *result) {
    struct value v[3];
    int64_t n;
    enum dtype dtype;
    if (!api_bind(in, call, "n, dtype=None, dst=None", v) ||
        !api_want_int(in, call->node, "n", v[0], &n) ||
        !api_want_dtype(in, call->node, v[1], &dtype))
        return false;
    if (n < 1 || n > NKI_PARTITIONS)
        return interp_error(in, call->node, "hone-shape",
                            "an identity matrix has 1 to %d rows; found %lld", NKI_PARTITIONS,
                            (long long)n);
    struct tensor *t =
        api_constant_tile(in, call->node, API_IDENTITY, dtype ? dtype : DTYPE_UINT8, n);
    *result = value_tensor(t);
    if (t && v[2].kind == VALUE_TENSOR) {
        *result = v[2];
        return api_copy(in, call->node, v[2].tensor, t, NULL);
    }
    return t != NULL;
}
