/* SPDX-License-Identifier: Apache-2.0 */
/* Walls, as far as no system call is needed: levels, what is shown, and bubblewrap's command
 * line. */
#include "base/os/os.h"
#include "base/kit/kit.h"
#include "base/files/files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name, *missing;
} levels[] = {
    [WALL_NONE] = {"none", ""},
    [WALL_LIMITS] = {"limits", ""},
    [WALL_LANDLOCK] = {"landlock", "it needs Linux 5.13 or newer with Landlock switched on"},
    [WALL_NAMESPACES] = {"namespaces",
                         "unprivileged user namespaces are not allowed here (sysctl "
                         "user.max_user_namespaces, kernel.unprivileged_userns_clone, "
                         "kernel.apparmor_restrict_unprivileged_userns)"},
    [WALL_BUBBLEWRAP] = {"bubblewrap",
                         "bwrap is not installed or does not work here: install "
                         "bubblewrap, and see whether `bwrap --ro-bind / / true` works"},
};

const char *wall_name(enum wall_level level) {
    return levels[level].name;
}

/* What programs need to read of the system. Of /etc only what libraries look up. */
static const char *const system_places[] = {"/usr",
                                            "/bin",
                                            "/sbin",
                                            "/lib",
                                            "/lib32",
                                            "/lib64",
                                            "/libx32",
                                            "/opt",
                                            "/nix/store",
                                            "/etc/ld.so.cache",
                                            "/etc/ld.so.conf",
                                            "/etc/ld.so.conf.d",
                                            "/etc/alternatives",
                                            "/etc/localtime",
                                            "/etc/timezone",
                                            "/etc/passwd",
                                            "/etc/group",
                                            "/etc/nsswitch.conf",
                                            "/etc/hosts",
                                            "/etc/host.conf",
                                            "/etc/protocols",
                                            "/etc/services",
                                            "/etc/os-release",
                                            "/etc/debian_version",
                                            "/etc/locale.alias",
                                            "/etc/default/locale",
                                            "/etc/mime.types",
                                            "/etc/fonts",
                                            "/etc/matplotlibrc",
                                            "/etc/magic",
                                            "/etc/python3",
                                            "/sys/devices/system",
                                            "/sys/fs/cgroup"};

unsigned wall_processes(void) {
    return 128 + 32 * (unsigned)os_cpu_count();
}

unsigned wall_processes_most(void) {
    return 512 + wall_processes();
}

struct wall *wall_new(void) {
    struct wall *wall = mem_alloc(1, sizeof *wall);
    wall->here = getcwd(NULL, 0);
    wall->file_bytes = WALL_FILE_BYTES;
    for (size_t i = 0; i < COUNT_OF(system_places); i++)
        wall_add(wall, system_places[i], WALL_READ);
    return wall;
}

void wall_free(struct wall *wall) {
    if (!wall)
        return;
    if (wall->owns_folder)
        (void)!file_remove_tree(wall->folder, NULL);
    for (size_t i = 0; i < wall->places.len; i++) {
        free(wall->places.at[i].source);
        free(wall->places.at[i].path);
    }
    vec_free(&wall->places);
    for (size_t i = 0; i < COUNT_OF(wall->environment); i++)
        free(wall->environment[i]);
    os_groups_sweep(wall->groups);
    free(wall->groups);
    free(wall->folder);
    free(wall->here);
    free(wall);
}

/* ------------------------------------------------------------------------------- what is shown */

/* The path without empty parts, . and .., as text. Behind the wall folders are folders, not
 * links. */
static char *plain_path(const char *path) {
    struct str rest = str_of(path), part;
    struct buf out = {0};
    while (str_next(&rest, '/', &part)) {
        if (!part.len || str_is(part, "."))
            continue;
        if (!str_is(part, "..")) {
            buf_printf(&out, "/" STR_FMT, STR_ARG(part));
            continue;
        }
        while (out.len && out.at[--out.len] != '/')
            continue;
        if (out.at)
            out.at[out.len] = 0;
    }
    if (!out.len)
        buf_puts(&out, "/");
    return buf_take(&out);
}

void wall_add(struct wall *wall, const char *path, enum wall_use use) {
    char *source = path ? realpath(path, NULL) : NULL;
    if (!source)
        return;
    char *absolute = path_absolute(path);
    *vec_push(&wall->places) =
        (struct wall_place){.source = source, .path = plain_path(absolute), .use = use};
    free(absolute);
}

