/* SPDX-License-Identifier: Apache-2.0 */
/* Several cores of a launch: a schedule each, made side by side, because they contend for HBM. Each
 * has engines, SBUF, PSUM and DMA queues of its own. */
#include "device/time/run.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- schedules ------------------------------------------------------------------------------ */

static struct timing timing_of_core(const struct timing *timing, size_t core) {
    struct timing own = *timing;
    own.image = timing->image->cores[core].image;
    own.all_spans = false;
    return own;
}

/* The next issue from *s on at which the core meets the other one; false past the last. */
static bool next_meeting(const struct folded *core, uint32_t *s) {
    const struct allocation *allocation = core->allocation;
    for (; *s < allocation->issues.len; ++*s) {
        const struct issue *issue = &allocation->issues.at[*s];
        if (issue->kind == ISSUE_INSTR &&
            allocation->image->program->instrs.at[issue->instr].more->mate)
            return true;
    }
    return false;
}

/* They meet in the same order (nki_program_weave). */
static void make_meetings(struct together *together) {
    struct folded *cores = together->cores;
    uint32_t s = 0, t = 0;
    for (; next_meeting(&cores[0], &s) && next_meeting(&cores[1], &t); s++, t++) {
        timelines_meet(cores[0].time, s, cores[1].time, t);
        cores[0].peer = &cores[1];
        cores[1].peer = &cores[0];
    }
}

void together_make(const struct timing *timing, struct together *together) {
    const struct device_generation *generation = timing->image->generation;
    *together = (struct together){.image = timing->image, .n = timing->image->program->cores};
    together->hbm.bytes_per_ns = (double)together->n * generation->hbm_bytes_per_ns;
    for (size_t k = 0; k < together->n; k++) {
        struct timing own = timing_of_core(timing, k);
        folded_prepare(&own, &together->cores[k]);
        together->cores[k].core = (uint8_t)k;
        together->cores[k].instrs = timing->image->cores[k].instrs;
    }
    if (together->n == 2)
        make_meetings(together);
    (void)together_again(together, -1);
}

double together_again(struct together *together, int lifted) {
    struct timeline *times[MOST_CORES];
    double ns = 0;
    for (size_t k = 0; k < together->n; k++)
        times[k] = together->cores[k].time;
    together->hbm.taken.len = 0;
    timelines_together(times, together->n, &together->hbm, lifted);
    for (size_t k = 0; k < together->n; k++) {
        struct folded *core = &together->cores[k];
        core->latency_ns = core->time->latency_ns;
        core->throttled_ns = core->time->throttled_ns;
        ns = MAX_OF(ns, core->latency_ns);
    }
    return ns;
}

void together_free(struct together *together) {
    for (size_t k = 0; k < together->n; k++)
        folded_free(&together->cores[k]);
    hbm_free(&together->hbm);
}

/* ---- the profile ---------------------------------------------------------------------------- */

static struct device_line *line_like(struct device_profile *profile,
                                     const struct device_line *line) {
    for (size_t i = 0; i < profile->lines.len; i++)
        if (profile->lines.at[i].file == line->file && profile->lines.at[i].line == line->line)
            return &profile->lines.at[i];
    *vec_push(&profile->lines) = (struct device_line){.file = line->file, .line = line->line};
    return &profile->lines.at[profile->lines.len - 1];
}

static void add_lines(struct device_profile *profile, const struct device_profile *other) {
    for (size_t i = 0; i < other->lines.len; i++) {
        const struct device_line *line = &other->lines.at[i];
        struct device_line *own = line_like(profile, line);
        own->instructions += line->instructions;
        own->hbm_bytes += line->hbm_bytes;
        for (int e = 0; e < NKI_ENGINE_COUNT; e++) {
            own->engine_ns[e] += line->engine_ns[e];
            own->engine_calls[e] += line->engine_calls[e];
        }
    }
}

static void add_queues(struct device_profile *profile, const struct together *together, size_t core,
                       const struct device_profile *own) {
    for (size_t q = 0; q < own->queues.len; q++) {
        struct buf name = {0};
        buf_printf(&name, "%zu %s", core, own->queues.at[q].name);
        *vec_push(&profile->queues) =
            (struct device_queue){arena_strdup(profile->arena, name.at), own->queues.at[q].engine};
        buf_free(&name);
    }
    for (size_t i = 0; i < own->spans.len; i++) {
        struct device_span span = own->spans.at[i];
        span.instr = together->image->cores[core].instrs[span.instr];
        span.queue = (uint16_t)(span.queue + core * own->queues.len);
        *vec_push(&profile->spans) = span;
    }
}

/* Takes the others' lines, floors, queues and spans into the profile of the last one. */
static struct device_profile *merge(const struct together *together,
                                    struct device_profile *const *all, size_t last) {
    struct device_profile *profile = all[last], own = *profile;
    memset(&profile->queues, 0, sizeof profile->queues);
    memset(&profile->spans, 0, sizeof profile->spans);
    for (size_t k = 0; k < together->n; k++) {
        add_queues(profile, together, k, k == last ? &own : all[k]);
        if (k == last)
            continue;
        add_lines(profile, all[k]);
        for (int i = 0; i < FLOOR_PRECISIONS; i++)
            profile->floor_parts.pe_ns[i] += all[k]->floor_parts.pe_ns[i];
        device_profile_free(all[k]);
    }
    floor_set(profile, together->image->generation);
    vec_free(&own.queues);
    vec_free(&own.spans);
    return profile;
}

struct device_profile *cores_profile(const struct timing *timing) {
    struct together together;
    struct device_profile *all[MOST_CORES];
    size_t last = 0;
    together_make(timing, &together);
    for (size_t k = 0; k < together.n; k++) {
        struct timing own = timing_of_core(timing, k);
        all[k] = profile_make(&own, &together.cores[k], &together);
        (void)together_again(&together, -1); /* the bounds came from other schedules */
        if (together.cores[k].latency_ns > together.cores[last].latency_ns)
            last = k;
    }
    struct device_profile *profile = merge(&together, all, last);
    together_free(&together);
    return profile;
}
