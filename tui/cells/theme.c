/* SPDX-License-Identifier: Apache-2.0 */
/* Turns roles into colours and attributes that a terminal can show. It sends nothing to a terminal;
 * tui/term does that. */
#include "tui/cells/theme.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

static const struct {
    const char *name;
    short colors[3][2]; /* dark, light, 16: foreground, background */
    unsigned attributes;
} roles[] = {
#define X(id, name, df, db, lf, lb, sf, sb, attributes) \
    {name, {{df, db}, {lf, lb}, {sf, sb}}, attributes},
    TUI_ROLE_TABLE(X)
#undef X
};

const char *tui_role_name(enum tui_role role) {
    return (unsigned)role < TUI_ROLE_COUNT ? roles[role].name : "?";
}

struct tui_look tui_look_of(struct tui_style style, enum tui_palette palette) {
    unsigned ink = style.ink < TUI_ROLE_COUNT ? style.ink : TUI_PLAIN;
    unsigned paper = style.paper < TUI_ROLE_COUNT ? style.paper : TUI_PLAIN;
    unsigned attributes = roles[ink].attributes | roles[paper].attributes;
    const unsigned only_mono = TUI_REVERSE_MONO | TUI_UNDERLINE_MONO;
    struct tui_look look = {-1, -1, attributes & ~only_mono};
    if (palette == TUI_MONO) {
        look.attributes |= attributes & TUI_REVERSE_MONO ? TUI_REVERSE : 0;
        look.attributes |= attributes & TUI_UNDERLINE_MONO ? TUI_UNDERLINE : 0;
        return look;
    }
    int which = palette == TUI_256_DARK ? 0 : palette == TUI_256_LIGHT ? 1 : 2;
    const short *front = roles[ink].colors[which], *ground = roles[paper].colors[which];
    look.background = ground[1] >= 0 ? ground[1] : front[1];
    look.foreground = ground[0] >= 0 ? ground[0] : front[0];
    if (ground[1] >= 0)
        look.attributes &= ~(unsigned)TUI_REVERSE;
    return look;
}

enum tui_palette tui_palette_from_environment(int colors) {
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
    if ((none && *none) || colors < 8 || (term && strcmp(term, "dumb") == 0))
        return TUI_MONO;
    if (colors < 256)
        return TUI_16;
    const char *ground = getenv("HONE_BACKGROUND"), *hint = getenv("COLORFGBG");
    if (ground && *ground)
        return strcmp(ground, "light") == 0 ? TUI_256_LIGHT : TUI_256_DARK;
    const char *last = hint ? strrchr(hint, ';') : NULL;
    bool light = last && (strcmp(last, ";7") == 0 || strcmp(last, ";15") == 0);
    return light ? TUI_256_LIGHT : TUI_256_DARK;
}

bool tui_ascii_from_environment(void) {
    const char *wanted = getenv("HONE_ASCII"), *term = getenv("TERM");
    if (wanted && *wanted)
        return strcmp(wanted, "0") != 0;
    if (term && (strcmp(term, "dumb") == 0 || strcmp(term, "linux") == 0))
        return true;
    return strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}
