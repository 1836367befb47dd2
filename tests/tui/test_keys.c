/* SPDX-License-Identifier: Apache-2.0 */
/* Keys: bytes to events, names, bindings, editing, menus. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>

#include "tui/tui.h"

/* All events of some bytes as one text. */
static void expect_events(const char *bytes, const char *expected) {
    struct tui_decoder *decoder = tui_decoder_new();
    struct tui_event event;
    struct buf out = {0};
    tui_decoder_feed(decoder, bytes, strlen(bytes));
    for (int final = 0; final < 2; final++)
        while (tui_decoder_next(decoder, final, &event)) {
            buf_puts(&out, out.len ? " " : "");
            if (event.kind == TUI_EVENT_KEY)
                tui_key_print(event.key, &out);
            else if (event.kind == TUI_EVENT_PASTE)
                buf_printf(&out, "paste(" STR_FMT ")", STR_ARG(event.paste));
            else
                buf_printf(&out, "%s(%d,%d,%d)", event.kind == TUI_EVENT_CLICK ? "click" : "wheel",
                           event.row, event.col, event.wheel);
        }
    assert_string_equal(out.at ? out.at : "", expected);
    assert_false(tui_decoder_waits(decoder));
    buf_free(&out);
    tui_decoder_free(decoder);
}

static void bytes_become_keys(void **state) {
    (void)state;
    expect_events("aZ \r\t\x7f\x12\x1a", "a Z Space Enter Tab Backspace C-r C-z");
    expect_events("\x1b[A\x1bOB\x1b[1;5C\x1b[5~\x1b[3;2~\x1b[Z",
                  "Up Down C-Right PageUp S-Delete S-Tab");
    expect_events("\x1bx\x1b\r", "M-x M-Enter");
    expect_events("\x1b", "Esc");
    expect_events("\x1b\x1b[A", "Esc Up");
    expect_events("µ漢", "µ 漢");
    expect_events("\xff\xe2\x80\xae"
                  "a",
                  "a");
    expect_events("\x1b[?1;2c\x1b[99~b", "b");
}

static void the_mouse_is_counted_from_zero(void **state) {
    (void)state;
    expect_events("\x1b[<0;10;5M\x1b[<0;10;5m\x1b[<64;1;1M\x1b[<65;1;1M\x1b[<2;1;1M",
                  "click(4,9,0) wheel(0,0,-1) wheel(0,0,1)");
}

static void a_paste_is_one_event(void **state) {
    (void)state;
    expect_events("a\x1b[200~rm -rf q:\r\n\x1b[A\x1b[201~b", "a paste(rm -rf q:\r\n\x1b[A) b");
}

static void split_sequences_are_put_together(void **state) {
    (void)state;
    static const char bytes[] = "\x1b[200~hi\x1b[201~\x1b[1;5C漢";
    struct tui_decoder *decoder = tui_decoder_new();
    struct tui_event event;
    int events = 0;
    for (size_t i = 0; i + 1 < sizeof bytes; i++) {
        tui_decoder_feed(decoder, bytes + i, 1);
        while (tui_decoder_next(decoder, false, &event))
            events++;
    }
    assert_int_equal(events, 3);
    assert_int_equal(event.kind, TUI_EVENT_KEY);
    tui_decoder_free(decoder);
}

/* It is longer than any that means something, and its end comes later or never. */
static void an_overlong_sequence_is_dropped_whole_in_pieces_too(void **state) {
    (void)state;
    struct tui_decoder *decoder = tui_decoder_new();
    struct tui_event event;
    char bytes[100] = "\x1b[";
    memset(bytes + 2, '1', sizeof bytes - 2);
    tui_decoder_feed(decoder, bytes, sizeof bytes);
    assert_false(tui_decoder_next(decoder, false, &event));
    tui_decoder_feed(decoder, "11;5", 4);
    assert_false(tui_decoder_next(decoder, false, &event));
    tui_decoder_feed(decoder, "5~x", 3);
    assert_true(tui_decoder_next(decoder, false, &event));
    assert_int_equal(event.key.code, 'x');
    tui_decoder_feed(decoder, bytes, sizeof bytes);
    assert_false(tui_decoder_next(decoder, false, &event));
    assert_false(tui_decoder_next(decoder, true, &event)); /* nothing more came */
    tui_decoder_feed(decoder, "5", 1);
    assert_true(tui_decoder_next(decoder, false, &event));
    assert_int_equal(event.key.code, '5');
    tui_decoder_free(decoder);
}

