/* SPDX-License-Identifier: Apache-2.0 */
/* The questions of a recorded session, put again from the state as it was when each was asked
 * (logs/asked.events: gains, a loss, kernels that do not compile and one that is wrong, ideas that
 * were set aside). For tests and benchmarks. */
#ifndef HONE_TESTS_TUNE_SITUATIONS_H
#define HONE_TESTS_TUNE_SITUATIONS_H

#include <stdio.h>
#include <stdlib.h>

#include "tune/apply/apply.h"
#include "tune/ask/testing.h"
#include "tune/state/inner.h"
#include "tune/tune.h"

typedef void situation_fn(void *data, int number, enum tune_role role, struct tune_prompt *prompt,
                          const struct tune_context *context);

struct situation_event {
    long long seq, ms;
    char *type, *payload;
};

static inline bool situation_read(struct str *rest, struct situation_event *event) {
    struct str line, seq, ms, type;
    if (!str_next(rest, '\n', &line) || !str_next(&line, ' ', &seq) || !str_next(&line, ' ', &ms) ||
        !str_next(&line, ' ', &type) || !str_to_int(seq, &event->seq) ||
        !str_to_int(ms, &event->ms))
        return false;
    event->type = mem_alloc(type.len + 1, 1);
    memcpy(event->type, type.at, type.len);
    event->payload = mem_alloc(line.len + 1, 1);
    memcpy(event->payload, line.at, line.len);
    return true;
}

/* The role of a question: "role":"planner" of the event asked. */
static inline enum tune_role situation_role(const char *payload) {
    cJSON *object = cJSON_Parse(payload);
    const cJSON *word = cJSON_GetObjectItemCaseSensitive(object, "role");
    enum tune_role role = TUNE_ROLES;
    if (cJSON_IsString(word))
        tune_role_find(word->valuestring, &role);
    cJSON_Delete(object);
    return role;
}

/* Calls fn for each question of the log, before it goes out; models are the same for all roles, so
 * that plan and kernel are asked for together. Returns how many there were. */
static inline int situations_walk(const char *events, situation_fn *fn, void *data) {
    static const struct tune_role_model model = {.name = "me", .asked = "command, me"};
    struct tune_role_view roles[TUNE_ROLES];
    struct tune_state *state = tune_state_new();
    struct situation_event event;
    struct str rest = str_of(events);
    int count = 0;
    for (int i = 0; i < TUNE_ROLES; i++)
        roles[i] = (struct tune_role_view){.models = &model, .count = 1};
    while (situation_read(&rest, &event)) {
        enum tune_role role =
            strcmp(event.type, "asked") != 0 ? TUNE_ROLES : situation_role(event.payload);
        state->roles = roles;
        if (role < TUNE_ROLES) {
            struct tune_context *context = tune_context_question(state, 0, role, -1);
            struct tune_prompt *prompt = tune_prompt_build(context, role, NULL, 0);
            fn(data, ++count, role, prompt, context);
            tune_prompt_free(prompt);
            tune_context_free(context);
        }
        tune_state_apply(state, event.seq, event.ms, event.type, event.payload);
        free(event.type);
        free(event.payload);
    }
    tune_state_free(state);
    return count;
}

#endif
