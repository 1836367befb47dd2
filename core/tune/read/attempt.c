/* SPDX-License-Identifier: Apache-2.0 */
/* An attempt as JSON, from one table of its fields. Each form takes some of them: a bundle, the
 * comparison of two states, a row of experiments.jsonl, the last event of `hone run --json`, a row
 * of `hone sweep --json`. Names of the last three and their order stay: other programs read
 * them. */
#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdlib.h>

#include "tune/events/events.h"
#include "tune/read/read.h"
#include "tune/state/inner.h"
#include "tune/sums/sums.h"

enum field_is { INT, LONG, NUMBER, TEXT, HASH, FLAG, STATUS, PRECISION, ITS_OWN };

/* The forms that have a field. INSIDE takes what a bundle has, and more. */
enum {
    BUNDLE = 1 << TUNE_ATTEMPT_BUNDLE | 1 << TUNE_ATTEMPT_INSIDE,
    INSIDE = 1 << TUNE_ATTEMPT_INSIDE,
    ROW = 1 << TUNE_ATTEMPT_ROW,
    END = 1 << TUNE_ATTEMPT_END | 1 << TUNE_ATTEMPT_SWEEP,
    SWEEP = 1 << TUNE_ATTEMPT_SWEEP
};

struct told {
    const struct tune_state *state;
    const struct tune_attempt *attempt;
    const char *folder;
};

typedef void put_fn(cJSON *object, const char *key, const struct told *told);

struct field {
    const char *key;
    enum field_is is;
    size_t at;
    put_fn *put; /* of ITS_OWN */
    unsigned forms;
};

/* ---------------------------------------------------------------------- fields of more values */

static void put_predicted(cJSON *object, const char *key, const struct told *told) {
    (void)key;
    tune_predicted_put(object, told->attempt);
}

static void put_source(cJSON *object, const char *key, const struct told *told) {
    tune_json_put_text(object, key, tune_source(told->state, told->attempt));
}

static void put_plan(cJSON *object, const char *key, const struct told *told) {
    cJSON_AddItemToObject(object, key, tune_plan_write(&told->attempt->plan));
}

static void put_verdict(cJSON *object, const char *key, const struct told *told) {
    const struct tune_verdict *verdict = &told->attempt->verdict;
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

static void put_interval(cJSON *object, const char *key, const struct told *told) {
    cJSON *interval = cJSON_AddObjectToObject(object, key);
    tune_json_put_number(interval, "ratio", told->attempt->interval.ratio);
    tune_json_put_number(interval, "low", told->attempt->interval.low);
    tune_json_put_number(interval, "high", told->attempt->interval.high);
    tune_json_put_number(interval, "seen", told->attempt->interval.seen);
}

static void put_seeds(cJSON *object, const char *key, const struct told *told) {
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (size_t i = 0; i < told->attempt->seeds.len; i++) {
        cJSON *seed = cJSON_CreateObject();
        cJSON_AddNumberToObject(seed, "seed", (double)told->attempt->seeds.at[i].seed);
        tune_json_put_number(seed, "rel_l2", told->attempt->seeds.at[i].rel_l2);
        tune_json_put_text(seed, "passed", tune_answer_word(told->attempt->seeds.at[i].passed));
        cJSON_AddItemToArray(list, seed);
    }
}

static void put_times(cJSON *object, const char *key, const double *us, size_t count) {
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber(us[i]));
}

static void put_samples(cJSON *object, const char *key, const struct told *told) {
    put_times(object, key, told->attempt->samples.at, told->attempt->samples.len);
}

static void put_parent_samples(cJSON *object, const char *key, const struct told *told) {
    put_times(object, key, told->attempt->parent_samples.at, told->attempt->parent_samples.len);
}

static void put_metrics(cJSON *object, const char *key, const struct told *told) {
    cJSON *metrics = cJSON_AddObjectToObject(object, key);
    for (size_t i = 0; i < told->attempt->metrics.len; i++) {
        struct tune_metric metric = tune_metric_at(told->attempt, i);
        tune_json_put_number(metrics, metric.name, metric.value);
    }
}

static void put_units(cJSON *object, const char *key, const struct told *told) {
    cJSON *units = cJSON_AddObjectToObject(object, key);
    for (size_t i = 0; i < told->attempt->metrics.len; i++) {
        struct tune_metric metric = tune_metric_at(told->attempt, i);
        tune_json_put_text(units, metric.name, metric.unit);
    }
}

