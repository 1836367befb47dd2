/* SPDX-License-Identifier: Apache-2.0 */
/* What the program alone shows, without any numbers: parts of an input that nobody reads, parts of
 * an output that nobody writes, a sum that takes the same tile twice; and tiles that are the same
 * each round though what they are made of is not. A kernel may do so and be
 * right; in one that is wrong, it is where to look first. */
#include "diagnose/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COVERED_MOST ((int64_t)256 << 20)

struct reading {
    uint8_t *read; /* per element of an input */
    int64_t size, missed;
    bool indirect;
};

static void mark(struct reading *reading, const struct nki_ap *ap) {
    int64_t index[NKI_MAX_DIMS] = {0}, n = nki_ap_count(ap);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = ap->offset;
        for (int d = 0; d < ap->n_dims; d++)
            at += ap->step[d] * index[d];
        if (at >= 0 && at < reading->size)
            reading->read[at] = 1;
        for (int d = ap->n_dims - 1; d >= 0 && ++index[d] == ap->count[d]; d--)
            index[d] = 0;
    }
}

static void read_input(struct study *study, uint32_t storage, struct reading *reading) {
    const struct nki_program *program = study->program;
    for (uint32_t i = 0; i < program->instrs.len && !reading->indirect; i++) {
        struct operand_at list[OPERANDS_MOST];
        size_t n = operands_of(program, &program->instrs.at[i], list, OPERANDS_MOST);
        for (size_t k = 0; k < n; k++) {
            if (list[k].ap->storage != storage || !list[k].reads)
                continue;
            reading->indirect =
                list[k].ap->indirect || list[k].ap->dtype != program->storages.at[storage]->dtype;
            mark(reading, list[k].ap);
        }
        if (i % 1024 == 0 && study_is_late(study))
            reading->indirect = true;
    }
    for (int64_t i = 0; i < reading->size; i++)
        reading->missed += !reading->read[i];
}

static void suspect(struct study *study, uint32_t s, double weight) {
    struct site *site = &study->sites.at[s];
    site->weight = weight - (double)site->first / (double)study->program->instrs.len;
}

static void blame_readers(struct study *study, uint32_t storage, const struct reading *reading) {
    const struct nki_program *program = study->program;
    for (uint32_t i = 0; i < program->instrs.len; i++) {
        struct operand_at list[OPERANDS_MOST];
        size_t n = operands_of(program, &program->instrs.at[i], list, OPERANDS_MOST);
        struct site *site = &study->sites.at[study->site_of[i]];
        for (size_t k = 0; k < n; k++) {
            if (list[k].ap->storage != storage || !list[k].reads || site->weight >= 74)
                continue;
            snprintf(site->reason, sizeof site->reason,
                     "this %s reads `%.40s`, of which %lld of %lld elements are never read",
                     nki_op_name((enum nki_op)site->op), program->storages.at[storage]->name,
                     (long long)reading->missed, (long long)reading->size);
            suspect(study, study->site_of[i], 75);
        }
    }
}

