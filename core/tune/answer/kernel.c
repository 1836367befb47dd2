/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's new source out of a model's answer: a whole file, search/replace blocks or a unified
 * diff. Pure text; whether it compiles is found out by others. */
#include <ctype.h>
#include <stdlib.h>

#include "tune/answer/answer.h"
#include "tune/answer/edits.h"
#include "tune/answer/lines.h"

#define MAX_ANSWER ((size_t)16 << 20)

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

/* It may define the function in lines that were copied with their numbers. */
static bool defines(struct str text, const char *function) {
    struct tune_numbered numbered;
    struct buf bare = {0};
    bool found = has_def(text, function) || (tune_numbers_strip(text, true, &numbered, &bare) &&
                                             has_def(buf_str(&bare), function));
    buf_free(&bare);
    return found;
}

struct fences {
    struct str best; /* the longest block that defines the function */
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
            if (defines(block, function) && block.len > fences->best.len)
                fences->best = block;
            begin = NULL;
        }
    }
    fences->open = begin != NULL;
}

/* A file that was copied with its line numbers is taken without them. */
static void write_bare(struct buf *out, size_t from) {
    struct tune_numbered numbered;
    struct buf bare = {0};
    if (tune_numbers_strip((struct str){out->at + from, out->len - from}, true, &numbered, &bare) &&
        numbered.first == 1) {
        out->len = from;
        buf_add(out, bare.at, bare.len);
    }
    buf_free(&bare);
}

static void write_file(struct str text, struct buf *out) {
    struct str line;
    size_t from = out->len;
    while (text.len && (*text.at == '\n' || *text.at == '\r')) {
        text.at++;
        text.len--;
    }
    text = without_last_end(text);
    while (str_next(&text, '\n', &line))
        add_line(out, without_return(line));
    if (out->len > from)
        write_bare(out, from);
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
        return err_set(err, ERR_KERNEL,
                       "the answer ends in the middle of the code; write the change "
                       "as search/replace blocks, or the whole file again, shorter");
    if (!fences.blocks && has_def(answer, function) &&
        (str_starts(str_trim(answer), "import ") || str_starts(str_trim(answer), "from ") ||
         str_starts(str_trim(answer), "#") || str_starts(str_trim(answer), "@"))) {
        write_file(answer, out);
        return true;
    }
    return err_set(err, ERR_KERNEL,
                   fences.blocks
                       ? "no code block defines %.60s; keep its name and write the whole "
                         "file, or search/replace blocks"
                       : "there is no code in the answer; write the whole file with %.60s in "
                         "one ```python block, or search/replace blocks",
                   name);
}

bool tune_answer_kernel(struct str answer, const char *source, const char *function,
                        struct buf *out, struct err *err) {
    struct tune_edits edits = {0};
    if (answer.len > MAX_ANSWER)
        return err_set(err, ERR_KERNEL, "the answer is over 16 MiB long");
    tune_edits_find(answer, &edits);
    bool fine;
    if (edits.open)
        fine = err_set(err, ERR_KERNEL,
                       "the last search/replace block has no end; every block is "
                       "<<<<<<< SEARCH, the lines, =======, the new lines, >>>>>>> REPLACE");
    else if (edits.list.len)
        fine = tune_edits_apply(&edits, source, out, err);
    else
        fine = take_file(answer, function, out, err);
    tune_edits_free(&edits);
    if (fine && function && !has_def(buf_str(out), function))
        fine = err_set(err, ERR_KERNEL, "the function %.60s is gone; keep its name", function);
    if (!fine)
        buf_free(out);
    return fine;
}

/* Where a stretch of code begins, and the line that ends it; NULL: nothing but the answer's end. */
static const struct {
    const char *begins, *ends;
} stretches[] = {
    {"<<<<<<<", ">>>>>>>"}, {"```py", "```"},   {"```diff", "```"},
    {"--- a/", NULL},       {"@nki.jit", NULL}, {"import ", NULL},
};

void tune_answer_words(struct str answer, struct buf *out) {
    struct str line;
    int in = -1;
    while (str_next(&answer, '\n', &line)) {
        bool ends = in >= 0 && stretches[in].ends && str_starts(line, stretches[in].ends);
        bool inside = in >= 0;
        for (size_t i = 0; in < 0 && i < COUNT_OF(stretches); i++)
            if (str_starts(line, stretches[i].begins))
                in = (int)i;
        if (in < 0)
            buf_printf(out, STR_FMT "\n", STR_ARG(line));
        else if (!inside)
            buf_puts(out, "---\n");
        in = ends ? -1 : in;
    }
}

bool tune_answer_has_kernel(struct str answer) {
    struct tune_edits edits = {0};
    tune_edits_find(answer, &edits);
    bool has = edits.open || edits.list.len || has_def(answer, NULL);
    tune_edits_free(&edits);
    return has;
}

bool tune_answer_gives_up(struct str answer, struct str *reason) {
    static const char words[] = "give up";
    struct str text = str_trim(answer);
    while (text.len && strchr("#*_>` ", *text.at))
        text = (struct str){text.at + 1, text.len - 1};
    if (text.len < sizeof words || strncasecmp(text.at, words, sizeof words - 1) != 0 ||
        tune_answer_has_kernel(answer))
        return false;
    text = (struct str){text.at + sizeof words - 1, text.len - sizeof words + 1};
    while (text.len && strchr("*_`: -", *text.at))
        text = (struct str){text.at + 1, text.len - 1};
    *reason = str_trim(text);
    return true;
}
