/* SPDX-License-Identifier: Apache-2.0 */
/* What a change would bring: a line on another engine, or away; one buffer more for a tile; room
 * for everything. Each is timed as the kernel itself is; nothing is
 * estimated. */
#include "device/causes/inner.h"
#include "device/device.h"
#include "device/image/inner.h"
#include "device/time/inner.h"

#include <stdlib.h>

#define MOST_LINES 4     /* whose engines are changed */
#define MOST_BUFFERS 3   /* tiles that get another buffer */
#define MOST_WITHOUT 2   /* lines that are left away */
#define LEAST_SHARE 0.03 /* of the latency, on the critical path */
#define MOST_INSTRUCTIONS 100000u

struct what_if {
    struct device_causes *causes;
    const struct device_image *image;
    const struct device_constants *constants;
    causes_sum_list lines; /* what the critical path has of each */
};

/* Whether it is a line of the kernel that a change of could matter. */
static bool counts(const struct what_if *w, size_t line) {
    const struct causes_sum *sum = &w->lines.at[line];
    return sum->spot.line && sum->us >= LEAST_SHARE * w->causes->latency_us;
}

static void tell(struct what_if *w, const char *change, double us) {
    if (us > 0)
        *vec_push(&w->causes->ifs) = (struct device_what_if){change, us};
}

static struct compile_change change_at(enum compile_change_kind kind,
                                       const struct device_spot *spot) {
    return (struct compile_change){kind, spot->file, spot->line,
                                   (uint16_t)nki_op_find(str_of(spot->op))};
}

/* ---- another engine ------------------------------------------------------------------------- */

static bool is_at(const struct nki_program *program, const struct nki_instr *instr,
                  const struct device_spot *spot) {
    const struct nki_loc *loc = &program->locs.at[instr->loc];
    return instr->loc < program->locs.len && loc->file == spot->file && loc->line == spot->line &&
           strcmp(nki_op_name((enum nki_op)instr->op), spot->op) == 0;
}

/* The latency with those instructions on that engine; 0: it cannot run them. */
static double on_engine(const struct what_if *w, const struct device_spot *spot,
                        enum nki_engine engine) {
    const struct nki_program *program = w->image->program;
    struct nki_program changed = *program;
    struct diag_list told = {0}; /* why it cannot is of no interest */
    double us = 0;
    changed.instrs.at =
        mem_dup(program->instrs.at, program->instrs.len * sizeof *changed.instrs.at);
    for (size_t i = 0; i < program->instrs.len; i++)
        if (is_at(program, &program->instrs.at[i], spot))
            changed.instrs.at[i].engine = (uint8_t)engine;
    struct device_image *image = device_load(&changed, w->image->generation, &told);
    if (image)
        us = device_time_latency(image, w->constants);
    device_unload(image);
    diag_free(&told);
    free(changed.instrs.at);
    return us;
}

static void try_engines(struct what_if *w, const struct device_spot *spot) {
    static const struct {
        char letter;
        enum nki_engine engine;
        const char *lane;
    } engines[] = {{'V', NKI_ENGINE_VECTOR, "Vector"},
                   {'A', NKI_ENGINE_SCALAR, "Scalar"},
                   {'G', NKI_ENGINE_GPSIMD, "GpSimd"},
                   {'T', NKI_ENGINE_TENSOR, "Tensor"}};
    enum nki_op op = nki_op_find(str_of(spot->op));
    const char *can = op < NKI_OP_COUNT ? nki_op_engines(op) : "";
    for (size_t e = 0; e < COUNT_OF(engines) && can[0] != 'D'; e++)
        if (strchr(can, engines[e].letter) && strcmp(engines[e].lane, spot->lane) != 0)
            tell(w,
                 arena_printf(w->causes->arena, "line %u %s on %s instead of %s", spot->line,
                              spot->op, engines[e].lane, spot->lane),
                 on_engine(w, spot, engines[e].engine));
}

/* ---- one buffer more ------------------------------------------------------------------------ */

