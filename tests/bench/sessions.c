/* SPDX-License-Identifier: Apache-2.0 */
/* How opening grows with the session: the time to the first frame and to the end, the memory, a key
 * on the history screen, and an export. Beside it SQLite reads the same rows, and git reads as many
 * commits of as many kernels. "warm %" is how much of session.db was in memory before the first
 * opening: what is not has to come from the disk.
 *
 *     bench_sessions [-n ATTEMPTS,...] [-r TIMES] [-f FOLDER] -h HONE
 *
 * Sessions are made in FOLDER and stay there, so that the next run opens them again; without -f
 * they are removed. It prints medians of -r times. */
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/long_session.h"
#include "bench/processor.h"

#define TIMES 3
#define MOST_TIMES 15
#define KEYS 20
#define ROWS 40
#define COLS 120

static double now_ms(void) {
    return (double)clock_monotonic_ns() * 1e-6;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_size);
    return count ? values[count / 2] : 0;
}

/* -------------------------------------------------------------------------- the program itself */

struct opened {
    double first_ms, whole_ms, cpu_ms, key_ms, peak_mb, end_ms;
};

struct screen {
    int fd;
    pid_t pid;
    struct buf seen;
};

/* Reads what comes within `ms`. False when the terminal was closed. */
static bool screen_read(struct screen *screen, int ms) {
    char bytes[65536];
    struct pollfd ready = {.fd = screen->fd, .events = POLLIN};
    if (poll(&ready, 1, ms) <= 0)
        return true;
    ssize_t size = read(screen->fd, bytes, sizeof bytes);
    if (size <= 0)
        return false;
    buf_add(&screen->seen, bytes, (size_t)size);
    return true;
}

/* Reads until the bytes have come. Returns how long that took, or -1 after `limit_ms`. */
static double screen_wait(struct screen *screen, const char *bytes, double limit_ms) {
    double begun = now_ms();
    while (now_ms() - begun < limit_ms) {
        if (screen->seen.at && memmem(screen->seen.at, screen->seen.len, bytes, strlen(bytes)))
            return now_ms() - begun;
        if (!screen_read(screen, 1))
            break;
    }
    fprintf(stderr, "\"%s\" did not come\n", bytes);
    return -1;
}

/* The time from a key to the first bytes that it brings. */
static double screen_key(struct screen *screen, const char *key) {
    while (screen_read(screen, 60) && screen->seen.len)
        buf_clear(&screen->seen);
    buf_clear(&screen->seen);
    double begun = now_ms();
    (void)!write(screen->fd, key, strlen(key));
    while (!screen->seen.len && now_ms() - begun < 2000)
        if (!screen_read(screen, 1))
            break;
    return now_ms() - begun;
}

static double history_keys(struct screen *screen) {
    double ms[KEYS];
    screen_key(screen, ":history\r");
    screen_wait(screen, "engine", 20000); /* the titles of attempts */
    for (int i = 0; i < KEYS; i++)
        ms[i] = screen_key(screen, "j");
    return median(ms, KEYS);
}

