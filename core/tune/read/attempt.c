/* SPDX-License-Identifier: Apache-2.0 */
/* An attempt as JSON, by one table of its fields: for who gets a session as a bundle, and for
 * comparing two states, which takes in what only hone itself makes use of. */
#include <stddef.h>

#include "tune/events/events.h"
#include "tune/read/inner.h"

enum field_is { INT, LONG, NUMBER, TEXT, HASH, FLAG, STATUS, KERNEL, ITS_OWN };
typedef void put_fn(cJSON *object, const char *key, const struct tune_attempt *attempt);

struct field {
    const char *key;
    enum field_is is;
    size_t at;
    put_fn *put; /* of ITS_OWN */
    bool inside; /* of no use outside a session */
};

/* ---------------------------------------------------------------------- fields of more values */

static void put_predicted(cJSON *object, const char *key, const struct tune_attempt *attempt) {
    (void)key;
    tune_predicted_put(object, attempt);
}

static void put_plan(cJSON *object, const char *key, const struct tune_attempt *attempt) {
    cJSON_AddItemToObject(object, key, tune_plan_write(&attempt->plan));
}

static void put_verdict(cJSON *object, const char *key, const struct tune_attempt *attempt) {
    const struct tune_verdict *verdict = &attempt->verdict;
    const struct {
        const char *key, *why;
        enum tune_answer answer;
    } all[] = {{"compiles", verdict->compiles_why, verdict->compiles},
               {"correct", verdict->correct_why, verdict->correct},
               {"credible", verdict->credible_why, verdict->credible},
               {"faster", verdict->faster_why, verdict->faster}};
    cJSON *to = cJSON_AddObjectToObject(object, key);
    bool wrong = verdict->compiles == TUNE_ANSWER_NO || verdict->correct == TUNE_ANSWER_NO ||
                 verdict->credible == TUNE_ANSWER_NO;
    tune_json_put_text(to, "kind", wrong ? err_kind_name(ERR_KERNEL) : NULL);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        cJSON *one = cJSON_AddObjectToObject(to, all[i].key);
        tune_json_put_text(one, "answer", tune_answer_word(all[i].answer));
        tune_json_put_text(one, "why", all[i].why);
    }
}

static void put_interval(cJSON *object, const char *key, const struct tune_attempt *attempt) {
    cJSON *interval = cJSON_AddObjectToObject(object, key);
    tune_json_put_number(interval, "ratio", attempt->interval.ratio);
    tune_json_put_number(interval, "low", attempt->interval.low);
    tune_json_put_number(interval, "high", attempt->interval.high);
    tune_json_put_number(interval, "seen", attempt->interval.seen);
}

static void put_seeds(cJSON *object, const char *key, const struct tune_attempt *attempt) {
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (size_t i = 0; i < attempt->seeds.len; i++) {
        cJSON *seed = cJSON_CreateObject();
        cJSON_AddNumberToObject(seed, "seed", (double)attempt->seeds.at[i].seed);
        tune_json_put_number(seed, "rel_l2", attempt->seeds.at[i].rel_l2);
        tune_json_put_text(seed, "passed", tune_answer_word(attempt->seeds.at[i].passed));
        cJSON_AddItemToArray(list, seed);
    }
}

static void put_times(cJSON *object, const char *key, const double *us, size_t count) {
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber(us[i]));
}

static void put_samples(cJSON *object, const char *key, const struct tune_attempt *attempt) {
    put_times(object, key, attempt->samples.at, attempt->samples.len);
}

static void put_parent_samples(cJSON *object, const char *key, const struct tune_attempt *attempt) {
    put_times(object, key, attempt->parent_samples.at, attempt->parent_samples.len);
}

static void put_metrics(cJSON *object, const char *key, const struct tune_attempt *attempt) {
    cJSON *metrics = cJSON_AddObjectToObject(object, key);
    for (size_t i = 0; i < attempt->metrics.len; i++)
        tune_json_put_number(metrics, attempt->metrics.at[i].name, attempt->metrics.at[i].value);
}

static void put_units(cJSON *object, const char *key, const struct tune_attempt *attempt) {
    cJSON *units = cJSON_AddObjectToObject(object, key);
    for (size_t i = 0; i < attempt->metrics.len; i++)
        tune_json_put_text(units, attempt->metrics.at[i].name, attempt->metrics.at[i].unit);
}

static void put_part(cJSON *list, enum tune_part part, const void *structure) {
    struct buf text = {0};
    tune_part_write(part, structure, &text);
    cJSON_AddItemToArray(list, cJSON_Parse(text.at));
    buf_free(&text);
}

