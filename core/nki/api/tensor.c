/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: storages of the program, and plain facts about views of them. Indexing is in
 * tensor_getitem.c, derived views are in tensor_view.c, and what instructions see is in
 * tensor_ap.c. */
#include "nki/api/api.h"

#include <stddef.h>

#define BLOCK_BYTES 64 /* what the device keeps for a block: its life and its memory */

void tensor_read(struct tensor *scratch, const struct tensor *from) {
    memcpy(scratch, from, offsetof(struct tensor, dim) + from->n_dims * sizeof from->dim[0]);
    scratch->origin = NULL;
    scratch->producer = 0;
    scratch->nothing = false;
    scratch->mask = NULL;
    scratch->loop = NULL;
}

struct tensor *tensor_keep(struct interp *in, const struct tensor *scratch) {
    return arena_dup(interp_scratch(in), scratch,
                     offsetof(struct tensor, dim) + scratch->n_dims * sizeof scratch->dim[0]);
}

struct nki_storage *tensor_storage(struct interp *in, const struct tensor *tensor) {
    return interp_program(in)->storages.at[tensor->storage];
}

/* The steps of a new tensor. On chip, free dimensions are row-major and block dimensions lie
 * outside them. */
static void lay_out(struct tensor *t, const struct tensor_request *request) {
    int64_t step = 1;
    for (int d = request->n_dims - 1; d >= 0; d--) {
        t->dim[d].size = request->shape[d];
        t->dim[d].part = request->space != NKI_HBM && d == request->part;
        if (t->dim[d].part) {
            t->dim[d].step = 1;
        } else {
            t->dim[d].step = step;
            step *= request->shape[d];
        }
    }
}

#define SHAPES 64 /* declared shapes kept, one for each hash */

/* Loops make many tiles of few shapes. */
static const int64_t *shared_shape(struct interp *in, const int64_t shape[ARRAY_MAX_DIMS]) {
    struct api *api = api_of(in);
    size_t bytes = ARRAY_MAX_DIMS * sizeof *shape;
    if (!api->declared)
        api->declared = ARENA_ARRAY(interp_scratch(in), const int64_t *, SHAPES);
    const int64_t **place = &api->declared[hash_quick(shape, bytes) & (SHAPES - 1)];
    if (!*place || memcmp(*place, shape, bytes) != 0)
        *place = arena_dup(interp_arena(in), shape, bytes);
    return *place;
}

/* The shape that a storage declares. When an array cannot have so many dimensions, the first ones
 * are joined. */
static void declare_shape(struct interp *in, struct nki_storage *storage,
                          const struct tensor_request *request) {
    int64_t shape[ARRAY_MAX_DIMS] = {1};
    int extra = MAX_OF(request->n_dims - ARRAY_MAX_DIMS, 0);
    storage->n_dims = request->n_dims - extra;
    for (int d = 0; d <= extra; d++)
        shape[0] *= request->shape[d];
    for (int d = 1; d < storage->n_dims; d++)
        shape[d] = request->shape[d + extra];
    storage->shape = shared_shape(in, shape);
}

static bool check_request(struct interp *in, const struct nki_node *node,
                          const struct tensor_request *request) {
    int64_t count = 1;
    for (int d = 0; d < request->n_dims; d++) {
        if (request->shape[d] <= 0)
            return interp_error(in, node, "hone-shape",
                                "dimension %d of the shape is %lld: sizes are 1 or "
                                "more",
                                d, (long long)request->shape[d]);
        if (request->shape[d] > TENSOR_MAX_ELEMENTS / count)
            return interp_error(in, node, "err_size_of_dimension_exceed_arch_limit",
                                "the tensor is larger than any device's memory");
        count *= request->shape[d];
    }
    int64_t blocks = 1;
    for (int d = 0; request->space != NKI_HBM && d < request->part; d++)
        blocks *= request->shape[d];
    if (blocks > INT32_MAX)
        return interp_error(in, node, "err_size_of_dimension_exceed_arch_limit",
                            "the block dimensions make %lld tiles: too many", (long long)blocks);
    if (request->n_dims == 0)
        return interp_error(in, node, "hone-shape", "a tensor needs at least one dimension");
    bool is_wide = dtype_bytes(request->dtype) == 8;
    if (request->dtype == DTYPE_INT64)
        is_wide = !api_has_int64(in);
    if (is_wide || request->dtype == DTYPE_NONE)
        return interp_error(in, node, "hone-dtype",
                            "dtype %s does not exist on the device: use a type of "
                            "at most 32 bits",
                            dtype_name(request->dtype));
    return true;
}

