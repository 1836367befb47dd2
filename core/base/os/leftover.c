/* SPDX-License-Identifier: Apache-2.0 */
/* What hones that were killed left behind. The names of such files tell whose they are: the
 * process's, and the machine's where several machines may share the folder. */
#include "base/os/os.h"
#include "base/files/files.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_ENTRIES 100000

/* Whether the text is "4711-..." of a process that no longer runs. */
static bool is_dead(const char *text) {
    char *end = NULL;
    long pid = strtol(text, &end, 10);
    return end > text && *end == '-' && pid > 1 && pid <= INT32_MAX && pid != getpid() &&
           kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* "NAME.hone-<machine>-<process>-XXXXXX" */
static bool is_beside(const char *name) {
    char mark[32];
    if (!strstr(name, ".hone-"))
        return false;
    snprintf(mark, sizeof mark, ".hone-%08x-", (unsigned)file_machine());
    const char *at = strstr(name, mark);
    return at && at > name && is_dead(at + strlen(mark));
}

/* "hone-<process>-..." */
static bool is_scratch(const char *name) {
    return !strncmp(name, "hone-", 5) && is_dead(name + 5);
}

static void sweep(const char *folder, bool (*is)(const char *name)) {
    DIR *dir = opendir(folder);
    struct dirent *entry;
    for (int i = 0; dir && i < MOST_ENTRIES && (entry = readdir(dir)); i++) {
        struct stat st;
        char *path = is(entry->d_name) ? path_join(folder, entry->d_name) : NULL;
        bool ours = path && lstat(path, &st) == 0 && st.st_uid == geteuid();
        if (ours && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode)))
            (void)!file_remove_tree(path, NULL);
        free(path);
    }
    if (dir)
        closedir(dir);
}

void os_sweep(const char *folder) {
    sweep(folder, is_beside);
}

void os_sweep_scratch(void) {
    const char *temporary = getenv("TMPDIR");
    sweep("/dev/shm", is_scratch);
    sweep(temporary && temporary[0] == '/' ? temporary : "/tmp", is_scratch);
}
