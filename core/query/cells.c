/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of a profile's tables, read where the device model left them. */
#include "query/private.h"

#include <math.h>

#define PE_ROWS 128 /* of the PE array: nki_spec, all generations */

/* ---- places --------------------------------------------------------------------------------- */

static const struct nki_instr *instr_of(const struct rows *rows, const struct device_event *event) {
    return &rows->from.program->instrs.at[event->instr];
}

static const char *engine_title(enum nki_engine engine) {
    static const char *const titles[NKI_ENGINE_COUNT] = {NULL,  "Tensor", "Scalar", "GpSimd",
                                                         "DMA", "Vector", "Sync"};
    return (size_t)engine < COUNT_OF(titles) ? titles[engine] : NULL;
}

static const struct device_queue *queue_of(const struct rows *rows, uint16_t queue) {
    return &rows->from.profile->queues.at[queue];
}

static int core_of(const struct rows *rows, uint16_t queue) {
    size_t each = rows->from.profile->queues.len / (size_t)MAX_OF(rows->from.profile->cores, 1);
    return (int)(queue / MAX_OF(each, (size_t)1));
}

static const struct nki_loc *loc_of(const struct rows *rows, uint32_t loc) {
    return loc < rows->from.program->locs.len ? &rows->from.program->locs.at[loc] : NULL;
}

static const char *file_of(const struct rows *rows, uint32_t file) {
    return file < rows->from.program->files.len ? path_base(rows->from.program->files.at[file])
                                                : NULL;
}

static void put_file(const struct rows *rows, uint32_t at, struct query_value *value) {
    const struct nki_loc *loc = loc_of(rows, at);
    put_text(value, loc ? file_of(rows, loc->file) : NULL);
}

static void put_line(const struct rows *rows, uint32_t at, struct query_value *value) {
    const struct nki_loc *loc = loc_of(rows, at);
    if (loc && loc->line)
        put_int(value, loc->line);
}

static void put_place(struct rows *rows, uint32_t at, struct query_value *value) {
    const struct nki_loc *loc = loc_of(rows, at);
    const char *file = loc ? file_of(rows, loc->file) : NULL;
    if (!file || !loc->line)
        return;
    if (!rows->places[at])
        rows->places[at] = arena_printf(rows->arena, "%s:%u", file, loc->line);
    put_text(value, rows->places[at]);
}

/* ---- operands ------------------------------------------------------------------------------- */

static const struct nki_ap *operand_at(const struct nki_instr *instr, int place) {
    if (place < 0 || place >= instr->n_operands)
        return NULL;
    const struct nki_operand *operand = &instr->operands[place];
    if (operand->kind == NKI_OPERAND_AP)
        return operand->ap;
    bool some = operand->kind == NKI_OPERAND_APS && operand->n;
    return some ? operand->aps[0] : NULL;
}

static const struct nki_ap *source_of(const struct nki_instr *instr) {
    return operand_at(instr, nki_op_source((enum nki_op)instr->op, NKI_DST));
}

static const struct nki_storage *storage_of(const struct rows *rows, const struct nki_ap *ap) {
    return ap && ap->storage < rows->from.program->storages.len
               ? rows->from.program->storages.at[ap->storage]
               : NULL;
}

static const char *space_name(enum nki_space space) {
    return space == NKI_HBM ? "hbm" : space == NKI_SBUF ? "sbuf" : "psum";
}

static void print_ap(const struct rows *rows, const char *name, const struct nki_ap *ap,
                     struct buf *out) {
    const struct nki_storage *storage = storage_of(rows, ap);
    buf_printf(out, "%s%s=%s %s %s[", out->len ? " " : "", name, dtype_name(ap->dtype),
               storage ? space_name(storage->space) : "?", storage ? storage->name : "?");
    for (int d = 0; d < ap->n_dims; d++)
        buf_printf(out, "%s%d", d ? "x" : "", ap->count[d]);
    buf_putc(out, ']');
}

