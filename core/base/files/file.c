/* SPDX-License-Identifier: Apache-2.0 */
#include "base/files/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_LIMIT ((size_t)256 << 20)
#define MAX_TREE_DEPTH 64
#define SUM_CHUNK ((size_t)64 << 10)

static bool system_error(struct err *err, const char *what, const char *path) {
    return err_set(err, ERR_ENVIRONMENT, "cannot %s %s: %s", what, path, strerror(errno));
}

static bool write_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

/* What shells pass in, as for <(...): whoever is at the other end was started with hone. */
static bool is_passed_in(const char *path) {
    return !strcmp(path, "/dev/stdin") || str_starts(str_of(path), "/dev/fd/");
}

static bool is_null_device(const struct stat *st) {
    struct stat null;
    return S_ISCHR(st->st_mode) && stat("/dev/null", &null) == 0 && st->st_rdev == null.st_rdev;
}

static const char *odd_kind(mode_t mode) {
    return S_ISDIR(mode)                    ? "a folder"
           : S_ISFIFO(mode)                 ? "a pipe"
           : S_ISSOCK(mode)                 ? "a socket"
           : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                            : "no file";
}

int file_open(const char *path, int flags, mode_t mode, struct err *err) {
    const char *what = (flags & O_ACCMODE) == O_RDONLY ? "read" : "write";
    int wait = is_passed_in(path) ? 0 : O_NONBLOCK;
    int fd = open(path, flags | wait | O_CLOEXEC | O_NOCTTY, mode);
    struct stat st = {0};
    bool found = fd >= 0 ? fstat(fd, &st) == 0 : errno == ENXIO && stat(path, &st) == 0;
    if (fd < 0 && !found) {
        system_error(err, what, path);
        return -1;
    }
    bool may_read = what[0] == 'r' && fd >= 0 && !S_ISDIR(st.st_mode);
    if (fd >= 0 && (S_ISREG(st.st_mode) || (may_read && (!wait || is_null_device(&st)))))
        return fd;
    if (fd >= 0)
        close(fd);
    err_set(err, ERR_USAGE, "cannot %s %s: it is %s", what, path, odd_kind(st.st_mode));
    errno = EINVAL;
    return -1;
}

char *file_read(const char *path, size_t limit, size_t *size, struct err *err) {
    struct buf text = {0};
    size_t most = limit ? limit : DEFAULT_LIMIT;
    int fd = file_open(path, O_RDONLY, 0, err);
    if (fd < 0)
        return NULL;
    char chunk[65536];
    ssize_t n;
    size_t used = 0;
    while ((n = read(fd, chunk, sizeof chunk)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            system_error(err, "read", path);
            goto fail;
        }
        if (text.len + (size_t)n > most) {
            err_set(err, ERR_USAGE, "cannot read %s: it is larger than %zu bytes", path, most);
            goto fail;
        }
        buf_add(&text, chunk, (size_t)n);
        used = MAX_OF(used, (size_t)n);
    }
    explicit_bzero(chunk, used); /* it may have been a file of keys */
    close(fd);
    if (size)
        *size = text.len;
    return buf_take(&text);
fail:
    close(fd);
    buf_free(&text);
    return NULL;
}

static mode_t mode_of(const char *path) {
    struct stat old;
    mode_t mask = umask(0);
    umask(mask);
    return stat(path, &old) == 0 ? old.st_mode & 07777 : 0666 & ~mask;
}

uint32_t file_machine(void) {
    char name[256] = "";
    if (gethostname(name, sizeof name - 1))
        name[0] = '\0';
    return (uint32_t)hash_quick(name, strlen(name));
}

void file_beside_name(const char *path, struct buf *out) {
    buf_printf(out, "%s.hone-%08x-%d-XXXXXX", path, (unsigned)file_machine(), (int)getpid());
}

