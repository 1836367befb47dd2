/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper: a process forked from the test, from which everything in the lab descends. It starts
 * what it is asked to over a socket. The socket closes when the test is over or dead. Then it kills
 * all its descendants, even those that detached themselves, and removes the folder. */
#include "hosts/lab.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/base.h"

#define REQUEST_MAX 32768

struct keeper {
    pid_t pid;
    int socket;
    struct keeper_relay *relays;
    char folder[256];
};

/* ------------------------------------------------------------------------------- in the keeper */

static void say(const char *what) {
    dprintf(2, "keeper: %s: %s\n", what, strerror(errno));
}

static void close_all_but(int kept) {
    for (int fd = 3; fd < 1024; fd++)
        if (fd != kept)
            close(fd);
}

static void enter_netns(const char *of) {
    char path[64];
    if (!strcmp(of, "0"))
        return;
    snprintf(path, sizeof path, "/proc/%s/ns/net", of);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
#ifdef __linux__
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) {
        say("cannot enter the network namespace");
        _exit(127);
    }
#endif
}

/* A request is a list of zero-terminated strings: log, namespace, argv... */
static pid_t start(char **words, size_t count) {
    pid_t pid = fork();
    if (pid)
        return pid;
    setsid();
    signal(SIGPIPE, SIG_DFL);
    int log = open(words[0], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(log, 1);
    dup2(log, 2);
    close_all_but(-1);
    enter_netns(words[1]);
    words[count] = NULL;
    execvp(words[2], words + 2);
    say(words[2]);
    _exit(127);
}

static pid_t play_relay(struct keeper *keeper, int number) {
    pid_t pid = fork();
    if (pid)
        return pid;
    close_all_but(-1);
    relay_main(&keeper->relays[number]);
}

static pid_t obey(struct keeper *keeper, char *request, size_t len) {
    char *words[128];
    size_t count = 0;
    for (size_t at = 0; at < len && count < COUNT_OF(words) - 1; at += strlen(request + at) + 1)
        words[count++] = request + at;
    if (count == 2 && !strcmp(words[0], "relay"))
        return play_relay(keeper, words[1][0] - ' ');
    return count > 2 ? start(words, count) : -1;
}

static bool nothing_left(void) {
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        continue;
    return pid < 0 && errno == ECHILD;
}

static CC_NORETURN void keep(struct keeper *keeper) {
    static char request[REQUEST_MAX];
    for (;;) {
        struct pollfd wait = {.fd = keeper->socket, .events = POLLIN};
        poll(&wait, 1, 200);
        nothing_left();
        if (!wait.revents)
            continue;
        ssize_t n = recv(keeper->socket, request, sizeof request - 1, 0);
        if (n <= 0)
            break;
        request[n] = 0;
        pid_t pid = obey(keeper, request, (size_t)n);
        if (send(keeper->socket, &pid, sizeof pid, MSG_NOSIGNAL) < 0)
            break;
    }
    while (!nothing_left()) {
        lab_kill_tree(NULL, getpid(), NULL);
        usleep(2000);
    }
    (void)!file_remove_tree(keeper->folder, NULL);
    _exit(0);
}

static CC_NORETURN void become_keeper(struct keeper *keeper) {
    setsid();
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
#ifdef __linux__
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "lab-keeper");
#endif
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++)
        dup2(null, i);
    close_all_but(keeper->socket);
    keep(keeper);
}

/* --------------------------------------------------------------------------------- in the test */

struct keeper *keeper_start(const char *folder) {
    int ends[2];
    struct keeper *keeper = mem_alloc(1, sizeof *keeper);
    snprintf(keeper->folder, sizeof keeper->folder, "%s", folder);
    size_t size = KEEPER_RELAYS * sizeof *keeper->relays;
    keeper->relays = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (keeper->relays == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        HONE_BUG("no memory or no socket for the lab");
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    keeper->pid = fork();
    if (keeper->pid == 0) {
        keeper->socket = ends[1];
        close(ends[0]);
        become_keeper(keeper);
    }
    close(ends[1]);
    keeper->socket = ends[0];
    return keeper;
}

void keeper_end(struct keeper *keeper) {
    close(keeper->socket);
    waitpid(keeper->pid, NULL, 0);
    munmap(keeper->relays, KEEPER_RELAYS * sizeof *keeper->relays);
    free(keeper);
}

static pid_t ask(struct keeper *keeper, struct buf *request) {
    pid_t pid = -1;
    if (request->len >= REQUEST_MAX || send(keeper->socket, request->at, request->len, 0) < 0 ||
        recv(keeper->socket, &pid, sizeof pid, 0) != (ssize_t)sizeof pid)
        HONE_BUG("the lab's keeper is gone");
    buf_free(request);
    return pid;
}

pid_t keeper_run(struct keeper *keeper, const char *const *argv, const char *log, pid_t netns_of) {
    struct buf request = {0};
    buf_printf(&request, "%s%c%d", log, 0, (int)netns_of);
    buf_putc(&request, 0);
    for (; *argv; argv++)
        buf_add(&request, *argv, strlen(*argv) + 1);
    return ask(keeper, &request);
}

pid_t keeper_relay(struct keeper *keeper, int number) {
    struct buf request = {0};
    buf_printf(&request, "relay%c%c", 0, ' ' + number);
    buf_putc(&request, 0);
    return ask(keeper, &request);
}

struct keeper_relay *keeper_relays(struct keeper *keeper) {
    return keeper->relays;
}

pid_t keeper_pid(const struct keeper *keeper) {
    return keeper->pid;
}

/* ------------------------------------------------------------------------------ process trees */

struct process {
    pid_t pid, parent;
    char name[32];
    bool below;
};

/* Reads it from /proc; an empty list where there is none. */
static bool read_process(const char *name, struct process *process) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", name);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool ok = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    const char *open = ok ? strchr(line, '(') : NULL, *close = ok ? strrchr(line, ')') : NULL;
    char state;
    int parent;
    if (!open || !close || sscanf(close + 1, " %c %d", &state, &parent) != 2 || state == 'Z')
        return false;
    *process = (struct process){.pid = (pid_t)strtol(name, NULL, 10), .parent = parent};
    snprintf(process->name, sizeof process->name, "%.*s", (int)(close - open - 1), open + 1);
    return true;
}

void lab_kill_tree(struct lab *lab, pid_t root, const char *name) {
    VEC(struct process) all = {0};
    struct process process;
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            read_process(entry->d_name, &process))
            *vec_push(&all) = process;
    if (dir)
        closedir(dir);
    pid_t top = root ? root : keeper_pid(lab_keeper(lab));
    bool grown = true;
    while (grown) {
        grown = false;
        for (size_t i = 0; i < all.len; i++) {
            bool below = all.at[i].pid == top;
            for (size_t j = 0; !below && j < all.len; j++)
                below = all.at[j].below && all.at[j].pid == all.at[i].parent;
            grown |= below && !all.at[i].below;
            all.at[i].below |= below;
        }
    }
    bool spare = top == getpid() || !root; /* the keeper itself */
    for (size_t i = 0; i < all.len; i++)
        if (all.at[i].below && !(spare && all.at[i].pid == top) &&
            (!name || strncmp(all.at[i].name, name, strlen(name)) == 0))
            kill(all.at[i].pid, SIGKILL);
    vec_free(&all);
}
