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
#define LEAST_GAIN 0.005 /* of the latency: less is not told of joined transfers */

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
                                   (uint16_t)nki_op_find(str_of(spot->op)), 0};
}

/* "<before>line 12<after>", of the causes' arena. */
CC_PRINTF(4, 5)
static const char *change_text(const struct what_if *w, const struct device_spot *spot,
                               const char *before, const char *after, ...) {
    struct buf text = {0};
    va_list args;
    buf_puts(&text, before);
    device_spot_line(spot, &text);
    va_start(args, after);
    buf_vprintf(&text, after, args);
    va_end(args);
    const char *kept = arena_strndup(w->causes->arena, text.at, text.len);
    buf_free(&text);
    return kept;
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
        us = program->folds.len ? time_latency(image, w->constants)
                                : device_time_latency(image, w->constants);
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
                 change_text(w, spot, "", " %s on %s instead of %s", spot->op, engines[e].lane,
                             spot->lane),
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

/* How many tiles instructions there write: each of them gets a buffer more. -1: one of them is made
 * anew in each round of a loop on the device, where that is not tried. */
static int tiles_at(const struct what_if *w, const struct device_spot *spot) {
    const struct nki_program *program = w->image->program;
    bool *seen = mem_alloc(program->storages.len + 1, sizeof *seen), rounds = false;
    int count = 0;
    for (size_t i = 0; i < program->instrs.len; i++) {
        const struct nki_operand *dst = &program->instrs.at[i].operands[NKI_DST];
        if (!is_at(program, &program->instrs.at[i], spot) || dst->kind != NKI_OPERAND_AP)
            continue;
        count += !seen[dst->ap->storage];
        seen[dst->ap->storage] = true;
        rounds |= program->storages.at[dst->ap->storage]->again;
    }
    free(seen);
    return rounds ? -1 : count;
}

static void try_buffer(struct what_if *w, const struct device_spot *spot) {
    const struct device_causes *causes = w->causes;
    struct compile_change change = change_at(COMPILE_CHANGE_BUFFER, spot);
    int tiles = tiles_at(w, spot);
    uint64_t bytes = tiles > 0 ? tile_bytes(w, spot) * (uint64_t)tiles : 0;
    struct buf text = {0};
    if (!bytes || causes->sbuf_bytes + bytes > causes->sbuf_room)
        return;
    device_spot_line(spot, &text);
    buf_printf(&text, " %s into ", spot->op);
    if (tiles == 1)
        buf_puts(&text, "two buffers in turn");
    else
        buf_printf(&text, "%d buffers in turn instead of %d", 2 * tiles, tiles);
    tell(w, arena_strndup(w->causes->arena, text.at, text.len),
         time_latency_changed(w->image, w->constants, &change));
    buf_free(&text);
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

/* ---- larger transfers ----------------------------------------------------------------------- */

#define MOST_JOINED 2 /* lines whose transfers are joined */

static void bytes_print(struct buf *out, double bytes) {
    if (bytes >= 1048576)
        buf_printf(out, "%.3g MiB", bytes / 1048576);
    else if (bytes >= 1024)
        buf_printf(out, "%.3g KiB", bytes / 1024);
    else
        buf_printf(out, "%.0f B", bytes);
}

/* The bytes that the first transfer at that place moves. */
static double transfer_bytes(const struct what_if *w, const struct device_spot *spot) {
    const struct nki_program *program = w->image->program;
    for (size_t i = 0; i < program->instrs.len; i++) {
        const struct nki_operand *dst = &program->instrs.at[i].operands[NKI_DST];
        if (is_at(program, &program->instrs.at[i], spot) && dst->kind == NKI_OPERAND_AP)
            return (double)nki_ap_count(dst->ap) * (double)dtype_bytes(dst->ap->dtype);
    }
    return 0;
}

/* So many transfers in a row as one; the latency then, 0: they cannot be, or bring nothing. */
static double join(const struct what_if *w, const struct device_spot *spot, uint16_t times) {
    struct compile_change change = change_at(COMPILE_CHANGE_JOINED, spot);
    change.times = times;
    double us = time_latency_changed(w->image, w->constants, &change);
    return us < w->causes->latency_us * (1 - LEAST_GAIN) ? us : 0;
}

/* Two as one, or four where that is better still. */
static void try_joined(struct what_if *w, const struct device_spot *spot) {
    double bytes = transfer_bytes(w, spot);
    struct buf text = {0};
    if (w->causes->sbuf_bytes + tile_bytes(w, spot) > w->causes->sbuf_room)
        return;
    double two = join(w, spot, 2), four = two > 0 ? join(w, spot, 4) : 0;
    bool better = four > 0 && four < two * (1 - LEAST_GAIN);
    device_spot_line(spot, &text);
    buf_printf(&text, " %s in transfers of ", spot->op);
    bytes_print(&text, bytes * (better ? 4 : 2));
    buf_puts(&text, " instead of ");
    bytes_print(&text, bytes);
    tell(w, arena_strndup(w->causes->arena, text.at, text.len), better ? four : two);
    buf_free(&text);
}

/* ---- without a line, with more room --------------------------------------------------------- */

static bool is_spill(const struct device_spot *spot) {
    return nki_op_find(str_of(spot->op)) >= NKI_OP_COUNT;
}

static void try_without(struct what_if *w, const struct device_spot *spot) {
    struct compile_change change = change_at(COMPILE_CHANGE_WITHOUT, spot);
    tell(w, change_text(w, spot, "without ", " %s", spot->op),
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
    int without = 0, joined = 0;
    for (size_t i = 0; i < w->lines.len; i++) {
        const struct device_spot *spot = &w->lines.at[i].spot;
        if (!counts(w, i) || is_spill(spot))
            continue;
        if (without++ < MOST_WITHOUT)
            try_without(w, spot);
        if (nki_op_find(str_of(spot->op)) == NKI_OP_DMA_COPY && joined++ < MOST_JOINED)
            try_joined(w, spot);
    }
}

/* ---- all ------------------------------------------------------------------------------------ */

static int by_latency(const void *a, const void *b) {
    const struct device_what_if *x = a, *y = b;
    return x->us < y->us ? -1 : x->us > y->us;
}

void causes_try(struct device_causes *causes, const struct device_image *image,
                const struct device_constants *constants) {
    struct what_if w = {.causes = causes, .image = image, .constants = constants};
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
