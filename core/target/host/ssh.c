/* SPDX-License-Identifier: Apache-2.0 */
/* The target kind `ssh`: one host, whose runner begins jobs at once. host.h does all of that. This
 * file knows which names are hosts. */
#include "target/host/host.h"

#include <stdio.h>
#include <stdlib.h>

struct ssh {
    struct host *host;
};

/* --------------------------------------------------------------------------------------- names */

static char *section_of(const char *name) {
    struct buf section = {0};
    buf_printf(&section, "host %s", name);
    return buf_take(&section);
}

static bool is_section(const char *name, const struct target_options *options) {
    char *section = section_of(name);
    bool found = options->config && config_has(options->config, section);
    free(section);
    return found;
}

static bool is_alias(const char *name) {
    size_t count = 0;
    bool found = false;
    char **names = transport_known_names(NULL, &count);
    for (size_t i = 0; i < count; i++) {
        found = found || strcmp(names[i], name) == 0;
        free(names[i]);
    }
    free(names);
    return found;
}

static bool ssh_takes(const char *name, const struct target_options *options) {
    return is_section(name, options) || (strchr(name, '@') && name[0] != '-') || is_alias(name);
}

static void ssh_list(const struct target_options *options, struct buf *out) {
    const char *name;
    for (size_t i = 0; options->config && (name = config_name(options->config, "host", i)); i++)
        buf_printf(out, ", %s", name);
    buf_puts(out, ", user@host, the names of ~/.ssh/config");
}

/* ------------------------------------------------------------------------------------ the kind */

static void *ssh_open(struct loop *loop, const char *name, const struct target_options *options,
                      struct target_board *board, struct err *err) {
    char *section = section_of(name);
    bool given = is_section(name, options);
    struct host_spec spec = {
        .name = name, .section = given ? section : NULL, .config = given ? options->config : NULL};
    struct ssh *ssh = mem_alloc(1, sizeof *ssh);
    ssh->host = host_open(loop, &spec, board, err);
    free(section);
    if (!ssh->host) {
        free(ssh);
        return NULL;
    }
    snprintf(board->info.what, sizeof board->info.what, "host %.100s over SSH", name);
    board->info.parallel = (int)host_number(ssh->host, "parallel", 2);
    return ssh;
}

static void ssh_close(void *self) {
    struct ssh *ssh = self;
    host_close(ssh->host);
    free(ssh);
}

static void *ssh_start(void *self, const struct runner_job *job,
                       const struct runner_callbacks *callbacks, struct err *err) {
    struct ssh *ssh = self;
    (void)err;
    return host_job_open(ssh->host, job, callbacks, NULL);
}

static void ssh_cancel(void *run) {
    host_job_cancel(run);
}

static void ssh_drop(void *run) {
    host_job_drop(run);
}

static void ssh_look(const void *run, struct target_entry *entry) {
    host_job_look(run, entry);
}

static void ssh_answer(void *self, const char *answer) {
    struct ssh *ssh = self;
    host_answer(ssh->host, answer);
}

static void ssh_retry(void *self) {
    struct ssh *ssh = self;
    host_retry(ssh->host);
}

static void *ssh_ask(void *self, const struct target_ask_spec *spec, struct err *err) {
    struct ssh *ssh = self;
    return host_ask_start(ssh->host, spec, err);
}

static void ssh_ask_drop(void *asked) {
    host_ask_drop(asked);
}

const struct target_kind target_ssh = {.name = "ssh",
                                       .takes = ssh_takes,
                                       .list = ssh_list,
                                       .open = ssh_open,
                                       .close = ssh_close,
                                       .start = ssh_start,
                                       .cancel = ssh_cancel,
                                       .drop = ssh_drop,
                                       .look = ssh_look,
                                       .answer = ssh_answer,
                                       .retry = ssh_retry,
                                       .ask = ssh_ask,
                                       .ask_drop = ssh_ask_drop};
