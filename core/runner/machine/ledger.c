/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's budget. Each claim is a file of one line, which its hone holds locked as long as
 * the claim holds. A file that can be locked belongs to a hone that no longer runs. Whoever reads
 * the claims and changes one holds the folder's lock. Each hone measures what its child uses and
 * writes it into the file too, so that others need only read files. First come, first served; a
 * hone that has not asked for a while (a stopped process) is passed by. Who waits behind another
 * looks at that one's file alone until it has gone, so that the 64 evaluations of a sweep do not
 * each read the files of all 64 whenever they ask. */
#include "runner/machine/inner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runner/machine/machine.h"

#define MEGABYTE ((uint64_t)1 << 20)
#define GUESS (1024 * MEGABYTE) /* for an evaluation of a task that was never measured */
#define LEAST (256 * MEGABYTE)
#define STALE_MS 3000       /* a hone that waits asks several times a second */
#define OTHERS_MS 60000     /* how long to wait for other programs */
#define FORGOTTEN_S 2592000 /* after 30 days without tuning, what a task took is forgotten */
#define BEHIND "waits for its turn: another evaluation on this machine came first"
#define ROW 160
#define USED 24 /* a second line: what the child was seen to use, and the claim's places */

/* A look at what a child uses. It runs on a worker thread, because it goes over all processes. */
struct look {
    struct ledger_claim *claim; /* NULL: the claim was given back */
    pid_t pid;
    uint64_t bytes;
};

struct ledger_claim {
    char *folder, *path; /* path NULL: the claim has no file yet */
    int fd;
    char what[80], need[32]; /* what: for those who wait; need: name of the file of needs */
    uint64_t bytes, most, peak;
    uint64_t machine;  /* the setting machine_mb; 0: what is free */
    int children;      /* the setting children */
    int wants, places; /* of these: asked for, got */
    int pid;           /* of the child; 0: it waits */
    uint64_t used;     /* by the child, when it was last looked at */
    struct look *look; /* the present look; NULL: none */
    bool guessed;
    int64_t since_ms;
    char *ahead; /* the file of the claim that waits right before it; NULL: none is known */
};

/* A claim as its file has it. */
struct row {
    char state; /* 'r' runs, 'w' waits */
    unsigned long long bytes, used;
    long pid;
    int places;
    long long since_ms, seen_ms;
    char what[80];
};

/* ------------------------------------------------------------------------ what it took before */

static uint64_t need_read(const struct ledger_claim *claim) {
    char *path = path_join(claim->folder, claim->need);
    char *text = file_read(path, 64, NULL, NULL);
    uint64_t bytes = text ? strtoull(text, NULL, 10) : 0;
    free(text);
    free(path);
    return bytes;
}

/* Keeps the most that the last ones took. One small kernel does not make the next one small. */
static void need_write(const struct ledger_claim *claim) {
    uint64_t before = need_read(claim), now = MAX_OF(claim->peak, before - before / 8);
    char *path = path_join(claim->folder, claim->need), text[32];
    int size = snprintf(text, sizeof text, "%llu\n", (unsigned long long)now);
    if (now != before)
        (void)!file_write_private(path, text, (size_t)size, NULL);
    free(path);
}

/* Evaluations of a task that do the same things need about the same memory. */
static void need_name(struct ledger_claim *claim, const struct runner_job *job) {
    struct buf key = {0};
    char *path = path_absolute(job->reference_path ? job->reference_path : job->kernel_path);
    buf_printf(&key, "%s %s %d%d%d%d", path, job->device ? job->device : "", job->check_only,
               job->no_time, job->no_verify, job->predict_only);
    if (job->machine_places)
        buf_puts(&key, " places");
    snprintf(claim->need, sizeof claim->need, "need-%016llx",
             (unsigned long long)hash_quick(key.at, key.len));
    free(path);
    buf_free(&key);
}

/* ------------------------------------------------------------------------------------- claims */

static void bytes_set(struct ledger_claim *claim, uint64_t bytes) {
    if (claim->most && bytes > claim->most)
        bytes = claim->most;
    if (claim->machine && bytes > claim->machine)
        bytes = claim->machine;
    claim->bytes = bytes;
}

