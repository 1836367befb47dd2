/* SPDX-License-Identifier: Apache-2.0 */
/* Making and freeing the state, look-ups, and the small changes that several events share. What an
 * event changes is in tune/apply, what a person's action does is in tune/act. */
#include <math.h>
#include <stdlib.h>

#include "nki/nki.h"
#include "tune/state/inner.h"
#include "runner/runner.h"

struct tune_state *tune_state_new(void) {
    struct tune_state *state = mem_alloc(1, sizeof *state);
    state->arena = arena_new();
    state->own = mem_alloc(1, sizeof *state->own);
    state->own->state = state;
    state->own->scratch = arena_new();
    state->own->texts = text_pool_new(state->arena);
    for (int i = 0; i < TUNE_LOG_PARTS; i++)
        state->own->log_texts[i] = arena_new();
    state->own->guessed = (struct tune_guessed){0, NAN, NAN};
    state->incumbent = state->best = state->own->from = -1;
    tune_lanes_clear(state);
    state->width = (struct tune_width){1, 1, 1};
    state->tolerance = NAN;
    for (int i = 0; i < TUNE_PRECISIONS; i++)
        state->offer_us[i] = NAN;
    state->menu_keep = TUNE_MENU_KEEP;
    for (int i = 0; i < TUNE_BUDGETS; i++)
        state->budgets[i] = (struct tune_budget_view){NAN, NAN};
    state->budgets[TUNE_BUDGET_ROUNDS].spent = 0;
    state->budgets[TUNE_BUDGET_WALL_S].spent = 0;
    for (int i = 0; i < TUNE_STEPS; i++)
        tune_step_reset(&state->steps[i]);
    state->wait = TUNE_WAIT_PAUSED;
    return state;
}

static void attempt_free(struct tune_attempt *attempt) {
    vec_free(&attempt->lines_kept);
}

void tune_state_free(struct tune_state *state) {
    if (!state)
        return;
    for (size_t i = 0; i < state->attempts.len; i++)
        attempt_free(&state->attempts.at[i]);
    tune_lanes_free(state);
    vec_free(&state->lanes);
    vec_free(&state->beam);
    vec_free(&state->seeds);
    vec_free(&state->files);
    vec_free(&state->changed);
    vec_free(&state->origins);
    vec_free(&state->plans);
    vec_free(&state->stock);
    vec_free(&state->attempts);
    vec_free(&state->logs);
    vec_free(&state->diagnostics);
    vec_free(&state->notes);
    vec_free(&state->memory);
    vec_free(&state->entries);
    vec_free(&state->imports);
    vec_free(&state->rejections);
    vec_free(&state->submissions);
    vec_free(&state->own->declined);
    vec_free(&state->own->undo);
    vec_free(&state->own->redo);
    for (size_t i = 0; i < state->calls.len; i++)
        buf_free(&state->calls.at[i].live);
    vec_free(&state->calls);
    vec_free(&state->outages);
    vec_free(&state->parts);
    vec_free(&state->own->changes);
    vec_free(&state->own->rivals);
    vec_free(&state->own->evidence);
    for (int i = 0; i < TUNE_LOG_PARTS; i++)
        arena_free(state->own->log_texts[i]);
    by_hash_free(&state->own->memory);
    by_hash_free(&state->own->diagnostics);
    by_hash_free(&state->own->imports);
    by_hash_free(&state->own->normals);
    text_pool_free(state->own->texts);
    arena_free(state->own->scratch);
    free(state->own);
    arena_free(state->arena);
    free(state);
}

const char *tune_release(const struct tune_state *state) {
    return state->release ? state->release : state->nki;
}

bool tune_file_name_is_safe(const char *name) {
    struct str rest = str_of(name), part;
    bool safe = name[0] && name[0] != '/' && strlen(name) < 1000;
    while (safe && str_next(&rest, '/', &part))
        safe = part.len && !str_is(part, ".") && !str_is(part, "..");
    return safe;
}

char *tune_task_file_text(const struct tune_state *state, const struct tune_task_file *file) {
    const struct tune_private *own = state->own;
    return own->kept_file && !file->left_bytes ? own->kept_file(own->left_data, file->hash) : NULL;
}

