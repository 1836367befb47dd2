/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as text and back, its combinations, and the sources they make. swept.c finds which of
 * them were tried. */
#include "tune/sums/sweep.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "rewrite/rewrite.h"
#include "tune/sums/inner.h"

#define KEY "sweep:"

/* ---- reading -------------------------------------------------------------------------------- */

static bool is_filler(struct str word) {
    static const char *const words[] = {"in", "over", "of", "and", "from", "values", "try", "to"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (str_is(word, words[i]))
            return true;
    return false;
}

static bool is_part(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* The next run of letters, digits, dots and _; anything else is skipped. */
static bool next_word(struct str *rest, struct str *word, struct err *err) {
    while (rest->len && !is_part(*rest->at)) {
        if (!strchr(" \t,;:=[](){}`*\"'", *rest->at))
            return err_set(err, ERR_USAGE,
                           "a sweep is a constant and values, as "
                           "TILE_N=128,256,512; not \"%.*s\"",
                           (int)MIN_OF(rest->len, 60), rest->at);
        rest->at++;
        rest->len--;
    }
    *word = (struct str){rest->at, 0};
    while (word->len < rest->len && is_part(rest->at[word->len]))
        word->len++;
    rest->at += word->len;
    rest->len -= word->len;
    while (word->len && word->at[word->len - 1] == '.')
        word->len--;
    return true;
}

static bool add_axis(struct tune_sweep *sweep, struct str word, struct err *err) {
    if (sweep->count >= TUNE_SWEEP_AXES)
        return err_set(err, ERR_USAGE, "a sweep has at most %d constants", TUNE_SWEEP_AXES);
    if (word.len >= sizeof sweep->axes[0].name)
        return err_set(err, ERR_USAGE, "\"%.40s...\" is too long for a constant", word.at);
    memcpy(sweep->axes[sweep->count].name, word.at, word.len);
    sweep->axes[sweep->count].name[word.len] = '\0';
    sweep->axes[sweep->count].count = 0;
    sweep->count++;
    return true;
}

static bool add_value(struct tune_sweep *sweep, int64_t value, struct err *err) {
    if (!sweep->count)
        return err_set(err, ERR_USAGE,
                       "a sweep begins with the name of a constant, as "
                       "TILE_N=128,256,512");
    int *count = &sweep->axes[sweep->count - 1].count;
    if (value < 0 || value > REWRITE_CONSTANT_MOST)
        return err_set(err, ERR_USAGE, "%lld cannot be the value of a constant", (long long)value);
    for (int i = 0; i < *count; i++)
        if (sweep->axes[sweep->count - 1].values[i] == value)
            return true;
    if (*count >= TUNE_SWEEP_VALUES)
        return err_set(err, ERR_USAGE, "a constant is swept over at most %d values",
                       TUNE_SWEEP_VALUES);
    sweep->axes[sweep->count - 1].values[(*count)++] = value;
    return true;
}

/* "128" or "64..512". */
static bool add_values(struct tune_sweep *sweep, struct str word, struct err *err) {
    const char *dots = word.len > 2 ? memmem(word.at, word.len, "..", 2) : NULL;
    struct str first = {word.at, dots ? (size_t)(dots - word.at) : word.len}, last = first;
    if (dots)
        last = (struct str){dots + 2, word.len - first.len - 2};
    long long from, to;
    if (!str_to_int(first, &from) || !str_to_int(last, &to))
        return err_set(err, ERR_USAGE, "\"%.*s\" is not a number", (int)MIN_OF(word.len, 40),
                       word.at);
    if (from > to || (from == 0 && to > 0))
        return err_set(err, ERR_USAGE, "%lld..%lld is not a range", from, to);
    for (int64_t value = from;; value *= 2) {
        if (!add_value(sweep, value, err))
            return false;
        if (value == 0 || value > to / 2)
            return true;
    }
}

bool tune_sweep_parse(struct str text, struct tune_sweep *sweep, struct err *err) {
    *sweep = (struct tune_sweep){.base = -1};
    const char *at = text.len ? memchr(text.at, '@', text.len) : NULL;
    struct str rest = {text.at, at ? (size_t)(at - text.at) : text.len}, word;
    while (rest.len) {
        if (!next_word(&rest, &word, err))
            return false;
        bool number = word.len && isdigit((unsigned char)*word.at);
        if (!word.len || (sweep->count && is_filler(word)))
            continue;
        if (!(number ? add_values(sweep, word, err) : add_axis(sweep, word, err)))
            return false;
    }
    long long base;
    struct str after = at ? (struct str){at + 1, text.len - (size_t)(at + 1 - text.at)} : STR("");
    if (str_to_int(after, &base) && base >= 0 && base < INT32_MAX)
        sweep->base = (int)base;
    return sweep->count || err_set(err, ERR_USAGE,
                                   "a sweep is a constant and values, as "
                                   "TILE_N=128,256,512");
}

/* ---- writing -------------------------------------------------------------------------------- */

void tune_sweep_print(const struct tune_sweep *sweep, struct buf *out) {
    for (int i = 0; i < sweep->count; i++) {
        buf_printf(out, "%s%s=", i ? " " : "", sweep->axes[i].name);
        for (int k = 0; k < sweep->axes[i].count; k++)
            buf_printf(out, "%s%lld", k ? "," : "", (long long)sweep->axes[i].values[k]);
    }
    if (sweep->base >= 0)
        buf_printf(out, "@%d", sweep->base);
}

size_t tune_sweep_combinations(const struct tune_sweep *sweep) {
    size_t all = 1;
    for (int i = 0; i < sweep->count; i++)
        all *= (size_t)sweep->axes[i].count;
    return sweep->count ? all : 0;
}

/* The value of an axis in a combination; the last axis changes fastest. */
static int64_t value_of(const struct tune_sweep *sweep, size_t index, int axis) {
    for (int i = sweep->count - 1; i > axis; i--)
        index /= (size_t)sweep->axes[i].count;
    return sweep->axes[axis].values[index % (size_t)sweep->axes[axis].count];
}

void tune_sweep_key(const struct tune_sweep *sweep, size_t index, struct buf *out) {
    struct tune_sweep one = *sweep;
    for (int i = 0; i < sweep->count; i++) {
        one.axes[i].count = 1;
        one.axes[i].values[0] = value_of(sweep, index, i);
    }
    buf_puts(out, KEY);
    tune_sweep_print(&one, out);
}

void tune_sweep_title(const struct tune_sweep *sweep, size_t index, struct buf *out) {
    for (int i = 0; i < sweep->count; i++)
        buf_printf(out, "%s%s = %lld", i ? ", " : "", sweep->axes[i].name,
                   (long long)value_of(sweep, index, i));
}

/* ---- against a source ----------------------------------------------------------------------- */

static bool axis_resolve(struct tune_sweep *sweep, int axis,
                         const struct rewrite_constants *constants, struct err *err) {
    char *name = sweep->axes[axis].name;
    const struct rewrite_constant *constant = rewrite_constants_named(constants, str_of(name), err);
    if (!constant)
        return false;
    if (strlen(constant->name) >= sizeof sweep->axes[axis].name)
        return err_set(err, ERR_USAGE, "the name of %.40s... is too long", constant->name);
    snprintf(name, sizeof sweep->axes[axis].name, "%s", constant->name);
    for (int i = 0; i < axis; i++)
        if (!strcmp(sweep->axes[i].name, name))
            return err_set(err, ERR_USAGE, "%s is named twice", name);
    if (!sweep->axes[axis].count)
        sweep->axes[axis].count = (int)rewrite_constant_values(constant, sweep->axes[axis].values);
    return sweep->axes[axis].count ||
           err_set(err, ERR_USAGE, "say which values of %s to try: %s=1,2,4", name, name);
}

bool tune_sweep_resolve(struct tune_sweep *sweep, struct str source, const char *function,
                        struct err *err) {
    struct rewrite_constants *constants = rewrite_constants_find(source, function);
    bool fine = true;
    for (int i = 0; i < sweep->count && fine; i++)
        fine = axis_resolve(sweep, i, constants, err);
    rewrite_constants_free(constants);
    size_t all = fine ? tune_sweep_combinations(sweep) : 0;
    if (all > TUNE_SWEEP_MOST)
        return err_set(err, ERR_USAGE, "these make %zu combinations; a sweep has at most %d", all,
                       TUNE_SWEEP_MOST);
    return fine;
}

bool tune_sweep_apply(const char *key, struct str source, const char *function, struct buf *out,
                      struct err *err) {
    struct tune_sweep sweep;
    struct str text = str_of(key);
    if (!str_starts(text, KEY) ||
        !tune_sweep_parse((struct str){text.at + strlen(KEY), text.len - strlen(KEY)}, &sweep, err))
        return err_set(err, ERR_KERNEL, "\"%.80s\" is not a sweep", key);
    struct rewrite_constants *constants = rewrite_constants_find(source, function);
    struct nki_edits edits = {.tree = constants->tree};
    bool fine = true;
    for (int i = 0; i < sweep.count && fine; i++) {
        const struct rewrite_constant *constant =
            rewrite_constants_named(constants, str_of(sweep.axes[i].name), err);
        fine = constant && sweep.axes[i].count == 1;
        if (fine)
            rewrite_constant_set(constant, sweep.axes[i].values[0], &edits);
    }
    fine = fine && nki_edits_apply(&edits, out, err);
    nki_edits_free(&edits);
    rewrite_constants_free(constants);
    return fine;
}