static void put_operands(struct rows *rows, const struct nki_instr *instr,
                         struct query_value *value) {
    const struct nki_op_row *row = nki_op_row((enum nki_op)instr->op);
    buf_clear(&rows->text);
    for (int k = 0; k < instr->n_operands && k < row->n_params; k++)
        if (operand_at(instr, k))
            print_ap(rows, row->params[k].name, operand_at(instr, k), &rows->text);
    put_made(value, rows->text.len ? rows->text.at : NULL);
}

static bool is_plain_product(const struct nki_instr *instr) {
    return instr->op == NKI_OP_NC_MATMUL || instr->op == NKI_OP_NC_MATMUL_MX;
}

/* Rows and columns of the PE array that a product uses, columns that move through it. */
static void put_tile(const struct nki_instr *instr, int column, struct query_value *value) {
    if (!is_plain_product(instr))
        return;
    const struct nki_ap *stationary = operand_at(instr, NKI_NC_MATMUL_stationary);
    const struct nki_ap *moving = operand_at(instr, NKI_NC_MATMUL_moving);
    if (stationary && moving)
        put_int(value, column == INSTRUCTION_k   ? stationary->count[0]
                       : column == INSTRUCTION_m ? nki_ap_free(stationary)
                                                 : nki_ap_free(moving));
}

static double adjusted_flops(const struct nki_instr *instr, const struct device_event *event) {
    if (!(event->flops > 0))
        return NAN;
    double flops = event->flops * MAX_OF(event->passes, 1);
    const struct nki_operand *mode =
        instr->op == NKI_OP_NC_MATMUL ? &instr->operands[NKI_NC_MATMUL_perf_mode] : NULL;
    bool pairs = mode && mode->kind == NKI_OPERAND_ENUM && mode->i == NKI_PERF_DOUBLE_ROW;
    return pairs ? flops / 2 : flops;
}

/* ---- Instruction ---------------------------------------------------------------------------- */

static const char *in_capitals(struct arena *arena, const char *name) {
    char *text = arena_printf(arena, "%s", name);
    for (char *at = text; *at; at++)
        if (*at >= 'a' && *at <= 'z')
            *at = (char)(*at - 'a' + 'A');
    return text;
}

static void put_opcode(struct rows *rows, const struct nki_instr *instr,
                       const struct device_event *event, struct query_value *value) {
    if (event->kind != DEVICE_EVENT_INSTR) {
        put_text(value, event->kind == DEVICE_EVENT_SAVE ? "SPILL_SAVE" : "SPILL_RELOAD");
        return;
    }
    if (event->flops > 0) {
        put_text(value, "MATMUL");
        return;
    }
    if (!rows->opcodes[instr->op])
        rows->opcodes[instr->op] = in_capitals(rows->arena, nki_op_name((enum nki_op)instr->op));
    put_text(value, rows->opcodes[instr->op]);
}

static void put_name(struct rows *rows, const struct nki_instr *instr,
                     const struct device_event *event, struct query_value *value) {
    buf_clear(&rows->text);
    buf_printf(&rows->text, "I-%u", event->instr);
    put_made(value, instr->more->label ? instr->more->label : rows->text.at);
}

static void put_dtype(const struct nki_instr *instr, struct query_value *value) {
    const struct nki_ap *ap = source_of(instr);
    ap = ap ? ap : operand_at(instr, NKI_DST);
    put_text(value, ap ? dtype_name(ap->dtype) : NULL);
}

static void put_elements(const struct nki_instr *instr, struct query_value *value) {
    const struct nki_ap *ap = operand_at(instr, NKI_DST);
    if (ap)
        put_int(value, nki_ap_count(ap));
}

