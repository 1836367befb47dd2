/* SPDX-License-Identifier: Apache-2.0 */
/* The profile: what a schedule means. It has metrics under the names of Neuron's tools (Neuron
 * Explorer's summary), the cost of each source line along the critical path, how much each resource
 * limits, and the floor under any kernel with these inputs, outputs and matrix products. */
#include "device/time/inner.h"
#include "device/time/run.h"
#include "device/time/testing.h"

#include <math.h>
#include <stdlib.h>

/* What an instruction moves and computes. */
struct amount {
    bool known;
    uint64_t read[NKI_PSUM + 1], written[NKI_PSUM + 1]; /* bytes, per memory */
    double flops;                                       /* 0: it is no product */
    bool transpose;
    int passes;         /* through the PE array */
    double peak_per_ns; /* flops of the array at its peak .. */
    int floor_times;    /* .. and the passes that the floor counts */
};

struct profiler {
    const struct device_image *image;
    const struct allocation *allocation;
    const struct timeline *time;
    struct folded *folded;
    struct together *together; /* with the cores beside it; NULL: there is one */
    bool is_steady;            /* all that is counted repeats where rounds were left out */
    const struct issue_costs *costs;
    const struct device_constants *table;
    struct device_profile *profile;
    double start_ns; /* before the first instruction */
    double busy[QUEUE_COUNT], dma_busy;
    double critical_ns[QUEUE_COUNT];                    /* of the critical path */
    size_t count[QUEUE_COUNT], first_span[QUEUE_COUNT]; /* of its spans */
    uint64_t number[QUEUE_COUNT];                       /* of its instructions, in all rounds */
    uint64_t hbm_read, hbm_write, sbuf_read, sbuf_write, psum_read, psum_write;
    uint64_t dma_bytes, dma_transfers, dma_descriptors;
    double dma_engine_ns; /* busy time of the DMA engines, summed */
    double model_flops, transpose_flops, hardware_flops;
    uint64_t matmuls, activations;
    struct amount *amounts; /* of kinds of instructions, below AMOUNTS_KEPT */
    struct amount scratch;  /* of one of the others */
};
/* Kinds whose amounts are kept. A program of more has few instructions of each. */
#define AMOUNTS_KEPT 4096u

/* ---- counting ------------------------------------------------------------------------------- */

static bool is_dma(uint8_t queue) {
    return queue == QUEUE_DMA_IN || queue == QUEUE_DMA_OUT;
}

static int by_start(const void *a, const void *b) {
    const struct device_span *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->instr < y->instr ? -1 : x->instr > y->instr;
}

/* Finds where the spans of each queue begin in the profile. */
static void count_spans(struct profiler *p) {
    for (uint32_t s = 0; s < p->allocation->issues.len; s++)
        if (p->allocation->issues.at[s].kind != ISSUE_ABSENT) {
            p->count[issue_cost_at(p->costs, s)->queue]++;
            p->number[issue_cost_at(p->costs, s)->queue] += folded_weight(p->folded, s);
        }
    for (int queue = 0; queue + 1 < QUEUE_COUNT; queue++)
        p->first_span[queue + 1] = p->first_span[queue] + p->count[queue];
    p->profile->spans.len = p->first_span[QUEUE_COUNT - 1] + p->count[QUEUE_COUNT - 1];
    vec_reserve(&p->profile->spans, p->profile->spans.len);
}

/* Spans of one queue, or of two; each come by start. */
struct spans {
    const struct device_span *a, *a_end, *b, *b_end;
};

static const struct device_span *next_span(struct spans *spans) {
    bool first =
        spans->b == spans->b_end || (spans->a < spans->a_end && by_start(spans->a, spans->b) <= 0);
    return first ? spans->a++ : spans->b++;
}

/* The part of that time which at least one span covers. */
static double covered(struct spans spans, double from_ns, double to_ns) {
    double busy = 0, until = from_ns;
    while (spans.a < spans.a_end || spans.b < spans.b_end) {
        const struct device_span *span = next_span(&spans);
        double start = MAX_OF(span->start_ns, until), end = MIN_OF(span->end_ns, to_ns);
        busy += MAX_OF(end - start, 0);
        until = MAX_OF(until, end);
    }
    return busy;
}

