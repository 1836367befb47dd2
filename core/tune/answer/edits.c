/* SPDX-License-Identifier: Apache-2.0 */
/* Search/replace blocks and unified diffs out of a model's answer, and putting them into the kernel
 * where their meaning is certain. Pure text; whether it compiles is found out by others. */
#include "tune/answer/edits.h"
#include "tune/answer/lines.h"

#include <ctype.h>
#include <stdlib.h>

#define MAX_EDITS 200
#define SHOWN 90 /* of a line that could not be found */

void tune_edits_free(struct tune_edits *edits) {
    for (size_t i = 0; i < edits->list.len; i++) {
        buf_free(&edits->list.at[i].search);
        buf_free(&edits->list.at[i].replace);
    }
    vec_free(&edits->list);
}

/* ----------------------------------------------------------------------- search/replace blocks */

/* "<<<<<<< SEARCH" with five to ten marks; models miscount. */
static bool is_mark(struct str line, char mark, const char *word) {
    struct str text = str_trim(line);
    size_t count = 0;
    while (count < text.len && text.at[count] == mark)
        count++;
    struct str rest = str_trim((struct str){text.at + count, text.len - count});
    if (count < 5 || count > 10)
        return false;
    return !rest.len ||
           (word && rest.len >= strlen(word) && !strncasecmp(rest.at, word, strlen(word)));
}

static void find_blocks(struct str answer, struct tune_edits *edits) {
    struct str rest = answer, line;
    enum { OUTSIDE, SEARCH, REPLACE } where = OUTSIDE;
    while (str_next(&rest, '\n', &line)) {
        line = without_return(line);
        struct tune_edit *edit = edits->list.len ? &edits->list.at[edits->list.len - 1] : NULL;
        if (where != REPLACE && is_mark(line, '<', "SEARCH") && edits->list.len < MAX_EDITS) {
            *vec_push(&edits->list) = (struct tune_edit){0};
            where = SEARCH;
        } else if (where == SEARCH && is_mark(line, '=', NULL)) {
            where = REPLACE;
        } else if (where == REPLACE && is_mark(line, '>', "REPLACE")) {
            where = OUTSIDE;
        } else if (where != OUTSIDE) {
            add_line(where == SEARCH ? &edit->search : &edit->replace, line);
        }
    }
    edits->open = where != OUTSIDE;
}

/* -------------------------------------------------------------------------------- unified diff */

/* Hunks become search/replace pairs: line numbers of models are not to be trusted, context is. */
static void find_hunks(struct str answer, struct tune_edits *edits) {
    struct str rest = answer, line;
    bool inside = false;
    while (str_next(&rest, '\n', &line)) {
        line = without_return(line);
        if (str_starts(line, "@@") && edits->list.len < MAX_EDITS) {
            *vec_push(&edits->list) = (struct tune_edit){0};
            inside = true;
            continue;
        }
        if (!inside || str_starts(line, "```") || str_starts(line, "diff ") ||
            str_starts(line, "--- ") || str_starts(line, "+++ ") || str_starts(line, "\\ ")) {
            inside = inside && str_starts(line, "\\ ");
            continue;
        }
        struct tune_edit *edit = &edits->list.at[edits->list.len - 1];
        char sign = line.len ? *line.at : ' ';
        struct str text = line.len ? (struct str){line.at + 1, line.len - 1} : line;
        if (sign != '+')
            add_line(&edit->search, text);
        if (sign != '-')
            add_line(&edit->replace, text);
    }
}

static bool is_copy(const struct tune_edit *one, const struct tune_edit *two) {
    return str_equal(buf_str(&one->search), buf_str(&two->search)) &&
           str_equal(buf_str(&one->replace), buf_str(&two->replace));
}

