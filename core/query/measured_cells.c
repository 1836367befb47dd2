/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of a profile's tables where it was measured. What the device's tools do not tell is
 * null. */
#include "query/private.h"

/* A count, a line or a number of bytes; negative: it is not told. */
static void put_known(struct query_value *value, int64_t integer) {
    if (integer >= 0)
        put_int(value, integer);
}

static const char *engine_of(uint32_t lane) {
    return lane == MEASURED_DMA_IN || lane == MEASURED_DMA_OUT ? "DMA" : measured_lanes[lane];
}

static void instruction_cell(struct measured *measured, size_t row, int column,
                             struct query_value *value) {
    const struct measured_span *span = &measured->spans.at[row];
    switch (column) {
    case INSTRUCTION_id: put_int(value, (int64_t)row); return;
    case INSTRUCTION_engine: put_text(value, engine_of(span->lane)); return;
    case INSTRUCTION_opcode: put_text(value, span->opcode); return;
    case INSTRUCTION_start_ts: put_real(value, span->start_ns); return;
    case INSTRUCTION_end_ts: put_real(value, span->end_ns); return;
    case INSTRUCTION_duration_ns: put_real(value, span->end_ns - span->start_ns); return;
    case INSTRUCTION_evt_wait_time_ns: put_real(value, span->waited_ns); return;
    case INSTRUCTION_tensor_instruction_type: put_text(value, span->kind); return;
    case INSTRUCTION_bir_id:
        if (span->name)
            put_text(value, span->name);
        if (span->name || span->number < 0)
            return;
        buf_clear(&measured->text);
        buf_printf(&measured->text, "I-%lld", (long long)span->number);
        put_made(value, measured->text.at);
        return;
    case INSTRUCTION_bir_debug_info_source_location: put_text(value, span->place); return;
    case INSTRUCTION_adjusted_flops: put_real(value, span->flops); return;
    case INSTRUCTION_hbm_read_bytes: put_known(value, span->read_bytes); return;
    case INSTRUCTION_hbm_write_bytes: put_known(value, span->write_bytes); return;
    case INSTRUCTION_operands: put_text(value, span->operands); return;
    case INSTRUCTION_file: put_text(value, span->file); return;
    case INSTRUCTION_line: put_known(value, span->line > 0 ? span->line : -1); return;
    case INSTRUCTION_queue: put_text(value, measured_lanes[span->lane]); return;
    }
}

static void flow_cell(struct measured *measured, size_t row, int column,
                      struct query_value *value) {
    switch (column) {
    case FLOW_in_table: put_text(value, "Instruction"); return;
    case FLOW_in_id: put_int(value, measured->transfers.at[row]); return;
    case FLOW_out_table: put_text(value, "DmaPacketAggregated"); return;
    case FLOW_out_id: put_int(value, (int64_t)row); return;
    }
}

static void transfer_cell(struct measured *measured, size_t row, int column,
                          struct query_value *value) {
    const struct measured_span *span = &measured->spans.at[measured->transfers.at[row]];
    bool in = span->lane == MEASURED_DMA_IN;
    struct measured_move move = {
        span->opcode, in ? "HBM" : "SBUF", in ? "SBUF" : "HBM", -1, -1, -1, -1};
    if (span->move)
        move = measured->moves.at[span->move - 1];
    switch (column) {
    case TRANSFER_id: put_int(value, (int64_t)row); return;
    case TRANSFER_variable: put_text(value, move.variable); return;
    case TRANSFER_source: put_text(value, move.source); return;
    case TRANSFER_dest: put_text(value, move.dest); return;
    case TRANSFER_transfer_bytes: put_known(value, move.bytes); return;
    case TRANSFER_read_num_sbuf_partitions: put_known(value, move.read_partitions); return;
    case TRANSFER_write_num_sbuf_partitions: put_known(value, move.write_partitions); return;
    case TRANSFER_is_transpose_mode: put_known(value, move.transposes); return;
    case TRANSFER_start_ts: put_real(value, span->start_ns); return;
    case TRANSFER_end_ts: put_real(value, span->end_ns); return;
    case TRANSFER_duration_ns: put_real(value, span->end_ns - span->start_ns); return;
    case TRANSFER_line: put_known(value, span->line > 0 ? span->line : -1); return;
    case TRANSFER_instruction: put_int(value, measured->transfers.at[row]); return;
    }
}