/* Bytes of a partition that the tile takes which instructions there write. */
static uint64_t tile_bytes(const struct what_if *w, const struct device_spot *spot) {
    const struct nki_program *program = w->image->program;
    for (size_t i = 0; i < program->instrs.len; i++) {
        const struct nki_operand *dst = &program->instrs.at[i].operands[NKI_DST];
        if (is_at(program, &program->instrs.at[i], spot) && dst->kind == NKI_OPERAND_AP)
            return program->storages.at[dst->ap->storage]->block_bytes;
    }
    return 0;
}

static void try_buffer(struct what_if *w, const struct device_spot *spot) {
    const struct device_causes *causes = w->causes;
    struct compile_change change = change_at(COMPILE_CHANGE_BUFFER, spot);
    uint64_t bytes = tile_bytes(w, spot);
    if (!bytes || causes->sbuf_bytes + bytes > causes->sbuf_room)
        return;
    tell(
        w,
        arena_printf(w->causes->arena, "line %u %s into two buffers in turn", spot->line, spot->op),
        time_latency_changed(w->image, w->constants, &change));
}

static void try_buffers(struct what_if *w) {
    int tried = 0;
    for (size_t i = 0; i < w->causes->stalls.len && tried < MOST_BUFFERS; i++) {
        const struct device_stall *stall = &w->causes->stalls.at[i];
        if (stall->wait != DEVICE_WAIT_BUFFER || !stall->critical ||
            stall->us < LEAST_SHARE * w->causes->latency_us)
            continue;
        try_buffer(w, &stall->spot);
        tried++;
    }
}

/* ---- without a line, with more room ------------------------------------- */

static bool is_spill(const struct device_spot *spot) {
    return nki_op_find(str_of(spot->op)) >= NKI_OP_COUNT;
}

static void try_without(struct what_if *w, const struct device_spot *spot) {
    struct compile_change change = change_at(COMPILE_CHANGE_WITHOUT, spot);
    tell(w, arena_printf(w->causes->arena, "without line %u %s", spot->line, spot->op),
         time_latency_changed(w->image, w->constants, &change));
}

static void try_room(struct what_if *w) {
    const struct compile_change change = {.kind = COMPILE_CHANGE_ROOM};
    double us = 0;
    for (size_t i = 0; i < w->causes->stalls.len; i++)
        us += w->causes->stalls.at[i].wait == DEVICE_WAIT_ROOM ? w->causes->stalls.at[i].us : 0;
    if (us >= LEAST_SHARE * w->causes->latency_us)
        tell(w, "with room on chip for everything",
             time_latency_changed(w->image, w->constants, &change));
}

static void try_lines(struct what_if *w) {
    int without = 0;
    for (size_t i = 0; i < w->lines.len; i++) {
        const struct device_spot *spot = &w->lines.at[i].spot;
        if (!counts(w, i) || is_spill(spot))
            continue;
        if (without++ < MOST_WITHOUT)
            try_without(w, spot);
    }
}

/* ---- all ------------------------------------------------------------------------------------ */

static int by_latency(const void *a, const void *b) {
    const struct device_what_if *x = a, *y = b;
    return x->us < y->us ? -1 : x->us > y->us;
}

void device_causes_try(struct device_causes *causes, const struct device_image *image,
                       const struct device_constants *constants) {
    struct what_if w = {.causes = causes, .image = image, .constants = constants};
    if (image->program->instrs.len > MOST_INSTRUCTIONS || image->program->folds.len)
        return;
    causes_sums(causes, 0, false, &w.lines);
    for (size_t i = 0; i < w.lines.len && i < MOST_LINES; i++)
        if (counts(&w, i))
            try_engines(&w, &w.lines.at[i].spot);
    if (!image->cores) {
        try_buffers(&w);
        try_lines(&w);
        try_room(&w);
    }
    if (causes->ifs.len)
        qsort(causes->ifs.at, causes->ifs.len, sizeof *causes->ifs.at, by_latency);
    vec_free(&w.lines);
}