/* Models repeat themselves: the same block again says nothing new. */
static void drop_copies(struct tune_edits *edits) {
    size_t kept = 0;
    for (size_t i = 0; i < edits->list.len; i++) {
        struct tune_edit *edit = &edits->list.at[i];
        size_t k = 0;
        while (k < kept && !is_copy(&edits->list.at[k], edit))
            k++;
        if (k == kept) {
            edits->list.at[kept++] = *edit;
            continue;
        }
        edits->list.at[k].copies++;
        buf_free(&edit->search);
        buf_free(&edit->replace);
    }
    edits->list.len = kept;
}

void tune_edits_find(struct str answer, struct tune_edits *edits) {
    find_blocks(answer, edits);
    if (!edits->list.len)
        find_hunks(answer, edits);
    drop_copies(edits);
}

/* ------------------------------------------------------------------------------ applying edits */

struct lines {
    VEC(struct str) at;
};

static void lines_split(struct str text, struct lines *lines) {
    struct str line, rest = without_last_end(text);
    while (str_next(&rest, '\n', &line))
        *vec_push(&lines->at) = line;
}

static size_t indent_of(struct str line) {
    size_t count = 0;
    while (count < line.len && (line.at[count] == ' ' || line.at[count] == '\t'))
        count++;
    return count;
}

static struct str no_end(struct str line) {
    while (line.len && isspace((unsigned char)line.at[line.len - 1]))
        line.len--;
    return line;
}

/* How exactly a place must match: as it is, without blanks at line ends, without the
 * indentation. */
enum likeness { EXACT, NO_ENDS, NO_INDENT, LIKENESSES };

static bool line_matches(struct str have, struct str want, enum likeness likeness) {
    switch (likeness) {
    case EXACT: return str_equal(have, want);
    case NO_ENDS: return str_equal(no_end(have), no_end(want));
    default: return str_equal(str_trim(have), str_trim(want));
    }
}

/* Blank lines around a block are the model's layout, not the kernel's. */
static void trim_blank(struct lines *lines) {
    while (lines->at.len && !str_trim(lines->at.at[lines->at.len - 1]).len)
        lines->at.len--;
    size_t blank = 0;
    while (blank < lines->at.len && !str_trim(lines->at.at[blank]).len)
        blank++;
    memmove(lines->at.at, lines->at.at + blank, (lines->at.len - blank) * sizeof *lines->at.at);
    lines->at.len -= blank;
}

static struct str first_text(const struct lines *lines) {
    for (size_t i = 0; i < lines->at.len; i++)
        if (str_trim(lines->at.at[i]).len)
            return lines->at.at[i];
    return (struct str){"", 0};
}

/* Writes the replacement, moved by as much as the place was indented differently. */
static void write_moved(struct buf *out, const struct lines *replace, struct str have,
                        struct str want) {
    size_t has = indent_of(have), wanted = indent_of(want);
    for (size_t i = 0; i < replace->at.len; i++) {
        struct str line = replace->at.at[i];
        size_t own = indent_of(line);
        if (line.len == own) {
            buf_putc(out, '\n');
            continue;
        }
        if (has > wanted)
            buf_add(out, have.at, has - wanted);
        size_t drop = wanted > has ? MIN_OF(wanted - has, own) : 0;
        add_line(out, (struct str){line.at + drop, line.len - drop});
    }
}

struct applying {
    struct lines have, want, replace;   /* have: the source so far */
    size_t number;                      /* of the block, from 1 */
    size_t times;                       /* it stands in the answer */
    struct buf bare_want, bare_replace; /* without the line numbers that were copied */
};

/* Where the wanted lines stand; no more than that many places. */
struct places {
    size_t at[MAX_EDITS], count;
    bool overlap;
};

static void find_places(const struct applying *applying, enum likeness likeness,
                        struct places *places) {
    const struct lines *have = &applying->have, *want = &applying->want;
    *places = (struct places){0};
    for (size_t i = 0; i + want->at.len <= have->at.len; i++) {
        size_t k = 0;
        while (k < want->at.len && line_matches(have->at.at[i + k], want->at.at[k], likeness))
            k++;
        if (k < want->at.len)
            continue;
        places->overlap = places->overlap || places->count >= MAX_EDITS ||
                          (places->count && i < places->at[places->count - 1] + want->at.len);
        if (places->count < MAX_EDITS)
            places->at[places->count] = i;
        places->count++;
    }
}