static void cell_of_instr(struct rows *rows, const struct device_event *event, int column,
                          struct query_value *value) {
    const struct nki_instr *instr = instr_of(rows, event);
    switch (column) {
    case INSTRUCTION_opcode: put_opcode(rows, instr, event, value); return;
    case INSTRUCTION_bir_id: put_name(rows, instr, event, value); return;
    case INSTRUCTION_bir_debug_info_source_location: put_place(rows, instr->loc, value); return;
    case INSTRUCTION_adjusted_flops: put_real(value, adjusted_flops(instr, event)); return;
    case INSTRUCTION_operands: put_operands(rows, instr, value); return;
    case INSTRUCTION_nki_op: put_text(value, nki_op_name((enum nki_op)instr->op)); return;
    case INSTRUCTION_file: put_file(rows, instr->loc, value); return;
    case INSTRUCTION_line: put_line(rows, instr->loc, value); return;
    case INSTRUCTION_dtype: put_dtype(instr, value); return;
    case INSTRUCTION_elements: put_elements(instr, value); return;
    case INSTRUCTION_k:
    case INSTRUCTION_m:
    case INSTRUCTION_n: put_tile(instr, column, value); return;
    }
}

/* What is asked of a cause most, so that no row needs to be joined to another for it. */
static void put_cause(struct rows *rows, const struct device_event *event, int column,
                      struct query_value *value) {
    if (event->cause < 0)
        return;
    const struct device_event *cause = &rows->from.trace->events.at[event->cause];
    if (column == INSTRUCTION_cause_engine)
        put_text(value, engine_title(queue_of(rows, cause->queue)->engine));
    else
        put_line(rows, instr_of(rows, cause)->loc, value);
}

static void instruction_cell(struct rows *rows, size_t row, int column, struct query_value *value) {
    const struct device_event *event = &rows->from.trace->events.at[row];
    const struct device_queue *queue = queue_of(rows, event->queue);
    switch (column) {
    case INSTRUCTION_id: put_int(value, (int64_t)row); return;
    case INSTRUCTION_engine: put_text(value, engine_title(queue->engine)); return;
    case INSTRUCTION_start_ts: put_real(value, event->start_ns); return;
    case INSTRUCTION_end_ts: put_real(value, event->end_ns); return;
    case INSTRUCTION_duration_ns: put_real(value, event->end_ns - event->start_ns); return;
    case INSTRUCTION_evt_wait_time_ns: put_real(value, event->waited_ns); return;
    case INSTRUCTION_tensor_instruction_type:
        put_text(value, event->flops > 0 ? event->transpose ? "TRANSPOSE" : "REGULAR" : NULL);
        return;
    case INSTRUCTION_hbm_read_bytes:
        put_int(value, event->reads_hbm ? (int64_t)event->bytes : 0);
        return;
    case INSTRUCTION_hbm_write_bytes:
        put_int(value, event->writes_hbm ? (int64_t)event->bytes : 0);
        return;
    case INSTRUCTION_queue: put_text(value, queue->name); return;
    case INSTRUCTION_core: put_int(value, core_of(rows, event->queue)); return;
    case INSTRUCTION_cause:
        if (event->cause >= 0)
            put_int(value, event->cause);
        return;
    case INSTRUCTION_cause_engine:
    case INSTRUCTION_cause_line: put_cause(rows, event, column, value); return;
    default: cell_of_instr(rows, event, column, value);
    }
}

/* ---- transfers ------------------------------------------------------------------------------ */

/* The end of a transfer that is in HBM: the source first. */
static const struct nki_storage *hbm_end(const struct rows *rows, const struct nki_instr *instr) {
    const struct nki_storage *source = storage_of(rows, source_of(instr));
    if (source && source->space == NKI_HBM)
        return source;
    const struct nki_storage *dst = storage_of(rows, operand_at(instr, NKI_DST));
    return dst && dst->space == NKI_HBM ? dst : NULL;
}

static const char *end_name(const struct nki_storage *storage, bool is_source) {
    if (!storage)
        return NULL;
    if (storage->space != NKI_HBM)
        return storage->space == NKI_SBUF ? "SBUF" : "PSUM";
    if (is_source && storage->input >= 0)
        return "[[INPUT]]";
    return !is_source && storage->output >= 0 ? "[[OUTPUT]]" : "HBM";
}

static void put_end(const struct rows *rows, const struct device_event *event, bool is_source,
                    struct query_value *value) {
    const struct nki_instr *instr = instr_of(rows, event);
    if (event->kind != DEVICE_EVENT_INSTR)
        put_text(value, (event->kind == DEVICE_EVENT_RELOAD) == is_source ? "VIRTUAL" : "SBUF");
    else
        put_text(value, end_name(storage_of(rows, is_source ? source_of(instr)
                                                            : operand_at(instr, NKI_DST)),
                                 is_source));
}

