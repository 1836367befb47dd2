/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bundle.c: folders of this machine in what a bundle says, and the task in it. */
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

struct store;
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
};
/* All files of the task, with `source` as its kernel (NULL: its own). False and *err where one that
 * the session keeps is gone or damaged. Free with bundle_task_free in any case. */
bool bundle_task_find(struct bundle_task *task, const struct tune_state *state, struct store *store,
                      const char *source, struct err *err) CC_MUST_USE;
void bundle_task_free(struct bundle_task *task);

#endif