/* What they cover in all rounds of folded loops, too. */
static double busy_time(struct profiler *p, struct spans spans) {
    double busy = covered(spans, 0, INFINITY);
    for (size_t g = 0; g < p->allocation->gaps.len; g++) {
        const struct steady *steady = &p->folded->steady[g];
        double since = p->start_ns + steady->since_ns, step = steady->step_ns;
        double last = covered(spans, since - step, since);
        p->is_steady &= last == covered(spans, since - 2 * step, since - step);
        busy += (double)(p->allocation->gaps.at[g].left_out / steady->period) * last;
    }
    return busy;
}

/* Puts the spans of one queue after those of another, each queue in the order of starts. */
static void fill_spans(struct profiler *p, bool shifted) {
    size_t next[QUEUE_COUNT];
    memcpy(next, p->first_span, sizeof next);
    for (uint32_t s = 0; s < p->allocation->issues.len; s++) {
        uint8_t queue = issue_cost_at(p->costs, s)->queue;
        double ahead = p->start_ns + (shifted ? folded_shift(p->folded, s) : 0);
        if (p->allocation->issues.at[s].kind != ISSUE_ABSENT)
            p->profile->spans.at[next[queue]++] =
                (struct device_span){p->allocation->issues.at[s].instr, queue,
                                     ahead + p->time->start[s], ahead + p->time->end[s]};
    }
    for (uint8_t queue = 0; queue < QUEUE_COUNT; queue++)
        if (p->count[queue] && (is_dma(queue) || p->allocation->reorders))
            spans_sort(&p->profile->spans.at[p->first_span[queue]], p->count[queue]);
}

static struct spans spans_of(const struct profiler *p, int queue, int other) {
    const struct device_span *at = p->profile->spans.at;
    if (!p->profile->spans.len)
        return (struct spans){0};
    const struct device_span *a = at + p->first_span[queue], *b = at + p->first_span[other];
    return (struct spans){a, a + p->count[queue], b, b + (queue == other ? 0 : p->count[other])};
}

/* Busy time of each queue, overlaps counted once, and of the two DMA queues together. */
static void count_busy(struct profiler *p) {
    for (int queue = 0; queue < QUEUE_COUNT; queue++)
        p->busy[queue] = busy_time(p, spans_of(p, queue, queue));
    p->dma_busy = busy_time(p, spans_of(p, QUEUE_DMA_IN, QUEUE_DMA_OUT));
}

static void add_operands(const struct profiler *p, size_t i, struct amount *amount) {
    size_t n;
    const struct block_operand *operands = allocation_operands(p->allocation, i, &n);
    for (size_t k = 0; k < n; k++) {
        uint64_t bytes =
            (uint64_t)nki_ap_count(operands[k].ap) * dtype_bytes(operands[k].ap->dtype);
        uint8_t space = p->image->blocks[operands[k].first].space;
        amount->read[space] += operands[k].is_src ? bytes : 0;
        amount->written[space] += operands[k].is_dst ? bytes : 0;
    }
}

static void add_flops(const struct profiler *p, size_t i, struct amount *amount) {
    const struct nki_instr *instr = &p->image->program->instrs.at[i];
    amount->flops = cost_flops(p->image->program, instr, &amount->transpose);
    if (amount->flops <= 0)
        return;
    amount->passes = cost_pe_passes(p->image->program, instr, p->table);
    if (amount->transpose)
        return;
    const struct nki_operand *mode = &instr->operands[NKI_NC_MATMUL_perf_mode];
    bool pairs = instr->op == NKI_OP_NC_MATMUL && mode->kind == NKI_OPERAND_ENUM &&
                 mode->i == NKI_PERF_DOUBLE_ROW;
    const struct device_generation *generation = p->image->generation;
    double peak = pairs ? generation->pe_tflops_fp8 : generation->pe_tflops_bf16;
    amount->peak_per_ns = peak * 1e3;
    amount->floor_times = pairs ? 1 : amount->passes;
}

/* Those of a kind move and compute the same. */
static const struct amount *amount_of(struct profiler *p, size_t i) {
    uint32_t kind = p->image->kind[i];
    struct amount *amount = kind < AMOUNTS_KEPT ? &p->amounts[kind] : &p->scratch;
    if (amount->known && amount != &p->scratch)
        return amount;
    *amount = (struct amount){.known = true};
    add_operands(p, i, amount);
    add_flops(p, i, amount);
    return amount;
}

