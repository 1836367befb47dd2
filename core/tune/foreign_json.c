/* SPDX-License-Identifier: Apache-2.0 */
/* Other agents' histories and memories in JSON and JSON Lines. Python writes Infinity and NaN, which
 * are no JSON; they are read as unknown. A damaged line costs that line, a damaged file that file. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/foreign.h"
#include "tune/json.h"
#include "tune/memory.h"

#define MAX_LINE ((size_t)4 << 20)

/* ---------------------------------------------------------------------------- tolerant parsing */

/* Length of the bare word Infinity, -Infinity or NaN at the front. */
static size_t odd_number(struct str text) {
    static const char *const words[] = {"Infinity", "-Infinity", "NaN"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (str_starts(text, words[i]))
            return strlen(words[i]);
    return 0;
}

/* The text with what is no number put as null; strings are left alone, lines stay where they are. */
static void without_odd_numbers(struct str text, struct buf *out) {
    bool quoted = false;
    size_t from = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        size_t odd = quoted || (c != 'I' && c != '-' && c != 'N')
                         ? 0 : odd_number((struct str){text.at + i, text.len - i});
        if (!odd)
            continue;
        buf_add(out, text.at + from, i - from);
        buf_puts(out, "null");
        i += odd - 1;
        from = i + 1;
    }
    buf_add(out, text.at + from, text.len - from);
}

static int lines_before(const char *text, const char *end) {
    int count = 0;
    for (; text < end; text++)
        count += *text == '\n';
    return count;
}

static cJSON *parse(const struct foreign_place *place, struct str text) {
    struct buf clean = {0};
    buf_puts(&clean, "");
    without_odd_numbers(text, &clean);
    const char *end = clean.at;
    cJSON *root = cJSON_ParseWithLengthOpts(clean.at, clean.len, &end, false);
    if (!root) {
        struct foreign_place at = *place;
        at.line += end ? lines_before(clean.at, end) : 0;
        foreign_complain(&at, "this is no JSON and was skipped");
    }
    buf_free(&clean);
    return root;
}

/* A number, also one that was written as text. */
static double number(const cJSON *object, const char *key) {
    const cJSON *item = tune_json_at(object, key);
    double value = NAN;
    if (cJSON_IsNumber(item))
        value = item->valuedouble;
    else if (cJSON_IsString(item) && !str_to_double(str_trim(str_of(item->valuestring)), &value))
        value = NAN;
    return isfinite(value) ? value : (double)NAN;
}

/* The first of several names that is there. */
static const char *text_of(const cJSON *object, const char *const keys[]) {
    for (; *keys; keys++)
        if (tune_json_text(object, *keys))
            return tune_json_text(object, *keys);
    return NULL;
}
#define TEXT(object, ...) text_of((object), (const char *const[]){__VA_ARGS__, NULL})

static double us_of_ms(double ms) {
    return ms > 0 ? ms * 1000 : (double)NAN;
}

/* ------------------------------------------------------------------------------- experiences */

static void applies_read(const cJSON *item, struct tune_experience *to) {
    const cJSON *applies = tune_json_at(item, "applies_to");
    to->applies_to = cJSON_IsString(applies) ? applies->valuestring
                                             : tune_json_text(applies, "text");
    to->family = tune_json_text(applies, "family");
    to->generation = tune_json_text(applies, "generation");
    to->dialect = tune_json_text(applies, "dialect");
}

static void experience(const struct foreign_place *place, const cJSON *item) {
    const char *service = TEXT(item, "service_name", "problem");
    bool hone = tune_json_at(item, "applies_to") != NULL;
    struct tune_experience to = {.title = tune_json_text(item, "title"),
                                 .summary = tune_json_text(item, "summary"),
                                 .slow = tune_json_text(item, "slow_kernel"),
                                 .fast = tune_json_text(item, "fast_kernel"),
                                 .speedup = number(item, "speedup")};
    struct buf family = {0};
    double original = number(item, "speedup_original");
    if (!to.title && !to.summary) {
        foreign_complain(place, "the experience has neither title nor summary");
        return;
    }
    if (to.title && str_starts(str_of(to.title), "No optimization found"))
        return;
    applies_read(item, &to);
    tune_memory_family(str_of(service ? service : ""), &family);
    if (!to.family)
        to.family = family.at;
    if (!to.applies_to)
        to.applies_to = service;
    if (!isnan(original) && original < 1)   /* a loss, told as the way back */
        to.speedup = original;
    foreign_experience(place, hone ? "hone" : service ? "AccelOpt" : "nki-kernel-agent", to);
    buf_free(&family);
}