static void look_at_input(struct study *study, uint32_t storage) {
    const struct nki_storage *input = study->program->storages.at[storage];
    struct reading reading = {.size = (int64_t)(input->bytes / dtype_bytes(input->dtype))};
    if (reading.size <= 0 || reading.size > COVERED_MOST)
        return;
    reading.read = mem_alloc((size_t)reading.size, 1);
    read_input(study, storage, &reading);
    if (!reading.indirect && reading.missed && reading.missed < reading.size)
        blame_readers(study, storage, &reading);
    if (!reading.indirect && reading.missed == reading.size)
        diag_add(study->diags, DIAG_NOTE, "hone-unread",
                 study->program->files.len ? study->program->files.at[0] : "", 0, 0,
                 "input `%.60s` is never read", input->name);
    free(reading.read);
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* As read_input, for what is written. */
static void write_output(struct study *study, uint32_t storage, struct reading *written) {
    const struct nki_program *program = study->program;
    for (uint32_t i = 0; i < program->instrs.len && !written->indirect; i++) {
        struct operand_at list[OPERANDS_MOST];
        const struct nki_instr *instr = &program->instrs.at[i];
        size_t n = operands_of(program, instr, list, OPERANDS_MOST);
        for (size_t k = 0; k < n; k++) {
            if (list[k].ap->storage != storage || !list[k].writes)
                continue;
            written->indirect = list[k].ap->indirect || instr->more->mask ||
                                list[k].ap->dtype != program->storages.at[storage]->dtype;
            mark(written, list[k].ap);
        }
        if (i % 1024 == 0 && study_is_late(study))
            written->indirect = true;
    }
    for (int64_t i = 0; i < written->size; i++)
        written->missed += !written->read[i];
}

static void look_at_output(struct study *study, uint32_t storage) {
    const struct nki_storage *output = study->program->storages.at[storage];
    struct reading written = {.size = (int64_t)(output->bytes / dtype_bytes(output->dtype))};
    if (written.size <= 0 || written.size > COVERED_MOST)
        return;
    written.read = mem_alloc((size_t)written.size, 1);
    write_output(study, storage, &written);
    for (uint32_t s = 0; !written.indirect && written.missed && s < study->sites.len; s++) {
        struct site *site = &study->sites.at[s];
        struct operand_at list[OPERANDS_MOST];
        size_t n = operands_of(study->program, &study->program->instrs.at[site->first], list,
                               OPERANDS_MOST);
        for (size_t k = 0; k < n; k++) {
            if (list[k].ap->storage != storage || !list[k].writes || site->weight >= 76)
                continue;
            snprintf(site->reason, sizeof site->reason,
                     "this %s writes to the output `%.40s`, of which %lld of %lld elements are "
                     "never written",
                     nki_op_name((enum nki_op)site->op), output->name, (long long)written.missed,
                     (long long)written.size);
            suspect(study, s, 77);
        }
    }
    free(written.read);
}

/* ---- the same tile again -------------------------------------------------------------------- */

/* What an accumulating statement read and wrote when it came by last. */
struct earlier {
    uint32_t from, to; /* storages */
    int64_t offset;    /* of what it read */
    uint32_t written;  /* when `from` was written last, then */
    bool there;
};

static void compare_round(struct study *study, uint32_t i, struct earlier *earlier,
                          const uint32_t *written) {
    struct operand_at list[OPERANDS_MOST];
    const struct nki_program *program = study->program;
    size_t n = operands_of(program, &program->instrs.at[i], list, OPERANDS_MOST);
    struct earlier now = {0};
    size_t sources = 0;
    for (size_t k = 0; k < n; k++) {
        if (list[k].writes)
            now.to = list[k].ap->storage;
        if (!list[k].reads || list[k].writes || list[k].ap->storage == now.to)
            continue;
        now.from = list[k].ap->storage;
        now.offset = list[k].ap->offset;
        now.written = written[now.from];
        sources++;
    }
    now.there = sources == 1;
    struct site *site = &study->sites.at[study->site_of[i]];
    if (now.there && earlier->there && now.from == earlier->from && now.to == earlier->to &&
        now.offset == earlier->offset && now.written == earlier->written && site->weight < 70) {
        snprintf(site->reason, sizeof site->reason,
                 "this %s adds `%.40s` to `%.40s` a second time, and nothing was written to it "
                 "since the first",
                 nki_op_name((enum nki_op)site->op), program->storages.at[now.from]->name,
                 program->storages.at[now.to]->name);
        suspect(study, study->site_of[i], 71);
    }
    *earlier = now;
}

static void look_at_sums(struct study *study) {
    const struct nki_program *program = study->program;
    struct earlier *earlier = mem_alloc(study->sites.len + 1, sizeof *earlier);
    uint32_t *written = mem_alloc(program->storages.len + 1, sizeof *written);
    for (uint32_t i = 0; i < program->instrs.len; i++) {
        struct operand_at list[OPERANDS_MOST];
        size_t n = operands_of(program, &program->instrs.at[i], list, OPERANDS_MOST);
        if (study->sites.at[study->site_of[i]].accumulates)
            compare_round(study, i, &earlier[study->site_of[i]], written);
        for (size_t k = 0; k < n; k++)
            if (list[k].writes)
                written[list[k].ap->storage] = i + 1;
    }
    free(earlier);
    free(written);
}

/* ---- the same again ------------------------------------------------------------------------- */

/* Whether the tiles of a site that were looked at hold the same numbers. 1: they do, 0: they do
 * not, -1: there are no two of them. */
static int repeats(const struct study *study, size_t s) {
    VEC(const struct line *) first = {0};
    size_t i = 0, k = 0;
    int same = -1;
    for (; i < study->lines.len && same; i++) {
        const struct line *line = &study->lines.at[i];
        if (line->site != s)
            continue;
        if (!first.len || first.at[0]->instr == line->instr) {
            *vec_push(&first) = line;
            continue;
        }
        const struct line *other = first.at[k++ % first.len];
        same = other->n == line->n && !memcmp(other->at, line->at, sizeof line->at);
    }
    vec_free(&first);
    return same;
}

/* A statement that gives the same in each round, of something that is other each round. */
static void look_at_repeats(struct study *study) {
    int *same = mem_alloc(study->sites.len + 1, sizeof *same);
    for (size_t s = 0; s < study->sites.len; s++)
        same[s] = repeats(study, s);
    for (uint32_t s = 0; s < study->sites.len; s++) {
        struct site *site = &study->sites.at[s];
        bool there = false;
        for (size_t from = 0; same[s] == 1 && from < study->sites.len && !there; from++)
            there = study_follows(study, from, s) && same[from] == 0 &&
                    study->sites.at[from].count == site->count;
        if (!there || site->weight >= 70)
            continue;
        snprintf(site->reason, sizeof site->reason,
                 "this %s writes the same numbers in each round, although a tile that it reads is "
                 "another in each",
                 nki_op_name((enum nki_op)site->op));
        suspect(study, s, 65);
    }
    free(same);
}

void signs_find(struct study *study) {
    for (uint32_t s = 0; s < study->program->storages.len; s++)
        if (study->program->storages.at[s]->input >= 0)
            look_at_input(study, s);
    for (uint32_t s = 0; s < study->program->storages.len; s++)
        if (study->program->storages.at[s]->output >= 0)
            look_at_output(study, s);
    look_at_sums(study);
    look_at_repeats(study);
}