static void count_amount(struct profiler *p, const struct amount *amount, uint64_t weight) {
    p->hbm_read += weight * amount->read[NKI_HBM];
    p->hbm_write += weight * amount->written[NKI_HBM];
    p->sbuf_read += weight * amount->read[NKI_SBUF];
    p->sbuf_write += weight * amount->written[NKI_SBUF];
    p->psum_read += weight * amount->read[NKI_PSUM];
    p->psum_write += weight * amount->written[NKI_PSUM];
    if (amount->flops <= 0)
        return;
    double flops = amount->flops * (double)weight;
    p->matmuls += weight;
    p->hardware_flops += flops * (amount->passes > 1 ? 2 : 1);
    *(amount->transpose ? &p->transpose_flops : &p->model_flops) +=
        amount->transpose && amount->passes > 1 ? 2 * flops : flops;
    if (!amount->transpose)
        floor_add_product(&p->profile->floor_parts, flops / amount->peak_per_ns,
                          amount->floor_times);
}

static void count_issues(struct profiler *p) {
    for (uint32_t s = 0; s < p->allocation->issues.len; s++) {
        const struct issue *issue = &p->allocation->issues.at[s];
        uint64_t weight = folded_weight(p->folded, s);
        if (issue->kind == ISSUE_ABSENT)
            continue;
        const struct nki_instr *instr =
            &p->image->program->instrs.at[device_like(p->image, issue->instr)];
        if (is_dma(issue_cost_at(p->costs, s)->queue)) {
            const struct transfer *transfer = &issue_cost_at(p->costs, s)->transfer;
            p->dma_transfers += weight;
            p->dma_descriptors +=
                weight * (transfer->software ? transfer->written : transfer->descriptors);
            p->dma_bytes += weight * transfer->bytes;
            p->dma_engine_ns += (double)weight * transfer->engine_ns * transfer->engines;
        }
        if (issue->kind != ISSUE_INSTR)
            continue;
        count_amount(p, amount_of(p, issue->instr), weight);
        if (issue_cost_at(p->costs, s)->queue == QUEUE_SCALAR && instr->op != NKI_OP_TENSOR_COPY &&
            !nki_op_of_sequencers((enum nki_op)instr->op))
            p->activations += weight;
    }
    p->hbm_write += p->allocation->spill_save_bytes;
    p->hbm_read += p->allocation->spill_reload_bytes + p->allocation->reload_bytes;
}

/* ---- the floor ------------------------------------------------------------------------------ */

/* Of an input only what the kernel reads counts: at most its size, and at most what is moved. */
static void add_reads(const struct folded *folded, uint64_t *read) {
    const struct allocation *allocation = folded->allocation;
    const struct nki_program *program = allocation->image->program;
    struct device_reach own[DEVICE_MAX_OPERANDS];
    for (uint32_t s = 0; s < allocation->issues.len; s++) {
        size_t n;
        if (allocation->issues.at[s].kind > ISSUE_ABSENT)
            continue;
        uint32_t i = allocation->issues.at[s].instr;
        const struct block_operand *operands = allocation_operands(allocation, i, &n);
        const struct device_reach *reaches = device_reaches(allocation->image, i, own);
        for (size_t k = 0; k < n; k++) {
            const struct device_block *block = &allocation->image->blocks[operands[k].first];
            if (operands[k].is_src && block->space == NKI_HBM &&
                program->storages.at[block->storage]->input >= 0)
                read[block->storage] += folded_weight(folded, s) * reaches[k].all_bytes;
        }
    }
}

static double input_bytes(const struct profiler *p) {
    const struct nki_program *program = p->image->program;
    uint64_t *read = mem_alloc(program->storages.len, sizeof *read);
    for (size_t k = 0; p->together && k < p->together->n; k++)
        add_reads(&p->together->cores[k], read);
    if (!p->together)
        add_reads(p->folded, read);
    double bytes = 0;
    for (size_t s = 0; s < program->storages.len; s++)
        bytes += (double)MIN_OF(read[s], program->storages.at[s]->bytes);
    free(read);
    return bytes;
}

