/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of exchange share. */
#ifndef HONE_TUNE_EXCHANGE_PRIVATE_H
#define HONE_TUNE_EXCHANGE_PRIVATE_H

#include "tune/exchange/inner.h"

/* Several attempts, by number. */
struct tune_chosen {
    bool *is;
    size_t count;
};

/* export.c: tables and files of one attempt, with `adds` its row, too. `seq`: up to which event all
 * attempts are true with this one. */
bool tune_derive(struct tune_session *session, int attempt, bool adds, int64_t seq,
                 struct err *err) CC_MUST_USE;
bool tune_row_write(struct tune_session *session, const struct tune_attempt *attempt,
                    struct err *err) CC_MUST_USE;
/* The same of several, now or, where there are many, in slices. */
void tune_derive_chosen(struct tune_session *session, const struct tune_chosen *chosen);

/* files.c: the task's files as they lie on disk now, and the kernel with that source (NULL: as it
 * is on disk). The folder below which the session's names of files are; NULL when that cannot be
 * told; free it with free. The word of an event for whose file it is. */
struct task_closure *tune_files_now(const struct tune_session *session, const char *source,
                                    struct err *err) CC_MUST_USE;
char *tune_files_root(const struct tune_session *session) CC_MUST_USE;
/* The same for any state: `anchor` is where its file that is `of` "kernel" or "reference" lies. */
char *tune_files_root_of(const struct tune_state *state, const char *anchor,
                         const char *of) CC_MUST_USE;
const char *tune_files_word(const struct task_file *file);
/* The word for a file that is only read. */
const char *tune_files_read_word(unsigned of);

/* large.c: size and hash of a large file (task_file_sum). It is read again only where its size, its
 * times or its place on the disk changed. False when it cannot be read. Copy: from one path to
 * another, if it has that hash; ERR_USAGE when it has not or is gone. */
bool tune_large_sum(struct tune_session *session, const char *path, int64_t *size,
                    struct hash *hash) CC_MUST_USE;
bool tune_large_copy(const char *from, const char *to, const char *hash,
                     struct err *err) CC_MUST_USE;

/* slices.c. Begin: false where it is little and can be done at once. Take: false where no slices
 * are under way, else these follow them. */
bool tune_slices_begin(struct tune_session *session, const struct tune_chosen *chosen,
                       bool adds) CC_MUST_USE;
bool tune_slices_take(struct tune_session *session, const struct tune_chosen *chosen) CC_MUST_USE;

#endif
