/* SPDX-License-Identifier: Apache-2.0 */
/* Plans out of a model's answer: labelled lines or JSON. It reads words; whether a plan is any good
 * is found out by others. */
#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/answer/answer.h"
#include "tune/ask/ask.h"

#define MAX_ANSWER ((size_t)1 << 20)
#define MAX_TEXT 4000

enum field { TITLE, WHAT, WHY, LINES, METRIC, DIRECTION, SIZE, LATENCY, STRATEGY, SWEEP, FIELDS };

/* How models call the fields. */
static const struct {
    const char *label;
    enum field field;
} labels[] = {
    {"title", TITLE},
    {"plan", TITLE},
    {"name", TITLE},
    {"what", WHAT},
    {"change", WHAT},
    {"description", WHAT},
    {"steps", WHAT},
    {"why", WHY},
    {"reason", WHY},
    {"rationale", WHY},
    {"lines", LINES},
    {"line", LINES},
    {"where", LINES},
    {"metric", METRIC},
    {"predicted metric", METRIC},
    {"direction", DIRECTION},
    {"size", SIZE},
    {"magnitude", SIZE},
    {"change size", SIZE},
    {"latency", LATENCY},
    {"predicted latency", LATENCY},
    {"expected latency", LATENCY},
    {"strategy", STRATEGY},
    {"menu entry", STRATEGY},
    {"sweep", SWEEP},
};

struct draft {
    struct buf text[FIELDS];
};

static void draft_free(struct draft *draft) {
    for (int i = 0; i < FIELDS; i++)
        buf_free(&draft->text[i]);
}

/* ------------------------------------------------------------------------------------- numbers */

static bool same_word(struct str word, const char *other) {
    return word.len == strlen(other) && !strncasecmp(word.at, other, word.len);
}

struct number {
    double value;  /* NAN: there is none */
    char unit[16]; /* "%", "us", "x", the word behind it; "": none */
};

static bool is_unit(char c) {
    return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* The comma of "1,234". */
static bool is_comma_of_thousands(struct str text, size_t at) {
    size_t digits = 0;
    if (text.at[at] != ',' || !at || !isdigit((unsigned char)text.at[at - 1]))
        return false;
    while (at + 1 + digits < text.len && isdigit((unsigned char)text.at[at + 1 + digits]))
        digits++;
    return digits == 3;
}

/* The next number in *text, which moves behind it and its unit. */
static struct number next_number(struct str *text) {
    struct number number = {.value = NAN};
    size_t i = 0;
    while (i < text->len && !isdigit((unsigned char)text->at[i]))
        i++;
    if (i == text->len)
        return number;
    char copy[40], *end;
    bool minus = i && text->at[i - 1] == '-';
    size_t len = 0;
    for (size_t k = i; k < text->len && len + 1 < sizeof copy; k++)
        if (!is_comma_of_thousands(*text, k))
            copy[len++] = text->at[k];
    copy[len] = '\0';
    number.value = minus ? -strtod(copy, &end) : strtod(copy, &end);
    for (size_t used = (size_t)(end - copy); used > 0; i++)
        used -= !is_comma_of_thousands(*text, i);
    while (i < text->len && text->at[i] == ' ')
        i++;
    size_t from = i;
    if (i < text->len && text->at[i] == '%')
        i++;
    else
        while (i < text->len && is_unit(text->at[i]))
            i++;
    struct str unit = {text->at + from, i - from};
    bool percent = same_word(unit, "percent") || same_word(unit, "pct");
    snprintf(number.unit, sizeof number.unit, "%.*s", percent ? 1 : (int)unit.len,
             percent ? "%" : unit.at);
    *text = (struct str){text->at + i, text->len - i};
    return number;
}

/* The first number with that unit; NAN when there is none. */
static double number_with(struct str text, const char *unit) {
    struct number number;
    do
        number = next_number(&text);
    while (!isnan(number.value) && strcmp(number.unit, unit) != 0);
    return number.value;
}

/* A time in microseconds; NAN: it is none. */
static double us_of(const struct number *number) {
    static const struct {
        const char *unit;
        double us;
    } units[] = {{"ns", 1e-3},  {"nsec", 1e-3},  {"nanoseconds", 1e-3},
                 {"us", 1},     {"µs", 1},       {"μs", 1},
                 {"usec", 1},   {"ms", 1e3},     {"microseconds", 1},
                 {"msec", 1e3}, {"s", 1e6},      {"milliseconds", 1e3},
                 {"sec", 1e6},  {"seconds", 1e6}};
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (!strcasecmp(number->unit, units[i].unit))
            return fabs(number->value) * units[i].us;
    return NAN;
}

/* Whether a word begins so: "lower" is in "lowers", not in "slower". */
static bool has_word(struct str text, const char *word) {
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= text.len; i++) {
        bool within = i && isalpha((unsigned char)*word) && isalpha((unsigned char)text.at[i - 1]);
        if (!within && !strncasecmp(text.at + i, word, len))
            return true;
    }
    return false;
}

