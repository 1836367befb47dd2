/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: what lines mean, the same here as in the runner on hosts, which reads the same corpus
 * (tests/remote/test_messages.py); and patterns that both engines take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "runner/runner.h"
#include "runner/messages/testing.h"

static const char *or_none(struct str text) {
    static char kept[2][64];
    static int which;
    char *at = kept[which = !which];
    snprintf(at, sizeof kept[0], STR_FMT, STR_ARG(text.len ? text : STR("-")));
    return at;
}

/* "code | cause | row | line" */
static void expect_line(struct str rest) {
    struct str fields[3], line;
    char code[MESSAGE_CODE] = "";
    struct message message = {0};
    for (size_t i = 0; i < 3; i++) {
        assert_true(str_next(&rest, '|', &fields[i]));
        fields[i] = str_trim(fields[i]);
    }
    line = str_trim(rest);
    message_code(line, code);
    if (!message_by_text(line, &message))
        message.name = STR("");
    if (!str_is(fields[0], or_none(str_of(code))) || !str_is(fields[1], message_cause(code)) ||
        !str_is(fields[2], or_none(message.name)))
        fail_msg(STR_FMT ": %s, %s, %s", STR_ARG(line), or_none(str_of(code)), message_cause(code),
                 or_none(message.name));
}

static void lines_mean_what_the_corpus_says(void **state) {
    struct err err = {0};
    size_t size = 0, count = 0;
    char *text = file_read(HONE_SOURCE_DIR "/tests/runner/messages.txt", 1 << 20, &size, &err);
    struct str rest = {text, size}, line;
    (void)state;
    assert_non_null(text);
    while (str_next(&rest, '\n', &line))
        if (line.len && *line.at != '#') {
            expect_line(line);
            count++;
        }
    assert_true(count > 40);
    free(text);
}

static void both_engines_read_every_pattern(void **state) {
    const char *text;
    size_t count = 0, offset = 0;
    (void)state;
    for (; (text = message_pattern(count)); count++) {
        struct err err = {0};
        struct pattern *pattern = pattern_new(str_of(text), 0, NULL, &err);
        const char *unlike = pattern_not_python(str_of(text), &offset);
        if (!pattern || unlike || pattern_is_pythons(str_of(text)))
            fail_msg("%s: %s", text, unlike ? unlike : err.text);
        pattern_free(pattern);
    }
    assert_true(count > 30);
}

static void every_code_is_found_again(void **state) {
    struct message message, again;
    size_t count = 0;
    (void)state;
    for (; message_at(count, &message); count++) {
        char code[MESSAGE_CODE * 2];
        snprintf(code, sizeof code, STR_FMT, STR_ARG(message.name));
        assert_true(message_by_code(code, &again));
        assert_string_equal(again.what, message.what);
        assert_true(str_equal(again.name, message.name));
        assert_true(*message.what && *message.fix);
    }
    assert_true(count > 50);
}

