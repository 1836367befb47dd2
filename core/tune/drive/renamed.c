/* SPDX-License-Identifier: Apache-2.0 */
/* A session is found by the name of its task's folder. When that folder was copied or got another
 * name, the session is still there, under the name from before. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tune/drive/private.h"

struct looking {
    const char *name; /* of a folder in .hone */
    const char *now;  /* what the task's folder is called */
    struct arena *arena;
    bool is_before; /* the session in it began when that was called otherwise */
};

/* The first event says what the session is of. Seeds are called by their name in any folder, and
 * kernel files by theirs: neither depends on what a folder is called. NAME.1, NAME.damaged and the
 * like were moved aside. */
static bool first_event(void *data, const struct store_event *event) {
    struct looking *looking = data;
    const struct tune_event_said *said =
        tune_event_hear(looking->arena, event->type, event->payload, true);
    if (!said->is_read || said->event.is != TUNE_EVENT_SESSION)
        return false;
    const char *task = said->event.session.task, *kernel = said->event.session.kernel;
    looking->is_before = task && kernel && strcmp(task, looking->now) != 0 &&
                         (!strcmp(task, looking->name) || !strchr(looking->name, '.')) &&
                         !strcmp(path_base(kernel), "kernel.py") &&
                         !str_starts(str_of(kernel), "seeds/");
    return false;
}

static bool is_from_before(const char *folder, const char *now) {
    struct looking looking = {.name = path_base(folder), .now = now, .arena = arena_new()};
    struct err err = {0};
    struct store *store = store_exists(folder) ? store_open(folder, true, &err) : NULL;
    if (store)
        (void)!store_replay(store, 0, first_event, &looking, &err);
    store_close(store);
    arena_free(looking.arena);
    return looking.is_before;
}

static int64_t changed_s(const char *folder) {
    char *log = path_join(folder, "session.db");
    struct stat st;
    int64_t seconds = stat(log, &st) == 0 ? (int64_t)st.st_mtime : 0;
    free(log);
    return seconds;
}

/* The name of the one that was used last; a new string, NULL: there is none. */
static char *name_before(const char *hone, const char *now) {
    DIR *dir = opendir(hone);
    char *name = NULL;
    int64_t newest_s = -1;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char *folder = path_join(hone, entry->d_name);
        int64_t at_s = changed_s(folder);
        if (entry->d_name[0] != '.' && at_s > newest_s && is_from_before(folder, now)) {
            free(name);
            name = mem_strdup(entry->d_name);
            newest_s = at_s;
        }
        free(folder);
    }
    if (dir)
        closedir(dir);
    return name;
}

bool tune_session_renamed(const char *folder, const char *otherwise, struct err *err) {
    if (store_exists(folder))
        return false;
    char *hone = path_folder(folder), *saved = tune_rescued_place(folder);
    /* What was saved is newer than what its files became, and told when another one begins. */
    char *before = saved ? NULL : name_before(hone, path_base(folder));
    free(saved);
    if (before)
        err_set(err, ERR_USAGE,
                "there is no session of %.100s, but %.100s, from when its folder had another name: "
                "rename %.100s to %.100s in %.150s to go on with it%s",
                path_base(folder), before, before, path_base(folder), hone, otherwise);
    bool renamed = before != NULL;
    free(before);
    free(hone);
    return renamed;
}
