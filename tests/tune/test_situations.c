// SPDX-License-Identifier: Apache-2.0
/* What a proposer is told in the situations of a recorded session: held as texts in situations/,
 * which HONE_REGEN=1 writes anew, and bounded in size. Listings are left out of the texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "tune/sums/sums.h"
#include "tune/situations.h"

#define MOST_TOKENS 12000
#define LEAST_SHARED 4000

static const struct {
    const char *log;
    int asked; /* questions */
} sessions[] = {{"asked", 15}, {"rmsnorm_matmul", 23}};

struct asked {
    struct buf shared;    /* what the first question of the session began with */
    struct buf texts[40]; /* of each question, without listings */
    enum tune_role roles[40];
    int before; /* questions of sessions before this one */
    int count;
};

static bool is_listing(const struct tune_prompt_part *part) {
    static const char *const names[] = {"kernel", "parent", "slower", "faster", "API in use"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!strcmp(part->name, names[i]))
            return true;
    return part->is_page;
}

/* What has to stand in a question, by the state that it is asked in. */
static void told(const struct situation *situation, const struct buf *text, const char *words,
                 size_t len) {
    if (!memmem(text->at, text->len, words, len))
        fail_msg("question %d to the %s lacks \"%.*s\":\n%s", situation->number,
                 tune_role_word(situation->role), (int)len, words, text->at);
}

/* The largest stall of the kernel at hand: the first row after the heading. */
static void stall_is_told(const struct situation *situation, const struct buf *text) {
    const struct tune_state *state = situation->state;
    const char *causes = tune_causes(state, tune_state_attempt(state, state->incumbent));
    const char *at = causes ? strstr(causes, "largest stalls") : NULL;
    if (!at)
        fail_msg("no stalls in: %s", causes ? causes : "nothing");
    at = strchr(at, '\n') + 1;
    assert_true(!strncmp(at, "  ", 2));
    if (!memmem(at, strcspn(at, "\n"), "line ", 5))
        fail_msg("the largest stall names no line: %.*s", (int)strcspn(at, "\n"), at);
    told(situation, text, at, strcspn(at, "\n"));
}

/* Every plan that was set aside, by title. */
static void stock_is_told(const struct situation *situation, const struct buf *text) {
    const struct tune_state *state = situation->state;
    assert_true(state->stock.len <= TUNE_STOCK_SHOWN);
    for (size_t i = 0; i < state->stock.len; i++)
        if (tune_stock_is_open(state, i))
            told(situation, text, state->stock.at[i].plan.title,
                 strlen(state->stock.at[i].plan.title));
}

/* Of every attempt that is over what became of it, and why: the reason, or what got slower. */
static void obstacles_are_told(const struct situation *situation, const struct buf *text) {
    const struct tune_state *state = situation->state;
    for (size_t i = 1; i < state->attempts.len; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        if (attempt->status == TUNE_STATUS_OPEN)
            continue;
        char row[200];
        snprintf(row, sizeof row, "- attempt %d on %d, \"%s\": %s", attempt->id, attempt->parent,
                 attempt->plan.title, tune_status_word(attempt->status));
        told(situation, text, row, strlen(row));
        assert_non_null(attempt->reason);
        told(situation, text, attempt->reason, strlen(attempt->reason));
    }
}

/* Every error of the turn, each with its line. */
static void errors_are_told(const struct situation *situation, const struct buf *text) {
    const struct tune_state *state = situation->state;
    const struct tune_attempt *open = tune_attempt_in(state, 0);
    const struct tune_diagnostic *diag;
    size_t at = 0, count = 0;
    while ((diag = tune_diagnostic_next(state, open->id, &at))) {
        told(situation, text, diag->message, strlen(diag->message));
        count++;
    }
    assert_true(count > 0);
}

static void matters(const struct situation *situation, const struct buf *text) {
    if (situation->role == TUNE_ROLE_PLANNER || situation->role == TUNE_ROLE_REWRITER) {
        stall_is_told(situation, text);
        obstacles_are_told(situation, text);
    }
    if (situation->role == TUNE_ROLE_PLANNER)
        stock_is_told(situation, text);
    if (situation->role == TUNE_ROLE_FIXER)
        errors_are_told(situation, text);
}

static void ask(void *data, const struct situation *situation) {
    struct asked *asked = data;
    struct buf shared = {0};
    int number = asked->before + situation->number;
    assert_true(number < (int)COUNT_OF(asked->texts));
    struct buf *text = &asked->texts[number];
    assert_true(tune_prompt_tokens(situation->prompt) < MOST_TOKENS);
    for (size_t i = 0; i < situation->prompt->parts.len; i++) {
        const struct tune_prompt_part *part = &situation->prompt->parts.at[i];
        struct buf *to = part->is_system ? &shared : text;
        if (part->is_system || !is_listing(part))
            buf_add(to, part->text.at, part->text.len);
        assert_null(strstr(part->text.at, "{{"));
    }
    if (!asked->shared.len)
        buf_add(&asked->shared, shared.at, shared.len);
    assert_string_equal(shared.at, asked->shared.at);
    matters(situation, text);
    asked->roles[number] = situation->role;
    asked->count = number;
    buf_free(&shared);
}

static void asked_make(struct asked *asked) {
    struct err err = {0};
    for (size_t i = 0; i < COUNT_OF(sessions); i++) {
        char path[200];
        snprintf(path, sizeof path, HONE_SOURCE_DIR "/tests/tune/logs/%s.events", sessions[i].log);
        char *log = file_read(path, 0, NULL, &err);
        assert_non_null(log);
        asked->before = asked->count;
        buf_clear(&asked->shared);
        assert_int_equal(situations_walk(log, ask, asked), sessions[i].asked);
        assert_true(tune_tokens_estimate(buf_str(&asked->shared)) >= LEAST_SHARED);
        free(log);
    }
}

