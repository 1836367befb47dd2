/* SPDX-License-Identifier: Apache-2.0 */
/* A diagnosis from its beginning to its end, within its time. */
#include "diagnose/private.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#define OFF_TIGHT                                                                  \
    1e-4 /* of the largest element of a line: sums in another order differ by less \
          */

#define LOAD_MOST 3 /* times its own time that it may last where others use the processor */

static const struct diagnose_code codes[] = {
#define CODE(id, code, what, fix) {code, what, fix},
#include "diagnose/codes.def"
#undef CODE
};

const struct diagnose_code *diagnose_code_at(size_t index) {
    return index < COUNT_OF(codes) ? &codes[index] : NULL;
}

/* What others on the machine use of its processors must not change what is found. */
static uint64_t used_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool study_is_late(const struct study *study) {
    const volatile int *cancel = study->question->cancel;
    return (cancel && *cancel) || used_ns() > study->used_up_ns ||
           clock_monotonic_ns() > study->ends_ns;
}

/* Whether two ways to compare found the same; what is not finite agrees with its like. */
static bool agrees(double found, double expected) {
    if (expected == 0)
        return true;
    if (!isfinite(found) || !isfinite(expected))
        return !isfinite(found) && !isfinite(expected);
    return fabs(found - expected) <= 0.01 * fabs(expected);
}

static int by_weight(const void *a, const void *b) {
    const struct site *x = a, *y = b;
    return x->weight < y->weight ? 1 : x->weight > y->weight ? -1 : (x->first > y->first) * 2 - 1;
}

static bool same_line(const struct nki_program *program, uint32_t a, uint32_t b) {
    const struct nki_loc *x = &program->locs.at[a], *y = &program->locs.at[b];
    return x->file == y->file && x->line == y->line;
}

/* Statements of one line are told once. One of an imported file is told where the kernel calls it,
 * with its own line. */
static void tell_suspects(struct study *study) {
    const struct nki_program *program = study->program;
    uint32_t told[SUSPECTS_MOST];
    int n = 0;
    qsort(study->sites.at, study->sites.len, sizeof *study->sites.at, by_weight);
    for (size_t s = 0; s < study->sites.len && n < SUSPECTS_MOST; s++) {
        const struct site *site = &study->sites.at[s];
        const struct nki_loc *loc = study_place(study, site);
        bool there = false;
        for (int i = 0; i < n; i++)
            there = there || same_line(program, told[i], site->loc);
        if (!(site->weight > 0) || there || loc->file >= program->files.len)
            continue;
        struct buf within = {0};
        if (program->locs.at[site->loc].file != loc->file)
            nki_loc_say(program, site->loc, &within);
        told[n++] = site->loc;
        diag_add(study->diags, DIAG_NOTE, "hone-suspect", program->files.at[loc->file],
                 (int)loc->line, (int)loc->column, "suspect %d%s%s: %s", n,
                 within.len ? ", in " : "", within.len ? within.at : "", site->reason);
        buf_free(&within);
    }
}

static void go(struct study *study) {
    pattern_tell(study);
    if (!survey(study))
        return;
    for (size_t i = 0; i < study->question->known_count; i++)
        *vec_push(&study->known) = study->question->known[i];
    parent_go_through(study);
    if (watch_run(study) && study->known.len)
        match_lines(study);
    rank_sites(study);
    signs_find(study);
    parent_weigh(study);
    alter_sites(study);
    tell_suspects(study);
}

void diagnose(const struct diagnose_question *question, struct diag_list *diags) {
    double seconds = question->seconds > 0 ? question->seconds : DIAGNOSE_SECONDS;
    struct study study = {.question = question,
                          .program = device_image_program(question->image),
                          .arena = arena_new(),
                          .diags = diags};
    study.used_up_ns = used_ns() + (uint64_t)(seconds * 1e9);
    study.ends_ns = clock_monotonic_ns() + (uint64_t)(seconds * LOAD_MOST * 1e9);
    study.off_tight = fmax(OFF_TIGHT, 2 * question->tolerance);
    study.before = outputs_off(&study, question->outputs);
    study.knows_right = question->right && agrees(study.before, question->expected);
    go(&study);
    vec_free(&study.sites);
    vec_free(&study.lines);
    vec_free(&study.known);
    arena_free(study.arena);
}