/* With `mode` 0 the file keeps its mode, or gets the one that the process gives new files. */
static bool replace(const char *path, struct str text, mode_t mode, struct err *err) {
    struct buf beside = {0};
    file_beside_name(path, &beside);
    int fd = mkstemp(beside.at);
    if (fd < 0) {
        system_error(err, "write", path);
        buf_free(&beside);
        return false;
    }
    bool ok = write_all(fd, text.at, text.len) && fchmod(fd, mode ? mode : mode_of(path)) == 0 &&
              fsync(fd) == 0;
    if (close(fd) != 0)
        ok = false;
    ok = ok && rename(beside.at, path) == 0;
    if (!ok) {
        system_error(err, "write", path);
        unlink(beside.at);
    }
    buf_free(&beside);
    return ok;
}

bool file_sha256(const char *path, char hex[65], struct err *err) {
    struct sha256 sum;
    int fd = file_open(path, O_RDONLY, 0, err);
    hex[0] = '\0';
    if (fd < 0)
        return false;
    char *chunk = mem_alloc(1, SUM_CHUNK);
    ssize_t got;
    sha256_begin(&sum);
    while ((got = read(fd, chunk, SUM_CHUNK)) > 0)
        sha256_add(&sum, chunk, (size_t)got);
    bool ok = got == 0 || system_error(err, "read", path);
    if (ok)
        sha256_end(&sum, hex);
    close(fd);
    free(chunk);
    return ok;
}

/* Whether it is a device or a pipe. A rename would put a file in its place. */
static bool is_stream(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

bool file_write(const char *path, const void *data, size_t size, struct err *err) {
    if (is_stream(path))
        return file_append(path, data, size, err);
    char *target = path_target(path);
    bool ok = target ? replace(target, (struct str){data, size}, 0, err)
                     : system_error(err, "write", path);
    free(target);
    return ok;
}

bool file_write_private(const char *path, const void *data, size_t size, struct err *err) {
    return replace(path, (struct str){data, size}, 0600, err);
}

bool file_append(const char *path, const void *data, size_t size, struct err *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return system_error(err, "write", path);
    bool ok = write_all(fd, data, size);
    if (!ok)
        system_error(err, "write", path);
    close(fd);
    return ok;
}

bool file_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

bool file_is_broken_link(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && stat(path, &st) != 0;
}

bool file_is_dir(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool make_dirs(const char *path, mode_t mode, struct err *err) {
    char *copy = mem_strdup(path);
    bool ok = true;
    for (char *at = copy + 1; ok && *copy; at++) {
        if (*at && *at != '/')
            continue;
        char saved = *at;
        *at = 0;
        if (mkdir(copy, mode) != 0 && errno != EEXIST)
            ok = system_error(err, "make the folder", copy);
        *at = saved;
        if (!saved)
            break;
    }
    free(copy);
    if (ok && !file_is_dir(path))
        return err_set(err, ERR_ENVIRONMENT, "cannot make the folder %s: a file is in the way",
                       path);
    return ok;
}

bool file_make_dirs(const char *path, struct err *err) {
    return make_dirs(path, 0777, err);
}

bool file_make_private(const char *path, struct err *err) {
    return make_dirs(path, 0700, err);
}

/* Takes the rights of others away. A file system without rights is no reason to stop. */
static void take_rights(int fd, const struct stat *st) {
    if (fd >= 0 && st->st_mode & 077 && fchmod(fd, st->st_mode & 07700) != 0)
        errno = 0;
}

static void tighten(int above, const char *name, int depth) {
    struct stat st;
    if (fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_uid != geteuid())
        return;
    if (!S_ISDIR(st.st_mode)) {
        /* O_NOFOLLOW, because a link may stand there by now. */
        int fd = S_ISREG(st.st_mode) && st.st_mode & 077
                     ? openat(above, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                     : -1;
        take_rights(fd, &st);
        if (fd >= 0)
            close(fd);
        return;
    }
    /* Nobody else reaches what is in a closed folder, so its files, perhaps thousands, need no
     * look. */
    int fd = st.st_mode & 077 ? openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
                              : -1;
    take_rights(fd, &st);
    DIR *dir = fd >= 0 && depth < MAX_TREE_DEPTH ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0)
        close(fd);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            tighten(dirfd(dir), entry->d_name, depth + 1);
    if (dir)
        closedir(dir);
}

void file_tighten(const char *path) {
    tighten(AT_FDCWD, path, 0);
}

static bool remove_tree(const char *path, int depth, struct err *err) {
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? true : system_error(err, "remove", path);
    if (!S_ISDIR(st.st_mode))
        return unlink(path) == 0 ? true : system_error(err, "remove", path);
    if (depth > MAX_TREE_DEPTH)
        return err_set(err, ERR_ENVIRONMENT, "cannot remove %s: folders nest too deep", path);
    DIR *dir = opendir(path);
    if (!dir)
        return system_error(err, "remove", path);
    bool ok = true;
    struct dirent *entry;
    while (ok && (entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        char *child = path_join(path, entry->d_name);
        ok = remove_tree(child, depth + 1, err);
        free(child);
    }
    closedir(dir);
    if (ok && rmdir(path) != 0)
        return system_error(err, "remove", path);
    return ok;
}

static uint64_t tree_bytes(const char *path, int depth) {
    struct stat st;
    if (lstat(path, &st) != 0 || depth > MAX_TREE_DEPTH)
        return 0;
    uint64_t bytes = (uint64_t)st.st_blocks * 512;
    DIR *dir = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        char *child = path_join(path, entry->d_name);
        bytes += tree_bytes(child, depth + 1);
        free(child);
    }
    if (dir)
        closedir(dir);
    return bytes;
}

uint64_t file_tree_bytes(const char *path) {
    return tree_bytes(path, 0);
}

bool file_remove_tree(const char *path, struct err *err) {
    return remove_tree(path, 0, err);
}

char *path_join(const char *folder, const char *name) {
    struct buf path = {0};
    buf_puts(&path, folder);
    if (path.len && path.at[path.len - 1] != '/')
        buf_putc(&path, '/');
    buf_puts(&path, name);
    return buf_take(&path);
}

char *path_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash)
        return mem_strdup(".");
    size_t len = slash == path ? 1 : (size_t)(slash - path);
    struct buf folder = {0};
    buf_add(&folder, path, len);
    return buf_take(&folder);
}

