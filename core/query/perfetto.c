/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline in the Trace Event Format ("JSON Array Format" in an object). Perfetto's importer
 * takes slices of one thread only where they nest, and counts in whole nanoseconds: starts and ends
 * are rounded to those, so that slices that touch do not overlap. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "query/private.h"

#define MOST_LANES 64 /* threads of a queue; of more things at once some begin later */

struct slice {
    int64_t start_ns, end_ns;
    uint32_t event;
    uint32_t lane;
};
struct writer {
    FILE *to;
    struct query *query;
    const struct device_trace *trace;
    struct slice *slices; /* by start */
    uint32_t *slice_of;   /* per event */
    struct buf line;
    bool any;
};

static uint16_t queue_of(const struct writer *writer, const struct slice *slice) {
    return writer->trace->events.at[slice->event].queue;
}

static int by_start(const void *a, const void *b) {
    const struct slice *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->event < y->event ? -1 : x->event > y->event;
}

/* Gives each slice the first lane of its queue that is free. */
static void choose_lanes(struct writer *writer, size_t queues) {
    int64_t(*free_at)[MOST_LANES] = mem_alloc(queues + 1, sizeof *free_at);
    for (size_t i = 0; i < writer->trace->events.len; i++) {
        struct slice *slice = &writer->slices[i];
        int64_t *until = free_at[queue_of(writer, slice)];
        while (slice->lane + 1 < MOST_LANES && until[slice->lane] > slice->start_ns)
            slice->lane++;
        slice->start_ns = MAX_OF(slice->start_ns, until[slice->lane]);
        slice->end_ns = MAX_OF(slice->end_ns, slice->start_ns);
        until[slice->lane] = slice->end_ns;
        writer->slice_of[slice->event] = (uint32_t)i;
    }
    free(free_at);
}

static void begin_event(struct writer *writer) {
    buf_clear(&writer->line);
    buf_puts(&writer->line, writer->any ? ",\n" : "\n");
    writer->any = true;
}

static void end_event(struct writer *writer) {
    fwrite(writer->line.at, 1, writer->line.len, writer->to);
}

static void add_text(struct writer *writer, const char *text) {
    query_json_value(&writer->line, &(struct query_value){.type = QUERY_TEXT, .text = text});
}

static int core_of(const struct writer *writer, uint16_t queue) {
    const struct device_profile *profile = writer->query->rows.from.profile;
    size_t each = profile->queues.len / (size_t)MAX_OF(profile->cores, 1);
    return (int)(queue / MAX_OF(each, (size_t)1));
}

static int thread_of(uint16_t queue, uint32_t lane) {
    return (queue + 1) * 100 + (int)lane;
}