static void causes_follow_from_codes(void **state) {
    static const char *const rows[][2] = {
        {"NCC_EVRF007", "user"}, {"NCC_IXYZ999", "internal"},
        {"F134", "crash"},       {"F137", "memory"},
        {"70", "crash"},         {"TEN404", "internal"},
        {"NLA001", "user"},      {"hone-candidate-import", "user"},
        {"", "trace"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(message_cause(rows[i][0]), rows[i][1]);
}

static void statuses_and_lints_are_codes_too(void **state) {
    struct message message;
    (void)state;
    assert_true(message_by_code("EVRF007", &message));
    assert_true(str_is(message.name, "NCC_EVRF007"));
    assert_true(message_by_code("NRT_EXEC_OOB", &message));
    assert_true(str_is(message.name, "NRT_EXEC_OOB"));
    assert_string_equal(message.kind, "kernel");
    assert_true(message_by_code("hone-candidate-import", &message) && message.is_own);
    assert_false(message_by_code("NCC_IXYZ999", &message));
    assert_false(message_by_code("NRT_FAILURE", &message));
}

static void every_error_of_nki_is_a_code(void **state) {
    struct err err = {0};
    size_t size = 0, count = 0;
    char *text = file_read(HONE_SOURCE_DIR "/tests/runner/nki_errors.txt", 1 << 20, &size, &err);
    struct str rest = {text, size}, line;
    (void)state;
    assert_non_null(text);
    while (str_next(&rest, '\n', &line)) {
        struct message message = {0};
        char name[128];
        if (!line.len || *line.at == '#')
            continue;
        snprintf(name, sizeof name, STR_FMT, STR_ARG(line));
        if (!message_by_code(name, &message))
            fail_msg("nothing is known about %s", name);
        count++;
    }
    assert_int_equal(count, 36);
    free(text);
}

static bool explained(struct str text, const char *as) {
    struct buf out = {0};
    bool is = message_explain(text, &out) && strstr(out.at, as);
    buf_free(&out);
    return is;
}

/* The names in the sources between `begin` and a character that no name has. */
static size_t each_name(const char *file, const char *begin, bool (*fn)(struct str name)) {
    char *path = path_join(HONE_SOURCE_DIR, file), *text = file_read(path, 0, NULL, NULL);
    size_t count = 0;
    assert_non_null(text);
    for (const char *at = text; (at = strstr(at, begin)) != NULL; count++) {
        size_t len = 0;
        at++;
        while (at[len] && (isalnum((unsigned char)at[len]) || strchr("_.", at[len])))
            len++;
        if (!fn((struct str){at, len}))
            fail_msg("%s: nothing is known about %.*s", file, (int)len, at);
    }
    free(text);
    free(path);
    return count;
}

static bool is_explained(struct str name) {
    struct buf out = {0};
    bool is = message_explain(name, &out) && out.len > name.len + 4;
    buf_free(&out);
    return is;
}

/* Those that users post; no list of the documentation has them. */
static void internal_codes_of_the_compiler_are_explained(void **state) {
    (void)state;
    static const char codes[] =
        "EGCA111 IGCA044 INLA001 IXLV002 IXGM002 ILLC059 ICFG018 CFG015 IBIR030 IBIR098 IBIR158 "
        "IBIR182 IBIR229 IBIR243 IBIR297 IBIR440 IBIR441 IBIR530 IBIR605 IBVF043 IBCG901 ISFV902 "
        "ISCH714 ISCH715 ISCH719 ISCH900 IXCG863 IXCG864 IXCG965 IXCG967 IGCA030 IGCA090 IGCA103 "
        "IGCA108 INKI016 ISIM074 ISMP902 ITEN404 ITEN406 ITRF901 IRPX902 ILIN902 ILSA901 ILSA902";
    struct str rest = str_of(codes), code;
    while (str_next(&rest, ' ', &code)) {
        char full[MESSAGE_CODE];
        snprintf(full, sizeof full, "NCC_" STR_FMT, STR_ARG(code));
        if (!is_explained(str_of(full)))
            fail_msg("%s is not explained", full);
    }
    assert_true(explained(STR("[INTERNAL_ERROR] [NCC_ISMP902] Simplifier error"), "islpy"));
}

/* Every name of the language that kernels may call, and every code that hone gives findings. */
static void names_and_codes_of_the_language_are_explained(void **state) {
    static const char *const sources[] = {
        "core/nki/api/api_args.c",    "core/nki/api/api_assign.c", "core/nki/api/api_create.c",
        "core/nki/api/api_lower.c",   "core/nki/api/api_move.c",   "core/nki/api/tensor_getitem.c",
        "core/nki/api/tensor_index.c"};
    size_t codes = 0;
    (void)state;
    assert_true(each_name("core/nki/api/api_language.c", "\"nl.", is_explained) > 50);
    for (size_t i = 0; i < COUNT_OF(sources); i++)
        codes += each_name(sources[i], "\"err_", is_explained);
    assert_true(codes > 20);
    assert_true(explained(STR("nl.load"), "by DMA"));
    assert_true(explained(STR("nki.language.exp"), "nl.exp(x, dtype=None, mask=None)"));
    assert_true(explained(STR("nl.bfloat16"), "2 bytes"));
    assert_false(is_explained(STR("nl.")));
    assert_false(is_explained(STR("nl.nothing")));
    assert_false(is_explained(STR("nl.load.p")));
    assert_false(is_explained(STR("np.load")));
    assert_true(explained(STR("kernel.py:9:1: error: x [err_tensor_access_out_of_bound]"),
                          "passes the end"));
    assert_true(explained(STR("nki says err_unsupported_memory: no"), "cannot read or write"));
    assert_false(is_explained(STR("a line with my_err_unsupported_memory in it")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_mean_what_the_corpus_says),
        cmocka_unit_test(both_engines_read_every_pattern),
        cmocka_unit_test(every_code_is_found_again),
        cmocka_unit_test(causes_follow_from_codes),
        cmocka_unit_test(every_error_of_nki_is_a_code),
        cmocka_unit_test(statuses_and_lints_are_codes_too),
        cmocka_unit_test(internal_codes_of_the_compiler_are_explained),
        cmocka_unit_test(names_and_codes_of_the_language_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