static void put_partitions(const struct rows *rows, const struct device_event *event,
                           bool is_source, struct query_value *value) {
    const struct nki_instr *instr = instr_of(rows, event);
    const struct nki_ap *ap = is_source ? source_of(instr) : operand_at(instr, NKI_DST);
    const struct nki_storage *storage = storage_of(rows, ap);
    if (event->kind == DEVICE_EVENT_INSTR && storage && storage->space == NKI_SBUF)
        put_int(value, ap->count[0]);
}

static void put_variable(const struct rows *rows, const struct device_event *event,
                         struct query_value *value) {
    const struct nki_storage *storage =
        event->kind == DEVICE_EVENT_INSTR ? hbm_end(rows, instr_of(rows, event)) : NULL;
    put_text(value, storage ? storage->name : NULL);
}

static void transfer_cell(struct rows *rows, size_t row, int column, struct query_value *value) {
    const struct device_event *event = &rows->from.trace->events.at[rows->transfers.at[row]];
    const struct nki_instr *instr = instr_of(rows, event);
    switch (column) {
    case TRANSFER_id: put_int(value, (int64_t)row); return;
    case TRANSFER_variable: put_variable(rows, event, value); return;
    case TRANSFER_source: put_end(rows, event, true, value); return;
    case TRANSFER_dest: put_end(rows, event, false, value); return;
    case TRANSFER_transfer_bytes: put_int(value, (int64_t)event->bytes); return;
    case TRANSFER_start_ts: put_real(value, event->start_ns); return;
    case TRANSFER_end_ts: put_real(value, event->end_ns); return;
    case TRANSFER_duration_ns: put_real(value, event->end_ns - event->start_ns); return;
    case TRANSFER_read_num_sbuf_partitions: put_partitions(rows, event, true, value); return;
    case TRANSFER_write_num_sbuf_partitions: put_partitions(rows, event, false, value); return;
    case TRANSFER_is_transpose_mode: put_int(value, instr->op == NKI_OP_DMA_TRANSPOSE); return;
    case TRANSFER_descriptors: put_int(value, event->descriptors); return;
    case TRANSFER_dma_engines: put_int(value, event->engines); return;
    case TRANSFER_issuer: put_text(value, engine_title((enum nki_engine)event->issuer)); return;
    case TRANSFER_software: put_int(value, event->software); return;
    case TRANSFER_line: put_line(rows, instr->loc, value); return;
    case TRANSFER_instruction: put_int(value, rows->transfers.at[row]); return;
    }
}

static void packet_cell(struct rows *rows, size_t row, int column, struct query_value *value) {
    const struct device_event *event = &rows->from.trace->events.at[rows->transfers.at[row]];
    switch (column) {
    case PACKET_id: put_int(value, (int64_t)row); return;
    case PACKET_start_ts: put_real(value, event->start_ns); return;
    case PACKET_end_ts: put_real(value, event->end_ns); return;
    case PACKET_duration_ns: put_real(value, event->end_ns - event->start_ns); return;
    case PACKET_transfer_bytes: put_int(value, (int64_t)event->bytes); return;
    case PACKET_queue_type: put_text(value, "data"); return;
    }
}

static void flow_cell(struct rows *rows, size_t row, int column, struct query_value *value) {
    switch (column) {
    case FLOW_in_table: put_text(value, "Instruction"); return;
    case FLOW_in_id: put_int(value, rows->transfers.at[row]); return;
    case FLOW_out_table: put_text(value, "DmaPacketAggregated"); return;
    case FLOW_out_id: put_int(value, (int64_t)row); return;
    }
}

/* ---- the others ----------------------------------------------------------------------------- */

