/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps in the loop: their plans need nobody to think of them and their kernels nobody to write them,
 * so they come from here in the proposer's place. */
#include "tune/driver.h"
#include "tune/sweep.h"

static void plans_emit(struct tune_session *session, const struct tune_plan *plans, size_t count) {
    cJSON *payload = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(payload, "plans");
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(list, tune_plan_write(&plans[i]));
    if (tune_emit(session, "plans", payload))
        tune_step_done(session, TUNE_STEP_PLAN, TUNE_IS_OK, "%s; %zu more of the sweep",
                       plans[0].title, count - 1);
}

bool tune_sweep_is_left(const struct tune_state *state) {
    struct arena *arena = arena_new();
    struct tune_plan plans[TUNE_SWEEP_MOST];
    size_t count = tune_sweep_pending(state, arena, plans);
    arena_free(arena);
    return count > 0;
}

bool tune_sweep_plan(struct tune_session *session) {
    struct arena *arena = arena_new();
    struct tune_plan plans[TUNE_SWEEP_MOST];
    size_t count = tune_sweep_pending(session->state, arena, plans);
    if (count)
        plans_emit(session, plans, count);
    arena_free(arena);
    return count > 0;
}

void tune_sweep_rewrite(const struct tune_context *context, const struct tune_plan *plan,
                        struct tune_reply *reply) {
    struct buf source = {0};
    struct err err = {0};
    tune_reply_author(reply, plan->author ? plan->author : "you");
    if (tune_sweep_apply(plan->key, str_of(context->source), context->function, &source, &err))
        tune_reply_candidate(reply, buf_str(&source));
    else
        tune_reply_failed(reply, err.text);
    buf_free(&source);
}

void tune_sweep_tell(struct tune_session *session, const struct tune_plan *plan) {
    struct tune_sweep sweep;
    struct buf table = {0};
    struct str rest, line;
    if (!tune_sweep_is_one(plan) || !tune_sweep_ends(session->state) ||
        !tune_sweep_parse(str_of(plan->sweep), &sweep, NULL))
        return;
    tune_sweep_table(session->state, &sweep, &table);
    rest = buf_str(&table);
    while (str_next(&rest, '\n', &line))
        if (line.len)
            tune_emit_log(session, TUNE_LEVEL_INFO, "sweep", STR_FMT, STR_ARG(line));
    buf_free(&table);
}
