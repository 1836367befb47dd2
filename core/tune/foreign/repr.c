/* SPDX-License-Identifier: Apache-2.0 */
/* Autocomp's candidates: the text that Python's repr makes of an object, CodeCandidate(parent=...,
 * plan='''...''', ...), with all its ancestors inside. It is parsed, never evaluated. In the
 * triple quotes only the quote was escaped, in older files not even that; every other backslash is
 * the kernel's own. The survivors of an iteration are in candidates-iter-N; what was evaluated,
 * failures too, is in eval-results-iter-N, with its result in a file beside it. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/foreign/foreign.h"
#include "tune/state/state.h"

#define MAX_DEPTH 64

struct repr {
    const struct foreign_place *place;
    const char *start, *at, *end;
    int depth;
    const char *wrong; /* what was wrong first */
};

struct repr_candidate {
    struct repr_candidate *parent;
    const char *plan, *code, *output, *errors;
    double score;
};

static struct arena *arena_of(const struct repr *repr) {
    return repr->place->out->arena;
}

static bool wrong(struct repr *repr, const char *what) {
    if (!repr->wrong)
        repr->wrong = what;
    return false;
}

static void skip_blanks(struct repr *repr) {
    while (repr->at < repr->end && isspace((unsigned char)*repr->at))
        repr->at++;
}

static bool take(struct repr *repr, char c) {
    skip_blanks(repr);
    if (repr->at >= repr->end || *repr->at != c)
        return false;
    repr->at++;
    return true;
}

static struct str take_word(struct repr *repr) {
    skip_blanks(repr);
    const char *from = repr->at;
    while (repr->at < repr->end && (isalnum((unsigned char)*repr->at) || *repr->at == '_'))
        repr->at++;
    return (struct str){from, (size_t)(repr->at - from)};
}

/* ------------------------------------------------------------------------------------- strings */

static bool at_quotes(const struct repr *repr, char quote, int count) {
    if (repr->end - repr->at < count)
        return false;
    for (int i = 0; i < count; i++)
        if (repr->at[i] != quote)
            return false;
    return true;
}

/* What stands for a character after the backslash; the byte itself where it is none of these. */
static char escaped(char c) {
    static const char from[] = "ntr0", to[] = "\n\t\r ";
    const char *found = c ? strchr(from, c) : NULL;
    return found ? to[found - from] : c;
}

static bool is_string(const struct repr *repr) {
    return repr->at < repr->end && (*repr->at == '\'' || *repr->at == '"');
}

/* Whether the string ends here. Three quotes end it only when the next field follows, because a
 * kernel may have such quotes itself. */
static bool at_end(const struct repr *repr, char quote, int quotes) {
    if (!at_quotes(repr, quote, quotes))
        return false;
    const char *next = repr->at + quotes;
    return quotes == 1 || next >= repr->end || *next == ')' ||
           (*next == ',' && (next + 1 >= repr->end || isspace((unsigned char)next[1])));
}

static const char *take_string(struct repr *repr) {
    char quote = *repr->at;
    int quotes = at_quotes(repr, quote, 3) ? 3 : 1;
    struct buf text = {0};
    repr->at += quotes;
    while (repr->at < repr->end && !at_end(repr, quote, quotes)) {
        char c = *repr->at++;
        if (c == '\\' && repr->at < repr->end && (quotes == 1 || *repr->at == quote))
            c = quotes == 1 ? escaped(*repr->at++) : *repr->at++;
        buf_putc(&text, c ? c : ' ');
    }
    bool closed = repr->at < repr->end;
    if (closed)
        repr->at += quotes;
    else
        wrong(repr, "a string does not end");
    const char *kept = arena_strndup(arena_of(repr), text.at ? text.at : "", text.len);
    buf_free(&text);
    return kept;
}

/* -------------------------------------------------------------------------------------- values */

