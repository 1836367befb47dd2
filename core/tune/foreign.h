/* SPDX-License-Identifier: Apache-2.0 */
/* What other agents left behind, as experiences and attempts: nki-kernel-agent and hone itself
 * (experiments.jsonl, rewrites.json), AccelOpt (executor_results.json and its lists of rewrites), KDA
 * (candidates.jsonl), Autocomp (candidates-iter-N). Private to tune. */
#ifndef HONE_TUNE_FOREIGN_H
#define HONE_TUNE_FOREIGN_H

#include <cjson/cJSON.h>

#include "tune/state.h"

#define FOREIGN_FILE_MAX ((size_t)64 << 20)
#define FOREIGN_EXPERIENCES 500
#define FOREIGN_ATTEMPTS 5000
#define FOREIGN_COMPLAINTS 100

struct tune_foreign {
    VEC(struct tune_experience) experiences;    /* proposed, imported, with their source */
    VEC(struct tune_import) attempts;
    VEC(const char *) complaints;               /* "file:line: what is wrong with it" */
    size_t files, left_out;                     /* files read; complaints that were too many */
    struct arena *arena;                        /* owns every text above */
};

/* Reads a file, or the files in a folder that have such names, at most 256 MiB of them. What is
 * damaged is skipped with a complaint. False and *err for a path that cannot be read and for one in
 * which nothing was found. Free what was read with tune_foreign_free in either case. */
bool tune_foreign_read(const char *path, struct tune_foreign *out, struct err *err);
/* The same of one file's text; `path` tells the format and is what sources and complaints say. */
void tune_foreign_text(const char *path, struct str text, struct tune_foreign *out);
void tune_foreign_free(struct tune_foreign *foreign);

/* For the readers of the formats. Where something stands, and how to say it is damaged. */
struct foreign_place {
    struct tune_foreign *out;
    const char *path;
    int line;
};
void foreign_complain(const struct foreign_place *place, const char *format, ...) CC_PRINTF(2, 3);
/* A text cut to `most` bytes, in the arena; NULL for NULL and for blanks. */
const char *foreign_keep(struct tune_foreign *out, const char *text, size_t most);
/* Adds the experience, its texts copied; `agent` is whose it is. */
void foreign_experience(const struct foreign_place *place, const char *agent,
                        struct tune_experience item);
void foreign_attempt(const struct foreign_place *place, const char *agent, struct tune_import row);
/* An experience out of two kernels and their ratio, where that is worth remembering. */
struct foreign_pair {
    const char *agent, *task, *title, *what;    /* task: names the operation; NULL */
    const char *before, *after;                 /* whole kernels; NULL */
    double speedup;                             /* of `after` over `before` */
};
void foreign_pair(const struct foreign_place *place, const struct foreign_pair *pair);

/* foreign_json.c and foreign_repr.c: one file each. */
void foreign_read_lines(const struct foreign_place *place, struct str text);
void foreign_read_json(const struct foreign_place *place, struct str text);
void foreign_read_repr(const struct foreign_place *place, struct str text);

#endif
