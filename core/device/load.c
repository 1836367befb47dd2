/* SPDX-License-Identifier: Apache-2.0 */
/* Loading: finds when each block lives, then checks limits (core/device/check) and capacity
 * (place.c). */
#include <stdlib.h>

#include "device/check/check.h"
#include "device/device.h"
#include "device/place.h"

/* ---- life spans ----------------------------------------------------------------------------- */

static uint32_t block_bytes(const struct nki_storage *storage) {
    return storage->space == NKI_HBM ? 0 : (uint32_t)MIN_OF(storage->block_bytes, UINT32_MAX);
}

static void make_blocks(struct device_image *image) {
    const struct nki_program *program = image->program;
    size_t n_storages = program->storages.len, n = 0;
    image->block_base = ARENA_ARRAY(image->arena, uint32_t, n_storages + 1);
    image->whole = ARENA_ARRAY(image->arena, bool, n_storages + 1);
    image->written = ARENA_ARRAY(image->arena, bool, n_storages + 1);
    image->read = ARENA_ARRAY(image->arena, bool, n_storages + 1);
    for (size_t s = 0; s < n_storages; s++) {
        const struct nki_storage *storage = program->storages.at[s];
        image->block_base[s] = (uint32_t)n;
        n += storage->space == NKI_HBM ? 1 : MAX_OF(storage->blocks, 1u);
    }
    image->block_base[n_storages] = (uint32_t)n;
    image->n_blocks = n;
    image->blocks = ARENA_ARRAY(image->arena, struct device_block, n + 1);
    for (size_t s = 0; s < n_storages; s++) {
        const struct nki_storage *storage = program->storages.at[s];
        for (uint32_t b = image->block_base[s]; b < image->block_base[s + 1]; b++)
            image->blocks[b] = (struct device_block){.storage = (uint32_t)s,
                                                     .first = DEVICE_NEVER,
                                                     .last = DEVICE_NEVER,
                                                     .first_write = DEVICE_NEVER,
                                                     .bytes = block_bytes(storage),
                                                     .space = storage->space};
    }
}

static void touch(struct device_image *image, uint32_t i, const struct device_operand *operand) {
    uint32_t first, last, s = operand->ap->storage;
    device_ap_blocks(image->program, operand->ap, &first, &last);
    if (first != last)
        image->whole[s] = true;
    image->written[s] |= operand->is_dst;
    image->read[s] |= operand->is_src;
    for (uint32_t b = first; b <= last; b++) {
        struct device_block *block = &image->blocks[image->block_base[s] + b];
        if (block->first == DEVICE_NEVER)
            block->first = i;
        if (operand->is_dst && block->first_write == DEVICE_NEVER)
            block->first_write = i;
        block->last = i;
    }
}

static void find_lives(struct device_image *image) {
    struct device_operand operands[DEVICE_MAX_OPERANDS];
    size_t n_instrs = image->program->instrs.len;
    for (size_t i = 0; i < n_instrs; i++) {
        size_t n = device_operands(image, i, operands);
        for (size_t k = 0; k < n; k++)
            touch(image, (uint32_t)i, &operands[k]);
    }
}

/* ---- cores ---------------------------------------------------------------------------------- */

static struct device_image *load(const struct nki_program *program,
                                 const struct device_generation *generation,
                                 struct diag_list *diags, bool is_core);

/* False when it cannot be loaded, which *diags tells. */
static bool make_core(struct device_image *image, uint8_t number, struct diag_list *diags) {
    const struct nki_program *whole = image->program;
    struct device_core *core = &image->cores[number];
    core->program = *whole;
    core->program.cores = 1;
    memset(&core->program.instrs, 0, sizeof core->program.instrs);
    memset(&core->program.repeats, 0, sizeof core->program.repeats);
    core->instrs = ARENA_ARRAY(image->arena, uint32_t, whole->instrs.len + 1);
    for (uint32_t i = 0; i < whole->instrs.len; i++)
        if (whole->instrs.at[i].core == number) {
            core->instrs[core->program.instrs.len] = i;
            *vec_push(&core->program.instrs) = whole->instrs.at[i];
        }
    core->image = load(&core->program, image->generation, diags, true);
    return core->image != NULL;
}