static void put_part(cJSON *list, enum tune_part part, const void *structure) {
    struct buf text = {0};
    tune_part_write(part, structure, &text);
    cJSON_AddItemToArray(list, cJSON_CreateRaw(text.at));
    buf_free(&text);
}

static void put_lines(cJSON *object, const char *key, const struct told *told) {
    cJSON *list = cJSON_AddArrayToObject(object, key);
    struct tune_lines lines = tune_lines(told->state, told->attempt);
    for (size_t i = 0; i < lines.len; i++)
        put_part(list, TUNE_PART_LINE, &lines.at[i]);
}

static void put_bounds(cJSON *object, const char *key, const struct told *told) {
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (size_t i = 0; i < told->attempt->bounds.len; i++)
        put_part(list, TUNE_PART_BOUND, &told->attempt->bounds.at[i]);
}

static void put_causes(cJSON *object, const char *key, const struct told *told) {
    const char *causes = tune_causes(told->state, told->attempt);
    if (causes)
        tune_json_put_text(object, key, causes);
}

/* Whether its time is modelled, or its floor is. */
static void put_floor_modelled(cJSON *object, const char *key, const struct told *told) {
    tune_json_put_bool(object, key, told->attempt->floor_modelled || told->attempt->modelled);
}

static void put_title(cJSON *object, const char *key, const struct told *told) {
    tune_json_put_text(object, key, told->attempt->plan.title ? told->attempt->plan.title : "");
}

/* The path in the session's folder, or with that folder before it. */
static void put_kernel(cJSON *object, const char *key, const struct told *told) {
    const char *path = told->attempt->path;
    if (!told->folder) {
        tune_json_put_text(object, key, path);
        return;
    }
    char *whole = path_join(told->folder, path ? path : "");
    cJSON_AddStringToObject(object, key, whole);
    free(whole);
}

/* It is correct when every seed of the session passed. */
static void put_correct(cJSON *object, const char *key, const struct told *told) {
    const struct tune_attempt *attempt = told->attempt;
    bool whole = attempt->seeds.len >= told->state->seeds.len;
    if (attempt->verdict.correct == TUNE_ANSWER_NO ||
        (attempt->verdict.correct == TUNE_ANSWER_YES && whole))
        tune_json_put_bool(object, key, attempt->verdict.correct == TUNE_ANSWER_YES);
    else
        cJSON_AddNullToObject(object, key);
}

/* ------------------------------------------------ fields as NKI agents have them in a row */

/* The word of NKI agents for how an attempt ended. */
static const char *row_status(const struct tune_attempt *attempt) {
    if (attempt->id == 0)
        return "baseline";
    if (attempt->verdict.compiles != TUNE_ANSWER_YES)
        return "compile_fail";
    if (attempt->verdict.correct == TUNE_ANSWER_NO || attempt->verdict.credible == TUNE_ANSWER_NO)
        return "correctness_fail";
    if (attempt->status == TUNE_STATUS_KEEP)
        return "improved";
    if (attempt->status == TUNE_STATUS_REJECTED)
        return "rejected";
    if (attempt->reason && str_starts(str_of(attempt->reason), "divergence guard"))
        return "divergence_revert";
    return "no_improvement";
}

static void put_row_status(cJSON *object, const char *key, const struct told *told) {
    tune_json_put_text(object, key, row_status(told->attempt));
}

/* Only where a person left something of it out. */
static void put_part_tried(cJSON *object, const char *key, const struct told *told) {
    const struct tune_attempt *attempt = told->attempt;
    if (attempt->left_out)
        tune_json_put_number(object, key,
                             str_is(str_of(key), "hunks") ? attempt->hunks : attempt->left_out);
}

static void put_ms(cJSON *object, const char *key, const struct told *told) {
    bool floor = str_is(str_of(key), "floor_ms");
    tune_json_put_number(object, key,
                         (floor ? told->attempt->floor_us : told->attempt->latency_us) / 1000);
}

static void put_score(cJSON *object, const char *key, const struct told *told) {
    const struct tune_attempt *attempt = told->attempt, *seed = &told->state->attempts.at[0];
    bool correct =
        attempt->verdict.correct != TUNE_ANSWER_NO && attempt->verdict.compiles == TUNE_ANSWER_YES;
    tune_json_put_number(object, key, correct ? seed->latency_us / attempt->latency_us : 0);
}

