/* SPDX-License-Identifier: Apache-2.0 */
/* The graph as JSON, in the words of core/task/record, and for a person. */
#include "lift/private.h"

#include <math.h>
#include <stdlib.h>

#include "device/device.h"

#define MOST_LISTED 4096 /* elements of a constant; as in core/task/record */

static int line_of(const struct lifted *lifted, uint32_t loc) {
    const struct nki_program *program = lifted->l.program;
    const struct nki_loc *own = nki_loc_own(program, loc);
    return own ? (int)own->line : 0;
}

static const char *type_of(enum dtype dtype) {
    return dtype == DTYPE_BOOL ? "bool" : dtype_name(dtype);
}

/* ---- which nodes are told ----------------------------------------------------------------------
 */

struct told {
    int *number; /* of each node; -1: it is left out */
    int count;
};

static void mark(const struct lifted *lifted, struct told *told, int node) {
    if (told->number[node] >= 0)
        return;
    told->number[node] = 0;
    for (int i = 0; i < lifted->nodes.at[node].in_count; i++)
        mark(lifted, told, lifted->nodes.at[node].in[i]);
}

/* Operands come before what is made of them. */
static struct told tell(const struct lifted *lifted) {
    struct told told = {mem_alloc(lifted->nodes.len + 1, sizeof *told.number), 0};
    for (size_t i = 0; i < lifted->nodes.len; i++)
        told.number[i] = -1;
    for (size_t i = 0; i < lifted->l.program->outputs.len; i++)
        if (lifted->outputs[i] >= 0)
            mark(lifted, &told, lifted->outputs[i]);
    for (size_t i = 0; i < lifted->nodes.len; i++)
        if (told.number[i] >= 0)
            told.number[i] = told.count++;
    return told;
}

/* ---- JSON --------------------------------------------------------------------------------------
 */

static void print_list(struct buf *out, const char *name, const int64_t *values, int count) {
    buf_printf(out, ",\"%s\":[", name);
    for (int i = 0; i < count; i++)
        buf_printf(out, "%s%lld", i ? "," : "", (long long)values[i]);
    buf_puts(out, "]");
}

static void print_ints(struct buf *out, const char *name, const int *values, int count) {
    int64_t wide[LIFT_VARS];
    for (int i = 0; i < count; i++)
        wide[i] = values[i];
    print_list(out, name, wide, count);
}

static void print_number(struct buf *out, double number) {
    if (isfinite(number))
        buf_printf(out, "%.17g", number);
    else
        buf_printf(out, "\"%s\"", isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
}

static void print_values(const struct lifted *lifted, const struct node *node, struct buf *out) {
    const uint8_t *data = lifted->l.program->storages.at[node->storage]->constant;
    int64_t size = node_size(node);
    buf_puts(out, ",\"values\":[");
    for (int64_t i = 0; i < size && size <= MOST_LISTED; i++) {
        float value;
        device_to_float(node->dtype, data + i * (int64_t)dtype_bytes(node->dtype), &value, 1);
        buf_puts(out, i ? "," : "");
        print_number(out, value);
    }
    buf_puts(out, "]");
}

static void print_constant(const struct lifted *lifted, const struct node *node, struct buf *out) {
    if (node->kind == NODE_CONSTANT) {
        buf_puts(out, ",\"fill\":");
        print_number(out, node->fill);
    }
    if (node->kind == NODE_DATA)
        print_values(lifted, node, out);
    for (int d = 0; node->kind == NODE_PLANE && d <= node->ndim; d++) {
        buf_puts(out, d ? "," : ",\"plane\":[");
        print_number(out, node->plane[d]);
    }
    if (node->kind == NODE_PLANE)
        buf_puts(out, "]");
}

static void print_part(const struct lifted *lifted, const struct node *node, struct buf *out) {
    const int64_t *shape =
        node->kind == NODE_SLICE ? node->shape : lifted->nodes.at[node->in[1]].shape;
    buf_puts(out, ",\"part\":[");
    for (int d = 0; d < node->ndim; d++)
        buf_printf(out, "%s[%lld,%lld,%lld]", d ? "," : "", (long long)node->first[d],
                   (long long)shape[d], (long long)node->step[d]);
    buf_puts(out, "]");
}

static void print_terms(const struct lifted *lifted, const struct node *node, struct buf *out) {
    buf_puts(out, ",\"terms\":[");
    for (int k = 0; k < 2; k++) {
        buf_puts(out, k ? ",[" : "[");
        for (int d = 0; d < lifted->nodes.at[node->in[k]].ndim; d++)
            buf_printf(out, "%s%d", d ? "," : "", node->terms[k][d]);
        buf_puts(out, "]");
    }
    buf_puts(out, "]");
    print_ints(out, "out", node->out, node->ndim);
}

static void print_node(const struct lifted *lifted, const struct told *told,
                       const struct node *node, struct buf *out) {
    int in[3];
    for (int i = 0; i < node->in_count; i++)
        in[i] = told->number[node->in[i]];
    buf_printf(out, "{\"op\":\"%s\",\"dtype\":\"%s\",\"line\":%d", node->op, type_of(node->dtype),
               line_of(lifted, node->loc));
    print_ints(out, "in", in, node->in_count);
    print_list(out, "shape", node->shape, node->ndim);
    print_constant(lifted, node, out);
    if (node->kind == NODE_INPUT)
        buf_printf(out, ",\"argument\":%d", lifted->l.program->storages.at[node->storage]->input);
    if (node->kind == NODE_TRANSPOSE)
        print_ints(out, "order", node->axes, node->axis_count);
    else if (node->axis_count)
        print_ints(out, "axes", node->axes, node->axis_count);
    if (node->kind == NODE_SLICE || node->kind == NODE_UPDATE)
        print_part(lifted, node, out);
    if (node->kind == NODE_CONTRACT)
        print_terms(lifted, node, out);
    buf_puts(out, "}");
}

/* The number of the node of the array that an input is, or the input at this place where nothing is
 * known of those; -1: it is none. */
static int node_of_input(const struct lifted *lifted, const struct told *told, int place,
                         const struct nki_storage **storage) {
    const struct nki_program *program = lifted->l.program;
    *storage = NULL;
    for (size_t i = 0; i < program->storages.len; i++)
        if (program->storages.at[i]->input == place)
            *storage = program->storages.at[i];
    for (size_t i = 0; *storage && i < lifted->nodes.len; i++)
        if (lifted->nodes.at[i].kind == NODE_INPUT &&
            program->storages.at[lifted->nodes.at[i].storage] == *storage)
            return told->number[i];
    return -1;
}

/* No parameter has another name, and JSON needs no escapes for it. */
static bool is_identifier(const char *name) {
    return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                       "0123456789")];
}

