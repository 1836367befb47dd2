/* SPDX-License-Identifier: Apache-2.0 */
/* The runner for hosts on this machine: where its file is, and whether it could find a Neuron SDK
 * here. It asks the SDK's compiler for a prediction about a kernel (the runner's command
 * `predict`), which needs the wheels but no device. As on any host, the runner itself chooses the
 * environment. */
#include <glob.h>
#include <stdlib.h>

#include "runner/runner.h"

#define RUNNER_NAME "runner/hone_runner.pyz"
#define HOME "predict/.hone" /* below the cache; the runner keeps its own files there */
#define PACKAGE "/lib*/python3*/site-packages/nki-[0-9]*.dist-info"

char *runner_packed(size_t *size, struct err *err) {
    const char *other = getenv("HONE_RUNNER");
    if (other && *other)
        return file_read(other, 0, size, err);
    struct str built = embed_find(RUNNER_NAME);
    if (!built.at) {
        err_set(err, ERR_ENVIRONMENT, "this build of hone has no runner for hosts in it");
        return NULL;
    }
    *size = built.len;
    return mem_dup(built.at, built.len);
}

char *runner_packed_file(struct err *err) {
    size_t size = 0;
    char *data = runner_packed(&size, err);
    if (!data)
        return NULL;
    struct hash hash = hash_content(data, size);
    struct buf name = {0};
    buf_printf(&name, HOME "/runner/%s.pyz", hash.hex);
    char *path = path_cache(name.at), *folder = path_folder(path);
    bool ok =
        file_exists(path) || (file_make_dirs(folder, err) && file_write(path, data, size, err));
    buf_free(&name);
    free(folder);
    free(data);
    if (ok)
        return path;
    free(path);
    return NULL;
}

static bool has_package(const char *folder) {
    struct buf pattern = {0};
    glob_t found = {0};
    if (str_starts(str_of(folder), "~/"))
        buf_printf(&pattern, "%s%s" PACKAGE, getenv("HOME") ? getenv("HOME") : "", folder + 1);
    else
        buf_printf(&pattern, "%s" PACKAGE, folder);
    bool has = glob(pattern.at, GLOB_NOSORT, NULL, &found) == 0;
    globfree(&found);
    buf_free(&pattern);
    return has;
}

/* The same places as in environment.py. The runner decides which of them is best. */
bool runner_finds_nki(void) {
    static const char *const variables[] = {"VIRTUAL_ENV", "NKI_VENV_PATH"};
    static const char *const places[] = {"/opt/aws_neuronx_venv_*", "~/aws_neuron_venv_*",
                                         "~/aws_neuronx_venv_*"};
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        if (getenv(variables[i]) && *getenv(variables[i]) && has_package(getenv(variables[i])))
            return true;
    for (size_t i = 0; i < COUNT_OF(places); i++)
        if (has_package(places[i]))
            return true;
    return false;
}

struct runner *runner_predict(struct loop *loop, const struct runner_job *job, const char *python,
                              const struct runner_callbacks *callbacks, struct err *err) {
    char *file = runner_packed_file(err);
    if (!file)
        return NULL;
    const char *own = getenv("HONE_PYTHON");
    const char *const command[] = {own && *own ? own : "python3", file, "predict", NULL};
    /* What hone knows of the wall here, under the names that hosts use. */
    const struct runner_setting known[] = {
        {"wall", job->wall.level}, {"wall_read", job->wall.shown}, {"environment", python}};
    struct runner_setting settings[COUNT_OF(known)];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (known[i].value && strcmp(known[i].value, RUNNER_NKI_FOUND) != 0)
            settings[count++] = known[i];
    struct runner_job asked = *job;
    asked.command = command;
    asked.predict_only = true;
    asked.settings = settings;
    asked.setting_count = count;
    asked.time_limit_s = RUNNER_PREDICT_LIMIT_S;
    struct runner *runner = runner_start(loop, &asked, callbacks, err);
    free(file);
    return runner;
}
