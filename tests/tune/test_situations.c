// SPDX-License-Identifier: Apache-2.0
/* What a proposer is told in the situations of a recorded session: held as texts in situations/,
 * which HONE_REGEN=1 writes anew, and bounded in size. Listings are left out of the texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "tune/situations.h"

#define MOST_TOKENS 12000
#define LEAST_SHARED 4000

struct asked {
    struct buf shared;    /* what the first question began with */
    struct buf texts[40]; /* of each question, without listings */
    enum tune_role roles[40];
    int count;
};

static bool is_listing(const char *part) {
    static const char *const names[] = {"kernel", "parent", "slower", "faster", "API in use"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!strcmp(part, names[i]))
            return true;
    return false;
}

static void ask(void *data, int number, enum tune_role role, struct tune_prompt *prompt,
                const struct tune_context *context) {
    struct asked *asked = data;
    struct buf shared = {0}, *text = &asked->texts[number];
    (void)context;
    assert_true(number < (int)COUNT_OF(asked->texts));
    assert_true(tune_prompt_tokens(prompt) < MOST_TOKENS);
    for (size_t i = 0; i < prompt->parts.len; i++) {
        const struct tune_prompt_part *part = &prompt->parts.at[i];
        struct buf *to = part->is_system ? &shared : text;
        if (part->is_system || !is_listing(part->name))
            buf_add(to, part->text.at, part->text.len);
        assert_null(strstr(part->text.at, "{{"));
    }
    if (!asked->shared.len)
        buf_add(&asked->shared, shared.at, shared.len);
    assert_string_equal(shared.at, asked->shared.at);
    asked->roles[number] = role;
    asked->count = number;
    buf_free(&shared);
}

static void asked_make(struct asked *asked) {
    struct err err = {0};
    char *log = file_read(HONE_SOURCE_DIR "/tests/tune/logs/asked.events", 0, NULL, &err);
    assert_non_null(log);
    assert_int_equal(situations_walk(log, ask, asked), 15);
    free(log);
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
    assert_true(tune_tokens_estimate(buf_str(&asked.shared)) >= LEAST_SHARED);
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

int main(void) {
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_as_they_were),
        cmocka_unit_test(what_matters_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