const char *tune_kernel_file(const struct tune_state *state) {
    return state->kernel_file ? state->kernel_file : state->kernel_path;
}

const char *tune_reference_file(const struct tune_state *state) {
    return state->reference_file ? state->reference_file : state->reference_path;
}

const char *tune_keep(struct tune_state *state, const char *text) {
    return text ? text_pool_keep(state->own->texts, str_of(text)) : NULL;
}

const char *tune_keep_str(struct tune_state *state, struct str text) {
    return text_pool_keep(state->own->texts, text);
}

struct tune_attempt *tune_attempt_of(struct tune_state *state, int id) {
    return id >= 0 && (size_t)id < state->attempts.len ? &state->attempts.at[id] : NULL;
}

enum tune_precision tune_precision_allowed(const struct tune_state *state) {
    enum tune_precision allowed = TUNE_PRECISION_KEEP;
    (void)tune_precision_find(state->precision, &allowed);
    return allowed;
}

int tune_cores_allowed(const struct tune_state *state) {
    const struct tune_attempt *first = state->attempts.len ? &state->attempts.at[0] : NULL;
    if (state->lnc)
        return state->lnc;
    return first && first->latency_us > 0 ? MAX_OF(first->lnc, 1) : 0;
}

bool tune_cores_exceed(const struct tune_state *state, int cores, struct buf *why) {
    int allowed = tune_cores_allowed(state);
    if (!allowed || cores <= allowed)
        return false;
    buf_printf(why,
               "it launches on %d cores, and kernels of this session have %d: a time on more cores "
               "is no gain. Launch it as the first kernel is; for %d cores begin another session "
               "with --lnc %d",
               cores, allowed, cores, cores);
    return true;
}

const struct tune_attempt *tune_state_attempt(const struct tune_state *state, int id) {
    return id >= 0 && (size_t)id < state->attempts.len ? &state->attempts.at[id] : NULL;
}

const char *tune_state_origin(const struct tune_state *state, const char *name, unsigned bit) {
    if (state->by_run & bit)
        return "this run alone";
    if (state->by_hand & bit)
        return "changed in this session";
    for (size_t i = 0; i < state->origins.len; i++)
        if (!strcmp(state->origins.at[i].name, name))
            return state->origins.at[i].text;
    return NULL;
}

const char *tune_attempt_how(const struct tune_attempt *attempt) {
    static const char *const words[2][2] = {{"", " (two cores)"},
                                            {" (modelled)", " (modelled, two cores)"}};
    return words[attempt->modelled][attempt->lnc > 1];
}

double tune_attempt_metric(const struct tune_attempt *attempt, const char *name) {
    if (!attempt || !name)
        return NAN;
    if (!strcmp(name, "latency"))
        return attempt->latency_us;
    for (size_t i = 0; i < attempt->metrics.len; i++)
        if (!strcmp(attempt->metrics.names[i].name, name))
            return attempt->metrics.values[i];
    return NAN;
}

struct tune_metric tune_metric_at(const struct tune_attempt *attempt, size_t place) {
    const struct tune_metrics *metrics = &attempt->metrics;
    return (struct tune_metric){metrics->names[place].name, metrics->names[place].unit,
                                metrics->values[place]};
}

void tune_status_set(struct tune_state *state, struct tune_attempt *attempt,
                     enum tune_status status, const char *reason) {
    struct tune_change before = {attempt->id, attempt->status, attempt->reason};
    if (status == before.status && reason == before.reason)
        return;
    state->own->best_stale |= before.status == TUNE_STATUS_KEEP && status != TUNE_STATUS_KEEP;
    if (status == TUNE_STATUS_KEEP && before.status != TUNE_STATUS_KEEP)
        *vec_push(&state->own->rivals) = attempt->id;
    *vec_push(&state->own->changes) = before;
    attempt->status = status;
    attempt->reason = reason;
}