static void dependence_cell(struct rows *rows, size_t row, int column, struct query_value *value) {
    const struct device_edge *edge = &rows->from.trace->edges.at[row];
    const struct device_event *events = rows->from.trace->events.at;
    const struct device_event *producer = &events[edge->producer];
    switch (column) {
    case DEPENDENCE_producer: put_int(value, edge->producer); return;
    case DEPENDENCE_consumer: put_int(value, edge->consumer); return;
    case DEPENDENCE_kind: put_text(value, edge->order ? "order" : "memory"); return;
    case DEPENDENCE_slack_ns:
        put_real(value, events[edge->consumer].start_ns -
                            (edge->order ? producer->start_ns : producer->end_ns));
        return;
    }
}

static void active_cell(struct rows *rows, size_t row, int column, struct query_value *value) {
    const struct interval *active = &rows->actives.at[row];
    switch (column) {
    case ACTIVE_engine:
        put_text(value, engine_title(queue_of(rows, active->queue)->engine));
        return;
    case ACTIVE_start_ts: put_real(value, active->start_ns); return;
    case ACTIVE_end_ts: put_real(value, active->end_ns); return;
    case ACTIVE_duration_ns: put_real(value, active->end_ns - active->start_ns); return;
    case ACTIVE_core: put_int(value, core_of(rows, active->queue)); return;
    }
}

static void line_cell(struct rows *rows, size_t row, int column, struct query_value *value) {
    const struct device_line *line = &rows->from.profile->lines.at[row];
    switch (column) {
    case LINE_file: put_text(value, file_of(rows, line->file)); return;
    case LINE_line: put_int(value, line->line); return;
    case LINE_share: put_real(value, line->share); return;
    case LINE_us: put_real(value, line->share * rows->from.profile->latency_us); return;
    case LINE_instructions: put_int(value, (int64_t)line->instructions); return;
    case LINE_hbm_bytes: put_int(value, (int64_t)line->hbm_bytes); return;
    case LINE_tensor_ns: put_real(value, line->engine_ns[NKI_ENGINE_TENSOR]); return;
    case LINE_vector_ns: put_real(value, line->engine_ns[NKI_ENGINE_VECTOR]); return;
    case LINE_scalar_ns: put_real(value, line->engine_ns[NKI_ENGINE_SCALAR]); return;
    case LINE_gpsimd_ns: put_real(value, line->engine_ns[NKI_ENGINE_GPSIMD]); return;
    case LINE_dma_ns: put_real(value, line->engine_ns[NKI_ENGINE_DMA]); return;
    }
}

static void call_cell(struct rows *rows, size_t row, int column, struct query_value *value) {
    const struct call *call = &rows->calls.at[row];
    switch (column) {
    case CALL_file: put_file(rows, call->loc, value); return;
    case CALL_line: put_line(rows, call->loc, value); return;
    case CALL_nki_op: put_text(value, nki_op_name((enum nki_op)call->op)); return;
    case CALL_times: put_int(value, call->times); return;
    case CALL_first_ts: put_real(value, call->first_ns); return;
    case CALL_last_ts: put_real(value, call->last_ns); return;
    case CALL_busy_ns: put_real(value, call->busy_ns); return;
    }
}

static void bound_cell(struct rows *rows, size_t row, int column, struct query_value *value) {
    const struct device_bound *bound = &rows->from.profile->bounds.at[row];
    switch (column) {
    case BOUND_name: put_text(value, bound->name); return;
    case BOUND_busy_us: put_real(value, bound->busy_ns / 1e3); return;
    case BOUND_without_us: put_real(value, bound->without_ns / 1e3); return;
    case BOUND_is_bound: put_int(value, !strcmp(bound->name, rows->from.profile->bound)); return;
    }
}

static void metric_cell(struct rows *rows, size_t row, int column, struct query_value *value) {
    const struct device_metric *metric = &rows->from.profile->metrics.at[row];
    switch (column) {
    case METRIC_name: put_text(value, metric->name); return;
    case METRIC_value: put_real(value, metric->value); return;
    case METRIC_unit: put_text(value, metric->unit); return;
    }
}

static void summary_cell(struct rows *rows, size_t row, int column, struct query_value *value) {
    (void)row;
    put_real(value, query_rows_metric(rows, query_table_at(TABLE_SUMMARY)->columns[column].name));
}

