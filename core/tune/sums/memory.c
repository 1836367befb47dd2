/* SPDX-License-Identifier: Apache-2.0 */
/* What the optimisation memory knows of its experiences: what each applies to, which are the same,
 * which contradict each other, what each earned. Pure functions; the events are in tune/apply. */
#include "tune/sums/testing.h"
#include "tune/sums/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"
#include "tune/sums/inner.h"

/* ------------------------------------------------------------------------------- applicability */

/* Words in the names of tasks and in NKI calls, and what each is about. Where one is part of
 * another, the longer stands first. */
static const struct {
    const char *word, *family;
} families[] = {
    {"attention", "attention"}, {"gqa", "attention"},    {"mha", "attention"},
    {"flash", "attention"},     {"softmax", "softmax"},  {"rmsnorm", "norm"},
    {"layernorm", "norm"},      {"layer_norm", "norm"},  {"rms_norm", "norm"},
    {"batchnorm", "norm"},      {"matmul", "matmul"},    {"bmm", "matmul"},
    {"gemm", "matmul"},         {"linear", "matmul"},    {"lora", "matmul"},
    {"mlp", "matmul"},          {"moe", "matmul"},       {"transpose", "transpose"},
    {"rope", "rope"},           {"rotary", "rope"},      {"mamba", "scan"},
    {"scan", "scan"},           {"cumsum", "scan"},      {"conv", "convolution"},
    {"pool", "convolution"},    {"silu", "elementwise"}, {"gelu", "elementwise"},
    {"swiglu", "elementwise"},  {"relu", "elementwise"}, {"adamw", "elementwise"},
    {"add", "elementwise"},     {"mul_", "elementwise"}, {"scale", "elementwise"},
    {"reduce", "reduction"},    {"sum", "reduction"},    {"gather", "gather"},
    {"embedding", "gather"},    {"scatter", "gather"},   {"sort", "sort"},
    {"topk", "sort"},
};

static bool word_in(struct str text, struct str word) {
    for (size_t i = 0; word.len && i + word.len <= text.len; i++)
        if (!strncasecmp(text.at + i, word.at, word.len))
            return true;
    return false;
}

/* Whether a list of words, separated by blanks, has this word. */
static bool listed(struct str list, struct str word) {
    struct str one;
    while (str_next(&list, ' ', &one))
        if (str_equal(one, word))
            return true;
    return false;
}

void tune_memory_family(struct str text, struct buf *out) {
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        struct str family = str_of(families[i].family);
        if (!word_in(text, str_of(families[i].word)) || listed(buf_str(out), family))
            continue;
        if (out->len)
            buf_putc(out, ' ');
        buf_add(out, family.at, family.len);
    }
}

const char *tune_memory_dialect(const char *source) {
    static const char *const legacy[] = {"neuronxcc", "nl.par_dim", "nl.arange", "nl.mgrid"};
    static const char *const current[] = {"import nki", "from nki"};
    for (size_t i = 0; source && i < COUNT_OF(legacy); i++)
        if (strstr(source, legacy[i]))
            return "legacy";
    for (size_t i = 0; source && i < COUNT_OF(current); i++)
        if (strstr(source, current[i]))
            return "current";
    return NULL;
}

void tune_memory_computes(const char *source, struct buf *out) {
    static const struct {
        const char *call, *family;
    } calls[] = {{"nc_matmul", "matmul"},      {"nl.matmul", "matmul"},
                 {"nl.softmax", "softmax"},    {"nl.rsqrt", "norm"},
                 {"bn_stats", "norm"},         {"tensor_tensor_scan", "scan"},
                 {"nc_transpose", "transpose"}};
    for (size_t i = 0; source && i < COUNT_OF(calls); i++)
        if (strstr(source, calls[i].call) && !listed(buf_str(out), str_of(calls[i].family)))
            buf_printf(out, "%s%s", out->len ? " " : "", calls[i].family);
}

