/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel once more, watched: lines of the tiles that were picked, and the first statement that
 * makes a number which is none, or reads memory that nobody wrote. */
#include "diagnose/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ELEMENTS_MOST ((size_t)4 << 20) /* of a tile that is read */
#define FIRSTS_MOST 4

struct watch {
    struct study *study;
    float *tile;
    bool *picked;   /* per instruction */
    bool looks;     /* for numbers that are none */
    uint64_t *told; /* per site: bit 0: told */
    size_t firsts;
    bool before_bad;      /* a source held such a number before the instruction */
    const char *bad_name; /* of the first such source's storage */
    bool bad_unwritten;
    uint8_t *spoiled; /* per storage: an instruction wrote such a number to it */
};

bool diagnose_is_plain(enum dtype dtype) {
    return dtype == DTYPE_FLOAT32 || dtype == DTYPE_TFLOAT32 || dtype == DTYPE_BFLOAT16 ||
           dtype == DTYPE_FLOAT16;
}

static size_t read_tile(struct watch *watch, struct exec *run, const struct nki_ap *ap) {
    return diagnose_is_plain(ap->dtype) ? device_watch_read(run, ap, ELEMENTS_MOST, watch->tile)
                                        : 0;
}

/* ---- lines ---------------------------------------------------------------------------------- */

struct shape {
    int64_t rows, columns, inner; /* inner: elements that surely lie side by side in a row */
};

struct line_steps {
    int64_t step;
    int n;
};

static void keep_line(struct watch *watch, uint32_t instr, const float *from,
                      struct line_steps steps) {
    struct line line = {.site = watch->study->site_of[instr],
                        .instr = instr,
                        .n = steps.n,
                        .finite = true,
                        .off = INFINITY,
                        .array = -1};
    float low = INFINITY, high = -INFINITY;
    for (int i = 0; i < line.n; i++) {
        line.at[i] = from[i * steps.step];
        line.finite = line.finite && isfinite(line.at[i]);
        low = fminf(low, line.at[i]);
        high = fmaxf(high, line.at[i]);
    }
    if (line.finite && low == high)
        return; /* one number throughout is found everywhere */
    *vec_push(&watch->study->lines) = line;
}

/* At the corners and in the middle, along rows and down the partitions. */
static void keep_lines(struct watch *watch, uint32_t instr, struct shape shape) {
    const float *tile = watch->tile;
    int along = (int)MIN_OF(shape.inner, (int64_t)LINE_MOST);
    int down = (int)MIN_OF(shape.rows, (int64_t)LINE_MOST);
    if (along >= 4) {
        struct line_steps steps = {1, along};
        int64_t last = shape.rows * shape.columns - along;
        int64_t middle = shape.rows / 2 * shape.columns +
                         shape.columns / 2 / shape.inner * shape.inner + (shape.inner - along) / 2;
        keep_line(watch, instr, tile, steps);
        if (last)
            keep_line(watch, instr, tile + last, steps);
        if (shape.rows > 2)
            keep_line(watch, instr, tile + middle, steps);
    }
    if (down >= 4) {
        struct line_steps steps = {shape.columns, down};
        keep_line(watch, instr, tile, steps);
        if (shape.rows > down || shape.columns > 1)
            keep_line(watch, instr, tile + (shape.rows - down) * shape.columns + shape.columns - 1,
                      steps);
    }
}

static void look_at_tiles(struct watch *watch, struct exec *run, uint32_t i) {
    struct study *study = watch->study;
    struct operand_at list[OPERANDS_MOST];
    size_t n = operands_of(study->program, &study->program->instrs.at[i], list, OPERANDS_MOST);
    for (size_t k = 0; k < n; k++) {
        const struct nki_ap *ap = list[k].ap;
        size_t count = list[k].writes ? read_tile(watch, run, ap) : 0;
        if (!count)
            continue;
        int64_t rows = ap->n_dims > 1 ? ap->count[0] : 1;
        struct shape shape = {rows, (int64_t)count / rows, ap->count[ap->n_dims - 1]};
        if (ap->n_dims == 1)
            shape.inner = shape.columns;
        for (int d = ap->n_dims - 1; d > 1 && shape.inner == 1; d--)
            shape.inner = ap->count[d - 1];
        keep_lines(watch, i, shape);
    }
}

/* ---- numbers that are none ------------------------------------------------------------------ */

/* Unwritten memory reads as a NaN of all ones (device/exec). */
static bool find_bad(const float *tile, size_t n, bool *unwritten) {
    for (size_t i = 0; i < n; i++) {
        if (isfinite(tile[i]))
            continue;
        *unwritten = isnan(tile[i]);
        return true;
    }
    return false;
}

static void look_before(struct watch *watch, struct exec *run, uint32_t i) {
    struct study *study = watch->study;
    struct operand_at list[OPERANDS_MOST];
    const struct nki_instr *instr = &study->program->instrs.at[i];
    size_t n = operands_of(study->program, instr, list, OPERANDS_MOST);
    watch->before_bad = false;
    for (size_t k = 0; k < n && !watch->before_bad; k++) {
        /* A product adds to what was written only, and reads nothing else of its dst. */
        bool own = list[k].writes && (instr->op == NKI_OP_NC_MATMUL || instr->more->mask);
        size_t count = list[k].reads && !own ? read_tile(watch, run, list[k].ap) : 0;
        if (!find_bad(watch->tile, count, &watch->bad_unwritten))
            continue;
        watch->before_bad = true;
        watch->bad_unwritten = watch->bad_unwritten && !watch->spoiled[list[k].ap->storage];
        watch->bad_name = study->program->storages.at[list[k].ap->storage]->name;
    }
}