static void random_bytes_end(void **state) {
    (void)state;
    static const char alphabet[] = "\x1b\x1b[[<O;0123456789~MmABZ200201\r\xe2\x80\xff a";
    uint64_t seed = 99;
    for (int turn = 0; turn < 3000; turn++) {
        struct tui_decoder *decoder = tui_decoder_new();
        struct tui_field field = {.many_lines = turn % 2};
        struct tui_event event;
        for (int i = 0; i < 60; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            tui_decoder_feed(decoder, &alphabet[(seed >> 33) % (sizeof alphabet - 1)], 1);
            while (tui_decoder_next(decoder, (seed >> 60) == 0, &event)) {
                tui_field_event(&field, &event);
                assert_true(field.cursor <= field.text.len);
            }
        }
        tui_field_free(&field);
        tui_decoder_free(decoder);
    }
}

static void bindings_are_text(void **state) {
    (void)state;
    struct tui_bindings bindings = {0};
    struct err err;
    struct tui_key key;
    assert_true(tui_bindings_parse(
        &bindings, STR("# keys\nany q quit\nkernel C-f find\n\nany # hash\n"), "keys", NULL, &err));
    assert_true(tui_key_parse(STR("q"), &key));
    assert_string_equal(tui_bindings_find(&bindings, "kernel", key), "quit");
    assert_true(tui_bindings_parse(&bindings, STR("kernel q none"), "keys", NULL, &err));
    assert_null(tui_bindings_find(&bindings, "kernel", key));
    assert_string_equal(tui_bindings_find(&bindings, "other", key), "quit");
    assert_false(
        tui_bindings_parse(&bindings, STR("any q quit\nany Hyper-q quit"), "my.keys", NULL, &err));
    assert_non_null(strstr(err.text, "my.keys:2: no key is called 'Hyper-q'"));
    assert_true(tui_bindings_key_of(&bindings, "kernel", "find", &key));
    assert_int_equal(key.modifiers, TUI_CTRL);
    tui_bindings_free(&bindings);
}

static void type(struct tui_field *field, const char *bytes) {
    struct tui_decoder *decoder = tui_decoder_new();
    struct tui_event event;
    tui_decoder_feed(decoder, bytes, strlen(bytes));
    while (tui_decoder_next(decoder, true, &event))
        tui_field_event(field, &event);
    tui_decoder_free(decoder);
}

static void a_field_is_edited_as_a_shell_is(void **state) {
    (void)state;
    struct tui_field field = {0};
    type(&field, "wrong way\x17"
                 "tile\x01the \x05 µ\x7f!");
    assert_string_equal(field.text.at, "the wrong tile !");
    type(&field, "\r\x15next\r\x15\x1b[A\x1b[A");
    assert_string_equal(field.text.at, "the wrong tile !");
    type(&field, "\x15\x1b[200~two\r\nlines\x1b[201~");
    assert_string_equal(field.text.at, "two lines");
    tui_field_free(&field);
    field = (struct tui_field){.many_lines = true};
    type(&field, "ab\x1b\rcd\x1b[Ax");
    assert_string_equal(field.text.at, "abx\ncd");
    tui_field_free(&field);
}

static void a_menu_is_narrowed_by_words(void **state) {
    (void)state;
    static const struct tui_menu_row rows[] = {
        {"approve", "a", "accept what waits", 10, false, NULL},
        {"reject", "r", "refuse the proposal with a reason", 11, false, NULL},
        {"revert", "R", "make an attempt the incumbent", 12, false, NULL},
    };
    struct tui_menu menu = {0};
    tui_menu_open(&menu, rows, 3);
    assert_int_equal(tui_menu_chosen(&menu), 10);
    type(&menu.filter, "");
    for (const char *c = "re inc"; *c; c++) {
        struct tui_event event = {.key = {(uint32_t)*c, 0}};
        tui_menu_event(&menu, &event);
    }
    assert_int_equal(tui_menu_chosen(&menu), 12);
    struct tui_event more = {.key = {'z', 0}};
    tui_menu_event(&menu, &more);
    assert_int_equal(tui_menu_chosen(&menu), -1);
    tui_menu_free(&menu);
}

static void a_question_takes_no_letters(void **state) {
    (void)state;
    static const struct tui_menu_row rows[] = {
        {"keep", "now", "as it is", 0, false, NULL},
        {"any", "", "whatever", 1, false, NULL},
    };
    struct tui_menu menu = {0};
    tui_menu_question(&menu, rows, 2);
    struct tui_event event = {.key = {'a', 0}};
    assert_int_equal(tui_menu_event(&menu, &event), TUI_ANSWER_OPEN);
    assert_int_equal(tui_menu_chosen(&menu), 0);
    assert_int_equal(menu.filter.text.len, 0);
    event.key.code = TUI_KEY_DOWN;
    tui_menu_event(&menu, &event);
    assert_int_equal(tui_menu_chosen(&menu), 1);
    event.key.code = TUI_KEY_ENTER;
    assert_int_equal(tui_menu_event(&menu, &event), TUI_ANSWER_DONE);
    event.key.code = TUI_KEY_ESCAPE;
    assert_int_equal(tui_menu_event(&menu, &event), TUI_ANSWER_CANCELLED);
    tui_menu_open(&menu, rows, 2);
    event.key.code = 'a';
    assert_int_equal(tui_menu_event(&menu, &event), TUI_ANSWER_CHANGED);
    tui_menu_free(&menu);
}