void tune_memory_family_of(const struct tune_state *state, struct buf *out) {
    tune_memory_family(str_of(state->task), out);
    if (!out->len)
        tune_memory_family(str_of(state->function), out);
    if (!out->len)
        tune_memory_computes(state->kernel_source, out);
}

static bool families_meet(const struct tune_state *state, const char *family) {
    struct buf mine = {0};
    tune_memory_family_of(state, &mine);
    struct str rest = str_of(family), one;
    bool meet = mine.len == 0;
    while (!meet && str_next(&rest, ' ', &one))
        meet = one.len && listed(buf_str(&mine), one);
    buf_free(&mine);
    return meet;
}

bool tune_memory_applies(const struct tune_state *state, const struct tune_experience *item) {
    const char *dialect = item->dialect ? tune_memory_dialect(state->kernel_source) : NULL;
    const char *device = device_name(state->device);
    if (item->generation && strcmp(item->generation, device) != 0)
        return false;
    if (dialect && strcmp(item->dialect, dialect) != 0)
        return false;
    return !item->family || families_meet(state, item->family);
}

/* ------------------------------------------------------------------------------------ sameness */

/* Case, blanks and marks make no difference; nor do numbers in a summary, which may be measured
 * again. */
static void letters(struct buf *out, const char *text, bool digits) {
    vec_reserve(out, out->len + (text ? strlen(text) : 0) + 2);
    char *to = out->at + out->len;
    for (; text && *text; text++)
        if (isalpha((unsigned char)*text) || (*text & 0x80) ||
            (digits && isdigit((unsigned char)*text)))
            *to++ = (char)tolower((unsigned char)*text);
    out->len = (size_t)(to - out->at);
    buf_putc(out, '|');
}

static bool same_text(const char *a, const char *b) {
    return !a || !b ? a == b : !strcmp(a, b);
}

bool tune_memory_same(const struct tune_experience *a, const struct tune_experience *b) {
    if ((a->speedup < 1) != (b->speedup < 1) || !same_text(a->family, b->family) ||
        !same_text(a->generation, b->generation) || !same_text(a->dialect, b->dialect))
        return false;
    struct buf first = {0}, second = {0};
    letters(&first, a->title, true);
    letters(&first, a->summary, false);
    letters(&second, b->title, true);
    letters(&second, b->summary, false);
    bool same = first.len > 2 && str_equal(buf_str(&first), buf_str(&second));
    buf_free(&first);
    buf_free(&second);
    return same;
}

/* A key that is equal for all experiences that tune_memory_same calls the same. */
static uint64_t sameness(const struct tune_experience *item) {
    struct buf words = {0};
    buf_puts(&words, item->speedup < 1 ? "-" : "+");
    letters(&words, item->title, true);
    letters(&words, item->summary, false);
    uint64_t hash = hash_quick(words.at, words.len);
    buf_free(&words);
    return hash;
}

void tune_memory_index(struct tune_state *state, size_t index) {
    by_hash_put(&state->own->memory, sameness(&state->memory.at[index]), index);
}

int tune_memory_find(const struct tune_state *state, const struct tune_experience *item) {
    uint64_t hash = sameness(item);
    size_t at = 0, row = 0;
    int found = -1;
    while (by_hash_next(&state->own->memory, hash, &at, &row))
        if ((found < 0 || (int)row < found) && tune_memory_same(&state->memory.at[row], item))
            found = (int)row;
    return found;
}

/* ------------------------------------------------------------------------------------ evidence */

static struct tune_growing *growing_of(struct tune_state *state, size_t index) {
    while (state->own->evidence.len <= index)
        *vec_push(&state->own->evidence) = (struct tune_growing){0};
    return &state->own->evidence.at[index];
}

/* A copy with as much place again, so that what is found a thousand times is not copied as
 * often. */
static void growing_begin(struct tune_state *state, struct tune_growing *growing, struct str text,
                          size_t more) {
    growing->cap = (text.len + more) * 2;
    growing->text = arena_alloc(state->arena, growing->cap + 1, 1);
    growing->len = text.len;
    if (text.len)
        memcpy(growing->text, text.at, text.len);
}

