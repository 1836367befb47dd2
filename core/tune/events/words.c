/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the values of the loop's enumerations and back, from the tables in words.h. */
#include "tune/events/words.h"

#include <stddef.h>
#include <string.h>

#include "base/base.h"

#define X(id, word) word,
static const char *const step_words[] = {TUNE_STEP_TABLE(X)};
static const char *const step_is_words[] = {TUNE_STATE_TABLE(X)};
static const char *const gate_words[] = {TUNE_GATE_TABLE(X)};
static const char *const wait_words[] = {TUNE_WAIT_TABLE(X)};
static const char *const status_words[] = {TUNE_STATUS_TABLE(X)};
static const char *const answer_words[] = {TUNE_ANSWER_TABLE(X)};
static const char *const direction_words[] = {TUNE_DIRECTION_TABLE(X)};
static const char *const level_words[] = {TUNE_LEVEL_TABLE(X)};
static const char *const category_words[] = {TUNE_CATEGORY_TABLE(X)};
static const char *const experience_words[] = {TUNE_EXPERIENCE_TABLE(X)};
static const char *const budget_words[] = {TUNE_BUDGET_TABLE(X)};
static const char *const precision_words[] = {TUNE_PRECISION_TABLE(X)};
#undef X

static const char *word_of(const char *const *words, size_t count, unsigned value) {
    return value < count ? words[value] : "?";
}

static int find(const char *const *words, size_t count, const char *word) {
    for (size_t i = 0; word && i < count; i++)
        if (!strcmp(words[i], word))
            return (int)i;
    return -1;
}

#define WORD(name, type)                                                       \
    const char *tune_##name##_word(enum type value) {                          \
        return word_of(name##_words, COUNT_OF(name##_words), (unsigned)value); \
    }
#define FIND(name, type)                                              \
    bool tune_##name##_find(const char *word, enum type *value) {     \
        int found = find(name##_words, COUNT_OF(name##_words), word); \
        if (found >= 0)                                               \
            *value = (enum type)found;                                \
        return found >= 0;                                            \
    }

WORD(step, tune_step)
WORD(step_is, tune_step_is)
WORD(gate, tune_gate)
WORD(wait, tune_wait)
WORD(status, tune_status)
WORD(answer, tune_answer)
WORD(direction, tune_direction)
WORD(level, tune_level)
WORD(category, tune_category)
WORD(experience, tune_experience_is)
WORD(budget, tune_budget)
WORD(precision, tune_precision)

FIND(step, tune_step)
FIND(gate, tune_gate)
FIND(status, tune_status)
FIND(experience, tune_experience_is)
FIND(budget, tune_budget)
FIND(precision, tune_precision)

static const char *const roles[TUNE_ROLES] = {
#define X(id, word, file) word,
    TUNE_ROLE_TABLE(X)
#undef X
};

#define WORDS(name, words) const struct tune_words tune_words_##name = {words, COUNT_OF(words)};
WORDS(step, step_words)
WORDS(step_is, step_is_words)
WORDS(gate, gate_words)
WORDS(status, status_words)
WORDS(answer, answer_words)
WORDS(direction, direction_words)
WORDS(level, level_words)
WORDS(category, category_words)
WORDS(experience, experience_words)
WORDS(precision, precision_words)
WORDS(role, roles)

const char *tune_role_word(enum tune_role role) {
    return role < TUNE_ROLES ? roles[role] : "";
}

bool tune_role_find(const char *word, enum tune_role *role) {
    for (int i = 0; word && i < TUNE_ROLES; i++)
        if (!strcmp(roles[i], word)) {
            *role = (enum tune_role)i;
            return true;
        }
    return false;
}
