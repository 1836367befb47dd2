/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline in the Trace Event Format ("JSON Array Format" in an object). Perfetto's importer
 * takes slices of one thread only where they nest, and counts in whole nanoseconds: starts and ends
 * are rounded to those, so that slices that touch do not overlap. Of a device's profile it is what
 * its tables of intervals have: nobody tells there what a queue waited for. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "query/private.h"

#define MOST_LANES 64 /* threads of a queue; of more things at once some begin later */

struct slice {
    int64_t start_ns, end_ns;
    uint32_t event; /* a row of the table Instruction */
    uint32_t lane;
    uint16_t queue;
};
struct writer {
    FILE *to;
    struct query *query;
    const struct device_trace *trace; /* NULL: the profile was measured */
    struct slice *slices;             /* by start */
    size_t n, queues;
    uint32_t *slice_of; /* per event */
    struct buf line;
    bool any;
};

static const char *queue_name(const struct writer *writer, uint16_t queue) {
    return writer->trace ? writer->query->rows.from.profile->queues.at[queue].name
                         : measured_lanes[queue];
}

static bool is_transfer(const struct writer *writer, const struct slice *slice) {
    return writer->trace ? writer->trace->events.at[slice->event].is_transfer
                         : slice->queue == MEASURED_DMA_IN || slice->queue == MEASURED_DMA_OUT;
}

static int by_start(const void *a, const void *b) {
    const struct slice *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->event < y->event ? -1 : x->event > y->event;
}

