/* SPDX-License-Identifier: Apache-2.0 */
/* Golden files of screens: some rows of a canvas, and lines that many scenes have in common. */
#ifndef HONE_TESTS_SCREENS_GOLDEN_H
#define HONE_TESTS_SCREENS_GOLDEN_H

#include "screens/replay.h"
#include "tui/cells/testing.h"
#include "views/inner.h"

/* Compares with golden/FILE.txt, or writes it. */
static void golden_compare(const char *file, const struct buf *screen) {
    char path[512];
    struct err err;
    snprintf(path, sizeof path, REPLAY_FOLDER "golden/%s.txt", file);
    if (getenv("HONE_REGEN")) {
        assert_true(file_write(path, screen->at, screen->len, &err));
        return;
    }
    char *expected = file_read(path, 0, NULL, &err);
    assert_non_null(expected);
    if (strcmp(expected, screen->at) != 0)
        print_message("%s differs; it shows now:\n%s\n", file, screen->at);
    assert_string_equal(screen->at, expected);
    free(expected);
}

struct golden_rows {
    int first, count;
};

/* The rows under something that lies over the screen. count 0: nothing does. */
static struct golden_rows golden_popup(const struct tui_canvas *canvas) {
    struct golden_rows rows = {0, 0};
    for (int i = 0; i < canvas->rows * canvas->cols; i++) {
        if (canvas->cells[i].style.paper != TUI_PAPER_POPUP)
            continue;
        rows.first = rows.count ? rows.first : i / canvas->cols;
        rows.count = i / canvas->cols + 1 - rows.first;
    }
    return rows;
}

/* The rows that the screen itself draws, without head, title, status and keys. */
static struct golden_rows golden_body(const struct views *views, const struct tui_canvas *canvas) {
    int first = views->view == VIEW_START ? 0 : views->view == VIEW_WORKBENCH ? 1 : 2;
    if (canvas->rows < VIEWS_MIN_ROWS || canvas->cols < VIEWS_MIN_COLS)
        return (struct golden_rows){0, canvas->rows};
    return (struct golden_rows){first, canvas->rows - 2 - first};
}

/* A canvas that has only these rows. */
static struct tui_canvas *golden_part(const struct tui_canvas *whole, struct golden_rows rows) {
    struct tui_canvas *part = tui_canvas_new(rows.count, whole->cols, whole->ascii);
    memcpy(part->cells, whole->cells + (size_t)rows.first * (size_t)whole->cols,
           (size_t)rows.count * (size_t)whole->cols * sizeof *part->cells);
    return part;
}

/* ---- what stands around the screens --------------------------------------------------------- */

enum golden_line { GOLDEN_HEAD, GOLDEN_TITLE, GOLDEN_STATUS, GOLDEN_KEYS, GOLDEN_LINES };

/* A line as it is drawn, and the scenes that have it. Heads and titles have little to do with what
 * a scene is about, so of these only the first scene. */
struct golden_shared {
    struct buf line, scenes;
};
struct golden_chrome {
    VEC(struct golden_shared) lines[GOLDEN_LINES];
};

static void golden_add(struct golden_chrome *chrome, enum golden_line which, const char *scene,
                       const struct buf *line) {
    size_t at = 0, count = chrome->lines[which].len;
    while (at < count && strcmp(chrome->lines[which].at[at].line.at, line->at) != 0)
        at++;
    if (at == count) {
        struct golden_shared *shared = vec_push(&chrome->lines[which]);
        *shared = (struct golden_shared){0};
        buf_puts(&shared->line, line->at);
    }
    struct golden_shared *shared = &chrome->lines[which].at[at];
    bool names = which == GOLDEN_STATUS || which == GOLDEN_KEYS;
    if (names || at == count)
        buf_printf(&shared->scenes, "%s%s", shared->scenes.len ? " " : "", scene);
}

/* Keeps the lines around the screen that is drawn, except one that something lies on. */
static void golden_note(struct golden_chrome *chrome, const struct views *views, const char *scene,
                        const struct tui_canvas *canvas) {
    bool titled = views->view != VIEW_START && views->view != VIEW_WORKBENCH;
    struct golden_rows popup = golden_popup(canvas);
    const int rows[GOLDEN_LINES] = {views->view == VIEW_START ? -1 : 0, titled ? 1 : -1,
                                    canvas->rows - 2, canvas->rows - 1};
    for (int i = 0; i < GOLDEN_LINES; i++) {
        if (rows[i] < 0 || (rows[i] >= popup.first && rows[i] < popup.first + popup.count))
            continue;
        struct tui_canvas *row = golden_part(canvas, (struct golden_rows){rows[i], 1});
        struct buf line = {0};
        tui_canvas_print(row, !canvas->ascii, &line);
        golden_add(chrome, (enum golden_line)i, scene, &line);
        buf_free(&line);
        tui_canvas_free(row);
    }
}

/* Compares them with chrome-<line>-<suffix>.txt. */
static void golden_chrome_compare(struct golden_chrome *chrome, const char *suffix) {
    static const char *const names[GOLDEN_LINES] = {"head", "title", "status", "keys"};
    for (int i = 0; i < GOLDEN_LINES; i++) {
        struct buf all = {0};
        char file[64];
        for (size_t k = 0; k < chrome->lines[i].len; k++) {
            struct golden_shared *shared = &chrome->lines[i].at[k];
            buf_printf(&all, "== %s\n%s", shared->scenes.at, shared->line.at);
            buf_free(&shared->line);
            buf_free(&shared->scenes);
        }
        snprintf(file, sizeof file, "chrome-%s-%s", names[i], suffix);
        golden_compare(file, &all);
        buf_free(&all);
        vec_free(&chrome->lines[i]);
    }
}

#endif