static void print_argument(const struct lifted *lifted, const struct told *told, int place,
                           const char *keyword, struct buf *out) {
    const struct nki_storage *storage;
    int node = node_of_input(lifted, told, place, &storage);
    const char *name = keyword ? keyword : node >= 0 ? storage->name : NULL;
    if (node >= 0)
        buf_printf(out, "{\"node\":%d,\"dtype\":\"%s\"", node, type_of(storage->dtype));
    else
        buf_puts(out, "{\"value\":null");
    if (name)
        buf_printf(out, ",\"name\":\"%s\"", name);
    buf_puts(out, keyword ? ",\"keyword\":true}" : "}");
}

/* The kernel's arguments: inputs that no output needs have nodes, too; what is no array has a value
 * only. */
static void print_arguments(const struct lifted *lifted, const struct told *told,
                            const struct nki_input *inputs, size_t n_inputs, struct buf *out) {
    const struct nki_program *program = lifted->l.program;
    size_t count = n_inputs;
    for (size_t i = 0; !n_inputs && i < program->storages.len; i++)
        count = MAX_OF(count, (size_t)(program->storages.at[i]->input + 1));
    for (size_t i = 0; i < count; i++) {
        const struct nki_input *input = n_inputs ? &inputs[i] : NULL;
        int place = input && input->place ? input->place - 1 : (int)i;
        buf_puts(out, i ? "," : "");
        bool is_named = input && input->name && is_identifier(input->name);
        print_argument(lifted, told, place, is_named ? input->name : NULL, out);
    }
}

static void print_refusal(const struct lifted *lifted, struct buf *out) {
    for (size_t i = 0; i < lifted->l.program->outputs.len; i++)
        if (lifted->outputs[i] < 0) {
            buf_printf(out, "{\"refused\":\"%s\",\"line\":%d}",
                       lifted->whys[i] ? lifted->whys[i] : "it hangs on an opaque piece",
                       line_of(lifted, lifted->why_locs[i]));
            return;
        }
    buf_puts(out, "{\"refused\":\"the kernel has no output\",\"line\":0}");
}

void lifted_print_graph(const struct lifted *lifted, const struct nki_input *inputs,
                        size_t n_inputs, struct buf *out) {
    if (!lifted_is_whole(lifted)) {
        print_refusal(lifted, out);
        return;
    }
    struct told told = tell(lifted);
    const struct nki_program *program = lifted->l.program;
    bool comma = false;
    buf_puts(out, "{\"graph\":{\"nodes\":[");
    for (size_t i = 0; i < lifted->nodes.len; i++) {
        if (told.number[i] < 0)
            continue;
        buf_puts(out, comma ? ",\n" : "");
        print_node(lifted, &told, &lifted->nodes.at[i], out);
        comma = true;
    }
    buf_puts(out, "],\"arguments\":[");
    print_arguments(lifted, &told, inputs, n_inputs, out);
    buf_puts(out, "]");
    int outputs[LIFT_VARS], n = (int)MIN_OF(program->outputs.len, (size_t)LIFT_VARS);
    for (int i = 0; i < n; i++)
        outputs[i] = told.number[lifted->outputs[i]];
    print_ints(out, "outputs", outputs, n);
    buf_printf(out, ",\"result\":\"%s\"}}\n", program->returns_tuple || n > 1 ? "tuple" : "one");
    free(told.number);
}