static bool has_any(struct str text, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (has_word(text, words[i]))
            return true;
    return false;
}

static bool says_down(struct str text) {
    static const char *const words[] = {"down",  "decreas", "lower",  "less",   "reduc",
                                        "fewer", "shrink",  "faster", "shorter"};
    return has_any(text, words, COUNT_OF(words)) || (text.len && *text.at == '-');
}

/* "up", not "speedup", "supported", "up to" or "speed up". */
static bool has_up(struct str text) {
    for (size_t i = 0; i + 2 <= text.len; i++) {
        struct str rest = {text.at + i, text.len - i};
        bool begins = i == 0 || !isalpha((unsigned char)text.at[i - 1]);
        bool ends = rest.len == 2 || !isalpha((unsigned char)rest.at[2]);
        if (begins && ends && !strncasecmp(rest.at, "up", 2) &&
            !(rest.len > 5 && !strncasecmp(rest.at, "up to", 5)))
            return true;
    }
    return false;
}

static bool says_up(struct str text) {
    static const char *const words[] = {"increas", "higher", "more",   "raise",
                                        "grow",    "slower", "longer", "worse"};
    return has_any(text, words, COUNT_OF(words)) || has_up(text) || (text.len && *text.at == '+');
}

/* Of a latency: whether it is to be more than it was. */
static bool says_slower(struct str text) {
    static const char *const better[] = {"speedup", "speed up", "improv", "gain", "save"};
    return says_up(text) && !says_down(text) && !has_any(text, better, COUNT_OF(better));
}

/* Whether it is so much of something: a time, or a number of what is named, "24 transfers", "6 MB".
 * "2 times" and "0.6 of it" are shares. */
static bool is_amount(const struct number *number) {
    static const char *const words[] = {"x", "times", "fold", ""};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (!strcasecmp(number->unit, words[i]))
            return false;
    return !isnan(us_of(number)) || fabs(number->value) > 1.5;
}

/* Whether two numbers are what it was and what it comes to. */
static bool says_pair(struct str text) {
    static const char *const words[] = {"->", " to ", "→", " from "};
    return has_any(text, words, COUNT_OF(words));
}

/* A change as a share of what it was, without its sign: "60 %", "-0.6", "by 0.6", "2x", "from 8 MB
 * to 2 MB". NAN where only an amount is told, "200 us": nobody knows of what here. */
static double share_of(struct str text) {
    struct str rest = text;
    struct number first = next_number(&rest), second = next_number(&rest);
    double percent = fabs(number_with(text, "%")), value = fabs(first.value);
    if (!isnan(percent))
        return percent <= 100000 ? percent / 100 : (double)NAN;
    if (says_pair(text) && !isnan(second.value) && value > 0)
        value = fabs(fabs(second.value) / value - 1);
    else if (isnan(value) || is_amount(&first))
        return NAN;
    else if (has_word(text, "x") && value > 1)
        value = says_up(text) && !says_down(text) ? value - 1 : 1 - 1 / value;
    else if (value > 1.5)
        value /= 100;
    return value <= 1000 ? value : (double)NAN;
}

