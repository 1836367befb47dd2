/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups that count processes. Of all limits, only theirs holds for root too. Both versions
 * of control groups are used, as far as the system lets us make a group below our own. Sources:
 * cgroups(7), and "pids" in the kernel's admin-guide/cgroup-v1 and cgroup-v2. */
#include "base/os/os.h"
#include "base/kit/kit.h"
#include "base/files/files.h"

#ifdef __linux__

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP_NAME "hone-%d"
#define MAX_PATH 4200
#define END_ROUNDS 50

/* The path in that line of /proc/self/cgroup that has `key` between its colons. False: no line has
 * it. */
static bool own_group(const char *key, struct buf *out) {
    char *text = file_read("/proc/self/cgroup", 1 << 16, NULL, NULL);
    struct str rest = str_of(text ? text : ""), line;
    bool found = false;
    while (!found && str_next(&rest, '\n', &line)) {
        struct buf row = {0};
        buf_printf(&row, STR_FMT, STR_ARG(line));
        char *names = strchr(row.at, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (path) {
            *path++ = 0;
            found = strcmp(names + 1, key) == 0;
            if (found)
                buf_puts(out, strcmp(path, "/") ? path : "");
        }
        buf_free(&row);
    }
    free(text);
    return found;
}

char *os_groups_find(void) {
    static const struct {
        const char *key, *mount;
    } versions[] = {{"pids", "/sys/fs/cgroup/pids"}, {"", "/sys/fs/cgroup"}};
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        struct buf path = {0};
        buf_puts(&path, versions[i].mount);
        if (own_group(versions[i].key, &path) && access(path.at, W_OK) == 0)
            return buf_take(&path);
        buf_free(&path);
    }
    return NULL;
}

/* Ends what the first process of a group left behind. */
static void end_all(const char *group) {
    char *path = path_join(group, "cgroup.procs");
    for (int round = 0; round < END_ROUNDS; round++) {
        char *text = file_read(path, 1 << 20, NULL, NULL);
        int pid, used;
        const char *at = text ? text : "";
        for (; sscanf(at, "%d%n", &pid, &used) == 1; at += used)
            if (pid > 1)
                kill(pid, SIGKILL);
        bool none = !text || at == text;
        free(text);
        if (none)
            break;
        usleep(1000);
    }
    free(path);
}

/* A group has the name of the first process in it. One that is not empty yet is left for later. */
void os_groups_sweep(const char *groups) {
    DIR *dir = groups ? opendir(groups) : NULL;
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        int pid = 0;
        if (sscanf(entry->d_name, GROUP_NAME, &pid) != 1 || pid < 1 || kill(pid, 0) == 0 ||
            errno != ESRCH)
            continue;
        char *path = path_join(groups, entry->d_name);
        end_all(path);
        rmdir(path);
        free(path);
    }
    if (dir)
        closedir(dir);
}

/* ----------------------------------------------------------------------- between fork and exec */

static bool put(const char *group, const char *name, const char *value) {
    char path[MAX_PATH];
    int length = snprintf(path, sizeof path, "%s/%s", group, name);
    int fd = length < (int)sizeof path ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    bool ok = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
    if (fd >= 0)
        close(fd);
    return ok;
}

bool os_group_enter(const char *groups, unsigned processes) {
    char group[MAX_PATH], limit[24];
    int length = snprintf(group, sizeof group, "%s/" GROUP_NAME, groups, (int)getpid());
    snprintf(limit, sizeof limit, "%u", processes);
    if (length >= (int)sizeof group || (mkdir(group, 0700) != 0 && errno != EEXIST))
        return false;
    bool ok = put(group, "pids.max", limit) && put(group, "cgroup.procs", "0");
    if (!ok)
        rmdir(group);
    return ok;
}

#else
typedef int os_linux_group_is_not_used;
#endif