#define NAMES 256 /* names kept, one for each hash */

/* Loops give the same few names to all their tiles. */
static const char *storage_name(struct interp *in, struct str name) {
    struct api *api = api_of(in);
    if (!name.len)
        return "";
    if (!api->names)
        api->names = ARENA_ARRAY(interp_scratch(in), const char *, NAMES);
    const char **place = &api->names[hash_quick(name.at, name.len) & (NAMES - 1)];
    if (!*place || !str_is(name, *place))
        *place = arena_strndup(interp_arena(in), name.at, name.len);
    return *place;
}

struct tensor *tensor_new(struct interp *in, const struct nki_node *node,
                          const struct tensor_request *request) {
    if (!check_request(in, node, request))
        return NULL;
    struct nki_program *program = interp_program(in);
    struct nki_storage storage = {
        .space = request->space,
        .dtype = request->dtype,
        .loc = interp_loc(in, node),
        .blocks = 1,
        .zeroed = request->zeroed,
        .shared = request->shared,
        .input = -1,
        .output = -1,
        .address_partition = request->address_partition,
        .address_byte = request->address_byte,
        .name = storage_name(in, request->name),
    };
    declare_shape(in, &storage, request);
    uint64_t elements = 1;
    for (int d = 0; d < request->n_dims; d++)
        if (request->space == NKI_HBM || d > request->part)
            elements *= (uint64_t)request->shape[d];
        else if (d < request->part)
            storage.blocks *= (uint32_t)request->shape[d];
    if (request->space == NKI_HBM) {
        storage.bytes = elements * dtype_bytes(request->dtype);
    } else {
        storage.partitions = (uint32_t)MIN_OF(request->shape[request->part], UINT32_MAX);
        storage.block_bytes = elements * dtype_bytes(request->dtype);
    }
    if (storage.blocks > 1) { /* the device keeps a record of each block */
        interp_grew(in, GROWN_TILES, storage.blocks, (uint64_t)storage.blocks * BLOCK_BYTES);
        if (!interp_spend(in, node, storage.blocks / 4))
            return NULL;
    }
    struct tensor t = {.storage = (uint32_t)program->storages.len,
                       .dtype = request->dtype,
                       .space = request->space,
                       .scope = request->space == NKI_HBM ? 0 : interp_scope(in),
                       .branch = request->space == NKI_HBM ? 0 : interp_branch(in),
                       .n_dims = (uint8_t)request->n_dims};
    lay_out(&t, request);
    nki_storage_add(program, &storage);
    if (request->space != NKI_HBM && api_of(in)->loop)
        program->storages.at[t.storage]->again = api_loop_tile(in, t.storage);
    return tensor_keep(in, &t);
}

struct tensor *tensor_tile(struct interp *in, const struct nki_node *node, enum nki_space space,
                           enum dtype dtype, const int64_t *shape, int n_dims) {
    struct tensor_request request = {.space = space,
                                     .dtype = dtype,
                                     .n_dims = n_dims,
                                     .name = interp_target_name(in),
                                     .address_partition = -1};
    memcpy(request.shape, shape, (size_t)n_dims * sizeof *shape);
    return tensor_new(in, node, &request);
}

int64_t tensor_count(const struct tensor *tensor) {
    int64_t count = 1;
    for (int d = 0; d < tensor->n_dims; d++)
        count *= tensor->dim[d].size;
    return count;
}

