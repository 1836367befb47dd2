/* SPDX-License-Identifier: Apache-2.0 */
/* The search over schedules takes longer than a plan may, so it is made once: what it finds depends
 * on the reference and on the settings, and not on the kernel of the moment. */
#include "tune/proposer/anew.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "task/task.h"
#include "tune/proposer/inner.h"

#define BUDGET 160      /* schedules: what is found later seldom pays for the wait */
#define SPLIT_BUDGET 40 /* to say what another precision would bring */
#define WORTH_TELLING 0.97

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
    struct err err; /* why nothing was found */
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
    return anew;
}

struct anew *anew_take(struct anew **kept, const struct tune_context *context) {
    if (!context->reference_path || !context->takes_current)
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

/* The reference's graph; where there is none, what the kernel computes, once its inputs are
 * known. */
static void read_graph(struct anew *anew, const struct rewrite_request *request,
                       const volatile int *cancel) {
    size_t size = 0;
    char *graph = task_graph_read(anew->reference_path, &size, &anew->err), *lifted = NULL;
    bool recorded = is_recorded(graph, size);
    if (!recorded && !request->inputs) {
        free(graph);
        return;
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
}

static void search(struct anew *anew, struct rewrite_request *request,
                   const struct anew_search *how) {
    struct rewrite_effort effort = {BUDGET, how->threads, how->cancel};
    anew->err = (struct err){0};
    anew->found = rewrite_anew_search(request, &effort, &anew->err);
    anew->was_searched = !*how->cancel;
    anew->view.found = anew->found;
}

/* What sums of bf16 products would bring, for the person to decide: it is said once, at the start,
 * and only where it matters. */
static void tell_split(const struct anew *anew, const struct rewrite_request *request,
                       const struct anew_search *how, struct buf *summary) {
    struct rewrite_effort effort = {SPLIT_BUDGET, how->threads, how->cancel};
    if (anew->view.precision != WRITE_KEEP || !anew->found || *how->cancel)
        return;
    struct rewrite_anew view = anew->view;
    struct rewrite_request split = *request;
    view.precision = WRITE_SPLIT;
    split.anew = &view;
    struct schedule *found = rewrite_anew_search(&split, &effort, NULL);
    if (found && found->latency_us < anew->found->latency_us * WORTH_TELLING) {
        buf_puts(summary, "\nin precision split (products of fp32 as sums of bf16 products, within "
                          "the tolerance) it would take ");
        clock_print_duration(summary, found->latency_us * 1e-6);
        buf_puts(summary, "; you decide: :precision split, or --precision split");
    }
    schedule_free(found);
}

static void tell(const struct anew *anew, struct buf *summary) {
    const struct schedule *found = anew->found;
    if (!found) {
        buf_printf(summary, "no kernel was written anew from the reference: %s", anew->err.text);
        return;
    }
    buf_printf(summary, "judged %zu schedule%s of a kernel written anew from %s: ", found->judged,
               found->judged == 1 ? "" : "s",
               anew->view.is_lifted ? "what the kernel computes" : "the reference");
    clock_print_duration(summary, found->latency_us * 1e-6);
    buf_printf(summary, " on the device model%s", found->ended ? "" : "; the budget ended");
}

void anew_fill(struct anew *anew, struct rewrite_request *request, const struct anew_search *how,
               struct buf *summary) {
    pthread_mutex_lock(&anew->works);
    if (!anew->was_read)
        read_graph(anew, request, how->cancel);
    if (anew->graph)
        request->anew = &anew->view;
    if (how->threads && !anew->was_searched && request->inputs) {
        if (anew->graph)
            search(anew, request, how);
        else
            anew->was_searched = true;
        if (anew->was_searched) {
            tell(anew, summary);
            tell_split(anew, request, how, summary);
        }
    }
    pthread_mutex_unlock(&anew->works);
}
