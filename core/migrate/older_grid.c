/* SPDX-License-Identifier: Apache-2.0 */
/* Launches kernel[rows, columns](..) of the older dialect. It runs the kernel once for each program
 * of the grid; the package nki once for each physical core. So the programs become rounds of loops
 * in the kernel, and the grid an argument of it. */
#include "migrate/older.h"

#define MOST_AXES 3
#define MOST_LAUNCHES 16

static const char many[] =
    "the older dialect runs the kernel for each program of its grid, the package nki for each "
    "physical core alone: over what does the kernel loop instead?";

/* What nl.spmd_dim and nl.nc say of one axis of a launch. */
struct spread {
    const struct nki_node *cores; /* how many cores run its programs; NULL: one */
    const struct nki_node *each;  /* how many programs each of them runs; NULL: one */
    bool inner;                   /* programs that are neighbours run on different cores */
    int axis;
};

struct grid {
    struct migrate *m;
    const struct nki_node *function;
    int axes;                                       /* that the kernel asks its program for */
    const struct nki_node *launches[MOST_LAUNCHES]; /* calls of kernel[..] */
    size_t n_launches;
    uint32_t first, end;           /* the statements of its body that each program runs */
    const char *argument;          /* the grid's name in the kernel */
    const char *rounds[MOST_AXES]; /* the names of the program's numbers */
    struct spread spread;          /* as the launches have it */
    bool mixed;                    /* their programs go to the cores in different orders */
    const struct nki_node *where;  /* what a question is about .. */
    const char *question;          /* .. and the question; NULL: none */
};

static bool give_up(struct grid *g, const struct nki_node *where, const char *question) {
    g->where = where;
    g->question = question;
    return false;
}

/* ---- what the kernel and its launches say ---------------------------------------------------- */

static bool asks_program(const struct grid *g, const struct nki_node *node) {
    return migrate_calls(g->m, node, "nl.program_id") ||
           migrate_calls(g->m, node, "nl.num_programs");
}

/* The axis that a call of nl.program_id or nl.num_programs names; -1: it is no number. */
static int axis_of(const struct nki_node *call) {
    const struct nki_node *axis = migrate_arg(call, 0, "axis");
    bool number = axis && axis->kind == NKI_CONSTANT && axis->constant.type == NKI_CONST_INT;
    return number && axis->constant.integer >= 0 && axis->constant.integer < MOST_AXES
               ? (int)axis->constant.integer
               : -1;
}

static bool find_axes(struct grid *g) {
    const struct nki_list *body = &g->function->function_def.body;
    g->first = g->end = body->len;
    for (uint32_t s = 0; s < body->len; s++)
        for (uint32_t i = body->at[s]->id; i <= body->at[s]->last; i++) {
            const struct nki_node *node = g->m->tree->nodes[i];
            if (!asks_program(g, node))
                continue;
            if (axis_of(node) < 0)
                return give_up(g, node, many);
            g->axes = MAX_OF(g->axes, axis_of(node) + 1);
            g->first = MIN_OF(g->first, s);
        }
    return true;
}

/* The number in nl.nc(number); NULL: it is something else. */
static const struct nki_node *cores_of(const struct grid *g, const struct nki_node *node) {
    return migrate_calls(g->m, node, "nl.nc") ? migrate_arg(node, 0, "nc") : NULL;
}

/* "nl.nc(2)", "nl.spmd_dim(4, nl.nc(2))", "nl.nc(2) * 4". False: it names no cores in these ways.
 */
static bool read_spread(const struct grid *g, const struct nki_node *size, struct spread *spread) {
    const struct nki_node *first = size, *second = NULL;
    if (migrate_calls(g->m, size, "nl.spmd_dim")) {
        first = migrate_arg(size, 0, "grid");
        second = migrate_arg(size, 1, "nc");
    } else if (size->kind == NKI_BIN_OP && size->bin_op.op == NKI_MUL) {
        first = size->bin_op.left;
        second = size->bin_op.right;
    }
    const struct nki_node *cores = first ? cores_of(g, first) : NULL;
    spread->inner = !cores && second;
    spread->cores = cores ? cores : second ? cores_of(g, second) : NULL;
    spread->each = cores ? second : first;
    return spread->cores && (cores || first) && !(cores && second && cores_of(g, second));
}

static bool names_cores(const struct grid *g, const struct nki_node *node) {
    for (uint32_t i = node->id; i <= node->last; i++)
        if (migrate_is(g->m, g->m->tree->nodes[i], "nl.nc") ||
            migrate_is(g->m, g->m->tree->nodes[i], "nl.spmd_dim"))
            return true;
    return false;
}

