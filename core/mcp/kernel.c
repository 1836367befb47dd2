/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernel a call is about. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcp/private.h"

#define MOST_BYTES ((size_t)1 << 20)

const struct tune_attempt *mcp_attempt_of(const struct mcp_call *call, const char *key,
                                          struct err *err) {
    const struct tune_state *state = mcp_state(call);
    int id = mcp_int(call, key, state->incumbent);
    const struct tune_attempt *attempt = tune_state_attempt(state, id);
    if (!attempt && id < 0 && !state->attempts.len)
        err_set(err, ERR_USAGE, "there is no attempt yet: submit makes one");
    else if (!attempt)
        err_set(err, ERR_USAGE, "there is no attempt %d; history lists them", id);
    return attempt;
}

static bool is_within(const char *path, const char *folder) {
    char *real = realpath(folder, NULL);
    size_t len = real ? strlen(real) : 0;
    bool is = real && !strncmp(path, real, len) && (path[len] == '/' || len == 1);
    free(real);
    return is;
}

/* A client may keep its agent in a folder, so hone reads for it what is a kernel beside that of the
 * task, and no other file of the user. A new string; NULL with *err. */
static char *file_of(const struct mcp_call *call, const char *file, struct err *err) {
    const char *session = tune_session_folder(call->client->server->options.session);
    const char *kernel = tune_kernel_file(mcp_state(call));
    char *folder = kernel ? path_folder(kernel) : mem_strdup(session);
    char *path = *file == '/' ? mem_strdup(file) : path_join(folder, file);
    char *real = realpath(path, NULL);
    bool is_ours = real && (is_within(real, folder) || is_within(real, session));
    if (!real)
        err_set(err, ERR_USAGE, "cannot read %s: %s", path, strerror(errno));
    else if (!is_ours || !str_ends(str_of(real), ".py"))
        err_set(err, ERR_USAGE,
                "%s is not read: \"file\" is a .py file in the task's folder (%s); give what is "
                "elsewhere as \"kernel\", the text itself",
                file, folder);
    free(path);
    free(folder);
    if (err->kind == ERR_NONE)
        return real;
    free(real);
    return NULL;
}

static char *text_of(const struct mcp_call *call, char name[64], struct err *err) {
    const char *kernel = mcp_text(call, "kernel"), *file = mcp_text(call, "file");
    snprintf(name, 64, "%.60s", kernel ? "kernel" : path_base(file));
    if (kernel && strlen(kernel) > MOST_BYTES) {
        err_set(err, ERR_USAGE, "the kernel has %zu bytes; at most %zu are taken", strlen(kernel),
                MOST_BYTES);
        return NULL;
    }
    char *path = kernel ? NULL : file_of(call, file, err);
    char *text = kernel ? mem_strdup(kernel) : path ? file_read(path, MOST_BYTES, NULL, err) : NULL;
    free(path);
    return text;
}

char *mcp_kernel_of(const struct mcp_call *call, char name[64], struct err *err) {
    const struct tune_state *state = mcp_state(call);
    bool kernel = mcp_text(call, "kernel"), file = mcp_text(call, "file");
    bool attempt = mcp_int(call, "attempt", -1) >= 0;
    if (kernel + file + attempt > 1) {
        err_set(err, ERR_USAGE, "give one of kernel, file and attempt, not several");
        return NULL;
    }
    if (kernel || file)
        return text_of(call, name, err);
    if (!attempt && state->incumbent < 0) {
        snprintf(name, 64, "the first kernel");
        return mem_strdup(state->kernel_source ? state->kernel_source : "");
    }
    const struct tune_attempt *found = mcp_attempt_of(call, "attempt", err);
    if (!found)
        return NULL;
    snprintf(name, 64, "attempt %d", found->id);
    return mcp_source_of(state, found, err);
}

char *mcp_source_of(const struct tune_state *state, const struct tune_attempt *attempt,
                    struct err *err) {
    char *source = tune_source_copy(state, attempt);
    if (*source)
        return source;
    free(source);
    err_set(err, ERR_DAMAGED, "the kernel of attempt %d cannot be read: %s", attempt->id,
            state->trouble ? state->trouble : "it is empty");
    return NULL;
}
