/* SPDX-License-Identifier: Apache-2.0 */
/* Collects what the readers of other agents' files found: experiences with the lines that differ,
 * attempts, complaints. Directions that did not work become one experience for each agent and task.
 * Counts and sizes are bounded. The files and their formats are in foreign.c and beside it. */
#include "tune/foreign/foreign.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "nki/nki.h"
#include "tune/state/inner.h"
#include "tune/sums/sums.h"

#define BESIDE_MAX 4000
#define MAX_TITLE 200
#define MAX_TEXT 4000
#define MAX_SOURCE 16000
#define WHOLE_LINES 60 /* sources that are shorter are kept as they are */
#define CLOSED_LINES 40
#define CLOSED_TEXT 200
#define ALTERED " (altered)" /* behind the source of what an altered export has */

/* ---------------------------------------------------------------------------- what readers say */

static void complaint_add(struct tune_foreign *out, const struct buf *text) {
    if (out->complaints.len < FOREIGN_COMPLAINTS)
        *vec_push(&out->complaints) = arena_strndup(out->arena, text->at, text->len);
    else
        out->left_out++;
}

void foreign_complain(const struct foreign_place *place, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    buf_printf(&text, "%s:%d: ", place->path, place->line);
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    complaint_add(place->out, &text);
    buf_free(&text);
}

const char *foreign_keep(struct tune_foreign *out, const char *text, size_t most) {
    struct str all = str_trim(str_of(text));
    return all.len ? arena_strndup(out->arena, all.at, MIN_OF(all.len, most)) : NULL;
}

bool foreign_again(struct tune_foreign *out, const char *what, const char *source) {
    struct hash_stream *stream = hash_begin();
    hash_add(stream, what ? what : "", what ? strlen(what) : 0);
    hash_add(stream, source ? source : "", source ? strlen(source) : 0);
    struct hash hash = hash_end(stream);
    for (size_t i = 0; i < out->seen.len; i++)
        if (!strcmp(out->seen.at[i].hex, hash.hex))
            return true;
    if (out->seen.len < FOREIGN_ATTEMPTS)
        *vec_push(&out->seen) = hash;
    return false;
}

char *foreign_beside(const struct foreign_place *place, const char *name) {
    struct tune_foreign *out = place->out;
    if (!name || *name == '/' || strstr(name, "..") || out->beside >= BESIDE_MAX)
        return NULL;
    out->beside++;
    char *folder = path_folder(place->path), *path = path_join(folder, name);
    struct stat info;
    bool plain = lstat(path, &info) == 0 && S_ISREG(info.st_mode);
    char *text = plain ? file_read(path, FOREIGN_FILE_MAX, NULL, NULL) : NULL;
    free(path);
    free(folder);
    return text;
}

/* A snippet of a few lines may name nothing at all, so only what is clearly something else counts
 * as such. */
const char *foreign_dialect(const char *source) {
    static const char *const others[] = {"triton", "__global__", "#include",    "cutlass",
                                         "pallas", "import jax", "import torch"};
    const char *dialect = tune_memory_dialect(source);
    bool other = false;
    for (size_t i = 0; source && !dialect && !other && i < COUNT_OF(others); i++)
        other = strstr(source, others[i]) && !strstr(source, "nki");
    return other ? "other" : dialect;
}

const char *foreign_family(struct tune_foreign *out, const char *task, const char *source) {
    struct buf family = {0};
    tune_memory_family(str_of(task ? task : ""), &family);
    if (!family.len)
        tune_memory_computes(source, &family);
    const char *kept = foreign_keep(out, family.at, MAX_TITLE);
    buf_free(&family);
    return kept;
}

/* --------------------------------------------------------------------------------- experiences */

/* Snippets keep their indentation. */
static const char *keep_source(struct tune_foreign *out, const char *text) {
    return text && *text ? arena_strndup(out->arena, text, MIN_OF(strlen(text), MAX_SOURCE)) : NULL;
}

static int lines_of(const char *text) {
    int count = 0;
    for (; text && *text; text++)
        count += *text == '\n';
    return count;
}

/* Comments tell the story of a kernel and differ everywhere: only code is compared. */
static char *without_comments(const char *source) {
    struct str rest = str_of(source), line;
    struct buf out = {0};
    while (str_next(&rest, '\n', &line)) {
        struct str words = str_trim(line);
        if (words.len && *words.at == '#')
            continue;
        buf_add(&out, line.at, line.len);
        buf_putc(&out, '\n');
    }
    return buf_take(&out);
}