static void packet_cell(struct measured *measured, size_t row, int column,
                        struct query_value *value) {
    struct measured_packet packet = {.bytes = -1};
    if (measured->packets.len)
        packet = measured->packets.at[row];
    else {
        const struct measured_span *span = &measured->spans.at[measured->transfers.at[row]];
        packet.start_ns = span->start_ns;
        packet.end_ns = span->end_ns;
        packet.bytes = span->move ? measured->moves.at[span->move - 1].bytes : -1;
    }
    switch (column) {
    case PACKET_id: put_int(value, (int64_t)row); return;
    case PACKET_start_ts: put_real(value, packet.start_ns); return;
    case PACKET_end_ts: put_real(value, packet.end_ns); return;
    case PACKET_duration_ns: put_real(value, packet.end_ns - packet.start_ns); return;
    case PACKET_transfer_bytes: put_known(value, packet.bytes); return;
    case PACKET_queue_type: put_text(value, packet.queue_type); return;
    }
}

static void tensor_cell(struct measured *measured, size_t row, int column,
                        struct query_value *value) {
    const struct measured_tensor *tensor = &measured->tensors.at[row];
    switch (column) {
    case TENSOR_variable_name: put_text(value, tensor->name); return;
    case TENSOR_type: put_text(value, tensor->type); return;
    case TENSOR_size: put_known(value, tensor->bytes); return;
    case TENSOR_dtype: put_text(value, tensor->dtype); return;
    case TENSOR_shape: put_text(value, tensor->shape); return;
    }
}

static void active_cell(struct measured *measured, size_t row, int column,
                        struct query_value *value) {
    const struct stretch *active = &measured->actives.at[row];
    switch (column) {
    case ACTIVE_engine: put_text(value, engine_of(active->lane)); return;
    case ACTIVE_start_ts: put_real(value, active->start_ns); return;
    case ACTIVE_end_ts: put_real(value, active->end_ns); return;
    case ACTIVE_duration_ns: put_real(value, active->end_ns - active->start_ns); return;
    }
}

static void line_cell(struct measured *measured, size_t row, int column,
                      struct query_value *value) {
    const struct measured_line *line = &measured->lines.at[row];
    switch (column) {
    case LINE_file: put_text(value, line->file); return;
    case LINE_line: put_known(value, line->line > 0 ? line->line : -1); return;
    case LINE_share: put_real(value, line->share); return;
    case LINE_us: put_real(value, line->share * measured->latency_us); return;
    case LINE_instructions: put_known(value, line->instructions); return;
    case LINE_hbm_bytes: put_known(value, line->hbm_bytes); return;
    case LINE_tensor_ns: put_real(value, line->engine_ns[0]); return;
    case LINE_vector_ns: put_real(value, line->engine_ns[1]); return;
    case LINE_scalar_ns: put_real(value, line->engine_ns[2]); return;
    case LINE_gpsimd_ns: put_real(value, line->engine_ns[3]); return;
    case LINE_dma_ns: put_real(value, line->engine_ns[4]); return;
    }
}

static void bound_cell(struct measured *measured, size_t row, int column,
                       struct query_value *value) {
    const struct measured_bound *bound = &measured->bounds.at[row];
    switch (column) {
    case BOUND_name: put_text(value, bound->name); return;
    case BOUND_busy_us: put_real(value, bound->busy_us); return;
    case BOUND_without_us: put_real(value, bound->without_us); return;
    case BOUND_is_bound:
        put_int(value, measured->bound && !strcmp(bound->name, measured->bound));
        return;
    }
}