/* The fastest that was kept, as exact as the session wants; of equal ones the first. */
static void best_against(struct tune_state *state, int id) {
    const struct tune_attempt *best = tune_state_attempt(state, state->best);
    const struct tune_attempt *rival = &state->attempts.at[id];
    double least = best ? best->latency_us : (double)INFINITY;
    bool first = best && rival->latency_us == least && id < best->id;
    bool counts = rival->status == TUNE_STATUS_KEEP && !rival->outdated &&
                  rival->precision <= tune_precision_allowed(state);
    if (counts && (rival->latency_us < least || first))
        state->best = id;
}

int tune_best_in(const struct tune_state *state, enum tune_precision precision) {
    int best = -1;
    for (size_t i = 0; i < state->attempts.len; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        bool counts = attempt->status == TUNE_STATUS_KEEP && !attempt->outdated &&
                      attempt->precision == precision && !isnan(attempt->latency_us);
        if (counts && (best < 0 || attempt->latency_us < state->attempts.at[best].latency_us))
            best = (int)i;
    }
    return best;
}

double tune_floor_in(const struct tune_attempt *attempt, enum tune_precision precision) {
    const double floors[] = {attempt->floor_us, attempt->floor_split_us, attempt->floor_any_us};
    return isnan(floors[precision]) ? attempt->floor_us : floors[precision];
}

void tune_state_find_best(struct tune_state *state) {
    struct tune_private *own = state->own;
    if (own->best_stale)
        state->best = -1;
    for (size_t i = 0; i < state->attempts.len && own->best_stale; i++)
        best_against(state, (int)i);
    for (size_t i = 0; i < own->rivals.len && !own->best_stale; i++)
        best_against(state, own->rivals.at[i]);
    own->best_stale = false;
    own->rivals.len = 0;
}

int tune_state_kept_ancestor(const struct tune_state *state, int attempt) {
    for (size_t steps = 0; steps <= state->attempts.len; steps++) {
        const struct tune_attempt *at = tune_state_attempt(state, attempt);
        if (!at || at->parent < 0)
            break;
        attempt = at->parent;
        if (state->attempts.at[attempt].status == TUNE_STATUS_KEEP)
            return attempt;
    }
    return 0;
}

void tune_step_reset(struct tune_step_view *step) {
    *step = (struct tune_step_view){.gate = step->gate, .done = NAN, .total = NAN};
}

void tune_steps_rewind(struct tune_state *state, enum tune_step first) {
    for (int i = (int)first; i < TUNE_STEPS; i++)
        tune_step_reset(&state->steps[i]);
    state->step = first;
}

void tune_wait_set(struct tune_state *state, enum tune_wait wait, const char *text) {
    state->wait = wait;
    state->wait_step = state->step;
    state->wait_text = tune_keep(state, text);
}

/* ---------------------------------------------------------------------- what is left in the log */

/* What cannot be read back is trouble, not a kernel without lines. */
static bool left_read(const struct tune_state *state, int64_t seq, tune_left_take_fn *take,
                      void *into) {
    const struct tune_private *own = state->own;
    struct err err = {0};
    if (!own->left || own->left(own->left_data, seq, take, into, &err))
        return own->left != NULL;
    if (!own->state->trouble)
        own->state->trouble = tune_keep(own->state, err.text);
    return false;
}

static void take_text(void *into, const struct tune_event *event) {
    const char *text = tune_event_source(event);
    *(char **)into = mem_strdup(text ? text : tune_event_causes(event));
}

/* A new string, or NULL. */
static char *left_text(const struct tune_state *state, int64_t seq) {
    char *text = NULL;
    (void)left_read(state, seq, take_text, &text);
    return text;
}

char *tune_source_copy(const struct tune_state *state, const struct tune_attempt *attempt) {
    if (!attempt || attempt->source_kept)
        return attempt ? mem_strdup(attempt->source_kept) : NULL;
    char *text = left_text(state, attempt->source_seq);
    return text ? text : mem_strdup("");
}

