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
const char *tune_files_word(const struct task_file *file);

/* slices.c. Begin: false where it is little and can be done at once. Take: false where no slices
 * are under way, else these follow them. */
bool tune_slices_begin(struct tune_session *session, const struct tune_chosen *chosen,
                       bool adds) CC_MUST_USE;
bool tune_slices_take(struct tune_session *session, const struct tune_chosen *chosen) CC_MUST_USE;

#endif
