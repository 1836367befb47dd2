/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as JSON, in the form of the events, for what is given away. It does not judge plans. */
#include "tune/events/events.h"
#include "tune/state/inner.h"

cJSON *tune_plan_write(const struct tune_plan *plan) {
    struct buf text = {0};
    tune_part_write(TUNE_PART_PLAN, plan, &text);
    cJSON *object = cJSON_Parse(text.at);
    buf_free(&text);
    return object;
}
