/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel written anew from what the reference computes, as an offer among the edits. Its key
 * has the whole schedule, so that the same kernel comes out of it without another search. */
#include "rewrite/private.h"

#include <stdlib.h>

#include "device/device.h"

#define MOST_SETTINGS 512

/* As the kernel that it replaces is called; in the arena. */
static const char *function_of(const struct rewrite_request *request, struct arena *arena) {
    if (request->function)
        return arena_strdup(arena, request->function);
    struct diag_list ignored = {0};
    struct nki_tree *tree = nki_parse("kernel.py", request->source, &ignored);
    const struct nki_node *kernel = nki_find_kernel(tree, NULL, NULL);
    struct str name = kernel ? kernel->function_def.name : str_of("kernel");
    const char *kept = arena_strndup(arena, name.at, name.len);
    nki_tree_free(tree);
    diag_free(&ignored);
    return kept;
}

/* trn1 has no compiler for the current dialect. */
static bool is_older(const struct rewrite_request *request) {
    struct diag_list ignored = {0};
    struct nki_tree *tree = nki_parse("kernel.py", request->source, &ignored);
    bool older = nki_detect_dialect(tree).dialect == NKI_DIALECT_LEGACY;
    nki_tree_free(tree);
    diag_free(&ignored);
    return older && (request->older || request->generation == NKI_GEN2);
}

static struct write_spec spec_of(const struct rewrite_request *request, struct arena *arena) {
    return (struct write_spec){
        .graph = request->anew->graph,
        .name = request->anew->task ? request->anew->task : "The task",
        .function = function_of(request, arena),
        .sbuf_bytes = (double)device_generation_of(request->generation)->sbuf_partition_bytes,
        .older_dialect = is_older(request),
        .is_trn1 = request->generation == NKI_GEN2,
        .precision = request->anew->precision,
        .tolerance = request->anew->tolerance};
}

struct schedule *rewrite_anew_search(const struct rewrite_request *request,
                                     const struct rewrite_effort *effort, struct err *err) {
    struct arena *arena = arena_new();
    struct schedule_request search = {.spec = spec_of(request, arena),
                                      .generation = request->generation,
                                      .pessimistic = request->pessimistic,
                                      .inputs = request->inputs,
                                      .n_inputs = request->n_inputs,
                                      .budget = effort->budget,
                                      .threads = effort->threads,
                                      .cancel = effort->cancel};
    struct schedule *found = schedule_search(&search, err);
    arena_free(arena);
    return found;
}

/* ---- the offer ------------------------------------------------------------------------------- */

static const char *print_key(const struct rewrite_anew *anew, struct arena *arena) {
    struct buf key = {0};
    buf_printf(&key, REWRITE_ANEW "%s", write_precision_word(anew->precision));
    for (size_t i = 0; i < anew->found->settings.len; i++)
        buf_printf(&key, ",%s=%lld", anew->found->settings.at[i].key,
                   (long long)anew->found->settings.at[i].value);
    const char *kept = arena_strdup(arena, key.at);
    buf_free(&key);
    return kept;
}

static void print_us(struct buf *out, double us) {
    clock_print_duration(out, us * 1e-6);
}

/* Whose lines the graph has. */
static const char *source_of(const struct rewrite_anew *anew) {
    return anew->is_lifted ? "kernel" : "reference";
}

static void print_step(const struct rewrite_anew *anew, struct buf *out,
                       const struct schedule_step *step) {
    schedule_step_print(step, source_of(anew), out);
    if (step->saved_us > 0) {
        buf_puts(out, "; saves ");
        print_us(out, step->saved_us);
    } else {
        buf_puts(out, "; saves nothing by itself, later steps need it");
    }
    buf_putc(out, '.');
}

/* What becomes of the rest of the file. */
static void print_rest(const struct rewrite_request *request, struct buf *out,
                       struct rewrite_lines *lines) {
    struct buf made = {0}, lost = {0};
    if (rewrite_keep_rest(request, str_of(request->anew->found->text), &made, &lost, lines))
        buf_puts(out, " The rest of the file stays as it is.");
    else if (lost.len)
        buf_printf(out, " %s", lost.at);
    buf_free(&made);
    buf_free(&lost);
}

