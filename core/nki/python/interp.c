/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter's life, its errors, and the places that instructions come from. Budgets are in
 * budget.c. What statements and expressions mean is in interp_stmt.c and interp_expr.c. */
#include "nki/python/inner.h"

#include <stdio.h>
#include <stdlib.h>

struct arena *interp_arena(struct interp *in) {
    return in->program->arena;
}

struct arena *interp_scratch(struct interp *in) {
    return in->heap;
}

struct nki_program *interp_program(struct interp *in) {
    return in->program;
}

void interp_on_device(struct interp *in, int more) {
    in->on_device += more;
}

const struct nki_specialise_options *interp_options(const struct interp *in) {
    return in->options;
}

struct api **interp_api(struct interp *in) {
    return &in->api;
}

const int *interp_grid(const struct interp *in) {
    return in->grid;
}

int interp_cores(const struct interp *in) {
    return in->on_cores ? in->program->cores : 1;
}

int interp_program_id(const struct interp *in, int axis) {
    return in->program_id[axis];
}

enum nki_dialect interp_dialect(const struct interp *in) {
    return in->dialect;
}

uint32_t interp_scope(const struct interp *in) {
    return in->scopes.len ? in->scopes.at[in->scopes.len - 1] : 0;
}

static bool is_among(const uint32_t *open, size_t n, uint32_t scope) {
    for (size_t i = 0; i < n; i++)
        if (open[i] == scope)
            return true;
    return !scope;
}

bool interp_scope_is_open(const struct interp *in, uint32_t scope) {
    return is_among(in->scopes.at, in->scopes.len, scope);
}

uint32_t interp_branch(const struct interp *in) {
    return in->branches.len ? in->branches.at[in->branches.len - 1] : 0;
}

bool interp_branch_is_open(const struct interp *in, uint32_t branch) {
    return is_among(in->branches.at, in->branches.len, branch);
}

bool interp_in_helper(const struct interp *in) {
    const struct frame *frame = in->frame;
    return frame->function && !frame->function->is_kernel && frame->caller &&
           frame->caller->function;
}

bool interp_rule(const struct interp *in, enum nki_rule rule) {
    return nki_rule_holds(in->program->rules, rule);
}

struct interp *interp_new(const struct nki_tree *tree, const struct nki_specialise_options *options,
                          const struct interp_objects *objects,
                          const struct interp_library *library, struct diag_list *diags) {
    struct interp *in = mem_alloc(1, sizeof *in);
    in->heap = arena_new();
    in->tree = tree;
    in->options = options;
    in->objects = objects;
    in->library = library;
    memcpy(in->grid, options->grid, sizeof in->grid);
    in->diags = diags;
    in->stack_base = __builtin_frame_address(0);
    in->temps = mem_alloc(INTERP_MAX_TEMPS, sizeof *in->temps);
    in->keywords = mem_alloc(INTERP_MAX_KEYWORDS, sizeof *in->keywords);
    in->dialect = nki_detect_dialect(tree).dialect;
    in->program = mem_alloc(1, sizeof *in->program);
    in->program->arena = arena_new();
    in->program->dialect = in->dialect;
    in->program->generation = options->generation ? options->generation : NKI_GENERATION_DEFAULT;
    in->program->kernel = "";
    if (in->dialect != NKI_DIALECT_LEGACY) {
        const char *release = options->release ? nki_release_find(options->release) : NULL;
        in->program->release = release ? release : nki_release_newest();
        in->program->rules = nki_rules_of(in->program->release);
    }
    budget_open(in);
    return in;
}

void interp_free(struct interp *in) {
    for (size_t i = 0; i < in->units.len; i++) {
        scope_free(in->units.at[i]);
        vec_free(&in->units.at[i]->stars);
        nki_tree_free(in->units.at[i]->own_tree);
    }
    vec_free(&in->scopes);
    vec_free(&in->branches);
    vec_free(&in->rounds);
    for (size_t i = 0; i < in->unparsed.len; i++)
        nki_tree_free(in->unparsed.at[i]);
    vec_free(&in->unparsed);
    vec_free(&in->units);
    vec_free(&in->held);
    vec_free(&in->warned);
    recovery_free(in->recovery);
    map_free(&in->interned);
    map_free(&in->builtins);
    free(in->signatures);
    free(in->locs);
    free(in->temps);
    free(in->keywords);
    arena_free(in->heap);
    free(in);
}

const struct value_str *interp_intern(struct interp *in, struct str text) {
    struct map_entry *entry = map_put(&in->interned, text);
    if (!entry->value) {
        struct value value = value_string(in, text);
        struct value_str **place = (struct value_str **)&entry->value;
        memcpy(place, &value.str, sizeof *place);
    }
    return entry->value;
}

