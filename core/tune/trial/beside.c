/* SPDX-License-Identifier: Apache-2.0 */
/* The device model beside a place that measures. The model times a kernel that goes to a host, too,
 * on this machine and at the same time. Its floor is what makes an incredible measurement suspect,
 * and its costs per line stand in where the host tells none; both are marked as modelled. It
 * decides nothing. Where the model does not take the kernel, things go on without it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/calibrate.h"
#include "device/device.h"
#include "tune/session/inner.h"
#include "tune/trial/trial.h"

#define LIMIT_S 120.0

/* One question about one kernel. */
struct question {
    struct tune_beside *beside;
    struct question *next;
    struct target_run *run; /* NULL: waits for its turn, or was answered */
    int attempt;
    char hash[33];           /* of the source of that attempt */
    bool answered, unwanted; /* unwanted: the answer is about a kernel that was replaced */
    struct runner_result result;
};

struct tune_beside {
    struct tune_session *session;
    struct target *target;       /* sim */
    struct calibrate_record own; /* the constants of the place, where it was calibrated */
    struct question *questions;  /* newest first; answers are kept for the round */
    int round;
};

static void question_free(struct question *question) {
    struct question **place = &question->beside->questions;
    while (*place && *place != question)
        place = &(*place)->next;
    if (*place)
        *place = question->next;
    runner_result_free(&question->result);
    free(question);
}

static void on_done(void *data, struct runner_result *result) {
    struct question *question = data;
    struct tune_session *session = question->beside->session;
    question->run = NULL;
    if (question->unwanted) {
        question_free(question);
        return;
    }
    question->answered = true;
    question->result = *result;
    *result = (struct runner_result){0};
    tune_evaluation_go_on(session);
}

/* What hone calibrate found for the place, if that is of the session's generation. */
static void find_own(struct tune_beside *beside) {
    const struct tune_session *session = beside->session;
    const char *device = device_name(session->state->device);
    if (!session->place.target)
        return;
    const char *name = target_describe(session->place.target)->name;
    struct err err = {0};
    bool found = calibrate_load(name, &beside->own, &err);
    if (found && strcmp(beside->own.device, device) != 0)
        calibrate_record_free(&beside->own);
    if (err.kind != ERR_NONE && err.kind != ERR_USAGE)
        tune_emit_log(beside->session, 0, TUNE_LEVEL_WARNING, "model",
                      "the constants of %s cannot be read: %s", name, err.text);
}

static struct tune_beside *beside_of(struct tune_session *session) {
    if (session->beside)
        return session->beside;
    struct tune_beside *beside = mem_alloc(1, sizeof *beside);
    beside->session = session;
    struct target_options options = {.config = session->config};
    beside->target = target_open(session->loop, "sim", &options, NULL);
    session->beside = beside;
    find_own(beside);
    return beside;
}

static void start(struct question *question, const struct tune_attempt *attempt) {
    const struct tune_state *state = question->beside->session->state;
    struct runner_job job = {.kernel_path = tune_kernel_file(state),
                             .kernel_text = tune_source(state, attempt),
                             .kernel_name = state->function,
                             .reference_path = tune_reference_file(state),
                             .device = state->device,
                             .release = tune_release(state),
                             .tracing = state->tracing,
                             .constants = question->beside->own.constants,
                             .pessimistic = state->is_pessimistic,
                             .lnc = state->lnc,
                             .no_verify = true,
                             .time_limit_s = LIMIT_S};
    struct runner_callbacks callbacks = {NULL, on_done, question};
    question->run = target_start(question->beside->target, &job, &callbacks, NULL);
}

static void drop(struct question *question) {
    if (!question->run) {
        question_free(question);
        return;
    }
    question->unwanted = true;
    target_cancel(question->run);
}

