/* SPDX-License-Identifier: Apache-2.0 */
/* Names of NKI that are nearest to one that it does not have. */
#include "nki/program/program.h"

#include <stdio.h>

#include "nki/release/release.h"

struct near {
    bool is_isa;
    enum nki_dialect dialect;
    const char *release;
    VEC(const char *) names;
};

/* What neither table of names nor of instructions lists. */
static const char *const of_language[] = {
    "affine_range", "sequential_range", "static_range", "sbuf",    "psum",      "hbm",
    "shared_hbm",   "private_hbm",      "tile_size",    "par_dim", "no_reorder"};
static const char *const of_isa[] = {"engine",         "reduce_cmd",         "dge_mode",
                                     "oob_mode",       "matmul_perf_mode",   "nc_version",
                                     "get_nc_version", "get_nc_sub_version", "dma_engine"};

static void add(struct near *near, const char *name) {
    char full[80];
    snprintf(full, sizeof full, "%s.%s", near->is_isa ? "nisa" : "nl", name);
    if (nki_release_has(near->dialect, near->release, str_of(full)))
        *vec_push(&near->names) = name;
}

static void add_isa(struct near *near) {
    for (int op = 0; op < NKI_OP_COUNT; op++) {
        const char *name = nki_op_row((enum nki_op)op)->name;
        bool has = nki_op_find(str_of(name)) == (enum nki_op)op;
        if (has && (near->dialect != NKI_DIALECT_LEGACY || nki_op_in_legacy((enum nki_op)op)))
            add(near, name);
    }
    for (size_t i = 0; i < COUNT_OF(of_isa); i++)
        add(near, of_isa[i]);
}

static void add_language(struct near *near) {
    const char *parameters, *what, *name;
    for (size_t i = 0; (name = nki_name_at(i, &parameters, &what)); i++)
        add(near, name);
    for (int func = NKI_FUNC_NONE + 1; func < NKI_FUNC_COUNT; func++)
        add(near, nki_func_name((enum nki_func)func));
    for (size_t i = 0; i < COUNT_OF(of_language); i++)
        add(near, of_language[i]);
    for (int dtype = DTYPE_NONE + 1; dtype < DTYPE_INT64; dtype++) /* the others are the host's */
        add(near, dtype_name((enum dtype)dtype));
}

const char *nki_name_near(struct str module, struct str name, enum nki_dialect dialect,
                          const char *release) {
    struct near near = {
        str_is(module, "nki.isa") || str_is(module, "neuronxcc.nki.isa"), dialect, release, {0}};
    char text[80];
    if (!near.is_isa && !str_is(module, "nki.language") &&
        !str_is(module, "neuronxcc.nki.language"))
        return NULL;
    if (name.len >= sizeof text)
        return NULL;
    snprintf(text, sizeof text, STR_FMT, STR_ARG(name));
    if (near.is_isa)
        add_isa(&near);
    else
        add_language(&near);
    *vec_push(&near.names) = NULL;
    const char *found = str_nearest(text, near.names.at);
    vec_free(&near.names);
    return found && strcmp(found, text) != 0 ? found : NULL;
}