static pid_t hone_start(const char *hone, const char *folder, int *fd) {
    struct winsize size = {.ws_row = ROWS, .ws_col = COLS};
    pid_t pid = forkpty(fd, NULL, NULL, &size);
    if (pid)
        return pid;
    setenv("TERM", "xterm-256color", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("XDG_STATE_HOME", folder, 1);
    setenv("XDG_CONFIG_HOME", folder, 1);
    execl(hone, "hone", folder, (char *)NULL);
    _exit(127);
}

static struct opened open_once(const char *hone, const char *folder, int attempts) {
    struct screen screen = {0};
    struct opened opened = {0};
    struct rusage usage = {0};
    char round[40];
    int status = 0;
    double begun = now_ms();
    snprintf(round, sizeof round, "round %d", attempts);
    screen.pid = hone_start(hone, folder, &screen.fd);
    screen_wait(&screen, path_base(folder), 600000); /* its name, in the first line of a frame */
    opened.first_ms = now_ms() - begun;
    screen_wait(&screen, round, 600000);
    opened.whole_ms = now_ms() - begun;
    opened.cpu_ms = 1000 * processor_s_of(screen.pid);
    opened.key_ms = history_keys(&screen);
    double ends = now_ms();
    (void)!write(screen.fd, ":quit\ry", 7); /* a round that is not over asks first */
    while (screen_read(&screen, 100) && now_ms() - ends < 10000)
        buf_clear(&screen.seen);
    wait4(screen.pid, &status, 0, &usage);
    opened.end_ms = now_ms() - ends;
    opened.peak_mb = (double)usage.ru_maxrss / 1024;
    close(screen.fd);
    buf_free(&screen.seen);
    return opened;
}

struct exported {
    double ms, cpu_ms, peak_mb;
};

static double seconds(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

/* The whole session as a folder for others. */
static struct exported export_once(const char *hone, const char *folder) {
    struct exported exported = {NAN, NAN, NAN};
    struct rusage usage = {0};
    struct err err = {0};
    int status = 0;
    char *to = path_join(folder, "exported");
    double begun = now_ms();
    pid_t pid = fork();
    if (!pid) {
        setenv("XDG_STATE_HOME", folder, 1);
        setenv("XDG_CONFIG_HOME", folder, 1);
        if (!freopen("/dev/null", "w", stdout))
            _exit(127);
        execl(hone, "hone", "export", folder, "--output", to, "--no-verify", (char *)NULL);
        _exit(127);
    }
    if (pid > 0 && wait4(pid, &status, 0, &usage) == pid && !status)
        exported = (struct exported){now_ms() - begun,
                                     1000 * (seconds(usage.ru_utime) + seconds(usage.ru_stime)),
                                     (double)usage.ru_maxrss / 1024};
    (void)!file_remove_tree(to, &err);
    free(to);
    return exported;
}

/* --------------------------------------------------------------------------------------- peers */

static char *session_db(const char *folder) {
    char *hone = path_join(folder, ".hone"), *place = path_join(hone, path_base(folder));
    char *path = path_join(place, "session.db");
    free(hone);
    free(place);
    return path;
}

/* How much of the session is in memory already, in percent. */
static double session_warm(const char *folder) {
    char *path = session_db(folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st = {0};
    size_t page = (size_t)sysconf(_SC_PAGESIZE), there = 0;
    free(path);
    void *map = fd >= 0 && fstat(fd, &st) == 0 && st.st_size
                    ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0)
                    : MAP_FAILED;
    size_t pages = ((size_t)st.st_size + page - 1) / page;
    unsigned char *is = mem_alloc(pages + 1, 1);
    bool known = map != MAP_FAILED && mincore(map, (size_t)st.st_size, is) == 0;
    for (size_t i = 0; known && i < pages; i++)
        there += is[i] & 1;
    if (map != MAP_FAILED)
        munmap(map, (size_t)st.st_size);
    if (fd >= 0)
        close(fd);
    free(is);
    return known ? 100 * (double)there / (double)pages : NAN;
}

/* Reads every row of the log and looks at each byte once. */
static double sqlite_read(const char *folder, int64_t *rows, int64_t *bytes) {
    char *path = session_db(folder);
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    double begun = now_ms();
    *rows = *bytes = 0;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "SELECT seq, wall_ms, type, payload FROM events ORDER BY seq", -1,
                           &statement, NULL) == SQLITE_OK)
        while (sqlite3_step(statement) == SQLITE_ROW) {
            const char *payload = (const char *)sqlite3_column_text(statement, 3);
            *bytes += (int64_t)strlen(payload ? payload : "");
            ++*rows;
        }
    sqlite3_finalize(statement);
    sqlite3_close(db);
    free(path);
    return now_ms() - begun;
}

/* Makes as many commits of the kernel, each with its number. */
static bool git_make(const char *place, const char *folder, int attempts) {
    char command[900];
    struct err err = {0};
    char *path = path_join(folder, "kernel.py"), *kernel = file_read(path, 0, NULL, &err);
    snprintf(command, sizeof command,
             "git init -q --bare '%s' && git -C '%s' fast-import --quiet 2>/dev/null", place,
             place);
    FILE *import = kernel ? popen(command, "w") : NULL;
    for (int i = 0; import && i < attempts; i++)
        fprintf(import,
                "commit refs/heads/main\ncommitter hone <hone@localhost> %d +0000\n"
                "data 43\nMake shifted.%08d on the GpSimd engine.\n"
                "M 100644 inline kernel.py\ndata %zu\n# %08d\n%s\n",
                1767276000 + i, i, strlen(kernel) + 11, i, kernel);
    free(path);
    free(kernel);
    return import && pclose(import) == 0;
}