int tensor_part(const struct tensor *tensor) {
    for (int d = 0; d < tensor->n_dims; d++)
        if (tensor->dim[d].part)
            return d;
    return -1;
}

int64_t tensor_partitions(const struct tensor *tensor) {
    int64_t count = 1;
    for (int d = 0; d < tensor->n_dims; d++)
        if (tensor->dim[d].part)
            count *= tensor->dim[d].size;
    return count;
}

int64_t tensor_free(const struct tensor *tensor) {
    int64_t count = 1;
    for (int d = 0; d < tensor->n_dims; d++)
        if (!tensor->dim[d].part)
            count *= tensor->dim[d].size;
    return count;
}

bool tensor_same_shape(const struct tensor *a, const struct tensor *b) {
    if (a->n_dims != b->n_dims)
        return false;
    for (int d = 0; d < a->n_dims; d++)
        if (a->dim[d].size != b->dim[d].size)
            return false;
    return true;
}

static void tensor_print_shape(const struct tensor *tensor, struct buf *out) {
    buf_putc(out, '(');
    for (int d = 0; d < tensor->n_dims; d++)
        buf_printf(out, "%s%lld", d ? ", " : "", (long long)tensor->dim[d].size);
    buf_puts(out, tensor->n_dims == 1 ? ",)" : ")");
}

const char *tensor_shape_text(struct interp *in, const struct tensor *tensor) {
    struct buf out = {0};
    tensor_print_shape(tensor, &out);
    char *text = arena_strndup(interp_arena(in), out.at, out.len);
    buf_free(&out);
    return text;
}

static void describe_index(const struct index_expr *index, struct nki_seen *seen) {
    seen->kind = NKI_SEEN_INDEX;
    seen->n_dims = index->n_dims;
    seen->whole = index->at.c0;
    for (int d = 0; d < index->n_dims; d++) {
        seen->shape[d] = index->size[d];
        seen->step[d] = index->at.c[d];
    }
}

void tensor_describe(struct interp *in, struct value value, struct nki_seen *seen) {
    if (value.kind == VALUE_REGISTER)
        seen->kind = NKI_SEEN_REGISTER;
    if (value.kind == VALUE_INDEX && !value.index->mask)
        describe_index(value.index, seen);
    if (value.kind != VALUE_TENSOR)
        return;
    const struct tensor *tensor = value.tensor;
    seen->kind = NKI_SEEN_TILE;
    seen->dtype = tensor->dtype;
    seen->space = tensor->space;
    seen->shared = tensor_storage(in, tensor)->shared;
    seen->n_dims = tensor->n_dims;
    for (int d = 0; d < tensor->n_dims; d++)
        seen->shape[d] = tensor->dim[d].size;
}

bool tensor_read_shape(struct interp *in, const struct nki_node *node, struct value value,
                       int64_t *shape, int *n_dims) {
    const struct value *items = &value;
    size_t n = 1;
    if (value.kind == VALUE_TUPLE || value.kind == VALUE_LIST) {
        items = value.seq->items.at;
        n = value.seq->items.len;
    }
    if (n > TENSOR_MAX_DIMS)
        return interp_error(in, node, "err_exceed_max_supported_dimension",
                            "a shape has %zu dimensions; at most %d are allowed", n,
                            TENSOR_MAX_DIMS);
    for (size_t i = 0; i < n; i++) {
        /* nl.par_dim(128) is a number where no tile is made */
        bool mark = items[i].kind == VALUE_INDEX && !items[i].index->n_dims;
        if (items[i].kind != VALUE_INT && !(mark && !items[i].index->mask))
            return interp_error(in, node, "hone-argument",
                                "a shape consists of integers; found %s at "
                                "position %zu",
                                value_type_name(items[i]), i);
        shape[i] = mark ? items[i].index->at.c0 : items[i].i;
    }
    *n_dims = (int)n;
    return true;
}
