/* SPDX-License-Identifier: Apache-2.0 */
/* How much a model should think, in the form that each interface takes. Models of one interface
 * take different forms. When a model refuses one, the next is tried, at last none, and the result
 * is remembered. */
#include <stdio.h>

#include "model/private.h"

#define LEAST_BUDGET 1024 /* "Extended thinking", Anthropic's API documentation */

static const char *const efforts[] = {"", "off", "low", "medium", "high", "max"};

const char *model_effort_word(enum model_effort effort) {
    return efforts[effort];
}

bool model_effort_find(const char *word, enum model_effort *effort) {
    for (size_t i = MODEL_EFFORT_OFF; i < COUNT_OF(efforts); i++)
        if (!strcmp(efforts[i], word)) {
            *effort = (enum model_effort)i;
            return true;
        }
    return false;
}

/* The row for what is wanted: an effort, or a number of tokens. */
static int row_of(const struct model_endpoint *endpoint) {
    bool counted = endpoint->thinking_tokens > 0 && endpoint->effort != MODEL_EFFORT_OFF;
    return counted ? MODEL_EFFORTS - 1 : (int)endpoint->effort;
}

/* The form to use now; the try remembers it. */
static int step_of(struct model_call *call) {
    call->effort_row = row_of(&call->kept.endpoint);
    call->effort_step = model_learnt_of(call)->steps[call->effort_row];
    return call->effort_step;
}

/* ----------------------------------------------------------------------------------- by a word */

/* "reasoning_effort" of Chat Completions, "reasoning.effort" of Responses (OpenAI's API reference):
 * "none" and "xhigh" are of newer models, "minimal" of some between. */
#define MOST_WORDS 4
static const char *const words[MODEL_EFFORTS][MOST_WORDS] = {
    [MODEL_EFFORT_OFF] = {"none", "minimal", "low"},
    [MODEL_EFFORT_LOW] = {"low"},
    [MODEL_EFFORT_MEDIUM] = {"medium"},
    [MODEL_EFFORT_HIGH] = {"high"},
    [MODEL_EFFORT_MAX] = {"xhigh", "high"},
};

const char *model_effort_ask(struct model_call *call) {
    int step = step_of(call);
    const char *word = step < MOST_WORDS ? words[call->effort_row][step] : NULL;
    if (call->effort_row == MODEL_EFFORTS - 1) /* these interfaces count no thinking */
        word = words[call->kept.endpoint.effort][MIN_OF(step, MOST_WORDS - 1)];
    call->effort_sent = word != NULL;
    return word;
}

/* ---------------------------------------------------------------------------- of Claude's kind */

/* "Adaptive thinking", "Effort" and "Extended thinking" of Anthropic's API documentation: the
 * newest models think adaptively alone, older ones by a budget alone. */
enum form { NOTHING, ADAPTIVE, BUDGET, DISABLED };
#define MOST_FORMS 5
static const struct {
    enum form is;
    const char *effort;
} forms[MODEL_EFFORTS][MOST_FORMS] = {
    [MODEL_EFFORT_OFF] = {{DISABLED, NULL}, {ADAPTIVE, "low"}},
    [MODEL_EFFORT_LOW] = {{ADAPTIVE, "low"}, {BUDGET, NULL}},
    [MODEL_EFFORT_MEDIUM] = {{ADAPTIVE, "medium"}, {BUDGET, NULL}},
    [MODEL_EFFORT_HIGH] = {{ADAPTIVE, "high"}, {BUDGET, NULL}},
    [MODEL_EFFORT_MAX] = {{ADAPTIVE, "max"}, {ADAPTIVE, "high"}, {BUDGET, NULL}},
    [MODEL_EFFORTS - 1] = {{BUDGET, NULL}, {ADAPTIVE, NULL}},
};

/* Some of the tokens must be left for the answer itself. */
static int budget_of(const struct model_endpoint *endpoint) {
    static const int usual[] = {[MODEL_EFFORT_LOW] = 2048,
                                [MODEL_EFFORT_MEDIUM] = 8192,
                                [MODEL_EFFORT_HIGH] = 16384,
                                [MODEL_EFFORT_MAX] = 32768};
    int given = endpoint->thinking_tokens, wanted = given > 0 ? given : usual[endpoint->effort];
    int most = endpoint->max_tokens - MAX_OF(endpoint->max_tokens / 4, 1);
    return MIN_OF(MAX_OF(wanted, LEAST_BUDGET), most);
}