static void put_error(cJSON *object, const char *key, const struct told *told) {
    const struct tune_attempt *attempt = told->attempt;
    bool failed = attempt->status == TUNE_STATUS_FAILED || attempt->status == TUNE_STATUS_SUSPECT;
    tune_json_put_text(object, key, failed && attempt->reason ? attempt->reason : "");
}

/* ----------------------------------------------------------------------------------- the table */

#define AT(member) offsetof(struct tune_attempt, member)
#define OWN(put) ITS_OWN, 0, put
static const struct field fields[] = {
    {"attempt", INT, AT(id), NULL, BUNDLE | ROW | END},
    {"parent", INT, AT(parent), NULL, BUNDLE | ROW},
    {"round", INT, AT(round), NULL, BUNDLE | ROW},
    {"author", TEXT, AT(author), NULL, BUNDLE},
    {"started_ms", LONG, AT(started_ms), NULL, INSIDE},
    {"ended_ms", LONG, AT(ended_ms), NULL, INSIDE},
    {"source", OWN(put_source), INSIDE},
    {"path", TEXT, AT(path), NULL, INSIDE},
    {"hash", HASH, AT(hash), NULL, INSIDE},
    {"outdated", FLAG, AT(outdated), NULL, INSIDE},
    {"repairs", INT, AT(repairs), NULL, INSIDE},
    {"left_out", OWN(put_part_tried), BUNDLE | ROW},
    {"hunks", OWN(put_part_tried), BUNDLE | ROW},
    {"evaluated", INT, AT(evaluated), NULL, INSIDE},
    {"occasion", INT, AT(occasion), NULL, INSIDE},
    {"heard", LONG, AT(heard), NULL, INSIDE},
    {"decision", STATUS, AT(status), NULL, BUNDLE | ROW},
    {"precision", PRECISION, 0, NULL, BUNDLE | ROW | END},
    {"reason", TEXT, AT(reason), NULL, BUNDLE},
    {"latency_us", NUMBER, AT(latency_us), NULL, BUNDLE | END},
    {"low_us", NUMBER, AT(low_us), NULL, INSIDE},
    {"high_us", NUMBER, AT(high_us), NULL, INSIDE},
    {"floor_us", NUMBER, AT(floor_us), NULL, BUNDLE | END},
    {"floor_split_us", NUMBER, AT(floor_split_us), NULL, INSIDE},
    {"floor_any_us", NUMBER, AT(floor_any_us), NULL, INSIDE},
    {"floor_modelled", FLAG, AT(floor_modelled), NULL, INSIDE},
    {"modelled_us", NUMBER, AT(modelled_us), NULL, INSIDE},
    {"speedup", NUMBER, AT(speedup), NULL, BUNDLE | END},
    {"vs_parent", NUMBER, AT(vs_parent), NULL, BUNDLE},
    {"interval", OWN(put_interval), INSIDE},
    {"confirmed", FLAG, AT(confirmed), NULL, INSIDE},
    {"modelled", FLAG, AT(modelled), NULL, BUNDLE | ROW | END},
    {"lnc", INT, AT(lnc), NULL, INSIDE},
    {"wall", TEXT, AT(wall), NULL, INSIDE},
    {"instructions", LONG, AT(instructions), NULL, INSIDE},
    {"predicted_us", OWN(put_predicted), BUNDLE | ROW | END},
    {"bound_by", TEXT, AT(bound_by), NULL, BUNDLE},
    {"plan", OWN(put_plan), BUNDLE},
    {"verdict", OWN(put_verdict), BUNDLE},
    {"seeds", OWN(put_seeds), BUNDLE},
    {"samples_us", OWN(put_samples), BUNDLE},
    {"parent_samples_us", OWN(put_parent_samples), BUNDLE},
    {"profile_modelled", FLAG, AT(profile_modelled), NULL, INSIDE},
    {"timeline", TEXT, AT(timeline), NULL, INSIDE},
    {"metrics", OWN(put_metrics), BUNDLE},
    {"units", OWN(put_units), INSIDE},
    {"lines", OWN(put_lines), BUNDLE},
    {"bounds", OWN(put_bounds), INSIDE},
    {"causes", OWN(put_causes), BUNDLE},
    {"status", OWN(put_row_status), ROW},
    {"latency_ms", OWN(put_ms), ROW},
    {"score", OWN(put_score), ROW},
    {"plan", OWN(put_title), ROW},
    {"error", OWN(put_error), ROW},
    {"profile", OWN(put_metrics), ROW},
    {"floor_ms", OWN(put_ms), ROW},
    {"kernel", OWN(put_kernel), ROW | END},
    {"floor_modelled", OWN(put_floor_modelled), END},
    {"correct", OWN(put_correct), END},
    {"status", STATUS, 0, NULL, SWEEP},
};