static void name_process(struct writer *writer, int core) {
    struct buf name = {0};
    buf_printf(&name, "%s, core %d", writer->query->rows.from.program->kernel, core);
    begin_event(writer);
    buf_printf(&writer->line,
               "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":", core + 1);
    add_text(writer, name.at);
    buf_puts(&writer->line, "}}");
    end_event(writer);
    buf_free(&name);
}

static void name_thread(struct writer *writer, uint16_t queue, uint32_t lane) {
    struct buf name = {0};
    int core = core_of(writer, queue), thread = thread_of(queue, lane);
    buf_puts(&name, writer->query->rows.from.profile->queues.at[queue].name);
    if (lane)
        buf_printf(&name, " %u", lane + 1);
    begin_event(writer);
    buf_printf(&writer->line,
               "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":",
               core + 1, thread);
    add_text(writer, name.at);
    buf_printf(&writer->line,
               "}},\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%d,\"tid\":%d,"
               "\"args\":{\"sort_index\":%d}}",
               core + 1, thread, thread);
    end_event(writer);
    buf_free(&name);
}

static void name_threads(struct writer *writer, size_t queues) {
    uint32_t *lanes = mem_alloc(queues + 1, sizeof *lanes);
    for (size_t i = 0; i < writer->trace->events.len; i++) {
        uint32_t *most = &lanes[queue_of(writer, &writer->slices[i])];
        *most = MAX_OF(*most, writer->slices[i].lane + 1);
    }
    for (int core = 0; core < MAX_OF(writer->query->rows.from.profile->cores, 1); core++)
        name_process(writer, core);
    for (size_t queue = 0; queue < queues; queue++)
        for (uint32_t lane = 0; lane < lanes[queue]; lane++)
            name_thread(writer, (uint16_t)queue, lane);
    free(lanes);
}

static void add_time(struct writer *writer, const char *name, int64_t ns) {
    buf_printf(&writer->line, ",\"%s\":%lld.%03d", name, (long long)(ns / 1000), (int)(ns % 1000));
}

static void add_cell(struct writer *writer, const char *name, uint32_t event, int column) {
    struct query_value value;
    query_rows_cell(&writer->query->rows, TABLE_INSTRUCTION, event, column, &value);
    if (value.type == QUERY_NULL)
        return;
    buf_printf(&writer->line, "%s\"%s\":", name,
               query_table_at(TABLE_INSTRUCTION)->columns[column].name);
    query_json_value(&writer->line, &value);
}

/* What a person sees of a slice that was chosen. */
static void add_arguments(struct writer *writer, uint32_t event) {
    static const int columns[] = {INSTRUCTION_bir_debug_info_source_location,
                                  INSTRUCTION_operands,
                                  INSTRUCTION_dtype,
                                  INSTRUCTION_evt_wait_time_ns,
                                  INSTRUCTION_adjusted_flops,
                                  INSTRUCTION_cause};
    buf_printf(&writer->line, ",\"args\":{\"id\":%u", event);
    for (size_t i = 0; i < COUNT_OF(columns); i++)
        add_cell(writer, ",", event, columns[i]);
    const struct device_event *one = &writer->trace->events.at[event];
    if (one->is_transfer)
        buf_printf(&writer->line, ",\"transfer_bytes\":%llu,\"descriptors\":%u",
                   (unsigned long long)one->bytes, one->descriptors);
    buf_puts(&writer->line, "}}");
}

static void write_slice(struct writer *writer, const struct slice *slice) {
    struct query_value name;
    uint16_t queue = queue_of(writer, slice);
    const struct device_event *event = &writer->trace->events.at[slice->event];
    int column = event->kind == DEVICE_EVENT_INSTR ? INSTRUCTION_nki_op : INSTRUCTION_opcode;
    query_rows_cell(&writer->query->rows, TABLE_INSTRUCTION, slice->event, column, &name);
    begin_event(writer);
    buf_printf(&writer->line, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"cat\":\"%s\",\"name\":",
               core_of(writer, queue) + 1, thread_of(queue, slice->lane),
               event->is_transfer ? "transfer" : "instruction");
    query_json_value(&writer->line, &name);
    add_time(writer, "ts", slice->start_ns);
    add_time(writer, "dur", slice->end_ns - slice->start_ns);
    add_arguments(writer, slice->event);
    end_event(writer);
}

static void write_end(struct writer *writer, const struct slice *slice, uint32_t id,
                      bool is_cause) {
    uint16_t queue = queue_of(writer, slice);
    begin_event(writer);
    buf_printf(
        &writer->line,
        "{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"cat\":\"cause\",\"name\":\"cause\",\"id\":%u",
        is_cause ? "s" : "f\",\"bp\":\"e", core_of(writer, queue) + 1,
        thread_of(queue, slice->lane), id);
    add_time(writer, "ts", slice->start_ns);
    buf_puts(&writer->line, "}");
    end_event(writer);
}

/* An arrow from what a queue waited for, where it had nothing else to do. */
static void write_arrow(struct writer *writer, const struct slice *slice) {
    const struct device_event *event = &writer->trace->events.at[slice->event];
    if (event->cause < 0 || !(event->waited_ns > 0))
        return;
    const struct slice *cause = &writer->slices[writer->slice_of[event->cause]];
    if (cause->start_ns == cause->end_ns || slice->start_ns == slice->end_ns ||
        cause->start_ns > slice->start_ns)
        return;
    write_end(writer, cause, slice->event, true);
    write_end(writer, slice, slice->event, false);
}

static void take_slices(struct writer *writer) {
    size_t n = writer->trace->events.len;
    writer->slices = mem_alloc(n + 1, sizeof *writer->slices);
    writer->slice_of = mem_alloc(n + 1, sizeof *writer->slice_of);
    for (size_t i = 0; i < n; i++) {
        const struct device_event *event = &writer->trace->events.at[i];
        writer->slices[i] =
            (struct slice){llround(event->start_ns), llround(event->end_ns), (uint32_t)i, 0};
    }
    if (n)
        qsort(writer->slices, n, sizeof *writer->slices, by_start);
}

bool query_write_perfetto(struct query *query, FILE *to, struct err *err) {
    if (!query_load(query, QUERY_PROFILE, err))
        return false;
    if (query->measured)
        return err_set(err, ERR_USAGE,
                       "a device's timeline is written for Perfetto by the tool that "
                       "recorded it: neuron-explorer view --output-format perfetto");
    struct writer writer = {.to = to, .query = query, .trace = query->rows.from.trace};
    size_t queues = query->rows.from.profile->queues.len;
    take_slices(&writer);
    choose_lanes(&writer, queues);
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", to);
    name_threads(&writer, queues);
    for (size_t i = 0; i < writer.trace->events.len && !ferror(to); i++) {
        write_slice(&writer, &writer.slices[i]);
        write_arrow(&writer, &writer.slices[i]);
    }
    fputs("\n]}\n", to);
    free(writer.slices);
    free(writer.slice_of);
    buf_free(&writer.line);
    return (fflush(to) == 0 && !ferror(to)) ||
           err_set(err, ERR_ENVIRONMENT, "the timeline could not be written: %s", strerror(errno));
}
