/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that is right, such as the parent of one that is not: the tiles that its statements
 * leave to others are arrays to look for, like those of the reference; and a statement that it has
 * word for word is suspected less than one that is new. */
#include "diagnose/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TILES_MOST 4096
#define NUMBERS_MOST ((size_t)32 << 20) /* of all tiles */
#define TILE_MOST ((size_t)4 << 20)
#define NEW_WEIGHT 30
#define EXCUSED_WEIGHT 60.0 /* less than any of a statement that is new */

struct going {
    struct study *study, *parent;
    float *tile;
    size_t numbers;
};

static void keep_tile(struct going *going, const struct site *site, const struct nki_ap *ap,
                      size_t count) {
    struct study *study = going->study;
    const struct nki_loc *loc = study_place(going->parent, site);
    int64_t rows = ap->n_dims > 1 ? ap->count[0] : 1;
    struct diagnose_array *known = vec_push(&study->known);
    *known = (struct diagnose_array){
        .name = arena_printf(study->arena, "what line %u of the right kernel writes", loc->line)};
    known->array = (struct array){
        .dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {rows, (int64_t)count / MAX_OF(rows, 1)}};
    known->array.data = arena_dup(study->arena, going->tile, count * sizeof(float));
    going->numbers += count;
}

static bool on_instruction(void *data, struct exec *run, size_t i, bool before) {
    struct going *going = data;
    struct study *parent = going->parent;
    if (i % 16 == 0 && study_is_late(going->study))
        return false;
    const struct site *site = &parent->sites.at[parent->site_of[i]];
    if (before || !parent->is_seen[i] || going->study->known.len >= TILES_MOST)
        return true;
    struct operand_at list[OPERANDS_MOST];
    size_t n = operands_of(parent->program, &parent->program->instrs.at[i], list, OPERANDS_MOST);
    for (size_t k = 0; k < n; k++) {
        const struct nki_ap *ap = list[k].ap;
        size_t most = MIN_OF(TILE_MOST, NUMBERS_MOST - going->numbers);
        size_t count = list[k].writes && diagnose_is_plain(ap->dtype)
                           ? device_watch_read(run, ap, most, going->tile)
                           : 0;
        if (count > 3)
            keep_tile(going, site, ap, count);
    }
    return true;
}

/* Runs the right kernel. What it computes has to be right where that can be told. */
static bool go_through(struct going *going) {
    const struct diagnose_question *question = going->study->question;
    size_t outputs = going->parent->program->outputs.len;
    struct array *made = mem_alloc(outputs + 1, sizeof *made);
    struct device_limits limits = {.cancel = question->cancel,
                                   .memory_bytes = question->memory_bytes,
                                   .watch = on_instruction,
                                   .watching = going};
    struct err err = {0};
    bool ok = device_execute(question->parent, question->inputs, question->input_count, made,
                             &limits, &err);
    bool right = ok && outputs == going->study->program->outputs.len;
    for (size_t k = 0; right && k < outputs; k++)
        right = array_count(&made[k]) == array_count(&question->outputs[k]);
    if (right && going->study->knows_right)
        right = outputs_off(going->study, made) <= question->tolerance;
    for (size_t k = 0; ok && k < outputs; k++)
        free(made[k].data);
    free(made);
    return right;
}

void parent_go_through(struct study *study) {
    const struct diagnose_question *question = study->question;
    if (!question->parent)
        return;
    struct study parent = {.question = question,
                           .program = device_image_program(question->parent),
                           .arena = arena_new(),
                           .ends_ns = study->ends_ns,
                           .used_up_ns = study->used_up_ns};
    struct going going = {.study = study, .parent = &parent};
    size_t before = study->known.len;
    going.tile = mem_alloc(TILE_MOST, sizeof *going.tile);
    if (!survey(&parent) || !go_through(&going))
        study->known.len = before;
    free(going.tile);
    vec_free(&parent.sites);
    arena_free(parent.arena);
}

/* Whether the right kernel has the statement, word for word. */
static bool has_statement(const struct study *study, const struct site *site) {
    const struct diagnose_question *question = study->question;
    const struct nki_loc *loc = study_place(study, site);
    size_t length = strlen(question->source);
    if (loc->file != 0 || loc->end <= loc->start || loc->end > length)
        return true;
    return memmem(question->parent_source, strlen(question->parent_source),
                  question->source + loc->start, loc->end - loc->start) != NULL;
}

/* What the right kernel has, too, and what is made of a statement that it does not have: it shows
 * the fault and is not to blame. */
static void excuse(struct study *study, const bool *is_new) {
    size_t n = study->sites.len;
    bool *after = ARENA_ARRAY(study->arena, bool, n + 1), more = true;
    while (more) {
        more = false;
        for (size_t s = 0; s < n; s++)
            for (size_t from = 0; from < n && !after[s]; from++)
                if ((is_new[from] || after[from]) && study_follows(study, from, s))
                    after[s] = more = true;
    }
    for (size_t s = 0; s < n; s++)
        if (after[s] && !is_new[s] && study->sites.at[s].weight < 150)
            study->sites.at[s].weight = fmin(study->sites.at[s].weight, EXCUSED_WEIGHT);
}

void parent_weigh(struct study *study) {
    if (!study->question->source || !study->question->parent_source)
        return;
    bool *is_new = ARENA_ARRAY(study->arena, bool, study->sites.len + 1);
    size_t new = 0;
    for (size_t s = 0; s < study->sites.len; s++)
        new += is_new[s] = !has_statement(study, &study->sites.at[s]);
    if (new * 3 <= study->sites.len)
        excuse(study, is_new);
    for (size_t s = 0; s < study->sites.len; s++) {
        struct site *site = &study->sites.at[s];
        if (site->weight >= 150 || !is_new[s])
            continue;
        if (!(site->weight > 0))
            snprintf(
                site->reason, sizeof site->reason,
                "the kernel that is right does not have this statement (%s), and what comes of "
                "it is wrong",
                nki_op_name((enum nki_op)site->op));
        /* Where nearly all is new, that says nothing. */
        if (new * 3 <= study->sites.len)
            site->weight = site->weight > 30
                               ? site->weight + NEW_WEIGHT
                               : 65 - (double)site->first / (double)study->program->instrs.len;
    }
}
