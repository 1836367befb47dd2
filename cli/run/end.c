/* SPDX-License-Identifier: Apache-2.0 */
/* How a run ended: the last event, or a summary for people, and the exit status. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/run/private.h"

static void number_or_null(cJSON *object, const char *key, double value) {
    if (isfinite(value))
        cJSON_AddNumberToObject(object, key, value);
    else
        cJSON_AddNullToObject(object, key);
}

static void attempt_put(cJSON *root, const char *key, const struct run *run, int id) {
    const struct tune_state *state = tune_session_state(run->session);
    const struct tune_attempt *attempt = tune_state_attempt(state, id);
    cJSON_AddItemToObject(root, key,
                          attempt ? tune_attempt_write(state, attempt, TUNE_ATTEMPT_END,
                                                       tune_session_folder(run->session))
                                  : cJSON_CreateNull());
}

const char *run_end_reason(const struct run *run) {
    const struct tune_state *state = tune_session_state(run->session);
    if (run->end)
        return run->end;
    return state->trouble ? state->trouble : state->wait_text;
}

static void end_json(struct run *run) {
    const struct tune_state *state = tune_session_state(run->session);
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "event", "end");
    attempt_put(root, "baseline", run, 0);
    attempt_put(root, "best", run, state->best);
    cJSON_AddNumberToObject(root, "rounds", state->budgets[TUNE_BUDGET_ROUNDS].spent);
    cJSON_AddNumberToObject(root, "attempts", (double)state->attempts.len);
    cJSON_AddNumberToObject(root, "disturbed", state->disturbed);
    cJSON_AddNumberToObject(root, "elapsed_s",
                            (double)(clock_monotonic_ns() - run->started_ns) * 1e-9);
    cJSON *cost = cJSON_AddObjectToObject(root, "cost");
    number_or_null(cost, "dollars", state->budgets[TUNE_BUDGET_DOLLARS].spent);
    number_or_null(cost, "tokens", state->budgets[TUNE_BUDGET_TOKENS].spent);
    number_or_null(cost, "device_s", state->budgets[TUNE_BUDGET_DEVICE_S].spent);
    const char *reason = run_end_reason(run);
    if (reason)
        cJSON_AddStringToObject(root, "reason", reason);
    cJSON_AddStringToObject(root, "session", tune_session_folder(run->session));
    char *text = cJSON_PrintUnformatted(root);
    struct buf line = {0};
    buf_puts(&line, text ? text : "{\"event\":\"end\"}");
    run_line(run, &line);
    free(text);
    cJSON_Delete(root);
}

static void end_text(struct run *run) {
    struct buf line = {0};
    tune_summary_print(tune_session_state(run->session), tune_session_folder(run->session),
                       run_end_reason(run), &line);
    fputc('\n', stdout);
    if (line.len && line.at[line.len - 1] == '\n')
        line.len--;
    run_line(run, &line);
}

int run_end_status(const struct run *run) {
    const struct tune_state *state = tune_session_state(run->session);
    if (run->interrupted)
        return run->signum ? EXIT_SIGNAL + run->signum : EXIT_INTERRUPTED;
    if (run->rescued)
        return CLI_DAMAGED;
    if (state->trouble || state->stopped_by_environment)
        return CLI_ENVIRONMENT_FAILED;
    if (state->changed.len)
        return CLI_WRONG_USAGE;
    const struct tune_attempt *seed = tune_state_attempt(state, 0);
    bool failed = seed && seed->status == TUNE_STATUS_FAILED;
    return failed && !run->end ? CLI_KERNEL_FAILED : CLI_OK;
}

void run_end_print(struct run *run) {
    if (run->json)
        end_json(run);
    else
        end_text(run);
}
