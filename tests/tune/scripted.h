/* SPDX-License-Identifier: Apache-2.0 */
/* A session whose models are a script (scripted.py), for tests. */
#ifndef HONE_TESTS_TUNE_SCRIPTED_H
#define HONE_TESTS_TUNE_SCRIPTED_H

#include "tune/fake.h"
#include "base/config/testing.h"
#include "loop/testing.h"

struct scripted {
    struct fake fake;
    struct config *config;
};

/* A session whose models are a script. */
static inline void scripted_begin(struct scripted *scripted, const char *script) {
    struct fake *fake = &scripted->fake;
    struct err err = {0};
    struct buf command = {0};
    fake_begin(fake, NULL, 0, TUNE_GATE_AUTO);
    tune_session_close(fake->session);
    fake_file(fake->folder, "script", script);
    char *config_home = path_join(fake->folder, "config");
    setenv("XDG_CONFIG_HOME", config_home, 1);
    scripted->config = config_load(NULL, &err);
    assert_non_null(scripted->config);
    buf_printf(&command, "/usr/bin/python3 %s/tests/tune/scripted.py %s/script %s/state",
               HONE_SOURCE_DIR, fake->folder, fake->folder);
    assert_true(config_set(scripted->config, "model script", "api", "command", &err));
    assert_true(config_set(scripted->config, "model script", "command", command.at, &err));
    assert_true(config_set(scripted->config, "model script", "retry_wait_s", "0.01", &err));
    fake->options.use = NULL;
    fake->options.proposer = "script";
    fake->options.config = scripted->config;
    fake->options.fresh = true;
    fake->place = (struct fake_place){.loop = fake->loop};
    fake_open(fake);
    fake->options.fresh = false;
    free(config_home);
    buf_free(&command);
}

static inline void scripted_end(struct scripted *scripted) {
    fake_end(&scripted->fake);
    config_free(scripted->config);
    unsetenv("XDG_CONFIG_HOME");
}

static inline char *scripted_prompt(struct scripted *scripted, const char *file) {
    struct err err = {0};
    char *path = path_join(scripted->fake.folder, file);
    char *text = file_read(path, 0, NULL, &err);
    assert_non_null(text);
    free(path);
    return text;
}

static inline void scripted_run(struct scripted *scripted) {
    fake_act(&scripted->fake, (struct tune_action){.kind = TUNE_ACT_START});
}

#define SCRIPTED_PLAN(number)                                          \
    "=== planner\ntitle: plan " number "\nwhat: change number " number \
    "\nmetric: hbm_read_bytes\n"                                       \
    "direction: down\nsize: 40 %\n"
#define SCRIPTED_EDIT(from, to) \
    "=== rewriter\n<<<<<<< SEARCH\n" from "\n=======\n" to "\n>>>>>>> REPLACE\n"

#endif
