/* SPDX-License-Identifier: Apache-2.0 */
#include "write/graph/graph.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#define MAX_ELEMENTS ((int64_t)1 << 48) /* of an array */

static const struct graph_op ops[] = {
    {"", GRAPH_OTHER, NULL, NULL},
    {"input", GRAPH_INPUT, NULL, NULL},
    {"constant", GRAPH_CONSTANT, NULL, NULL},
    {"cast", GRAPH_CAST, NULL, NULL},
    {"copy", GRAPH_CAST, NULL, NULL},
    {"where", GRAPH_WHERE, NULL, NULL},
    {"reshape", GRAPH_RESHAPE, NULL, NULL},
    {"transpose", GRAPH_TRANSPOSE, NULL, NULL},
    {"broadcast", GRAPH_BROADCAST, NULL, NULL},
    {"slice", GRAPH_SLICE, NULL, NULL},
    {"windows", GRAPH_WINDOWS, NULL, NULL},
    {"update", GRAPH_UPDATE, NULL, NULL},
    {"concatenate", GRAPH_CONCATENATE, NULL, NULL},
    {"contract", GRAPH_CONTRACT, NULL, NULL},
    {"taps", GRAPH_TAPS, NULL, NULL},
    {"argmax", GRAPH_ARGUMENT, "maximum", NULL},
    {"argmin", GRAPH_ARGUMENT, "minimum", NULL},
    {"gather", GRAPH_GATHER, NULL, NULL},
    {"gather_along", GRAPH_GATHER_ALONG, NULL, NULL},
    {"sum", GRAPH_REDUCE, "add", NULL},
    {"prod", GRAPH_REDUCE, "multiply", NULL},
    {"max", GRAPH_REDUCE, "maximum", NULL},
    {"min", GRAPH_REDUCE, "minimum", NULL},
    {"any", GRAPH_REDUCE, "maximum", NULL},
    {"all", GRAPH_REDUCE, "minimum", NULL},
    {"cumsum", GRAPH_SCAN, "add", NULL},
    {"cumprod", GRAPH_SCAN, "multiply", NULL},
    {"cummax", GRAPH_SCAN, "maximum", NULL},
    {"cummin", GRAPH_SCAN, "minimum", NULL},
    {"add", GRAPH_BINARY, "add", NULL},
    {"subtract", GRAPH_BINARY, "subtract", NULL},
    {"multiply", GRAPH_BINARY, "multiply", NULL},
    {"divide", GRAPH_BINARY, "divide", NULL},
    {"maximum", GRAPH_BINARY, "maximum", NULL},
    {"minimum", GRAPH_BINARY, "minimum", NULL},
    {"fmax", GRAPH_BINARY, "maximum", NULL},
    {"fmin", GRAPH_BINARY, "minimum", NULL},
    {"power", GRAPH_BINARY, "power", NULL},
    {"float_power", GRAPH_BINARY, "power", NULL},
    {"equal", GRAPH_BINARY, "equal", NULL},
    {"not_equal", GRAPH_BINARY, "not_equal", NULL},
    {"less", GRAPH_BINARY, "less", NULL},
    {"less_equal", GRAPH_BINARY, "less_equal", NULL},
    {"greater", GRAPH_BINARY, "greater", NULL},
    {"greater_equal", GRAPH_BINARY, "greater_equal", NULL},
    {"logical_and", GRAPH_BINARY, "logical_and", NULL},
    {"logical_or", GRAPH_BINARY, "logical_or", NULL},
    {"logical_xor", GRAPH_BINARY, "logical_xor", NULL},
    {"recurrence", GRAPH_RECURRENCE, NULL, NULL},
    {"exp", GRAPH_UNARY, NULL, "exp"},
    {"log", GRAPH_UNARY, NULL, "log"},
    {"sqrt", GRAPH_UNARY, NULL, "sqrt"},
    {"tanh", GRAPH_UNARY, NULL, "tanh"},
    {"abs", GRAPH_UNARY, NULL, "abs"},
    {"square", GRAPH_UNARY, NULL, "square"},
    {"sign", GRAPH_UNARY, NULL, "sign"},
    {"erf", GRAPH_UNARY, NULL, "erf"},
    {"expit", GRAPH_UNARY, NULL, "sigmoid"},
    {"negative", GRAPH_UNARY, NULL, NULL},
    {"reciprocal", GRAPH_UNARY, NULL, NULL},
    {"logical_not", GRAPH_UNARY, NULL, NULL},
};

