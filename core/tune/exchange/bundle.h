/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bundle.c: folders of this machine in what a bundle says, its files, its task, its
 * log. */
#ifndef HONE_TUNE_BUNDLE_H
#define HONE_TUNE_BUNDLE_H

#include "tune/state/state.h"

struct bundle_place {
    char *from, *json; /* as it is, and as JSON writes it; NULL: none */
    const char *to;
};
struct bundle_places {
    struct bundle_place all[3]; /* the longest first */
};

/* What stands for a folder in a bundle: "." for the task's as the session knows it, "session" for
 * the session's, "~" for the user's. Free with bundle_places_free. */
void bundle_places_find(struct bundle_places *places, const struct tune_state *state,
                        const char *session);
/* Appends the text with what stands for them. */
void bundle_places_clean(const struct bundle_places *places, struct str text, bool json,
                         struct buf *out);
void bundle_places_free(struct bundle_places *places);

#define BUNDLE_SOURCE "attempts/%03d.py" /* the kernel of an attempt */

/* The files that one thread writes, one after the other. */
struct bundle_out {
    const char *folder;
    const struct bundle_places *places;
    int fd;            /* of the file that is written piece by piece; -1 */
    struct buf pieces; /* what is to be written to it */
    struct err *err;
};
/* A file: begin, any number of pieces, end, which also follows a begin that failed. The pieces of a
 * JSON file each have whole names of folders. `how`: O_EXCL, or O_TRUNC where one of that name may
 * be there. False and *err when it cannot be written; end then leaves what there is. */
bool bundle_file_begin(struct bundle_out *out, const char *name, int how) CC_MUST_USE;
bool bundle_file_add(void *out, struct str piece) CC_MUST_USE;
bool bundle_file_end(struct bundle_out *out, bool ok) CC_MUST_USE;
/* A whole file. Sources are the user's own and stay as they are. */
bool bundle_put(struct bundle_out *out, const char *name, struct str text) CC_MUST_USE;
void bundle_out_free(struct bundle_out *out);

struct store;
/* Writes events.jsonl and the sources that are left in the log, beside the caller. End waits for
 * all of it, or makes it give up; false and *err when it could not be written or read. */
struct bundle_log;
struct bundle_log *bundle_log_begin(const struct bundle_out *like, const char *session,
                                    const struct tune_state *state) CC_MUST_USE;
bool bundle_log_end(struct bundle_log *log, bool give_up, struct err *err);

struct bundle_file {
    char *name, *of; /* below the bundle's folder; "kernel", "reference", or whose import it is */
    char *text;      /* NULL: it is copied */
    size_t size;
    char *from, *hash; /* where a file lies that is too large to be kept; NULL */
};
struct bundle_task {
    VEC(struct bundle_file) files;
    const char *kernel, *reference; /* names; NULL: there is none */
    bool flat;                      /* hone sim on the folder finds them by itself */
    struct buf lacks;               /* lines about files that are not there any more */
    const char *lacking;            /* the name of the first of them; NULL */
};
/* All files of the task, with `source` as its kernel (NULL: its own). False and *err where one that
 * the session keeps is gone or damaged. Free with bundle_task_free in any case. */
bool bundle_task_find(struct bundle_task *task, const struct tune_state *state, struct store *store,
                      const char *source, struct err *err) CC_MUST_USE;
void bundle_task_free(struct bundle_task *task);

#endif
