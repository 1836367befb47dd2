/* SPDX-License-Identifier: Apache-2.0 */
/* Colours by meaning. A view names a role. What the role looks like is decided here. */
#ifndef HONE_TUI_THEME_H
#define HONE_TUI_THEME_H

#include <stdbool.h>
#include <stdint.h>

/* X(ID, name, dark: foreground, background, light: foreground, background, 16: foreground,
 *   background, attributes). Colours are indexes of the 256-colour cube, or of the first 8 with
 *   8 added for bright ones; -1 is the terminal's own. Every role that carries a meaning differs
 *   from plain text by its attributes or by a sign that the view draws, never by colour alone. */
#define TUI_ROLE_TABLE(X)                                                                  \
    X(PLAIN, "plain", -1, -1, -1, -1, -1, -1, 0)                                           \
    X(DIM, "dim", 245, -1, 244, -1, 8, -1, 0)                                              \
    X(STRONG, "strong", -1, -1, -1, -1, -1, -1, TUI_BOLD)                                  \
    X(TITLE, "title", 81, -1, 25, -1, 6, -1, TUI_BOLD)                                     \
    X(BRAND, "brand", 214, -1, 130, -1, 3, -1, TUI_BOLD)                                   \
    X(FRAME, "frame", 239, -1, 250, -1, 8, -1, 0)                                          \
    X(FRAME_FOCUS, "frame-focus", 81, -1, 25, -1, 6, -1, TUI_BOLD)                         \
    X(LINE_NUMBER, "line-number", 240, -1, 247, -1, 8, -1, 0)                              \
    X(KEY, "key", 214, -1, 130, -1, 3, -1, TUI_BOLD)                                       \
    X(GOOD, "good", 114, -1, 28, -1, 2, -1, 0)                                             \
    X(BAD, "bad", 203, -1, 160, -1, 1, -1, TUI_BOLD)                                       \
    X(WARN, "warn", 221, -1, 136, -1, 3, -1, 0)                                            \
    X(ACTIVE, "active", 81, -1, 25, -1, 6, -1, TUI_BOLD)                                   \
    X(WAITING, "waiting", 214, -1, 130, -1, 3, -1, TUI_BOLD)                               \
    X(ADDED, "added", 114, -1, 28, -1, 2, -1, 0)                                           \
    X(REMOVED, "removed", 203, -1, 160, -1, 1, -1, 0)                                      \
    X(HUNK, "hunk", 110, -1, 31, -1, 6, -1, 0)                                             \
    X(NUMBER, "number", 180, -1, 94, -1, 3, -1, 0)                                         \
    X(KEYWORD, "keyword", 176, -1, 90, -1, 5, -1, 0)                                       \
    X(STRING, "string", 150, -1, 64, -1, 2, -1, 0)                                         \
    X(COMMENT, "comment", 244, -1, 244, -1, 8, -1, 0)                                      \
    X(CALL, "call", 117, -1, 24, -1, 6, -1, 0)                                             \
    X(HEAT_1, "heat-1", 107, -1, 107, -1, 2, -1, 0)                                        \
    X(HEAT_2, "heat-2", 221, -1, 136, -1, 3, -1, 0)                                        \
    X(HEAT_3, "heat-3", 209, -1, 166, -1, 1, -1, 0)                                        \
    X(HEAT_4, "heat-4", 203, -1, 160, -1, 9, -1, TUI_BOLD)                                 \
    X(BAR, "bar", 74, -1, 31, -1, 6, -1, 0)                                                \
    X(BAR_OTHER, "bar-other", 238, -1, 252, -1, 8, -1, 0)                                  \
    X(LANE_1, "lane-1", 74, -1, 31, -1, 6, -1, 0)                                          \
    X(LANE_2, "lane-2", 114, -1, 28, -1, 2, -1, 0)                                         \
    X(LANE_3, "lane-3", 180, -1, 94, -1, 3, -1, 0)                                         \
    X(LANE_4, "lane-4", 176, -1, 90, -1, 5, -1, 0)                                         \
    X(LANE_5, "lane-5", 209, -1, 166, -1, 1, -1, 0)                                        \
    X(PAPER_BAR, "paper-bar", -1, 235, -1, 254, -1, -1, 0)                                 \
    X(PAPER_CURSOR, "paper-cursor", -1, 237, -1, 253, 15, 4, TUI_REVERSE_MONO)             \
    X(PAPER_PICKED, "paper-picked", 232, 81, 231, 25, 0, 6, TUI_REVERSE)                   \
    X(PAPER_ADDED, "paper-added", -1, 235, -1, 194, -1, -1, 0)                             \
    X(PAPER_REMOVED, "paper-removed", -1, 235, -1, 224, -1, -1, 0)                         \
    X(PAPER_ADDED_WORD, "paper-added-word", -1, 22, -1, 157, 0, 2, TUI_UNDERLINE_MONO)     \
    X(PAPER_REMOVED_WORD, "paper-removed-word", -1, 52, -1, 217, 0, 1, TUI_UNDERLINE_MONO) \
    X(PAPER_FOUND, "paper-found", 232, 221, 16, 221, 0, 3, TUI_REVERSE_MONO)               \
    X(PAPER_POPUP, "paper-popup", -1, 234, -1, 255, -1, -1, 0)

enum tui_role {
#define X(id, ...) TUI_##id,
    TUI_ROLE_TABLE(X)
#undef X
        TUI_ROLE_COUNT
};

enum tui_attribute {
    TUI_BOLD = 1,
    TUI_UNDERLINE = 2,
    TUI_REVERSE = 4,
    TUI_REVERSE_MONO = 8, /* reverse only where there is no background colour to show */
    TUI_UNDERLINE_MONO = 16,
};

/* How much colour there is, and on which background. */
enum tui_palette { TUI_MONO, TUI_16, TUI_256_DARK, TUI_256_LIGHT };

/* What a cell looks like: the role of its text, and that of its ground when it lies on
 * something. */
struct tui_style {
    uint8_t ink, paper; /* enum tui_role; paper TUI_PLAIN is the terminal's own ground */
};

/* A style made ready for a terminal. */
struct tui_look {
    short foreground, background; /* -1: the terminal's own */
    unsigned attributes;
};
struct tui_look tui_look_of(struct tui_style style, enum tui_palette palette);
const char *tui_role_name(enum tui_role role);
/* The palette for a terminal with that many colours, by the rules of NO_COLOR, TERM, COLORFGBG and
 * HONE_BACKGROUND (dark or light). */
enum tui_palette tui_palette_from_environment(int colors);
/* Whether only ASCII may be drawn: HONE_ASCII=1, TERM=dumb or linux, or a locale without UTF-8. */
bool tui_ascii_from_environment(void);

#endif
