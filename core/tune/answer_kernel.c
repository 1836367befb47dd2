/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's new source out of a model's answer: a whole file, search/replace blocks or a unified
 * diff. Pure text; whether it compiles is found out by others. */
#include <ctype.h>
#include <stdlib.h>

#include "tune/answer.h"

#define MAX_ANSWER ((size_t)16 << 20)
#define MAX_EDITS 200
#define SHOWN 90                /* of a line that could not be found */

struct edit {
    struct buf search, replace;
};
struct edits {
    VEC(struct edit) list;
    bool open;                  /* the last block has no end */
};

static void edits_free(struct edits *edits) {
    for (size_t i = 0; i < edits->list.len; i++) {
        buf_free(&edits->list.at[i].search);
        buf_free(&edits->list.at[i].replace);
    }
    vec_free(&edits->list);
}

static void add_line(struct buf *out, struct str line) {
    buf_add(out, line.at ? line.at : "", line.len);
    buf_putc(out, '\n');
}

/* str_next sees an empty part behind the last line end; a line end ends a line here. */
static struct str without_last_end(struct str text) {
    if (text.len && text.at[text.len - 1] == '\n')
        text.len--;
    return text;
}

static struct str without_return(struct str line) {
    if (line.len && line.at[line.len - 1] == '\r')
        line.len--;
    return line;
}

/* ------------------------------------------------------------------------ search/replace blocks */

/* "<<<<<<< SEARCH" with five to ten marks; models miscount. */
static bool is_mark(struct str line, char mark, const char *word) {
    struct str text = str_trim(line);
    size_t count = 0;
    while (count < text.len && text.at[count] == mark)
        count++;
    struct str rest = str_trim((struct str){text.at + count, text.len - count});
    if (count < 5 || count > 10)
        return false;
    return !rest.len || (word && rest.len >= strlen(word) &&
                         !strncasecmp(rest.at, word, strlen(word)));
}