/* Whether times in the text are what changes, not what it comes to: "-40 us", "saves 40 us". */
static bool says_by(struct str text) {
    static const char *const words[] = {"by ", "save", "less", "fewer", "faster", "slower"};
    return has_any(text, words, COUNT_OF(words)) || (text.len && strchr("+-", *text.at));
}

/* The signed change that is said in times: "1.52 ms -> 1.29 ms", "to 1.29 ms", "-230 us". NAN where
 * a share or no time is said, or nobody knows of what a time is a share. */
static double change_of(struct str text, double latency_us) {
    struct str rest = text;
    double times[2] = {NAN, NAN};
    size_t count = 0, second = 0;
    if (!isnan(number_with(text, "%")) || has_word(text, " per "))
        return NAN;
    for (struct number number; count < 2 && !isnan((number = next_number(&rest)).value);)
        if (!isnan(us_of(&number))) {
            second = count ? (size_t)(rest.at - text.at) : 0;
            times[count++] = us_of(&number);
        }
    bool turned = has_word((struct str){text.at, second}, " from "); /* "to 13 us from 26 us" */
    if (count == 2)
        return !says_pair(text) ? (double)NAN
               : turned         ? times[0] / times[1] - 1
                                : times[1] / times[0] - 1;
    if (count == 0 || isnan(latency_us))
        return NAN;
    double change = says_by(text) ? times[0] : times[0] - latency_us;
    return (says_by(text) && !says_slower(text) ? -change : change) / latency_us;
}

/* What a plan can predict: nothing gets faster than by all of its time. */
static double latency_within(double change) {
    return change <= 1000 ? MAX_OF(change, -0.999) : (double)NAN;
}

/* The signed change of the latency; "20 % faster" and "-20 %" are -0.2, and of a kernel of 1 ms so
 * is "0.8 ms". */
static double latency_of(struct str text, double latency_us) {
    double change = change_of(text, latency_us), share = share_of(text);
    if (isnan(change))
        change = says_slower(text) ? share : -share;
    return latency_within(change);
}

/* ----------------------------------------------------------------------------------- one draft */

/* The text up to a zero byte, where it ends as a C string. */
static const char *keep(struct arena *arena, const struct buf *text) {
    struct str whole = buf_str(text);
    whole.len = strnlen(whole.at, whole.len);
    whole = str_trim(whole);
    return whole.len ? arena_strndup(arena, whole.at, MIN_OF(whole.len, MAX_TEXT)) : NULL;
}

static bool is_in_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* The name at the front of *rest, which moves behind it; empty when there is none. */
static struct str next_name(struct str *rest) {
    size_t from = 0;
    while (from < rest->len && !isalpha((unsigned char)rest->at[from]))
        from++;
    size_t to = from;
    while (to < rest->len && is_in_name(rest->at[to]))
        to++;
    struct str name = {rest->at + from, to - from};
    *rest = (struct str){rest->at + to, rest->len - to};
    return name;
}

/* The metric for the words of a panel at the front of the text: hbm_read_bytes for "HBM read".
 * Empty when no such words stand there. */
static struct str metric_of_words(struct str text) {
    struct str found = {"", 0}, rest = text, name;
    while ((name = next_name(&rest)).len) {
        size_t len = (size_t)(name.at + name.len - text.at);
        struct str metric = glossary_metric((struct str){text.at, len});
        found = metric.len ? metric : found;
    }
    return found;
}

/* "`hbm_read_bytes` (bytes)" is hbm_read_bytes, and so is "HBM read", as panels call it. */
static const char *keep_metric(struct arena *arena, const struct buf *text) {
    struct str rest = buf_str(text), name = next_name(&rest);
    bool is_metric = memchr(name.at, '_', name.len) != NULL;
    size_t before = (size_t)(name.at - buf_str(text).at);
    struct str words = {name.at, text->len - before};
    struct str metric = is_metric ? name : metric_of_words(words);
    if (!metric.len)
        metric = name;
    return metric.len ? arena_strndup(arena, metric.at, MIN_OF(metric.len, 63)) : NULL;
}