static void a_list_keeps_its_cursor_in_sight(void **state) {
    (void)state;
    struct tui_list list = {.follow = true};
    tui_list_fit(&list, 100, 10);
    assert_int_equal(list.top, 90);
    tui_list_move(&list, TUI_MOVE_UP);
    tui_list_fit(&list, 120, 10);
    assert_int_equal(list.cursor, 98);
    tui_list_scroll(&list, -50);
    assert_true(list.cursor >= list.top && list.cursor < list.top + 10);
    tui_list_fit(&list, 0, 10);
    assert_int_equal(list.top, 0);
    tui_list_move(&list, TUI_MOVE_LAST);
    assert_int_equal(list.cursor, 0);
}

static struct tui_event key_event_of(uint32_t code) {
    return (struct tui_event){.kind = TUI_EVENT_KEY, .key = {code, 0}};
}

static void the_cursor_of_a_menu_stands_on_no_heading(void **state) {
    (void)state;
    static const struct tui_menu_row rows[] = {
        {"edit", "e", "", 1, false, "workbench"},
        {"zoom", "z", "", 2, false, "workbench"},
        {"mark", "Space", "", 3, true, "history"},
    };
    struct tui_menu menu = {0};
    struct tui_event up = key_event_of(TUI_KEY_UP), down = key_event_of(TUI_KEY_DOWN);
    tui_menu_open(&menu, rows, 3);
    assert_int_equal(menu.list.count, 5);
    assert_int_equal(tui_menu_chosen(&menu), 1);
    tui_menu_event(&menu, &up);
    assert_int_equal(tui_menu_chosen(&menu), 1);
    tui_menu_event(&menu, &down);
    tui_menu_event(&menu, &down);
    assert_int_equal(tui_menu_chosen(&menu), 3);
    tui_menu_event(&menu, &down);
    assert_int_equal(tui_menu_chosen(&menu), 3);
    tui_menu_event(&menu, &up);
    assert_int_equal(tui_menu_chosen(&menu), 2);
    for (const char *word = "history"; *word; word++) {
        struct tui_event typed = key_event_of((uint8_t)*word);
        tui_menu_event(&menu, &typed);
    }
    assert_int_equal(menu.list.count, 2);
    assert_int_equal(tui_menu_chosen(&menu), 3);
    tui_menu_free(&menu);
}

static void a_key_that_a_context_has_for_another_command_is_not_shown(void **state) {
    (void)state;
    struct tui_bindings bindings = {0};
    struct tui_key key;
    struct err err;
    assert_true(tui_bindings_parse(&bindings,
                                   STR("any t retry\nany x retry\nany n next\n"
                                       "profile t timeline\nnotes n none\n"),
                                   "my.keys", NULL, &err));
    assert_true(tui_bindings_key_of(&bindings, "kernel", "retry", &key));
    assert_int_equal(key.code, 't');
    assert_true(tui_bindings_key_of(&bindings, "profile", "retry", &key));
    assert_int_equal(key.code, 'x');
    assert_false(tui_bindings_key_of(&bindings, "notes", "next", &key));
    tui_bindings_free(&bindings);
}

int main(void) {
    setlocale(LC_ALL, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_become_keys),
        cmocka_unit_test(the_mouse_is_counted_from_zero),
        cmocka_unit_test(a_paste_is_one_event),
        cmocka_unit_test(split_sequences_are_put_together),
        cmocka_unit_test(an_overlong_sequence_is_dropped_whole_in_pieces_too),
        cmocka_unit_test(random_bytes_end),
        cmocka_unit_test(bindings_are_text),
        cmocka_unit_test(a_field_is_edited_as_a_shell_is),
        cmocka_unit_test(a_menu_is_narrowed_by_words),
        cmocka_unit_test(a_question_takes_no_letters),
        cmocka_unit_test(a_list_keeps_its_cursor_in_sight),
        cmocka_unit_test(the_cursor_of_a_menu_stands_on_no_heading),
        cmocka_unit_test(a_key_that_a_context_has_for_another_command_is_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