static void find_blocks(struct str answer, struct edits *edits) {
    struct str rest = answer, line;
    enum { OUTSIDE, SEARCH, REPLACE } where = OUTSIDE;
    while (str_next(&rest, '\n', &line)) {
        line = without_return(line);
        struct edit *edit = edits->list.len ? &edits->list.at[edits->list.len - 1] : NULL;
        if (where != REPLACE && is_mark(line, '<', "SEARCH") && edits->list.len < MAX_EDITS) {
            *vec_push(&edits->list) = (struct edit){0};
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

/* ----------------------------------------------------------------------------------- unified diff */

/* Hunks become search/replace pairs: line numbers of models are not to be trusted, context is. */
static void find_hunks(struct str answer, struct edits *edits) {
    struct str rest = answer, line;
    bool inside = false;
    while (str_next(&rest, '\n', &line)) {
        line = without_return(line);
        if (str_starts(line, "@@") && edits->list.len < MAX_EDITS) {
            *vec_push(&edits->list) = (struct edit){0};
            inside = true;
            continue;
        }
        if (!inside || str_starts(line, "```") || str_starts(line, "diff ") ||
            str_starts(line, "--- ") || str_starts(line, "+++ ") || str_starts(line, "\\ ")) {
            inside = inside && str_starts(line, "\\ ");
            continue;
        }
        struct edit *edit = &edits->list.at[edits->list.len - 1];
        char sign = line.len ? *line.at : ' ';
        struct str text = line.len ? (struct str){line.at + 1, line.len - 1} : line;
        if (sign != '+')
            add_line(&edit->search, text);
        if (sign != '-')
            add_line(&edit->replace, text);
    }
}

/* -------------------------------------------------------------------------------- applying edits */

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

/* How exactly a place must match: as it is, without blanks at line ends, without the indentation. */
enum likeness { EXACT, NO_ENDS, NO_INDENT, LIKENESSES };

static bool line_matches(struct str have, struct str want, enum likeness likeness) {
    switch (likeness) {
    case EXACT:
        return str_equal(have, want);
    case NO_ENDS:
        return str_equal(no_end(have), no_end(want));
    default:
        return str_equal(str_trim(have), str_trim(want));
    }
}

/* Where the wanted lines stand; *count says how many places match. */
static size_t find_place(const struct lines *have, const struct lines *want,
                         enum likeness likeness, size_t *count) {
    size_t found = 0;
    *count = 0;
    for (size_t i = 0; i + want->at.len <= have->at.len; i++) {
        size_t k = 0;
        while (k < want->at.len && line_matches(have->at.at[i + k], want->at.at[k], likeness))
            k++;
        if (k < want->at.len)
            continue;
        if (!*count)
            found = i;
        ++*count;
    }
    return found;
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
    struct str text;            /* the source so far */
    struct lines have, want, replace;
    size_t number;              /* of the block, from 1 */
};

static void applying_free(struct applying *applying) {
    vec_free(&applying->have.at);
    vec_free(&applying->want.at);
    vec_free(&applying->replace.at);
}

static bool not_there(const struct applying *applying, size_t places, struct err *err) {
    struct str line = str_trim(first_text(&applying->want));
    int shown = (int)MIN_OF(line.len, SHOWN);
    if (places > 1)
        return err_set(err, ERR_KERNEL,
                       "block %zu: its search text stands in the kernel %zu times (it begins with "
                       "\"%.*s\"); repeat more of the lines around it",
                       applying->number, places, shown, line.at);
    return err_set(err, ERR_KERNEL,
                   "block %zu: its search text is not in the kernel (it begins with \"%.*s\"); copy "
                   "the lines exactly as they stand there, without line numbers",
                   applying->number, shown, line.at);
}

static bool replace_at(struct applying *applying, struct buf *out, struct err *err) {
    size_t places = 0, at = 0, many = 0;
    for (int likeness = EXACT; !places && likeness < LIKENESSES; likeness++) {
        at = find_place(&applying->have, &applying->want, (enum likeness)likeness, &places);
        many = MAX_OF(many, places);
    }
    if (places != 1)
        return not_there(applying, many, err);
    for (size_t i = 0; i < at; i++)
        add_line(out, applying->have.at.at[i]);
    struct str want = first_text(&applying->want);
    write_moved(out, &applying->replace, applying->have.at.at[at], want);
    for (size_t i = at + applying->want.at.len; i < applying->have.at.len; i++)
        add_line(out, applying->have.at.at[i]);
    return true;
}

/* One edit; an empty search puts its text at the end. */
static bool apply_edit(struct str source, const struct edit *edit, size_t number, struct buf *out,
                       struct err *err) {
    struct applying applying = {.text = source, .number = number};
    lines_split(source, &applying.have);
    lines_split(buf_str(&edit->search), &applying.want);
    lines_split(buf_str(&edit->replace), &applying.replace);
    trim_blank(&applying.want);
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

static bool apply_edits(const struct edits *edits, const char *source, struct buf *out,
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

/* ------------------------------------------------------------------------------------ whole files */

static bool has_def(struct str text, const char *function) {
    struct str line;
    size_t len = function ? strlen(function) : 0;
    while (str_next(&text, '\n', &line)) {
        struct str rest = str_trim(line);
        if (!str_starts(rest, "def "))
            continue;
        rest = str_trim((struct str){rest.at + 4, rest.len - 4});
        if (!function || (rest.len > len && !strncmp(rest.at, function, len) &&
                          (rest.at[len] == '(' || rest.at[len] == ' ')))
            return true;
    }
    return false;
}

/* The length of a fence at the front of the line: "```python" is 3. */
static size_t fence_of(struct str line) {
    struct str text = str_trim(line);
    size_t count = 0;
    while (count < text.len && text.at[count] == '`')
        count++;
    return count >= 3 ? count : 0;
}

struct fences {
    struct str best;            /* the longest block that defines the function */
    size_t blocks;
    bool open;
};

static void find_fences(struct str answer, const char *function, struct fences *fences) {
    struct str rest = answer, line;
    const char *begin = NULL;
    size_t fence = 0;
    while (str_next(&rest, '\n', &line)) {
        size_t marks = fence_of(line);
        if (!begin && marks) {
            begin = rest.at;
            fence = marks;
            fences->blocks++;
        } else if (begin && marks >= fence && str_trim(line).len == marks) {
            struct str block = {begin, (size_t)(line.at - begin)};
            if (has_def(block, function) && block.len > fences->best.len)
                fences->best = block;
            begin = NULL;
        }
    }
    fences->open = begin != NULL;
}

static void write_file(struct str text, struct buf *out) {
    struct str line;
    while (text.len && (*text.at == '\n' || *text.at == '\r')) {
        text.at++;
        text.len--;
    }
    text = without_last_end(text);
    while (str_next(&text, '\n', &line))
        add_line(out, without_return(line));
}

static bool take_file(struct str answer, const char *function, struct buf *out, struct err *err) {
    struct fences fences = {0};
    const char *name = function ? function : "the kernel";
    find_fences(answer, function, &fences);
    if (fences.best.len) {
        write_file(fences.best, out);
        return true;
    }
    if (fences.open)
        return err_set(err, ERR_KERNEL, "the answer ends in the middle of the code; write the change "
                       "as search/replace blocks, or the whole file again, shorter");
    if (!fences.blocks && has_def(answer, function) &&
        (str_starts(str_trim(answer), "import ") || str_starts(str_trim(answer), "from ") ||
         str_starts(str_trim(answer), "#") || str_starts(str_trim(answer), "@"))) {
        write_file(answer, out);
        return true;
    }
    return err_set(err, ERR_KERNEL,
                   fences.blocks ? "no code block defines %.60s; keep its name and write the whole "
                                   "file, or search/replace blocks"
                                 : "there is no code in the answer; write the whole file with %.60s in "
                                   "one ```python block, or search/replace blocks",
                   name);
}

bool tune_answer_kernel(struct str answer, const char *source, const char *function,
                        struct buf *out, struct err *err) {
    struct edits edits = {0};
    if (answer.len > MAX_ANSWER)
        return err_set(err, ERR_KERNEL, "the answer is over 16 MiB long");
    find_blocks(answer, &edits);
    bool cut = edits.open;
    if (!edits.list.len)
        find_hunks(answer, &edits);
    bool fine;
    if (cut)
        fine = err_set(err, ERR_KERNEL, "the last search/replace block has no end; every block is "
                       "<<<<<<< SEARCH, the lines, =======, the new lines, >>>>>>> REPLACE");
    else if (edits.list.len)
        fine = apply_edits(&edits, source, out, err);
    else
        fine = take_file(answer, function, out, err);
    edits_free(&edits);
    if (fine && function && !has_def(buf_str(out), function))
        fine = err_set(err, ERR_KERNEL, "the function %.60s is gone; keep its name", function);
    if (!fine)
        buf_free(out);
    return fine;
}
