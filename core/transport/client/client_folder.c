/* SPDX-License-Identifier: Apache-2.0 */
/* The private folder of a connection over the system's ssh, and ssh's command line. The ssh_config
 * in it begins with the settings that hone requires, also for jump hosts, which read the same file.
 * Settings for the host alone are on the command line. */
#include "transport/client/own.h"
#include "transport/wire/inner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PLACE "/tmp" /* a socket's path may have 104 bytes, and TMPDIR may be longer */
#define PREFIX "hone-ssh."
#define MOST_ENTRIES 10000
#define SURELY_LOCKED_S 60 /* after this time its maker has locked it */
#define SYSTEM_CONFIG "/etc/ssh/ssh_config"

/* ssh looks up the home folder in the user database; hone uses $HOME. */
static bool home_is_elsewhere(void) {
    const char *home = getenv("HOME");
    const struct passwd *me = getpwuid(getuid());
    return home && *home && me && me->pw_dir && strcmp(home, me->pw_dir) != 0;
}

static void write_known_hosts(const struct transport_route *route, struct buf *out) {
    const char *asked = route->asked->known_hosts;
    char *own = asked                 ? mem_strdup(asked)
                : home_is_elsewhere() ? settings_user_file("known_hosts")
                                      : NULL;
    if (own)
        buf_printf(out, "UserKnownHostsFile \"%s\"\n", own);
    free(own);
}

static void write_includes(const struct transport_route *route, struct buf *out) {
    const char *asked = route->asked->ssh_config;
    char *own = asked ? path_absolute(asked) : settings_user_file("config");
    if (file_exists(own))
        buf_printf(out, "Include \"%s\"\n", own);
    if (!asked && file_exists(SYSTEM_CONFIG))
        buf_puts(out, "Include " SYSTEM_CONFIG "\n");
    free(own);
}

static int whole_seconds(double seconds) {
    return seconds < 1 ? 1 : (int)ceil(seconds);
}

static void write_config(const struct transport_route *route, struct buf *out) {
    if (route->host) /* known by now; before, the user's own setting counts */
        buf_printf(out, "StrictHostKeyChecking %s\n", route->strict ? "yes" : "ask");
    buf_printf(out,
               "BatchMode no\n"
               "ConnectTimeout %d\n"
               "ServerAliveInterval %d\n"
               "ServerAliveCountMax 3\n"
               "UpdateHostKeys no\n"
               "VisualHostKey no\n"
               "LogLevel VERBOSE\n",
               whole_seconds(route->connect_limit_s), whole_seconds(route->keepalive_s));
    write_known_hosts(route, out);
    write_includes(route, out);
}

/* Whether it is a folder of this user that no hone holds any more, because its hone was killed. */
static bool is_left_over(const char *path) {
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != getuid() ||
        time(NULL) - st.st_mtime < SURELY_LOCKED_S)
        return false;
    char *config = path_join(path, "config");
    int fd = open(config, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;
    if (fd >= 0)
        close(fd);
    free(config);
    return !held;
}

static void sweep(void) {
    DIR *dir = opendir(PLACE);
    struct dirent *entry;
    for (int i = 0; dir && i < MOST_ENTRIES && (entry = readdir(dir)); i++) {
        if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) != 0)
            continue;
        char *path = path_join(PLACE, entry->d_name);
        if (is_left_over(path))
            (void)!file_remove_tree(path, NULL);
        free(path);
    }
    if (dir)
        closedir(dir);
}

static bool fill_folder(struct client_folder *folder, const struct transport_route *route,
                        struct err *err) {
    char *config = client_folder_file(folder, "config");
    struct buf text = {0};
    buf_puts(&folder->config, config);
    free(config);
    write_config(route, &text);
    bool ok = file_write(folder->config.at, text.at, text.len, err);
    buf_free(&text);
    if (ok)
        folder->lock = open(folder->config.at, O_RDONLY | O_CLOEXEC);
    if (folder->lock >= 0)
        (void)!flock(folder->lock, LOCK_SH | LOCK_NB);
    return ok;
}

bool client_folder_make(struct client_folder *folder, const struct transport_route *route,
                        struct err *err) {
    char path[] = PLACE "/" PREFIX "XXXXXX";
    *folder = (struct client_folder){.lock = -1};
    sweep();
    if (!mkdtemp(path))
        return err_set(err, ERR_ENVIRONMENT, "cannot make a folder in " PLACE ": %s",
                       strerror(errno));
    snprintf(folder->path, sizeof folder->path, "%s", path);
    if (fill_folder(folder, route, err))
        return true;
    client_folder_remove(folder);
    return false;
}

void client_folder_remove(struct client_folder *folder) {
    if (!folder->path[0])
        return;
    (void)!file_remove_tree(folder->path, NULL);
    folder->path[0] = 0;
    if (folder->lock >= 0)
        close(folder->lock);
    folder->lock = -1;
    buf_free(&folder->config);
}

char *client_folder_file(const struct client_folder *folder, const char *name) {
    return path_join(folder->path, name);
}

/* -------------------------------------------------------------------------------- command line */

struct line {
    VEC(char *) words;
};

static void put(struct line *line, const char *word) {
    *vec_push(&line->words) = mem_strdup(word);
}

static void put_option(struct line *line, const char *name, const char *value) {
    struct buf word = {0};
    buf_printf(&word, "-o%s=%s", name, value);
    *vec_push(&line->words) = buf_take(&word);
}

static void put_asked(struct line *line, const struct transport_host *asked) {
    char port[16];
    snprintf(port, sizeof port, "%d", asked->port);
    if (asked->host)
        put_option(line, "HostName", asked->host);
    if (asked->user)
        put_option(line, "User", asked->user);
    if (asked->port)
        put_option(line, "Port", port);
    if (asked->identity) {
        put(line, "-i");
        put(line, asked->identity);
    }
}

char **client_command_line(const struct client_folder *folder, const struct transport_route *route,
                           const char *const *more) {
    struct line line = {0};
    put(&line, "ssh");
    put(&line, "-F");
    put(&line, folder->config.at);
    for (; *more; more++)
        put(&line, *more);
    put_asked(&line, route->asked);
    put(&line, "--");
    put(&line, route->asked->name);
    *vec_push(&line.words) = NULL;
    return line.words.at;
}

void client_free_words(char **words) {
    for (size_t i = 0; words[i]; i++)
        free(words[i]);
    free(words);
}
