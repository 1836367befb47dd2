/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks the edits of the menu by what the embedded device model expects of them. It proposes, it
 * does not judge: numbers are not computed here, and the runner has the last word on correctness
 * and speed. */
#include "rewrite/private.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "device/device.h"
#include "rewrite/testing.h"

#define MAX_INSTRUCTIONS 500000 /* of a kernel that is modelled while ranking */
#define FOLD_LEAST 20000        /* instructions; for fewer, looking for a steady state costs more */
#define MIN_GAIN 0.004          /* of the latency; less is not worth a round */
#define LEAST_WORK 1000         /* of a kernel, in instructions: its text is read, too */
#define FAR 1.3                 /* times as fast: edits seldom get there */
#define MUCH 0.03               /* of the latency: more than the clock may err by */
#define MAX_BEFORE 7            /* edits before the kernel written anew */
#define MAX_FIRSTS 6            /* edits that are tried as the first of a pair */

/* ---- the model's view of a source ----------------------------------------------------------- */

static void keep_metrics(const struct device_profile *profile, struct arena *arena,
                         struct rewrite_estimate *estimate) {
    estimate->latency_us = profile->latency_us;
    for (size_t i = 0; i < profile->metrics.len && i < REWRITE_MAX_METRICS; i++) {
        estimate->metrics[i].name = arena_strdup(arena, profile->metrics.at[i].name);
        estimate->metrics[i].value = profile->metrics.at[i].value;
        estimate->n_metrics = i + 1;
    }
}

static struct device_constants constants_for(const struct rewrite_request *request) {
    struct device_constants constants = *device_constants_of(request->generation);
    if (request->pessimistic) {
        device_constants_worsen(&constants, DEVICE_FITTED);
        device_constants_worsen(&constants, DEVICE_GUESSED);
    }
    return constants;
}

void rewrite_estimate(const struct rewrite_request *request, struct str source, struct arena *arena,
                      const volatile int *cancel, struct rewrite_estimate *estimate) {
    *estimate = (struct rewrite_estimate){.why = "the device model rejects it"};
    struct diag_list diags = {0};
    struct nki_specialise_options options = {
        .function = request->function,
        .generation = request->generation,
        .grid = {request->lnc},
        .inputs = request->inputs,
        .n_inputs = request->n_inputs,
        .max_instructions = MAX_INSTRUCTIONS,
        .cancel = cancel,
        .fold_least = FOLD_LEAST,
    };
    struct device_kernel kernel = {0};
    struct device_constants constants = constants_for(request);
    struct nki_tree *tree = nki_parse(request->path ? request->path : "kernel.py", source, &diags);
    if (!tree->errors && device_generation_of(request->generation) &&
        device_kernel_time(tree, &options, &constants, &diags, &kernel))
        keep_metrics(kernel.profile, arena, estimate);
    for (size_t i = 0; i < diags.all.len; i++)
        if (diags.all.at[i].severity == DIAG_ERROR) {
            estimate->why = arena_strdup(arena, diags.all.at[i].message);
            break;
        }
    estimate->work = LEAST_WORK + (kernel.program ? (double)kernel.program->instrs.len : 0);
    device_kernel_free(&kernel);
    nki_tree_free(tree);
    diag_free(&diags);
}

double rewrite_estimate_metric(const struct rewrite_estimate *estimate, const char *name) {
    for (size_t i = 0; i < estimate->n_metrics; i++)
        if (strcmp(estimate->metrics[i].name, name) == 0)
            return estimate->metrics[i].value;
    return NAN;
}

/* ---- offers --------------------------------------------------------------------------------- */

struct ranking {
    const struct rewrite_request *request;
    const struct rewrite_screen *screen;
    struct rewrite_offers *offers;
    struct rewrite_estimate base;
    double work; /* that was done */
};

static bool goes_on(struct ranking *ranking) {
    const volatile int *cancel = ranking->screen->cancel;
    ranking->offers->ended |= ranking->work >= ranking->screen->budget;
    return !(cancel && *cancel) && !ranking->offers->ended;
}

static bool is_closed(const struct ranking *ranking, const char *key) {
    const struct rewrite_screen *screen = ranking->screen;
    return screen->is_closed && screen->is_closed(screen->data, key);
}

