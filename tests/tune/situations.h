/* SPDX-License-Identifier: Apache-2.0 */
/* The questions of recorded sessions, put again from the state as it was when each was asked. For
 * tests and benchmarks. Both sessions are of the real loop: logs/asked.events is softmax (gains, a
 * loss, kernels that do not compile and one that is wrong, ideas that were set aside; plan and
 * kernel in one question), logs/rmsnorm_matmul.events what record.py makes (rounds 1 to 6, asked
 * twice: a plan that was right and brought nothing, three static errors at once, wrong numbers, a
 * second turn, a class of precision that is not allowed, a plan out of the stock). */
#ifndef HONE_TESTS_TUNE_SITUATIONS_H
#define HONE_TESTS_TUNE_SITUATIONS_H

#include <stdio.h>
#include <stdlib.h>

#include "tune/apply/apply.h"
#include "tune/ask/testing.h"
#include "tune/state/inner.h"
#include "tune/tune.h"

struct situation {
    int number; /* from 1 on */
    enum tune_role role;
    struct tune_prompt *prompt;
    const struct tune_context *context;
    const struct tune_state *state;
};
typedef void situation_fn(void *data, const struct situation *situation);

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

/* The event asked: its role, the answer that it mends (a call's number, else -1), and whether plan
 * and kernel are asked for together. */
struct situation_asked {
    enum tune_role role;
    int mends;
    bool once;
};

static inline struct situation_asked situation_asked(const char *payload) {
    struct situation_asked asked = {TUNE_ROLES, -1, false};
    cJSON *object = cJSON_Parse(payload);
    const cJSON *word = cJSON_GetObjectItemCaseSensitive(object, "role");
    const cJSON *mends = cJSON_GetObjectItemCaseSensitive(object, "mends");
    if (cJSON_IsString(word))
        tune_role_find(word->valuestring, &asked.role);
    if (cJSON_IsNumber(mends))
        asked.mends = (int)mends->valuedouble;
    asked.once = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, "once"));
    cJSON_Delete(object);
    return asked;
}

static inline void situation_put(struct tune_state *state, struct situation_asked asked, int number,
                                 situation_fn *fn, void *data) {
    state->asks = asked.once ? TUNE_ASKS_ONCE : TUNE_ASKS_TWICE;
    struct tune_context *context = tune_context_question(state, 0, asked.role, asked.mends);
    struct tune_prompt *prompt = tune_prompt_build(context, asked.role, NULL, 0);
    fn(data, &(struct situation){number, asked.role, prompt, context, state});
    tune_prompt_free(prompt);
    tune_context_free(context);
}

/* Calls fn for each question of the log, before it goes out; models are the same for all roles.
 * Returns how many there were. */
static inline int situations_walk(const char *events, situation_fn *fn, void *data) {
    static const struct tune_role_model model = {.name = "me", .asked = "command, me"};
    struct tune_role_view of_roles[TUNE_ROLES];
    struct tune_state *state = tune_state_new();
    struct situation_event event;
    struct str rest = str_of(events);
    int count = 0;
    for (int i = 0; i < TUNE_ROLES; i++)
        of_roles[i] = (struct tune_role_view){.models = &model, .count = 1};
    while (situation_read(&rest, &event)) {
        struct situation_asked asked = {.role = TUNE_ROLES};
        if (!strcmp(event.type, "asked"))
            asked = situation_asked(event.payload);
        state->roles = of_roles;
        if (asked.role < TUNE_ROLES)
            situation_put(state, asked, ++count, fn, data);
        tune_state_apply(state, event.seq, event.ms, event.type, event.payload);
        free(event.type);
        free(event.payload);
    }
    tune_state_free(state);
    return count;
}

#endif