/* Gives each slice the first lane of its queue that is free. */
static void choose_lanes(struct writer *writer) {
    int64_t(*free_at)[MOST_LANES] = mem_alloc(writer->queues + 1, sizeof *free_at);
    for (size_t i = 0; i < writer->n; i++) {
        struct slice *slice = &writer->slices[i];
        int64_t *until = free_at[slice->queue];
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

static int cores_of(const struct writer *writer) {
    return writer->trace ? MAX_OF(writer->query->rows.from.profile->cores, 1) : 1;
}

static int core_of(const struct writer *writer, uint16_t queue) {
    if (!writer->trace) /* the core that was looked at */
        return 0;
    const struct device_profile *profile = writer->query->rows.from.profile;
    size_t each = profile->queues.len / (size_t)MAX_OF(profile->cores, 1);
    return (int)(queue / MAX_OF(each, (size_t)1));
}

static int thread_of(uint16_t queue, uint32_t lane) {
    return (queue + 1) * 100 + (int)lane;
}

static void name_process(struct writer *writer, int core) {
    struct buf name = {0};
    const struct measured *measured = writer->query->measured;
    const char *kernel = measured ? measured->kernel : writer->query->rows.from.program->kernel;
    buf_puts(&name, kernel ? kernel : "kernel");
    if (measured)
        buf_printf(&name, " on %s", measured->device ? measured->device : "a device");
    else
        buf_printf(&name, ", core %d", core);
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
    buf_puts(&name, queue_name(writer, queue));
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

static void name_threads(struct writer *writer) {
    uint32_t *lanes = mem_alloc(writer->queues + 1, sizeof *lanes);
    for (size_t i = 0; i < writer->n; i++) {
        uint32_t *most = &lanes[writer->slices[i].queue];
        *most = MAX_OF(*most, writer->slices[i].lane + 1);
    }
    for (int core = 0; core < cores_of(writer); core++)
        name_process(writer, core);
    for (size_t queue = 0; queue < writer->queues; queue++)
        for (uint32_t lane = 0; lane < lanes[queue]; lane++)
            name_thread(writer, (uint16_t)queue, lane);
    free(lanes);
}

static void add_time(struct writer *writer, const char *name, int64_t ns) {
    buf_printf(&writer->line, ",\"%s\":%lld.%03d", name, (long long)(ns / 1000), (int)(ns % 1000));
}

static void add_cell(struct writer *writer, uint32_t event, int column) {
    struct query_value value;
    table_cell(writer->query, TABLE_INSTRUCTION, event, column, &value);
    if (value.type == QUERY_NULL)
        return;
    buf_printf(&writer->line, ",\"%s\":", query_table_at(TABLE_INSTRUCTION)->columns[column].name);
    query_json_value(&writer->line, &value);
}

/* How much a transfer moves, where that is told. */
static void add_bytes(struct writer *writer, const struct slice *slice) {
    const struct measured *measured = writer->query->measured;
    if (writer->trace) {
        const struct device_event *one = &writer->trace->events.at[slice->event];
        buf_printf(&writer->line, ",\"transfer_bytes\":%llu,\"descriptors\":%u",
                   (unsigned long long)one->bytes, one->descriptors);
        return;
    }
    uint32_t move = measured->spans.at[slice->event].move;
    if (move && measured->moves.at[move - 1].bytes >= 0)
        buf_printf(&writer->line, ",\"transfer_bytes\":%lld",
                   (long long)measured->moves.at[move - 1].bytes);
}

/* What a person sees of a slice that was chosen. */
static void add_arguments(struct writer *writer, const struct slice *slice) {
    static const int columns[] = {INSTRUCTION_bir_debug_info_source_location,
                                  INSTRUCTION_operands,
                                  INSTRUCTION_dtype,
                                  INSTRUCTION_evt_wait_time_ns,
                                  INSTRUCTION_adjusted_flops,
                                  INSTRUCTION_cause};
    buf_printf(&writer->line, ",\"args\":{\"id\":%u", slice->event);
    for (size_t i = 0; i < COUNT_OF(columns); i++)
        add_cell(writer, slice->event, columns[i]);
    if (is_transfer(writer, slice))
        add_bytes(writer, slice);
    buf_puts(&writer->line, "}}");
}

/* What the slice is called; the tools of a device leave it out at times. */
static void add_name(struct writer *writer, const struct slice *slice) {
    struct query_value name;
    bool instr = writer->trace && writer->trace->events.at[slice->event].kind == DEVICE_EVENT_INSTR;
    table_cell(writer->query, TABLE_INSTRUCTION, slice->event,
               instr ? INSTRUCTION_nki_op : INSTRUCTION_opcode, &name);
    if (name.type == QUERY_NULL)
        put_text(&name, is_transfer(writer, slice) ? "transfer" : "instruction");
    query_json_value(&writer->line, &name);
}

static void write_slice(struct writer *writer, const struct slice *slice) {
    begin_event(writer);
    buf_printf(&writer->line, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"cat\":\"%s\",\"name\":",
               core_of(writer, slice->queue) + 1, thread_of(slice->queue, slice->lane),
               is_transfer(writer, slice) ? "transfer" : "instruction");
    add_name(writer, slice);
    add_time(writer, "ts", slice->start_ns);
    add_time(writer, "dur", slice->end_ns - slice->start_ns);
    add_arguments(writer, slice);
    end_event(writer);
}

static void write_end(struct writer *writer, const struct slice *slice, uint32_t id,
                      bool is_cause) {
    uint16_t queue = slice->queue;
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

static struct slice slice_of(const struct writer *writer, size_t i) {
    if (!writer->trace) {
        const struct measured_span *span = &writer->query->measured->spans.at[i];
        return (struct slice){llround(span->start_ns), llround(span->end_ns), (uint32_t)i, 0,
                              (uint16_t)span->lane};
    }
    const struct device_event *event = &writer->trace->events.at[i];
    return (struct slice){llround(event->start_ns), llround(event->end_ns), (uint32_t)i, 0,
                          event->queue};
}

static void take_slices(struct writer *writer) {
    writer->slices = mem_alloc(writer->n + 1, sizeof *writer->slices);
    writer->slice_of = mem_alloc(writer->n + 1, sizeof *writer->slice_of);
    for (size_t i = 0; i < writer->n; i++)
        writer->slices[i] = slice_of(writer, i);
    if (writer->n)
        qsort(writer->slices, writer->n, sizeof *writer->slices, by_start);
}

bool query_write_perfetto(struct query *query, FILE *to, struct err *err) {
    if (!query_load(query, QUERY_PROFILE, err))
        return false;
    struct writer writer = {.to = to, .query = query};
    if (!query->measured)
        writer.trace = query->rows.from.trace;
    writer.n = table_rows(query, TABLE_INSTRUCTION);
    writer.queues = writer.trace ? query->rows.from.profile->queues.len : MEASURED_LANES;
    if (query->measured && !writer.n)
        return err_set(err, ERR_USAGE,
                       "this profile has sums and no intervals, so there is no timeline: give one "
                       "that neuron-explorer wrote with --output-format parquet or json");
    take_slices(&writer);
    choose_lanes(&writer);
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", to);
    name_threads(&writer);
    for (size_t i = 0; i < writer.n && !ferror(to); i++) {
        write_slice(&writer, &writer.slices[i]);
        if (writer.trace)
            write_arrow(&writer, &writer.slices[i]);
    }
    fputs("\n]}\n", to);
    free(writer.slices);
    free(writer.slice_of);
    buf_free(&writer.line);
    return (fflush(to) == 0 && !ferror(to)) ||
           err_set(err, ERR_ENVIRONMENT, "the timeline could not be written: %s", strerror(errno));
}
