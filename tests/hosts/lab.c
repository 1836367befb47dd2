/* SPDX-License-Identifier: Apache-2.0 */
/* The lab itself: its folder, the user's keys and ssh files, the agent, running programs. */
#include "hosts/lab.h"

#include <arpa/inet.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

struct ending {
    void (*fn)(void *data);
    void *data;
};
struct lab {
    char folder[256];
    char *home, *config, *known_hosts, *agent;
    char user[64];
    struct keeper *keeper;
    struct map keys; /* kind to path */
    VEC(struct ending) endings;
    int relays;
};

static bool is_program(const char *path) {
    return access(path, X_OK) == 0;
}

const char *lab_missing(void) {
    if (!is_program("/usr/sbin/sshd"))
        return "no OpenSSH server is installed (/usr/sbin/sshd)";
    if (!is_program("/usr/bin/ssh-keygen"))
        return "no ssh-keygen is installed";
    return NULL;
}

static void make_folder(const char *path) {
    if (mkdir(path, 0700) != 0)
        HONE_BUG("cannot make a folder of the lab");
}

static void write_text(const char *path, const char *text) {
    if (!file_write(path, text, strlen(text), NULL) || chmod(path, 0600) != 0)
        HONE_BUG("cannot write a file of the lab");
}

/* HOME, and whatever else could lead out of the lab. */
static void own_environment(const struct lab *lab) {
    static const char *const gone[] = {"SSH_AUTH_SOCK",   "SSH_AGENT_PID",       "SSH_ASKPASS",
                                       "DISPLAY",         "SSH_ASKPASS_REQUIRE", "WAYLAND_DISPLAY",
                                       "XDG_CONFIG_HOME", "XDG_STATE_HOME",      "XDG_CACHE_HOME",
                                       "XDG_RUNTIME_DIR"};
    for (size_t i = 0; i < COUNT_OF(gone); i++)
        unsetenv(gone[i]);
    setenv("HOME", lab->home, 1);
}

struct lab *lab_new(void) {
    const char *missing = lab_missing();
    if (missing) {
        fprintf(stderr, "%s\n", missing);
        exit(77);
    }
    signal(SIGPIPE, SIG_IGN);
    struct lab *lab = mem_alloc(1, sizeof *lab);
    /* Short, because a socket's path may have 104 bytes on some systems. */
    snprintf(lab->folder, sizeof lab->folder, "/tmp/hone-lab.XXXXXX");
    if (!mkdtemp(lab->folder))
        HONE_BUG("no folder for the lab");
    lab->keeper = keeper_start(lab->folder);
    lab->home = lab_path(lab, "user");
    make_folder(lab->home);
    char *ssh = lab_path(lab, "user/.ssh");
    make_folder(ssh);
    free(ssh);
    lab->config = lab_path(lab, "user/.ssh/config");
    lab->known_hosts = lab_path(lab, "user/.ssh/known_hosts");
    write_text(lab->config, "");
    write_text(lab->known_hosts, "");
    const struct passwd *me = getpwuid(getuid());
    if (!me)
        HONE_BUG("this user has no name");
    snprintf(lab->user, sizeof lab->user, "%s", me->pw_name);
    own_environment(lab);
    return lab;
}

void lab_free(struct lab *lab) {
    if (!lab)
        return;
    keeper_end(lab->keeper);
    for (size_t i = 0; i < lab->endings.len; i++)
        lab->endings.at[i].fn(lab->endings.at[i].data);
    vec_free(&lab->endings);
    for (size_t i = 0; i < lab->keys.len; i++)
        free(lab->keys.entries[i].value);
    map_free(&lab->keys);
    free(lab->home);
    free(lab->config);
    free(lab->known_hosts);
    free(lab->agent);
    free(lab);
}

const char *lab_folder(const struct lab *lab) {
    return lab->folder;
}

const char *lab_home(const struct lab *lab) {
    return lab->home;
}

const char *lab_ssh_config(const struct lab *lab) {
    return lab->config;
}

const char *lab_known_hosts(const struct lab *lab) {
    return lab->known_hosts;
}

const char *lab_user(const struct lab *lab) {
    return lab->user;
}

struct keeper *lab_keeper(struct lab *lab) {
    return lab->keeper;
}

int lab_take_relay(struct lab *lab) {
    if (lab->relays == KEEPER_RELAYS)
        HONE_BUG("too many relays in one lab");
    return lab->relays++;
}