/* What the edit is expected to move: the row's own metric when it does, else the latency. */
static void predict(const struct ranking *ranking, const struct rewrite_site *site,
                    const struct rewrite_estimate *after, struct rewrite_offer *offer) {
    offer->modelled = true;
    offer->latency = after->latency_us / ranking->base.latency_us - 1;
    double old = rewrite_estimate_metric(&ranking->base, site->row->metric);
    double new = rewrite_estimate_metric(after, site->row->metric);
    double change = old > 0 ? new / old - 1 : NAN;
    bool as_said = site->row->direction == REWRITE_DOWN ? change < -0.01 : change > 0.01;
    if (as_said) {
        offer->metric = site->row->metric;
        offer->direction = site->row->direction;
        offer->size = fabs(change);
    } else {
        offer->metric = "latency";
        offer->direction = REWRITE_DOWN;
        offer->size = fabs(offer->latency);
    }
}

static struct rewrite_offer *add_offer(struct ranking *ranking, const struct rewrite_model *model,
                                       const struct rewrite_site *site) {
    struct arena *arena = ranking->offers->arena;
    struct rewrite_offer *offer = vec_push(&ranking->offers->all);
    *offer = (struct rewrite_offer){
        .key = arena_strdup(arena, site->key),
        .title = arena_strdup(arena, site->title),
        .what = arena_strdup(arena, site->what),
        .why = arena_strdup(arena, site->why),
        .first_line = nki_place_of(model->tree, site->place->start).line,
        .last_line = nki_place_of(model->tree, site->place->end).line,
        .metric = site->metric ? site->metric : site->row->metric,
        .direction = site->metric ? REWRITE_DOWN : site->row->direction,
        .size = site->size,
        .latency = -site->gain,
    };
    return offer;
}

static void keep_lost(struct ranking *ranking, const struct rewrite_site *site,
                      const struct rewrite_estimate *after) {
    bool timed = after->latency_us > 0;
    *vec_push(&ranking->offers->lost) = (struct rewrite_lost){
        .title = arena_strdup(ranking->offers->arena, site->title),
        .latency = timed ? after->latency_us / ranking->base.latency_us - 1 : (double)NAN,
        .why = timed ? NULL : after->why};
}

static double metric_of(const void *data, const char *name) {
    return rewrite_estimate_metric(data, name);
}

/* Whether a kernel is faster than the one there is, by as much as counts. */
static bool is_gain(const struct ranking *ranking, const struct rewrite_estimate *after) {
    struct device_counts was, is;
    double ratio = ranking->base.latency_us / after->latency_us;
    if (!(after->latency_us > 0) || ratio * (1 - MIN_GAIN) <= 1)
        return false;
    return !ranking->request->only_certain ||
           !device_counts_read(&was, metric_of, &ranking->base) ||
           !device_counts_read(&is, metric_of, after) ||
           ratio >= device_edit_least(device_edit_between(&was, &is));
}

/* Tries one edit; true when the model says it is faster (or there is no model to ask). */
static bool try_site(struct ranking *ranking, const struct rewrite_model *model,
                     const struct rewrite_site *site) {
    struct buf out = {0};
    bool added = false;
    ranking->offers->looked_at++;
    if (rewrite_apply(ranking->request, site->key, &out, NULL)) {
        struct rewrite_estimate after = {0};
        if (ranking->offers->modelled)
            rewrite_estimate(ranking->request, buf_str(&out), ranking->offers->arena,
                             ranking->screen->cancel, &after);
        ranking->work += after.work;
        added = !ranking->offers->modelled || is_gain(ranking, &after);
        if (added) {
            struct rewrite_offer *offer = add_offer(ranking, model, site);
            if (ranking->offers->modelled)
                predict(ranking, site, &after, offer);
        } else {
            keep_lost(ranking, site, &after);
        }
    }
    buf_free(&out);
    return added;
}

static void try_singles(struct ranking *ranking, const struct rewrite_model *model) {
    for (size_t i = 0; i < model->sites.len && goes_on(ranking); i++)
        if (!is_closed(ranking, model->sites.at[i].key))
            try_site(ranking, model, &model->sites.at[i]);
}

/* "Keep w in SBUF, then move add_14 to GpSimd": a word with capitals keeps them. */
static const char *within_sentence(struct arena *arena, const char *first, const char *second) {
    bool is_word = isupper((unsigned char)second[0]) && islower((unsigned char)second[1]);
    char begin = is_word ? (char)tolower((unsigned char)second[0]) : second[0];
    return begin ? arena_printf(arena, "%s, then %c%s", first, begin, second + 1) : first;
}