/* ---- words -------------------------------------------------------------------------------------
 */

static void print_operand(const struct lifted *lifted, const struct told *told, int in,
                          struct buf *out) {
    const struct node *node = &lifted->nodes.at[in];
    if (node->kind == NODE_INPUT)
        buf_puts(out, lifted->l.program->storages.at[node->storage]->name);
    else if (node->kind == NODE_CONSTANT && node->ndim == 0)
        buf_printf(out, "%.6g", node->fill);
    else
        buf_printf(out, "t%d", told->number[in]);
}

static void print_shape(const struct node *node, struct buf *out) {
    buf_printf(out, "%s [", type_of(node->dtype));
    for (int d = 0; d < node->ndim; d++)
        buf_printf(out, "%s%lld", d ? ", " : "", (long long)node->shape[d]);
    buf_puts(out, "]");
}

static void print_letters(const int *labels, int count, struct buf *out) {
    for (int d = 0; d < count; d++)
        buf_putc(out, labels[d] < LIFT_BOUND ? (char)('a' + labels[d] % 16)
                                             : (char)('r' + (labels[d] - LIFT_BOUND) % 9));
}

static void print_detail(const struct lifted *lifted, const struct node *node, struct buf *out) {
    if (node->kind == NODE_CONTRACT) {
        buf_puts(out, " over ");
        for (int k = 0; k < 2; k++) {
            print_letters(node->terms[k], lifted->nodes.at[node->in[k]].ndim, out);
            buf_puts(out, k ? "->" : ",");
        }
        print_letters(node->out, node->ndim, out);
    }
    if (node->axis_count) {
        buf_printf(out, " %s", node->kind == NODE_TRANSPOSE ? "to the order" : "along");
        for (int i = 0; i < node->axis_count; i++)
            buf_printf(out, "%s%d", i ? ", " : " ", node->axes[i]);
    }
    for (int d = 0; node->kind == NODE_SLICE && d < node->ndim; d++)
        buf_printf(out, "%s%lld:%lld%s", d ? ", " : " [", (long long)node->first[d],
                   (long long)(node->first[d] + (node->shape[d] - 1) * node->step[d] +
                               (node->step[d] < 0 ? -1 : 1)),
                   d == node->ndim - 1 ? "]" : "");
    if (node->kind == NODE_PLANE)
        buf_puts(out, " of places");
}

static void print_row(const struct lifted *lifted, const struct told *told, size_t at,
                      struct buf *out) {
    const struct node *node = &lifted->nodes.at[at];
    if (told->number[at] < 0 || (node->kind == NODE_CONSTANT && node->ndim == 0))
        return;
    if (node->kind == NODE_INPUT)
        buf_printf(out, "  %s = argument %d: ", lifted->l.program->storages.at[node->storage]->name,
                   lifted->l.program->storages.at[node->storage]->input);
    else
        buf_printf(out, "  t%d = %s", told->number[at], node->kind == NODE_REDUCE ? "" : "");
    if (node->kind != NODE_INPUT) {
        buf_puts(out, node->op);
        for (int i = 0; i < node->in_count; i++) {
            buf_puts(out, i ? ", " : " ");
            print_operand(lifted, told, node->in[i], out);
        }
        print_detail(lifted, node, out);
        buf_puts(out, ": ");
    }
    print_shape(node, out);
    if (node->kind != NODE_INPUT && line_of(lifted, node->loc))
        buf_printf(out, "  (line %d)", line_of(lifted, node->loc));
    buf_puts(out, "\n");
}

static void print_outputs(const struct lifted *lifted, const struct told *told, struct buf *out) {
    const struct nki_program *program = lifted->l.program;
    for (size_t i = 0; i < program->outputs.len; i++) {
        const char *name = program->storages.at[program->outputs.at[i]]->name;
        if (lifted->outputs[i] >= 0) {
            buf_printf(out, "output %zu (%s) is ", i, *name ? name : "no name");
            print_operand(lifted, told, lifted->outputs[i], out);
            buf_puts(out, "\n");
        } else {
            buf_printf(out, "output %zu (%s) could not be said: %s (line %d)\n", i,
                       *name ? name : "no name",
                       lifted->whys[i] ? lifted->whys[i] : "it hangs on an opaque piece",
                       line_of(lifted, lifted->why_locs[i]));
        }
    }
}

void lifted_print_words(const struct lifted *lifted, struct buf *out) {
    struct told told = tell(lifted);
    for (size_t i = 0; i < lifted->nodes.len; i++)
        print_row(lifted, &told, i, out);
    print_outputs(lifted, &told, out);
    free(told.number);
    for (size_t i = 0; i < lifted_opaque_count(lifted); i++) {
        struct lift_opaque opaque = lifted_opaque_at(lifted, i);
        buf_printf(out, "opaque: %s at line %d, %zu time%s: %s%s\n", opaque.what, opaque.line,
                   opaque.times, PLURAL(opaque.times), opaque.why,
                   opaque.matters ? "; an output hangs on it" : "");
    }
}
