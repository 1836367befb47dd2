/* SPDX-License-Identifier: Apache-2.0 */
/* Systems other than Linux: macOS first of all, and plain POSIX. */
#include "base/os/os.h"
#include "base/kit/kit.h"

#ifndef __linux__

#include <fcntl.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <malloc/malloc.h>
#endif

char *os_executable_path(void) {
#ifdef __APPLE__
    char path[4096];
    uint32_t size = sizeof path;
    if (_NSGetExecutablePath(path, &size) == 0)
        return mem_strdup(path);
#endif
    return NULL;
}

uint64_t os_elapsed_ns(void) {
    return clock_monotonic_ns();
}

int os_cpu_count(void) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

/* What is free, and what the system would give back. */
uint64_t os_available_memory(void) {
#ifdef __APPLE__
    vm_statistics64_data_t pages;
    mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
    vm_size_t page = 0;
    if (host_page_size(mach_host_self(), &page) == KERN_SUCCESS &&
        host_statistics64(mach_host_self(), HOST_VM_INFO64, (host_info64_t)&pages, &count) ==
            KERN_SUCCESS)
        return ((uint64_t)pages.free_count + pages.inactive_count + pages.purgeable_count) *
               (uint64_t)page;
#endif
    return 0;
}

uint64_t os_total_memory(void) {
#ifdef _SC_PHYS_PAGES
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
#else
    return 0;
#endif
}

size_t os_block_size(void *block) {
#ifdef __APPLE__
    return block ? malloc_size(block) : 0;
#else
    (void)block;
    return 0;
#endif
}

bool os_die_with_parent(pid_t parent) {
    (void)parent; /* there is no such signal here: a child notices the end of its input */
    return true;
}

void os_close_at_exec(int first) {
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = first; fd < (most > 0 && most < 4096 ? (int)most : 4096); fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

bool os_sync_later(int file) {
    return fsync(file) == 0;
}

bool os_sync_last(int folder) {
    return fsync(folder) == 0;
}

void os_prefer_large_pages(void *memory, uint64_t bytes) {
    (void)memory;
    (void)bytes;
}

void *os_warm_heap(void *upto) {
    return upto;
}

void os_keep_memory(void) {
}

void os_hold_memory(void) {
}

void os_return_memory(void) {
}

unsigned os_count_processes(void) {
    return 0;
}

char *os_groups_find(void) {
    return NULL;
}

void os_groups_sweep(const char *groups) {
    (void)groups;
}

bool os_group_enter(const char *groups, unsigned processes) {
    (void)groups;
    (void)processes;
    return false;
}

size_t os_count_descendants(pid_t root) {
    (void)root;
    return 0;
}

uint64_t os_process_memory(pid_t pid) {
    (void)pid;
    return 0;
}

uint64_t os_peak_memory(void) {
    return 0;
}

uint64_t os_tree_memory(pid_t root) {
    (void)root;
    return 0;
}

void os_end_descendants(pid_t root) {
    (void)root;
}

void os_keep_private(void) {
}

void os_exit_at_once(void) {
}

void os_adopt_orphans(void) {
}

bool os_wall_works(int level) {
    return level <= WALL_LIMITS;
}

struct os_filter *os_wall_filter(int level, pid_t owner) {
    (void)level;
    (void)owner;
    return NULL;
}

int os_filter_open(const struct os_filter *filter) {
    (void)filter;
    return -1;
}

bool os_wall_enter(const struct wall *wall, const struct os_filter *filter) {
    (void)filter;
    return wall->level <= WALL_LIMITS;
}

#else
typedef int os_other_is_not_used;
#endif