/* Edits of what the first edit gives: "a, then b" where b is faster than the kernel as it is. */
static void try_seconds(struct ranking *ranking, const struct rewrite_model *model,
                        const struct rewrite_site *first, struct str source) {
    struct arena *arena = ranking->offers->arena;
    struct rewrite_request next = *ranking->request;
    next.source = source;
    next.n_lines = 0;
    struct rewrite_model *after = rewrite_model_new(&next, NULL);
    if (!after)
        return;
    rewrite_find_all(after);
    for (size_t i = 0; i < after->sites.len && goes_on(ranking); i++) {
        const struct rewrite_site *second = &after->sites.at[i];
        struct rewrite_site both = *first;
        both.key = arena_printf(arena, "%s+%s", first->key, second->key);
        both.title = within_sentence(arena, first->title, second->title);
        both.what = arena_printf(arena, "%s %s", first->what, second->what);
        both.why = strcmp(first->why, second->why) == 0
                       ? first->why
                       : arena_printf(arena, "%s %s", first->why, second->why);
        if (!is_closed(ranking, both.key))
            try_site(ranking, model, &both);
    }
    rewrite_model_free(after);
}

static void try_pairs(struct ranking *ranking, const struct rewrite_model *model) {
    for (size_t i = 0; i < model->sites.len && i < MAX_FIRSTS && goes_on(ranking); i++) {
        struct buf out = {0};
        if (rewrite_apply(ranking->request, model->sites.at[i].key, &out, NULL))
            try_seconds(ranking, model, &model->sites.at[i], buf_str(&out));
        buf_free(&out);
    }
}

/* Where the kernel written anew stands among the edits, which are sorted: before all when it is far
 * faster than the best of them. Otherwise edits that bring much come first, as several of them one
 * after the other may end below it; edits that bring little come after it. */
static size_t place_of_anew(const struct rewrite_offers *offers, const struct rewrite_offer *anew) {
    size_t at = 0;
    if (offers->all.len && (1 + anew->latency) * FAR < 1 + offers->all.at[0].latency)
        return 0;
    while (at < offers->all.len && at < MAX_BEFORE && offers->all.at[at].latency <= -MUCH)
        at++;
    return at;
}

static void add_anew(struct ranking *ranking) {
    const struct rewrite_anew *anew = ranking->request->anew;
    struct rewrite_offers *offers = ranking->offers;
    offers->anew_us = NAN;
    if (!anew || !anew->found)
        return;
    struct rewrite_estimate after = {.latency_us = anew->found->latency_us};
    if (ranking->request->only_certain && anew->found->text)
        rewrite_estimate(ranking->request, str_of(anew->found->text), offers->arena,
                         ranking->screen->cancel, &after);
    if (!is_gain(ranking, &after)) {
        offers->anew_us = anew->found->latency_us;
        return;
    }
    struct rewrite_offer offer;
    rewrite_anew_offer(ranking->request, ranking->base.latency_us, offers->arena, &offer);
    if (is_closed(ranking, offer.key))
        return;
    size_t at = place_of_anew(offers, &offer);
    offers->looked_at++;
    (void)vec_push(&offers->all);
    memmove(&offers->all.at[at + 1], &offers->all.at[at],
            (offers->all.len - 1 - at) * sizeof *offers->all.at);
    offers->all.at[at] = offer;
}

static void keep_declined(const struct rewrite_model *model, struct rewrite_offers *offers) {
    for (size_t i = 0; i < model->declined.len; i++) {
        const struct rewrite_decline *row = &model->declined.at[i];
        *vec_push(&offers->declined) = (struct rewrite_declined){
            row->row, row->line, arena_strdup(offers->arena, row->reason)};
    }
}

static int by_latency(const void *a, const void *b) {
    const struct rewrite_offer *left = a, *right = b;
    if (left->latency != right->latency)
        return left->latency < right->latency ? -1 : 1;
    return strcmp(left->key, right->key);
}

bool rewrite_offers_make(const struct rewrite_request *request, const struct rewrite_screen *screen,
                         struct rewrite_offers *offers, struct err *err) {
    struct ranking ranking = {.request = request, .screen = screen, .offers = offers};
    struct rewrite_model *model = rewrite_model_new(request, err);
    if (!model)
        return false;
    os_hold_memory();
    rewrite_find_all(model);
    rewrite_estimate(request, request->source, offers->arena, screen->cancel, &ranking.base);
    offers->modelled = ranking.base.latency_us > 0;
    keep_declined(model, offers);
    try_singles(&ranking, model);
    if (offers->modelled && !offers->all.len)
        try_pairs(&ranking, model);
    if (offers->all.len)
        qsort(offers->all.at, offers->all.len, sizeof *offers->all.at, by_latency);
    add_anew(&ranking);
    rewrite_model_free(model);
    os_return_memory();
    return true;
}
