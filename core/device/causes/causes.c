/* SPDX-License-Identifier: Apache-2.0 */
/* From the trace of a schedule to the causes of its latency: what queues do with the time, and the
 * stalls that come again and again. */
#include "device/causes/inner.h"
#include "device/causes/private.h"

#include <math.h>
#include <stdlib.h>

static const struct {
    const char *key, *word;
} waits[DEVICE_WAITS] = {
    [DEVICE_WAIT_NOTHING] = {"nothing", "nothing"},
    [DEVICE_WAIT_OPERAND] = {"operand", "an operand"},
    [DEVICE_WAIT_BUFFER] = {"buffer", "a buffer in use"},
    [DEVICE_WAIT_ORDER] = {"order", "an earlier start"},
    [DEVICE_WAIT_ROOM] = {"room", "room on chip"},
    [DEVICE_WAIT_QUEUE] = {"queue", "its own queue"},
    [DEVICE_WAIT_PORT] = {"port", "the shared SBUF port"},
    [DEVICE_WAIT_ISSUER] = {"issuer", "the engine that issues it"},
    [DEVICE_WAIT_DMA] = {"dma", "busy DMA engines"},
    [DEVICE_WAIT_WINDOW] = {"window", "the compiler's reordering"},
    [DEVICE_WAIT_PEER] = {"peer", "the other core"},
};

const char *device_wait_word(enum device_wait wait) {
    return waits[wait < DEVICE_WAITS ? wait : DEVICE_WAIT_NOTHING].word;
}

const char *device_wait_key(enum device_wait wait) {
    return waits[wait < DEVICE_WAITS ? wait : DEVICE_WAIT_NOTHING].key;
}

struct device_spot causes_spot(const struct time_trace *trace, const struct time_place *place) {
    switch (place->kind) {
    case TIME_NOWHERE: return (struct device_spot){.op = "", .lane = ""};
    case TIME_SAVE:
        return (struct device_spot){place->file, place->line, "spill",
                                    trace->lanes[place->queue].name, NULL};
    case TIME_RELOAD:
        return (struct device_spot){place->file, place->line, "reload",
                                    trace->lanes[place->queue].name, NULL};
    default:
        return (struct device_spot){place->file, place->line, nki_op_name((enum nki_op)place->op),
                                    trace->lanes[place->queue].name, NULL};
    }
}

void device_spot_line(const struct device_spot *spot, struct buf *out) {
    buf_printf(out, "line %u", spot->line);
    if (spot->module)
        buf_printf(out, " of %.60s", spot->module);
}

/* ---- queues --------------------------------------------------------------------------------- */

static void take_lanes(const struct time_trace *trace, struct device_causes *causes) {
    for (int i = 0; i < trace->lane_count; i++) {
        const struct time_lane *lane = &trace->lanes[i];
        if (!lane->issues)
            continue;
        struct device_lane *own = vec_push(&causes->lanes);
        *own = (struct device_lane){.name = lane->name,
                                    .issues = lane->issues,
                                    .busy_us = lane->busy_ns / 1e3,
                                    .lead_us = lane->lead_ns / 1e3,
                                    .tail_us = lane->tail_ns / 1e3,
                                    .first = causes_spot(trace, &lane->first)};
        for (size_t r = 0; r < trace->rows.len; r++)
            if (trace->rows.at[r].key.place.queue == i)
                own->idle_us[trace->rows.at[r].key.wait] += trace->rows.at[r].idle_ns / 1e3;
    }
}

/* ---- stalls --------------------------------------------------------------------------------- */

static struct device_stall stall_of(const struct time_trace *trace, const struct time_row *row) {
    return (struct device_stall){.spot = causes_spot(trace, &row->key.place),
                                 .cause = causes_spot(trace, &row->key.cause),
                                 .wait = row->key.wait,
                                 .times = row->idles,
                                 .critical = MIN_OF(row->steps, row->idles),
                                 .us = row->idle_ns / 1e3,
                                 .longest_us = row->longest_ns / 1e3,
                                 .longest_at_us = row->longest_at_ns / 1e3};
}

static double critical_us(const struct device_stall *stall) {
    return stall->us * (double)stall->critical / (double)MAX_OF(stall->times, (uint64_t)1);
}

static int by_weight(const void *a, const void *b) {
    const struct device_stall *x = a, *y = b;
    if (critical_us(x) != critical_us(y))
        return critical_us(x) > critical_us(y) ? -1 : 1;
    if (x->us != y->us)
        return x->us > y->us ? -1 : 1;
    return x->spot.line < y->spot.line ? -1 : x->spot.line > y->spot.line;
}

