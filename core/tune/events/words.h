/* SPDX-License-Identifier: Apache-2.0 */
/* The enumerations of the loop, each one table: identifier and the word used in the event log and
 * on the screen. */
#ifndef HONE_TUNE_WORDS_H
#define HONE_TUNE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#define TUNE_STEP_TABLE(X)    \
    X(PROFILE, "profile")     \
    X(PLAN, "plan")           \
    X(REWRITE, "rewrite")     \
    X(VERIFY, "verify")       \
    X(BENCHMARK, "benchmark") \
    X(DECIDE, "decide")       \
    X(SUMMARISE, "summarise") \
    X(REFLECT, "reflect")

#define TUNE_STATE_TABLE(X) \
    X(WAITING, "waiting")   \
    X(RUNNING, "running")   \
    X(OK, "ok")             \
    X(FAILED, "failed")     \
    X(SKIPPED, "skipped")

#define TUNE_GATE_TABLE(X) \
    X(ASK, "ask")          \
    X(AUTO, "auto")        \
    X(AUTO_GREEN, "auto-green")

/* What the loop waits for. GATE: approve, edit or reject what the step produced. PAUSED: `start`.
 * REJECTED: `start` or `another` (a proposal was rejected). STOPPED: nothing goes on by itself
 * (plateau, budget, nothing left to propose); `start` goes on after more rounds were given. */
#define TUNE_WAIT_TABLE(X)  \
    X(NOTHING, "nothing")   \
    X(GATE, "gate")         \
    X(PAUSED, "paused")     \
    X(REJECTED, "rejected") \
    X(STOPPED, "stopped")

#define TUNE_STATUS_TABLE(X)        \
    X(OPEN, "open")                 \
    X(KEEP, "keep")                 \
    X(REVERT, "revert")             \
    X(INCONCLUSIVE, "inconclusive") \
    X(FAILED, "failed")             \
    X(REJECTED, "rejected")         \
    X(SUSPECT, "suspect")

#define TUNE_ANSWER_TABLE(X) \
    X(UNKNOWN, "unknown")    \
    X(NO, "no")              \
    X(YES, "yes")            \
    X(INCONCLUSIVE, "inconclusive")

#define TUNE_DIRECTION_TABLE(X) \
    X(DOWN, "down")             \
    X(UP, "up")

#define TUNE_LEVEL_TABLE(X) \
    X(DEBUG, "debug")       \
    X(INFO, "info")         \
    X(WARNING, "warning")   \
    X(ERROR, "error")

#define TUNE_CATEGORY_TABLE(X)          \
    X(IMPROVED, "improved")             \
    X(NO_IMPROVEMENT, "no_improvement") \
    X(REGRESSION, "regression")         \
    X(ERROR, "error")                   \
    X(REJECTED, "rejected")

#define TUNE_EXPERIENCE_TABLE(X) \
    X(PROPOSED, "proposed")      \
    X(APPROVED, "approved")      \
    X(EXPIRED, "expired")        \
    X(DELETED, "deleted")

#define TUNE_BUDGET_TABLE(X) \
    X(ROUNDS, "rounds")      \
    X(WALL_S, "wall")        \
    X(DEVICE_S, "device")    \
    X(TOKENS, "tokens")      \
    X(DOLLARS, "dollars")

/* Each may do what those before it may. */
#define TUNE_PRECISION_TABLE(X) \
    X(KEEP, "keep")             \
    X(SPLIT, "split")           \
    X(ANY, "any")

