/* SPDX-License-Identifier: Apache-2.0 */
/* All files that a task is made of: the kernel, the reference, and what they import of files beside
 * them, over any number of steps; by content. Nothing is run to find them. Where a file reads files
 * or finds modules at run time, what its string literals name beside it belongs to the task, too
 * (np.load("weights.npy"), import_module("tiles")); what is put together at run time does not. */
#ifndef HONE_TASK_CLOSURE_H
#define HONE_TASK_CLOSURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

#define TASK_MAX_FILES 100

/* Whose file it is; both, where kernel and reference import it. */
enum task_of { TASK_OF_KERNEL = 1, TASK_OF_REFERENCE = 2 };

struct task_file {
    char *path; /* absolute, without . and .. */
    char *name; /* below the closure's root: "helper.py", "common/tiles.py" */
    char *text; /* terminated */
    size_t size;
    struct hash hash; /* of the text */
    unsigned of;
    bool is_start; /* the kernel itself, or the reference itself */
    bool by_text;  /* no import names it, but a string: data that is read, a module found by name */
};
struct task_closure {
    VEC(struct task_file) files; /* kernel and reference first, then as they were found */
    VEC(char *) left;            /* paths of data that is too large to be kept */
    char *root;                  /* the folder that all of them lie below */
};

/* "/a/./b/../c" is "/a/c"; relative paths are below this process's folder; links are not followed.
 * A new string. */
char *task_path_plain(const char *path) CC_MUST_USE;

/* What it begins with. A kernel_text is taken instead of what the file has (a candidate, a kernel
 * from the binary); paths may be NULL. */
struct task_start {
    const char *kernel_path, *kernel_text, *reference_path;
};
/* NULL and *err (usage) when kernel or reference cannot be read, or too many files belong to it. An
 * import that leads to no readable file is passed over. */
struct task_closure *task_closure_find(const struct task_start *start, struct err *err) CC_MUST_USE;
void task_closure_free(struct task_closure *closure); /* accepts NULL */
/* Of the names and contents of the files that are `of` it; where they lie does not matter. */
struct hash task_closure_hash(const struct task_closure *closure, unsigned of);

#endif