static const char *keep_strategy(struct arena *arena, const struct buf *text) {
    char name[TUNE_STRATEGY_MAX + 1];
    if (!text->len)
        return NULL;
    struct tune_menu *menu = tune_menu_load();
    tune_strategy_match(menu, buf_str(text), name);
    tune_menu_free(menu);
    return *name && strcmp(name, "none") != 0 ? arena_strdup(arena, name) : NULL;
}

/* Without a number it is no sweep: "none", "not needed". */
static const char *keep_sweep(struct arena *arena, const struct buf *text) {
    struct str rest = buf_str(text);
    return isnan(next_number(&rest).value) ? NULL : keep(arena, text);
}

/* The word or the number at the front of the text; what is neither is passed over. Empty at the
 * end. */
static struct str next_word(struct str *text) {
    size_t from = 0, to;
    while (from < text->len && !isalnum((unsigned char)text->at[from]))
        from++;
    bool digits = from < text->len && isdigit((unsigned char)text->at[from]);
    for (to = from; to < text->len && isalnum((unsigned char)text->at[to]); to++)
        if ((isdigit((unsigned char)text->at[to]) != 0) != digits)
            break;
    struct str word = {text->at + from, to - from};
    *text = (struct str){text->at + to, text->len - to};
    return word;
}

/* Of a line what is code: nothing of a comment or an empty line. */
static struct str code_of(struct str line) {
    line = str_trim(line);
    return line.len && *line.at == '#' ? (struct str){line.at, 0} : line;
}

/* The text of those lines, and which of its kind the first one is: where equal statements stand at
 * several places, that tells them apart. Both stay when lines before are added or go. */
static void lines_put(struct str source, int first, int last, struct buf *out) {
    struct str rest = source, line, from = {"", 0};
    int number = 0, before = 0;
    while (str_next(&rest, '\n', &line) && ++number <= last) {
        struct str code = code_of(line);
        if (number < first || !code.len)
            continue;
        from = from.len ? from : code;
        buf_add(out, code.at, code.len);
        buf_putc(out, '\n');
    }
    rest = source;
    while (from.len && str_next(&rest, '\n', &line) && line.at + line.len < from.at)
        before += str_equal(code_of(line), from);
    if (before)
        buf_printf(out, "#%d\n", before);
}

/* Where words name lines: the first and the last of them. */
struct named {
    bool open;
    int first, last;
};

/* Whether the word belongs to the numbers of lines ("lines 40 to 52"). Without a source they make
 * no difference. */
static bool named_takes(struct named *named, struct str word) {
    long long number;
    if (named->open && str_to_int(word, &number)) {
        int at = (int)MIN_OF(number, 100000000LL);
        named->first = named->first ? MIN_OF(named->first, at) : at;
        named->last = MAX_OF(named->last, at);
        return true;
    }
    return named->open && (same_word(word, "to") || same_word(word, "and"));
}

/* Characters of a key, with its end. The key names the direction of a plan: models give none, so it
 * is made of the plan's words and its place. The same words and numbers about the same statements
 * are the same direction. Blanks, case and lines that moved make no difference: the text of the
 * lines of `source` counts in place of their numbers. */
static void key_make(const struct tune_plan *plan, struct str source, char key[32]) {
    struct buf text = {0};
    struct str rest = str_of(plan->what ? plan->what : plan->title), word;
    struct named named = {0};
    bool names = false;
    while ((word = next_word(&rest)).len) {
        if (named_takes(&named, word))
            continue;
        if (named.first)
            lines_put(source, named.first, named.last, &text);
        names = names || named.first;
        named = (struct named){.open = same_word(word, "line") || same_word(word, "lines")};
        for (size_t i = 0; i < word.len; i++)
            buf_putc(&text, (char)tolower((unsigned char)word.at[i]));
    }
    if (named.first)
        lines_put(source, named.first, named.last, &text);
    else if (!names && plan->first_line)
        lines_put(source, plan->first_line, plan->last_line, &text);
    struct hash hash = hash_content(text.at ? text.at : "", text.len);
    snprintf(key, 32, "said:%.18s", hash.hex);
    buf_free(&text);
}

static int lines_in(struct str source) {
    int count = 0;
    for (size_t i = 0; i < source.len; i++)
        count += source.at[i] == '\n';
    return count;
}

