/* SPDX-License-Identifier: Apache-2.0 */
/* A home of its own for a test with a terminal, and a task in it. Include cmocka before it. */
#ifndef HONE_TESTS_SESSION_SMALL_H
#define HONE_TESTS_SESSION_SMALL_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"

struct place {
    char home[64];
    char home_env[80], editor_env[160];
    const char *env[16];
};

static inline int make_place(void **state) {
    static char folder[] = "/tmp/hone-session-XXXXXX";
    struct place *place = mem_alloc(1, sizeof *place);
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    if (!mkdtemp(folder))
        return 1;
    snprintf(place->home, sizeof place->home, "%s", folder);
    snprintf(place->home_env, sizeof place->home_env, "HOME=%s", folder);
    snprintf(place->editor_env, sizeof place->editor_env,
             "EDITOR=printf 'the editor\\n'; read answer; sed -i \"1s/^/# by hand $answer\\n/\"");
    const char *const env[] = {
        place->home_env,   place->editor_env,  "VISUAL=",         "TERM=xterm-256color",
        "LANG=C.UTF-8",    "LC_ALL=C.UTF-8",   "NO_COLOR=",       "HONE_ASCII=",
        "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", NULL};
    memcpy(place->env, env, sizeof env);
    *state = place;
    return chdir(folder);
}

static inline int remove_place(void **state) {
    struct place *place = *state;
    struct err err;
    int failed = chdir("/") != 0 || !file_remove_tree(place->home, &err);
    free(place);
    return failed;
}

/* A seed with inputs so small that a round takes a second. */
static inline void make_small_task(void) {
    static const char *const names[] = {"kernel.py", "reference.py"};
    struct err err;
    assert_true(file_make_dirs("small", &err));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char from[64], to[64];
        snprintf(from, sizeof from, "seeds/silu/%s", names[i]);
        snprintf(to, sizeof to, "small/%s", names[i]);
        struct str text = embed_find(from);
        struct buf copy = {0};
        assert_non_null(text.at);
        buf_add(&copy, text.at, text.len);
        char *size = strstr(copy.at, "M, N = 4096, 7168");
        if (size)
            memcpy(size, "M, N =  256, 1024", 17);
        assert_true(file_write(to, copy.at, copy.len, &err));
        buf_free(&copy);
    }
}

#endif