static double git_read(const char *folder, int attempts) {
    char command[900];
    char *place = path_join(folder, "peer.git");
    bool made = file_is_dir(place) || git_make(place, folder, attempts);
    snprintf(command, sizeof command, "git -C '%s' log -p main >/dev/null 2>&1", place);
    free(place);
    double begun = now_ms();
    return made && system(command) == 0 ? now_ms() - begun : NAN;
}

/* ---------------------------------------------------------------------------------------- table */

static void measure(const char *hone, const char *base, int attempts, int times) {
    char *folder = mem_alloc(strlen(base) + 40, 1);
    double first[MOST_TIMES], whole[MOST_TIMES], cpu[MOST_TIMES], peak[MOST_TIMES], key[MOST_TIMES],
        ends[MOST_TIMES], rows_ms[MOST_TIMES], git_ms[MOST_TIMES];
    int64_t rows = 0, bytes = 0;
    struct err err = {0};
    sprintf(folder, "%s/long%d", base, attempts);
    if (!file_is_dir(folder)) {
        if (!file_make_dirs(folder, &err))
            abort();
        long_write(folder, attempts);
    }
    double warm = session_warm(folder);
    for (int i = 0; i < times; i++) {
        struct opened opened = open_once(hone, folder, attempts);
        first[i] = opened.first_ms;
        whole[i] = opened.whole_ms;
        cpu[i] = opened.cpu_ms;
        peak[i] = opened.peak_mb;
        key[i] = opened.key_ms;
        ends[i] = opened.end_ms;
        rows_ms[i] = sqlite_read(folder, &rows, &bytes);
        git_ms[i] = git_read(folder, attempts);
    }
    struct exported exported = export_once(hone, folder);
    double all = median(whole, times), peer = median(rows_ms, times), git = median(git_ms, times);
    printf("%8d %9lld %7.0f %6.0f %9.0f %9.0f %7.0f %8.0f %8.1f %7.0f %9.0f %6.2f %9.0f %6.2f "
           "%10.0f %10.0f %9.0f\n",
           attempts, (long long)rows, (double)bytes / 1e6, warm, median(first, times), all,
           median(cpu, times), median(peak, times), median(key, times), median(ends, times), peer,
           all / peer, git, all / git, exported.ms, exported.cpu_ms, exported.peak_mb);
    fflush(stdout);
    free(folder);
}

int main(int argc, char **argv) {
    const char *hone = NULL, *sizes = "1000,10000";
    char own[] = "/tmp/hone-bench-XXXXXX";
    const char *base = NULL;
    int option, times = TIMES;
    struct err err = {0};
    while ((option = getopt(argc, argv, "n:r:f:h:")) != -1) {
        if (option == 'n')
            sizes = optarg;
        else if (option == 'r')
            times = (int)strtol(optarg, NULL, 10);
        else if (option == 'f')
            base = optarg;
        else if (option == 'h')
            hone = optarg;
    }
    if (!hone || times < 1 || times > MOST_TIMES) {
        fprintf(stderr, "usage: %s [-n ATTEMPTS,...] [-r TIMES] [-f FOLDER] -h HONE\n", argv[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    if (!base && !(base = mkdtemp(own)))
        abort();
    printf(
        "attempts    events      MB warm %%  first ms  whole ms  cpu ms  peak MB   key ms  end ms  "
        "sqlite ms"
        "  ratio    git ms  ratio  export ms export cpu export MB\n");
    struct str rest = str_of(sizes), one;
    while (str_next(&rest, ',', &one)) {
        long long attempts = 0;
        if (str_to_int(one, &attempts) && attempts > 0 && attempts < 10000000)
            measure(hone, base, (int)attempts, times);
    }
    if (base == own)
        (void)!file_remove_tree(base, &err);
    return 0;
}
