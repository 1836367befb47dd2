/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of its own for each test program: files, and the cache of hone inside it. */
#ifndef HONE_TESTS_TASK_WORKBENCH_H
#define HONE_TESTS_TASK_WORKBENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"

static inline int make_folder(void **state) {
    char pattern[] = "/tmp/hone-test-XXXXXX";
    if (!mkdtemp(pattern))
        return -1;
    *state = mem_strdup(pattern);
    char *cache = path_join(pattern, "cache");
    setenv("XDG_CACHE_HOME", cache, 1);
    free(cache);
    char *config = path_join(pattern, "config");
    setenv("XDG_CONFIG_HOME", config, 1);
    free(config);
    unsetenv("HONE_PYTHON");
    unsetenv("HONE_CACHE_LIMIT");
    return 0;
}

static inline int remove_folder(void **state) {
    bool ok = file_remove_tree(*state, NULL);
    free(*state);
    return ok ? 0 : -1;
}

/* Writes folder/name and returns its path; free it with free. */
static inline char *put(void **state, const char *name, const char *text) {
    char *path = path_join(*state, name);
    char *folder = path_folder(path);
    assert_true(file_make_dirs(folder, NULL));
    free(folder);
    struct err err = {0};
    assert_true(file_write(path, text, strlen(text), &err));
    return path;
}

#endif