static void put_lines(cJSON *object, const char *key, const struct tune_attempt *attempt) {
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (size_t i = 0; i < attempt->lines.len; i++)
        put_part(list, TUNE_PART_LINE, &attempt->lines.at[i]);
}

static void put_bounds(cJSON *object, const char *key, const struct tune_attempt *attempt) {
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (size_t i = 0; i < attempt->bounds.len; i++)
        put_part(list, TUNE_PART_BOUND, &attempt->bounds.at[i]);
}

/* ----------------------------------------------------------------------------------- the table */

#define AT(member) offsetof(struct tune_attempt, member)
#define OWN(put) ITS_OWN, 0, put
static const struct field fields[] = {
    {"attempt", INT, AT(id), NULL, false},
    {"parent", INT, AT(parent), NULL, false},
    {"round", INT, AT(round), NULL, false},
    {"author", TEXT, AT(author), NULL, false},
    {"started_ms", LONG, AT(started_ms), NULL, true},
    {"ended_ms", LONG, AT(ended_ms), NULL, true},
    {"source", KERNEL, 0, NULL, true},
    {"path", TEXT, AT(path), NULL, true},
    {"hash", HASH, AT(hash), NULL, true},
    {"outdated", FLAG, AT(outdated), NULL, true},
    {"repairs", INT, AT(repairs), NULL, true},
    {"evaluated", INT, AT(evaluated), NULL, true},
    {"occasion", INT, AT(occasion), NULL, true},
    {"heard", LONG, AT(heard), NULL, true},
    {"decision", STATUS, AT(status), NULL, false},
    {"reason", TEXT, AT(reason), NULL, false},
    {"latency_us", NUMBER, AT(latency_us), NULL, false},
    {"floor_us", NUMBER, AT(floor_us), NULL, false},
    {"floor_split_us", NUMBER, AT(floor_split_us), NULL, true},
    {"floor_any_us", NUMBER, AT(floor_any_us), NULL, true},
    {"floor_modelled", FLAG, AT(floor_modelled), NULL, true},
    {"modelled_us", NUMBER, AT(modelled_us), NULL, true},
    {"speedup", NUMBER, AT(speedup), NULL, false},
    {"vs_parent", NUMBER, AT(vs_parent), NULL, false},
    {"interval", OWN(put_interval), true},
    {"confirmed", FLAG, AT(confirmed), NULL, true},
    {"modelled", FLAG, AT(modelled), NULL, false},
    {"lnc", INT, AT(lnc), NULL, true},
    {"wall", TEXT, AT(wall), NULL, true},
    {"instructions", LONG, AT(instructions), NULL, true},
    {"predicted_us", OWN(put_predicted), false},
    {"bound_by", TEXT, AT(bound_by), NULL, false},
    {"plan", OWN(put_plan), false},
    {"verdict", OWN(put_verdict), false},
    {"seeds", OWN(put_seeds), false},
    {"samples_us", OWN(put_samples), false},
    {"parent_samples_us", OWN(put_parent_samples), false},
    {"profile_modelled", FLAG, AT(profile_modelled), NULL, true},
    {"timeline", TEXT, AT(timeline), NULL, true},
    {"metrics", OWN(put_metrics), false},
    {"units", OWN(put_units), true},
    {"lines", OWN(put_lines), false},
    {"bounds", OWN(put_bounds), true},
};

static void put(cJSON *object, const struct field *field, const struct tune_state *state,
                const struct tune_attempt *attempt) {
    const void *at = (const char *)attempt + field->at;
    const char *key = field->key;
    switch (field->is) {
    case INT: tune_json_put_number(object, key, *(const int *)at); break;
    case LONG: tune_json_put_number(object, key, (double)*(const int64_t *)at); break;
    case NUMBER: tune_json_put_number(object, key, *(const double *)at); break;
    case TEXT: tune_json_put_text(object, key, *(const char *const *)at); break;
    case HASH: tune_json_put_text(object, key, at); break;
    case FLAG: tune_json_put_bool(object, key, *(const bool *)at); break;
    case STATUS: tune_json_put_text(object, key, tune_status_word(attempt->status)); break;
    case KERNEL: tune_json_put_text(object, key, tune_source(state, attempt)); break;
    case ITS_OWN: field->put(object, key, attempt); break;
    }
}

cJSON *tune_attempt_write(const struct tune_state *state, const struct tune_attempt *attempt,
                          bool inside) {
    cJSON *object = cJSON_CreateObject();
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (inside || !fields[i].inside)
            put(object, &fields[i], state, attempt);
    return object;
}