void lab_at_end(struct lab *lab, void (*fn)(void *data), void *data) {
    *vec_push(&lab->endings) = (struct ending){fn, data};
}

char *lab_path(const struct lab *lab, const char *name) {
    return path_join(lab->folder, name);
}

void lab_add_config(struct lab *lab, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    if (!file_append(lab->config, text.at, text.len, NULL))
        HONE_BUG("cannot write the lab's ssh_config");
    buf_free(&text);
}

/* ------------------------------------------------------------------------------------ programs */

pid_t lab_start(struct lab *lab, const char *const *argv, const char *log, pid_t netns_of) {
    char *path = lab_path(lab, log ? log : "lab.log");
    pid_t pid = keeper_run(lab->keeper, argv, path, netns_of);
    free(path);
    if (pid <= 0)
        HONE_BUG("the lab cannot start a process");
    return pid;
}

/* Runs it as a child of the test itself, which can see its status. */
bool lab_run(struct lab *lab, const char *const *argv) {
    union {
        const char *const *in;
        char *const *out;
    } words = {argv};
    char *log = lab_path(lab, "lab.log");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "r", stdin) || !freopen(log, "a", stdout) ||
            dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
            _exit(127);
        execvp(words.out[0], words.out);
        _exit(127);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    free(log);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int lab_free_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        HONE_BUG("no free port");
    close(fd);
    return ntohs(address.sin_port);
}

/* ----------------------------------------------------------------------------- keys, the agent */

struct key_kind {
    const char *name, *type, *file, *passphrase;
    bool accepted;
};
static const struct key_kind key_kinds[] = {
    {"ed25519", "ed25519", "id_ed25519", "", true},
    {"ecdsa", "ecdsa", "id_ecdsa", "", true},
    {"rsa", "rsa", "id_rsa", "", true},
    {"locked", "ed25519", "id_locked", LAB_PASSPHRASE, true},
    {"stranger", "ed25519", "id_stranger", "", false},
};

static void accept_key(const struct lab *lab, const char *path) {
    struct buf name = {0};
    size_t size;
    buf_printf(&name, "%s.pub", path);
    char *line = file_read(name.at, 0, &size, NULL);
    char *accepted = lab_path(lab, "authorized_keys");
    if (!line || !file_append(accepted, line, size, NULL) || chmod(accepted, 0600) != 0)
        HONE_BUG("cannot accept a key in the lab");
    free(accepted);
    free(line);
    buf_free(&name);
}

static char *make_key(struct lab *lab, const struct key_kind *kind) {
    struct buf name = {0};
    buf_printf(&name, "user/.ssh/%s", kind->file);
    char *path = lab_path(lab, name.at);
    buf_free(&name);
    const char *argv[] = {"ssh-keygen",
                          "-q",
                          "-t",
                          kind->type,
                          "-N",
                          kind->passphrase,
                          "-C",
                          kind->name,
                          "-f",
                          path,
                          !strcmp(kind->type, "rsa") ? "-b2048" : NULL,
                          NULL};
    if (!lab_run(lab, argv))
        HONE_BUG("ssh-keygen failed");
    if (kind->accepted)
        accept_key(lab, path);
    return path;
}

const char *lab_key(struct lab *lab, const char *kind) {
    struct map_entry *entry = map_put(&lab->keys, str_of(kind));
    for (size_t i = 0; !entry->value && i < COUNT_OF(key_kinds); i++)
        if (!strcmp(kind, key_kinds[i].name))
            entry->value = make_key(lab, &key_kinds[i]);
    if (!entry->value)
        HONE_BUG("no such kind of key");
    return entry->value;
}

const char *lab_start_agent(struct lab *lab, const char *kind) {
    free(lab->agent);
    lab->agent = lab_path(lab, "agent.sock");
    unlink(lab->agent);
    const char *argv[] = {"ssh-agent", "-D", "-a", lab->agent, NULL};
    lab_start(lab, argv, NULL, 0);
    for (int i = 0; i < 2000 && !file_exists(lab->agent); i++)
        usleep(5000);
    setenv("SSH_AUTH_SOCK", lab->agent, 1);
    const char *add[] = {"ssh-add", "-q", kind && *kind ? lab_key(lab, kind) : NULL, NULL};
    if (kind && *kind && !lab_run(lab, add))
        HONE_BUG("ssh-add failed");
    return lab->agent;
}
