/* SPDX-License-Identifier: Apache-2.0 */
/* The canvas, layout and charts, compared as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>
#include <math.h>

#include "tui/tui.h"
#include "tui/cells/testing.h"

static void expect_canvas(struct tui_canvas *canvas, bool styles, const char *text) {
    struct buf out = {0};
    tui_canvas_print(canvas, styles, &out);
    assert_string_equal(out.at, text);
    buf_free(&out);
    tui_canvas_free(canvas);
}

static void text_is_clipped_and_safe(void **state) {
    (void)state;
    struct tui_canvas *canvas = tui_canvas_new(3, 8, false);
    struct tui_area area = tui_area_all(canvas);
    tui_put(area, 0, -2, STR("abcdefghijklm"));
    tui_put(area, 1, 5, STR("漢字"));
    tui_put(tui_ink(area, TUI_GOOD), 2, 0,
            STR("a\x1b"
                "b"));
    tui_put(area, 3, 0, STR("nowhere"));
    expect_canvas(canvas, true, "cdefghij\n     漢\na␛b\n2: 0-0 good 1-1 warn 2-2 good\n");
}

static void half_a_wide_character_leaves_a_blank(void **state) {
    (void)state;
    struct tui_canvas *canvas = tui_canvas_new(2, 6, false);
    struct tui_area area = tui_area_all(canvas);
    tui_put(area, 0, 0, STR("漢字漢"));
    tui_put(area, 0, 1, STR("x"));
    tui_put(area, 0, 4, STR("y"));
    tui_put(area, 1, -1, STR("漢字"));
    expect_canvas(canvas, false, " x字y\n 字\n");
}

static void ascii_has_the_same_columns(void **state) {
    (void)state;
    struct tui_canvas *canvas = tui_canvas_new(4, 14, true);
    struct tui_area area = tui_area_all(canvas);
    tui_frame(tui_area_part(area, (struct tui_rect){0, 0, 3, 12}), false, "µs", "");
    tui_put(area, 1, 1, STR("a → b…漢"));
    tui_put(area, 3, 0, STR("\xe2\x80\xae"));
    expect_canvas(canvas, false, "+- us -----+\n|a > b~??  |\n+----------+\n<U+202E>\n");
}

static void frames_join(void **state) {
    (void)state;
    struct tui_canvas *canvas = tui_canvas_new(5, 9, false);
    struct tui_area area = tui_area_all(canvas);
    tui_frame(tui_area_part(area, (struct tui_rect){0, 0, 3, 5}), false, "", "");
    tui_frame(tui_area_part(area, (struct tui_rect){0, 4, 5, 5}), false, "", "");
    tui_frame(tui_area_part(area, (struct tui_rect){2, 0, 3, 5}), false, "", "");
    expect_canvas(canvas, false, "┌───┬───┐\n│   │   │\n├───┤   │\n│   │   │\n└───┴───┘\n");
}

static void words_wrap(void **state) {
    (void)state;
    struct tui_canvas *canvas = tui_canvas_new(4, 10, false);
    int rows =
        tui_put_wrapped(tui_area_all(canvas), 0, STR("keep w resident in SBUF\nincomprehensibly"));
    assert_int_equal(rows, 5);
    expect_canvas(canvas, false, "keep w\nresident\nin SBUF\nincomprehe\n");
}

static void splits_fill_their_rectangle(void **state) {
    (void)state;
    const struct tui_share shares[] = {{1, 0}, {3, 2}, {3, 1}, {1, 0}};
    for (int rows = 0; rows < 120; rows++)
        for (int overlap = 0; overlap < 2; overlap++) {
            struct tui_rect parts[4], rect = {5, 7, rows, 30};
            tui_split_rows(rect, shares, 4, overlap, parts);
            int at = rect.row;
            for (int i = 0; i < 4; i++) {
                assert_int_equal(parts[i].row, at);
                assert_int_equal(parts[i].cols, 30);
                assert_true(parts[i].rows >= 0);
                at += MAX_OF(parts[i].rows - overlap, 0);
            }
            if (rows >= 10)
                assert_int_equal(parts[3].row + parts[3].rows, rect.row + rows);
        }
}

static void bars_and_lines(void **state) {
    (void)state;
    struct tui_canvas *canvas = tui_canvas_new(5, 12, false);
    struct tui_area area = tui_area_all(canvas);
    tui_chart_bar(tui_area_part(area, (struct tui_rect){0, 0, 1, 4}), 0.53, TUI_BAR);
    tui_chart_bar(tui_area_part(area, (struct tui_rect){1, 0, 1, 4}), 1e-9, TUI_BAR);
    const double values[] = {1, 2, NAN, 4, 8, 8};
    tui_chart_sparkline(tui_area_part(area, (struct tui_rect){2, 0, 1, 12}), values, 6);
    const struct tui_busy busy[] = {{0, 5}, {5, 7.5}, {9.99, 10}};
    tui_chart_busy(tui_area_part(area, (struct tui_rect){3, 0, 1, 10}), busy, 3,
                   (struct tui_busy){0, 10}, TUI_LANE_1);
    tui_chart_bar(tui_area_part(area, (struct tui_rect){4, 0, 1, 4}), NAN, TUI_BAR);
    expect_canvas(canvas, false, "██▏\n▏\n▁▂ ▄██\n███████▅ ▁\n\n");
}

static void steps_go_down_with_the_values(void **state) {
    (void)state;
    struct tui_canvas *canvas = tui_canvas_new(2, 6, false);
    const double values[] = {4, 4, 2, 2, 1, 1};
    assert_true(tui_chart_steps(tui_area_all(canvas), values, 6, TUI_GOOD));
    expect_canvas(canvas, false, "⠉⠉⡇\n  ⠓⠒⣆⣀\n");
}

static void a_roofline_has_its_ridge(void **state) {
    (void)state;
    struct tui_canvas *canvas = tui_canvas_new(10, 44, true);
    const struct tui_mark marks[] = {{20, 8, "o", TUI_DIM}, {20, 16, "x", TUI_GOOD}};
    const struct tui_roofline roof = {90, 0.4, 40, "FLOP/B", "TFLOPS", marks, 2};
    tui_chart_roofline(tui_area_all(canvas), &roof);
    struct buf out = {0};
    tui_canvas_print(canvas, false, &out);
    assert_non_null(strstr(out.at, "FLOP/B"));
    assert_non_null(strstr(out.at, "TFLOPS"));
    assert_non_null(strchr(out.at, 'x'));
    assert_non_null(strchr(out.at, '*'));
    buf_free(&out);
    tui_canvas_free(canvas);
}

/* Whatever the size, nothing may be written outside. The build's sanitiser would find it. */
static void charts_survive_every_size(void **state) {
    (void)state;
    const double values[] = {1, NAN, 3, INFINITY, -4};
    const struct tui_busy busy[] = {{-3, 2}, {5, 4}, {1e300, 1e301}};
    const struct tui_mark marks[] = {{1, 1, "x", TUI_GOOD}, {-1, NAN, "y", TUI_GOOD}};
    const struct tui_roofline roof = {1, 1e-3, NAN, "x", "y", marks, 2};
    for (int rows = 1; rows < 14; rows++)
        for (int cols = 1; cols < 40; cols++) {
            struct tui_canvas *canvas = tui_canvas_new(rows, cols, rows % 2);
            struct tui_area area = tui_area_all(canvas);
            tui_chart_steps(area, values, 5, TUI_BAR);
            tui_chart_busy(area, busy, 3, (struct tui_busy){0, 3}, TUI_BAR);
            tui_chart_roofline(area, &roof);
            tui_frame(area, true, "title", "a note at the right");
            tui_canvas_free(canvas);
        }
}