static void put_shape(struct rows *rows, const struct nki_storage *storage,
                      struct query_value *value) {
    buf_clear(&rows->text);
    for (int d = 0; d < storage->n_dims; d++)
        buf_printf(&rows->text, "%s%lld", d ? "x" : "", (long long)storage->shape[d]);
    put_made(value, rows->text.at ? rows->text.at : "");
}

static void tensor_cell(struct rows *rows, size_t row, int column, struct query_value *value) {
    const struct nki_storage *storage = rows->from.program->storages.at[rows->tensors.at[row]];
    switch (column) {
    case TENSOR_variable_name: put_text(value, storage->name); return;
    case TENSOR_type:
        put_text(value, storage->output >= 0 ? "OUT" : storage->input >= 0 ? "IN" : "INTERNAL");
        return;
    case TENSOR_size: put_int(value, (int64_t)storage->bytes); return;
    case TENSOR_dtype: put_text(value, dtype_name(storage->dtype)); return;
    case TENSOR_shape: put_shape(rows, storage, value); return;
    }
}

void query_hardware_cell(const struct device_generation *generation, int cores, int column,
                         struct query_value *value) {
    switch (column) {
    case METADATA_dma_ddr_bandwidth:
        put_real(value, 1e9 * device_memory_bytes_per_ns_on(generation, cores));
        return;
    case METADATA_tensor_engine_num_rows:
    case METADATA_tensor_engine_num_cols: put_int(value, PE_ROWS); return;
    case METADATA_tensor_engine_clock_freq:
        put_real(value, generation->clock_ghz[NKI_ENGINE_TENSOR]);
        return;
    }
}

static void metadata_cell(struct rows *rows, size_t row, int column, struct query_value *value) {
    const struct device_profile *profile = rows->from.profile;
    const struct device_generation *generation = rows->from.generation;
    (void)row;
    switch (column) {
    case METADATA_kernel: put_text(value, rows->from.program->kernel); return;
    case METADATA_device: put_text(value, generation->name); return;
    case METADATA_source: put_text(value, "model"); return;
    case METADATA_cores: put_int(value, profile->cores); return;
    case METADATA_latency_us: put_real(value, profile->latency_us); return;
    case METADATA_floor_us: put_real(value, profile->floor_us); return;
    case METADATA_floor_split_us: put_real(value, profile->floor_split_us); return;
    case METADATA_floor_any_us: put_real(value, profile->floor_any_us); return;
    case METADATA_floor_bound: put_text(value, profile->floor_bound); return;
    case METADATA_bound: put_text(value, profile->bound); return;
    default: query_hardware_cell(generation, profile->cores, column, value);
    }
}

static void warning_cell(struct rows *rows, size_t row, int column, struct query_value *value) {
    (void)column;
    put_text(value, rows->warnings.at[row]);
}

/* ---- all of them -------------------------------------------------------------------------------
 */

void query_rows_cell(struct rows *rows, enum table_id table, size_t row, int column,
                     struct query_value *value) {
    typedef void cell_fn(struct rows *, size_t, int, struct query_value *);
    static cell_fn *const cells[TABLE_COUNT] = {[TABLE_INSTRUCTION] = instruction_cell,
                                                [TABLE_FLOW] = flow_cell,
                                                [TABLE_TRANSFER] = transfer_cell,
                                                [TABLE_PACKET] = packet_cell,
                                                [TABLE_DEPENDENCE] = dependence_cell,
                                                [TABLE_ACTIVE] = active_cell,
                                                [TABLE_LINE] = line_cell,
                                                [TABLE_CALL] = call_cell,
                                                [TABLE_BOUND] = bound_cell,
                                                [TABLE_METRIC] = metric_cell,
                                                [TABLE_SUMMARY] = summary_cell,
                                                [TABLE_TENSOR] = tensor_cell,
                                                [TABLE_METADATA] = metadata_cell,
                                                [TABLE_WARNING] = warning_cell};
    value->type = QUERY_NULL;
    cells[table](rows, row, column, value);
}
