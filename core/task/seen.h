/* SPDX-License-Identifier: Apache-2.0 */
/* What files were seen to hold. Before each step the files of a task are compared with what the
 * session has. One whose size, times and place on the disk are what they were is not opened again
 * for that: the event loop would wait for the disk. Several threads may use it at once. */
#ifndef HONE_TASK_SEEN_H
#define HONE_TASK_SEEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

struct stat;
struct task_seen;
struct task_seen *task_seen_new(void) CC_MUST_USE;
/* One holder more, who frees it, too; returns it. Accepts NULL. */
struct task_seen *task_seen_hold(struct task_seen *seen);
void task_seen_free(struct task_seen *seen); /* accepts NULL */
/* A look at files begins: of one that changed just now, what the last look read counts until the
 * next one begins. Until the look is over, no file is asked twice for what it is. */
void task_seen_look(struct task_seen *seen);
void task_seen_look_over(struct task_seen *seen);

/* As stat and as lstat, whose answers stand until a look that is under way is over; `seen` NULL:
 * from the disk. */
bool task_seen_stat(struct task_seen *seen, const char *path, struct stat *st);
bool task_seen_lstat(struct task_seen *seen, const char *path, struct stat *st);

/* Whether two looks were at one file that nobody changed in between. */
bool task_file_is_same(const struct stat *a, const struct stat *b);
/* Whether another change of the file would show in its times. */
bool task_file_is_settled(const struct stat *st);

/* Whether the file is what it was when it was seen to have that hash. */
bool task_seen_is(struct task_seen *seen, const char *path, const char *hash);
/* As file_read, up to TASK_MAX_FILE_BYTES, but from memory where nothing changed; `seen` NULL: from
 * the file. */
char *task_seen_read(struct task_seen *seen, const char *path, size_t *size,
                     struct err *err) CC_MUST_USE;
/* As file_sha256, but only once for a file that did not change. */
bool task_seen_sha256(struct task_seen *seen, const char *path, char hex[65]);

#endif
