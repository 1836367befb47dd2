/* SPDX-License-Identifier: Apache-2.0 */
/* Files that live for one comparison: the kernel's outputs on their way to Python, which removes
 * each as soon as it has mapped it. */
#include "task/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char *disk_folder(void) {
    const char *folder = getenv("TMPDIR");
    return folder && folder[0] == '/' ? folder : "/tmp";
}

/* In memory, if that leaves room for others. */
static const char *scratch_folder(size_t bytes) {
    struct statvfs room;
    if (statvfs("/dev/shm", &room) == 0 && access("/dev/shm", W_OK) == 0 &&
        (uint64_t)room.f_bavail * room.f_frsize > (uint64_t)bytes * 2 + (1 << 20))
        return "/dev/shm";
    return disk_folder();
}

static bool write_file(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

char *task_scratch_write(const struct array *array, const char *folder, struct err *err) {
    size_t bytes = array_bytes(array);
    struct buf path = {0};
    buf_printf(&path, "%s/hone-%d-XXXXXX", folder ? folder : scratch_folder(bytes), (int)getpid());
    int fd = mkstemp(path.at);
    bool ok = fd >= 0 && write_file(fd, array->data, bytes);
    int code = errno;
    if (fd >= 0)
        close(fd);
    if (ok)
        return buf_take(&path);
    if (fd >= 0)
        unlink(path.at);
    err_set(err, ERR_ENVIRONMENT, "cannot write %zu bytes of the kernel's output to %s: %s", bytes,
            path.at, strerror(code));
    buf_free(&path);
    return NULL;
}

static void clean_folder(const char *folder, const char *prefix) {
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        char *path = path_join(folder, entry->d_name);
        unlink(path);
        free(path);
    }
    if (dir)
        closedir(dir);
}

void task_scratch_clean(int pid) {
    char prefix[32];
    snprintf(prefix, sizeof prefix, "hone-%d-", pid);
    clean_folder("/dev/shm", prefix);
    clean_folder(disk_folder(), prefix);
}

void task_scratch_forget(const char *folder) {
    char prefix[32];
    snprintf(prefix, sizeof prefix, "hone-%d-", (int)getpid());
    if (folder)
        clean_folder(folder, prefix);
    else
        task_scratch_clean((int)getpid());
}
