/* SPDX-License-Identifier: Apache-2.0 */
/* A program in another order: loops whose rounds may run in any order begin with the last one. What
 * hone makes for all rounds comes before them. */
#include "nki/program/program.h"

#include <stdlib.h>

/* Instructions [from, to) that follow each other, and the numbers of the rounds that they are in,
 * outermost first. */
struct stretch {
    uint32_t from, to;
    uint32_t n;
    uint32_t *path;
};
struct turning {
    const struct nki_program *program;
    struct nki_instr *to;
    size_t n;
};

/* False where the round is one that was copied. */
static bool find_path(const struct nki_program *program, uint32_t round, struct arena *arena,
                      struct stretch *stretch) {
    if (round == NKI_ROUND_UNKNOWN)
        return false;
    for (uint32_t r = round; r; r = program->rounds.at[r - 1].around)
        stretch->n++;
    stretch->path = ARENA_ARRAY(arena, uint32_t, stretch->n + 1);
    uint32_t at = stretch->n;
    for (uint32_t r = round; r; r = program->rounds.at[r - 1].around)
        stretch->path[--at] = r - 1;
    return true;
}

/* Returns how many; 0: rounds are not known. */
static size_t find_stretches(const struct nki_program *program, struct arena *arena,
                             struct stretch *all) {
    size_t n = 0, marks = program->round_marks.len;
    uint32_t first = marks ? program->round_marks.at[0].first : 0;
    if (first)
        all[n++] = (struct stretch){.to = first};
    for (size_t m = 0; m < marks; m++) {
        const struct nki_round_mark *mark = &program->round_marks.at[m];
        all[n] =
            (struct stretch){.from = mark->first,
                             .to = m + 1 < marks ? mark[1].first : (uint32_t)program->instrs.len};
        if (!find_path(program, mark->round, arena, &all[n++]))
            return 0;
    }
    return n;
}

static void copy_instrs(struct turning *t, const struct stretch *stretch) {
    for (uint32_t i = stretch->from; i < stretch->to; i++)
        t->to[t->n++] = t->program->instrs.at[i];
}

static uint32_t loop_at(const struct turning *t, const struct stretch *stretch, uint32_t depth) {
    return stretch->n > depth ? t->program->rounds.at[stretch->path[depth]].loop : 0;
}

static void turn_all(struct turning *t, const struct stretch *all, size_t n, uint32_t depth);

/* The stretches of a loop, and between them those that are in none of its rounds. */
static void turn_loop(struct turning *t, const struct stretch *all, size_t n, uint32_t depth) {
    for (size_t i = 0; i < n; i++)
        if (all[i].n <= depth)
            copy_instrs(t, &all[i]);
    for (size_t end = n; end > 0;) {
        size_t from = end - 1;
        if (all[from].n <= depth) {
            end = from;
            continue;
        }
        uint32_t round = all[from].path[depth];
        while (from > 0 && all[from - 1].n > depth && all[from - 1].path[depth] == round)
            from--;
        turn_all(t, all + from, end - from, depth + 1);
        end = from;
    }
}

static void turn_all(struct turning *t, const struct stretch *all, size_t n, uint32_t depth) {
    for (size_t i = 0; i < n;) {
        uint32_t loop = loop_at(t, &all[i], depth);
        size_t end = i + 1;
        if (!loop) {
            copy_instrs(t, &all[i++]);
            continue;
        }
        for (size_t k = end; k < n && (all[k].n <= depth || loop_at(t, &all[k], depth) == loop);
             k++)
            if (all[k].n > depth)
                end = k + 1;
        turn_loop(t, all + i, end - i, depth);
        i = end;
    }
}

bool nki_program_turn(const struct nki_program *program, struct arena *arena,
                      struct nki_program *turned) {
    struct stretch *all = ARENA_ARRAY(arena, struct stretch, program->round_marks.len + 1);
    size_t n = find_stretches(program, arena, all);
    if (!n || program->cores > 1 || program->folds.len)
        return false;
    *turned = *program;
    memset(&turned->repeats, 0, sizeof turned->repeats);
    memset(&turned->prints, 0, sizeof turned->prints);
    memset(&turned->rounds, 0, sizeof turned->rounds);
    memset(&turned->round_marks, 0, sizeof turned->round_marks);
    struct turning t = {.program = program,
                        .to = ARENA_ARRAY(arena, struct nki_instr, program->instrs.len + 1)};
    turn_all(&t, all, n, 0);
    turned->instrs.at = t.to;
    turned->instrs.len = t.n;
    return true;
}
