/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as JSON and back, as it stands in events. It does not judge plans. */
#include "tune/state/inner.h"

#include <math.h>

void tune_plan_read(struct tune_state *state, const cJSON *object, struct tune_plan *plan) {
    *plan = (struct tune_plan){
        .key = tune_keep(state, tune_json_text(object, "key")),
        .title = tune_keep(state, tune_json_text(object, "title")),
        .what = tune_keep(state, tune_json_text(object, "what")),
        .why = tune_keep(state, tune_json_text(object, "why")),
        .author = tune_keep(state, tune_json_text(object, "author")),
        .sweep = tune_keep(state, tune_json_text(object, "sweep")),
        .strategy = tune_keep(state, tune_json_text(object, "strategy")),
        .metric = tune_keep(state, tune_json_text(object, "metric")),
        .first_line = tune_json_int(object, "first_line", 0),
        .last_line = tune_json_int(object, "last_line", 0),
        .size = tune_json_number(object, "size"),
        .latency = tune_json_number(object, "latency"),
        .moved = tune_json_number(object, "moved"),
        .edited = tune_json_bool(object, "edited"),
        .revised = tune_json_bool(object, "revised"),
    };
    tune_direction_find(tune_json_text(object, "direction"), &plan->direction);
    tune_answer_find(tune_json_text(object, "held"), &plan->held);
}

cJSON *tune_plan_write(const struct tune_plan *plan) {
    cJSON *object = cJSON_CreateObject();
    tune_json_put_text(object, "key", plan->key);
    tune_json_put_text(object, "title", plan->title);
    tune_json_put_text(object, "what", plan->what);
    tune_json_put_text(object, "why", plan->why);
    tune_json_put_text(object, "author", plan->author);
    tune_json_put_text(object, "sweep", plan->sweep);
    tune_json_put_text(object, "strategy", plan->strategy);
    cJSON_AddNumberToObject(object, "first_line", plan->first_line);
    cJSON_AddNumberToObject(object, "last_line", plan->last_line);
    tune_json_put_text(object, "metric", plan->metric);
    tune_json_put_text(object, "direction", tune_direction_word(plan->direction));
    tune_json_put_number(object, "size", plan->size);
    tune_json_put_number(object, "latency", plan->latency);
    tune_json_put_text(object, "held", tune_answer_word(plan->held));
    tune_json_put_number(object, "moved", plan->moved);
    tune_json_put_bool(object, "edited", plan->edited);
    tune_json_put_bool(object, "revised", plan->revised);
    return object;
}