/* A number or a word (None, True, inf, nan); NAN for what is no number. */
static double take_number(struct repr *repr) {
    skip_blanks(repr);
    const char *from = repr->at;
    while (repr->at < repr->end && (isalnum((unsigned char)*repr->at) || strchr("+-._", *repr->at)))
        repr->at++;
    double value = NAN;
    struct str text = {from, (size_t)(repr->at - from)};
    if (!text.len)
        wrong(repr, "a value is missing");
    return str_to_double(text, &value) && isfinite(value) ? value : (double)NAN;
}

static void skip_value(struct repr *repr);

static void skip_list(struct repr *repr, char close) {
    repr->at++;
    while (!repr->wrong && !take(repr, close)) {
        skip_value(repr);
        if (!take(repr, ',') && !take(repr, ':') && !take(repr, close))
            wrong(repr, "a list does not end");
        else if (repr->at[-1] == close)
            return;
    }
}

static void skip_value(struct repr *repr) {
    static const char open[] = "[({", close[] = "])}";
    skip_blanks(repr);
    const char *found = repr->at < repr->end && *repr->at ? strchr(open, *repr->at) : NULL;
    if (++repr->depth > MAX_DEPTH)
        wrong(repr, "it is nested too deeply");
    else if (is_string(repr))
        take_string(repr);
    else if (found)
        skip_list(repr, close[found - open]);
    else
        take_number(repr);
    repr->depth--;
}

static struct repr_candidate *take_candidate(struct repr *repr);

static void take_field(struct repr *repr, struct str name, struct repr_candidate *to) {
    const struct {
        const char *name;
        const char **text;
    } texts[] = {
        {"plan", &to->plan}, {"code", &to->code}, {"stdout", &to->output}, {"stderr", &to->errors}};
    skip_blanks(repr);
    if (str_is(name, "parent") && repr->at < repr->end && *repr->at == 'C') {
        to->parent = take_candidate(repr);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(texts) && is_string(repr); i++)
        if (str_is(name, texts[i].name)) {
            *texts[i].text = take_string(repr);
            return;
        }
    if (str_is(name, "score"))
        to->score = take_number(repr);
    else
        skip_value(repr);
}

static struct repr_candidate *take_candidate(struct repr *repr) {
    struct repr_candidate *to = ARENA_NEW(arena_of(repr), struct repr_candidate);
    to->score = NAN;
    if (++repr->depth > MAX_DEPTH || !str_is(take_word(repr), "CodeCandidate") || !take(repr, '('))
        wrong(repr,
              repr->depth > MAX_DEPTH ? "it has too many ancestors" : "there is no CodeCandidate");
    while (!repr->wrong && !take(repr, ')')) {
        struct str name = take_word(repr);
        if (!name.len || !take(repr, '='))
            wrong(repr, "a name with = is missing");
        else
            take_field(repr, name, to);
        if (!repr->wrong && !take(repr, ',') && (repr->at >= repr->end || *repr->at != ')'))
            wrong(repr, "a comma or the closing parenthesis is missing");
    }
    repr->depth--;
    return to;
}

/* ---------------------------------------------------------------------------------- what it is */

/* "candidates-iter-7" or "eval-results-iter-7" in the path. */
static int iteration_of(const char *path) {
    const char *at = strstr(path, "-iter-");
    long value = at ? strtol(at + strlen("-iter-"), NULL, 10) : -1;
    return value >= 0 && value < 100000 ? (int)value : -1;
}

/* A score is a latency; its unit is known where the program said it: "Latency: 2.327 ms (P99)". */
static double latency_of(const struct repr_candidate *candidate) {
    const char *at = candidate->output ? strstr(candidate->output, "Latency:") : NULL;
    struct str rest = str_of(at ? at + strlen("Latency:") : ""), number = {0};
    rest = str_trim(rest);
    double value = NAN;
    if (!str_next(&rest, ' ', &number) || !str_to_double(number, &value))
        return NAN;
    static const struct {
        const char *unit;
        double us;
    } units[] = {{"ms", 1000}, {"us", 1}, {"ns", 1e-3}, {"s", 1e6}};
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (str_starts(rest, units[i].unit))
            return value > 0 ? value * units[i].us : (double)NAN;
    return NAN;
}