/* ---- errors --------------------------------------------------------------------------------- */

#define GAP_CODE "hone-gap" /* what codes of things begin with that hone cannot do yet */

static const char *callee_name(struct interp *in, const struct frame *frame) {
    const struct nki_node *node = frame->scope->node;
    if (node->kind == NKI_LAMBDA)
        return "a lambda";
    struct str name =
        node->kind == NKI_FUNCTION_DEF ? node->function_def.name : node->class_def.name;
    return arena_strndup(in->heap, name.at, name.len);
}

static void take_trace(struct interp *in) {
    struct failure *failure = &in->failure;
    failure->n_trace = failure->more_trace = 0;
    for (const struct frame *f = in->frame; f && f->caller; f = f->caller) {
        if (!f->call)
            continue;
        if (failure->n_trace == (int)COUNT_OF(failure->trace)) {
            failure->more_trace++;
            continue;
        }
        failure->trace[failure->n_trace++] =
            (struct trace_row){f->caller->unit, f->call, callee_name(in, f)};
    }
}

static bool fail(struct interp *in, const struct nki_node *node, const char *code,
                 struct buf *message) {
    struct failure *failure = &in->failure;
    if (failure->set) { /* the first one counts, because the second is a consequence */
        buf_free(message);
        return false;
    }
    *failure = (struct failure){.set = true};
    /* Python would not raise what hone cannot do, so that no except may have it. */
    failure->fatal =
        in->tries && !in->tolerant && code && !strncmp(code, GAP_CODE, strlen(GAP_CODE));
    snprintf(failure->code, sizeof failure->code, "%s", code ? code : "");
    failure->message = arena_strndup(in->heap, message->at ? message->at : "", message->len);
    buf_free(message);
    if (!node)
        node = in->native_call;
    failure->unit = in->frame ? in->frame->unit : NULL;
    if (node)
        failure->span = nki_span_of(node);
    take_trace(in);
    return false;
}

bool interp_error(struct interp *in, const struct nki_node *node, const char *code,
                  const char *format, ...) {
    struct buf message = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&message, format, args);
    va_end(args);
    return fail(in, node, code, &message);
}

bool interp_fatal(struct interp *in, const struct nki_node *node, const char *code,
                  const char *format, ...) {
    struct buf message = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&message, format, args);
    va_end(args);
    fail(in, node, code, &message);
    in->failure.fatal = true;
    return false;
}

bool interp_broken(struct interp *in, const struct nki_node *node, struct str name,
                   const char *path, const struct broken *broken) {
    const struct failure *failure = &broken->failure;
    const struct failure *first = failure->first ? failure->first : failure;
    bool fresh = !in->failure.set;
    bool is_gap = !strncmp(first->code, GAP_CODE, strlen(GAP_CODE));
    interp_error(in, node, is_gap ? first->code : "NameError", "'" STR_FMT "'%s%s has no value: %s",
                 STR_ARG(name), path ? " of " : "", path ? path : "", broken->why);
    /* An error in another file is told there; who needs the name is a note. */
    if (fresh && first->unit && first->unit != in->frame->unit)
        in->failure.first = first;
    return false;
}

void interp_report(struct interp *in) {
    const struct failure *f = &in->failure;
    if (!f->set)
        return;
    if (!f->unit) {
        diag_add(in->diags, DIAG_ERROR, f->code, in->tree->file, 0, 0, "%s", f->message);
        return;
    }
    const struct failure *first = f->first ? f->first : f;
    struct buf message = {0};
    buf_puts(&message, first->message);
    budget_print_loop(f, &message);
    nki_report(first->unit->tree, in->diags, DIAG_ERROR, first->span, first->code, "%s",
               message.at);
    buf_free(&message);
    if (f->first)
        nki_report(f->unit->tree, in->diags, DIAG_NOTE, f->span, "", "needed here");
    for (int i = 0; i < f->n_trace; i++) {
        const struct trace_row *row = &f->trace[i];
        nki_report(row->unit->tree, in->diags, DIAG_NOTE, nki_span_of(row->call), "",
                   "in %s, called from line %d", row->callee,
                   nki_place_of(row->unit->tree, row->call->start).line);
    }
    if (f->more_trace)
        diag_add(in->diags, DIAG_NOTE, "", f->unit->path, 0, 0, "and %d more calls", f->more_trace);
}

