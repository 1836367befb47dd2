/* SPDX-License-Identifier: Apache-2.0 */
/* All files that a task consists of, by content: the kernel, the reference, and the files beside
 * them that they import, over any number of steps. Nothing is run to find them. Some files read
 * files or find modules at run time. What the string literals of such a file name beside it belongs
 * to the task too (np.load("weights.npy"), import_module("tiles")); a name that is put together at
 * run time does not. */
#ifndef HONE_TASK_CLOSURE_H
#define HONE_TASK_CLOSURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

#define TASK_MAX_FILES 100
#define TASK_MAX_FILE_BYTES ((size_t)16 << 20) /* a larger one is not kept */

/* Whose file it is. A file is both where kernel and reference import it. */
enum task_of { TASK_OF_KERNEL = 1, TASK_OF_REFERENCE = 2 };

struct task_seen; /* seen.h */

struct task_file {
    char *path; /* absolute, without . and .. */
    char *name; /* below the closure's root: "helper.py", "common/tiles.py" */
    char *text; /* terminated; NULL: data that was not read */
    size_t size;
    struct hash hash; /* of the text; empty without */
    unsigned of;
    bool is_start; /* the kernel itself, or the reference itself */
    bool by_text;  /* named by a string, no import: data, or a module */
};
/* A file that is too large to be kept. */
struct task_left {
    char *path, *name; /* as of a file */
    unsigned of;
};
struct task_closure {
    VEC(struct task_file) files; /* kernel and reference first, then in the order they were found */
    VEC(struct task_left) left;  /* data that strings name */
    char *root;                  /* the folder that holds all of them */
};

/* Makes "/a/c" of "/a/./b/../c". A relative path starts at this process's folder. Links are not
 * followed. A new string. */
char *task_path_plain(const char *path) CC_MUST_USE;

/* Where to begin. A kernel_text is taken in place of what the file has (a candidate, a kernel from
 * the binary). Paths may be NULL. */
struct task_start {
    const char *kernel_path, *kernel_text, *reference_path;
    bool no_data;           /* data that strings name is found, but not read */
    struct task_seen *seen; /* files need not be read that are in there; NULL */
};
/* NULL and *err (usage) when kernel or reference cannot be read, or too many files belong to the
 * task. An import that leads to no readable file is passed over. */
struct task_closure *task_closure_find(const struct task_start *start, struct err *err) CC_MUST_USE;
void task_closure_free(struct task_closure *closure); /* accepts NULL */
/* Size and hash of a file of any size, read piece by piece; the hash is not that of an artefact.
 * False when it cannot be read, or as soon as *cancel (NULL: never) is true. */
bool task_file_sum(const char *path, const volatile int *cancel, int64_t *size,
                   struct hash *hash) CC_MUST_USE;
/* A hash of the names and contents of the files that are `of` it. Where they lie does not
 * matter. */
struct hash task_closure_hash(const struct task_closure *closure, unsigned of);

#endif