/* One size: "rows", or "cores * each". False: what it says of cores cannot be read. */
static bool print_size(const struct grid *g, const struct nki_node *size, struct spread *spread,
                       struct buf *out) {
    const struct nki_node *parts[2] = {size, NULL};
    if (names_cores(g, size)) {
        if (spread->cores || !read_spread(g, size, spread))
            return false;
        parts[0] = spread->cores;
        parts[1] = spread->each;
    }
    for (int i = 0; i < 2 && parts[i]; i++) {
        struct str text = nki_text(g->m->tree, nki_outer_span(g->m->tree, parts[i]));
        bool tight = !parts[1] || nki_precedence(parts[i]) >= 12;
        buf_printf(out, tight ? "%s" STR_FMT : "%s(" STR_FMT ")", i ? " * " : "", STR_ARG(text));
    }
    return true;
}

/* The sizes of a launch's grid, as text: "(rows, columns)". False: they do not stand there. */
static bool print_sizes(const struct grid *g, const struct nki_node *call, struct spread *spread,
                        struct buf *out) {
    const struct nki_node *sizes = call->call.func->subscript.slice;
    const struct nki_node *value = sizes->kind == NKI_NAME ? migrate_value_of(g->m, sizes) : sizes;
    bool named = value && value != sizes, spreads = value && names_cores(g, value);
    bool tuple = value && value->kind == NKI_TUPLE;
    if (!value || value->kind == NKI_NAME || (value->kind == NKI_CALL && !spreads) ||
        (named && spreads) || (tuple ? (int)value->tuple.elts.len : 1) != g->axes)
        return false;
    struct str text = nki_text(g->m->tree, nki_outer_span(g->m->tree, sizes));
    if (tuple && named) {
        buf_printf(out, STR_FMT, STR_ARG(text));
        return true;
    }
    bool ok = true;
    buf_putc(out, '(');
    for (int a = 0; a < g->axes && ok; a++) {
        bool before = spread->cores != NULL;
        buf_puts(out, a ? ", " : "");
        ok = print_size(g, tuple ? value->tuple.elts.at[a] : sizes, spread, out);
        if (spread->cores && !before)
            spread->axis = a;
    }
    buf_puts(out, g->axes == 1 ? ",)" : ")");
    return ok;
}

/* All launches that name cores do so for the same axis. Programs that go to the cores in turn for
 * one of them do so for all. */
static bool agrees(struct grid *g, const struct spread *spread) {
    if (!spread->cores)
        return true;
    if (!g->spread.cores)
        g->spread = *spread;
    g->mixed |= spread->inner != g->spread.inner;
    g->spread.inner |= spread->inner;
    return spread->axis == g->spread.axis;
}

static bool find_launches(struct grid *g) {
    struct str name = g->function->function_def.name;
    for (uint32_t i = 1; i < g->m->tree->n_nodes; i++) {
        const struct nki_node *node = g->m->tree->nodes[i];
        const struct nki_node *func =
            node->kind == NKI_CALL && node->call.func->kind == NKI_SUBSCRIPT ? node->call.func
                                                                             : NULL;
        if (!func || func->subscript.value->kind != NKI_NAME ||
            !str_equal(func->subscript.value->name.id, name))
            continue;
        struct buf sizes = {0};
        struct spread spread = {0};
        bool ok = print_sizes(g, node, &spread, &sizes) && g->n_launches < MOST_LAUNCHES &&
                  agrees(g, &spread);
        buf_free(&sizes);
        if (!ok)
            return give_up(g, node, many);
        g->launches[g->n_launches++] = node;
    }
    const struct nki_node *first = g->function->function_def.body.at[g->first];
    return g->n_launches > 0 || give_up(g, first, many);
}

/* ---- what each program runs ------------------------------------------------------------------ */

/* Whether a statement makes a tensor that all programs share. */
static bool makes_shared(const struct grid *g, const struct nki_node *stmt) {
    for (uint32_t i = stmt->id; i <= stmt->last; i++)
        if (migrate_is(g->m, g->m->tree->nodes[i], "nl.shared_hbm") ||
            migrate_is(g->m, g->m->tree->nodes[i], "nl.hbm"))
            return true;
    return false;
}