void interp_warn(struct interp *in, const struct nki_node *node, const char *code,
                 const char *format, ...) {
    struct buf message = {0};
    va_list args;
    if (!node)
        node = in->native_call;
    struct unit *unit = in->frame ? in->frame->unit : in->units.at[0];
    if (in->tolerant)
        return;
    struct {
        struct unit *unit;
        uint64_t node, code;
    } place = {unit, node ? node->id : 0, hash_quick(code, strlen(code))};
    uint64_t key = hash_quick(&place, sizeof place);
    for (size_t i = 0; i < in->warned.len; i++)
        if (in->warned.at[i] == key)
            return;
    if (in->warned.len >= INTERP_MAX_PRINTS)
        return;
    *vec_push(&in->warned) = key;
    va_start(args, format);
    buf_vprintf(&message, format, args);
    va_end(args);
    nki_report(unit->tree, in->diags, DIAG_WARNING,
               node ? nki_span_of(node) : (struct nki_span){0, 0}, code, "%s",
               message.at ? message.at : "");
    buf_free(&message);
}

void interp_note(struct interp *in, const struct nki_node *node, struct str text) {
    if (in->tolerant || in->printed++ > INTERP_MAX_PRINTS)
        return;
    if (in->printed > INTERP_MAX_PRINTS)
        text = STR("further printed lines are left out");
    nki_report(in->frame->unit->tree, in->diags, DIAG_NOTE, nki_span_of(node), "print", STR_FMT,
               (int)MIN_OF(text.len, (size_t)2000), text.at);
}

/* ---- places --------------------------------------------------------------------------------- */

static uint32_t add_loc(struct interp *in, const struct unit *unit, const struct nki_node *node,
                        int32_t caller) {
    struct nki_place place = nki_place_of(unit->tree, node->start);
    *vec_push(&in->program->locs) = (struct nki_loc){.file = unit->file,
                                                     .line = (uint32_t)place.line,
                                                     .column = (uint32_t)place.column,
                                                     .start = node->start,
                                                     .end = node->end,
                                                     .caller = caller};
    return (uint32_t)in->program->locs.len - 1;
}

static struct loc_slot *loc_slot(const struct interp *in, uint64_t key) {
    size_t mask = in->loc_cap - 1;
    uint64_t hash = key * 0x9e3779b97f4a7c15ULL;
    size_t at = (size_t)(hash >> 20) & mask;
    while (in->locs[at].key && in->locs[at].key != key)
        at = (at + 1) & mask;
    return &in->locs[at];
}

static void grow_locs(struct interp *in) {
    struct loc_slot *old = in->locs;
    size_t n = in->loc_cap;
    in->loc_cap = n ? n * 2 : 256;
    in->locs = mem_alloc(in->loc_cap, sizeof *in->locs);
    for (size_t i = 0; i < n; i++)
        if (old[i].key)
            *loc_slot(in, old[i].key) = old[i];
    free(old);
}

static uint32_t loc_of(struct interp *in, const struct unit *unit, const struct nki_node *node,
                       int32_t caller) {
    if (in->n_locs * 2 >= in->loc_cap)
        grow_locs(in);
    /* 12 bits of file, 24 of node, 28 of caller. Larger files share places, never memory. */
    uint64_t key = ((uint64_t)(unit->file + 1) << 52) | ((uint64_t)(node->id & 0xffffff) << 28) |
                   ((uint64_t)(caller + 1) & 0xfffffff);
    struct loc_slot *slot = loc_slot(in, key);
    if (!slot->key) {
        *slot = (struct loc_slot){key, add_loc(in, unit, node, caller)};
        in->n_locs++;
    }
    return slot->loc;
}

/* The place that the frame was called from, as an index into program->locs. */
static int32_t site_of(struct interp *in, struct frame *frame) {
    struct frame *chain[INTERP_MAX_CALLS + 8];
    int n = 0;
    while (frame && frame->site == -2 && n < (int)COUNT_OF(chain)) {
        chain[n++] = frame;
        frame = frame->caller;
    }
    int32_t site = frame ? frame->site : -1;
    while (n-- > 0) {
        struct frame *f = chain[n];
        if (f->call && f->caller)
            site = (int32_t)loc_of(in, f->caller->unit, f->call, site);
        f->site = site;
    }
    return site;
}

uint32_t interp_loc(struct interp *in, const struct nki_node *node) {
    if (!node)
        node = in->native_call ? in->native_call : in->frame->unit->tree->module;
    return loc_of(in, in->frame->unit, node, site_of(in, in->frame));
}

struct str interp_target_name(const struct interp *in) {
    if (in->target_node && in->target_node == in->native_call)
        return in->target;
    return (struct str){"", 0};
}
