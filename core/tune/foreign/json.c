/* SPDX-License-Identifier: Apache-2.0 */
/* Other agents' memories in JSON, and what all readers of JSON need. Python writes Infinity and
 * NaN, which JSON does not have; they are read as unknown. A damaged file is lost alone. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "tune/foreign/foreign.h"
#include "tune/state/state.h"

/* ---------------------------------------------------------------------------- tolerant parsing */

/* Length of the bare word Infinity, -Infinity or NaN at the front. */
static size_t odd_number(struct str text) {
    static const char *const words[] = {"Infinity", "-Infinity", "NaN"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (str_starts(text, words[i]))
            return strlen(words[i]);
    return 0;
}

/* The text with null in place of what is no number. Strings are left alone, and lines stay where
 * they are. */
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
                         ? 0
                         : odd_number((struct str){text.at + i, text.len - i});
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

cJSON *foreign_parse(const struct foreign_place *place, struct str text) {
    struct buf clean = {0};
    buf_puts(&clean, "");
    without_odd_numbers(text, &clean);
    const char *end = clean.at;
    cJSON *root = cJSON_ParseWithLengthOpts(clean.at, clean.len, &end, false);
    if (!root) {
        struct foreign_place at = *place;
        at.line += end ? lines_before(clean.at, end) : 0;
        foreign_complain(&at, "this is not JSON and was skipped");
    }
    buf_free(&clean);
    return root;
}

double foreign_number(const cJSON *object, const char *key) {
    const cJSON *item = tune_json_at(object, key);
    double value = NAN;
    if (cJSON_IsNumber(item))
        value = item->valuedouble;
    else if (cJSON_IsString(item) && !str_to_double(str_trim(str_of(item->valuestring)), &value))
        value = NAN;
    return isfinite(value) ? value : (double)NAN;
}

const char *foreign_first(const cJSON *object, const char *const keys[]) {
    for (; *keys; keys++)
        if (tune_json_text(object, *keys))
            return tune_json_text(object, *keys);
    return NULL;
}
double foreign_us(double ms) {
    return ms > 0 ? ms * 1000 : (double)NAN;
}

/* ------------------------------------------------------------------------------- experiences */

static void applies_read(const cJSON *item, struct tune_experience *to) {
    const cJSON *applies = tune_json_at(item, "applies_to");
    to->applies_to =
        cJSON_IsString(applies) ? applies->valuestring : tune_json_text(applies, "text");
    to->family = tune_json_text(applies, "family");
    to->generation = tune_json_text(applies, "generation");
    to->dialect = tune_json_text(applies, "dialect");
}

/* "**No optimization found**", with or without the stars. */
static bool is_nothing(const char *title) {
    return title && strstr(title, "No optimization found");
}

/* What follows the title where the first line of the summary repeats it. */
static const char *without_title(const char *summary, const char *title) {
    struct str rest = str_of(summary ? summary : ""), line;
    struct buf first = {0};
    if (!title || !str_next(&rest, '\n', &line) || !str_trim(rest).len)
        return summary;
    char *alone = mem_alloc(line.len + 1, 1);
    memcpy(alone, line.at, line.len);
    foreign_title(alone, &first);
    bool same = str_is(buf_str(&first), title);
    free(alone);
    buf_free(&first);
    return same ? rest.at : summary;
}

/* Puts title and summary right. The title of nki-kernel-agent is the first fifty bytes of the
 * summary, AccelOpt's has the stars of Markdown, and both have code at the end of the summary. */
static void texts_read(const struct foreign_place *place, const cJSON *item,
                       struct tune_experience *to) {
    struct buf title = {0};
    const char *told = tune_json_text(item, "title"), *summary = tune_json_text(item, "summary");
    bool cut = told && summary && str_starts(str_of(summary), told);
    to->summary = summary;
    foreign_snippets(place->out, summary, to);
    foreign_title(told && *told && !cut ? told : summary ? to->summary : told, &title);
    to->title = foreign_keep(place->out, title.at, title.len);
    to->summary = without_title(to->summary, to->title);
    buf_free(&title);
}

/* Where that session had it from. */
static const char *evidence_there(const struct foreign_place *place, const cJSON *item) {
    const char *source = tune_json_text(item, "source");
    const cJSON *pair = tune_json_at(item, "evidence");
    if (source)
        return arena_printf(place->out->arena, "which has it from %.150s", source);
    if (cJSON_GetArraySize(pair) != 2)
        return NULL;
    return arena_printf(place->out->arena, "attempt %.0f against %.0f there",
                        cJSON_GetNumberValue(cJSON_GetArrayItem(pair, 1)),
                        cJSON_GetNumberValue(cJSON_GetArrayItem(pair, 0)));
}

static void experience(const struct foreign_place *place, const cJSON *item) {
    const char *service = FOREIGN_TEXT(item, "service_name", "problem");
    const char *slow = tune_json_text(item, "slow_kernel");
    const char *fast = tune_json_text(item, "fast_kernel");
    bool hone = tune_json_at(item, "applies_to") != NULL;
    struct tune_experience to = {.title = tune_json_text(item, "title"),
                                 .summary = tune_json_text(item, "summary"),
                                 .speedup = foreign_number(item, "speedup"),
                                 .closed = tune_json_bool(item, "closed")};
    double original = foreign_number(item, "speedup_original");
    if (!to.title && !to.summary) {
        foreign_complain(place, "the experience has neither title nor summary");
        return;
    }
    const char *status = tune_json_text(item, "status");
    if (is_nothing(to.title) || (hone && status && !strcmp(status, "expired")))
        return; /* what that session believes no longer */
    if (!hone)
        texts_read(place, item, &to);
    to.slow = to.slow ? to.slow : slow;
    to.fast = to.fast ? to.fast : fast;
    applies_read(item, &to);
    if (!hone)
        to.dialect = foreign_dialect(fast ? fast : to.fast);
    if (!hone)
        to.family = foreign_family(place->out, service, fast);
    if (!to.applies_to)
        to.applies_to = service;
    if (hone)
        to.evidence = evidence_there(place, item);
    if (!isnan(original) && original < 1) /* a loss, told as the way back */
        to.speedup = original;
    foreign_experience(place, hone ? "hone" : service ? "AccelOpt" : "nki-kernel-agent", to);
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

/* Moves to the next element of the list of `lines`: past one value and its comma. */
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
            foreign_complain(&at, "this element is not an experience");
    }
}

void foreign_read_json(const struct foreign_place *place, struct str text) {
    cJSON *root = foreign_parse(place, text);
    const cJSON *results = tune_json_at(root, "executor_results");
    if (cJSON_IsArray(results))
        foreign_read_accelopt(place, results, text);
    else if (cJSON_IsArray(root))
        experiences(place, root, text);
    else if (root)
        foreign_complain(place, "there is no list of experiences and no executor_results in it");
    cJSON_Delete(root);
}
