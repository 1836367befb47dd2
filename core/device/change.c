/* SPDX-License-Identifier: Apache-2.0 */
/* One change that somebody asks about: a line on another engine, its tiles in another memory or in
 * two buffers. The changed program is held against the limits and timed as any other. */
#include "device/causes/inner.h"
#include "device/device.h"
#include "device/image/inner.h"
#include "device/time/inner.h"

#include <stdlib.h>

struct place {
    const char *name, *word;
    char letter; /* of nki_op_engines; 0: it is a memory */
    enum nki_engine engine;
    enum nki_space space;
};
static const struct place places[] = {
    {"vector", "Vector", 'V', NKI_ENGINE_VECTOR, NKI_SBUF},
    {"scalar", "Scalar", 'A', NKI_ENGINE_SCALAR, NKI_SBUF},
    {"gpsimd", "GpSimd", 'G', NKI_ENGINE_GPSIMD, NKI_SBUF},
    {"tensor", "Tensor", 'T', NKI_ENGINE_TENSOR, NKI_SBUF},
    {"sbuf", "SBUF", 0, NKI_ENGINE_VECTOR, NKI_SBUF},
    {"psum", "PSUM", 0, NKI_ENGINE_VECTOR, NKI_PSUM},
};

static const struct place *place_find(const char *name) {
    for (size_t i = 0; i < COUNT_OF(places); i++)
        if (!strcmp(places[i].name, name))
            return &places[i];
    return NULL;
}

static bool is_on(const struct nki_program *program, const struct nki_instr *instr, uint32_t line) {
    const struct nki_loc *loc =
        instr->loc < program->locs.len ? &program->locs.at[instr->loc] : NULL;
    return loc && loc->file == 0 && loc->line == line;
}

/* What the first instruction on the line is called; NULL: there is none. */
static const char *first_op(const struct nki_program *program, uint32_t line) {
    for (size_t i = 0; i < program->instrs.len; i++)
        if (is_on(program, &program->instrs.at[i], line))
            return nki_op_name((enum nki_op)program->instrs.at[i].op);
    return NULL;
}

/* The latency of the changed program, or the first limit that it breaks. */
static double time_program(const struct nki_program *changed, const struct device_image *image,
                           const struct device_constants *constants, struct err *err) {
    struct diag_list told = {0};
    struct device_image *other = device_load(changed, image->generation, &told);
    double us = other ? device_time_latency(other, constants) : 0;
    if (!other)
        err_set(err, ERR_USAGE, "the hardware does not allow that: %s",
                told.all.len ? told.all.at[0].message : "no reason is known");
    device_unload(other);
    diag_free(&told);
    return us;
}

static double on_engine(const struct device_image *image, const struct device_constants *constants,
                        uint32_t line, const struct place *place, struct err *err) {
    struct nki_program changed = *image->program;
    size_t count = 0;
    double us = 0;
    changed.instrs.at =
        mem_dup(image->program->instrs.at, changed.instrs.len * sizeof *changed.instrs.at);
    for (size_t i = 0; i < changed.instrs.len; i++) {
        struct nki_instr *instr = &changed.instrs.at[i];
        if (is_on(&changed, instr, line) &&
            strchr(nki_op_engines((enum nki_op)instr->op), place->letter)) {
            instr->engine = (uint8_t)place->engine;
            count++;
        }
    }
    if (count)
        us = time_program(&changed, image, constants, err);
    else
        err_set(err, ERR_USAGE, "%s cannot run what line %u does (%s)", place->word, line,
                first_op(&changed, line));
    free(changed.instrs.at);
    return us;
}

static double in_memory(const struct device_image *image, const struct device_constants *constants,
                        uint32_t line, const struct place *place, struct err *err) {
    struct nki_program changed = *image->program;
    size_t count = 0;
    double us = 0;
    struct nki_storage *own = mem_alloc(changed.storages.len, sizeof *own);
    changed.storages.at = mem_alloc(changed.storages.len, sizeof *changed.storages.at);
    for (size_t s = 0; s < changed.storages.len; s++) {
        own[s] = *image->program->storages.at[s];
        changed.storages.at[s] = &own[s];
    }
    for (size_t i = 0; i < changed.instrs.len; i++) {
        const struct nki_operand *dst = &changed.instrs.at[i].operands[NKI_DST];
        if (!is_on(&changed, &changed.instrs.at[i], line) || dst->kind != NKI_OPERAND_AP)
            continue;
        struct nki_storage *storage = changed.storages.at[dst->ap->storage];
        if (storage->space != NKI_SBUF && storage->space != NKI_PSUM)
            continue;
        count += storage->space != place->space;
        storage->space = place->space;
    }
    if (count)
        us = time_program(&changed, image, constants, err);
    else
        err_set(err, ERR_USAGE, "line %u writes no tile that is not in %s already", line,
                place->word);
    free(changed.storages.at);
    free(own);
    return us;
}

double device_time_change(const struct device_image *image,
                          const struct device_constants *constants,
                          const struct device_change *change, struct err *err) {
    const struct place *place = place_find(change->to);
    struct compile_change buffers = {COMPILE_CHANGE_BUFFER, 0, change->line, NKI_OP_COUNT, 0};
    if (!first_op(image->program, change->line)) {
        err_set(err, ERR_USAGE, "nothing runs on line %u of the kernel", change->line);
        return 0;
    }
    if (place && place->letter)
        return on_engine(image, constants, change->line, place, err);
    if (place)
        return in_memory(image, constants, change->line, place, err);
    if (!strcmp(change->to, "buffers") && image->cores)
        err_set(err, ERR_USAGE, "buffers are not tried in kernels of two cores");
    else if (!strcmp(change->to, "buffers"))
        return time_latency_changed(image, constants, &buffers);
    else
        err_set(err, ERR_USAGE,
                "a line can go to vector, scalar, gpsimd, tensor, sbuf, psum or into buffers, not "
                "to %.40s",
                change->to);
    return 0;
}
