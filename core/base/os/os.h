/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between operating systems. Only os_linux*.c and os_other.c know which system it is.
 * Where a system cannot do a thing, the function says so or does the next best. */
#ifndef HONE_BASE_OS_H
#define HONE_BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/kit/kit.h"

/* The path of the running program; free it with free. NULL when it cannot be found. */
char *os_executable_path(void) CC_MUST_USE;
/* Removes what hones that were killed left behind: files beside those that they wrote in the folder
 * (file_write), and "hone-<process>-..." in the folders for temporary files and in memory. It
 * touches only what is this user's and belongs to processes of this machine that no longer run. */
void os_sweep(const char *folder);
void os_sweep_scratch(void);
/* How many processors this process may use; at least 1. */
int os_cpu_count(void);
/* Bytes of memory that can be had without swapping, within the limits of this process's control
 * groups. 0: unknown. */
uint64_t os_available_memory(void);

/* Bytes of memory of the machine, or of a control group where that is less. 0: unknown. */
uint64_t os_total_memory(void);
/* Bytes that the process alone uses now, and the same with all its descendants. 0: unknown. */
uint64_t os_process_memory(pid_t pid);
uint64_t os_tree_memory(pid_t root);
/* The most bytes that this process ever used at once. 0: unknown. */
uint64_t os_peak_memory(void);

/* Makes sure that what was written to a file is on the disk before os_sync_last returns, which
 * takes the folder that the file is in. With many files this is faster than one after the other.
 * False with errno when it fails. */
bool os_sync_later(int file);
bool os_sync_last(int folder);

/* Asks for large pages under memory that is about to be filled. It is a hint and may do nothing. */
void os_prefer_large_pages(void *memory, uint64_t bytes);

/* From now on this process keeps what it frees, up to some 30 MB, for arrays of megabytes that come
 * and go; they need not come page by page. Arrays that grow are copied more often then. */
void os_keep_memory(void);
/* Around work that takes and frees the same megabytes again and again, on any thread: in between,
 * nothing goes back to the system, so it need not come page by page each time. os_return_memory
 * gives back all that is free then; afterwards this process keeps as much as by os_keep_memory. */
void os_hold_memory(void);
void os_return_memory(void);

/* The bytes of a block that malloc gave, to wipe it. 0: the system does not say. */
size_t os_block_size(void *block);

/* The processes and threads of this user; 0: unknown. */
unsigned os_count_processes(void);
/* How many descendants the process has; 0 where the system does not say. */
size_t os_count_descendants(pid_t root);
/* Kills the descendants of the process, nearest first, including those that left its group. The
 * process itself stays. */
void os_end_descendants(pid_t root);
/* Ends this process when nobody can read any more what is written to `fd`, a pipe or a socket. Then
 * whoever started it is gone. This also works where os_die_with_parent came too late. */
void os_end_unheard(int fd);
/* Keeps other programs of this user from looking into this process (memory, environment). */
void os_keep_private(void);
/* When the program exits, its status and what it printed stand, but nothing is waited for: a thread
 * is at work that may never end. */
void os_exit_at_once(void);
/* Whether a wall of that level can be had here (wall.h). For the stronger levels it starts a
 * process to find out. */
struct wall;
bool os_wall_works(int level);
/* The seccomp program of a wall: in memory (free it) and, for bubblewrap, as a descriptor to be
 * closed (-1 where there is none). Nothing behind the wall may signal the process `owner`. */
struct os_filter;
struct os_filter *os_wall_filter(int level, pid_t owner) CC_MUST_USE;
int os_filter_open(const struct os_filter *filter);

/* The folder in which to make control groups that never have more than some number of processes and
 * threads, even for root. NULL: there is none. Free the result. */
char *os_groups_find(void) CC_MUST_USE;
/* For each group in `groups` whose first process has ended: ends what that process left, and
 * removes the group. Accepts NULL. */
void os_groups_sweep(const char *groups);

/* What follows may be called between fork and exec: it makes nothing but system calls. */

/* Makes the system kill this process when `parent` dies. False when the parent is already dead.
 * Where the system has no such thing, it returns true and does nothing. */
bool os_die_with_parent(pid_t parent);
/* Descriptors from `first` on will close at the next exec. */
void os_close_at_exec(int first);
/* Limits of this process and its future children; 0 changes nothing. */
bool os_limit_memory(uint64_t bytes);
bool os_limit_cpu(double seconds);
/* Time since some moment that nobody sets, in ns; it also passes while the machine sleeps, where
 * the system can tell. */
uint64_t os_elapsed_ns(void);
/* Whether a program built like this one can live with a limit on its address space. One built with
 * AddressSanitizer cannot: it reserves terabytes. */
bool os_can_limit_own_memory(void);

/* Puts this process, and all that it will start, into a control group of its own. */
bool os_group_enter(const char *groups, unsigned processes);
/* Limits of a child behind a wall: the size of files, the number of processes (0: no limit), no
 * core files. */
bool os_limit_files(uint64_t bytes);
bool os_limit_processes(unsigned count);
/* Puts this process behind the wall. bubblewrap's wall is a command line and does not come here.
 * Returns in the process that is to become the program. That may be a grandchild of this one; the
 * processes in between pass on how it ended. False with errno when the wall cannot be had. */
bool os_wall_enter(const struct wall *wall, const struct os_filter *filter);
/* Makes orphans below this process its children, where the system can. */
void os_adopt_orphans(void);

#include "base/os/heap.h"
#include "base/os/pending.h"
#include "base/os/wall.h"

/* ---- libraries that hone can do without (library.c) -------------------------------------------
 */

/* Functions of libNAME in the NUMBERth version of its binary interface, wherever this system keeps
 * it and however it names it: n of them at *out, of which those without a name are skipped. It
 * stays loaded. False: the library, or one of them, is not on this machine; what needs it says so.
 */
bool os_library_try(const char *name, int number, const char *const *functions, size_t n,
                    void **out) CC_MUST_USE;

#endif