#define TUNE_WORDS_(prefix, id) TUNE_##prefix##_##id,
#define X(id, word) TUNE_WORDS_(STEP, id)
enum tune_step { TUNE_STEP_TABLE(X) TUNE_STEPS };
#undef X
#define X(id, word) TUNE_WORDS_(IS, id)
enum tune_step_is { TUNE_STATE_TABLE(X) TUNE_STEP_STATES };
#undef X
#define X(id, word) TUNE_WORDS_(GATE, id)
enum tune_gate { TUNE_GATE_TABLE(X) TUNE_GATES };
#undef X
#define X(id, word) TUNE_WORDS_(WAIT, id)
enum tune_wait { TUNE_WAIT_TABLE(X) TUNE_WAITS };
#undef X
#define X(id, word) TUNE_WORDS_(STATUS, id)
enum tune_status { TUNE_STATUS_TABLE(X) TUNE_STATUSES };
#undef X
#define X(id, word) TUNE_WORDS_(ANSWER, id)
enum tune_answer { TUNE_ANSWER_TABLE(X) TUNE_ANSWERS };
#undef X
#define X(id, word) TUNE_WORDS_(DIRECTION, id)
enum tune_direction { TUNE_DIRECTION_TABLE(X) TUNE_DIRECTIONS };
#undef X
#define X(id, word) TUNE_WORDS_(LEVEL, id)
enum tune_level { TUNE_LEVEL_TABLE(X) TUNE_LEVELS };
#undef X
#define X(id, word) TUNE_WORDS_(CATEGORY, id)
enum tune_category { TUNE_CATEGORY_TABLE(X) TUNE_CATEGORIES };
#undef X
#define X(id, word) TUNE_WORDS_(EXPERIENCE, id)
enum tune_experience_is { TUNE_EXPERIENCE_TABLE(X) TUNE_EXPERIENCE_STATES };
#undef X
#define X(id, word) TUNE_WORDS_(BUDGET, id)
enum tune_budget { TUNE_BUDGET_TABLE(X) TUNE_BUDGETS };
#undef X

#define X(id, word) TUNE_WORDS_(PRECISION, id)
enum tune_precision { TUNE_PRECISION_TABLE(X) TUNE_PRECISIONS };
#undef X

/* All words of an enumeration, by value: for tables of fields. */
struct tune_words {
    const char *const *at;
    size_t count;
};
extern const struct tune_words tune_words_step, tune_words_step_is, tune_words_gate,
    tune_words_status, tune_words_answer, tune_words_direction, tune_words_level,
    tune_words_category, tune_words_experience, tune_words_precision, tune_words_role;

/* The word of a value; "?" when it is out of range. */
const char *tune_step_word(enum tune_step value);
const char *tune_step_is_word(enum tune_step_is value);
const char *tune_gate_word(enum tune_gate value);
const char *tune_wait_word(enum tune_wait value);
const char *tune_status_word(enum tune_status value);
const char *tune_answer_word(enum tune_answer value);
const char *tune_direction_word(enum tune_direction value);
const char *tune_level_word(enum tune_level value);
const char *tune_category_word(enum tune_category value);
const char *tune_experience_word(enum tune_experience_is value);
const char *tune_budget_word(enum tune_budget value);
const char *tune_precision_word(enum tune_precision value);

/* The value of a word; false when it is none (or NULL), and *value is as it was. */
bool tune_step_find(const char *word, enum tune_step *value);
bool tune_gate_find(const char *word, enum tune_gate *value);
bool tune_status_find(const char *word, enum tune_status *value);
bool tune_experience_find(const char *word, enum tune_experience_is *value);
bool tune_budget_find(const char *word, enum tune_budget *value);
bool tune_precision_find(const char *word, enum tune_precision *value);

/* X(ID, "role", "template"): who asks, and the file in prompts/. */
#define TUNE_ROLE_TABLE(X)                   \
    X(PLANNER, "planner", "plan")            \
    X(REWRITER, "rewriter", "rewrite")       \
    X(FIXER, "fixer", "fix")                 \
    X(SUMMARISER, "summariser", "summarise") \
    X(REFLECTOR, "reflector", "reflect")
#define X(id, word, file) TUNE_ROLE_##id,
enum tune_role { TUNE_ROLE_TABLE(X) TUNE_ROLES };
#undef X

const char *tune_role_word(enum tune_role role);
bool tune_role_find(const char *word, enum tune_role *role);

#endif