static void applying_free(struct applying *applying) {
    buf_free(&applying->bare_want);
    buf_free(&applying->bare_replace);
    vec_free(&applying->have.at);
    vec_free(&applying->want.at);
    vec_free(&applying->replace.at);
}

/* Characters that no keyboard types, where the kernel may have the ones that a keyboard does. */
static bool is_typographic(const struct applying *applying, struct err *err) {
    for (size_t i = 0; i < applying->want.at.len; i++) {
        struct str rest = applying->want.at.at[i];
        uint32_t code = 0;
        for (size_t column = 1; rest.len; column++) {
            size_t size = text_decode(rest, &code);
            const char *name, *typed = text_typewriter(code, &name);
            rest = (struct str){rest.at + size, rest.len - size};
            if (!typed)
                continue;
            return !err_set(err, ERR_KERNEL,
                            "block %zu: its search text is not in the kernel: line %zu of it "
                            "has %s (U+%04X) at column %zu; write %s, in the new lines, too",
                            applying->number, i + 1, name, code, column,
                            *typed == ' ' ? "a plain blank"
                            : *typed      ? typed
                                          : "nothing there");
        }
    }
    return false;
}

/* The place in the kernel where most of the wanted lines stand, in *at, and the first of them that
 * stands there otherwise; -1: no place has half of them, or the first ones. */
static long find_nearest(const struct applying *applying, size_t *at) {
    const struct lines *have = &applying->have, *want = &applying->want;
    size_t most = 0;
    long first = -1;
    for (size_t i = 0; i < have->at.len; i++) {
        size_t same = 0, differs = want->at.len;
        for (size_t k = 0; k < want->at.len; k++) {
            bool is =
                i + k < have->at.len && line_matches(have->at.at[i + k], want->at.at[k], NO_INDENT);
            same += is && str_trim(want->at.at[k]).len;
            differs = is ? differs : MIN_OF(differs, k);
        }
        bool near = differs < want->at.len && (differs || same * 2 >= want->at.len);
        if (!near || same <= most)
            continue;
        most = same;
        first = (long)differs;
        *at = i;
    }
    return first;
}

/* The line that differs, and what the kernel has in its place. */
static bool is_near(const struct applying *applying, struct err *err) {
    static const char begin[] = "its search text is not in the kernel: line",
                      end[] = "copy the lines exactly from the kernel, without line numbers";
    size_t at = 0;
    long first = find_nearest(applying, &at);
    if (first < 0)
        return false;
    struct str want = str_trim(applying->want.at.at[first]);
    int shown = (int)MIN_OF(want.len, SHOWN);
    size_t line = at + (size_t)first;
    if (line >= applying->have.at.len)
        return !err_set(err, ERR_KERNEL,
                        "block %zu: %s %ld of it is \"%.*s\", where the kernel has ended; %s",
                        applying->number, begin, first + 1, shown, want.at, end);
    struct str have = str_trim(applying->have.at.at[line]);
    return !err_set(err, ERR_KERNEL,
                    "block %zu: %s %ld of it is \"%.*s\", where line %zu of the kernel is "
                    "\"%.*s\"; %s",
                    applying->number, begin, first + 1, shown, want.at, line + 1,
                    (int)MIN_OF(have.len, SHOWN), have.at, end);
}