/* Whether it can stand before the loops: what it reads is not made in them. */
static bool can_go_first(const struct grid *g, const struct nki_node *stmt) {
    const struct nki_list *body = &g->function->function_def.body;
    for (uint32_t i = stmt->id; i <= stmt->last; i++) {
        const struct nki_node *read = g->m->tree->nodes[i];
        if (asks_program(g, read))
            return false;
        if (read->kind != NKI_NAME || read->context != NKI_LOAD)
            continue;
        for (uint32_t k = body->at[g->first]->id; k < stmt->id; k++) {
            const struct nki_node *bound = g->m->tree->nodes[k];
            if (bound->kind == NKI_NAME && bound->context == NKI_STORE &&
                str_equal(bound->name.id, read->name.id))
                return false;
        }
    }
    return stmt->kind == NKI_ASSIGN;
}

static bool find_region(struct grid *g) {
    const struct nki_list *body = &g->function->function_def.body;
    if (body->at[body->len - 1]->kind == NKI_RETURN)
        g->end--;
    for (uint32_t s = g->first; s < g->end; s++) {
        const struct nki_node *stmt = body->at[s];
        bool shares = false;
        for (uint32_t i = stmt->id; i <= stmt->last; i++)
            if (g->m->tree->nodes[i]->kind == NKI_RETURN)
                return give_up(g, stmt, many);
        (void)nki_stmt_lines(g->m->tree, stmt, &shares);
        if (shares || (makes_shared(g, stmt) && !can_go_first(g, stmt)))
            return give_up(g, stmt, many);
    }
    const struct nki_list *args = &g->function->function_def.args->arguments.args;
    for (uint32_t i = 0; i < args->len; i++)
        if (args->at[i]->arg.form != NKI_ARG_PLAIN)
            return give_up(g, g->function, many);
    return (args->len > 0 && g->first < g->end) || give_up(g, g->function, many);
}

/* ---- edits ----------------------------------------------------------------------------------- */

static const char *new_name(const struct grid *g, const char *name) {
    return migrate_binds(g->m, str_of(name)) ? migrate_new_name(g->m, name) : name;
}

static void choose_names(struct grid *g) {
    static const char *const names[MOST_AXES] = {"program_x", "program_y", "program_z"};
    g->argument = new_name(g, "grid");
    for (int a = 0; a < g->axes; a++)
        g->rounds[a] = g->axes == 1 ? new_name(g, "program") : new_name(g, names[a]);
}

/* ", grid=(1, 1)" behind the parameters. */
static void edit_signature(const struct grid *g) {
    const struct nki_list *args = &g->function->function_def.args->arguments.args;
    struct buf text = {0};
    buf_printf(&text, ", %s=(", g->argument);
    for (int a = 0; a < g->axes; a++)
        buf_puts(&text, a ? ", 1" : "1");
    buf_puts(&text, g->axes == 1 ? ",)" : ")");
    nki_edit_insert(&g->m->edits, args->at[args->len - 1]->end, buf_str(&text));
    buf_free(&text);
}

/* kernel[rows, columns](x) is kernel(x, grid=(rows, columns)); with nl.nc(2) it is kernel[2](..).
 */
static void edit_launch(const struct grid *g, const struct nki_node *call) {
    const struct nki_token *before =
        &g->m->tree->tokens[nki_token_at(g->m->tree, call->end - 1) - 1];
    const struct nki_node *func = call->call.func;
    bool opens = before->kind == NKI_TOKEN_OP && before->op == '(';
    bool listed = before->kind == NKI_TOKEN_OP && before->op == ',';
    struct buf text = {0}, sizes = {0}, cores = {0};
    struct spread spread = {0};
    (void)print_sizes(g, call, &spread, &sizes);
    if (spread.cores)
        buf_printf(&cores, "[" STR_FMT "]",
                   STR_ARG(nki_text(g->m->tree, nki_outer_span(g->m->tree, spread.cores))));
    buf_printf(&text, "%s%s=%s", opens ? "" : listed ? " " : ", ", g->argument, sizes.at);
    nki_edit_replace(&g->m->edits, (struct nki_span){func->subscript.value->end, func->end},
                     buf_str(&cores));
    nki_edit_insert(&g->m->edits, call->end - 1, buf_str(&text));
    migrate_did(g->m, call, "the grid is an argument of the kernel");
    buf_free(&cores);
    buf_free(&text);
    buf_free(&sizes);
}

static void edit_uses(const struct grid *g) {
    for (uint32_t i = g->function->id; i <= g->function->last; i++) {
        const struct nki_node *node = g->m->tree->nodes[i];
        if (!asks_program(g, node))
            continue;
        struct buf text = {0};
        if (migrate_calls(g->m, node, "nl.program_id"))
            buf_puts(&text, g->rounds[axis_of(node)]);
        else
            buf_printf(&text, "%s[%d]", g->argument, axis_of(node));
        nki_edit_replace(&g->m->edits, nki_span_of(node), buf_str(&text));
        buf_free(&text);
    }
}