static void tell_first(struct watch *watch, uint32_t i, float value) {
    struct study *study = watch->study;
    struct site *site = &study->sites.at[study->site_of[i]];
    const struct nki_loc *loc = study_place(study, site);
    const char *file =
        loc->file < study->program->files.len ? study->program->files.at[loc->file] : "";
    const char *name = nki_op_name((enum nki_op)site->op);
    if (watch->before_bad && watch->bad_unwritten) {
        snprintf(site->reason, sizeof site->reason,
                 "%s reads `%.60s` where nothing was written to it", name,
                 watch->bad_name ? watch->bad_name : "");
        site->weight = 200;
        diag_add(study->diags, DIAG_NOTE, "hone-unwritten", file, (int)loc->line, (int)loc->column,
                 "%s; unwritten memory holds anything. Write all of it first (memset), or read "
                 "only what was written",
                 site->reason);
    } else {
        snprintf(site->reason, sizeof site->reason,
                 "%s makes the first %s, of operands that are all finite", name,
                 isnan(value) ? "NaN" : "infinite number");
        site->weight = 50;
        diag_add(study->diags, DIAG_NOTE, "hone-not-a-number", file, (int)loc->line,
                 (int)loc->column, "%s (instruction %u of %zu)", site->reason, i + 1,
                 study->program->instrs.len);
    }
    watch->firsts++;
}

static void look_after(struct watch *watch, struct exec *run, uint32_t i) {
    struct study *study = watch->study;
    struct operand_at list[OPERANDS_MOST];
    size_t n = operands_of(study->program, &study->program->instrs.at[i], list, OPERANDS_MOST);
    for (size_t k = 0; k < n; k++) {
        size_t count = list[k].writes ? read_tile(watch, run, list[k].ap) : 0, at = 0;
        while (at < count && isfinite(watch->tile[at]))
            at++;
        /* A memset of infinity is meant: a maximum begins so, or a mask. */
        bool meant = at < count && study->program->instrs.at[i].op == NKI_OP_MEMSET &&
                     isinf(watch->tile[at]);
        if (at == count || meant)
            continue;
        watch->spoiled[list[k].ap->storage] = 1;
        uint32_t s = study->site_of[i];
        if ((!watch->before_bad || watch->bad_unwritten) && !watch->told[s] &&
            watch->firsts < FIRSTS_MOST)
            tell_first(watch, i, watch->tile[at]);
        watch->told[s] = 1;
    }
}

/* ---- the run -------------------------------------------------------------------------------- */

static bool on_instruction(void *data, struct exec *run, size_t i, bool before) {
    struct watch *watch = data;
    if (i % 16 == 0 && study_is_late(watch->study))
        return false;
    if (watch->looks && watch->firsts < FIRSTS_MOST) {
        if (before)
            look_before(watch, run, (uint32_t)i);
        else
            look_after(watch, run, (uint32_t)i);
    }
    if (!before && watch->picked[i])
        look_at_tiles(watch, run, (uint32_t)i);
    return true;
}

static bool has_bad_outputs(const struct study *study) {
    float chunk[1024];
    bool unwritten;
    for (size_t k = 0; k < study->program->outputs.len; k++) {
        const struct array *output = &study->question->outputs[k];
        size_t count = (size_t)array_count(output), step = dtype_bytes(output->dtype);
        for (size_t at = 0; at < count && dtype_is_float(output->dtype); at += COUNT_OF(chunk)) {
            size_t n = MIN_OF(count - at, COUNT_OF(chunk));
            device_to_float(output->dtype, (const char *)output->data + at * step, chunk, n);
            if (find_bad(chunk, n, &unwritten))
                return true;
        }
    }
    return false;
}

bool watch_run(struct study *study) {
    const struct diagnose_question *question = study->question;
    size_t instrs = study->program->instrs.len;
    struct watch watch = {.study = study, .looks = has_bad_outputs(study)};
    watch.tile = mem_alloc(ELEMENTS_MOST, sizeof *watch.tile);
    watch.picked = mem_alloc(instrs + 1, sizeof *watch.picked);
    watch.told = mem_alloc(study->sites.len + 1, sizeof *watch.told);
    watch.spoiled = mem_alloc(study->program->storages.len + 1, 1);
    for (size_t s = 0; s < study->sites.len; s++)
        for (uint32_t p = 0; p < study->sites.at[s].pick_count; p++)
            watch.picked[study->sites.at[s].picks[p]] = true;
    struct array *outputs = mem_alloc(study->program->outputs.len + 1, sizeof *outputs);
    struct device_limits limits = {.cancel = question->cancel,
                                   .memory_bytes = question->memory_bytes,
                                   .watch = on_instruction,
                                   .watching = &watch};
    struct err err = {0};
    bool ok = device_execute(question->image, question->inputs, question->input_count, outputs,
                             &limits, &err);
    for (size_t k = 0; ok && k < study->program->outputs.len; k++)
        free(outputs[k].data);
    free(outputs);
    free(watch.tile);
    free(watch.picked);
    free(watch.told);
    free(watch.spoiled);
    return ok;
}