static double output_bytes(const struct device_image *image) {
    const struct nki_program *program = image->program;
    double bytes = 0;
    for (size_t s = 0; s < program->storages.len; s++) {
        const struct nki_storage *storage = program->storages.at[s];
        if (storage->space != NKI_HBM || storage->output < 0)
            continue;
        const struct device_block *block = &image->blocks[image->block_base[s]];
        if (image->block_base[s + 1] > image->block_base[s] && block->first != DEVICE_NEVER)
            bytes += (double)storage->bytes;
    }
    return bytes;
}

static void find_floor(struct profiler *p) {
    p->profile->floor_parts.read_bytes = input_bytes(p);
    p->profile->floor_parts.written_bytes =
        output_bytes(p->together ? p->together->image : p->image);
    floor_set(p->profile, p->image->generation);
}

/* ---- metrics -------------------------------------------------------------------------------- */

static void metric(struct profiler *p, const char *name, const char *unit, double value) {
    *vec_push(&p->profile->metrics) =
        (struct device_metric){arena_strdup(p->profile->arena, name), unit, value};
}

static void engine_metrics(struct profiler *p, enum queue queue, const char *name) {
    double total = p->profile->latency_us * 1e3;
    struct arena *arena = p->profile->arena;
    metric(p, arena_printf(arena, "%s_engine_active_time", name), "s", p->busy[queue] / 1e9);
    metric(p, arena_printf(arena, "%s_engine_active_time_percent", name), "%",
           100 * p->busy[queue] / total);
    metric(p, arena_printf(arena, "%s_engine_instruction_count", name), "count",
           (double)p->number[queue]);
}

static void dma_metrics(struct profiler *p) {
    double total = p->profile->latency_us * 1e3;
    metric(p, "dma_active_time", "s", p->dma_busy / 1e9);
    metric(p, "dma_active_time_percent", "%", 100 * p->dma_busy / total);
    metric(p, "dma_transfer_count", "count", (double)p->dma_transfers);
    metric(p, "dma_transfer_total_bytes", "bytes", (double)p->dma_bytes);
    metric(p, "dma_transfer_average_bytes", "bytes",
           p->dma_descriptors ? (double)p->dma_bytes / (double)p->dma_descriptors : 0);
    metric(p, "dma_packet_count", "count", (double)p->dma_descriptors);
    metric(p, "dma_packet_time", "s", p->dma_engine_ns / 1e9);
    metric(p, "hbm_read_bytes", "bytes", (double)p->hbm_read);
    metric(p, "hbm_write_bytes", "bytes", (double)p->hbm_write);
    metric(p, "sbuf_read_bytes", "bytes", (double)p->sbuf_read);
    metric(p, "sbuf_write_bytes", "bytes", (double)p->sbuf_write);
    metric(p, "psum_read_bytes", "bytes", (double)p->psum_read);
    metric(p, "psum_write_bytes", "bytes", (double)p->psum_write);
    metric(p, "spill_save_bytes", "bytes", (double)p->allocation->spill_save_bytes);
    metric(p, "spill_reload_bytes", "bytes", (double)p->allocation->spill_reload_bytes);
    double peak = device_memory_bytes_per_ns(p->image->generation);
    metric(p, "mbu_estimated_percent", "%",
           100 * (double)(p->hbm_read + p->hbm_write) / (total * peak));
}

static void compute_metrics(struct profiler *p) {
    double total = p->profile->latency_us * 1e3;
    const struct device_generation *generation = p->image->generation;
    double peak = generation->pe_tflops_bf16 * 1e3;
    double bytes = (double)(p->hbm_read + p->hbm_write);
    metric(p, "matmul_instruction_count", "count", (double)p->matmuls);
    metric(p, "activate_instruction_count", "count", (double)p->activations);
    metric(p, "model_flops", "flops", p->model_flops);
    metric(p, "transpose_flops", "flops", p->transpose_flops);
    metric(p, "hardware_flops", "flops", p->hardware_flops);
    metric(p, "mfu_estimated_percent", "%", 100 * p->model_flops / (total * peak));
    metric(p, "hfu_estimated_percent", "%", 100 * p->hardware_flops / (total * peak));
    metric(p, "mm_arithmetic_intensity", "ratio", bytes > 0 ? p->model_flops / bytes : 0);
    metric(p, "peak_flops_bandwidth_ratio", "ratio", peak / device_memory_bytes_per_ns(generation));
    metric(p, "throttle_time", "s", p->folded->throttled_ns / 1e9);
    metric(p, "sbuf_peak_bytes", "bytes", (double)p->allocation->sbuf_peak * NKI_PARTITIONS);
    metric(p, "psum_peak_bytes", "bytes", (double)p->allocation->psum_peak * NKI_PARTITIONS);
}

