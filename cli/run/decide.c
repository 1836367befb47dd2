/* SPDX-License-Identifier: Apache-2.0 */
/* A program in the place of the person: decisions at gates as JSON lines on standard input. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#include "cli/run/private.h"

static const struct decision {
    const char *name;
    enum tune_action_kind kind;
    const char *keys; /* with a ! behind those that must be there */
} decisions[] = {
#define DECISION(name, kind, keys) {name, TUNE_ACT_##kind, keys},
#include "cli/run/decisions.def"
#undef DECISION
};

/* Every decision may say which gate it is for: the number that the gate's line has. */
#define GATE "gate"

/* Prints the object as a line and deletes it. */
static void say(struct run *run, cJSON *object) {
    struct buf line = {0};
    char *text = cJSON_PrintUnformatted(object);
    buf_puts(&line, text ? text : "{}");
    run_line(run, &line);
    free(text);
    cJSON_Delete(object);
}

/* ------------------------------------------------------------------------------- what is asked */

static void lane_put(cJSON *list, const struct tune_state *state, int lane) {
    const struct tune_plan *plan = tune_lane_plan(state, lane);
    const struct tune_candidate *candidate = tune_lane_candidate(state, lane);
    const struct tune_attempt *attempt = tune_state_attempt(state, tune_lane_attempt(state, lane));
    bool is_new = attempt && attempt->id > 0; /* it may be the incumbent by now */
    cJSON *row = cJSON_CreateObject();
    cJSON_AddNumberToObject(row, "lane", lane);
    cJSON_AddNumberToObject(row, "parent",
                            is_new ? attempt->parent : tune_lane_parent(state, lane));
    tune_json_put_text(row, "title", plan ? plan->title : NULL);
    tune_json_put_text(row, "author", plan ? plan->author : NULL);
    if (is_new)
        cJSON_AddNumberToObject(row, "attempt", attempt->id);
    if (candidate)
        tune_json_put_text(row, "kernel", candidate->source);
    cJSON_AddItemToArray(list, row);
}

/* What a gate's line says is possible, so that nobody has to find out by being refused. */
static void decisions_put(cJSON *object, const struct tune_state *state) {
    cJSON *list = cJSON_AddArrayToObject(object, "decisions");
    for (size_t i = 0; i < COUNT_OF(decisions); i++) {
        bool can = tune_can(state, TUNE_ANY_LANE, decisions[i].kind);
        for (size_t lane = 0; !can && lane < state->lanes.len; lane++)
            can = tune_can(state, (int)lane, decisions[i].kind);
        if (can)
            cJSON_AddItemToArray(list, cJSON_CreateString(decisions[i].name));
    }
    cJSON_AddItemToArray(list, cJSON_CreateString("quit"));
}

/* A line that says the same as the one before is the same question, with the same number. */
static void number_put(struct run *run, cJSON *object) {
    char *text = cJSON_PrintUnformatted(object);
    struct hash now = hash_content(text ? text : "", text ? strlen(text) : 0);
    if (!run->gate || strcmp(now.hex, run->gate_says.hex) != 0)
        run->gate++;
    run->gate_says = now;
    cJSON_AddNumberToObject(object, GATE, run->gate);
    free(text);
}

void run_gate_json(struct run *run) {
    const struct tune_state *state = tune_session_state(run->session);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "event", "gate");
    cJSON_AddStringToObject(object, "step", tune_step_word(state->wait_step));
    cJSON_AddNumberToObject(object, "round", state->round);
    tune_json_put_text(object, "text", state->wait_text);
    cJSON *lanes = cJSON_AddArrayToObject(object, "lanes");
    for (size_t i = 0; i < state->lanes.len; i++)
        if (!state->lanes.at[i].closed)
            lane_put(lanes, state, (int)i);
    number_put(run, object); /* what may be taken back does not make it another question */
    decisions_put(object, state);
    say(run, object);
}

/* --------------------------------------------------------------------------- what is decided */

static const struct decision *find(const cJSON *object, struct err *err) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(object, "decision");
    const char *names[COUNT_OF(decisions) + 1] = {NULL};
    for (size_t i = 0; i < COUNT_OF(decisions); i++) {
        names[i] = decisions[i].name;
        if (cJSON_IsString(name) && !strcmp(decisions[i].name, name->valuestring))
            return &decisions[i];
    }
    const char *near = cJSON_IsString(name) ? str_nearest(name->valuestring, names) : NULL;
    if (!cJSON_IsString(name))
        err_set(err, ERR_USAGE,
                "a decision is a JSON object on one line, as {\"decision\": "
                "\"approve\"} or {\"decision\": \"reject\", \"reason\": \"...\"}");
    else
        err_set(err, ERR_USAGE, "there is no decision \"%.60s\"%s%s", name->valuestring,
                near ? "; did you mean " : "", near ? near : "");
    return NULL;
}

static bool text_take(struct tune_action *action, const cJSON *value) {
    action->text = cJSON_IsString(value) ? value->valuestring : NULL;
    return action->text != NULL;
}

static bool int_take(int *place, const cJSON *value) {
    bool is = cJSON_IsNumber(value) && fabs(value->valuedouble) < 1e9 &&
              !(fabs(value->valuedouble - rint(value->valuedouble)) > 0);
    *place = is ? (int)value->valuedouble : 0;
    return is;
}

static bool budget_take(struct tune_action *action, const cJSON *value) {
    enum tune_budget budget;
    bool is = cJSON_IsString(value) && tune_budget_find(value->valuestring, &budget);
    action->index = is ? (int)budget : -1;
    return is;
}

