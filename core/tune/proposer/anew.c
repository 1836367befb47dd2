/* SPDX-License-Identifier: Apache-2.0 */
/* The search over schedules takes longer than a plan may, so it is made once: what it finds depends
 * on the reference and on the settings, and not on the kernel of the moment. */
#include "tune/proposer/anew.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "task/task.h"
#include "tune/proposer/inner.h"

#define BUDGET 160      /* schedules: what is found later seldom pays for the wait */
#define OFFER_BUDGET 40 /* to say what another precision would bring */
#define WORTH_TELLING 0.97
#define ANY_TOLERANCE 6.4e-3 /* twice the error of products in bf16: write, product_split.c */

struct anew {
    atomic_int holders;
    pthread_mutex_t works; /* held by the job that fills it */
    char *reference_path, *task, *device, *precision;
    double tolerance;
    bool pessimistic;
    bool was_read;
    atomic_bool was_searched;
    char *graph;
    struct schedule *found;
    struct rewrite_anew view;
    double offer_us[TUNE_PRECISIONS]; /* what each precision would bring; NAN: nothing to decide */
    struct err err;                   /* why nothing was found */
};

/* ---- who holds it ---------------------------------------------------------------------------- */

static bool same(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool is_of(const struct anew *anew, const struct tune_context *context) {
    return same(anew->reference_path, context->reference_path) &&
           same(anew->device, context->device) && same(anew->precision, context->precision) &&
           anew->pessimistic == context->pessimistic && anew->tolerance == context->tolerance;
}

static struct anew *anew_new(const struct tune_context *context) {
    struct anew *anew = mem_alloc(1, sizeof *anew);
    atomic_init(&anew->holders, 1);
    pthread_mutex_init(&anew->works, NULL);
    anew->reference_path = mem_strdup(context->reference_path);
    anew->task = mem_strdup(context->task);
    anew->device = mem_strdup(context->device);
    anew->precision = mem_strdup(context->precision);
    anew->pessimistic = context->pessimistic;
    anew->tolerance = context->tolerance;
    for (int i = 0; i < TUNE_PRECISIONS; i++)
        anew->offer_us[i] = NAN;
    return anew;
}

/* What replaces it is then written in that dialect, too. */
static bool is_older(const char *source) {
    struct diag_list ignored = {0};
    struct nki_tree *tree = nki_parse("kernel.py", str_of(source ? source : ""), &ignored);
    bool older = nki_detect_dialect(tree).dialect == NKI_DIALECT_LEGACY;
    nki_tree_free(tree);
    diag_free(&ignored);
    return older;
}

struct anew *anew_take(struct anew **kept, const struct tune_context *context) {
    /* Written kernels are for one core. */
    if (!context->reference_path || context->lnc > 1 ||
        (!context->takes_current && !is_older(context->source)))
        return NULL;
    if (!*kept || !is_of(*kept, context)) {
        anew_drop(*kept);
        *kept = anew_new(context);
    }
    atomic_fetch_add(&(*kept)->holders, 1);
    return *kept;
}

void anew_drop(struct anew *anew) {
    if (!anew || atomic_fetch_sub(&anew->holders, 1) > 1)
        return;
    pthread_mutex_destroy(&anew->works);
    schedule_free(anew->found);
    free(anew->graph);
    free(anew->reference_path);
    free(anew->task);
    free(anew->device);
    free(anew->precision);
    free(anew);
}

bool anew_is_unsearched(const struct anew *anew) {
    return !atomic_load(&anew->was_searched);
}

/* ---- what it has ----------------------------------------------------------------------------- */

/* Whether the reference could be recorded. */
static bool is_recorded(const char *graph, size_t size) {
    cJSON *meta = graph ? cJSON_ParseWithLength(graph, size) : NULL;
    bool recorded = meta && !cJSON_GetObjectItemCaseSensitive(meta, "refused");
    cJSON_Delete(meta);
    return recorded;
}

/* The reference's graph; where it cannot be recorded, what the kernel computes, once its inputs are
 * known. False when the record is gone: a plan from it is not made from something else. */
static bool read_graph(struct anew *anew, const struct rewrite_request *request,
                       const volatile int *cancel) {
    size_t size = 0;
    char *graph = task_graph_read(anew->reference_path, &size, &anew->err), *lifted = NULL;
    bool recorded = is_recorded(graph, size);
    if (!graph)
        return false;
    if (!recorded && !request->inputs) {
        free(graph);
        return true;
    }
    if (!recorded && (lifted = rewrite_lift(request, cancel, NULL))) {
        free(graph);
        graph = lifted;
        size = strlen(lifted);
    }
    free(anew->graph);
    anew->graph = graph;
    anew->view = (struct rewrite_anew){.graph = {graph, size},
                                       .is_lifted = lifted != NULL,
                                       .task = anew->task,
                                       .precision = write_precision_of(anew->precision),
                                       .tolerance = anew->tolerance};
    anew->was_read = !cancel || !*cancel;
    return true;
}

static void search(struct anew *anew, struct rewrite_request *request,
                   const struct anew_search *how) {
    struct rewrite_effort effort = {BUDGET, how->threads, how->cancel};
    anew->err = (struct err){0};
    anew->found = rewrite_anew_search(request, &effort, &anew->err);
    anew->was_searched = !*how->cancel;
    anew->view.found = anew->found;
}

/* The latency of the best kernel in another precision; NAN: none was found. */
static double try_precision(const struct anew *anew, const struct rewrite_request *request,
                            enum write_precision precision, const struct anew_search *how) {
    struct rewrite_effort effort = {OFFER_BUDGET, how->threads, how->cancel};
    struct rewrite_anew view = anew->view;
    struct rewrite_request other = *request;
    view.precision = precision;
    other.anew = &view;
    struct schedule *found = rewrite_anew_search(&other, &effort, NULL);
    double us = found ? found->latency_us : (double)NAN;
    schedule_free(found);
    return us;
}

/* What other precisions would bring, for the person to decide: only at the start, and only where it
 * matters. */
static void try_others(struct anew *anew, const struct rewrite_request *request,
                       const struct anew_search *how) {
    if (anew->view.precision != WRITE_KEEP || !anew->found || *how->cancel)
        return;
    double keep_us = anew->found->latency_us;
    double now_us = request->latency_us > 0 ? MIN_OF(keep_us, request->latency_us) : keep_us;
    double split_us = try_precision(anew, request, WRITE_SPLIT, how);
    double any_us = anew->tolerance >= ANY_TOLERANCE ? try_precision(anew, request, WRITE_ANY, how)
                                                     : (double)NAN;
    if (*how->cancel || !(fmin(split_us, any_us) < now_us * WORTH_TELLING))
        return;
    anew->offer_us[TUNE_PRECISION_KEEP] = now_us;
    anew->offer_us[TUNE_PRECISION_SPLIT] = split_us;
    anew->offer_us[TUNE_PRECISION_ANY] = any_us;
}

static void tell_offer(const double offer_us[TUNE_PRECISIONS], struct buf *summary) {
    static const char *const means[] = {[TUNE_PRECISION_SPLIT] =
                                            "products of fp32 as sums of bf16 products",
                                        [TUNE_PRECISION_ANY] = "products in bf16"};
    for (int i = TUNE_PRECISION_SPLIT; i < TUNE_PRECISIONS; i++) {
        const char *word = tune_precision_word((enum tune_precision)i);
        if (!(offer_us[i] < offer_us[TUNE_PRECISION_KEEP]))
            continue;
        buf_printf(summary, "\nin precision %s (%s, within the tolerance) it would take ", word,
                   means[i]);
        clock_print_duration(summary, offer_us[i] * 1e-6);
        buf_puts(summary, " instead of ");
        clock_print_duration(summary, offer_us[TUNE_PRECISION_KEEP] * 1e-6);
        buf_printf(summary, "; you decide: :precision %s, or --precision %s", word, word);
    }
}

static void tell(const struct anew *anew, struct buf *summary) {
    const struct schedule *found = anew->found;
    if (!found) {
        buf_printf(summary, "no kernel was written anew from the reference: %s", anew->err.text);
        return;
    }
    buf_printf(summary, "judged %zu schedule%s of a kernel written anew from %s: ", found->judged,
               PLURAL(found->judged),
               anew->view.is_lifted ? "what the kernel computes" : "the reference");
    clock_print_duration(summary, found->latency_us * 1e-6);
    buf_printf(summary, " on the device model%s", found->ended ? "" : "; the budget ended");
}

bool anew_fill(struct anew *anew, struct rewrite_request *request, const struct anew_search *how,
               struct buf *summary, double offer_us[TUNE_PRECISIONS]) {
    pthread_mutex_lock(&anew->works);
    bool there = anew->was_read || read_graph(anew, request, how->cancel);
    if (anew->graph)
        request->anew = &anew->view;
    if (there && how->threads && !anew->was_searched && request->inputs) {
        if (anew->graph)
            search(anew, request, how);
        else
            anew->was_searched = true;
        if (anew->was_searched) {
            tell(anew, summary);
            try_others(anew, request, how);
            tell_offer(anew->offer_us, summary);
        }
    }
    memcpy(offer_us, anew->offer_us, sizeof anew->offer_us);
    pthread_mutex_unlock(&anew->works);
    return there;
}