const struct graph_op *graph_op_named(const char *name) {
    for (size_t i = 1; name && i < COUNT_OF(ops); i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    return &ops[0];
}

/* The device's type for one of numpy's; NULL where there is none. */
static const char *device_dtype(const char *name) {
    static const char *const pairs[][2] = {{"float64", "float32"},
                                           {"float32", "float32"},
                                           {"float16", "float16"},
                                           {"bool", "uint8"},
                                           {"int64", "int32"},
                                           {"int32", "int32"},
                                           {"int16", "int16"},
                                           {"int8", "int8"},
                                           {"uint8", "uint8"},
                                           {"uint16", "uint16"},
                                           {"uint32", "uint32"},
                                           {"uint64", "uint32"},
                                           {"bfloat16", "bfloat16"},
                                           {"float8_e4m3", "float8_e4m3"},
                                           {"float8_e5m2", "float8_e5m2"}};
    for (size_t i = 0; name && i < COUNT_OF(pairs); i++)
        if (strcmp(pairs[i][0], name) == 0)
            return pairs[i][1];
    return NULL;
}

static const cJSON *item(const cJSON *row, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(row, name);
}

static const char *text_of(const cJSON *row, const char *name) {
    const cJSON *found = item(row, name);
    return cJSON_IsString(found) ? found->valuestring : NULL;
}

/* Whole numbers of a list, at most `most`; -1 for anything else. */
static int read_ints(const cJSON *list, int *at, int most) {
    int n = 0;
    if (!cJSON_IsArray(list))
        return -1;
    for (const cJSON *one = list->child; one; one = one->next) {
        if (n == most || !cJSON_IsNumber(one) || fabs(one->valuedouble) > 1e9)
            return -1;
        at[n++] = (int)one->valuedouble;
    }
    return n;
}

static int read_sizes(const cJSON *list, int64_t *at) {
    int n = 0;
    if (!cJSON_IsArray(list))
        return -1;
    for (const cJSON *one = list->child; one; one = one->next) {
        if (n == GRAPH_MAX_DIMS || !cJSON_IsNumber(one) || !(one->valuedouble >= 0) ||
            one->valuedouble > 1e12)
            return -1;
        at[n++] = (int64_t)one->valuedouble;
    }
    return n;
}

/* A recorded row says which dimensions an operation works on in one of these. */
static bool read_axes(const cJSON *row, struct graph_node *node) {
    static const char *const names[] = {"axes", "order"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (item(row, names[i])) {
            node->axis_count = read_ints(item(row, names[i]), node->axes, GRAPH_MAX_DIMS);
            return node->axis_count >= 0;
        }
    return true;
}

static bool read_part(const cJSON *row, struct graph_node *node) {
    int n = 0;
    const cJSON *part = item(row, "part");
    for (const cJSON *one = part ? part->child : NULL; one; one = one->next) {
        int range[3];
        if (n == GRAPH_MAX_DIMS || read_ints(one, range, 3) != 3)
            return false;
        node->part[n++] = (struct graph_range){range[0], range[1], range[2]};
    }
    return true;
}

static bool read_terms(const cJSON *row, const struct graph_node *nodes, struct graph_node *node,
                       struct arena *arena) {
    const cJSON *terms = item(row, "terms");
    if (!terms)
        return true;
    node->terms = arena_alloc(arena, (size_t)node->in_count + 1, sizeof *node->terms);
    node->out = ARENA_ARRAY(arena, int, GRAPH_MAX_DIMS);
    int n = 0;
    for (const cJSON *one = terms->child; one; one = one->next, n++)
        if (n == node->in_count ||
            read_ints(one, node->terms[n], GRAPH_MAX_DIMS) != nodes[node->in[n]].ndim)
            return false;
    return n == node->in_count &&
           read_ints(item(row, "out"), node->out, GRAPH_MAX_DIMS) == node->ndim;
}

/* The operands that each kind of operation has, by their number; 0: any. */
static int operands_of(enum graph_kind kind) {
    static const int counts[] = {
        [GRAPH_UNARY] = 1,   [GRAPH_BINARY] = 2,      [GRAPH_CAST] = 1,
        [GRAPH_WHERE] = 3,   [GRAPH_REDUCE] = 1,      [GRAPH_SCAN] = 1,
        [GRAPH_RESHAPE] = 1, [GRAPH_TRANSPOSE] = 1,   [GRAPH_BROADCAST] = 1,
        [GRAPH_SLICE] = 1,   [GRAPH_UPDATE] = 2,      [GRAPH_CONCATENATE] = 0,
        [GRAPH_WINDOWS] = 1, [GRAPH_RECURRENCE] = 3,  [GRAPH_ARGUMENT] = 1,
        [GRAPH_GATHER] = 2,  [GRAPH_GATHER_ALONG] = 2};
    return (size_t)kind < COUNT_OF(counts) ? counts[kind] : 0;
}

static bool are_windows(const struct graph_node *source, const struct graph_node *node) {
    if (node->ndim != source->ndim + node->axis_count)
        return false;
    int64_t left[GRAPH_MAX_DIMS];
    memcpy(left, source->shape, sizeof left);
    for (int i = 0; i < node->axis_count; i++) {
        int64_t window = node->shape[source->ndim + i];
        if (node->axes[i] >= source->ndim || window < 1 || window > left[node->axes[i]])
            return false;
        left[node->axes[i]] -= window - 1;
    }
    return memcmp(left, node->shape, (size_t)source->ndim * sizeof *left) == 0;
}

/* A row may have been changed in the cache: what follows relies on these. */
static bool is_sound(const struct graph_node *nodes, const struct graph_node *node) {
    enum graph_kind kind = node->op->kind;
    int64_t size = 1;
    for (int d = 0; d < node->ndim; d++)
        if (__builtin_mul_overflow(size, node->shape[d], &size) || size > MAX_ELEMENTS)
            return false;
    if (operands_of(kind) && node->in_count != operands_of(kind))
        return false;
    const struct graph_node *source = node->in_count ? &nodes[node->in[0]] : NULL;
    for (int i = 0; i < node->axis_count; i++)
        if (node->axes[i] < 0 || node->axes[i] >= node->ndim)
            return false;
    bool whole = kind == GRAPH_TRANSPOSE || kind == GRAPH_REDUCE || kind == GRAPH_SCAN ||
                 kind == GRAPH_UPDATE || kind == GRAPH_ARGUMENT || kind == GRAPH_GATHER_ALONG;
    if (whole && source->ndim != node->ndim)
        return false;
    if (kind == GRAPH_WINDOWS && !are_windows(source, node))
        return false;
    if (kind == GRAPH_RECURRENCE && node->axis_count != 1)
        return false;
    bool one_axis = kind == GRAPH_ARGUMENT || kind == GRAPH_GATHER || kind == GRAPH_GATHER_ALONG;
    if (one_axis && (node->axis_count != 1 || node->axes[0] >= source->ndim))
        return false;
    if (kind == GRAPH_TRANSPOSE && node->axis_count != node->ndim)
        return false;
    if (kind == GRAPH_CONCATENATE && (node->in_count < 1 || node->axis_count != 1))
        return false;
    for (int i = 0; kind == GRAPH_CONCATENATE && i < node->in_count; i++)
        if (nodes[node->in[i]].ndim != node->ndim)
            return false;
    return kind != GRAPH_TAPS && (kind != GRAPH_CONTRACT || node->terms);
}

/* A number, a truth value, or one that JSON does not have, as text. */
static bool read_number(const cJSON *given, double *number) {
    if (cJSON_IsString(given)) {
        *number = strstr(given->valuestring, "inf") ? INFINITY : NAN;
        if (given->valuestring[0] == '-')
            *number = -*number;
        return true;
    }
    *number = cJSON_IsTrue(given) ? 1 : cJSON_IsNumber(given) ? given->valuedouble : 0;
    return cJSON_IsNumber(given) || cJSON_IsBool(given);
}

static bool read_numbers(const cJSON *list, double *numbers, int64_t count) {
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != count)
        return false;
    for (const cJSON *one = list->child; one; one = one->next)
        if (!read_number(one, numbers++))
            return false;
    return true;
}

static bool read_band(const cJSON *band, struct graph_constant *constant) {
    double offset;
    constant->kind = CONSTANT_BAND;
    if (!read_number(item(band, "offset"), &offset) || fabs(offset) > INT32_MAX)
        return false;
    constant->offset = (int64_t)offset;
    return read_number(item(band, "below"), &constant->below) &&
           read_number(item(band, "above"), &constant->above);
}

static bool read_plane(const cJSON *plane, int ndim, struct graph_constant *constant) {
    double numbers[GRAPH_MAX_DIMS + 1];
    constant->kind = CONSTANT_PLANE;
    if (!read_numbers(plane, numbers, ndim + 1))
        return false;
    constant->first = numbers[0];
    memcpy(constant->steps, numbers + 1, (size_t)ndim * sizeof *numbers);
    return true;
}

/* What an array holds, by one of the rules of the recorder (rule_of). */
static struct graph_constant *read_constant(const cJSON *row, const struct graph_node *node,
                                            struct arena *arena) {
    struct graph_constant *constant = ARENA_NEW(arena, struct graph_constant);
    const cJSON *list = item(row, "values");
    if (item(row, "band"))
        return node->ndim >= 2 && read_band(item(row, "band"), constant) ? constant : NULL;
    if (item(row, "plane"))
        return read_plane(item(row, "plane"), node->ndim, constant) ? constant : NULL;
    int64_t size = graph_size(node);
    if (!list || cJSON_GetArraySize(list) != size)
        return NULL;
    constant->kind = CONSTANT_LIST;
    constant->list = ARENA_ARRAY(arena, double, (size_t)size + 1);
    return read_numbers(list, constant->list, size) ? constant : NULL;
}

static bool read_node(const cJSON *row, struct graph *graph, struct arena *arena) {
    int index = graph->count;
    struct graph_node *node = &graph->nodes[index];
    const char *name = text_of(row, "op");
    if (!name)
        return false;
    node->name = arena_strdup(arena, name);
    node->op = graph_op_named(name);
    node->ndim = read_sizes(item(row, "shape"), node->shape);
    node->dtype = device_dtype(text_of(row, "dtype"));
    const cJSON *in = item(row, "in"), *line = item(row, "line"), *arg = item(row, "argument");
    node->in_count = cJSON_IsArray(in) ? cJSON_GetArraySize(in) : -1;
    if (node->ndim < 0 || node->in_count < 0)
        return false;
    node->in = ARENA_ARRAY(arena, int, (size_t)node->in_count + 1);
    if (read_ints(in, node->in, node->in_count) != node->in_count)
        return false;
    for (int i = 0; i < node->in_count; i++)
        if (node->in[i] < 0 || node->in[i] >= index)
            return false;
    node->line = cJSON_IsNumber(line) ? line->valueint : 0;
    node->argument = cJSON_IsNumber(arg) ? arg->valueint : -1;
    node->has_fill = read_number(item(row, "fill"), &node->fill);
    if (node->op->kind == GRAPH_CONSTANT && !node->has_fill)
        node->constant = read_constant(row, node, arena);
    if (!node->dtype || (node->op->kind == GRAPH_CONSTANT && !node->has_fill && !node->constant))
        node->op = &ops[0];
    return read_axes(row, node) && read_part(row, node) &&
           read_terms(row, graph->nodes, node, arena) && is_sound(graph->nodes, node);
}

static bool read_arguments(const cJSON *list, struct graph *graph, struct arena *arena) {
    int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : -1;
    if (n < 0)
        return false;
    graph->arguments = ARENA_ARRAY(arena, struct graph_argument, (size_t)n + 1);
    for (const cJSON *row = list->child; row; row = row->next) {
        struct graph_argument *argument = &graph->arguments[graph->argument_count++];
        const cJSON *node = item(row, "node");
        const char *name = text_of(row, "name");
        argument->node = cJSON_IsNumber(node) ? node->valueint : -1;
        argument->dtype = device_dtype(text_of(row, "dtype"));
        argument->name = name ? arena_strdup(arena, name) : NULL;
        argument->is_keyword = cJSON_IsTrue(item(row, "keyword"));
        if (argument->node >= graph->count || (argument->node >= 0 && !argument->dtype))
            return false;
    }
    return true;
}

static bool read_graph(const cJSON *made, struct graph *graph, struct arena *arena) {
    const cJSON *nodes = item(made, "nodes"), *outputs = item(made, "outputs");
    int count = cJSON_IsArray(nodes) ? cJSON_GetArraySize(nodes) : 0;
    graph->nodes = ARENA_ARRAY(arena, struct graph_node, (size_t)count + 1);
    for (const cJSON *row = count ? nodes->child : NULL; row; row = row->next, graph->count++)
        if (!read_node(row, graph, arena))
            return false;
    int wanted = cJSON_IsArray(outputs) ? cJSON_GetArraySize(outputs) : 0;
    graph->outputs = ARENA_ARRAY(arena, int, (size_t)wanted + 1);
    graph->output_count = read_ints(outputs, graph->outputs, wanted);
    for (int i = 0; i < graph->output_count; i++)
        if (graph->outputs[i] < 0 || graph->outputs[i] >= graph->count)
            return false;
    const char *result = text_of(made, "result");
    graph->one_output = result && strcmp(result, "one") == 0;
    return graph->output_count > 0 && read_arguments(item(made, "arguments"), graph, arena);
}

static int by_number(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The line that most operations come from, and how many those are; 0: none is known. */
static int busiest_line(const cJSON *nodes, int *times) {
    VEC(int) lines = {0};
    for (const cJSON *row = nodes->child; row; row = row->next) {
        const cJSON *line = item(row, "line");
        if (cJSON_IsNumber(line) && line->valueint > 0)
            *vec_push(&lines) = line->valueint;
    }
    if (lines.len)
        qsort(lines.at, lines.len, sizeof *lines.at, by_number);
    int best = 0;
    *times = 0;
    for (size_t i = 0, first = 0; i < lines.len; i++) {
        first = lines.at[i] == lines.at[first] ? first : i;
        if ((int)(i + 1 - first) > *times) {
            *times = (int)(i + 1 - first);
            best = lines.at[i];
        }
    }
    vec_free(&lines);
    return best;
}

static void refuse_long(const cJSON *nodes, struct err *err) {
    int count = cJSON_GetArraySize(nodes), times, line = busiest_line(nodes, &times);
    if (line)
        err_set(err, ERR_USAGE,
                "reference.py:%d: forward takes %d operations on arrays, %d of them here; more "
                "than %d are not written out: compute with whole arrays instead of a loop",
                line, count, times, GRAPH_MAX_NODES);
    else
        err_set(err, ERR_USAGE,
                "forward takes %d operations on arrays; more than %d are not written out", count,
                GRAPH_MAX_NODES);
}

struct graph *graph_read(struct str json, struct arena *arena, struct err *err) {
    cJSON *meta = cJSON_ParseWithLength(json.at, json.len);
    struct graph *graph = ARENA_NEW(arena, struct graph);
    const char *refused = text_of(meta, "refused");
    const cJSON *line = item(meta, "line");
    const cJSON *made = item(meta, "graph");
    if (refused && cJSON_IsNumber(line) && line->valueint > 0)
        err_set(err, ERR_USAGE, "reference.py:%d: cannot be recorded: %.300s", line->valueint,
                refused);
    else if (refused)
        err_set(err, ERR_USAGE, "reference.py: cannot be recorded: %.300s", refused);
    else if (cJSON_GetArraySize(item(made, "nodes")) > GRAPH_MAX_NODES)
        refuse_long(item(made, "nodes"), err);
    else if (!read_graph(made, graph, arena))
        err_set(err, ERR_ENVIRONMENT, "what was recorded of the reference cannot be read");
    else
        refused = NULL, err = NULL;
    cJSON_Delete(meta);
    if (!err) {
        graph_unfold(graph, arena);
        graph_gather(graph, arena);
        graph_lower(graph, arena);
        graph_divide_sums(graph, arena);
    }
    graph_shorten(graph);
    return err ? NULL : graph;
}

int64_t graph_size(const struct graph_node *node) {
    int64_t size = 1;
    for (int i = 0; i < node->ndim; i++)
        size *= node->shape[i];
    return size;
}