static bool is_below(const char *path, const char *folder) {
    size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || !path[len]);
}

/* Whether showing the whole folder would show the home folder, the root, or a folder of the
 * system. */
static bool holds_too_much(const char *folder) {
    const char *home = getenv("HOME");
    char *own = realpath(home && *home ? home : "/", NULL), *real = realpath(folder, NULL);
    bool much = !own || !real || is_below(own, real);
    free(own);
    free(real);
    return much;
}

static void add_entries(struct wall *wall, const char *folder) {
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char *path = path_join(folder, entry->d_name);
        if (entry->d_name[0] != '.' && !holds_too_much(path))
            wall_add(wall, path, WALL_READ);
        free(path);
    }
    if (dir)
        closedir(dir);
}

void wall_add_folder(struct wall *wall, const char *path) {
    if (holds_too_much(path)) {
        wall_add(wall, path, WALL_LIST);
        add_entries(wall, path);
        return;
    }
    char *sessions = path_join(path, ".hone");
    wall_add(wall, path, WALL_READ);
    wall_add(wall, sessions, WALL_HIDE);
    free(sessions);
}

/* Whether the places before this one already show the path. */
static bool is_shown(const struct wall *wall, size_t before, const char *path) {
    enum wall_use use = WALL_HIDE;
    for (size_t i = 0; i < before; i++)
        if (is_below(path, wall->places.at[i].path))
            use = wall->places.at[i].use;
    return use == WALL_READ;
}

const char *wall_goes_to(const struct wall *wall, size_t index) {
    const struct wall_place *place = &wall->places.at[index];
    if (place->use != WALL_READ || !is_shown(wall, index, place->path))
        return place->path;
    return is_shown(wall, index, place->source) ? NULL : place->source;
}

/* --------------------------------------------------------------------------------- which level */

/* Whether the place is out of reach for a root that is root only to itself. Such a root reads no
 * more than others may: not what belongs to somebody else and is closed, and not what lies below
 * such a folder. */
static bool is_closed(const char *path) {
    struct stat found;
    bool closed = false;
    char *at = mem_strdup(path);
    for (mode_t bits = S_IROTH; !closed; bits = S_IXOTH) {
        if (stat(at, &found) == 0 && found.st_uid != 0)
            closed = (found.st_mode & bits) != bits;
        char *slash = strrchr(at, '/');
        if (!slash || slash == at)
            break;
        *slash = 0;
    }
    free(at);
    return closed;
}

static bool needs_real_root(const struct wall *wall) {
    if (geteuid() != 0)
        return false;
    for (size_t i = 0; i < wall->places.len; i++)
        if (is_closed(wall->places.at[i].source))
            return true;
    return false;
}

static bool works(const struct wall *wall, enum wall_level level) {
    if (level >= WALL_NAMESPACES && needs_real_root(wall))
        return false;
    return os_wall_works(level);
}

/* Makes a folder that nobody else has. In namespaces /tmp is one. */
static bool make_folder(struct wall *wall, struct err *err) {
    if (wall->level >= WALL_NAMESPACES) {
        wall->folder = mem_strdup("/tmp");
        return true;
    }
    const char *base = getenv("TMPDIR");
    struct buf path = {0};
    buf_printf(&path, "%s/hone-%d-wall-XXXXXX", base && base[0] == '/' ? base : "/tmp",
               (int)getpid());
    wall->owns_folder = mkdtemp(path.at) != NULL;
    if (!wall->owns_folder)
        err_set(err, ERR_ENVIRONMENT, "cannot make a folder for a child: %s", path.at);
    wall->folder = buf_take(&path);
    if (wall->owns_folder)
        wall_add(wall, wall->folder, WALL_WRITE);
    return wall->owns_folder;
}

static void set_environment(struct wall *wall) {
    const char *const rows[][2] = {
        {"HOME", wall->folder}, {"TMPDIR", wall->folder}, {"HONE_WALL", wall_name(wall->level)}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf line = {0};
        buf_printf(&line, "%s=%s", rows[i][0], rows[i][1]);
        free(wall->environment[i]);
        wall->environment[i] = buf_take(&line);
    }
}