const char *tune_source(const struct tune_state *state, const struct tune_attempt *attempt) {
    if (!attempt || attempt->source_kept)
        return attempt ? attempt->source_kept : NULL;
    char *text = tune_source_copy(state, attempt);
    const char *kept = text_pool_keep(state->own->texts, str_of(text));
    free(text);
    if (*kept)
        state->attempts.at[attempt->id].source_kept = kept;
    return kept;
}

const char *tune_causes(const struct tune_state *state, const struct tune_attempt *attempt) {
    if (!attempt || !attempt->causes_seq)
        return NULL;
    if (attempt->causes_kept)
        return attempt->causes_kept;
    char *text = left_text(state, attempt->causes_seq);
    const char *kept = text ? text_pool_keep(state->own->texts, str_of(text)) : NULL;
    free(text);
    state->attempts.at[attempt->id].causes_kept = kept;
    return kept;
}

void tune_causes_set(struct tune_state *state, struct tune_attempt *attempt, const char *text) {
    attempt->causes_seq = text ? state->seq : 0;
    attempt->causes_kept = text && !state->own->leaves ? tune_keep(state, text) : NULL;
}

struct lines_into {
    const struct tune_state *state;
    struct tune_attempt *attempt;
};

static void take_lines(void *data, const struct tune_event *event) {
    struct lines_into *into = data;
    struct tune_lines lines = tune_event_lines(event);
    tune_lines_keep(into->state, into->attempt, &lines);
}

struct tune_lines tune_lines(const struct tune_state *state, const struct tune_attempt *attempt) {
    if (attempt->lines_seq) {
        struct lines_into into = {state, &state->attempts.at[attempt->id]};
        int64_t seq = attempt->lines_seq;
        into.attempt->lines_seq = 0; /* what cannot be read is not asked for at each frame */
        (void)left_read(state, seq, take_lines, &into);
    }
    return (struct tune_lines){attempt->lines_kept.at, attempt->lines_kept.len};
}

void tune_lines_keep(const struct tune_state *state, struct tune_attempt *attempt,
                     const struct tune_lines *lines) {
    attempt->lines_kept.len = 0;
    vec_reserve(&attempt->lines_kept, lines->len);
    for (size_t i = 0; i < lines->len; i++) {
        struct tune_line_cost *row = vec_push(&attempt->lines_kept);
        *row = lines->at[i];
        tune_part_keep(TUNE_PART_LINE, row, state->own->texts);
    }
}

void tune_candidate_ready(struct tune_state *state, int lane) {
    const struct tune_candidate *candidate = &tune_lane_of(state, lane)->candidate;
    if (!candidate->left_seq)
        return;
    char *text = left_text(state, candidate->left_seq);
    tune_candidate_set(state, lane, text ? text : "", candidate->author);
    free(text);
}

void tune_sources_leave(struct tune_state *state, tune_left_fn *left, void *data) {
    state->own->left = left;
    state->own->left_data = data;
    state->own->leaves = true;
}

void tune_sources_keep(struct tune_state *state) {
    state->own->leaves = false;
    for (size_t i = 0; i < state->lanes.len; i++)
        tune_candidate_ready(state, (int)i);
}

static struct str source_of(const struct tune_state *state, int attempt) {
    return str_of(tune_source(state, tune_state_attempt(state, attempt)));
}

/* Whether all lines of a text end in the same way. */
static bool has_one_end(struct str text) {
    size_t ends = 0, with_return = 0;
    for (size_t i = 0; i < text.len; i++) {
        ends += text.at[i] == '\n';
        with_return += text.at[i] == '\n' && i && text.at[i - 1] == '\r';
    }
    return ends && (!with_return || with_return == ends);
}

char *tune_source_ended(const struct tune_state *state, int parent_id, const char *source) {
    struct str parent = source_of(state, parent_id);
    if (!has_one_end(parent))
        return mem_strdup(source);
    bool returns = strstr(parent.at, "\r\n") != NULL;
    struct buf out = {0};
    for (const char *at = source; *at; at++) {
        if (at[0] == '\r' && at[1] == '\n')
            continue;
        if (*at == '\n' && returns)
            buf_putc(&out, '\r');
        buf_putc(&out, *at);
    }
    return out.at ? buf_take(&out) : mem_strdup("");
}