static void take_stalls(const struct time_trace *trace, struct device_causes *causes) {
    for (size_t r = 0; r < trace->rows.len; r++) {
        struct device_stall stall = stall_of(trace, &trace->rows.at[r]);
        if (trace->spans.len)
            *vec_push(&causes->waits) = stall;
        if (stall.us > 0)
            *vec_push(&causes->stalls) = stall;
    }
    if (causes->stalls.len)
        qsort(causes->stalls.at, causes->stalls.len, sizeof *causes->stalls.at, by_weight);
    vec_reserve(&causes->reasons, trace->spans.len);
    for (size_t i = 0; i < trace->spans.len; i++) {
        const struct time_reason *reason = &trace->spans.at[i];
        *vec_push(&causes->reasons) = (struct device_reason){
            reason->row, reason->cause, reason->is_critical, reason->idle_ns / 1e3};
    }
}

static void take_tiles(const struct time_trace *trace, struct device_causes *causes) {
    for (size_t i = 0; i < trace->tiles.len; i++) {
        const struct time_tile *tile = &trace->tiles.at[i];
        *vec_push(&causes->tiles) = (struct device_tile){
            .spot = causes_spot(trace, &tile->place),
            .name = arena_strdup(causes->arena, tile->name),
            .psum = tile->psum,
            .bytes = tile->bytes,
            .times = tile->count,
            .live_us = tile->live_ns / 1e3 / (double)MAX_OF(tile->count, (uint64_t)1),
            .most_bytes = tile->most_bytes};
    }
}

static void take_taken(const struct time_trace *trace, struct device_causes *causes) {
    for (size_t i = 0; i < trace->taken.len; i++) {
        const struct time_taken *taken = &trace->taken.at[i];
        *vec_push(&causes->taken) = (struct device_taken){causes_spot(trace, &taken->place),
                                                          taken->pass, taken->word, taken->times};
    }
}

/* ---- imported files ------------------------------------------------------------------------- */

struct modules {
    const char **names; /* of the program's files; its own: NULL */
    size_t count;
};

static void name_module(const struct modules *modules, struct device_spot *spot) {
    spot->module = spot->file < modules->count ? modules->names[spot->file] : NULL;
}

/* A line of an imported file is none of the kernel's. */
static void name_modules(const struct nki_program *program, struct device_causes *causes) {
    struct modules modules = {ARENA_ARRAY(causes->arena, const char *, program->files.len),
                              program->files.len};
    for (size_t i = 0; i < modules.count; i++)
        modules.names[i] = i ? arena_strdup(causes->arena, path_base(program->files.at[i])) : NULL;
    for (size_t i = 0; i < causes->legs.len; i++) {
        name_module(&modules, &causes->legs.at[i].spot);
        name_module(&modules, &causes->legs.at[i].cause);
    }
    for (size_t i = 0; i < causes->lanes.len; i++)
        name_module(&modules, &causes->lanes.at[i].first);
    for (size_t i = 0; i < causes->stalls.len; i++) {
        name_module(&modules, &causes->stalls.at[i].spot);
        name_module(&modules, &causes->stalls.at[i].cause);
    }
    for (size_t i = 0; i < causes->tiles.len; i++)
        name_module(&modules, &causes->tiles.at[i].spot);
    for (size_t i = 0; i < causes->taken.len; i++)
        name_module(&modules, &causes->taken.at[i].spot);
}

/* ---- all ------------------------------------------------------------------------------------ */

struct device_causes *causes_make(const struct device_image *image,
                                  const struct device_constants *constants, bool reasons) {
    struct time_trace *trace = time_trace_make(image, constants, reasons);
    if (!trace)
        return NULL;
    struct device_causes *causes = mem_alloc(1, sizeof *causes);
    causes->arena = arena_new();
    causes->launch_us = (trace->start_ns + trace->end_ns) / 1e3;
    causes->latency_us = (trace->latency_ns + trace->start_ns + trace->end_ns) / 1e3;
    causes->sbuf_bytes = trace->sbuf_bytes;
    causes->psum_bytes = trace->psum_bytes;
    causes->sbuf_flight = trace->sbuf_flight;
    causes->psum_flight = trace->psum_flight;
    causes->sbuf_room = image->generation->sbuf_partition_bytes;
    causes->psum_room = image->generation->psum_partition_bytes;
    causes->fitted = causes->guessed = (double)NAN;
    causes_fold(trace, causes);
    take_lanes(trace, causes);
    take_stalls(trace, causes);
    take_tiles(trace, causes);
    take_taken(trace, causes);
    if (image->program->files.len > 1)
        name_modules(image->program, causes);
    time_trace_free(trace);
    return causes;
}

void device_causes_free(struct device_causes *causes) {
    if (!causes)
        return;
    vec_free(&causes->legs);
    vec_free(&causes->segments);
    vec_free(&causes->lanes);
    vec_free(&causes->stalls);
    vec_free(&causes->ifs);
    vec_free(&causes->waits);
    vec_free(&causes->reasons);
    vec_free(&causes->tiles);
    vec_free(&causes->taken);
    arena_free(causes->arena);
    free(causes);
}
