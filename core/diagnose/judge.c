/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an altered program computes what the reference does. Most that are tried do not, and the
 * first tile that they store shows it: there the run ends. */
#include "diagnose/alter.h"

#include <math.h>
#include <stdlib.h>

#define TILE_MOST ((size_t)4 << 20)

struct judge {
    struct study *study;
    const struct nki_program *program; /* that is judged just now */
    double *norm, *off; /* per output: the squares of what is right, of what differs */
    bool *once;         /* per output: no element of it is written twice */
    float *tile;
    bool early; /* a run ends where it is wrong */
};

static double norm_of(const struct array *right) {
    double sum = 0;
    const float *at = right->data;
    for (int64_t i = 0; i < array_count(right); i++)
        sum += isfinite(at[i]) ? (double)at[i] * at[i] : 0;
    return sum;
}

/* Whether the program as it is writes each element of its outputs once at most. */
static void find_once(struct judge *judge) {
    const struct nki_program *program = judge->study->program;
    int64_t *written = mem_alloc(program->outputs.len + 1, sizeof *written);
    for (size_t i = 0; i < program->instrs.len; i++) {
        struct operand_at list[OPERANDS_MOST];
        size_t n = operands_of(program, &program->instrs.at[i], list, OPERANDS_MOST);
        for (size_t k = 0; k < n; k++) {
            int32_t output = program->storages.at[list[k].ap->storage]->output;
            if (list[k].writes && output >= 0 && (size_t)output < program->outputs.len)
                written[output] += nki_ap_count(list[k].ap);
        }
    }
    for (size_t k = 0; k < program->outputs.len; k++)
        judge->once[k] = written[k] <= array_count(&judge->study->question->outputs[k]);
    free(written);
}

struct judge *judge_new(struct study *study) {
    size_t outputs = study->program->outputs.len;
    struct judge *judge = mem_alloc(1, sizeof *judge);
    judge->study = study;
    judge->norm = mem_alloc(outputs + 1, sizeof *judge->norm);
    judge->off = mem_alloc(outputs + 1, sizeof *judge->off);
    judge->once = mem_alloc(outputs + 1, sizeof *judge->once);
    judge->tile = mem_alloc(TILE_MOST, sizeof *judge->tile);
    for (size_t k = 0; k < outputs; k++)
        judge->norm[k] = norm_of(&study->question->right[k]);
    find_once(judge);
    return judge;
}

void judge_free(struct judge *judge) {
    if (!judge)
        return;
    free(judge->norm);
    free(judge->off);
    free(judge->once);
    free(judge->tile);
    free(judge);
}

/* Adds the squares by which a tile differs from what belongs where it was stored. */
static void add_tile(struct judge *judge, int32_t output, const struct nki_ap *ap, size_t count) {
    const struct array *right = &judge->study->question->right[output];
    const float *should = right->data;
    int64_t index[NKI_MAX_DIMS] = {0}, size = array_count(right);
    for (size_t i = 0; i < count; i++) {
        int64_t at = ap->offset;
        for (int d = 0; d < ap->n_dims; d++)
            at += ap->step[d] * index[d];
        double off = at >= 0 && at < size ? (double)judge->tile[i] - (double)should[at] : 0;
        if (at >= 0 && at < size && judge->tile[i] != should[at])
            judge->off[output] += off * off;
        for (int d = ap->n_dims - 1; d >= 0 && ++index[d] == ap->count[d]; d--)
            index[d] = 0;
    }
}

static bool is_plain_output(const struct judge *judge, const struct nki_ap *ap) {
    const struct nki_storage *storage = judge->program->storages.at[ap->storage];
    return storage->output >= 0 && (size_t)storage->output < judge->program->outputs.len &&
           !ap->indirect && ap->dtype == storage->dtype && diagnose_is_plain(ap->dtype);
}

static bool on_instruction(void *data, struct exec *run, size_t i, bool before) {
    struct judge *judge = data;
    double most = judge->study->question->tolerance;
    if (i % 16 == 0 && study_is_late(judge->study))
        return false;
    if (before || !judge->early)
        return true;
    struct operand_at list[OPERANDS_MOST];
    size_t n = operands_of(judge->program, &judge->program->instrs.at[i], list, OPERANDS_MOST);
    for (size_t k = 0; k < n; k++) {
        if (!list[k].writes || !is_plain_output(judge, list[k].ap))
            continue;
        int32_t output = judge->program->storages.at[list[k].ap->storage]->output;
        add_tile(judge, output, list[k].ap,
                 device_watch_read(run, list[k].ap, TILE_MOST, judge->tile));
        if (!(judge->off[output] <= most * most * fmax(judge->norm[output], 1e-30)))
            return false;
    }
    return true;
}

static bool run(struct judge *judge, const struct device_image *image) {
    const struct diagnose_question *question = judge->study->question;
    size_t outputs = judge->program->outputs.len;
    struct array *made = mem_alloc(outputs + 1, sizeof *made);
    struct device_limits limits = {.cancel = question->cancel,
                                   .memory_bytes = question->memory_bytes,
                                   .watch = on_instruction,
                                   .watching = judge};
    struct err err = {0};
    bool right = false;
    if (device_execute(image, question->inputs, question->input_count, made, &limits, &err)) {
        right = outputs_off(judge->study, made) <= question->tolerance;
        for (size_t k = 0; k < outputs; k++)
            free(made[k].data);
    }
    free(made);
    return right;
}

bool judge_is_right(struct judge *judge, const struct nki_program *program, bool stores) {
    struct diag_list diags = {0};
    struct device_image *image =
        device_load(program, device_generation_of(program->generation), &diags);
    diag_free(&diags);
    if (!image)
        return false;
    judge->program = program;
    judge->early = true;
    for (size_t k = 0; k < program->outputs.len; k++) {
        judge->off[k] = 0;
        judge->early = judge->early && (stores || judge->once[k]);
    }
    bool right = run(judge, image);
    device_unload(image);
    return right;
}