static void fill_metrics(struct profiler *p) {
    double active = 0;
    for (int queue = 0; queue < QUEUE_DMA_IN; queue++)
        active = MAX_OF(active, p->busy[queue]);
    metric(p, "total_time", "s", p->profile->latency_us / 1e6);
    metric(p, "total_active_time", "s", MAX_OF(active, p->dma_busy) / 1e9);
    engine_metrics(p, QUEUE_TENSOR, "tensor");
    engine_metrics(p, QUEUE_VECTOR, "vector");
    engine_metrics(p, QUEUE_SCALAR, "scalar");
    engine_metrics(p, QUEUE_GPSIMD, "gpsimd");
    dma_metrics(p);
    compute_metrics(p);
}

/* ---- cost per line -------------------------------------------------------------------------- */

struct lines {
    struct map index;  /* from file and line to number + 1 in profile->lines */
    uint32_t *of_locs; /* per loc: that number; 0: not looked up yet */
};

/* Of an instruction of `image`: the profile's, or the other core's. What a helper costs that was
 * imported belongs to the line that calls it: a person can see and change that. */
static struct device_line *line_of(struct profiler *p, struct lines *lines,
                                   const struct device_image *image, uint32_t instr) {
    uint32_t at = image->program->instrs.at[device_like(image, instr)].loc;
    if (lines->of_locs[at])
        return &p->profile->lines.at[lines->of_locs[at] - 1];
    const struct nki_loc *loc = nki_loc_own(p->image->program, at);
    uint32_t key[2] = {loc->file, loc->line};
    struct map_entry *entry = map_put(&lines->index, (struct str){(const char *)key, sizeof key});
    if (!entry->value) {
        *vec_push(&p->profile->lines) = (struct device_line){.file = loc->file, .line = loc->line};
        entry->value = (void *)(uintptr_t)p->profile->lines.len;
    }
    lines->of_locs[at] = (uint32_t)(uintptr_t)entry->value;
    return &p->profile->lines.at[lines->of_locs[at] - 1];
}

/* What the critical path is made of: a stretch of time belongs to the line that filled it. */
struct shares {
    struct profiler *profiler;
    struct lines *lines;
};

static void add_stretch(void *data, const struct stretch *stretch) {
    struct shares *shares = data;
    struct profiler *p = shares->profiler;
    const struct allocation *allocation = stretch->core->allocation;
    double ns = stretch->until_ns - stretch->from_ns;
    uint32_t instr = allocation->issues.at[stretch->s].instr;
    line_of(p, shares->lines, allocation->image, instr)->share += ns;
    p->critical_ns[issue_cost_at(stretch->core->costs, stretch->s)->queue] += ns;
}

static void walk_critical_path(struct profiler *p, struct lines *lines) {
    struct shares shares = {p, lines};
    double latency = p->folded->latency_ns + p->table->start_ns + p->table->end_ns;
    way_walk(p->folded, add_stretch, &shares);
    for (size_t k = 0; k < p->profile->lines.len && latency > 0; k++)
        p->profile->lines.at[k].share /= latency;
}

