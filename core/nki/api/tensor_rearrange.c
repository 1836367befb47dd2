/* SPDX-License-Identifier: Apache-2.0 */
/* t.rearrange(src, dst, fixed_sizes): splits, reorders and joins dimensions by name. */
#include "nki/api/api_language.h"

#define MAX_NAMES TENSOR_MAX_DIMS

struct names {
    int n;
    struct str name[MAX_NAMES];
    int64_t size[MAX_NAMES];
};

static bool add_name(struct interp *in, const struct nki_node *node, struct value v,
                     struct names *names) {
    if (v.kind != VALUE_STR || names->n == MAX_NAMES)
        return interp_error(in, node, "", "rearrange takes tuples of at most %d names", MAX_NAMES);
    names->name[names->n++] = (struct str){v.str->at, v.str->len};
    return true;
}

static int find_name(const struct names *names, struct str name) {
    for (int i = 0; i < names->n; i++)
        if (str_equal(names->name[i], name))
            return i;
    return -1;
}

static bool is_group(struct value v) {
    return v.kind == VALUE_TUPLE || v.kind == VALUE_LIST;
}

static void fix_sizes(struct value fixed, struct names *names, int from) {
    for (int k = from; k < names->n; k++) {
        names->size[k] = 0;
        for (size_t i = 0; fixed.kind == VALUE_DICT && i < fixed.dict->pairs.len; i++) {
            const struct value_pair *pair = &fixed.dict->pairs.at[i];
            if (pair->key.kind == VALUE_STR && pair->value.kind == VALUE_INT &&
                str_equal((struct str){pair->key.str->at, pair->key.str->len}, names->name[k]))
                names->size[k] = pair->value.i;
        }
    }
}

/* The names that one source dimension splits into, with their sizes. One size may be missing: it is
 * what remains. */
static bool split_dim(struct interp *in, const struct nki_node *node, int64_t size, int from,
                      struct names *names) {
    int64_t known = 1;
    int hole = -1;
    for (int k = from; k < names->n; k++) {
        if (names->size[k])
            known *= names->size[k];
        else if (hole < 0)
            hole = k;
        else
            known = 0;
    }
    if (known <= 0 || size % known || (hole < 0 && known != size))
        return interp_error(in, node, "",
                            "rearrange: the sizes of a dimension of %lld elements "
                            "are not determined by fixed_sizes",
                            (long long)size);
    if (hole >= 0)
        names->size[hole] = size / known;
    return true;
}

static bool read_source(struct interp *in, const struct nki_node *node, const struct tensor *t,
                        const struct value *v, struct names *names) {
    const struct value_seq *src = is_group(v[0]) ? v[0].seq : NULL;
    if (!src || src->items.len != t->n_dims)
        return interp_error(in, node, "", "rearrange: src names %d dimensions of shape %s",
                            t->n_dims, tensor_shape_text(in, t));
    for (size_t d = 0; d < src->items.len; d++) {
        int from = names->n;
        struct value item = src->items.at[d];
        for (size_t i = 0; i < (is_group(item) ? item.seq->items.len : 1); i++)
            if (!add_name(in, node, is_group(item) ? item.seq->items.at[i] : item, names))
                return false;
        fix_sizes(v[2], names, from);
        if (!split_dim(in, node, t->dim[d].size, from, names))
            return false;
    }
    return true;
}

/* Appends the dimension of each name of dst. joined[] says how many of them become one. */
static bool reorder(struct interp *in, const struct nki_node *node, const struct tensor *split,
                    struct value dst, const struct names *names, struct tensor *out) {
    struct names seen = {0};
    int64_t shape[TENSOR_MAX_DIMS];
    int n = 0;
    tensor_read(out, split);
    for (size_t d = 0; d < dst.seq->items.len && n < TENSOR_MAX_DIMS; d++) {
        struct value item = dst.seq->items.at[d];
        shape[n] = 1;
        for (size_t i = 0; i < (is_group(item) ? item.seq->items.len : 1); i++) {
            if (!add_name(in, node, is_group(item) ? item.seq->items.at[i] : item, &seen))
                return false;
            int k = find_name(names, seen.name[seen.n - 1]);
            if (k < 0)
                return interp_error(in, node, "", "rearrange: dst has a name that src has not");
            out->dim[seen.n - 1] = split->dim[k];
            shape[n] *= split->dim[k].size;
        }
        n++;
    }
    if (seen.n != names->n)
        return interp_error(in, node, "", "rearrange: dst must name every dimension of src once");
    if (split->space != NKI_HBM && !out->dim[0].part)
        return interp_error(in, node, "", "rearrange cannot move the partition dimension");
    struct tensor *kept = tensor_keep(in, out);
    struct tensor *view = tensor_reshape(in, node, kept, shape, n);
    if (view)
        tensor_read(out, view);
    return view != NULL;
}

bool tensor_rearrange(struct interp *in, const struct call *call, struct value *result) {
    struct value v[3];
    struct names names = {0};
    const struct tensor *t = call->self.tensor;
    struct tensor out;
    if (!api_bind(in, call, "src, dst, fixed_sizes=None", v) ||
        !read_source(in, call->node, t, v, &names))
        return false;
    if (!is_group(v[1]))
        return interp_error(in, call->node, "", "rearrange: dst is a tuple of names");
    struct tensor *split = tensor_reshape(in, call->node, t, names.size, names.n);
    if (!split || !reorder(in, call->node, split, v[1], &names, &out))
        return false;
    *result = value_tensor(tensor_keep(in, &out));
    return true;
}
