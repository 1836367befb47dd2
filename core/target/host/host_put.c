/* SPDX-License-Identifier: Apache-2.0 */
/* Puts files of ours on a host. They are looked for by size and SHA-256, and put where they are
 * missing or not whole. Others may put the same files at the same time, so the transport writes
 * each beside its place and renames it. */
#include <stdio.h>
#include <stdlib.h>

#include "target/host/bundle.h"
#include "target/host/host_own.h"

#define MAX_FILES (BUNDLE_MAX_FILES + 1) /* looked for in one command */

/* Prints one event for each file that is there. Reads no other files. */
static const char check[] = "import hashlib, json, os, sys\n"
                            "for path in sys.argv[1:]:\n"
                            "    try:\n"
                            "        with open(path, 'rb') as file:\n"
                            "            data = file.read()\n"
                            "    except (IOError, OSError):\n"
                            "        continue\n"
                            "    event = {'event': 'file', 'path': path, 'bytes': len(data),\n"
                            "             'sha256': hashlib.sha256(data).hexdigest()}\n"
                            "    print('@hone ' + json.dumps(event))\n";

struct host_put {
    struct host *host;
    struct host_file *files;
    size_t count, at; /* at: the file being copied */
    bool copied;      /* all were put; they are checked once more */
    host_done_fn *on_done;
    void *data;
    struct host_call *call;
    struct host_copy *copy;
    struct loop_timer *timer;
    struct err early;
};

static void put_free(struct host_put *put) {
    struct host *host = put->host;
    size_t kept = 0;
    for (size_t i = 0; i < host->puts.len; i++)
        if (host->puts.at[i] != put)
            host->puts.at[kept++] = host->puts.at[i];
    host->puts.len = kept;
    loop_timer_stop(put->timer);
    free(put);
}

static void finish(struct host_put *put, const struct err *err, bool lost) {
    host_done_fn *on_done = put->on_done;
    void *data = put->data;
    struct err copy = *err;
    put_free(put);
    on_done(data, &copy, lost);
}

static void finish_soon(void *data) {
    struct host_put *put = data;
    put->timer = NULL;
    finish(put, &put->early, true);
}

/* It could not even be started, because the connection went. */
static void stop(struct host_put *put) {
    put->timer = loop_timer_start(put->host->loop, 0, 0, finish_soon, put);
}

static void on_file(void *data, const char *name, const cJSON *event) {
    struct host_put *put = data;
    for (size_t i = 0; i < put->count && strcmp(name, "file") == 0; i++) {
        struct host_file *file = &put->files[i];
        if (strcmp(file->path, host_text(event, "path")) != 0 ||
            host_amount(event, "bytes", -1) != (double)file->size)
            continue;
        char hex[65];
        sha256_of(file->data, file->size, hex);
        file->there = strcmp(hex, host_text(event, "sha256")) == 0;
    }
}

static void copy_next(struct host_put *put);

static void look(struct host_put *put);

static void on_copied(void *data, const struct err *err, bool lost) {
    struct host_put *put = data;
    put->copy = NULL;
    if (err->kind != ERR_NONE) {
        struct err told = *err;
        if (!lost)
            err_prefix(&told, "%s could not be put on %s", put->files[put->at].path,
                       put->host->spec.name);
        finish(put, &told, lost);
        return;
    }
    put->at++;
    copy_next(put);
}

static void copy_next(struct host_put *put) {
    while (put->at < put->count && put->files[put->at].there)
        put->at++;
    if (put->at == put->count) {
        put->copied = true;
        look(put);
        return;
    }
    const struct host_file *file = &put->files[put->at];
    struct transport_copy_spec spec = {.kind = TRANSPORT_PUT,
                                       .remote = file->path,
                                       .data = file->data,
                                       .size = file->size,
                                       .make_dirs = true};
    put->copy = host_copy_start(put->host, &spec, on_copied, put, &put->early);
    if (!put->copy)
        stop(put);
}

static const struct host_file *first_missing(const struct host_put *put) {
    for (size_t i = 0; i < put->count; i++)
        if (!put->files[i].there)
            return &put->files[i];
    return NULL;
}

static void on_looked(void *data, const struct err *err, bool lost) {
    struct host_put *put = data;
    put->call = NULL;
    struct err none = {0}, damaged = {0};
    const struct host_file *missing = first_missing(put);
    if (err->kind != ERR_NONE || !missing) {
        finish(put, err->kind != ERR_NONE ? err : &none, lost);
    } else if (put->copied) {
        err_set(&damaged, ERR_ENVIRONMENT,
                "%s did not arrive whole on %s; is its disk full or "
                "failing?",
                missing->path, put->host->spec.name);
        finish(put, &damaged, false);
    } else {
        copy_next(put);
    }
}

static void look(struct host_put *put) {
    const char *argv[MAX_FILES + 4] = {put->host->python, "-c", check};
    size_t count = 3;
    for (size_t i = 0; i < put->count; i++)
        if (!put->files[i].there)
            argv[count++] = put->files[i].path;
    struct host_call_spec spec = {
        .argv = argv, .plain = true, .on_event = on_file, .on_done = on_looked, .data = put};
    put->call = host_call_start(put->host, &spec, &put->early);
    if (!put->call)
        stop(put);
}

struct host_put *host_put_start(struct host *host, struct host_file *files, size_t count,
                                host_done_fn *on_done, void *data) {
    if (count > MAX_FILES)
        HONE_BUG("too many files at once");
    struct host_put *put = mem_alloc(1, sizeof *put);
    *put = (struct host_put){
        .host = host, .files = files, .count = count, .on_done = on_done, .data = data};
    *vec_push(&host->puts) = put;
    look(put);
    return put;
}

void host_put_drop(struct host_put *put) {
    if (!put)
        return;
    host_call_drop(put->call);
    host_copy_drop(put->copy);
    put_free(put);
}

void host_puts_free(struct host *host) {
    while (host->puts.len)
        put_free(host->puts.at[0]);
    vec_free(&host->puts);
}