/* Where in the text the reading is: the parsed tree does not know its lines. */
struct lines {
    struct str rest;
    int line;
};

static void advance(struct lines *lines, size_t count) {
    lines->line += lines_before(lines->rest.at, lines->rest.at + count);
    lines->rest.at += count;
    lines->rest.len -= count;
}

/* Moves to the next element of the list that `lines` stands in: past one value and its comma. */
static void next_element(struct lines *lines) {
    int depth = 0;
    bool quoted = false, some = false;
    size_t i = 0;
    for (; i < lines->rest.len; i++) {
        char c = lines->rest.at[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{'))
            depth++;
        else if (!quoted && (c == ']' || c == '}'))
            depth--;
        else if (!quoted && !depth && some && c == ',')
            break;
        some = true;
    }
    advance(lines, MIN_OF(i + 1, lines->rest.len));
}

static void skip_blanks(struct lines *lines) {
    size_t count = 0;
    while (count < lines->rest.len && isspace((unsigned char)lines->rest.at[count]))
        count++;
    advance(lines, count);
}

/* Moves to the text, if it comes. */
static void find_next(struct lines *lines, const char *text) {
    const char *found = memmem(lines->rest.at, lines->rest.len, text, strlen(text));
    if (found)
        advance(lines, (size_t)(found - lines->rest.at));
}

static void experiences(const struct foreign_place *place, const cJSON *list, struct str text) {
    struct foreign_place at = *place;
    struct lines lines = {text, place->line};
    const cJSON *item;
    find_next(&lines, "[");
    advance(&lines, MIN_OF(lines.rest.len, 1));
    cJSON_ArrayForEach(item, list) {
        skip_blanks(&lines);
        at.line = lines.line;
        next_element(&lines);
        if (cJSON_IsObject(item))
            experience(&at, item);
        else
            foreign_complain(&at, "this element is no experience");
    }
}

/* -------------------------------------------------------------------------------------- AccelOpt */

static void sample(const struct foreign_place *place, const cJSON *result, const cJSON *item) {
    const char *error = tune_json_text(item, "error");
    const char *task = TEXT(item, "problem");
    double speedup = number(item, "speedup"), latency = number(item, "latency");
    if (!task)
        task = TEXT(result, "service_name", "case_name");
    struct tune_import row = {.name = item->string,
                              .parent = TEXT(result, "case_name", "service_name"),
                              .status = error ? "error" : speedup > 1 ? "faster" : "slower",
                              .title = TEXT(item, "plan", "title"),
                              .reason = error,
                              .is = error ? TUNE_STATUS_FAILED
                                    : speedup > 1 ? TUNE_STATUS_KEEP : TUNE_STATUS_REVERT,
                              .round = -1,
                              .latency_us = us_of_ms(latency),
                              .speedup = speedup};
    foreign_attempt(place, "AccelOpt", row);
    struct foreign_pair pair = {.agent = "AccelOpt",
                                .task = task,
                                .title = row.title,
                                .what = TEXT(item, "plan", "spec_code"),
                                .before = tune_json_text(item, "baseline"),
                                .after = tune_json_text(item, "body"),
                                .speedup = speedup};
    if (!error && pair.what)
        foreign_pair(place, &pair);
}

static void accelopt(const struct foreign_place *place, const cJSON *list, struct str text) {
    struct foreign_place at = *place;
    struct lines lines = {text, place->line};
    const cJSON *result, *item;
    cJSON_ArrayForEach(result, list) {
        cJSON_ArrayForEach(item, result) {
            char name[80];
            if (!item->string || !str_starts(str_of(item->string), "plan_") ||
                !cJSON_IsObject(item))
                continue;
            snprintf(name, sizeof name, "\"%.70s\"", item->string);
            find_next(&lines, name);
            at.line = lines.line;
            sample(&at, result, item);
            advance(&lines, MIN_OF(lines.rest.len, 1));
        }
    }
}

void foreign_read_json(const struct foreign_place *place, struct str text) {
    cJSON *root = parse(place, text);
    const cJSON *results = tune_json_at(root, "executor_results");
    if (cJSON_IsArray(results))
        accelopt(place, results, text);
    else if (cJSON_IsArray(root))
        experiences(place, root, text);
    else if (root)
        foreign_complain(place, "there is no list of experiences and no executor_results in it");
    cJSON_Delete(root);
}

/* ----------------------------------------------------------------------------- one row a line */

static enum tune_status status_of(const char *word) {
    static const struct {
        const char *word;
        enum tune_status is;
    } all[] = {{"improved", TUNE_STATUS_KEEP},         {"baseline", TUNE_STATUS_KEEP},
               {"promoted", TUNE_STATUS_KEEP},         {"keep", TUNE_STATUS_KEEP},
               {"no_improvement", TUNE_STATUS_REVERT}, {"divergence_revert", TUNE_STATUS_REVERT},
               {"closed", TUNE_STATUS_REVERT},         {"regression", TUNE_STATUS_REVERT},
               {"rejected", TUNE_STATUS_REJECTED},     {"compile_fail", TUNE_STATUS_FAILED},
               {"correctness_fail", TUNE_STATUS_FAILED}, {"fail", TUNE_STATUS_FAILED}};
    for (size_t i = 0; word && i < COUNT_OF(all); i++)
        if (!strcasecmp(word, all[i].word))
            return all[i].is;
    return TUNE_STATUS_INCONCLUSIVE;
}

/* A line of experiments.jsonl. */
static void experiment(const struct foreign_place *place, const cJSON *line) {
    const char *status = tune_json_text(line, "status");
    double attempt = number(line, "attempt"), score = number(line, "score");
    char name[32] = "", parent[32] = "";
    bool hone = !isnan(attempt);
    if (hone)
        snprintf(name, sizeof name, "#%.0f", attempt);
    if (hone && number(line, "parent") >= 0)
        snprintf(parent, sizeof parent, "#%.0f", number(line, "parent"));
    struct tune_import row = {.name = name,
                              .parent = parent,
                              .status = status,
                              .title = tune_json_text(line, "plan"),
                              .reason = tune_json_text(line, "error"),
                              .is = status_of(status),
                              .round = tune_json_int(line, "round", -1),
                              .latency_us = us_of_ms(number(line, "latency_ms")),
                              .speedup = score > 0 ? score : (double)NAN};
    foreign_attempt(place, hone ? "hone" : "nki-kernel-agent", row);
}

/* A line of candidates.jsonl: the speedup is over its baseline. */
static void candidate(const struct foreign_place *place, const cJSON *line) {
    const char *verdict = tune_json_text(line, "verdict");
    bool failed = cJSON_IsFalse(tune_json_at(line, "passed"));
    const char *op = tune_json_text(line, "op"), *notes = tune_json_text(line, "notes");
    struct tune_import row = {.name = TEXT(line, "id", "candidate"),
                              .parent = tune_json_text(line, "parent"),
                              .status = verdict ? verdict : failed ? "failed" : "passed",
                              .title = TEXT(line, "structure", "candidate"),
                              .reason = failed ? notes : NULL,
                              .is = failed ? TUNE_STATUS_FAILED : status_of(verdict),
                              .round = -1,
                              .latency_us = us_of_ms(number(line, "latency_ms")),
                              .speedup = number(line, "speedup")};
    foreign_attempt(place, "KDA", row);
    struct foreign_pair pair = {.agent = "KDA", .task = op, .title = row.title,
                                .what = notes ? notes : row.title, .speedup = row.speedup};
    if (!failed)
        foreign_pair(place, &pair);
}

static void row(const struct foreign_place *place, const cJSON *line) {
    if (!cJSON_IsObject(line))
        foreign_complain(place, "this line is no object");
    else if (tune_json_at(line, "verdict") || tune_json_at(line, "passed"))
        candidate(place, line);
    else if (tune_json_text(line, "status"))
        experiment(place, line);
    else if (tune_json_at(line, "summary"))
        experience(place, line);
    else
        foreign_complain(place, "this line has neither status nor verdict");
}

void foreign_read_lines(const struct foreign_place *place, struct str text) {
    struct foreign_place at = *place;
    struct str line;
    for (at.line = 1; str_next(&text, '\n', &line); at.line++) {
        line = str_trim(line);
        if (!line.len)
            continue;
        if (line.len > MAX_LINE) {
            foreign_complain(&at, "the line has %zu bytes and was skipped", line.len);
            continue;
        }
        cJSON *object = parse(&at, line);
        if (object)
            row(&at, object);
        cJSON_Delete(object);
    }
}