static void every_role_is_told_apart_without_colour(void **state) {
    (void)state;
    struct tui_look cursor = tui_look_of((struct tui_style){TUI_PLAIN, TUI_PAPER_CURSOR}, TUI_MONO);
    assert_true(cursor.attributes & TUI_REVERSE);
    for (unsigned role = 0; role < TUI_ROLE_COUNT; role++) {
        struct tui_look mono = tui_look_of((struct tui_style){(uint8_t)role, 0}, TUI_MONO);
        assert_int_equal(mono.foreground, -1);
        assert_int_equal(mono.background, -1);
        struct tui_look few = tui_look_of((struct tui_style){(uint8_t)role, 0}, TUI_16);
        assert_true(few.foreground < 16 && few.background < 16);
    }
}

int main(void) {
    setlocale(LC_ALL, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_clipped_and_safe),
        cmocka_unit_test(half_a_wide_character_leaves_a_blank),
        cmocka_unit_test(ascii_has_the_same_columns),
        cmocka_unit_test(frames_join),
        cmocka_unit_test(words_wrap),
        cmocka_unit_test(splits_fill_their_rectangle),
        cmocka_unit_test(bars_and_lines),
        cmocka_unit_test(steps_go_down_with_the_values),
        cmocka_unit_test(a_roofline_has_its_ridge),
        cmocka_unit_test(charts_survive_every_size),
        cmocka_unit_test(every_role_is_told_apart_without_colour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
