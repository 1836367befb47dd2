/* SPDX-License-Identifier: Apache-2.0 */
/* Names of NKI that are nearest to one that it does not have. */
#include "nki/program/program.h"

#include <stdio.h>

#include "nki/release/release.h"

struct near {
    const char *module; /* "nl" */
    const struct nki_profile *profile;
    VEC(const char *) names;
};

/* What neither the table of names nor that of instructions lists. */
static const struct {
    const char *module, *name;
} others[] = {
    {"nki", "jit"},
    {"nki", "language"},
    {"nki", "isa"},
    {"nki", "collectives"},
    {"nki", "typing"},
    {"nki", "compiler"},
    {"nki", "meta"},
    {"nki", "simulate"},
    {"nl", "affine_range"},
    {"nl", "sequential_range"},
    {"nl", "static_range"},
    {"nl", "sbuf"},
    {"nl", "psum"},
    {"nl", "hbm"},
    {"nl", "shared_hbm"},
    {"nl", "private_hbm"},
    {"nl", "tile_size"},
    {"nl", "par_dim"},
    {"nl", "no_reorder"},
    {"nl", "program_id"},
    {"nl", "num_programs"},
    {"nisa", "engine"},
    {"nisa", "reduce_cmd"},
    {"nisa", "dge_mode"},
    {"nisa", "oob_mode"},
    {"nisa", "matmul_perf_mode"},
    {"nisa", "nc_version"},
    {"nisa", "get_nc_version"},
    {"nisa", "get_nc_sub_version"},
    {"nisa", "dma_engine"},
    {"nki.collectives", "ReplicaGroup"},
    {"nki.collectives", "all_gather"},
    {"nki.collectives", "all_gather_v"},
    {"nki.collectives", "all_gather_v_prepare"},
    {"nki.collectives", "all_gather_v_trigger"},
    {"nki.collectives", "all_reduce"},
    {"nki.collectives", "all_to_all"},
    {"nki.collectives", "all_to_all_v"},
    {"nki.collectives", "all_to_all_v_prepare"},
    {"nki.collectives", "all_to_all_v_trigger"},
    {"nki.collectives", "collective_permute"},
    {"nki.collectives", "collective_permute_implicit"},
    {"nki.collectives", "collective_permute_implicit_current_processing_rank_id"},
    {"nki.collectives", "collective_permute_implicit_reduce"},
    {"nki.collectives", "rank_id"},
    {"nki.collectives", "reduce_scatter"},
};

static void add(struct near *near, const char *name) {
    char full[80];
    snprintf(full, sizeof full, "%s.%s", near->module, name);
    if (nki_release_has(near->profile->dialect, near->profile->release, str_of(full)))
        *vec_push(&near->names) = name;
}

static void add_isa(struct near *near) {
    enum nki_generation generation = near->profile->generation;
    for (int i = 0; i < NKI_OP_COUNT; i++) {
        enum nki_op op = (enum nki_op)i;
        const char *name = nki_op_row(op)->name;
        bool has =
            nki_op_find(str_of(name)) == op && (!generation || generation >= nki_op_generation(op));
        if (has && (near->profile->dialect != NKI_DIALECT_LEGACY || nki_op_in_legacy(op)))
            add(near, name);
    }
}

static void add_language(struct near *near) {
    const char *parameters, *what, *name;
    for (size_t i = 0; (name = nki_name_at(i, &parameters, &what)); i++)
        add(near, name);
    for (int func = NKI_FUNC_NONE + 1; func < NKI_FUNC_COUNT; func++)
        add(near, nki_func_name((enum nki_func)func));
    for (int dtype = DTYPE_NONE + 1; dtype < DTYPE_INT64; dtype++) /* the others are the host's */
        add(near, dtype_name((enum dtype)dtype));
}

/* The names of a module as kernels import it. */
static void add_module(struct near *near, struct str module) {
    static const struct {
        const char *module, *name;
        void (*add)(struct near *near);
    } modules[] = {
        {"nki", "nki", NULL},
        {"nki.language", "nl", add_language},
        {"nki.isa", "nisa", add_isa},
        {"nki.collectives", "nki.collectives", NULL},
    };
    static const char package[] = "neuronxcc.";
    if (str_starts(module, package))
        module = (struct str){module.at + sizeof package - 1, module.len - sizeof package + 1};
    for (size_t i = 0; i < COUNT_OF(modules); i++) {
        if (!str_is(module, modules[i].module))
            continue;
        near->module = modules[i].name;
        if (modules[i].add)
            modules[i].add(near);
        for (size_t k = 0; k < COUNT_OF(others); k++)
            if (!strcmp(others[k].module, near->module))
                add(near, others[k].name);
    }
}

const char *nki_name_near(struct str module, struct str name, const struct nki_profile *profile) {
    struct near near = {.profile = profile};
    char text[80];
    if (name.len >= sizeof text)
        return NULL;
    snprintf(text, sizeof text, STR_FMT, STR_ARG(name));
    add_module(&near, module);
    *vec_push(&near.names) = NULL;
    const char *found = str_nearest(text, near.names.at);
    vec_free(&near.names);
    return found && strcmp(found, text) != 0 ? found : NULL;
}
