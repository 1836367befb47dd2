/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as JSON, in the form of the events, for what is given away; and the kernel that came with
 * it. It does not judge plans. */
#include "tune/events/events.h"
#include "tune/state/inner.h"

cJSON *tune_plan_write(const struct tune_plan *plan) {
    struct buf text = {0};
    struct tune_plan bare = *plan;
    bare.source = NULL; /* the candidate's and the attempt's */
    tune_part_write(TUNE_PART_PLAN, &bare, &text);
    cJSON *object = cJSON_Parse(text.at);
    buf_free(&text);
    return object;
}

const char *tune_lane_kernel(const struct tune_state *state, int lane) {
    const struct tune_plan *plan = tune_lane_plan(state, lane);
    const struct tune_attempt *open = tune_attempt_in(state, lane);
    bool repairs = open && open->id > 0 && open->status == TUNE_STATUS_OPEN;
    return plan && !plan->edited && !plan->sweep && !repairs ? plan->source : NULL;
}
