/* SPDX-License-Identifier: Apache-2.0 */
/* Line differences (Myers' greedy algorithm, "An O(ND) difference algorithm", 1986), and putting
 * single hunks back. How a difference looks is decided by the screens. */
#include "tune/state/hunks.h"

#include <stdlib.h>

#include "tune/state/state.h"

/* Sources that differ in more lines than this count as wholly different, because the work grows
 * with the square of it. */
#define MAX_DIFFERENCES 1500

struct line {
    struct str text;
    uint64_t hash;
};
typedef VEC(struct line) line_list;
typedef VEC(struct tune_hunk) hunk_list;

/* Splits into lines with their ends; the last line may have none. */
static void lines_split(struct str text, line_list *lines) {
    while (text.len) {
        const char *end = memchr(text.at, '\n', text.len);
        size_t len = end ? (size_t)(end - text.at) + 1 : text.len;
        *vec_push(lines) = (struct line){{text.at, len}, hash_quick(text.at, len)};
        text.at += len;
        text.len -= len;
    }
}

static bool same(const struct line *a, const struct line *b) {
    return a->hash == b->hash && str_equal(a->text, b->text);
}

struct myers {
    const struct line *a, *b;
    int n, m;
    int *v;     /* furthest x on each diagonal, of the current d */
    int *trace; /* v of every d before: trace[d * width + k + offset] */
    int width, offset;
};

/* How many edits turn a into b; -1 when over the limit. */
static int myers_search(struct myers *s, int limit) {
    for (int d = 0; d <= limit; d++) {
        memcpy(s->trace + (size_t)d * (size_t)s->width, s->v, (size_t)s->width * sizeof(int));
        for (int k = -d; k <= d; k += 2) {
            int *v = s->v + s->offset;
            int x = k == -d || (k != d && v[k - 1] < v[k + 1]) ? v[k + 1] : v[k - 1] + 1;
            int y = x - k;
            while (x < s->n && y < s->m && same(&s->a[x], &s->b[y]))
                x++, y++;
            v[k] = x;
            if (x >= s->n && y >= s->m)
                return d;
        }
    }
    return -1;
}

/* Marks the lines of a that go and the lines of b that come, following the trace back. */
static void myers_mark(const struct myers *s, int d, bool *gone, bool *came) {
    int x = s->n, y = s->m;
    for (; d > 0; d--) {
        const int *v = s->trace + (size_t)d * (size_t)s->width + s->offset;
        int k = x - y;
        bool down = k == -d || (k != d && v[k - 1] < v[k + 1]);
        int before = down ? k + 1 : k - 1;
        x = v[before];
        y = x - before;
        if (down)
            came[y] = true;
        else
            gone[x] = true;
    }
}

static void hunks_collect(const bool *gone, int n, const bool *came, int m, hunk_list *hunks) {
    int x = 0, y = 0;
    while (x < n || y < m) {
        int old = x, new_ = y;
        while (x < n && gone[x])
            x++;
        while (y < m && came[y])
            y++;
        if (x > old || y > new_)
            *vec_push(hunks) =
                (struct tune_hunk){old + 1, x - old, new_ + 1, y - new_, false, NULL};
        else
            x++, y++;
    }
}

/* The part between the common head and tail. */
static void middle_compare(const line_list *a, const line_list *b, bool *gone, bool *came) {
    size_t head = 0, tail = 0;
    while (head < a->len && head < b->len && same(&a->at[head], &b->at[head]))
        head++;
    while (head + tail < a->len && head + tail < b->len &&
           same(&a->at[a->len - 1 - tail], &b->at[b->len - 1 - tail]))
        tail++;
    int n = (int)(a->len - head - tail), m = (int)(b->len - head - tail);
    int limit = MIN_OF(n + m, MAX_DIFFERENCES), width = 2 * limit + 3;
    struct myers search = {.a = n ? a->at + head : NULL,
                           .b = m ? b->at + head : NULL,
                           .n = n,
                           .m = m,
                           .width = width,
                           .offset = limit + 1};
    search.v = mem_alloc((size_t)width, sizeof(int));
    search.trace = mem_alloc((size_t)(limit + 1) * (size_t)width, sizeof(int));
    int edits = myers_search(&search, limit);
    if (edits >= 0)
        myers_mark(&search, edits, gone + head, came + head);
    for (int i = 0; edits < 0 && i < n; i++)
        gone[head + (size_t)i] = true;
    for (int i = 0; edits < 0 && i < m; i++)
        came[head + (size_t)i] = true;
    free(search.v);
    free(search.trace);
}

struct tune_hunk *tune_hunks(struct str old, struct str new_, size_t *count) {
    line_list a = {0}, b = {0};
    hunk_list hunks = {0};
    lines_split(old, &a);
    lines_split(new_, &b);
    bool *gone = mem_alloc(a.len + 1, sizeof *gone), *came = mem_alloc(b.len + 1, sizeof *came);
    middle_compare(&a, &b, gone, came);
    hunks_collect(gone, (int)a.len, came, (int)b.len, &hunks);
    free(gone);
    free(came);
    vec_free(&a);
    vec_free(&b);
    *count = hunks.len;
    return hunks.at;
}

char *tune_hunks_apply(struct str old, struct str new_, const struct tune_hunk *hunks,
                       size_t count) {
    line_list a = {0}, b = {0};
    struct buf out = {0};
    lines_split(old, &a);
    lines_split(new_, &b);
    size_t at = 0;
    for (size_t h = 0; h <= count; h++) {
        size_t stop = h < count ? (size_t)(hunks[h].new_line - 1) : b.len;
        for (; at < stop && at < b.len; at++)
            buf_add(&out, b.at[at].text.at, b.at[at].text.len);
        if (h == count || !hunks[h].left)
            continue;
        for (int i = 0; i < hunks[h].old_count; i++) {
            size_t from = (size_t)(hunks[h].old_line - 1 + i);
            if (from < a.len)
                buf_add(&out, a.at[from].text.at, a.at[from].text.len);
        }
        at += (size_t)hunks[h].new_count;
    }
    vec_free(&a);
    vec_free(&b);
    return buf_take(&out);
}

void tune_hunks_print(struct buf *out, const char *source, const struct tune_hunk *hunks,
                      size_t count, bool new_side) {
    int lines = 0;
    for (size_t h = 0; h < count; h++) {
        int first = new_side ? hunks[h].new_line : hunks[h].old_line;
        int last = first + (new_side ? hunks[h].new_count : hunks[h].old_count);
        struct str rest = str_of(source), line;
        for (int number = 1; number < last && str_next(&rest, '\n', &line); number++) {
            if (number < first || lines++ >= TUNE_SNIPPET_LINES)
                continue;
            buf_add(out, line.at, line.len);
            buf_putc(out, '\n');
        }
    }
    if (lines > TUNE_SNIPPET_LINES)
        buf_printf(out, "[... %d line%s left out ...]\n", lines - TUNE_SNIPPET_LINES,
                   PLURAL(lines - TUNE_SNIPPET_LINES));
}
