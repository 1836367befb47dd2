/* SPDX-License-Identifier: Apache-2.0 */
/* Linux: /proc, the parent-death signal, limits. Together with os_linux_*.c beside it, this is all
 * of hone that only Linux has. */
#include "base/os/os.h"
#include "base/kit/kit.h"
#include "base/files/files.h"

#ifdef __linux__

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

char *os_executable_path(void) {
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    if (len <= 0)
        return NULL;
    path[len] = 0;
    /* When the program was replaced while it runs (an upgrade), the link itself still leads to the
     * old one. */
    return mem_strdup(access(path, X_OK) == 0 ? path : "/proc/self/exe");
}

uint64_t os_elapsed_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int os_cpu_count(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

size_t os_block_size(void *block) {
    return block ? malloc_usable_size(block) : 0;
}

bool os_die_with_parent(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return getppid() == parent; /* the parent may have died before the call */
}

void os_close_at_exec(int first) {
#if defined(SYS_close_range)
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) == 0)
        return;
#endif
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = first; fd < (most > 0 && most < 4096 ? (int)most : 4096); fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

unsigned os_count_processes(void) {
    char path[300];
    unsigned count = 0;
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        struct stat found;
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%s/task", entry->d_name);
        if (stat(path, &found) == 0 && found.st_uid == getuid())
            count += (unsigned)found.st_nlink - 2; /* one folder for each thread */
    }
    if (dir)
        closedir(dir);
    return count;
}

struct process {
    pid_t pid, parent;
};
struct processes {
    VEC(struct process) all;
};

static void list_processes(struct processes *list) {
    char path[300];
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        char *text = file_read(path, 4096, NULL, NULL);
        const char *after = text ? strrchr(text, ')') : NULL;
        int parent = 0;
        if (after && sscanf(after, ") %*c %d", &parent) == 1)
            *vec_push(&list->all) = (struct process){atoi(entry->d_name), parent};
        free(text);
    }
    if (dir)
        closedir(dir);
}

/* Moves the descendants of the root to the front of the list, nearest first, and returns how many
 * there are. Each one that is found gets the signal (0: none). */
static size_t take_descendants(struct processes *list, pid_t root, int signum) {
    size_t found = 0;
    for (size_t at = 0; at <= found; at++) {
        pid_t parent = at ? list->all.at[at - 1].pid : root;
        for (size_t i = found; i < list->all.len; i++) {
            struct process one = list->all.at[i];
            if (one.parent != parent || one.pid == root)
                continue;
            if (signum)
                kill(one.pid, signum);
            list->all.at[i] = list->all.at[found];
            list->all.at[found++] = one;
        }
    }
    return found;
}

size_t os_count_descendants(pid_t root) {
    struct processes list = {0};
    list_processes(&list);
    size_t found = take_descendants(&list, root, 0);
    vec_free(&list.all);
    return found;
}

uint64_t os_tree_memory(pid_t root) {
    struct processes list = {0};
    list_processes(&list);
    size_t found = take_descendants(&list, root, 0);
    uint64_t bytes = os_process_memory(root);
    for (size_t i = 0; i < found; i++)
        bytes += os_process_memory(list.all.at[i].pid);
    vec_free(&list.all);
    return bytes;
}

/* A process that is stopped starts nothing more while the others are looked for. */
static size_t end_below(pid_t root) {
    struct processes list = {0};
    list_processes(&list);
    size_t found = take_descendants(&list, root, SIGSTOP);
    for (size_t i = 0; i < found; i++)
        kill(list.all.at[i].pid, SIGKILL);
    vec_free(&list.all);
    return found;
}

void os_end_descendants(pid_t root) {
    /* What was started in the meantime is found in the next round. The dead remain for a moment. */
    for (int round = 0; round < 8 && end_below(root); round++)
        usleep(1000);
}

void os_keep_private(void) {
    prctl(PR_SET_DUMPABLE, 0);
}

static void leave(int status, void *unused) {
    (void)unused;
    fflush(stdout); /* of other files the thread may hold the lock */
    fflush(stderr);
    _exit(status);
}

void os_exit_at_once(void) {
    on_exit(leave, NULL);
}

void os_adopt_orphans(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool os_sync_later(int file) {
    (void)file;
    return true;
}

bool os_sync_last(int folder) {
    return syncfs(folder) == 0;
}

void os_prefer_large_pages(void *memory, uint64_t bytes) {
    madvise(memory, bytes, MADV_HUGEPAGE);
}

/* Blocks of more than 4 MB come from the system, and go back to it, as they would. */
void os_keep_memory(void) {
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 32 << 20);
#endif
}

#define HEAP_STEP (2 << 20)

/* The first is the largest threshold that malloc takes. */
void os_hold_memory(void) {
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

void *os_warm_heap(void *upto) {
    char *end = sbrk(0);
#if defined M_TOP_PAD && defined MADV_POPULATE_WRITE
    const uintptr_t page = 4096, from = ((uintptr_t)upto + page - 1) & ~(page - 1);
    if (!upto)
        mallopt(M_TOP_PAD, HEAP_STEP);
    else if ((uintptr_t)end > from)
        (void)madvise((void *)from, (size_t)((uintptr_t)end - from), MADV_POPULATE_WRITE);
#else
    (void)upto;
#endif
    return end;
}

void os_return_memory(void) {
#ifdef M_MMAP_THRESHOLD
    os_keep_memory();
    malloc_trim(0);
#endif
}

#else
typedef int os_linux_is_not_used;
#endif