static bool not_there(const struct applying *applying, size_t places, struct err *err) {
    struct str line = str_trim(first_text(&applying->want));
    int shown = (int)MIN_OF(line.len, SHOWN);
    if (!places && (is_typographic(applying, err) || is_near(applying, err)))
        return false;
    if (places > 1)
        return err_set(err, ERR_KERNEL,
                       "block %zu: its search text occurs in the kernel %zu times (it begins with "
                       "\"%.*s\"); include more of the lines around it",
                       applying->number, places, shown, line.at);
    return err_set(err, ERR_KERNEL,
                   "block %zu: its search text is not in the kernel (it begins with \"%.*s\"); "
                   "copy the lines exactly from the kernel, without line numbers",
                   applying->number, shown, line.at);
}

/* Puts the replacement at each of the places; they do not overlap. */
static void write_at(const struct applying *applying, const struct places *places,
                     struct buf *out) {
    struct str want = first_text(&applying->want);
    size_t next = 0;
    for (size_t k = 0; k < places->count; k++) {
        size_t at = places->at[k];
        for (; next < at; next++)
            add_line(out, applying->have.at.at[next]);
        write_moved(out, &applying->replace, applying->have.at.at[at], want);
        next = at + applying->want.at.len;
    }
    for (; next < applying->have.at.len; next++)
        add_line(out, applying->have.at.at[next]);
}

/* Finds the one place, or as many as the answer has this block. */
static bool replace_at(struct applying *applying, struct buf *out, struct err *err) {
    struct places places = {0};
    for (int likeness = EXACT; !places.count && likeness < LIKENESSES; likeness++)
        find_places(applying, (enum likeness)likeness, &places);
    if (places.count != 1 && (places.count != applying->times || places.overlap))
        return not_there(applying, places.count, err);
    write_at(applying, &places, out);
    return true;
}

/* Whether the lines, as they are, stand nowhere in the kernel. */
static bool is_nowhere(const struct applying *applying) {
    struct places places;
    find_places(applying, NO_INDENT, &places);
    return !places.count;
}

/* The lines of the kernel were copied with their numbers, so new lines that are numbered on from
 * there got their numbers by mistake, too. Nothing changes where that is not certain. */
static void numbers_drop(struct applying *applying, const struct tune_edit *edit) {
    struct tune_numbered search, replace;
    if (!applying->want.at.len || !is_nowhere(applying) ||
        !tune_numbers_strip(buf_str(&edit->search), true, &search, &applying->bare_want))
        return;
    applying->want.at.len = 0;
    lines_split(buf_str(&applying->bare_want), &applying->want);
    trim_blank(&applying->want);
    if (!tune_numbers_strip(buf_str(&edit->replace), false, &replace, &applying->bare_replace) ||
        replace.mark != search.mark || replace.first < search.first ||
        replace.first > search.last + 1)
        return;
    applying->replace.at.len = 0;
    lines_split(buf_str(&applying->bare_replace), &applying->replace);
}

/* One edit; an empty search puts its text at the end. */
static bool apply_edit(struct str source, const struct tune_edit *edit, size_t number,
                       struct buf *out, struct err *err) {
    struct applying applying = {.number = number, .times = edit->copies + 1};
    lines_split(source, &applying.have);
    lines_split(buf_str(&edit->search), &applying.want);
    lines_split(buf_str(&edit->replace), &applying.replace);
    trim_blank(&applying.want);
    numbers_drop(&applying, edit);
    if (applying.want.at.len)
        trim_blank(&applying.replace);
    bool fine = true;
    if (!applying.want.at.len) {
        buf_add(out, source.at, source.len);
        for (size_t i = 0; i < applying.replace.at.len; i++)
            add_line(out, applying.replace.at.at[i]);
    } else {
        fine = replace_at(&applying, out, err);
    }
    applying_free(&applying);
    return fine;
}

bool tune_edits_apply(const struct tune_edits *edits, const char *source, struct buf *out,
                      struct err *err) {
    buf_puts(out, source);
    for (size_t i = 0; i < edits->list.len; i++) {
        struct buf next = {0};
        if (!apply_edit(buf_str(out), &edits->list.at[i], i + 1, &next, err)) {
            buf_free(&next);
            return false;
        }
        buf_free(out);
        *out = next;
    }
    return true;
}
