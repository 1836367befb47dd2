/* SPDX-License-Identifier: Apache-2.0 */
/* Where a value is carried through rounds that may run in any order, the numbers of another order:
 * the kernel is executed once more on the first seed's inputs, the last round first. */
#include "runner/embedded/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_INSTRUCTIONS 200000
/* Relative L2. Sums in another order differ by less, those of bfloat16 too. */
#define LEAST_DIFFERENCE 1e-2

static const struct diag *carried(const struct evaluation *evaluation) {
    for (size_t i = 0; i < evaluation->diags.all.len; i++)
        if (!strcmp(evaluation->diags.all.at[i].code, "hone-carried-value"))
            return &evaluation->diags.all.at[i];
    return NULL;
}

bool order_matters(const struct seed_run *run) {
    const struct evaluation *evaluation = run->evaluation;
    return run == evaluation->runs && !shapes_is_later(evaluation) && run->executed &&
           evaluation->program->rounds.len && carried(evaluation);
}

/* Relative L2 of two arrays of one type and shape. A NaN in one of them alone: infinite. */
static double difference(const struct array *is, const struct array *other) {
    float a[1024], b[1024];
    double sum = 0, all = 0;
    size_t count = (size_t)array_count(is), step = dtype_bytes(is->dtype);
    for (size_t at = 0; at < count; at += COUNT_OF(a)) {
        size_t n = MIN_OF(count - at, COUNT_OF(a));
        device_to_float(is->dtype, (const char *)is->data + at * step, a, n);
        device_to_float(is->dtype, (const char *)other->data + at * step, b, n);
        for (size_t i = 0; i < n; i++) {
            if (isnan(a[i]) != isnan(b[i]))
                return INFINITY;
            double off = a[i] == b[i] || isnan(a[i]) ? 0 : (double)a[i] - (double)b[i];
            sum += off * off;
            all += isfinite(a[i]) ? (double)a[i] * (double)a[i] : 0;
        }
    }
    return sum > 0 ? sqrt(sum / all) : 0;
}

static void compare(struct seed_run *run, const struct array *outputs) {
    for (size_t k = 0; k < run->evaluation->program->outputs.len; k++) {
        double off = difference(&run->outputs[k], &outputs[k]);
        if (off > LEAST_DIFFERENCE && !(off <= run->order.off))
            run->order = (struct order_found){.off = off, .output = k};
    }
}

static void execute_turned(struct seed_run *run, const struct nki_program *turned,
                           const struct array *inputs, size_t count,
                           const struct device_limits *limits) {
    struct diag_list diags = {0};
    struct err err = {0};
    struct device_image *image = device_load(turned, run->evaluation->generation, &diags);
    struct array *outputs = mem_alloc(turned->outputs.len + 1, sizeof *outputs);
    if (image && device_execute(image, inputs, count, outputs, limits, &err)) {
        compare(run, outputs);
        for (size_t k = 0; k < turned->outputs.len; k++)
            free(outputs[k].data);
    }
    free(outputs);
    device_unload(image);
    diag_free(&diags);
}

void order_try(struct seed_run *run, const struct array *inputs, size_t count,
               const struct device_limits *limits) {
    struct arena *arena = arena_new();
    struct device_limits own = {.cancel = limits->cancel, .memory_bytes = limits->memory_bytes};
    struct nki_program turned, *whole = NULL;
    bool known = nki_program_turn(run->evaluation->program, arena, &turned);
    if (!known)
        whole = compile_every_round(run->evaluation, MOST_INSTRUCTIONS);
    known |= whole && nki_program_turn(whole, arena, &turned);
    if (known && turned.instrs.len <= MOST_INSTRUCTIONS)
        execute_turned(run, &turned, inputs, count, &own);
    nki_program_free(whole);
    arena_free(arena);
}

void order_tell(struct seed_run *run) {
    struct evaluation *evaluation = run->evaluation;
    const struct diag *at = carried(evaluation);
    char *file = run->order.off > 0 ? strdup(at->file) : NULL;
    char off[40];
    if (!file)
        return;
    snprintf(off, sizeof off,
             isinf(run->order.off) ? "some are NaN in one order alone" : "relative L2 %.2g",
             run->order.off);
    diag_add(&evaluation->diags, DIAG_WARNING, "hone-order", file, at->line, at->column,
             "output %zu has other numbers where the last round runs first (%s): on the device it "
             "may be either",
             run->order.output, off);
    free(file);
    (void)evaluation_tell_diags(evaluation);
}