/* Forgets answers about earlier rounds; nobody asks for them again. */
static void forget_old(struct tune_beside *beside) {
    if (beside->round == beside->session->state->round)
        return;
    beside->round = beside->session->state->round;
    for (struct question *at = beside->questions, *next; at; at = next) {
        next = at->next;
        if (!at->unwanted)
            drop(at);
    }
}

static struct question *question_of(const struct tune_beside *beside, int attempt) {
    struct question *at = beside ? beside->questions : NULL;
    while (at && (at->attempt != attempt || at->unwanted))
        at = at->next;
    return at;
}

void tune_beside_ask(struct tune_session *session, const struct tune_attempt *attempt) {
    if (session->place.modelled || session->place.alone || session->state->model)
        return;
    struct tune_beside *beside = beside_of(session);
    forget_old(beside);
    struct question *known = question_of(beside, attempt->id);
    if (known && !strcmp(known->hash, attempt->hash) && (known->run || known->answered))
        return;
    if (known)
        drop(known);
    struct question *question = mem_alloc(1, sizeof *question);
    *question =
        (struct question){.beside = beside, .next = beside->questions, .attempt = attempt->id};
    memcpy(question->hash, attempt->hash, sizeof question->hash);
    beside->questions = question;
    start(question, attempt);
}

bool tune_beside_pends(const struct tune_session *session, int attempt) {
    const struct question *question = question_of(session->beside, attempt);
    return question && question->run;
}

static const struct runner_result *answer_of(const struct tune_session *session, int attempt) {
    const struct question *question = question_of(session->beside, attempt);
    const struct runner_result *result = question && question->answered ? &question->result : NULL;
    return result && result->failure.kind == ERR_NONE && result->latency_us > 0 ? result : NULL;
}

double tune_beside_latency(const struct tune_session *session, int attempt) {
    const struct runner_result *result = answer_of(session, attempt);
    return result ? result->latency_us : (double)NAN;
}

bool tune_beside_unsure(const struct tune_session *session, const struct tune_attempt *attempt) {
    const struct tune_attempt *parent = tune_state_attempt(session->state, attempt->parent);
    double is = tune_beside_latency(session, attempt->id);
    double was = parent ? parent->modelled_us : (double)NAN;
    return fmax(was / is, is / was) < device_edit_least(DEVICE_EDIT_TILING);
}

static double known(double us) {
    return us > 0 ? us : (double)NAN;
}

void tune_beside_fill(const struct tune_work *work, int id) {
    struct tune_session *session = work->session;
    const struct tune_attempt *attempt = tune_state_attempt(session->state, id);
    const struct runner_result *result = answer_of(session, id);
    if (!attempt || !result)
        return;
    struct arena *arena = arena_new();
    struct tune_profile profile = tune_result_profile(arena, result);
    int more = attempt->lnc / MAX_OF(result->lnc, 1); /* cores than the model's launch has */
    const double floors[] = {device_floor_on(result->floor_us, more),
                             device_floor_on(result->floor_split_us, more),
                             device_floor_on(result->floor_any_us, more)};
    bool fills = !tune_lines(session->state, attempt).len;
    tune_emit(session, work->lane,
              TUNE_EVENT(MODELLED, modelled, .attempt = id, .latency_us = result->latency_us,
                         .floor_us = known(floors[0]), .floor_split_us = known(floors[1]),
                         .floor_any_us = known(floors[2]),
                         .metrics = {profile.metrics, result->metrics.len, fills},
                         .lines = {profile.lines, result->lines.len, fills},
                         .bounds = {profile.bounds, result->bounds.len, fills},
                         .bound_by = *result->bound ? result->bound : NULL,
                         .causes = result->causes_text));
    arena_free(arena);
}

void tune_beside_free(struct tune_session *session) {
    struct tune_beside *beside = session->beside;
    if (!beside)
        return;
    session->beside = NULL;
    target_free(beside->target);
    while (beside->questions)
        question_free(beside->questions);
    calibrate_record_free(&beside->own);
    free(beside);
}