/* "kernel.py" for "./kernel.py", and nothing for ".". */
static const char *below_here(const char *path) {
    while (path[0] == '.' && (path[1] == '/' || !path[1])) {
        path++;
        while (*path == '/')
            path++;
    }
    return path;
}

char *path_absolute(const char *path) {
    if (path[0] == '/')
        return mem_strdup(path);
    char *here = getcwd(NULL, 0);
    const char *below = here ? below_here(path) : path;
    char *whole = path[0] && !*below ? mem_strdup(here) : path_join(here ? here : ".", below);
    free(here);
    return whole;
}

#define MAX_LINKS 40 /* as many as the kernel follows */

/* What the link leads to, seen from where it is; NULL when it is no link. */
static char *link_read(const char *path) {
    char to[PATH_MAX];
    ssize_t len = readlink(path, to, sizeof to - 1);
    if (len < 0)
        return NULL;
    to[len] = 0;
    char *folder = path_folder(path);
    char *target = to[0] == '/' ? mem_strdup(to) : path_join(folder, to);
    free(folder);
    return target;
}

char *path_target(const char *path) {
    char *at = mem_strdup(path), *next = NULL;
    for (int links = 0; (next = link_read(at)); links++) {
        free(at);
        at = next;
        if (links < MAX_LINKS)
            continue;
        free(at);
        errno = ELOOP;
        return NULL;
    }
    return at;
}

const char *path_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static char *xdg_path(const char *variable, const char *fallback, const char *name) {
    const char *value = getenv(variable);
    const char *home = getenv("HOME");
    struct buf path = {0};
    if (value && value[0] == '/')
        buf_printf(&path, "%s/hone", value);
    else
        buf_printf(&path, "%s/%s/hone", home && *home ? home : "/tmp", fallback);
    if (name && *name)
        buf_printf(&path, "/%s", name);
    return buf_take(&path);
}

char *path_config(const char *name) {
    return xdg_path("XDG_CONFIG_HOME", ".config", name);
}

char *path_cache(const char *name) {
    return xdg_path("XDG_CACHE_HOME", ".cache", name);
}

char *path_state(const char *name) {
    return xdg_path("XDG_STATE_HOME", ".local/state", name);
}
