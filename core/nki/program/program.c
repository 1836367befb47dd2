/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the program: generations, operators, engines, and the size of access patterns. The
 * specialiser makes programs, and program_print.c prints them. */
#include "nki/program/program.h"

#include <strings.h>

#define MOST_CALLS 64 /* that lead to a place, one within another */

static const struct generation {
    enum nki_generation generation;
    const char *name, *alias;
    int64_t sbuf_bytes;
} generations[] = {
#define GENERATION(id, number, ...) {NKI_##id, __VA_ARGS__},
#include "nki/program/generations.def"
#undef GENERATION
};

static const struct {
    const char *name, *flags;
} funcs[NKI_FUNC_COUNT] = {[NKI_FUNC_NONE] = {"none", ""},
#define X(id, name, flags) [NKI_FUNC_##id] = {name, flags},
                           NKI_FUNC_TABLE(X)
#undef X
};

static const char *const engines[NKI_ENGINE_COUNT] = {
    [NKI_ENGINE_UNKNOWN] = "unknown", [NKI_ENGINE_TENSOR] = "tensor",
    [NKI_ENGINE_SCALAR] = "scalar",   [NKI_ENGINE_GPSIMD] = "gpsimd",
    [NKI_ENGINE_DMA] = "dma",         [NKI_ENGINE_VECTOR] = "vector",
    [NKI_ENGINE_SYNC] = "sync",
};

enum nki_generation nki_generation_find(const char *name) {
    for (size_t i = 0; i < COUNT_OF(generations); i++)
        if (strcasecmp(generations[i].name, name) == 0 ||
            strcasecmp(generations[i].alias, name) == 0)
            return generations[i].generation;
    return (enum nki_generation)0;
}

static const struct generation *generation_of(enum nki_generation generation) {
    for (size_t i = 0; i < COUNT_OF(generations); i++)
        if (generations[i].generation == generation)
            return &generations[i];
    HONE_BUG("no such generation");
}

const char *nki_generation_name(enum nki_generation generation) {
    return generation_of(generation)->name;
}

const char *nki_generation_alias(enum nki_generation generation) {
    return generation_of(generation)->alias;
}

int64_t nki_generation_sbuf_bytes(enum nki_generation generation) {
    return generation_of(generation)->sbuf_bytes;
}

const char *nki_engine_name(enum nki_engine engine) {
    return engines[engine];
}

const char *nki_func_name(enum nki_func func) {
    return funcs[func].name;
}

bool nki_func_has(enum nki_func func, char flag) {
    return strchr(funcs[func].flags, flag) != NULL;
}

enum nki_func nki_func_find(struct str name) {
    for (int i = NKI_FUNC_NONE + 1; i < NKI_FUNC_COUNT; i++)
        if (str_is(name, funcs[i].name))
            return (enum nki_func)i;
    return NKI_FUNC_NONE;
}

int64_t nki_ap_count(const struct nki_ap *ap) {
    int64_t count = 1;
    for (int d = 0; d < ap->n_dims; d++)
        count *= ap->count[d];
    return count;
}

int64_t nki_ap_free(const struct nki_ap *ap) {
    int64_t count = 1;
    for (int d = 1; d < ap->n_dims; d++)
        count *= ap->count[d];
    return count;
}

const struct nki_loc *nki_loc_own(const struct nki_program *program, uint32_t at) {
    const struct nki_loc *loc = at < program->locs.len ? &program->locs.at[at] : NULL;
    for (int depth = 0; loc && loc->file != 0 && loc->caller >= 0 && depth < MOST_CALLS; depth++)
        loc = &program->locs.at[loc->caller];
    return loc;
}

void nki_loc_say(const struct nki_program *program, uint32_t at, struct buf *out) {
    const struct nki_loc *loc = at < program->locs.len ? &program->locs.at[at] : NULL;
    if (loc)
        buf_printf(out, "line %u", loc->line);
    else
        buf_puts(out, "a line");
    if (loc && loc->file && loc->file < program->files.len)
        buf_printf(out, " of %.60s", path_base(program->files.at[loc->file]));
}

uint64_t nki_program_count(const struct nki_program *program) {
    uint64_t count = program->instrs.len;
    for (size_t f = 0; f < program->folds.len; f++)
        count += program->folds.at[f].left_out * program->folds.at[f].length;
    return count;
}

const struct nki_more nki_nothing_more;

uint32_t nki_storage_add(struct nki_program *program, const struct nki_storage *storage) {
    *vec_push(&program->storages) = arena_dup(program->arena, storage, sizeof *storage);
    return (uint32_t)program->storages.len - 1;
}

struct nki_storage *nki_storage_own(struct nki_program *program, uint32_t storage) {
    struct nki_storage **at = &program->storages.at[storage];
    *at = arena_dup(program->arena, *at, sizeof **at);
    return *at;
}

/* The program and its growing arrays are plain allocations. All that they point to is in the
 * arena. */
void nki_program_free(struct nki_program *program) {
    if (!program)
        return;
    vec_free(&program->storages);
    vec_free(&program->instrs);
    vec_free(&program->locs);
    vec_free(&program->files);
    vec_free(&program->outputs);
    vec_free(&program->folds);
    vec_free(&program->repeats);
    vec_free(&program->prints);
    vec_free(&program->rounds);
    vec_free(&program->round_marks);
    arena_free(program->arena);
    mem_free_(program);
}