void tune_memory_evidence_add(struct tune_state *state, size_t index, struct str more) {
    struct tune_experience *item = &state->memory.at[index];
    struct tune_growing *growing = growing_of(state, index);
    bool goes_on = growing->text && growing->text == item->evidence;
    struct str before =
        goes_on ? (struct str){growing->text, growing->len} : str_of(item->evidence);
    struct str mark = before.len ? STR(", ") : STR("");
    if (!goes_on || growing->cap - growing->len < mark.len + more.len)
        growing_begin(state, growing, before, mark.len + more.len);
    char *end = growing->text + growing->len;
    memcpy(end, mark.at, mark.len);
    memcpy(end + mark.len, more.at, more.len);
    growing->len += mark.len + more.len;
    growing->text[growing->len] = '\0';
    item->evidence = growing->text;
}

void tune_memory_evidence_fix(const struct tune_state *state, size_t index) {
    if (index < state->own->evidence.len)
        state->own->evidence.at[index].text = NULL;
}

bool tune_memory_shows(const struct tune_experience *item, int attempt, int against) {
    char pair[64];
    if (!item->imported && item->attempt == attempt && item->against == against)
        return true;
    snprintf(pair, sizeof pair, "#%d against #%d", attempt, against);
    const char *at = item->evidence ? strstr(item->evidence, pair) : NULL;
    return at && (at[strlen(pair)] == 0 || at[strlen(pair)] == ',');
}

/* ------------------------------------------------------------------------------- contradiction */

static bool same_direction(const struct tune_experience *item, const struct tune_plan *plan) {
    if (item->key && *item->key && plan->key && !strcmp(item->key, plan->key))
        return true;
    struct buf said = {0}, now = {0};
    letters(&said, item->title, true);
    letters(&now, plan->title, true);
    bool same = now.len > 1 && str_equal(buf_str(&said), buf_str(&now));
    buf_free(&said);
    buf_free(&now);
    return same;
}

bool tune_memory_contradicts(const struct tune_experience *item,
                             const struct tune_attempt *attempt) {
    if (item->is != TUNE_EXPERIENCE_APPROVED && item->is != TUNE_EXPERIENCE_PROPOSED)
        return false;
    if (!item->imported && item->attempt >= attempt->id)
        return false;
    if (attempt->left_out) /* a part of the plan shows nothing of the whole */
        return false;
    bool wrong = attempt->verdict.correct == TUNE_ANSWER_NO;
    bool opposite = item->speedup < 1 ? !wrong && attempt->vs_parent >= TUNE_POSITIVE
                                      : wrong || attempt->vs_parent <= TUNE_NEGATIVE;
    return opposite && same_direction(item, &attempt->plan);
}

/* ------------------------------------------------------------------------------------ earnings */

static void round_earned(const struct tune_state *state, int round, struct tune_earned *earned) {
    for (size_t i = 1; i < state->attempts.len; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        if (attempt->round != round || attempt->status == TUNE_STATUS_OPEN)
            continue;
        earned->attempts++;
        if (attempt->status != TUNE_STATUS_KEEP || isnan(attempt->vs_parent))
            continue;
        earned->kept++;
        earned->gain *= attempt->vs_parent;
    }
}

struct tune_earned tune_memory_earned(const struct tune_state *state, size_t index) {
    struct tune_earned earned = {.gain = 1};
    int last = -1;
    for (size_t i = 0; i < state->entries.len; i++) {
        const struct tune_entry *entry = &state->entries.at[i];
        if (entry->experience != (int)index)
            continue;
        earned.prompts++;
        if (entry->round != last)
            round_earned(state, entry->round, &earned);
        last = entry->round;
        if ((size_t)entry->call >= state->calls.len)
            continue;
        if (earned.n_calls == (int)COUNT_OF(earned.calls))
            memmove(earned.calls, earned.calls + 1, sizeof earned.calls - sizeof *earned.calls);
        else
            earned.n_calls++;
        earned.calls[earned.n_calls - 1] = entry->call;
    }
    return earned;
}
