/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the compiler for its prediction, separately from an evaluation. A host tells the prediction
 * with each kernel that it compiles. On this machine the compiler is asked where a setting names
 * the SDK's wheels. It is also asked before a host compiles anything, where it decides which
 * candidates are pruned: here, or without wheels by a job on the host that does nothing else. When
 * there is no answer, things go on without one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/session/inner.h"
#include "tune/trial/trial.h"
#include "tune/state/state.h"
#include "tune/sums/sums.h"

/* One question about one attempt. */
struct question {
    struct tune_opinion *opinion;
    struct question *next;
    struct runner *here; /* one of the two, while the question is under way */
    void *there;
    int attempt, lane;
    char hash[33]; /* of that attempt's source */
};

struct tune_opinion {
    struct tune_session *session;
    struct question *questions; /* newest first; questions of earlier turns are not put again */
    int asked;                  /* tells jobs for a host apart */
};

static bool pends(const struct question *question) {
    return question->here || question->there;
}

static struct question *question_of(const struct tune_opinion *opinion,
                                    const struct tune_attempt *attempt) {
    struct question *at = opinion && attempt ? opinion->questions : NULL;
    while (at && (at->attempt != attempt->id || strcmp(at->hash, attempt->hash) != 0))
        at = at->next;
    return at;
}

/* Told once, by whichever comes first: the evaluation on a host tells the same. */
static void tell(struct question *question, const struct runner_prediction *found) {
    struct tune_session *session = question->opinion->session;
    const struct tune_attempt *attempt = tune_state_attempt(session->state, question->attempt);
    if (session->halted || !attempt || strcmp(attempt->hash, question->hash) != 0 ||
        !(found->us > 0) || tune_predicted(attempt))
        return;
    tune_predicted_emit(session, question->lane, question->attempt, found);
}

static void on_done(void *data, struct runner_result *result) {
    struct question *question = data;
    struct tune_session *session = question->opinion->session;
    question->here = NULL;
    question->there = NULL;
    tell(question, &result->prediction);
    tune_evaluation_go_on(session);
}

static struct tune_opinion *opinion_of(struct tune_session *session) {
    if (!session->opinion) {
        session->opinion = mem_alloc(1, sizeof *session->opinion);
        session->opinion->session = session;
    }
    return session->opinion;
}

static void start(struct question *question, const struct tune_attempt *attempt) {
    struct tune_session *session = question->opinion->session;
    const struct tune_state *state = session->state;
    char occasion[32];
    snprintf(occasion, sizeof occasion, "prediction.%d", ++question->opinion->asked);
    struct runner_job job = {.kernel_path = tune_kernel_file(state),
                             .kernel_text = tune_source(state, attempt),
                             .kernel_name = state->function,
                             .device = state->device,
                             .release = tune_release(state),
                             .reference_path = tune_reference_file(state),
                             .session = state->id,
                             .seeds = state->seeds.at,
                             .seed_count = MIN_OF(state->seeds.len, 1),
                             .occasion = occasion,
                             .predict_only = true,
                             .wall = {config_get(session->config, "wall", "level", NULL),
                                      config_get(session->config, "wall", "read", NULL)}};
    struct runner_callbacks callbacks = {NULL, on_done, question};
    struct err err = {0};
    if (state->nki_python)
        question->here = runner_predict(session->loop, &job, state->nki_python, &callbacks, &err);
    else
        question->there = session->place.start(session->place.self, &job, &callbacks, &err);
    if (!pends(question))
        tune_emit_log(session, question->lane, TUNE_LEVEL_INFO, "predict",
                      "the compiler is not asked: %s", err.text);
}

/* Asked before a host compiles the kernel only where the answer matters by then. The seed kernel is
 * never pruned, and the host tells the same of it later. */
static bool is_wanted(const struct tune_session *session, const struct tune_attempt *attempt) {
    const struct tune_state *state = session->state;
    bool early = !session->place.modelled && !isnan(session->prune) &&
                 state->prune_by != TUNE_PRUNE_MODEL && (attempt->id || state->nki_python);
    if (state->model || tune_predicted(attempt))
        return false;
    return early || (session->place.modelled && state->nki_python);
}

void tune_opinion_ask(struct tune_session *session, int lane, const struct tune_attempt *attempt) {
    if (!is_wanted(session, attempt) || question_of(session->opinion, attempt))
        return;
    struct tune_opinion *opinion = opinion_of(session);
    struct question *question = mem_alloc(1, sizeof *question);
    *question = (struct question){.opinion = opinion,
                                  .next = opinion->questions,
                                  .attempt = attempt->id,
                                  .lane = tune_lane_tag(session->state, lane)};
    memcpy(question->hash, attempt->hash, sizeof question->hash);
    opinion->questions = question;
    start(question, attempt);
}

bool tune_opinion_pends(const struct tune_session *session, int attempt) {
    const struct question *question =
        question_of(session->opinion, tune_state_attempt(session->state, attempt));
    return question && pends(question);
}

/* The place is freed after this and ends its own jobs without calling back. */
void tune_opinion_free(struct tune_session *session) {
    struct tune_opinion *opinion = session->opinion;
    session->opinion = NULL;
    while (opinion && opinion->questions) {
        struct question *first = opinion->questions;
        opinion->questions = first->next;
        runner_drop(first->here);
        free(first);
    }
    free(opinion);
}
