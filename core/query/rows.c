/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of a profile are read from, found once. The cells are in cells.c. */
#include "query/private.h"

#include <math.h>
#include <stdlib.h>

/* ---- what is found once --------------------------------------------------------------------- */

static int by_start(const void *a, const void *b) {
    const struct interval *x = a, *y = b;
    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return 0;
}

/* The queue that stands for an engine: both ways of a core's DMA are one. */
static uint16_t engine_queue(const struct rows *rows, uint16_t queue) {
    bool again = queue && rows->from.profile->queues.at[queue].engine ==
                              rows->from.profile->queues.at[queue - 1].engine;
    return (uint16_t)(queue - (again ? 1 : 0));
}

static void find_actives(struct rows *rows) {
    const struct device_trace *trace = rows->from.trace;
    vec_reserve(&rows->actives, trace->events.len);
    for (size_t i = 0; i < trace->events.len; i++) {
        const struct device_event *event = &trace->events.at[i];
        rows->actives.at[i] =
            (struct interval){engine_queue(rows, event->queue), event->start_ns, event->end_ns};
    }
    size_t kept = 0;
    if (trace->events.len)
        qsort(rows->actives.at, trace->events.len, sizeof *rows->actives.at, by_start);
    for (size_t i = 0; i < trace->events.len; i++) {
        struct interval *last = kept ? &rows->actives.at[kept - 1] : NULL;
        const struct interval *next = &rows->actives.at[i];
        if (last && last->queue == next->queue && next->start_ns <= last->end_ns)
            last->end_ns = MAX_OF(last->end_ns, next->end_ns);
        else
            rows->actives.at[kept++] = *next;
    }
    rows->actives.len = kept;
}

static const struct nki_instr *instr_of(const struct rows *rows, const struct device_event *event) {
    return &rows->from.program->instrs.at[event->instr];
}

/* The row of a place and an operation; what a place does not say itself (memset of nl.zeros) may be
 * several operations. */
static struct call *call_of(struct rows *rows, struct by_hash *index, const struct nki_instr *instr,
                            double start_ns) {
    uint32_t key[] = {instr->loc, instr->op};
    uint64_t hash = hash_quick(key, sizeof key);
    size_t at = 0, row;
    while (by_hash_next(index, hash, &at, &row))
        if (rows->calls.at[row].loc == instr->loc && rows->calls.at[row].op == instr->op)
            return &rows->calls.at[row];
    by_hash_put(index, hash, rows->calls.len);
    *vec_push(&rows->calls) = (struct call){instr->loc, instr->op, 0, start_ns, 0, 0};
    return &rows->calls.at[rows->calls.len - 1];
}

static void find_calls(struct rows *rows) {
    const struct device_trace *trace = rows->from.trace;
    struct by_hash index = {0};
    for (size_t i = 0; i < trace->events.len; i++) {
        const struct device_event *event = &trace->events.at[i];
        if (event->kind != DEVICE_EVENT_INSTR)
            continue;
        struct call *call = call_of(rows, &index, instr_of(rows, event), event->start_ns);
        call->times++;
        call->first_ns = MIN_OF(call->first_ns, event->start_ns);
        call->last_ns = MAX_OF(call->last_ns, event->end_ns);
        call->busy_ns += event->end_ns - event->start_ns;
    }
    by_hash_free(&index);
}

static void warn(struct rows *rows, const char *format, ...) CC_PRINTF(2, 3);
static void warn(struct rows *rows, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    *vec_push(&rows->warnings) = buf_take(&text);
}

double query_rows_metric(const struct rows *rows, const char *name) {
    const struct device_profile *profile = rows->from.profile;
    for (size_t i = 0; i < profile->metrics.len; i++)
        if (!strcmp(profile->metrics.at[i].name, name))
            return profile->metrics.at[i].value;
    return NAN;
}

static void find_warnings(struct rows *rows) {
    const struct device_profile *profile = rows->from.profile;
    warn(rows, "Times are those of the device model, not of a device.");
    double spilled =
        query_rows_metric(rows, "spill_save_bytes") + query_rows_metric(rows, "spill_reload_bytes");
    if (spilled > 0)
        warn(rows, "SBUF is too small for what lives at once: %.0f bytes of spills.", spilled);
    if (query_rows_metric(rows, "throttle_time") > 0)
        warn(rows, "The Tensor engine ran with a cold clock: %.3g µs of it are lost.",
             query_rows_metric(rows, "throttle_time") * 1e6);
    if (profile->cores > 1)
        warn(rows, "The metrics are those of the core that ends last; rows are of all %d cores.",
             profile->cores);
}

void query_rows_take(struct rows *rows, const struct query_profile *profile) {
    *rows = (struct rows){.from = *profile, .arena = arena_new()};
    rows->places = ARENA_ARRAY(rows->arena, const char *, profile->program->locs.len + 1);
    rows->opcodes = ARENA_ARRAY(rows->arena, const char *, NKI_OP_COUNT);
    for (size_t i = 0; i < profile->trace->events.len; i++)
        if (profile->trace->events.at[i].is_transfer)
            *vec_push(&rows->transfers) = (uint32_t)i;
    for (size_t i = 0; i < profile->program->storages.len; i++)
        if (profile->program->storages.at[i]->space == NKI_HBM)
            *vec_push(&rows->tensors) = (uint32_t)i;
    find_actives(rows);
    find_calls(rows);
    find_warnings(rows);
}

void query_rows_free(struct rows *rows) {
    for (size_t i = 0; i < rows->warnings.len; i++)
        free(rows->warnings.at[i]);
    vec_free(&rows->warnings);
    arena_free(rows->arena);
    vec_free(&rows->transfers);
    vec_free(&rows->actives);
    vec_free(&rows->calls);
    vec_free(&rows->tensors);
    buf_free(&rows->text);
    *rows = (struct rows){0};
}

/* ---- how many ----------------------------------------------------------------------------------
 */

size_t query_rows_count(const struct rows *rows, enum table_id table) {
    if (!rows->from.program)
        return 0;
    switch (table) {
    case TABLE_INSTRUCTION: return rows->from.trace->events.len;
    case TABLE_FLOW:
    case TABLE_TRANSFER:
    case TABLE_PACKET: return rows->transfers.len;
    case TABLE_DEPENDENCE: return rows->from.trace->edges.len;
    case TABLE_ACTIVE: return rows->actives.len;
    case TABLE_LINE: return rows->from.profile->lines.len;
    case TABLE_CALL: return rows->calls.len;
    case TABLE_BOUND: return rows->from.profile->bounds.len;
    case TABLE_METRIC: return rows->from.profile->metrics.len;
    case TABLE_TENSOR: return rows->tensors.len;
    case TABLE_WARNING: return rows->warnings.len;
    default: return 1; /* Summary, Metadata */
    }
}