/* The order of keys in the forms that have an order of their own. */
static const char *const row_keys[] = {
    "round",    "status",       "latency_ms", "score",    "plan",   "error",
    "profile",  "attempt",      "parent",     "decision", "kernel", "floor_ms",
    "modelled", "predicted_us", "precision",  "left_out", "hunks",  NULL,
};
static const char *const end_keys[] = {
    "attempt",      "kernel",  "latency_us", "floor_us", "floor_modelled", "speedup", "modelled",
    "predicted_us", "correct", "precision",  NULL,
};
static const char *const sweep_keys[] = {
    "status",  "attempt",  "latency_us",   "kernel",  "floor_us",  "floor_modelled",
    "speedup", "modelled", "predicted_us", "correct", "precision", NULL,
};
static const char *const *const orders[TUNE_ATTEMPT_FORMS] = {
    [TUNE_ATTEMPT_ROW] = row_keys,
    [TUNE_ATTEMPT_END] = end_keys,
    [TUNE_ATTEMPT_SWEEP] = sweep_keys,
};

static void put(cJSON *object, const struct field *field, const struct told *told) {
    const void *at = (const char *)told->attempt + field->at;
    const char *key = field->key;
    switch (field->is) {
    case INT: tune_json_put_number(object, key, *(const int *)at); break;
    case LONG: tune_json_put_number(object, key, (double)*(const int64_t *)at); break;
    case NUMBER: tune_json_put_number(object, key, *(const double *)at); break;
    case TEXT: tune_json_put_text(object, key, *(const char *const *)at); break;
    case HASH: tune_json_put_text(object, key, at); break;
    case FLAG: tune_json_put_bool(object, key, *(const bool *)at); break;
    case STATUS: tune_json_put_text(object, key, tune_status_word(told->attempt->status)); break;
    case PRECISION:
        tune_json_put_text(object, key, tune_precision_word(told->attempt->precision));
        break;
    case ITS_OWN: field->put(object, key, told); break;
    }
}

/* The fields of a form that have this key; NULL: any key. */
static void put_all(cJSON *object, enum tune_attempt_form form, const char *key,
                    const struct told *told) {
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if ((fields[i].forms >> form & 1) && (!key || str_is(str_of(key), fields[i].key)))
            put(object, &fields[i], told);
}

static void put_form(cJSON *object, enum tune_attempt_form form, const struct told *told) {
    const char *const *key = orders[form];
    if (!key)
        put_all(object, form, NULL, told);
    for (; key && *key; key++)
        put_all(object, form, *key, told);
}

cJSON *tune_attempt_write(const struct tune_state *state, const struct tune_attempt *attempt,
                          enum tune_attempt_form form, const char *folder) {
    const struct told told = {state, attempt, folder};
    cJSON *object = cJSON_CreateObject();
    put_form(object, form, &told);
    return object;
}

cJSON *tune_sweep_write(const struct tune_state *state, const struct tune_sweep *sweep,
                        size_t index, const char *folder) {
    const struct told told = {state, tune_sweep_attempt(state, sweep, index), folder};
    struct buf title = {0};
    cJSON *object = cJSON_CreateObject();
    tune_sweep_title(sweep, index, &title);
    tune_json_put_text(object, "values", title.at);
    if (told.attempt) {
        put_form(object, TUNE_ATTEMPT_SWEEP, &told);
    } else {
        tune_json_put_text(object, "status", "not tried");
        cJSON_AddNullToObject(object, "attempt");
        cJSON_AddNullToObject(object, "latency_us");
    }
    tune_json_put_number(object, "ratio", tune_sweep_ratio(state, sweep, told.attempt));
    buf_free(&title);
    return object;
}