/* "attempt 3 of softmax/kernel.py" */
static void what_print(struct ledger_claim *claim, const struct runner_job *job) {
    char *path = path_absolute(job->kernel_path), *folder = path_folder(path);
    struct buf text = {0};
    if (job->occasion)
        buf_printf(&text, "attempt %d of ", atoi(job->occasion));
    buf_printf(&text, "%s/%s", path_base(folder), path_base(path));
    snprintf(claim->what, sizeof claim->what, "%.79s", text.at);
    for (char *c = claim->what; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    buf_free(&text);
    free(folder);
    free(path);
}

struct ledger_claim *ledger_claim_new(const struct runner_job *job) {
    struct ledger_claim *claim = mem_alloc(1, sizeof *claim);
    claim->folder = path_state("running");
    claim->fd = -1;
    claim->most = job->memory_limit;
    claim->machine = job->machine_bytes;
    claim->children = job->machine_children;
    claim->wants = MAX_OF(job->machine_places, 1);
    claim->since_ms = clock_wall_ms();
    what_print(claim, job);
    need_name(claim, job);
    uint64_t before = need_read(claim);
    claim->guessed = before == 0;
    bytes_set(claim, before ? MAX_OF(before + before / 4, LEAST) : GUESS);
    return claim;
}

int ledger_places(const struct ledger_claim *claim) {
    return claim->places;
}

uint64_t ledger_reserved(const struct ledger_claim *claim) {
    return claim->fd >= 0 ? claim->bytes : 0;
}

void ledger_raise(struct ledger_claim *claim, uint64_t bytes) {
    claim->pid = 0;
    claim->used = 0;
    claim->guessed = false;
    claim->since_ms = clock_wall_ms();
    claim->peak = MAX_OF(claim->peak, bytes);
    bytes_set(claim, bytes);
}

static void row_write(const struct ledger_claim *claim) {
    char text[ROW + USED + 1];
    int size = snprintf(text, sizeof text, "%c %llu %d %lld %lld %s", claim->pid ? 'r' : 'w',
                        (unsigned long long)claim->bytes, claim->pid, (long long)claim->since_ms,
                        (long long)clock_wall_ms(), claim->what);
    memset(text + size, ' ', ROW - (size_t)size);
    text[ROW - 1] = '\n';
    snprintf(text + ROW, USED + 1, "%*llu %4d\n", USED - 6, (unsigned long long)claim->used,
             MIN_OF(MAX_OF(claim->places, 1), 9999));
    if (claim->fd >= 0 && pwrite(claim->fd, text, ROW + USED, 0) != ROW + USED)
        errno = 0; /* the disk is full, so others will not know of it */
}

static bool row_read(int fd, struct row *row) {
    char text[ROW + USED + 1] = "", *rest;
    if (pread(fd, text, ROW + USED, 0) < ROW)
        return false;
    row->used = strtoull(text + ROW, &rest, 10);
    row->places = MAX_OF(atoi(rest), 1); /* older ones do not say it */
    text[ROW] = '\0';
    int got = sscanf(text, "%c %llu %ld %lld %lld %79[^\n]", &row->state, &row->bytes, &row->pid,
                     &row->since_ms, &row->seen_ms, row->what);
    for (size_t len = strlen(row->what); got == 6 && len && row->what[len - 1] == ' ';)
        row->what[--len] = '\0';
    return got == 6;
}

/* Made while the folder's lock is held, so that nobody takes it for a file that was left behind. */
static bool file_make(struct ledger_claim *claim) {
    if (claim->fd >= 0)
        return true;
    struct buf path = {0};
    buf_printf(&path, "%s/%08x-%ld-XXXXXX", claim->folder, (unsigned)file_machine(),
               (long)getpid());
    claim->fd = mkostemp(path.at, O_CLOEXEC);
    if (claim->fd < 0 || flock(claim->fd, LOCK_EX | LOCK_NB) != 0) {
        if (claim->fd >= 0) {
            unlink(path.at);
            close(claim->fd);
        }
        claim->fd = -1;
        buf_free(&path);
        return false;
    }
    claim->path = buf_take(&path);
    return true;
}

/* ----------------------------------------------------------------------------- all that stand */

struct sums {
    int running;
    uint64_t reserved, used;
    char *ahead; /* the file of the last one that came before this one and waits; NULL: none */
    long long ahead_ms;
    char who[80];
    unsigned long long largest;
};

static bool is_ahead(const struct ledger_claim *own, const struct row *row) {
    return row->state == 'w' && row->since_ms < own->since_ms &&
           clock_wall_ms() - row->seen_ms < STALE_MS;
}

static void sums_add(struct sums *sums, const struct ledger_claim *own, const struct row *row,
                     const char *path) {
    if (row->state == 'r') {
        sums->running += row->places;
        sums->reserved += row->bytes;
        sums->used += MIN_OF(row->used, row->bytes);
        if (row->bytes >= sums->largest)
            snprintf(sums->who, sizeof sums->who, "%s", row->what);
        sums->largest = MAX_OF(sums->largest, row->bytes);
    } else if (is_ahead(own, row) && row->since_ms >= sums->ahead_ms) {
        free(sums->ahead);
        sums->ahead = mem_strdup(path);
        sums->ahead_ms = row->since_ms;
    }
}

/* Reads another's claim. False: it is gone, or was left behind, and is gone now. */
static bool claim_read(const char *path, struct row *row) {
    bool stands = false;
    int fd = file_open(path, O_RDWR | O_NOFOLLOW, 0, NULL);
    if (fd < 0)
        return false;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlink(path);
    else
        stands = row_read(fd, row);
    close(fd);
    return stands;
}

/* Whether the one right before it still waits. */
static bool still_behind(const struct ledger_claim *claim) {
    struct row row = {0};
    return claim->ahead && claim_read(claim->ahead, &row) && is_ahead(claim, &row);
}

static void forget_old(const char *path) {
    struct stat st;
    if (stat(path, &st) == 0 && st.st_mtime < time(NULL) - FORGOTTEN_S)
        unlink(path);
}

static struct sums sums_of(const struct ledger_claim *own) {
    struct sums sums = {0};
    struct row row = {0};
    char mark[16];
    snprintf(mark, sizeof mark, "%08x-", (unsigned)file_machine());
    DIR *dir = opendir(own->folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char *path = path_join(own->folder, entry->d_name);
        if (!strncmp(entry->d_name, "need-", 5))
            forget_old(path);
        else if (!strncmp(entry->d_name, mark, strlen(mark)) &&
                 (!own->path || strcmp(path, own->path) != 0) && claim_read(path, &row))
            sums_add(&sums, own, &row, path);
        free(path);
    }
    if (dir)
        closedir(dir);
    return sums;
}

/* Bytes that nobody uses and nobody was promised. UINT64_MAX: unknown. */
static uint64_t bytes_free(const struct ledger_claim *claim, const struct sums *sums) {
    uint64_t available = os_available_memory(), promised = sums->reserved - sums->used;
    uint64_t left = available ? available - MIN_OF(available, promised) : UINT64_MAX;
    if (claim->machine)
        left = MIN_OF(left, claim->machine - MIN_OF(claim->machine, sums->reserved));
    return left;
}

static int most_of(const struct ledger_claim *claim) {
    return claim->children > 0 ? claim->children : os_cpu_count();
}

static double gigabytes(uint64_t bytes) {
    return (double)bytes * 1e-9;
}

/* A hone that is alone on the machine does not wait because of a guess. */
static enum ledger_answer alone(const struct ledger_claim *claim, uint64_t left, struct buf *why) {
    if (claim->guessed || claim->bytes <= left)
        return LEDGER_GO;
    bool waits = clock_wall_ms() - claim->since_ms < OTHERS_MS;
    buf_printf(why, "%s memory: %.1f GB needed, %.1f GB free; other programs have the rest",
               waits ? "waits for" : "not enough", gigabytes(claim->bytes), gigabytes(left));
    return waits ? LEDGER_WAIT : LEDGER_NO;
}

static enum ledger_answer decide(const struct ledger_claim *claim, const struct sums *sums,
                                 struct buf *why) {
    uint64_t left = bytes_free(claim, sums);
    int most = most_of(claim);
    if (sums->ahead)
        buf_puts(why, BEHIND);
    else if (!sums->running)
        return alone(claim, left, why);
    else if (sums->running >= most)
        buf_printf(why, "waits for a processor: %s %s", sums->who,
                   sums->running > 1 ? "and others run" : "runs");
    else if (claim->bytes > left)
        buf_printf(why, "waits for memory: %.1f GB needed, %.1f GB free; %s runs",
                   gigabytes(claim->bytes), gigabytes(left), sums->who);
    else
        return LEDGER_GO;
    return LEDGER_WAIT;
}

/* ------------------------------------------------------------------------------- what is asked */

/* Locks the folder. Returns a descriptor, or -1 with errno: EWOULDBLOCK where another hone has the
 * lock. */
static int folder_lock(const struct ledger_claim *claim) {
    if (!file_make_private(claim->folder, NULL))
        return -1;
    char *path = path_join(claim->folder, "lock");
    int fd = file_open(path, O_RDWR | O_CREAT, 0600, NULL);
    free(path);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    int code = errno;
    close(fd);
    errno = code;
    return -1;
}

static enum ledger_answer look_at_all(struct ledger_claim *claim, struct buf *why) {
    struct sums sums = sums_of(claim);
    enum ledger_answer answer = decide(claim, &sums, why);
    free(claim->ahead);
    claim->ahead = sums.ahead;
    if (answer == LEDGER_GO) {
        claim->pid = (int)getpid(); /* until there is a child */
        claim->places = MAX_OF(MIN_OF(claim->wants, most_of(claim) - sums.running), 1);
    }
    return answer;
}

enum ledger_answer ledger_ask(struct ledger_claim *claim, struct buf *why) {
    errno = 0;
    int lock = folder_lock(claim);
    if (lock < 0)
        return errno == EWOULDBLOCK && clock_wall_ms() - claim->since_ms < OTHERS_MS ? LEDGER_WAIT
                                                                                     : LEDGER_GO;
    enum ledger_answer answer = LEDGER_GO;
    if (still_behind(claim)) {
        answer = LEDGER_WAIT;
        buf_puts(why, BEHIND);
        row_write(claim);
    } else if (file_make(claim)) {
        answer = look_at_all(claim, why);
        row_write(claim);
    }
    close(lock);
    return answer;
}

void ledger_began(struct ledger_claim *claim, int pid) {
    claim->pid = pid;
    row_write(claim);
}

void ledger_took(struct ledger_claim *claim, uint64_t bytes) {
    claim->peak = MAX_OF(claim->peak, bytes);
    claim->used = bytes;
    row_write(claim);
}

static void look_work(void *data) {
    struct look *look = data;
    look->bytes = os_tree_memory(look->pid);
}

static void look_done(void *data) {
    struct look *look = data;
    if (look->claim) {
        look->claim->look = NULL;
        if (look->claim->pid == look->pid)
            ledger_took(look->claim, look->bytes);
    }
    free(look);
}

void ledger_look(struct ledger_claim *claim, struct loop *loop) {
    if (!claim->pid || claim->look)
        return;
    claim->look = mem_alloc(1, sizeof *claim->look);
    *claim->look = (struct look){.claim = claim, .pid = claim->pid};
    loop_job_start_owned(loop, look_work, look_done, claim->look);
}

void ledger_claim_free(struct ledger_claim *claim) {
    if (!claim)
        return;
    if (claim->look)
        claim->look->claim = NULL;
    if (claim->fd >= 0) {
        if (claim->peak)
            need_write(claim);
        unlink(claim->path);
        close(claim->fd);
    }
    free(claim->ahead);
    free(claim->path);
    free(claim->folder);
    free(claim);
}
