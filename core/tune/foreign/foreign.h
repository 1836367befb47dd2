/* SPDX-License-Identifier: Apache-2.0 */
/* What other agents left behind, as experiences and attempts: nki-kernel-agent and hone itself
 * (experiments.jsonl, rewrites.json), AccelOpt (executor_results.json and its lists of rewrites),
 * KDA (candidates.jsonl), Autocomp (candidates-iter-N). Private to tune. */
#ifndef HONE_TUNE_FOREIGN_H
#define HONE_TUNE_FOREIGN_H

#include <cjson/cJSON.h>

#include "tune/state/state.h"

#define FOREIGN_FILE_MAX ((size_t)64 << 20)
#define FOREIGN_EXPERIENCES 500
#define FOREIGN_ATTEMPTS 5000
#define FOREIGN_COMPLAINTS 100

/* Where something stands. */
struct foreign_place {
    struct tune_foreign *out;
    const char *path;
    int line;
    bool altered; /* the file is of an export that was changed since */
};
/* An export of hone's in which files are read. */
struct foreign_export {
    const char *folder;
    bool listed, altered; /* it has SHA256SUMS; which its files do not agree with */
    const char **names;   /* of its files, sorted */
    size_t count;
};
struct foreign_about {
    const char *task, *family, *dialect; /* NULL: not known */
    const char *kernel;                  /* whole; NULL */
    bool tried;                          /* it was carried out or judged: no answer that was lost */
    struct foreign_place place;          /* set by foreign_attempt */
};

struct tune_foreign {
    VEC(struct tune_experience) experiences; /* proposed, imported, with their source */
    VEC(struct tune_import) attempts;
    VEC(struct foreign_about) about; /* of each of the attempts */
    VEC(struct hash) seen;           /* hashes of kernels, for agents that repeat them */
    VEC(const char *) complaints;    /* "file:line: what is wrong with it" */
    size_t files, left_out;          /* files read; complaints that were too many */
    size_t beside;                   /* files beside them */
    VEC(struct foreign_export) exports;
    size_t altered;      /* files of them that are not as they were exported */
    int64_t summed;      /* bytes read to find that out */
    bool is_altered;     /* the file that is read is of such an export */
    const char *own;     /* a folder to leave out: the session's; NULL */
    bool full;           /* experiences were left out, and it was said */
    struct arena *arena; /* owns every text above */
};

/* Reads a file, or the files in a folder that have such names, at most 256 MiB of them. What is
 * damaged is skipped with a complaint. False and *err for a path that cannot be read and for one in
 * which nothing was found. Free what was read with tune_foreign_free in either case. */
bool tune_foreign_read(const char *path, struct tune_foreign *out, struct err *err);
/* The same of one file's text; `path` tells the format and is what sources and complaints say. */
void tune_foreign_text(const char *path, struct str text, struct tune_foreign *out);
/* Adds one experience for every agent and task, which lists the directions that did not work there.
 * tune_foreign_read calls it; after tune_foreign_text the caller does. */
void tune_foreign_close(struct tune_foreign *foreign);
void tune_foreign_free(struct tune_foreign *foreign);

/* For the readers of the formats: how to say that something is damaged. */
void foreign_complain(const struct foreign_place *place, const char *format, ...) CC_PRINTF(2, 3);
/* A text cut to `most` bytes, in the arena; NULL for NULL and for blanks. */
const char *foreign_keep(struct tune_foreign *out, const char *text, size_t most);
/* A file beside the one that is read, at most FOREIGN_FILE_MAX bytes of it. NULL when it cannot be
 * read, when the name does not stay in that folder, or when too much was read already. Free with
 * free. */
char *foreign_beside(const struct foreign_place *place, const char *name);
/* Whether it was told before; if not, it is remembered. */
bool foreign_again(struct tune_foreign *out, const char *what, const char *source);
/* Adds the experience, its texts copied; `agent` is whose it is. Whole kernels are cut to the lines
 * that differ. */
void foreign_experience(const struct foreign_place *place, const char *agent,
                        struct tune_experience item);
void foreign_attempt(const struct foreign_place *place, const char *agent, struct tune_import row,
                     const struct foreign_about *about);
/* An experience out of two kernels and their ratio, where that is worth remembering. */
struct foreign_pair {
    const char *agent, *task, *title, *what; /* task: names the operation; NULL */
    const char *before, *after;              /* whole kernels; NULL */
    double speedup;                          /* of `after` over `before` */
};
void foreign_pair(const struct foreign_place *place, const struct foreign_pair *pair);
/* What a task's name says its operations are, else what a kernel computes; NULL when neither
 * tells. */
const char *foreign_family(struct tune_foreign *out, const char *task, const char *source);
/* As tune_memory_dialect; "other" for a source that is clearly no NKI. */
const char *foreign_dialect(const char *source);

/* text.c: texts as models write them. A short title out of a plan or a summary in Markdown,
 * appended; nothing for NULL and blanks. */
void foreign_title(const char *text, struct buf *out);
/* The last line of a traceback, which says what was wrong; in the arena. NULL for blanks. */
const char *foreign_last_line(struct tune_foreign *out, const char *text);
/* The code blocks under "Original code" and "Optimized code" of a summary; `rest` is what is left
 * of it. False: there are none, nothing is set. All in the arena. */
bool foreign_snippets(struct tune_foreign *out, const char *text, struct tune_experience *item);
/* The status that free words say: that of the first word that is known. */
enum tune_status foreign_status(const char *words);

/* json.c: the tree of a text in which Python may have written NaN and Infinity; NULL with a
 * complaint. A number, also one that was written as text; NAN. The first of several texts. */
cJSON *foreign_parse(const struct foreign_place *place, struct str text);
double foreign_number(const cJSON *object, const char *key);
const char *foreign_first(const cJSON *object, const char *const keys[]);
#define FOREIGN_TEXT(object, ...) foreign_first((object), (const char *const[]){__VA_ARGS__, NULL})
double foreign_us(double ms);

/* manifest.c: SHA256SUMS of an export. Write: of all files in the folder. Altered: whether the file
 * belongs to an export that was changed since it was written, or joined it later; complains once
 * for each export, also of one that has none. */
bool tune_manifest_write(const char *folder, struct err *err) CC_MUST_USE;
bool foreign_is_altered(struct tune_foreign *out, const char *file);

/* The readers, one file each. */
void foreign_read_lines(const struct foreign_place *place, struct str text);
void foreign_read_json(const struct foreign_place *place, struct str text);
void foreign_read_accelopt(const struct foreign_place *place, const cJSON *results,
                           struct str text);
void foreign_read_repr(const struct foreign_place *place, struct str text);
/* What the lines of one file know of those before them. */
struct foreign_row {
    const char *id, *file; /* of its kernel, as it tells it; NULL */
    double latency_ms;
};
struct foreign_log {
    VEC(struct foreign_row) rows;
    double best_ms;   /* NAN: nothing yet */
    const char *task; /* of hone's own, when it was exported; NULL */
    bool looked;      /* for that */
};
void foreign_read_kda(const struct foreign_place *place, const cJSON *line,
                      struct foreign_log *log);

#endif
