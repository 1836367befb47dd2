/* SPDX-License-Identifier: Apache-2.0 */
/* Questions in SQL on screen 5: chosen, typed, completed, answered, mended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "screens/acts.h"

static void on_query(void *context, int attempt, const char *sql) {
    (void)context;
    buf_printf(&done, "#%d %s\n", attempt, sql);
}

static bool on_question(void *context, size_t index, struct views_question *question) {
    static const struct views_question all[] = {
        {"lines", "what lines cost", "SELECT line\n  FROM Line"},
        {NULL, "SELECT 7", "SELECT 7"},
    };
    (void)context;
    if (index < COUNT_OF(all))
        *question = all[index];
    return index < COUNT_OF(all);
}

static const char *on_name(void *context, size_t index) {
    static const char *const names[] = {"Instruction",  "opcode", "operands", "Line",
                                        "instructions", "opcode", "line"};
    (void)context;
    return index < COUNT_OF(names) ? names[index] : NULL;
}

static struct views *views_that_ask(struct tune_state *state) {
    struct views *views = make_views(state);
    views_set_model(
        views, &(struct views_model){
                   .state = state, .query = on_query, .question = on_question, .name = on_name});
    return views;
}

static void they_are_chosen_and_typed(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("kept", &now_ms);
    struct views *views = views_that_ask(state);
    char sql[80];
    snprintf(sql, sizeof sql, "#%d SELECT line FROM Line\n", state->incumbent);
    assert_true(shows(views, "5 Q", "what lines cost"));
    assert_true(shows(views, "Esc Q", "asked"));
    said("");
    assert_true(shows(views, "Enter", "is asked .."));
    said(sql);
    views_query_answered(views, "line  us\n   9  2.5\n  12  1.5\n", false);
    assert_true(shows(views, "", "  12  1.5"));
    assert_true(shows(views, "/ 1 2 Enter", "line  us"));
    assert_int_equal(views_list(views)->cursor, 1);
    assert_true(shows(views, "Q Down Enter", "query SELECT 7")); /* to be changed */
    assert_true(shows(views, "Space + Space 1 Enter", "SELECT 7 + 1"));
    views_query_answered(views, "", false);
    assert_true(shows(views, "", "no rows"));
    assert_true(shows(views, "Q S E L E C T Enter", "query SELECT")); /* one of their own */
    assert_true(shows(views, "Esc", "no rows"));
    views_free(views);
    buf_free(&done);
    tune_state_free(state);
}

static void names_are_completed_and_questions_mended(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("kept", &now_ms);
    struct views *views = views_that_ask(state);
    char sql[24];
    assert_true(shows(views, "5 i I n s Tab L", "query Instruction L"));
    /* A capital says that no column is meant; without it a table may be, too. */
    assert_true(shows(views, "Esc i i n s t r Tab", "query instructions"));
    assert_true(shows(views, "Esc i i N s Tab", "query Instruction"));
    assert_true(shows(views, "Tab L", "query Instruction L"));
    assert_true(shows(views, "Esc i I n s t r Tab L", "query Instruction L"));
    assert_true(shows(views, "Esc i o Tab Tab", "opcode  operands")); /* which they are */
    assert_false(shows(views, "", "operands  opcode"));
    assert_true(shows(views, "e Tab", "query operands"));
    assert_true(shows(views, "z z Tab Enter", "is asked .."));
    buf_clear(&done);
    views_query_answered(views, "there is no column zz here", true);
    assert_true(shows(views, "", "there is no column zz here"));
    assert_true(shows(views, "i", "query operands zz"));
    assert_true(shows(views, "C-u q u e r y Space 1 Enter i", "query")); /* it is asked anew */
    snprintf(sql, sizeof sql, "#%d 1\n", state->incumbent);
    said(sql);
    assert_true(shows(views, "Up", "query 1"));
    views_free(views);
    buf_free(&done);
    tune_state_free(state);
}

int main(void) {
    acts_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_chosen_and_typed),
        cmocka_unit_test(names_are_completed_and_questions_mended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
