/* SPDX-License-Identifier: Apache-2.0 */
/* Memory on Linux: that of the machine, of the control groups that this process is in (both
 * versions), and of processes. */
#include "base/os/os.h"
#include "base/kit/kit.h"
#include "base/files/files.h"

#ifdef __linux__

#include <sys/resource.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For each version: the name of the memory controller in /proc/self/cgroup, where its groups are,
 * and the names of their files. */
static const struct kind_of_group {
    const char *mark, *root, *limit, *used, *file_pages;
} kinds[] = {
    {"0::", "/sys/fs/cgroup", "memory.max", "memory.current", "\ninactive_file "},
    {":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "\ntotal_inactive_file "},
};

struct memory {
    uint64_t total, available; /* 0: unknown */
};

/* Reads a file with one number in it; 0 when there is none ("max"). */
static uint64_t read_number(const char *folder, const char *name) {
    char *path = path_join(folder, name), *text = file_read(path, 4096, NULL, NULL);
    long long value = 0;
    if (!text || !str_to_int(str_trim(str_of(text)), &value) || value < 0)
        value = 0;
    free(text);
    free(path);
    return (uint64_t)value;
}

/* The number after a mark in a file of rows; 0: the mark is not there. */
static uint64_t read_row(const char *path, const char *mark) {
    char *text = file_read(path, 65536, NULL, NULL);
    const char *row = text ? strstr(text, mark) : NULL;
    uint64_t value = row ? strtoull(row + strlen(mark), NULL, 10) : 0;
    free(text);
    return value;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a && (!b || a < b) ? a : b;
}

/* Pages of files count as used, but the system takes them back when it needs them. A limit of as
 * much as there is limits nothing. */
static void look_at_group(const struct kind_of_group *kind, const char *folder,
                          struct memory *memory) {
    uint64_t limit = read_number(folder, kind->limit);
    if (!limit || (memory->total && limit >= memory->total))
        return;
    char *stat = path_join(folder, "memory.stat");
    uint64_t used = read_number(folder, kind->used), pages = read_row(stat, kind->file_pages);
    used -= MIN_OF(pages, used);
    memory->total = least(limit, memory->total);
    memory->available = least(used < limit ? limit - used : 1, memory->available);
    free(stat);
}

/* Looks at the group and all above it, because each may have a limit. */
static void look_at_groups(const struct kind_of_group *kind, struct str group,
                           struct memory *memory) {
    struct buf folder = {0};
    buf_printf(&folder, "%s" STR_FMT, kind->root, STR_ARG(group));
    while (folder.len > strlen(kind->root)) {
        look_at_group(kind, folder.at, memory);
        size_t cut = folder.len;
        while (cut > strlen(kind->root) && folder.at[--cut] != '/')
            ;
        folder.len = cut;
        folder.at[cut] = '\0';
    }
    look_at_group(kind, kind->root, memory);
    buf_free(&folder);
}

static void limit_by_groups(struct memory *memory) {
    char *text = file_read("/proc/self/cgroup", 65536, NULL, NULL);
    struct str rest = str_of(text ? text : ""), line;
    while (str_next(&rest, '\n', &line)) {
        for (size_t i = 0; i < COUNT_OF(kinds); i++) {
            struct buf row = {0};
            buf_add(&row, line.at, line.len);
            const char *at = row.at ? strstr(row.at, kinds[i].mark) : NULL;
            if (at)
                look_at_groups(&kinds[i], str_of(at + strlen(kinds[i].mark)), memory);
            buf_free(&row);
        }
    }
    free(text);
}

static struct memory memory_look(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    struct memory memory = {.total = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0,
                            .available = read_row("/proc/meminfo", "MemAvailable:") * 1024};
    limit_by_groups(&memory);
    return memory;
}

uint64_t os_available_memory(void) {
    return memory_look().available;
}

uint64_t os_total_memory(void) {
    return memory_look().total;
}

uint64_t os_process_memory(pid_t pid) {
    char path[40];
    unsigned long long resident = 0, shared = 0;
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
    char *text = file_read(path, 4096, NULL, NULL);
    long page = sysconf(_SC_PAGESIZE);
    if (!text || sscanf(text, "%*u %llu %llu", &resident, &shared) != 2 || shared > resident)
        resident = shared = 0;
    free(text);
    return (uint64_t)(resident - shared) * (uint64_t)MAX_OF(page, 0);
}

uint64_t os_peak_memory(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

#else
typedef int os_linux_memory_is_not_used;
#endif
