/* SPDX-License-Identifier: Apache-2.0 */
/* The device model beside a place that measures: a kernel that goes to a host is timed by the model
 * on this machine too, at the same time. Its floor is what makes an incredible measurement a suspect,
 * and its costs per line stand in where the host tells none; both are marked as modelled. It decides
 * nothing, and where the model does not take the kernel things go on without it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/driver.h"

#define LIMIT_S 120.0

struct tune_beside {
    struct tune_session *session;
    struct target *target;          /* sim */
    struct target_run *run;
    int attempt;                    /* whom it was asked about; -1: nobody */
    char hash[33];                  /* of that attempt's source */
    bool answered, unwanted;        /* unwanted: the answer under way is about another kernel */
    struct runner_result result;
};

static void on_done(void *data, struct runner_result *result) {
    struct tune_beside *beside = data;
    beside->run = NULL;
    if (beside->unwanted) {
        beside->unwanted = false;
        const struct tune_attempt *attempt =
            tune_state_attempt(beside->session->state, beside->attempt);
        beside->attempt = -1;
        if (attempt)
            tune_beside_ask(beside->session, attempt);
    } else {
        beside->answered = true;
        beside->result = *result;
        *result = (struct runner_result){0};
    }
    if (!beside->run)
        tune_evaluation_go_on(beside->session);
}

static struct tune_beside *beside_of(struct tune_session *session) {
    if (session->beside)
        return session->beside;
    struct tune_beside *beside = mem_alloc(1, sizeof *beside);
    beside->session = session;
    beside->attempt = -1;
    beside->target = target_open(session->loop, "sim", NULL, NULL);
    session->beside = beside;
    return beside;
}

static void start(struct tune_beside *beside, const struct tune_attempt *attempt) {
    const struct tune_state *state = beside->session->state;
    struct runner_job job = {.kernel_path = state->kernel_path, .kernel_text = attempt->source,
                             .kernel_name = state->function,
                             .reference_path = state->reference_path, .device = state->device,
                             .no_verify = true, .time_limit_s = LIMIT_S};
    struct runner_callbacks callbacks = {NULL, on_done, beside};
    beside->run = target_start(beside->target, &job, &callbacks, NULL);
}

void tune_beside_ask(struct tune_session *session, const struct tune_attempt *attempt) {
    if (session->place.modelled || session->place.alone || session->state->model)
        return;
    struct tune_beside *beside = beside_of(session);
    bool same = beside->attempt == attempt->id && !strcmp(beside->hash, attempt->hash);
    if (same && (beside->run || beside->answered))
        return;
    beside->attempt = attempt->id;
    memcpy(beside->hash, attempt->hash, sizeof beside->hash);
    beside->answered = false;
    runner_result_free(&beside->result);
    beside->result = (struct runner_result){0};
    if (beside->run) {
        beside->unwanted = true;
        target_cancel(beside->run);
        return;
    }
    start(beside, attempt);
}

bool tune_beside_pends(const struct tune_session *session, int attempt) {
    const struct tune_beside *beside = session->beside;
    return beside && beside->run && beside->attempt == attempt;
}

static bool has_answer(const struct tune_beside *beside, const struct tune_attempt *attempt) {
    return beside && attempt && beside->answered && beside->attempt == attempt->id &&
           beside->result.failure.kind == ERR_NONE && beside->result.latency_us > 0;
}

void tune_beside_fill(struct tune_session *session, int id) {
    const struct tune_beside *beside = session->beside;
    const struct tune_attempt *attempt = tune_state_attempt(session->state, id);
    if (!has_answer(beside, attempt))
        return;
    const struct runner_result *result = &beside->result;
    cJSON *payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "attempt", id);
    tune_json_put_number(payload, "latency_us", result->latency_us);
    tune_json_put_number(payload, "floor_us", result->floor_us > 0 ? result->floor_us
                                                                         : (double)NAN);
    if (!attempt->lines.len) {
        tune_result_put(payload, result);
        tune_json_put_text(payload, "bound_by", *result->bound ? result->bound : NULL);
    }
    tune_emit(session, "modelled", payload);
}

void tune_beside_free(struct tune_session *session) {
    struct tune_beside *beside = session->beside;
    if (!beside)
        return;
    session->beside = NULL;
    target_free(beside->target);
    runner_result_free(&beside->result);
    free(beside);
}