bool model_effort_add(struct model_call *call, cJSON *to) {
    static const char *const types[] = {
        [ADAPTIVE] = "adaptive", [BUDGET] = "enabled", [DISABLED] = "disabled"};
    const struct model_endpoint *endpoint = &call->kept.endpoint;
    int step = MIN_OF(step_of(call), MOST_FORMS - 1), row = call->effort_row;
    enum form form = forms[row][step].is;
    const char *effort = forms[row][step].effort;
    if (row == MODEL_EFFORTS - 1 && form == ADAPTIVE && endpoint->effort != MODEL_EFFORT_UNSET)
        effort = efforts[endpoint->effort];
    call->effort_sent = form != NOTHING;
    if (form == NOTHING || (form == BUDGET && budget_of(endpoint) < LEAST_BUDGET))
        return false;
    cJSON *thinking = cJSON_AddObjectToObject(to, "thinking");
    cJSON_AddStringToObject(thinking, "type", types[form]);
    if (form == BUDGET)
        cJSON_AddNumberToObject(thinking, "budget_tokens", budget_of(endpoint));
    if (effort)
        cJSON_AddStringToObject(cJSON_AddObjectToObject(to, "output_config"), "effort", effort);
    return form != DISABLED;
}

/* ---------------------------------------------------------------------------------- on Bedrock */

/* "low" to "high" are all that these models know. */
static const char *within(enum model_effort effort) {
    return efforts[effort == MODEL_EFFORT_OFF   ? MODEL_EFFORT_LOW
                   : effort == MODEL_EFFORT_MAX ? MODEL_EFFORT_HIGH
                                                : effort];
}

/* "Extended thinking", Amazon Nova 2 user guide. True for a form that takes no temperature. */
static bool add_nova(const struct model_endpoint *endpoint, cJSON *to) {
    bool off = endpoint->effort == MODEL_EFFORT_OFF;
    cJSON *config = cJSON_AddObjectToObject(to, "reasoningConfig");
    cJSON_AddStringToObject(config, "type", off ? "disabled" : "enabled");
    if (!off)
        cJSON_AddStringToObject(config, "maxReasoningEffort", within(endpoint->effort));
    return !off && model_effort_is_unlimited(to);
}

bool model_effort_is_unlimited(const cJSON *fields) {
    const char *word = model_json_text(cJSON_GetObjectItemCaseSensitive(fields, "reasoningConfig"),
                                       "maxReasoningEffort");
    return word && !strcmp(word, "high");
}

/* OpenAI's open models on Bedrock take the word that their own interface has. */
static bool add_open(const struct model_endpoint *endpoint, cJSON *to) {
    cJSON_AddStringToObject(to, "reasoning_effort", within(endpoint->effort));
    return false;
}

bool model_effort_add_bedrock(struct model_call *call, cJSON *to) {
    static const struct {
        const char *part;
        bool (*add)(const struct model_endpoint *, cJSON *);
    } rows[] = {{"amazon.nova-2", add_nova}, {"openai.gpt-oss", add_open}};
    const struct model_endpoint *endpoint = &call->kept.endpoint;
    if (strstr(endpoint->model, "claude"))
        return model_effort_add(call, to);
    bool wanted = endpoint->effort != MODEL_EFFORT_UNSET && step_of(call) == 0;
    for (size_t i = 0; wanted && i < COUNT_OF(rows); i++)
        if (strstr(endpoint->model, rows[i].part)) {
            call->effort_sent = true;
            return rows[i].add(endpoint, to);
        }
    return false;
}

/* ----------------------------------------------------------------------------- what is refused */

bool model_effort_refused(struct model_call *call, struct str body) {
    static const char *const parts[] = {"effort",        "thinking",
                                        "reasoning",     "budget_tokens",
                                        "output_config", "additionalModelRequestFields"};
    int *step = &model_learnt_of(call)->steps[call->effort_row];
    bool names_it = false;
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        names_it = names_it || memmem(body.at, body.len, parts[i], strlen(parts[i]));
    if (call->effort_sent && names_it)
        *step = MAX_OF(*step, call->effort_step + 1);
    return call->effort_sent && *step > call->effort_step;
}
