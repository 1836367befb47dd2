/* SPDX-License-Identifier: Apache-2.0 */
/* What happens between "connected" and "ready": a Python is found, hone's runner is put beside it
 * under the name of its content, and the host is asked what it is. Each step continues with the
 * next one, or ends the preparation with a sentence that says what to do. */
#include <stdio.h>
#include <stdlib.h>

#include "target/host/host_own.h"

#define PROBE_LIMIT_S 180.0 /* for the first look into environments on a slow file system */
#define LOOKED_FOR "python3, /usr/bin/python3 and /opt/aws_neuronx_venv_*/bin/python"

struct host_prepare {
    struct host *host;
    struct host_call *call;
    struct host_put *put;
    struct host_file file;     /* the runner */
    char *tried;               /* the Python whose answer comes next */
    char *best;                /* a Python that is new enough, perhaps without numpy */
    char version[16], old[80]; /* of the best one; of one that is too old */
    bool has_numpy, probed;
    int64_t asked_ms;
};

/* Tries each argument, or, without arguments, the usual places, until a suitable Python answers. */
static const char search[] =
    "code='import sys\n"
    "try:\n"
    "    import numpy\n"
    "    has = 1\n"
    "except Exception:\n"
    "    has = 0\n"
    "v = sys.version_info\n"
    "print(\"@hone {\\\"event\\\":\\\"python\\\",\\\"major\\\":%d,\\\"minor\\\":%d,"
    "\\\"numpy\\\":%d}\" % (v[0], v[1], has))\n"
    "sys.exit(0 if has and v[:2] >= (3, 8) else 1)'\n"
    "[ $# -gt 0 ] || set -- python3 /usr/bin/python3 "
    "$(ls -1dt /opt/aws_neuronx_venv_*/bin/python 2>/dev/null)\n"
    "for p in \"$@\"; do\n"
    "    case $p in '~/'*) p=$HOME/${p#??} ;; esac\n"
    "    command -v \"$p\" >/dev/null 2>&1 || continue\n"
    "    printf '@hone-python %s\\n' \"$p\"\n"
    "    \"$p\" -c \"$code\" </dev/null 2>/dev/null && exit 0\n"
    "done\n"
    "exit 0\n";

static void prepare_fail(struct host_prepare *prepare, const struct err *err, bool lost) {
    struct host *host = prepare->host;
    if (!lost)
        host_fail(host, err);
    host_prepare_free(host);
}

/* ------------------------------------------------------------------------------------- probing */

static void on_host(void *data, const char *name, const cJSON *event) {
    struct host_prepare *prepare = data;
    if (strcmp(name, "host") != 0)
        return;
    prepare->probed = true;
    host_look_read(prepare->host, event, prepare->asked_ms);
}

static void on_probed(void *data, const struct err *err, bool lost) {
    struct host_prepare *prepare = data;
    struct host *host = prepare->host;
    struct err told = *err;
    prepare->call = NULL;
    if (told.kind == ERR_NONE && !prepare->probed)
        err_set(&told, ERR_ENVIRONMENT,
                "hone's runner on %s said nothing that hone understands; "
                "try there: %s %s probe",
                host->spec.name, host->python, host->runner);
    if (told.kind != ERR_NONE) {
        prepare_fail(prepare, &told, lost);
        return;
    }
    host_prepare_free(host);
    host_be_ready(host);
}

static void probe(struct host_prepare *prepare) {
    struct host *host = prepare->host;
    target_show(host->board, TARGET_CONNECTING, "looking at %s", host->spec.name);
    const char *argv[] = {"probe", "--settings", host->settings_json, NULL};
    struct host_call_spec spec = {.argv = argv,
                                  .limit_s = PROBE_LIMIT_S,
                                  .on_event = on_host,
                                  .on_done = on_probed,
                                  .data = prepare};
    struct err err = {0};
    prepare->asked_ms = clock_wall_ms();
    prepare->call = host_call_start(host, &spec, &err);
    if (!prepare->call)
        prepare_fail(prepare, &err, true);
}

/* ---------------------------------------------------------------------------------- the runner */

static void on_put(void *data, const struct err *err, bool lost) {
    struct host_prepare *prepare = data;
    prepare->put = NULL;
    if (err->kind != ERR_NONE)
        prepare_fail(prepare, err, lost);
    else
        probe(prepare);
}