/* code_3_result_full.txt has the candidate as it was sent; how it went is in code_3_result.txt. */
static void result_read(const struct foreign_place *place, struct repr_candidate *candidate) {
    struct str base = str_of(path_base(place->path));
    const char *tail = "_full.txt";
    if (!str_ends(base, tail))
        return;
    char *name =
        arena_printf(place->out->arena, STR_FMT ".txt", (int)(base.len - strlen(tail)), base.at);
    char *text = foreign_beside(place, name);
    cJSON *result = text ? foreign_parse(place, str_of(text)) : NULL;
    if (result) {
        candidate->score = foreign_number(result, "latency");
        candidate->output = foreign_keep(place->out, tune_json_text(result, "stdout"), 4000);
        candidate->errors = foreign_keep(place->out, tune_json_text(result, "stderr"), 64000);
        if (cJSON_IsFalse(tune_json_at(result, "correct")))
            candidate->score = NAN;
    }
    cJSON_Delete(result);
    free(text);
}

static void tell(const struct foreign_place *place, const struct repr_candidate *candidate) {
    const struct repr_candidate *parent = candidate->parent;
    double speedup = NAN;
    if (parent && candidate->score > 0)
        speedup = parent->score / candidate->score;
    bool failed = isnan(candidate->score);
    int iteration = iteration_of(place->path);
    char name[64];
    struct buf title = {0};
    if (foreign_again(place->out, candidate->plan, candidate->code))
        return; /* a survivor is in every later iteration, too */
    snprintf(name, sizeof name, "%d/%.40s", MAX_OF(iteration, 0), path_base(place->path));
    foreign_title(candidate->plan, &title);
    const char *why = failed ? foreign_last_line(place->out, candidate->errors) : NULL;
    struct tune_import row = {.name = name,
                              .status = failed   ? "no score"
                                        : parent ? "scored"
                                                 : "baseline",
                              .title = title.at,
                              .reason = why,
                              .is = failed           ? TUNE_STATUS_FAILED
                                    : !(speedup < 1) ? TUNE_STATUS_KEEP
                                                     : TUNE_STATUS_REVERT,
                              .round = iteration,
                              .latency_us = latency_of(candidate),
                              .speedup = speedup};
    struct foreign_about about = {.family = foreign_family(place->out, NULL, candidate->code),
                                  .dialect = foreign_dialect(candidate->code),
                                  .kernel = candidate->code,
                                  .tried = candidate->plan != NULL};
    foreign_attempt(place, "Autocomp", row, &about);
    struct foreign_pair pair = {.agent = "Autocomp",
                                .title = title.at,
                                .what = candidate->plan,
                                .before = parent ? parent->code : NULL,
                                .after = candidate->code,
                                .speedup = speedup};
    if (parent && candidate->plan)
        foreign_pair(place, &pair);
    buf_free(&title);
}

/* The object begins the file or, after what the evaluation said, a line. */
static const char *object_find(struct str text) {
    struct str rest = text, line;
    while (str_next(&rest, '\n', &line))
        if (str_starts(line, "CodeCandidate("))
            return line.at;
    return text.at;
}

void foreign_read_repr(const struct foreign_place *place, struct str text) {
    const char *start = object_find(text);
    struct repr repr = {.place = place, .start = start, .at = start, .end = text.at + text.len};
    struct repr_candidate *candidate = take_candidate(&repr);
    if (!repr.wrong) {
        result_read(place, candidate);
        tell(place, candidate);
        return;
    }
    struct foreign_place at = *place;
    for (const char *c = text.at; c < repr.at; c++)
        at.line += *c == '\n';
    foreign_complain(&at, "%s; the candidate was skipped", repr.wrong);
}