static void asked_free(struct asked *asked) {
    buf_free(&asked->shared);
    for (size_t i = 0; i < COUNT_OF(asked->texts); i++)
        buf_free(&asked->texts[i]);
}

static void texts_are_as_they_were(void **unused) {
    (void)unused;
    struct asked asked = {0};
    asked_make(&asked);
    for (int i = 1; i <= asked.count; i++) {
        char path[200];
        struct err err = {0};
        snprintf(path, sizeof path, HONE_SOURCE_DIR "/tests/tune/situations/%02d-%s.txt", i,
                 tune_role_word(asked.roles[i]));
        if (getenv("HONE_REGEN"))
            assert_true(file_write(path, asked.texts[i].at, asked.texts[i].len, &err));
        char *was = file_read(path, 0, NULL, &err);
        assert_non_null(was);
        if (strcmp(was, asked.texts[i].at) != 0)
            fail_msg("%s is not what is asked now; HONE_REGEN=1 writes it anew:\n%s", path,
                     asked.texts[i].at);
        free(was);
    }
    asked_free(&asked);
}

static const char *nth(const struct asked *asked, enum tune_role role, int which) {
    for (int i = 1; i <= asked->count; i++)
        if (asked->roles[i] == role && which-- == 1)
            return asked->texts[i].at;
    fail_msg("there is no such question");
    return "";
}

/* What rounds were lost for once: the stall, the idea that was set aside, the obstacle of what
 * failed, the turns of a repair, the faulty statement. */
static void what_matters_is_told(void **unused) {
    (void)unused;
    struct asked asked = {0};
    asked_make(&asked);
    static const struct {
        enum tune_role role;
        int which;
        const char *words;
    } rows[] = {
        {TUNE_ROLE_PLANNER, 1, "largest stalls:\n  Scalar "},
        {TUNE_ROLE_PLANNER, 1, "inputs: float32 (1024, 2048)"},
        {TUNE_ROLE_PLANNER, 2, "timed changes:\n"},
        {TUNE_ROLE_PLANNER, 3, "\"two halves of a row\" (round 2, for attempt 1)"},
        {TUNE_ROLE_PLANNER, 3, "Of the critical path: +"},
        {TUNE_ROLE_PLANNER, 4, "gave up: the largest has to be taken off as it was"},
        {TUNE_ROLE_FIXER, 1, "This is repair turn 1 of 3."},
        {TUNE_ROLE_FIXER, 1, "The nearest name of this release is nl.multiply"},
        {TUNE_ROLE_FIXER, 3, "Turn 1: it failed with \""},
        {TUNE_ROLE_FIXER, 4, "line 24: suspect 1: "},
        {TUNE_ROLE_REFLECTOR, 2, "by line: Of the critical path: +"},
        {TUNE_ROLE_SUMMARISER, 2, "0.586 times as fast"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!strstr(nth(&asked, rows[i].role, rows[i].which), rows[i].words))
            fail_msg("question %d to the %s lacks \"%s\":\n%s", rows[i].which,
                     tune_role_word(rows[i].role), rows[i].words,
                     nth(&asked, rows[i].role, rows[i].which));
    for (int i = 1; i <= asked.count; i++) {
        assert_null(strstr(asked.texts[i].at, "e+0"));
        assert_null(strstr(asked.texts[i].at, "nan"));
        assert_null(strstr(asked.texts[i].at, " count\n"));
    }
    asked_free(&asked);
}

/* Of a session that has just been run, whose model kept its prompts as STATE.NN.ROLE: each question
 * put again from the events is, to the letter, what the model read. */
static void is_what_was_read(void *data, const struct situation *situation) {
    char path[400];
    struct err err = {0};
    struct tune_prompt_messages texts = {0};
    snprintf(path, sizeof path, "%s.%02d.%s", (const char *)data, situation->number,
             tune_role_word(situation->role));
    char *read = file_read(path, 0, NULL, &err);
    if (!read)
        fail_msg("%s", err.text);
    tune_prompt_messages(situation->prompt, &texts);
    struct str rest = str_of(read), parts[] = {buf_str(&texts.system), buf_str(&texts.user)};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        struct str part = str_trim(parts[i]);
        rest = str_trim(rest);
        if (rest.len < part.len || memcmp(rest.at, part.at, part.len) != 0)
            fail_msg("%s is not\n" STR_FMT, path, STR_ARG(part));
        rest = (struct str){rest.at + part.len, rest.len - part.len};
    }
    assert_int_equal(str_trim(rest).len, 0);
    buf_free(&texts.system);
    buf_free(&texts.user);
    buf_free(&texts.answer);
    buf_free(&texts.again);
    free(read);
    struct asked asked = {0};
    ask(&asked, situation);
    asked_free(&asked);
}

static char **run; /* LOG STATE: a session that was run for this */

static void a_live_session_asks_what_its_events_say(void **unused) {
    (void)unused;
    struct err err = {0};
    char *log = file_read(run[0], 0, NULL, &err);
    assert_non_null(log);
    assert_true(situations_walk(log, is_what_was_read, run[1]) > 0);
    free(log);
}

int main(int argc, char **argv) {
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    run = argv + 1;
    const struct CMUnitTest live[] = {
        cmocka_unit_test(a_live_session_asks_what_its_events_say),
    };
    if (argc == 3)
        return cmocka_run_group_tests(live, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_as_they_were),
        cmocka_unit_test(what_matters_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
