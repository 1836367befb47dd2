/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of a device, from what tools wrote of it (their tables in Parquet: measured_tables.c).
 * Three texts are known, each may have log lines around it:
 *   a summary  {node: {"total_time": ..}}, or one such object (neuron-explorer and neuron-profile,
 *              view --output-format summary-json)
 *   a profile  {"summary": [{..}], "instruction": [{"timestamp", "duration", "label", "opcode",
 *              ..}]} (--output-format json: the profiler's user guide; later releases name fields
 *              as in the table Instruction). Its transfers do not say from where and to where, and
 *              its evt_wait_time is no wait: public profiles have one number there for hundreds
 *              of instructions, above every gap between them. So gaps are taken.
 *   ours       "format": "hone-profile" (PROTOCOL.md), which the runner made on the host, of its
 *              Parquet tables where it has them
 * Where a file has nothing, a cell is null. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "query/private.h"

#define MOST_TEXT ((size_t)256 << 20)
#define MOST_SPANS ((size_t)2000000)
#define MOST_WARNINGS 40

const char *const measured_lanes[MEASURED_LANES] = {"Tensor", "Vector",  "Scalar", "GpSimd",
                                                    "DMA in", "DMA out", "Sync"};

void measured_warn(struct measured *measured, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    if (measured->warnings.len == MOST_WARNINGS)
        return;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    *vec_push(&measured->warnings) = text_pool_keep(measured->texts, buf_str(&text));
    buf_free(&text);
}

/* ---- values of JSON ------------------------------------------------------------------------- */