static bool limit_take(struct tune_action *action, const cJSON *value) {
    action->number = cJSON_IsNumber(value) ? value->valuedouble : NAN;
    return cJSON_IsNumber(value) || cJSON_IsNull(value);
}

static bool key_take(struct tune_action *action, struct str key, const cJSON *value) {
    if (str_is(key, "lane"))
        return int_take(&action->lane, value);
    if (str_is(key, "attempt"))
        return int_take(&action->attempt, value);
    if (str_is(key, "plan") || str_is(key, "call"))
        return int_take(&action->index, value);
    if (str_is(key, "budget"))
        return budget_take(action, value);
    if (str_is(key, "limit"))
        return limit_take(action, value);
    return text_take(action, value);
}

/* Whether a decision takes a key: one that it does not know would be passed over, and what it was
 * to say with it. */
static bool knows(const struct decision *decision, const char *name) {
    struct str rest = str_of(decision->keys), key;
    if (!strcmp(name, "decision") || !strcmp(name, GATE))
        return true;
    while (str_next(&rest, ' ', &key)) {
        key.len -= str_ends(key, "!");
        if (str_is(key, name))
            return true;
    }
    return false;
}

static bool keys_check(const struct decision *decision, const cJSON *object, struct err *err) {
    for (const cJSON *key = object->child; key; key = key->next) {
        if (!knows(decision, key->string))
            return err_set(err, ERR_USAGE, "%s takes no \"%.60s\"", decision->name, key->string);
        for (const cJSON *other = key->next; other; other = other->next)
            if (!strcmp(key->string, other->string))
                return err_set(err, ERR_USAGE, "\"%.60s\" stands there twice", key->string);
    }
    return true;
}

static bool keys_take(const struct decision *decision, const cJSON *object,
                      struct tune_action *action, struct err *err) {
    struct str rest = str_of(decision->keys), key;
    *action = (struct tune_action){
        .kind = decision->kind, .lane = TUNE_ANY_LANE, .number = NAN, .text = ""};
    while (str_next(&rest, ' ', &key)) {
        char name[24];
        bool needed = str_ends(key, "!");
        key.len -= needed;
        snprintf(name, sizeof name, STR_FMT, STR_ARG(key));
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, name);
        if (!value && needed)
            return err_set(err, ERR_USAGE, "%s needs \"%s\"", decision->name, name);
        if (value && !key_take(action, key, value))
            return err_set(err, ERR_USAGE, "%s: \"%s\" cannot be read", decision->name, name);
    }
    return true;
}

/* A program that fell behind would decide about what it has not seen. */
static bool gate_check(const struct run *run, const cJSON *object, struct err *err) {
    const cJSON *gate = cJSON_GetObjectItemCaseSensitive(object, GATE);
    int number = 0;
    if (gate && !int_take(&number, gate))
        return err_set(err, ERR_USAGE,
                       "\"gate\" cannot be read: it is the number of a gate's line");
    return !gate || number == run->gate ||
           err_set(err, ERR_USAGE, "this was for gate %d, and gate %d waits now: read its line",
                   number, run->gate);
}

/* Actions of the workbench have longer names than some decisions: who wrote "edit" is told about
 * edit. */
static void own_words(struct err *err, const struct decision *decision) {
    const char *name = tune_action_name(decision->kind), *at = strstr(err->text, name);
    size_t len = strlen(name), own = strlen(decision->name);
    if (!at || own >= len)
        return;
    size_t from = (size_t)(at - err->text);
    memcpy(err->text + from, decision->name, own);
    memmove(err->text + from + own, err->text + from + len, strlen(err->text + from + len) + 1);
}

static void refuse(struct run *run, const char *why) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "event", "refused");
    cJSON_AddStringToObject(object, "text", why);
    say(run, object);
}

static bool ends(const cJSON *object) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(object, "decision");
    return cJSON_IsString(name) && !strcmp(name->valuestring, "quit");
}

/* The object that a line is, and nothing beside it; NULL: it is something else. */
static cJSON *line_parse(struct str line) {
    const char *end = NULL;
    struct str whole = str_trim(line);
    cJSON *object = cJSON_ParseWithLengthOpts(whole.at, whole.len, &end, false);
    if (object && end == whole.at + whole.len)
        return object;
    cJSON_Delete(object);
    return NULL;
}

void run_decide(struct run *run, struct str line) {
    const struct tune_state *state = tune_session_state(run->session);
    struct tune_action action, start = {.kind = TUNE_ACT_START};
    struct err err = {0};
    cJSON *object = line_parse(line);
    run->prompted = ends(object);
    if (run->prompted) {
        run->end = "ended by you; the same command goes on";
        loop_stop(run->loop);
        cJSON_Delete(object);
        return;
    }
    const struct decision *decision = find(object, &err);
    bool done = decision && keys_check(decision, object, &err) && gate_check(run, object, &err) &&
                keys_take(decision, object, &action, &err) &&
                tune_session_act(run->session, &action, &err);
    if (decision && !done)
        own_words(&err, decision);
    if (done && action.kind == TUNE_ACT_SEND)
        run->shown = -1;
    /* Who decides wants the run to go on; at a gate of several lanes the others still wait. */
    if (done && !state->running && tune_can(state, TUNE_ANY_LANE, TUNE_ACT_START))
        (void)tune_session_act(run->session, &start, &err);
    if (err.text[0])
        refuse(run, err.text);
    cJSON_Delete(object);
}