/* Two whole kernels: the lines of code that differ. */
static void sources_keep(struct tune_foreign *out, struct tune_experience *item) {
    bool both = item->slow && item->fast;
    if (!both || (lines_of(item->slow) < WHOLE_LINES && lines_of(item->fast) < WHOLE_LINES)) {
        item->slow = keep_source(out, item->slow);
        item->fast = keep_source(out, item->fast);
        return;
    }
    size_t count = 0;
    char *before = without_comments(item->slow), *after = without_comments(item->fast);
    struct tune_hunk *hunks = tune_hunks(str_of(before), str_of(after), &count);
    struct buf slow = {0}, fast = {0};
    tune_hunks_print(&slow, before, hunks, count, false);
    tune_hunks_print(&fast, after, hunks, count, true);
    free(before);
    free(after);
    item->slow = keep_source(out, slow.at);
    item->fast = keep_source(out, fast.at);
    buf_free(&slow);
    buf_free(&fast);
    free(hunks);
}

/* The file with its folder: all of an agent's files have the same name. */
static const char *file_of(const struct foreign_place *place) {
    const char *at = path_base(place->path);
    if (at - place->path < 2)
        return at;
    for (at--; at > place->path && at[-1] != '/';)
        at--;
    return at;
}

static const char *source_of(const struct foreign_place *place, const char *agent) {
    return arena_printf(place->out->arena, "%s%s, %s:%d", agent, place->altered ? ALTERED : "",
                        file_of(place), place->line);
}

void foreign_experience(const struct foreign_place *place, const char *agent,
                        struct tune_experience item) {
    struct tune_foreign *out = place->out;
    if (out->experiences.len >= FOREIGN_EXPERIENCES) {
        if (!out->full)
            foreign_complain(place, "only the first %d experiences are taken", FOREIGN_EXPERIENCES);
        out->full = true;
        return;
    }
    item.title = foreign_keep(out, item.title, MAX_TITLE);
    item.summary =
        foreign_keep(out, item.summary, item.closed ? CLOSED_LINES * CLOSED_TEXT : MAX_TEXT);
    if (!item.title && !item.summary) {
        foreign_complain(place, "the experience has neither title nor summary");
        return;
    }
    const char *dialect = item.dialect ? item.dialect : foreign_dialect(item.fast);
    item.dialect = foreign_keep(out, dialect ? dialect : foreign_dialect(item.slow), 16);
    sources_keep(out, &item);
    item.applies_to = foreign_keep(out, item.applies_to, MAX_TITLE);
    item.family = foreign_keep(out, item.family, MAX_TITLE);
    item.generation = foreign_keep(out, item.generation, 16);
    item.source = source_of(place, agent);
    item.attempt = item.against = -1;
    item.is = TUNE_EXPERIENCE_PROPOSED;
    item.imported = true;
    *vec_push(&out->experiences) = item;
}

void foreign_attempt(const struct foreign_place *place, const char *agent, struct tune_import row,
                     const struct foreign_about *about) {
    struct tune_foreign *out = place->out;
    if (out->attempts.len >= FOREIGN_ATTEMPTS)
        return;
    if (out->attempts.len + 1 == FOREIGN_ATTEMPTS)
        foreign_complain(place, "only the first %d attempts are taken", FOREIGN_ATTEMPTS);
    row.agent = agent;
    row.source = arena_printf(out->arena, "%s:%d%s", file_of(place), place->line,
                              place->altered ? ALTERED : "");
    row.name = foreign_keep(out, row.name, MAX_TITLE);
    row.parent = foreign_keep(out, row.parent, MAX_TITLE);
    row.status = foreign_keep(out, row.status, 40);
    row.title = foreign_keep(out, row.title, MAX_TITLE);
    row.reason = foreign_keep(out, row.reason, 500);
    if (about->kernel &&
        row.is == TUNE_STATUS_FAILED) { /* only a kernel that failed need not be run again */
        struct hash hash = nki_source_hash(str_of(about->kernel));
        row.normal = arena_strdup(out->arena, hash.hex);
    }
    *vec_push(&out->attempts) = row;
    *vec_push(&out->about) =
        (struct foreign_about){.task = foreign_keep(out, about->task, MAX_TITLE),
                               .family = foreign_keep(out, about->family, MAX_TITLE),
                               .dialect = foreign_keep(out, about->dialect, 16),
                               .tried = about->tried,
                               .place = *place};
}

void foreign_pair(const struct foreign_place *place, const struct foreign_pair *pair) {
    bool gain = pair->speedup >= TUNE_POSITIVE;
    if (!gain && !(pair->speedup > 0 && pair->speedup <= TUNE_NEGATIVE))
        return;
    struct buf title = {0};
    foreign_title(pair->title ? pair->title : pair->what, &title);
    if (!title.len)
        buf_puts(&title, "A change");
    struct tune_experience item = {.title = title.at,
                                   .summary = pair->what ? pair->what : title.at,
                                   .slow = gain ? pair->before : pair->after,
                                   .fast = gain ? pair->after : pair->before,
                                   .applies_to = pair->task,
                                   .family = foreign_family(place->out, pair->task, pair->after),
                                   .speedup = pair->speedup};
    foreign_experience(place, pair->agent, item);
    buf_free(&title);
}