static const char *print_what(const struct rewrite_request *request, struct rewrite_lines *lines,
                              struct arena *arena) {
    const struct rewrite_anew *anew = request->anew;
    const struct schedule *found = anew->found;
    struct buf out = {0};
    buf_printf(&out,
               "Replaces the whole kernel by one that is written from what the %s computes, "
               "in the %s dialect; precision: %s. No line of the kernel is kept, only its "
               "name and the order of its arguments.",
               source_of(anew), is_older(request) ? "older" : "current",
               write_precision_word(anew->precision));
    print_rest(request, &out, lines);
    if (found->steps.len) {
        buf_puts(&out, " As it is written first it would take ");
        print_us(&out, found->start_us);
        buf_puts(&out, ". Steps of its schedule:");
    }
    for (size_t i = 0; i < found->steps.len; i++) {
        buf_printf(&out, " (%zu) ", i + 1);
        print_step(anew, &out, &found->steps.at[i]);
    }
    const char *kept = arena_strdup(arena, out.at);
    buf_free(&out);
    return kept;
}

static const char *print_why(const struct rewrite_anew *anew, double now_us, struct arena *arena) {
    struct buf out = {0};
    buf_puts(&out, "Computed by the device model: ");
    print_us(&out, anew->found->latency_us);
    buf_puts(&out, " instead of ");
    print_us(&out, now_us);
    buf_printf(&out, "; %zu schedules were judged, %s.", anew->found->judged,
               anew->found->ended ? "and no step and no pair of steps is better"
                                  : "then the budget ended");
    const char *kept = arena_strdup(arena, out.at);
    buf_free(&out);
    return kept;
}

void rewrite_anew_offer(const struct rewrite_request *request, double now_us, struct arena *arena,
                        struct rewrite_offer *offer) {
    const struct rewrite_anew *anew = request->anew;
    double change = anew->found->latency_us / now_us - 1;
    struct rewrite_lines lines;
    const char *what = print_what(request, &lines, arena);
    *offer = (struct rewrite_offer){.key = print_key(anew, arena),
                                    .title = anew->is_lifted
                                                 ? "Write the kernel anew from what it computes"
                                                 : "Write the kernel anew from the reference",
                                    .what = what,
                                    .why = print_why(anew, now_us, arena),
                                    .first_line = lines.first,
                                    .last_line = lines.last,
                                    .metric = "latency",
                                    .direction = REWRITE_DOWN,
                                    .size = -change,
                                    .latency = change,
                                    .modelled = true};
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* "keep,matmul_4.block_rows=256": false where it is none. */
static bool read_key(const char *key, struct arena *arena, struct write_spec *spec) {
    char *rest = arena_strdup(arena, key + strlen(REWRITE_ANEW));
    struct write_setting *settings = ARENA_ARRAY(arena, struct write_setting, MOST_SETTINGS);
    char *save = NULL, *part = strtok_r(rest, ",", &save);
    if (!part)
        return false;
    spec->precision = write_precision_of(part);
    while ((part = strtok_r(NULL, ",", &save))) {
        char *equals = strchr(part, '='), *end = NULL;
        if (!equals || spec->setting_count == MOST_SETTINGS)
            return false;
        *equals = 0;
        settings[spec->setting_count++] =
            (struct write_setting){part, strtoll(equals + 1, &end, 10)};
        if (end == equals + 1 || *end)
            return false;
    }
    spec->settings = settings;
    return true;
}

static void put_written(const struct rewrite_request *request, const char *text, struct buf *out) {
    struct rewrite_lines ignored;
    struct buf lost = {0};
    rewrite_keep_rest(request, str_of(text), out, &lost, &ignored);
    buf_free(&lost);
}

bool rewrite_anew_apply(const struct rewrite_request *request, const char *key, struct buf *out,
                        struct err *err) {
    if (!request->anew)
        return err_set(err, ERR_KERNEL, "what the reference computes is not recorded any more");
    struct arena *arena = arena_new();
    struct write_spec spec = spec_of(request, arena);
    bool ok = read_key(key, arena, &spec) ||
              err_set(err, ERR_KERNEL, "\"%.100s\" names no schedule", key);
    struct written *written = ok ? write_kernel(&spec, err) : NULL;
    ok = written != NULL;
    if (ok && written->gaps.len)
        ok = err_set(err, ERR_KERNEL, "%s (line %d of the %s) cannot be written",
                     written->gaps.at[0].what, written->gaps.at[0].line, source_of(request->anew));
    if (ok)
        put_written(request, written->text, out);
    written_free(written);
    arena_free(arena);
    return ok;
}
