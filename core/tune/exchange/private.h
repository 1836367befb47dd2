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

/* checkpoints.c: when a file was written, in nanoseconds. Writes the kernel of an attempt as a file
 * where there is none. */
struct stat;
int64_t tune_ns_of(const struct stat *st);
bool tune_checkpoint_write(struct tune_session *session, const struct tune_attempt *attempt,
                           struct err *err) CC_MUST_USE;

/* kept.c: artefacts that the log names: by hash, what each is, in a text. Add those of a state; of
 * an event "closure". Free it with tune_named_free. Missing: how many of them are not in a
 * session's folder, and the names of the first. */
void tune_named_state(struct map *named, const struct tune_state *state);
void tune_named_closure(struct map *named, const struct tune_event *event);
void tune_named_free(struct map *named);
/* One name more of a list in a sentence, which has `count`; only the first few are in it. */
void tune_name_list(struct buf *names, size_t count, const char *name);
size_t tune_named_missing(const struct map *named, const char *session, struct buf *names);

/* rows.c: the rows of one attempt, in all tables. */
bool tune_attempt_rows(const struct tune_state *state, const struct tune_attempt *attempt,
                       tune_row_fn *put, void *data, struct err *err) CC_MUST_USE;

/* files.c: the task's files as they lie on disk now, and the kernel with that source (NULL: as it
 * is on disk); what their data holds only where `data` asks for it. The folder below which the
 * session's names of files are; NULL when that cannot be told; free it with free. The word of an
 * event for whose file it is. */
struct task_closure *tune_files_now(const struct tune_session *session, const char *source,
                                    bool data, struct err *err) CC_MUST_USE;
char *tune_files_root(const struct tune_session *session) CC_MUST_USE;
/* The same for any state: `anchor` is where its file that is `of` "kernel" or "reference" lies. */
char *tune_files_root_of(const struct tune_state *state, const char *anchor,
                         const char *of) CC_MUST_USE;
const char *tune_files_word(const struct task_file *file);
/* The word for a file that is only read. */
const char *tune_files_read_word(unsigned of);

/* large.c: size and hash of a file: of its content, or where it is too large to be kept as of
 * task_file_sum. It is read again only where its size, its times or its place on the disk changed,
 * and by a worker: when all are read, the driver's
 * files_known is called. Want: once its hash is known, it joins the session's files under that name
 * (tune_files_late). Restore: makes `to` the file with that hash, by copying `from` (NULL: it is
 * not known) where need be; false and ERR_USAGE when it has not that hash or is gone. Such work may
 * still be under way afterwards (tune_large_is_busy). */
enum tune_large_is {
    TUNE_LARGE_KNOWN,
    TUNE_LARGE_BUSY, /* it is being read */
    TUNE_LARGE_GONE, /* or it cannot be read */
};
enum tune_large_is tune_large_sum(struct tune_session *session, const char *path, int64_t *size,
                                  struct hash *hash) CC_MUST_USE;
void tune_large_want(struct tune_session *session, const char *path, const char *name,
                     const char *of);
bool tune_large_restore(struct tune_session *session, const char *from, const char *to,
                        const char *hash, struct err *err) CC_MUST_USE;
/* The same at once, for commands: it blocks. */
bool tune_large_copy(const char *from, const char *to, const char *hash,
                     struct err *err) CC_MUST_USE;

/* found.c: a file of which only the hash is kept joins the session's files. */
void tune_files_late(struct tune_session *session, const char *name, const char *of, int64_t size,
                     const struct hash *hash);

/* slices.c. Begin: false where it is little and can be done at once. Take: false where no slices
 * are under way, else these follow them. */
bool tune_slices_begin(struct tune_session *session, const struct tune_chosen *chosen,
                       bool adds) CC_MUST_USE;
bool tune_slices_take(struct tune_session *session, const struct tune_chosen *chosen) CC_MUST_USE;

#endif
