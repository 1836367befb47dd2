/* SPDX-License-Identifier: Apache-2.0 */
/* The import statements of a Python file, anywhere in it. They are found without running the file,
 * even where the rest of it does not parse. Private to this folder. */
#ifndef HONE_TASK_IMPORTS_H
#define HONE_TASK_IMPORTS_H

#include "base/base.h"

/* "import a.b" is {a.b, 0}. "from ..a import b, c" is {a, 2} with the names b and c. */
struct task_import {
    struct str module; /* empty: "from . import b" */
    unsigned level;
    const struct str *names;
    size_t name_count;
};
typedef void task_import_fn(void *data, const struct task_import *import);
void task_imports_find(struct str text, task_import_fn *fn, void *data);
/* Gets the string literals, as they stand between their quotes. They may name a file or a module
 * that is read at run time. Long ones and those of several lines are left out. */
typedef void task_text_fn(void *data, struct str text);
void task_texts_find(struct str text, task_text_fn *fn, void *data);
/* Whether the text has a name with which Python reads files, or finds modules that no import
 * statement names. */
bool task_imports_reach_out(struct str text);
/* Whether the text finds modules by name at run time. */
bool task_imports_by_name(struct str text);

#endif