static void metric_cell(struct measured *measured, size_t row, int column,
                        struct query_value *value) {
    const struct measured_metric *metric = &measured->metrics.at[row];
    switch (column) {
    case METRIC_name: put_text(value, metric->name); return;
    case METRIC_value: put_real(value, metric->value); return;
    case METRIC_unit: put_text(value, metric->unit); return;
    }
}

static void summary_cell(struct measured *measured, size_t row, int column,
                         struct query_value *value) {
    const char *name = query_table_at(TABLE_SUMMARY)->columns[column].name;
    (void)row;
    for (size_t i = 0; i < measured->metrics.len; i++)
        if (!strcmp(measured->metrics.at[i].name, name))
            put_real(value, measured->metrics.at[i].value);
}

static void metadata_cell(struct measured *measured, size_t row, int column,
                          struct query_value *value) {
    const struct device_generation *generation =
        measured->device ? device_generation_find(measured->device) : NULL;
    (void)row;
    switch (column) {
    case METADATA_kernel: put_text(value, measured->kernel); return;
    case METADATA_device: /* a file may say "gen3", which every other table calls trn2 */
        put_text(value, generation ? generation->name : measured->device);
        return;
    case METADATA_source: put_text(value, measured->source); return;
    case METADATA_latency_us: put_real(value, measured->latency_us); return;
    case METADATA_floor_us: put_real(value, measured->floor_us); return;
    case METADATA_floor_bound: put_text(value, measured->floor_bound); return;
    case METADATA_bound: put_text(value, measured->bound); return;
    default:
        if (generation) /* where the file says which */
            query_hardware_cell(generation, 1, column, value);
    }
    const struct query_column *of = &query_table_at(TABLE_METADATA)->columns[column];
    for (size_t i = 0; i < measured->hardware.len; i++)
        if (!strcmp(measured->hardware.at[i].name, of->name))
            put_real(value, measured->hardware.at[i].value);
    if (value->type == QUERY_REAL && of->type == QUERY_INT)
        put_int(value, (int64_t)value->real);
}

static void warning_cell(struct measured *measured, size_t row, int column,
                         struct query_value *value) {
    (void)column;
    put_text(value, measured->warnings.at[row]);
}

/* ---- all of them ---------------------------------------------------------------------------- */

size_t measured_rows(const struct measured *measured, enum table_id table) {
    switch (table) {
    case TABLE_INSTRUCTION: return measured->spans.len;
    case TABLE_FLOW:
    case TABLE_TRANSFER: return measured->transfers.len;
    case TABLE_PACKET:
        return measured->packets.len ? measured->packets.len : measured->transfers.len;
    case TABLE_TENSOR: return measured->tensors.len;
    case TABLE_ACTIVE: return measured->actives.len;
    case TABLE_LINE: return measured->lines.len;
    case TABLE_BOUND: return measured->bounds.len;
    case TABLE_METRIC: return measured->metrics.len;
    case TABLE_SUMMARY:
    case TABLE_METADATA: return 1;
    case TABLE_WARNING: return measured->warnings.len;
    default: return 0; /* what only the model knows */
    }
}

void measured_cell(struct measured *measured, enum table_id table, size_t row, int column,
                   struct query_value *value) {
    typedef void cell_fn(struct measured *, size_t, int, struct query_value *);
    static cell_fn *const cells[TABLE_COUNT] = {[TABLE_INSTRUCTION] = instruction_cell,
                                                [TABLE_FLOW] = flow_cell,
                                                [TABLE_TRANSFER] = transfer_cell,
                                                [TABLE_PACKET] = packet_cell,
                                                [TABLE_ACTIVE] = active_cell,
                                                [TABLE_LINE] = line_cell,
                                                [TABLE_BOUND] = bound_cell,
                                                [TABLE_METRIC] = metric_cell,
                                                [TABLE_SUMMARY] = summary_cell,
                                                [TABLE_METADATA] = metadata_cell,
                                                [TABLE_TENSOR] = tensor_cell,
                                                [TABLE_WARNING] = warning_cell};
    value->type = QUERY_NULL;
    if (cells[table])
        cells[table](measured, row, column, value);
}