static const cJSON *at(const cJSON *object, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* The first of the names that has a number; NAN. */
static double number(const cJSON *object, const char *name, const char *other) {
    const cJSON *item = at(object, name);
    if (!cJSON_IsNumber(item) && other)
        item = at(object, other);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

static int64_t whole(const cJSON *object, const char *name) {
    double value = number(object, name, NULL);
    return value >= 0 && value < 9e15 ? (int64_t)value : -1;
}

static const char *text(struct measured *measured, const cJSON *object, const char *name) {
    const cJSON *item = at(object, name);
    bool some = cJSON_IsString(item) && *item->valuestring;
    return some ? text_pool_keep(measured->texts, str_of(item->valuestring)) : NULL;
}

/* cJSON takes no NaN and no Infinity, which the tools may print; they become null. */
static void numbers_clean(struct str json, struct buf *out) {
    static const char *const words[] = {"-Infinity", "Infinity", "NaN"};
    bool quoted = false;
    for (size_t i = 0; i < json.len; i++) {
        struct str rest = {json.at + i, json.len - i};
        size_t word = 0;
        while (!quoted && word < COUNT_OF(words) && !str_starts(rest, words[word]))
            word++;
        if (!quoted && word < COUNT_OF(words)) {
            buf_puts(out, "null");
            i += strlen(words[word]) - 1;
            continue;
        }
        buf_putc(out, json.at[i]);
        if (quoted && json.at[i] == '\\' && i + 1 < json.len)
            buf_putc(out, json.at[++i]);
        else if (json.at[i] == '"')
            quoted = !quoted;
    }
}

/* ---- spans ---------------------------------------------------------------------------------- */

bool measured_lane(const char *word, uint32_t *lane) {
    static const struct {
        const char *begins;
        uint32_t lane;
    } words[] = {{"tensor", 0}, {"pe", 0},     {"vector", 1}, {"dve", 1},  {"scalar", 2},
                 {"act", 2},    {"gpsimd", 3}, {"pool", 3},   {"sync", 6}, {"sp", 6}};
    for (size_t i = 0; word && i < COUNT_OF(words); i++)
        if (!strncasecmp(word, words[i].begins, strlen(words[i].begins))) {
            *lane = words[i].lane;
            return true;
        }
    return false;
}

static void place_take(struct measured *measured, struct measured_span *span, const char *place) {
    const char *base = place ? path_base(place) : NULL, *colon = base ? strrchr(base, ':') : NULL;
    long long line;
    if (!colon || !str_to_int(str_of(colon + 1), &line) || line < 1 || line > INT32_MAX)
        return;
    span->line = line;
    span->place = text_pool_keep(measured->texts, str_of(base));
    span->file = text_pool_keep(measured->texts, (struct str){base, (size_t)(colon - base)});
}

void measured_place(struct measured *measured, struct measured_span *span, struct str frames) {
    struct str part;
    while (str_next(&frames, ',', &part)) {
        struct buf one = {0};
        for (size_t k = 0; k < part.len; k++)
            if (!strchr(" []'\"", part.at[k]))
                buf_putc(&one, part.at[k]);
        place_take(measured, span, one.at);
        buf_free(&one);
    }
}

static void places_take(struct measured *measured, struct measured_span *span, const cJSON *row) {
    static const char *const names[] = {"nki_source_location", "bir_debug_info_source_location"};
    for (size_t i = 0; i < COUNT_OF(names) && !span->place; i++) {
        const cJSON *item = at(row, names[i]);
        measured_place(measured, span, str_of(cJSON_IsString(item) ? item->valuestring : ""));
    }
}

static bool instruction_take(struct measured *measured, const cJSON *row) {
    const char *engine = text(measured, row, "engine");
    struct measured_span span = {.start_ns = number(row, "start_ts", "timestamp"),
                                 .end_ns = number(row, "end_ts", NULL),
                                 .waited_ns = number(row, "evt_wait_time_ns", NULL),
                                 .flops = number(row, "adjusted_flops", NULL),
                                 .opcode = text(measured, row, "opcode"),
                                 .operands = text(measured, row, "operands"),
                                 .name = text(measured, row, "bir_id"),
                                 .kind = text(measured, row, "tensor_instruction_type"),
                                 .number = whole(row, "id"),
                                 .read_bytes = whole(row, "hbm_read_bytes"),
                                 .write_bytes = whole(row, "hbm_write_bytes")};
    double duration = number(row, "duration_ns", "duration");
    if (isnan(span.end_ns))
        span.end_ns = span.start_ns + (duration > 0 ? duration : 0);
    if (!isfinite(span.start_ns) || !isfinite(span.end_ns) || span.end_ns < span.start_ns ||
        !measured_lane(engine ? engine : text(measured, row, "label"), &span.lane))
        return false;
    places_take(measured, &span, row);
    *vec_push(&measured->spans) = span;
    return true;
}

/* [instruction, lane, operation, line, start_ns, end_ns] */
static bool span_take(struct measured *measured, const cJSON *row, const char *file) {
    double values[6] = {0};
    const char *opcode = NULL;
    const cJSON *item;
    size_t count = 0;
    cJSON_ArrayForEach(item, row) {
        if (count < COUNT_OF(values) && cJSON_IsNumber(item))
            values[count] = item->valuedouble;
        if (count == 2 && cJSON_IsString(item))
            opcode = text_pool_keep(measured->texts, str_of(item->valuestring));
        count++;
    }
    if (count != COUNT_OF(values) || !(values[0] >= 0 && values[0] < 9e15) ||
        !(values[1] >= 0 && values[1] < MEASURED_LANES) || !(values[4] >= 0) ||
        !(values[5] >= values[4]) || !isfinite(values[5]))
        return false;
    struct measured_span span = {.number = (int64_t)values[0],
                                 .lane = (uint32_t)values[1],
                                 .opcode = opcode,
                                 .start_ns = values[4],
                                 .end_ns = values[5],
                                 .waited_ns = NAN,
                                 .flops = NAN,
                                 .read_bytes = -1,
                                 .write_bytes = -1};
    if (values[3] >= 1 && values[3] < 1e9 && file) {
        struct buf place = {0};
        buf_printf(&place, "%s:%.0f", file, values[3]);
        place_take(measured, &span, place.at);
        buf_free(&place);
    }
    *vec_push(&measured->spans) = span;
    return true;
}

/* ---- what follows from them ----------------------------------------------------------------- */

static int by_start(const void *a, const void *b) {
    const struct measured_span *x = a, *y = b;
    if (x->start_ns < y->start_ns || x->start_ns > y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->lane != y->lane ? (x->lane < y->lane ? -1 : 1)
                              : (x->number > y->number) - (x->number < y->number);
}

static bool is_transfer(const struct measured_span *span) {
    return span->lane == MEASURED_DMA_IN || span->lane == MEASURED_DMA_OUT;
}

static void shift(double *start_ns, double *end_ns, double base, double unit) {
    *start_ns = (*start_ns - base) * unit;
    *end_ns = (*end_ns - base) * unit;
}

/* Full profiles have counted in ps, ns and µs; that which comes nearest to the time of the whole
 * run is taken. */
static double unit_of_times(double span, double latency_us) {
    static const double units[] = {1, 1e-3, 1e3};
    double best = 1, off = INFINITY;
    for (size_t i = 0; i < COUNT_OF(units) && span > 0 && latency_us > 0; i++)
        if (fabs(log(span * units[i] * 1e-3 / latency_us)) < off) {
            off = fabs(log(span * units[i] * 1e-3 / latency_us));
            best = units[i];
        }
    return best;
}

void measured_scale(struct measured *measured, bool is_ns) {
    double base = INFINITY, end = -INFINITY;
    for (size_t i = 0; i < measured->spans.len; i++) {
        base = MIN_OF(base, measured->spans.at[i].start_ns);
        end = MAX_OF(end, measured->spans.at[i].end_ns);
    }
    for (size_t i = 0; !measured->spans.len && i < measured->packets.len; i++) {
        base = MIN_OF(base, measured->packets.at[i].start_ns);
        end = MAX_OF(end, measured->packets.at[i].end_ns);
    }
    double unit = isfinite(base) && !is_ns ? unit_of_times(end - base, measured->latency_us) : 1;
    base = isfinite(base) ? base : 0;
    for (size_t i = 0; i < measured->spans.len; i++)
        shift(&measured->spans.at[i].start_ns, &measured->spans.at[i].end_ns, base, unit);
    for (size_t i = 0; i < measured->packets.len; i++)
        shift(&measured->packets.at[i].start_ns, &measured->packets.at[i].end_ns, base, unit);
    for (size_t i = 0; i < measured->actives.len; i++)
        shift(&measured->actives.at[i].start_ns, &measured->actives.at[i].end_ns, base, unit);
}

static void stretch_add(struct measured *measured, size_t last[MEASURED_LANES],
                        const struct measured_span *span) {
    uint32_t lane = span->lane == MEASURED_DMA_OUT ? MEASURED_DMA_IN : span->lane;
    struct stretch *open = last[lane] ? &measured->actives.at[last[lane] - 1] : NULL;
    if (open && span->start_ns <= open->end_ns) {
        open->end_ns = MAX_OF(open->end_ns, span->end_ns);
        return;
    }
    *vec_push(&measured->actives) = (struct stretch){lane, span->start_ns, span->end_ns};
    last[lane] = measured->actives.len;
}

void measured_end(struct measured *measured) {
    double ends[MEASURED_LANES] = {0};
    size_t last[MEASURED_LANES] = {0};
    bool told = measured->actives.len > 0;
    if (measured->spans.len)
        qsort(measured->spans.at, measured->spans.len, sizeof *measured->spans.at, by_start);
    for (size_t i = 0; i < measured->spans.len; i++) {
        struct measured_span *span = &measured->spans.at[i];
        if (isnan(span->waited_ns))
            span->waited_ns = MAX_OF(span->start_ns - ends[span->lane], 0.0);
        ends[span->lane] = MAX_OF(ends[span->lane], span->end_ns);
        if (!told)
            stretch_add(measured, last, span);
        if (is_transfer(span))
            *vec_push(&measured->transfers) = (uint32_t)i;
    }
}

/* ---- the three texts ------------------------------------------------------------------------ */

/* What the tool itself says that the profile lacks. */
static void warnings_take(struct measured *measured, const cJSON *root) {
    const cJSON *row;
    cJSON_ArrayForEach(row, at(root, "warnings")) {
        const cJSON *message = at(row, "message");
        if (cJSON_IsString(message))
            measured_warn(measured, "%s", message->valuestring);
    }
}

static void profile_take(struct measured *measured, const cJSON *root) {
    const cJSON *row, *summary = cJSON_GetArrayItem(at(root, "summary"), 0);
    size_t odd = 0;
    if (measured_is_summary(summary))
        measured_summary(measured, summary);
    cJSON_ArrayForEach(row, at(root, "instruction")) {
        if (measured->spans.len == MOST_SPANS || !instruction_take(measured, row))
            odd++;
    }
    measured_scale(measured, false);
    if (odd)
        measured_warn(measured,
                      "Left out, because they have no times or no engine: %zu "
                      "instructions.",
                      odd);
    measured_warn(measured, "Transfers are not read from the profiler's JSON.");
    warnings_take(measured, root);
}

static void lines_take(struct measured *measured, const cJSON *root) {
    static const char *const engines[] = {"tensor", "vector", "scalar", "gpsimd", "dma"};
    const cJSON *row, *files = at(root, "files");
    cJSON_ArrayForEach(row, at(root, "lines")) {
        int64_t file = whole(row, "file");
        const cJSON *name = cJSON_GetArrayItem(files, file < 0 || file > 10000 ? 0 : (int)file);
        struct measured_line line = {.line = whole(row, "line"),
                                     .instructions = whole(row, "instructions"),
                                     .hbm_bytes = whole(row, "hbm_bytes"),
                                     .share = number(row, "share", NULL)};
        if (cJSON_IsString(name))
            line.file = text_pool_keep(measured->texts, str_of(path_base(name->valuestring)));
        for (size_t i = 0; i < COUNT_OF(engines); i++) {
            /* the device model writes "scalar", the runner of hosts "Scalar" */
            const cJSON *ns = cJSON_GetObjectItem(at(row, "engine_ns"), engines[i]);
            line.engine_ns[i] = cJSON_IsNumber(ns) && ns->valuedouble > 0 ? ns->valuedouble : 0;
        }
        *vec_push(&measured->lines) = line;
    }
}

static void numbers_take(struct measured *measured, const cJSON *root) {
    const cJSON *row;
    cJSON_ArrayForEach(row, at(root, "metrics")) {
        struct measured_metric metric = {text(measured, row, "name"), text(measured, row, "unit"),
                                         number(row, "value", NULL)};
        if (metric.name && isfinite(metric.value))
            *vec_push(&measured->metrics) = metric;
    }
    cJSON_ArrayForEach(row, at(root, "bounds")) {
        struct measured_bound bound = {text(measured, row, "name"),
                                       number(row, "busy_ns", NULL) / 1e3,
                                       number(row, "without_ns", NULL) / 1e3};
        if (bound.name)
            *vec_push(&measured->bounds) = bound;
    }
    cJSON_ArrayForEach(row, at(root, "doubts")) {
        if (cJSON_IsString(row))
            measured_warn(measured, "%s", row->valuestring);
    }
}

static void ours_take(struct measured *measured, const cJSON *root) {
    const cJSON *row, *file = cJSON_GetArrayItem(at(root, "files"), 0);
    const char *source = text(measured, root, "source");
    double left_out = number(root, "spans_left_out", NULL), floor_us;
    measured->source = source && !strcmp(source, "measured") ? "device" : "model";
    measured->kernel = text(measured, root, "kernel");
    measured->device = text(measured, root, "generation");
    measured->bound = text(measured, root, "bound");
    measured->floor_bound = text(measured, root, "floor_bound");
    measured->latency_us = number(root, "latency_us", NULL);
    floor_us = number(root, "floor_us", NULL);
    measured->floor_us = floor_us > 0 ? floor_us : (double)NAN;
    numbers_take(measured, root);
    lines_take(measured, root);
    cJSON_ArrayForEach(row, at(root, "spans")) {
        const char *name = cJSON_IsString(file) ? file->valuestring : NULL;
        if (measured->spans.len == MOST_SPANS || !span_take(measured, row, name))
            left_out = (isnan(left_out) ? 0 : left_out) + 1;
    }
    if (left_out > 0)
        measured_warn(measured, "%.0f spans were left out of the timeline.", left_out);
}

/* The node that took longest: with several cores that is when the kernel was done. */
static const cJSON *slowest_of(struct measured *measured, const cJSON *root) {
    const cJSON *node, *found = measured_is_summary(root) ? root : NULL;
    size_t nodes = 0;
    if (found)
        return found;
    cJSON_ArrayForEach(node, root) {
        const cJSON *one = cJSON_IsArray(node) ? cJSON_GetArrayItem(node, 0) : node;
        if (!measured_is_summary(one))
            continue;
        nodes++;
        if (!found || number(one, "total_time", NULL) > number(found, "total_time", NULL))
            found = one;
    }
    if (nodes > 1)
        measured_warn(measured, "The file has %zu nodes; these are the numbers of the slowest.",
                      nodes);
    return found;
}

static bool root_take(struct measured *measured, const cJSON *root, struct err *err) {
    const char *format = text(measured, root, "format");
    const cJSON *summary = NULL;
    measured->source = "device";
    if (format && !strcmp(format, "hone-profile"))
        ours_take(measured, root);
    else if (cJSON_IsArray(at(root, "instruction")))
        profile_take(measured, root);
    else if (cJSON_IsObject(root) && (summary = slowest_of(measured, root)))
        measured_summary(measured, summary);
    else
        return err_set(err, ERR_DAMAGED,
                       "it is JSON, but no profile: neither a summary nor a profile of "
                       "neuron-explorer (view --output-format summary-json), nor one of hone");
    measured_end(measured);
    return true;
}

/* ---- begin and end -------------------------------------------------------------------------- */

struct measured *measured_new(void) {
    struct measured *measured = mem_alloc(1, sizeof *measured);
    *measured = (struct measured){.arena = arena_new(), .latency_us = NAN, .floor_us = NAN};
    measured->texts = text_pool_new(measured->arena);
    return measured;
}

struct measured *measured_read(struct str json, struct err *err) {
    struct buf clean = {0};
    const char *first = json.len ? memchr(json.at, '{', json.len) : NULL;
    size_t len = json.len;
    while (len && json.at[len - 1] != '}')
        len--;
    if (!first || json.at + len <= first || json.len > MOST_TEXT) {
        err_set(err, ERR_DAMAGED,
                json.len > MOST_TEXT ? "it is larger than 256 MiB" : "there is no JSON in it");
        return NULL;
    }
    numbers_clean((struct str){first, (size_t)(json.at + len - first)}, &clean);
    cJSON *root = cJSON_ParseWithLength(clean.at, clean.len);
    buf_free(&clean);
    struct measured *measured = measured_new();
    bool ok = root ? root_take(measured, root, err)
                   : err_set(err, ERR_DAMAGED, "what is in it is no JSON, or not all of it");
    cJSON_Delete(root);
    if (ok)
        return measured;
    measured_free(measured);
    return NULL;
}

void measured_free(struct measured *measured) {
    if (!measured)
        return;
    vec_free(&measured->metrics);
    vec_free(&measured->lines);
    vec_free(&measured->bounds);
    vec_free(&measured->spans);
    vec_free(&measured->transfers);
    vec_free(&measured->actives);
    vec_free(&measured->moves);
    vec_free(&measured->packets);
    vec_free(&measured->tensors);
    vec_free(&measured->hardware);
    vec_free(&measured->warnings);
    buf_free(&measured->text);
    text_pool_free(measured->texts);
    arena_free(measured->arena);
    free(measured);
}