struct reading {
    struct arena *arena;
    struct tune_plan *plans;
    size_t count;
    struct str source; /* of the kernel that the plans are for; */
    double latency_us; /* .. its latency */
    bool named;        /* some field was there */
};

static bool draft_read(const struct draft *draft, const struct reading *reading,
                       struct tune_plan *plan) {
    struct str source = reading->source;
    struct arena *arena = reading->arena;
    const struct buf *text = draft->text;
    *plan = (struct tune_plan){
        .size = NAN, .latency = NAN, .moved = NAN, .direction = TUNE_DIRECTION_DOWN};
    plan->what = keep(arena, &text[WHAT]);
    plan->title = keep(arena, &text[TITLE]);
    plan->why = keep(arena, &text[WHY]);
    plan->metric = keep_metric(arena, &text[METRIC]);
    if (!plan->what)
        return false;
    if (!plan->title) {
        struct str rest = str_of(plan->what), line;
        str_next(&rest, '\n', &line);
        plan->title = arena_strndup(arena, line.at, MIN_OF(line.len, 72));
    }
    tune_plan_aim(plan, buf_str(&text[LINES]), lines_in(source), arena);
    struct str direction = buf_str(&text[DIRECTION]), size = str_trim(buf_str(&text[SIZE]));
    struct str metric = buf_str(&text[METRIC]);
    if (says_up(direction.len ? direction
                : size.len    ? size
                              : metric) &&
        !says_down(direction.len ? direction : size))
        plan->direction = TUNE_DIRECTION_UP;
    bool of_latency = plan->metric && !strcmp(plan->metric, "latency");
    double change = of_latency ? latency_within(change_of(size, reading->latency_us)) : (double)NAN;
    plan->size = isnan(change) ? share_of(size.len ? size : direction) : fabs(change);
    plan->latency = latency_of(str_trim(buf_str(&text[LATENCY])), reading->latency_us);
    if (of_latency && isnan(plan->latency))
        plan->latency = !isnan(change)                           ? change
                        : plan->direction == TUNE_DIRECTION_DOWN ? latency_within(-plan->size)
                                                                 : plan->size;
    char key[32];
    plan->sweep = keep_sweep(arena, &text[SWEEP]);
    plan->strategy = keep_strategy(arena, &text[STRATEGY]);
    key_make(plan, source, key);
    plan->key = arena_strdup(arena, key);
    return true;
}

/* ------------------------------------------------------------------------------ labelled lines */

/* "**What:** text", "- what: text", "## Why": the field and what follows the colon. */
static bool line_label(struct str line, enum field *field, struct str *value) {
    struct str rest = str_trim(line);
    bool heading = rest.len && *rest.at == '#';
    while (rest.len && strchr("#*->0123456789. \t_`\"", *rest.at)) {
        rest.at++;
        rest.len--;
    }
    for (size_t i = 0; i < COUNT_OF(labels); i++) {
        size_t len = strlen(labels[i].label);
        if (rest.len < len || strncasecmp(rest.at, labels[i].label, len) != 0)
            continue;
        struct str after = {rest.at + len, rest.len - len};
        /* "Plan 2:" */
        while (after.len && (strchr("*_`\" \t", *after.at) || isdigit((unsigned char)*after.at))) {
            after.at++;
            after.len--;
        }
        bool colon = after.len && *after.at == ':';
        if (!colon && !(heading && !after.len))
            continue;
        if (colon) {
            after.at++;
            after.len--;
        }
        while (after.len && strchr("* \t", *after.at)) {
            after.at++;
            after.len--;
        }
        *field = labels[i].field;
        *value = after;
        return true;
    }
    return false;
}

static void draft_end(struct reading *reading, struct draft *draft) {
    if (reading->count < TUNE_ANSWER_PLANS &&
        draft_read(draft, reading, &reading->plans[reading->count]))
        reading->count++;
    for (int i = 0; i < FIELDS; i++)
        buf_clear(&draft->text[i]);
}