/* The lines of a statement go in by a step for each loop, but for those within a string. */
static void indent_stmt(const struct grid *g, const struct nki_node *stmt, bool first) {
    const struct nki_tree *tree = g->m->tree;
    struct nki_span lines =
        first ? nki_stmt_lines(tree, stmt, NULL) : nki_stmt_lines_with_comments(tree, stmt);
    struct buf step = {0};
    for (int a = 0; a < g->axes; a++)
        buf_printf(&step, STR_FMT, STR_ARG(nki_indent_unit(tree)));
    for (uint32_t at = lines.start; at < lines.end;) {
        const struct nki_token *token = &tree->tokens[nki_token_at(tree, at)];
        bool inside = token->start < at && token->kind != NKI_TOKEN_NEWLINE;
        char byte = tree->source.at[at];
        if (!inside && byte != '\n' && byte != '\r')
            nki_edit_insert(&g->m->edits, at, buf_str(&step));
        while (at < lines.end && tree->source.at[at] != '\n')
            at++;
        at++;
    }
    buf_free(&step);
}

/* "(grid[0]):", or of the programs that one of several cores runs. */
static void print_range(const struct grid *g, int axis, struct buf *out) {
    if (!g->spread.cores || axis != g->spread.axis) {
        buf_printf(out, "(%s[%d]):\n", g->argument, axis);
        return;
    }
    struct buf core = {0}, cores = {0};
    migrate_spell(g->m, "nl.program_id", &core);
    buf_puts(&core, "(0)");
    migrate_spell(g->m, "nl.num_programs", &cores);
    buf_puts(&cores, "(0)");
    if (g->spread.inner)
        buf_printf(out, "(%s, %s[%d], %s):\n", core.at, g->argument, axis, cores.at);
    else
        buf_printf(out, "(%s * %s[%d] // %s, (%s + 1) * %s[%d] // %s):\n", core.at, g->argument,
                   axis, cores.at, core.at, g->argument, axis, cores.at);
    buf_free(&core);
    buf_free(&cores);
}

/* The loops come before the first statement, and what all programs share before them. */
static bool edit_region(const struct grid *g) {
    const struct nki_list *body = &g->function->function_def.body;
    struct buf head = {0};
    for (uint32_t s = g->first; s < g->end; s++)
        if (makes_shared(g, body->at[s]))
            buf_printf(&head, STR_FMT "\n", STR_ARG(nki_node_text(g->m->tree, body->at[s])));
    for (int a = 0; a < g->axes; a++) {
        for (int k = 0; k < a; k++)
            buf_printf(&head, STR_FMT, STR_ARG(nki_indent_unit(g->m->tree)));
        buf_printf(&head, "for %s in ", g->rounds[a]);
        migrate_spell(g->m, "nl.affine_range", &head);
        print_range(g, a, &head);
    }
    bool ok = nki_edit_insert_before(&g->m->edits, body->at[g->first], buf_str(&head));
    for (uint32_t s = g->first; s < g->end; s++) {
        if (makes_shared(g, body->at[s]))
            nki_edit_remove_stmt(&g->m->edits, body->at[s]);
        else
            indent_stmt(g, body->at[s], s == g->first);
    }
    buf_free(&head);
    return ok;
}

static void unroll(struct grid *g) {
    size_t edits = g->m->edits.all.len;
    choose_names(g);
    if (!edit_region(g)) {
        migrate_forget(g->m, edits);
        migrate_ask(g->m, g->function, many);
        return;
    }
    edit_signature(g);
    edit_uses(g);
    for (size_t i = 0; i < g->n_launches; i++)
        edit_launch(g, g->launches[i]);
    migrate_did(g->m, g->function,
                g->mixed ? "the programs of its launch are rounds of loops, which go to the cores "
                           "in turn, as some of its launches say"
                         : "the programs of its launch are rounds of loops");
}

void older_unroll_grids(struct migrate *m) {
    static const struct migrate_rule rule = {.since = "0.2"};
    m->rule = &rule;
    for (uint32_t i = 1; i < m->tree->n_nodes; i++) {
        struct grid g = {.m = m, .function = m->tree->nodes[i]};
        if (g.function->kind != NKI_FUNCTION_DEF || !nki_kernel_decorator(g.function))
            continue;
        bool ok = find_axes(&g) && (!g.axes || (find_launches(&g) && find_region(&g)));
        if (g.question)
            migrate_ask(m, g.where, g.question);
        else if (ok && g.axes)
            unroll(&g);
    }
}
