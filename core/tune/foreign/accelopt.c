/* SPDX-License-Identifier: Apache-2.0 */
/* AccelOpt's executor_results.json: every kernel it had written, with what it was measured. The
 * plans are in planner_results.json beside it, by service and number; "spec_code" is the
 * reference. The lists of experiences made from them are read in json.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/foreign/foreign.h"
#include "tune/state/state.h"

/* Where the reading is in the text: the parsed tree does not know its lines. */
struct walk {
    struct foreign_place at;
    struct str rest;
    const cJSON *plans; /* of planner_results.json; NULL */
};

/* Moves on to the text, if it comes. */
static void walk_to(struct walk *walk, const char *text) {
    const char *found = memmem(walk->rest.at, walk->rest.len, text, strlen(text));
    if (!found)
        return;
    for (const char *c = walk->rest.at; c < found; c++)
        walk->at.line += *c == '\n';
    walk->rest.len -= (size_t)(found - walk->rest.at);
    walk->rest.at = found;
}

/* "plan_3_1" is the second kernel of the service's fourth plan. */
static const char *plan_of(const struct walk *walk, const cJSON *result, const cJSON *item) {
    const char *service = tune_json_text(result, "service_name");
    long number = strtol(item->string + strlen("plan_"), NULL, 10);
    const cJSON *entry;
    cJSON_ArrayForEach(entry, walk->plans) {
        const char *whose = tune_json_text(entry, "service_name");
        const cJSON *plans = tune_json_at(entry, "plans");
        if (!service || !whose || strcmp(service, whose) != 0 || !cJSON_IsArray(plans))
            continue;
        return cJSON_GetStringValue(number >= 0 && number < cJSON_GetArraySize(plans)
                                        ? cJSON_GetArrayItem(plans, (int)number)
                                        : NULL);
    }
    return NULL;
}

static void sample(const struct walk *walk, const cJSON *result, const cJSON *item) {
    const struct foreign_place *place = &walk->at;
    const char *error = tune_json_text(item, "error"), *body = tune_json_text(item, "body");
    const char *plan = plan_of(walk, result, item), *task = tune_json_text(item, "problem");
    double speedup = foreign_number(item, "speedup");
    if (!task)
        task = FOREIGN_TEXT(result, "case_name", "service_name");
    struct buf title = {0};
    foreign_title(plan, &title);
    if (!title.len)
        buf_printf(&title, "%s of %s", item->string, task ? task : "a kernel");
    bool known = !error && !isnan(speedup);
    struct tune_import row = {.name = item->string,
                              .parent = FOREIGN_TEXT(result, "service_name", "case_name"),
                              .status = error         ? "error"
                                        : !known      ? "not measured"
                                        : speedup > 1 ? "faster"
                                                      : "slower",
                              .title = title.at,
                              .reason = foreign_last_line(place->out, error),
                              .is = error         ? TUNE_STATUS_FAILED
                                    : !known      ? TUNE_STATUS_INCONCLUSIVE
                                    : speedup > 1 ? TUNE_STATUS_KEEP
                                                  : TUNE_STATUS_REVERT,
                              .round = -1,
                              .latency_us = foreign_us(foreign_number(item, "latency")),
                              .speedup = speedup};
    struct foreign_about about = {task, foreign_family(place->out, task, body),
                                  foreign_dialect(body), .kernel = body, .tried = body && plan};
    foreign_attempt(place, "AccelOpt", row, &about);
    struct foreign_pair pair = {.agent = "AccelOpt",
                                .task = task,
                                .title = title.at,
                                .what = plan,
                                .before = tune_json_text(item, "baseline"),
                                .after = body,
                                .speedup = speedup};
    if (known && body)
        foreign_pair(place, &pair);
    buf_free(&title);
}

void foreign_read_accelopt(const struct foreign_place *place, const cJSON *results,
                           struct str text) {
    char *planner = foreign_beside(place, "planner_results.json");
    struct foreign_place beside = {.out = place->out, .path = "planner_results.json", .line = 1};
    cJSON *plans = planner ? foreign_parse(&beside, str_of(planner)) : NULL;
    struct walk walk = {*place, text, plans};
    const cJSON *result, *item;
    cJSON_ArrayForEach(result, results) {
        cJSON_ArrayForEach(item, result) {
            char name[80];
            if (!item->string || !str_starts(str_of(item->string), "plan_") ||
                !cJSON_IsObject(item))
                continue;
            snprintf(name, sizeof name, "\"%.70s\"", item->string);
            walk_to(&walk, name);
            sample(&walk, result, item);
        }
    }
    cJSON_Delete(plans);
    free(planner);
}