static int by_share(const void *a, const void *b) {
    const struct device_line *x = a, *y = b;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static void fill_lines(struct profiler *p) {
    struct lines lines = {.of_locs =
                              mem_alloc(p->image->program->locs.len + 1, sizeof *lines.of_locs)};
    for (uint32_t s = 0; s < p->allocation->issues.len; s++) {
        const struct issue *issue = &p->allocation->issues.at[s];
        struct device_line *line = line_of(p, &lines, p->image, issue->instr);
        uint64_t weight = folded_weight(p->folded, s);
        enum nki_engine engine = queue_engine(issue_cost_at(p->costs, s)->queue);
        line->engine_ns[engine] += (double)weight * (p->time->end[s] - p->time->start[s]);
        line->engine_calls[engine] += weight;
        line->instructions += issue->kind == ISSUE_INSTR ? weight : 0;
        if (is_dma(issue_cost_at(p->costs, s)->queue) && issue->kind == ISSUE_INSTR) {
            const struct transfer *transfer = &issue_cost_at(p->costs, s)->transfer;
            bool hbm = transfer->reads_hbm || transfer->writes_hbm;
            line->hbm_bytes += hbm ? weight * transfer->bytes : 0;
        }
    }
    walk_critical_path(p, &lines);
    map_free(&lines.index);
    free(lines.of_locs);
    if (p->profile->lines.len)
        qsort(p->profile->lines.at, p->profile->lines.len, sizeof *p->profile->lines.at, by_share);
}

/* ---- bounds --------------------------------------------------------------------------------- */

/* A queue that takes less than this share of the critical path is not worth a schedule without it:
 * lifting it changes almost nothing. */
#define WORTH_LIFTING 0.03

/* The latency if that queue took no time. The new schedule takes the place of the one that the
 * profile was made of. */
static bool latency_without(struct profiler *p, const struct timing *timing, int queue,
                            double *ns) {
    if (p->folded->allocation->gaps.len)
        return folded_again(timing, queue, p->folded, ns);
    if (p->together)
        *ns = together_again(p->together, queue);
    else
        *ns = timeline_latency(p->folded->time, queue);
    return true;
}

static void fill_bounds(struct profiler *p, const struct timing *timing) {
    static const char *const names[] = {"Tensor", "Vector", "Scalar", "GpSimd", "DMA"};
    double around = p->table->start_ns + p->table->end_ns, best = 0;
    double whole = p->folded->latency_ns; /* schedules without a queue take the place of this one */
    p->profile->bound = "latency";
    for (int queue = 0; queue <= QUEUE_DMA_IN; queue++) {
        bool dma = queue == QUEUE_DMA_IN;
        double busy = dma ? p->dma_busy : p->busy[queue];
        double critical = p->critical_ns[queue] + (dma ? p->critical_ns[QUEUE_DMA_OUT] : 0);
        if (busy <= 0 && critical <= 0) /* it may be the other core's that is critical */
            continue;
        double less = whole;
        if (critical > WORTH_LIFTING * whole)
            p->is_steady &= latency_without(p, timing, queue, &less);
        if (!p->is_steady)
            return;
        double ns = MIN_OF(less, whole) + around;
        *vec_push(&p->profile->bounds) = (struct device_bound){names[queue], busy, ns};
        if (p->profile->latency_us * 1e3 - ns > best) {
            best = p->profile->latency_us * 1e3 - ns;
            p->profile->bound = names[queue];
        }
    }
}

uint32_t device_pass_find(const char *name) {
    static const char *const names[] = {
#define PASS(id, name, ...) name,
#include "device/compile/passes.def"
#undef PASS
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(names[i], name) == 0)
            return 1u << i;
    return 0;
}

static void fill_queues(struct profiler *p) {
    for (int queue = 0; queue < QUEUE_COUNT; queue++)
        *vec_push(&p->profile->queues) =
            (struct device_queue){queue_names[queue], queue_engine((enum queue)queue)};
}

/* The spans of all rounds take more memory than the schedule that they come from. */
static void bounds_and_spans(struct profiler *p, const struct timing *timing) {
    struct spans_copy *copy = spans_copy_make(p->folded);
    vec_free(&p->profile->spans);
    fill_bounds(p, timing);
    folded_free(p->folded);
    if (p->is_steady)
        spans_of_whole(copy, p->start_ns, p->profile);
    else
        spans_copy_free(copy);
}

static bool fill_profile(struct profiler *p, const struct timing *timing) {
    const struct device_constants *table = p->table;
    fill_queues(p);
    p->profile->latency_us = (p->folded->latency_ns + table->start_ns + table->end_ns) / 1e3;
    count_spans(p);
    fill_spans(p, false);
    count_busy(p);
    p->amounts =
        mem_alloc(MIN_OF(p->image->kinds.len + 1, (size_t)AMOUNTS_KEPT), sizeof *p->amounts);
    count_issues(p);
    free(p->amounts);
    find_floor(p);
    fill_metrics(p);
    fill_lines(p);
    if (p->allocation->gaps.len && timing->all_spans)
        bounds_and_spans(p, timing);
    else {
        if (p->allocation->gaps.len)
            fill_spans(p, true); /* where they are in the whole program */
        fill_bounds(p, timing);
    }
    return p->is_steady;
}

struct device_profile *profile_make(const struct timing *timing, struct folded *folded,
                                    struct together *together) {
    struct device_profile *profile = mem_alloc(1, sizeof *profile);
    profile->arena = arena_new();
    profile->cores = together ? (int)together->n : 1;
    struct profiler p = {.image = timing->image,
                         .allocation = folded->allocation,
                         .time = folded->time,
                         .folded = folded,
                         .together = together,
                         .is_steady = true,
                         .table = timing->table,
                         .costs = folded->costs,
                         .profile = profile,
                         .start_ns = timing->table->start_ns};
    if (fill_profile(&p, timing))
        return profile;
    device_profile_free(profile);
    return NULL;
}

static struct device_profile *profile_of(const struct timing *timing) {
    struct folded folded;
    if (timing->image->cores)
        return cores_profile(timing);
    if (!folded_make(timing, -1, &folded))
        return NULL;
    struct device_profile *profile = profile_make(timing, &folded, NULL);
    folded_free(&folded);
    return profile;
}

static struct device_constants constants_for(const struct device_image *image,
                                             const struct device_constants *constants) {
    return device_constants_on_grid(constants ? constants
                                              : device_constants_of(image->generation->generation));
}

struct device_profile *time_profile(const struct device_image *image,
                                    const struct device_constants *constants, bool all_spans) {
    struct device_constants on_grid = constants_for(image, constants);
    return profile_of(&(struct timing){.image = image, .table = &on_grid, .all_spans = all_spans});
}

struct device_profile *device_time_without(const struct device_image *image,
                                           const struct device_constants *constants,
                                           uint32_t passes) {
    struct device_constants on_grid = constants_for(image, constants);
    return profile_of(&(struct timing){.image = image, .table = &on_grid, .without = passes});
}

static double latency_of_cores(const struct timing *timing) {
    struct together together;
    together_make(timing, &together);
    double ns = together_again(&together, -1);
    together_free(&together);
    return (ns + timing->table->start_ns + timing->table->end_ns) / 1e3;
}

double time_latency(const struct device_image *image, const struct device_constants *constants) {
    return time_latency_changed(image, constants, NULL);
}

double time_latency_changed(const struct device_image *image,
                            const struct device_constants *constants,
                            const struct compile_change *change) {
    struct device_constants on_grid = constants_for(image, constants);
    struct timing timing = {.image = image, .table = &on_grid, .change = change};
    struct folded folded;
    if (image->cores)
        return latency_of_cores(&timing);
    if (!folded_make(&timing, -1, &folded))
        return 0;
    double us = (folded.latency_ns + on_grid.start_ns + on_grid.end_ns) / 1e3;
    folded_free(&folded);
    return us;
}

double device_latency(const struct device_image *image, const struct device_constants *constants) {
    if (!constants)
        constants = device_constants_of(image->generation->generation);
    if (image->cores)
        return latency_of_cores(&(struct timing){.image = image, .table = constants});
    struct allocation *allocation = allocation_make(image, constants, 0);
    struct issue_costs *costs = issue_costs_make(allocation, constants);
    struct depends *depends = depends_make(allocation, costs);
    struct schedule schedule = {allocation, depends, constants, costs};
    struct timeline *time = timeline_new(&schedule);
    double us = (timeline_latency(time, -1) + constants->start_ns + constants->end_ns) / 1e3;
    timeline_free(time);
    depends_free(depends);
    issue_costs_free(costs);
    allocation_free(allocation);
    return us;
}

void device_profile_free(struct device_profile *profile) {
    if (!profile)
        return;
    vec_free(&profile->metrics);
    vec_free(&profile->lines);
    vec_free(&profile->bounds);
    vec_free(&profile->queues);
    vec_free(&profile->spans);
    arena_free(profile->arena);
    free(profile);
}
