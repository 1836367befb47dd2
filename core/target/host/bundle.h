/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a task that go to a host. Private to this folder. */
#ifndef HONE_TARGET_BUNDLE_H
#define HONE_TARGET_BUNDLE_H

#include "target/host/host.h"

/* What belongs to a job's kernels and reference (task/closure.h), what the reference was seen to
 * read here, and, where they are few, the other Python files beside it, which it may find by names
 * made at run time. {0} is the empty one. */
struct bundle {
    VEC(struct host_file) files; /* path: a name below the task's folder */
    struct buf reference;        /* the reference's name among them; "": there is none */
    struct buf kernel_folder;    /* where the kernel would be among them; "": at the top */
    struct buf kernel_files;     /* those that its kernels import or open, below that folder; a name
                                  * in a line */
    struct buf left;             /* what belongs to it and cannot go: "path (size)" in a line */
    size_t bytes;
    struct hash hash; /* of all names and contents */
};
/* Reads them. It blocks, so a worker calls it. Files that are too large for their way are left out
 * and named in bundle->left. False and *err (usage) when the reference cannot be read, or too many
 * files belong to the task. The caller frees the bundle in any case. */
#define BUNDLE_MAX_FILES 200
#define BUNDLE_MAX_BYTES ((size_t)64 << 20) /* of all files; each may have TASK_MAX_FILE_BYTES */
bool bundle_read(struct bundle *bundle, const struct runner_job *job, struct err *err) CC_MUST_USE;
void bundle_free(struct bundle *bundle);

#endif