static void put_runner(struct host_prepare *prepare) {
    struct host *host = prepare->host;
    struct err err = {0};
    prepare->file.data = runner_packed(&prepare->file.size, &err);
    if (!prepare->file.data) {
        prepare_fail(prepare, &err, false);
        return;
    }
    struct hash hash = hash_content(prepare->file.data, prepare->file.size);
    struct arena *arena = arena_new();
    free(host->runner);
    host->runner =
        mem_strdup(host_path(host, arena, arena_printf(arena, "runner/%s.pyz", hash.hex)));
    arena_free(arena);
    prepare->file.path = mem_strdup(host->runner);
    target_show(host->board, TARGET_CONNECTING, "putting hone's runner on %s", host->spec.name);
    prepare->put = host_put_start(host, &prepare->file, 1, on_put, prepare);
}

/* ---------------------------------------------------------------------------------- the Python */

static void on_candidate(void *data, struct str line) {
    static const char mark[] = "@hone-python ";
    struct host_prepare *prepare = data;
    if (!str_starts(line, mark) || prepare->has_numpy)
        return;
    struct buf path = {0};
    buf_add(&path, line.at + sizeof mark - 1, line.len - (sizeof mark - 1));
    free(prepare->tried);
    prepare->tried = buf_take(&path);
}

static void on_python(void *data, const char *name, const cJSON *event) {
    struct host_prepare *prepare = data;
    int major = (int)host_amount(event, "major", 0), minor = (int)host_amount(event, "minor", 0);
    bool numpy = host_amount(event, "numpy", 0) > 0;
    if (strcmp(name, "python") != 0 || !prepare->tried)
        return;
    if (major != 3 || minor < 8) {
        snprintf(prepare->old, sizeof prepare->old, "%.60s is Python %d.%d", prepare->tried, major,
                 minor);
        return;
    }
    if (prepare->best && !numpy)
        return;
    free(prepare->best);
    prepare->best = mem_strdup(prepare->tried);
    prepare->has_numpy = numpy;
    snprintf(prepare->version, sizeof prepare->version, "%d.%d", major, minor);
}

static void no_python(const struct host_prepare *prepare, struct err *err) {
    const struct host *host = prepare->host;
    const char *section = host->spec.section ? host->spec.section : "host NAME";
    const char *set = host_setting(host, "python");
    if (prepare->best)
        err_set(err, ERR_ENVIRONMENT,
                "%s on %s (Python %s) has no numpy, which hone's runner needs: "
                "install it there (%s -m pip install numpy), or set python in [%s] to one that has "
                "it",
                prepare->best, host->spec.name, prepare->version, prepare->best, section);
    else
        err_set(err, ERR_ENVIRONMENT,
                "there is no Python 3.8 or newer on %s (looked for %s%s%s); "
                "install one there, or set python in [%s] to its path",
                host->spec.name, set ? set : LOOKED_FOR, prepare->old[0] ? "; " : "", prepare->old,
                section);
}

static void on_searched(void *data, const struct err *err, bool lost) {
    struct host_prepare *prepare = data;
    struct host *host = prepare->host;
    struct err told = *err;
    prepare->call = NULL;
    if (told.kind == ERR_NONE && !prepare->has_numpy)
        no_python(prepare, &told);
    if (told.kind != ERR_NONE) {
        prepare_fail(prepare, &told, lost);
        return;
    }
    free(host->python);
    host->python = mem_strdup(prepare->best);
    put_runner(prepare);
}

void host_prepare_start(struct host *host) {
    struct host_prepare *prepare = mem_alloc(1, sizeof *prepare);
    prepare->host = host;
    host->prepare = prepare;
    target_show(host->board, TARGET_CONNECTING, "looking for Python on %s", host->spec.name);
    const char *argv[] = {"/bin/sh", "-c", search, "hone", host_setting(host, "python"), NULL};
    struct host_call_spec spec = {.argv = argv,
                                  .plain = true,
                                  .on_event = on_python,
                                  .on_line = on_candidate,
                                  .on_done = on_searched,
                                  .data = prepare};
    struct err err = {0};
    prepare->call = host_call_start(host, &spec, &err);
    if (!prepare->call)
        prepare_fail(prepare, &err, true);
}

void host_prepare_free(struct host *host) {
    struct host_prepare *prepare = host->prepare;
    if (!prepare)
        return;
    host->prepare = NULL;
    host_call_drop(prepare->call);
    host_put_drop(prepare->put);
    free(prepare->file.path);
    free(prepare->file.data);
    free(prepare->tried);
    free(prepare->best);
    free(prepare);
}