void tune_candidate_set(struct tune_state *state, int lane, const char *source,
                        const char *author) {
    struct tune_candidate *candidate = &state->lanes.at[lane].candidate;
    candidate->exists = true;
    candidate->left_seq = 0;
    struct str parent = source_of(state, candidate->parent);
    candidate->proposed = tune_keep(state, source);
    candidate->author = tune_keep(state, author);
    size_t count = 0;
    struct tune_hunk *hunks = tune_hunks(parent, str_of(candidate->proposed), &count);
    candidate->hunks.len = 0;
    for (size_t i = 0; i < count; i++)
        *vec_push(&candidate->hunks) = hunks[i];
    free(hunks);
    tune_candidate_compose(state, lane);
}

void tune_candidate_compose(struct tune_state *state, int lane) {
    struct tune_candidate *candidate = &state->lanes.at[lane].candidate;
    bool some = false;
    for (size_t i = 0; i < candidate->hunks.len; i++)
        some = some || candidate->hunks.at[i].left;
    if (!some) {
        candidate->source = candidate->proposed;
        return;
    }
    char *text = tune_hunks_apply(source_of(state, candidate->parent), str_of(candidate->proposed),
                                  candidate->hunks.at, candidate->hunks.len);
    candidate->source = tune_keep(state, text);
    free(text);
}

const char *tune_diagnostic_cause(const struct tune_diagnostic *diag) {
    return diag->cause && *diag->cause ? diag->cause : message_cause(diag->code ? diag->code : "");
}

/* Kernels are parsed when somebody first asks for it, not while the log is read. */
static void normals_index(const struct tune_state *state) {
    struct tune_private *own = state->own;
    for (; own->n_normals < state->attempts.len; own->n_normals++) {
        struct tune_attempt *attempt = &state->attempts.at[own->n_normals];
        char *source = *attempt->normal ? NULL : tune_source_copy(state, attempt);
        if (source) {
            struct hash hash = nki_source_hash(str_of(source));
            memcpy(attempt->normal, hash.hex, sizeof attempt->normal);
        }
        free(source);
        by_hash_put(&own->normals, hash_quick(attempt->normal, strlen(attempt->normal)),
                    own->n_normals);
    }
}

int tune_normal_next(const struct tune_state *state, const char *normal, size_t *at) {
    uint64_t hash = hash_quick(normal, strlen(normal));
    size_t row = 0;
    normals_index(state);
    while (by_hash_next(&state->own->normals, hash, at, &row))
        if (!strcmp(state->attempts.at[row].normal, normal))
            return (int)row;
    return -1;
}

const struct tune_diagnostic *tune_diagnostic_next(const struct tune_state *state, int attempt,
                                                   size_t *at) {
    size_t row = 0;
    while (attempt >= 0 && by_hash_next(&state->own->diagnostics, (uint64_t)attempt, at, &row))
        if (state->diagnostics.at[row].attempt == attempt)
            return &state->diagnostics.at[row];
    return NULL;
}

bool tune_is_broken(const struct tune_state *state, const struct tune_attempt *attempt) {
    const struct tune_diagnostic *diag;
    size_t at = 0;
    if (attempt->verdict.compiles == TUNE_ANSWER_NO)
        return true;
    while (attempt->verdict.correct == TUNE_ANSWER_NO &&
           (diag = tune_diagnostic_next(state, attempt->id, &at)))
        if (diag->code && !strcmp(diag->code, TUNE_SUSPECT))
            return true;
    return false;
}

int tune_repairs_most(const struct tune_state *state, const struct tune_attempt *attempt) {
    size_t errors = 0, others = 0, at = 0;
    const struct tune_diagnostic *diag;
    while ((diag = tune_diagnostic_next(state, attempt->id, &at))) {
        if (diag->severity != DIAG_ERROR)
            continue;
        const char *cause = tune_diagnostic_cause(diag);
        errors++;
        others += strcmp(cause, "internal") != 0 && strcmp(cause, "crash") != 0;
    }
    return errors && !others ? 1 : TUNE_MAX_REPAIRS;
}