/* ------------------------------------------------------------ directions that did not work out */

static bool same_text(const char *a, const char *b) {
    return !a || !b ? a == b : !strcmp(a, b);
}

/* Whether the same was done again, and kept then. */
static bool worked_later(const struct tune_foreign *foreign, size_t i) {
    const struct tune_import *row = &foreign->attempts.at[i];
    for (size_t k = 0; k < foreign->attempts.len; k++)
        if (foreign->attempts.at[k].is == TUNE_STATUS_KEEP &&
            same_text(foreign->attempts.at[k].title, row->title) &&
            same_text(foreign->attempts.at[k].agent, row->agent))
            return true;
    return false;
}

static bool did_not_work(const struct tune_foreign *foreign, size_t i) {
    const struct tune_import *row = &foreign->attempts.at[i];
    if (!foreign->about.at[i].tried || !row->title)
        return false;
    bool turned_down = row->is == TUNE_STATUS_REVERT || row->is == TUNE_STATUS_REJECTED;
    bool bad = row->is == TUNE_STATUS_FAILED || (turned_down && !(row->speedup >= TUNE_POSITIVE));
    return bad && !worked_later(foreign, i);
}

static bool same_group(const struct tune_foreign *foreign, size_t i, size_t k) {
    const struct foreign_about *a = &foreign->about.at[i], *b = &foreign->about.at[k];
    return same_text(foreign->attempts.at[i].agent, foreign->attempts.at[k].agent) &&
           same_text(a->task, b->task) && same_text(a->family, b->family) &&
           same_text(a->dialect, b->dialect);
}

/* The first sentence or so of a text, on one line. */
static void one_line(struct buf *out, const char *text, size_t most) {
    struct str all = str_trim(str_of(text ? text : ""));
    size_t len = 0;
    while (len < all.len && len < most && all.at[len] != '\n')
        len++;
    while (len && len < all.len && (all.at[len] & 0xC0) == 0x80)
        len--;
    buf_add(out, all.at, len);
    if (len < all.len)
        buf_puts(out, "...");
}

static void direction_print(struct buf *out, const struct tune_import *row) {
    buf_puts(out, "- ");
    one_line(out, row->title, CLOSED_TEXT / 2);
    buf_printf(out, " (%s", row->status ? row->status : tune_status_word(row->is));
    if (!isnan(row->speedup) && row->speedup < 1)
        buf_printf(out, ", %.2fx", row->speedup);
    buf_puts(out, ")");
    if (row->reason && strcmp(row->reason, row->title) != 0) {
        buf_puts(out, ": ");
        one_line(out, row->reason, CLOSED_TEXT);
    }
    buf_putc(out, '\n');
}

/* Makes one list for the group that begins with this attempt; the group's attempts are then
 * done. */
static void group_close(struct tune_foreign *foreign, bool *open, size_t first) {
    const struct tune_import *row = &foreign->attempts.at[first];
    const struct foreign_about *about = &foreign->about.at[first];
    struct buf text = {0}, title = {0};
    int count = 0;
    for (size_t i = first; i < foreign->attempts.len; i++) {
        if (!open[i] || !same_group(foreign, first, i))
            continue;
        open[i] = false;
        if (count++ < CLOSED_LINES)
            direction_print(&text, &foreign->attempts.at[i]);
    }
    if (count > CLOSED_LINES)
        buf_printf(&text, "[... %d more left out ...]\n", count - CLOSED_LINES);
    buf_printf(&title, "%d direction%s that did not work for %s%s%s", count, PLURAL(count),
               row->agent, about->task ? " on " : "", about->task ? about->task : "");
    struct tune_experience item = {.title = title.at,
                                   .summary = text.at,
                                   .closed = true,
                                   .applies_to = about->task,
                                   .family = about->family,
                                   .dialect = about->dialect,
                                   .speedup = NAN};
    struct foreign_place place = about->place;
    foreign_experience(&place, row->agent, item);
    buf_free(&text);
    buf_free(&title);
}

void tune_foreign_close(struct tune_foreign *foreign) {
    size_t count = foreign->attempts.len;
    bool *open = mem_alloc(count + 1, sizeof *open);
    for (size_t i = 0; i < count; i++)
        open[i] = did_not_work(foreign, i);
    for (size_t i = 0; i < count; i++)
        if (open[i])
            group_close(foreign, open, i);
    free(open);
}
