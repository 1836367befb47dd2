/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a terminal program feels: the time from its start to its first whole frame, the time
 * from a key to the frame that answers it, the bytes that a key costs, and processor time while
 * nothing happens. It runs the command in a pseudo-terminal of its own. It knows nothing of hone,
 * so that another program is measured in the same way.
 *
 *     term_latency [-c COLS] [-r ROWS] [-n KEYS] [-k KEYSTRING] [-q QUIT] [-f] -- COMMAND [ARG ...]
 *
 * With -f the first bytes after a key answer it. That is for a screen that also moves on its
 * own. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FRAME_QUIET_MS 120 /* a first frame is over when nothing comes for this long */
#define KEY_QUIET_MS 30

struct options {
    int columns, rows, keys;
    bool first;
    const char *sequence, *quit;
    char **command;
};

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Reads until nothing comes for quiet_ms. Returns when the last byte came, or -1 when none came in
 * limit_ms. Adds up the bytes. */
static double drain(int fd, int quiet_ms, int limit_ms, size_t *bytes, double *first) {
    double last = -1;
    char chunk[65536];
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    double begun = now_ms();
    while (poll(&poller, 1, last < 0 ? limit_ms : quiet_ms) > 0) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n <= 0 || now_ms() - begun > limit_ms)
            break;
        last = now_ms();
        if (first && *first < 0)
            *first = last;
        *bytes += (size_t)n;
    }
    return last;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double cpu_seconds(pid_t pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = 0;
    const char *after = strrchr(text, ')');
    unsigned long user, system;
    if (!after || sscanf(after + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                         &system) != 2)
        return -1;
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void measure_keys(const struct options *o, int fd) {
    double *times = calloc((size_t)o->keys, sizeof *times);
    size_t bytes = 0, answered = 0, length = strlen(o->sequence);
    for (int k = 0; k < o->keys; k++) {
        double sent = now_ms();
        if (write(fd, &o->sequence[(size_t)k % length], 1) != 1)
            break;
        double first = -1, last = drain(fd, KEY_QUIET_MS, 300, &bytes, &first);
        if (last >= 0)
            times[answered++] = (o->first ? first : last) - sent;
    }
    qsort(times, answered, sizeof *times, by_value);
    if (answered)
        printf("key to frame: %zu of %d keys answered, median %.3f ms, p99 %.3f ms, max %.3f ms, "
               "%.0f bytes a key\n",
               answered, o->keys, times[answered / 2], times[answered * 99 / 100],
               times[answered - 1], (double)bytes / (double)answered);
    else
        printf("key to frame: no key was answered\n");
    free(times);
}

static bool parse(int argc, char **argv, struct options *o) {
    int option;
    while ((option = getopt(argc, argv, "+c:r:n:k:q:f")) != -1) {
        switch (option) {
        case 'c': o->columns = (int)strtol(optarg, NULL, 10); break;
        case 'r': o->rows = (int)strtol(optarg, NULL, 10); break;
        case 'n': o->keys = (int)strtol(optarg, NULL, 10); break;
        case 'k': o->sequence = optarg; break;
        case 'f': o->first = true; break;
        case 'q': o->quit = optarg; break;
        default: return false;
        }
    }
    o->command = argv + optind;
    return optind < argc && *o->sequence;
}

int main(int argc, char **argv) {
    struct options o = {.columns = 120, .rows = 40, .keys = 200, .sequence = "jk", .quit = "q"};
    if (!parse(argc, argv, &o)) {
        fprintf(stderr,
                "usage: %s [-c COLS] [-r ROWS] [-n KEYS] [-k KEYSTRING] [-q QUIT] -- "
                "COMMAND [ARG ...]\n",
                argv[0]);
        return 2;
    }
    struct winsize size = {.ws_row = (unsigned short)o.rows, .ws_col = (unsigned short)o.columns};
    double begun = now_ms();
    int fd;
    pid_t pid = forkpty(&fd, NULL, NULL, &size);
    if (pid < 0) {
        perror("forkpty");
        return 3;
    }
    if (pid == 0) {
        setenv("TERM", "xterm-256color", 1);
        execvp(o.command[0], o.command);
        _exit(127);
    }
    size_t bytes = 0;
    double first = -1, last = drain(fd, FRAME_QUIET_MS, 5000, &bytes, &first);
    printf("first frame: first byte %.1f ms, whole %.1f ms, %zu bytes\n", first - begun,
           last - begun, bytes);
    measure_keys(&o, fd);
    double before = cpu_seconds(pid);
    bytes = 0;
    struct timespec idle = {.tv_sec = 3};
    nanosleep(&idle, NULL);
    drain(fd, 1, 1, &bytes, NULL);
    printf("idle: %.3f s of processor time and %zu bytes in 3 s\n", cpu_seconds(pid) - before,
           bytes);
    (void)!write(fd, o.quit, strlen(o.quit));
    drain(fd, 100, 300, &bytes, NULL);
    kill(pid, SIGKILL);
    struct rusage usage;
    int status;
    wait4(pid, &status, 0, &usage);
    printf("memory: %ld KiB at most\n", usage.ru_maxrss);
    return 0;
}
