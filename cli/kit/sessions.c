/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kit/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "task/task.h"
#include "tune/tune.h"

/* Whether there was a session, even if only the files beside its log are left. */
static bool was_session(const char *folder) {
    char *head = path_join(folder, "session.db-head");
    bool was = store_exists(folder) || file_exists(head);
    free(head);
    return was;
}

/* The path as tasks are named by it: from the root, without slashes at the end (completion adds
 * them), and with what "." and ".." stand for. */
static char *task_place(const char *path) {
    char *whole = path_absolute(path);
    for (size_t len = strlen(whole); len > 1 && whole[len - 1] == '/'; len--)
        whole[len - 1] = 0;
    const char *base = path_base(whole);
    char *real = strcmp(base, ".") == 0 || strcmp(base, "..") == 0 ? realpath(whole, NULL) : NULL;
    if (!real)
        return whole;
    free(whole);
    return real;
}

/* The session of a seed, which its name alone leads to; NULL: there is none. A new string. */
static char *session_of_seed(const char *path) {
    struct err none = {0};
    struct task *task = file_exists(path) ? NULL : task_open(path, NULL, &none);
    if (!task)
        return NULL;
    char *hone = path_join(task->folder, ".hone");
    char *session = path_join(hone, task->name);
    bool was = was_session(session);
    free(hone);
    task_free(task);
    if (was)
        return session;
    free(session);
    return NULL;
}

int cli_attempt_split(char *name) {
    char *hash = strrchr(name, '#');
    long long number;
    if (!hash || file_exists(name) || file_is_dir(name) || hash[1] < '0' || hash[1] > '9' ||
        !str_to_int(str_of(hash + 1), &number) || number > INT32_MAX)
        return -1;
    *hash = 0;
    return (int)number;
}

char *cli_session_of(const char *path, struct err *err) {
    if (was_session(path))
        return mem_strdup(path);
    char *of_seed = session_of_seed(path);
    if (of_seed)
        return of_seed;
    bool dir = file_is_dir(path);
    char *whole = task_place(path);
    char *folder = dir ? mem_strdup(whole) : path_folder(whole);
    struct buf name = {0};
    buf_puts(&name, path_base(whole));
    if (!dir && str_ends(buf_str(&name), ".py"))
        name.at[name.len - 3] = 0;
    char *hone = path_join(folder, ".hone");
    char *session = path_join(hone, name.at);
    if (!was_session(session)) {
        if (!dir || !tune_session_renamed(session, "", err))
            err_set(err, ERR_USAGE, "%s is neither a session nor a task that has one", path);
        free(session);
        session = NULL;
    }
    buf_free(&name);
    free(hone);
    free(folder);
    free(whole);
    return session;
}