/* Whether the whole program was told it already, or the core before. */
static bool is_told(const struct diag_list *diags, const struct diag *diag) {
    for (size_t i = 0; i < diags->all.len; i++) {
        const struct diag *old = &diags->all.at[i];
        if (old->line == diag->line && old->column == diag->column &&
            strcmp(old->file, diag->file) == 0 && strcmp(old->code, diag->code) == 0)
            return true;
    }
    return false;
}

/* Adds what only one core's program shows: what is on chip at once, and where. */
static void tell_of_core(const struct diag_list *of_cores, uint8_t core, uint8_t cores,
                         struct diag_list *diags) {
    const struct diag_list *own = &of_cores[core];
    for (size_t i = 0; i < own->all.len; i++) {
        const struct diag *diag = &own->all.at[i];
        bool all_have_it = true;
        for (uint8_t k = 0; k < cores; k++)
            all_have_it = all_have_it && is_told(&of_cores[k], diag);
        if (diag->severity == DIAG_NOTE || is_told(diags, diag))
            continue;
        struct buf which = {0};
        if (!all_have_it)
            buf_printf(&which, ", by core %d", core);
        diag_add(diags, diag->severity, diag->code, diag->file, diag->line, diag->column, "%s%s",
                 diag->message, which.at ? which.at : "");
        buf_free(&which);
    }
}

/* The cores share nothing but HBM, so each is a program that the clock can time beside the
 * others. What is said of one and not of the others names it. */
static bool make_cores(struct device_image *image, struct diag_list *diags) {
    uint8_t cores = image->program->cores;
    struct diag_list *of_cores = mem_alloc(cores, sizeof *of_cores);
    bool ok = check_cores(image, diags), good = true;
    if (ok)
        image->cores = ARENA_ARRAY(image->arena, struct device_core, cores);
    for (uint8_t k = 0; ok && k < cores; k++)
        good = make_core(image, k, &of_cores[k]) && good;
    for (uint8_t k = 0; k < cores; k++) {
        tell_of_core(of_cores, k, cores, diags);
        diag_free(&of_cores[k]);
    }
    free(of_cores);
    return ok && good;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* is_core: of a program whose other core writes its part of what both share. */
static struct device_image *load(const struct nki_program *program,
                                 const struct device_generation *generation,
                                 struct diag_list *diags, bool is_core) {
    struct arena *arena = arena_new();
    struct device_image *image = ARENA_NEW(arena, struct device_image);
    image->arena = arena;
    image->program = program;
    image->generation = generation;
    image->engine = ARENA_ARRAY(arena, uint8_t, program->instrs.len + 1);
    image->kind = ARENA_ARRAY(arena, uint32_t, program->instrs.len + 1);
    bool ok = check_program(image, diags);
    if (ok) {
        if (!is_core)
            check_written(image, diags);
        make_blocks(image);
        device_find_reaches(image);
        find_lives(image);
        ok = check_sums(image, diags) && check_rounds(image, diags) &&
             (program->cores > 1 ? make_cores(image, diags) : device_place(image, diags));
    }
    if (ok)
        return image;
    device_unload(image);
    return NULL;
}

struct device_image *device_load(const struct nki_program *program,
                                 const struct device_generation *generation,
                                 struct diag_list *diags) {
    return load(program, generation, diags, false);
}

void device_unload(struct device_image *image) {
    if (!image)
        return;
    for (uint8_t k = 0; image->cores && k < image->program->cores; k++) {
        device_unload(image->cores[k].image);
        vec_free(&image->cores[k].program.instrs);
    }
    vec_free(&image->kinds);
    arena_free(image->arena);
}