/* Takes the level, or the strongest below it that works. */
static bool settle(struct wall *wall, enum wall_level level, struct err *err) {
    while (!works(wall, level))
        level--;
    wall->level = level;
    wall->processes =
        level < WALL_NAMESPACES && geteuid() != 0 ? os_count_processes() + wall_processes() : 0;
    if (geteuid() == 0 && !wall->groups)
        wall->groups = os_groups_find();
    free(wall->folder);
    wall->folder = NULL;
    if (!make_folder(wall, err))
        return false;
    set_environment(wall);
    return true;
}

bool wall_weaken(struct wall *wall) {
    return !wall->demanded && !wall->owns_folder && wall->level > WALL_LIMITS &&
           settle(wall, wall->level - 1, NULL);
}

bool wall_choose(struct wall *wall, const char *wanted, struct err *err) {
    enum wall_level level = WALL_BUBBLEWRAP;
    wall->demanded = wanted && strcmp(wanted, "auto") != 0;
    while (wall->demanded && level > WALL_LIMITS && strcmp(wanted, wall_name(level)) != 0)
        level--;
    if (wall->demanded && strcmp(wanted, wall_name(level)) != 0)
        return err_set(err, ERR_USAGE, "there is no wall \"%s\"", wanted);
    if (wall->demanded && !works(wall, level))
        return err_set(
            err, ERR_ENVIRONMENT,
            "the wall \"%s\" that the settings ask for does not work on this machine: %s", wanted,
            levels[level].missing);
    return settle(wall, level, err);
}

/* ---------------------------------------------------------------------------------- bubblewrap */

static void put_made(struct wall_command *command, char *text) {
    *vec_push(&command->made) = text;
    *vec_push(&command->argv) = text;
}

static void put(struct wall_command *command, const char *text) {
    put_made(command, mem_strdup(text));
}

static void put_number(struct wall_command *command, const char *option, uint64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    put(command, option);
    put(command, text);
}

/* /bin is a link on most systems, and stays a link. */
static bool put_link(const struct wall_place *place, struct wall_command *command) {
    char target[256];
    ssize_t len =
        strchr(place->path + 1, '/') ? -1 : readlink(place->path, target, sizeof target - 1);
    if (len < 0)
        return false;
    target[len] = 0;
    put(command, "--symlink");
    put(command, target);
    put(command, place->path);
    return true;
}

static void put_place(const struct wall *wall, size_t index, struct wall_command *command) {
    static const char *const options[] = {
        [WALL_READ] = "--ro-bind-try", [WALL_WRITE] = "--bind-try", [WALL_HIDE] = "--tmpfs"};
    const struct wall_place *place = &wall->places.at[index];
    const char *path = wall_goes_to(wall, index);
    if (!path || place->use == WALL_LIST || put_link(place, command))
        return;
    put(command, options[place->use]);
    if (place->use != WALL_HIDE)
        put(command, place->source);
    put(command, path);
}

void wall_command_make(const struct wall *wall, char *const *argv, int filter,
                       struct wall_command *command) {
    static const char *const first[] = {"bwrap",      "--unshare-all", "--die-with-parent",
                                        "--cap-drop", "ALL",           "--proc",
                                        "/proc",      "--dev",         "/dev"};
    static const char *const scratch[] = {"/dev/shm", "/tmp"};
    for (size_t i = 0; i < COUNT_OF(first); i++)
        put(command, first[i]);
    for (size_t i = 0; i < COUNT_OF(scratch); i++) {
        put_number(command, "--size", WALL_SCRATCH_BYTES);
        put(command, "--tmpfs");
        put(command, scratch[i]);
    }
    for (size_t i = 0; i < wall->places.len; i++)
        put_place(wall, i, command);
    put(command, "--dir");
    put(command, wall->here ? wall->here : "/");
    put(command, "--remount-ro");
    put(command, "/");
    put(command, "--chdir");
    put(command, wall->here ? wall->here : "/");
    if (filter >= 0)
        put_number(command, "--seccomp", (uint64_t)filter);
    put(command, "--");
    for (; *argv; argv++)
        *vec_push(&command->argv) = *argv;
    *vec_push(&command->argv) = NULL;
}

void wall_command_free(struct wall_command *command) {
    for (size_t i = 0; i < command->made.len; i++)
        free(command->made.at[i]);
    vec_free(&command->made);
    vec_free(&command->argv);
}