static void read_labelled(struct reading *reading, struct str answer) {
    struct draft draft = {0};
    struct str rest = answer, line;
    int field = -1;
    while (str_next(&rest, '\n', &line)) {
        enum field label;
        struct str value;
        if (line_label(line, &label, &value)) {
            reading->named = true;
            /* A title, or a field that is there already, begins the next plan. */
            if (draft.text[label].len || (label == TITLE && draft.text[WHAT].len))
                draft_end(reading, &draft);
            field = (int)label;
            line = value;
        } else if (str_starts(str_trim(line), "```") || str_starts(str_trim(line), "---")) {
            field = -1;
            continue;
        }
        if (field < 0 || draft.text[field].len > MAX_TEXT)
            continue;
        if (draft.text[field].len)
            buf_putc(&draft.text[field], '\n');
        buf_add(&draft.text[field], line.at, line.len);
    }
    draft_end(reading, &draft);
    draft_free(&draft);
}

/* ---------------------------------------------------------------------------------------- JSON */

static void add_value(struct buf *out, const cJSON *item) {
    if (cJSON_IsString(item)) {
        buf_puts(out, item->valuestring);
    } else if (cJSON_IsNumber(item)) {
        buf_printf(out, "%g", item->valuedouble);
    } else if (cJSON_IsArray(item)) {
        int left = 40;
        for (const cJSON *one = item->child; one && left-- > 0; one = one->next) {
            if (out->len)
                buf_putc(out, '\n');
            add_value(out, one);
        }
    }
}

static void read_object(struct reading *reading, const cJSON *object) {
    struct draft draft = {0};
    for (const cJSON *item = object->child; item; item = item->next) {
        char name[40];
        snprintf(name, sizeof name, "%s", item->string ? item->string : "");
        for (char *at = name; *at; at++)
            *at = *at == '_' ? ' ' : *at;
        for (size_t i = 0; i < COUNT_OF(labels); i++) {
            if (strcasecmp(name, labels[i].label) != 0 || cJSON_IsObject(item) ||
                draft.text[labels[i].field].len)
                continue;
            reading->named = true;
            add_value(&draft.text[labels[i].field], item);
        }
    }
    draft_end(reading, &draft);
    draft_free(&draft);
}

static void read_json(struct reading *reading, const cJSON *root) {
    const cJSON *list =
        cJSON_IsArray(root) ? root : cJSON_GetObjectItemCaseSensitive(root, "plans");
    if (cJSON_IsArray(list)) {
        for (const cJSON *item = list->child; item; item = item->next)
            if (cJSON_IsObject(item))
                read_object(reading, item);
    } else if (cJSON_IsObject(root)) {
        const cJSON *inner = cJSON_GetObjectItemCaseSensitive(root, "plan");
        read_object(reading, cJSON_IsObject(inner) ? inner : root);
    }
}

/* The first JSON object or list in the text that can be parsed. */
static cJSON *find_json(struct str answer) {
    int tries = 20;
    for (size_t i = 0; i < answer.len && tries > 0; i++) {
        if (answer.at[i] != '{' && answer.at[i] != '[')
            continue;
        bool begins = i == 0 || answer.at[i - 1] == '\n' || answer.at[i - 1] == ' ';
        if (!begins)
            continue;
        tries--;
        cJSON *root = cJSON_ParseWithLength(answer.at + i, answer.len - i);
        if (root)
            return root;
    }
    return NULL;
}

size_t tune_answer_plans(struct str answer, struct str source, double latency_us,
                         struct arena *arena, struct tune_plan plans[TUNE_ANSWER_PLANS],
                         struct err *err) {
    struct reading reading = {
        .arena = arena, .plans = plans, .source = source, .latency_us = latency_us};
    if (answer.len > MAX_ANSWER)
        answer.len = MAX_ANSWER;
    cJSON *root = find_json(answer);
    if (root)
        read_json(&reading, root);
    cJSON_Delete(root);
    if (!reading.count)
        read_labelled(&reading, answer);
    if (!reading.count)
        err_set(err, ERR_KERNEL,
                reading.named
                    ? "the plan has no \"what:\" that says which change to make"
                    : "there is no plan in the answer; write lines that begin with title:, what:, "
                      "why:, lines:, metric:, direction:, size: and latency:");
    return reading.count;
}
