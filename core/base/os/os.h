/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between operating systems. os_linux*.c and os_other.c are the only files that know
 * which one it is; where a system cannot do a thing, the function says so or does the next best. */
#ifndef HONE_BASE_OS_H
#define HONE_BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/kit/kit.h"

/* Path of the running program; free it with free. NULL when it cannot be found out. */
char *os_executable_path(void) CC_MUST_USE;
/* Removes what hones that were killed left: files beside those that they wrote in the folder
 * (file_write); "hone-<process>-..." in the folders for temporary files and in memory. Only
 * this user's, of processes of this machine that are no more. */
void os_sweep(const char *folder);
void os_sweep_scratch(void);
/* Processors this process may use, at least 1. */
int os_cpu_count(void);
/* Bytes of memory that can be had without swapping, within the limits of this process's control
 * groups; 0: unknown. */
uint64_t os_available_memory(void);

/* Bytes of memory of the machine, or of a control group where that is less; 0: unknown. */
uint64_t os_total_memory(void);
/* Bytes that the process has to itself now, and with all that descends from it; 0: unknown. */
uint64_t os_process_memory(pid_t pid);
uint64_t os_tree_memory(pid_t root);

/* Asks for large pages under memory that is about to be filled; a hint that may do nothing. */
void os_prefer_large_pages(void *memory, uint64_t bytes);

/* Bytes of a block that malloc gave, for wiping it; 0: the system does not tell. */
size_t os_block_size(void *block);

/* Processes and threads of this user; 0: not known. */
unsigned os_count_processes(void);
/* How many processes descend from the process; 0 where the system does not tell. */
size_t os_count_descendants(pid_t root);
/* Kills what descends from the process, nearest first, but not itself: also what left its group. */
void os_end_descendants(pid_t root);
/* Ends this process when nobody can read any more what is written to `fd`, a pipe or a socket:
 * whoever started it is gone, also where os_die_with_parent came too late to notice. */
void os_end_unheard(int fd);
/* Other programs of this user cannot look into this process any more (memory, environment). */
void os_keep_private(void);
/* Whether a wall of that level can be had here (wall.h). Starts a process for the stronger ones. */
struct wall;
bool os_wall_works(int level);
/* The seccomp program of a wall in memory (free it) and, for bubblewrap, as a descriptor to be
 * closed; -1 where there is none. Nothing behind the wall may signal the process `owner`. */
struct os_filter;
struct os_filter *os_wall_filter(int level, pid_t owner) CC_MUST_USE;
int os_filter_open(const struct os_filter *filter);

/* Where groups of processes can be made that never have more than so many of them and their
 * threads, also where they are root's; NULL: nowhere. Free the result. */
char *os_groups_find(void) CC_MUST_USE;
/* Ends what the first process of each group in there left when it ended, and removes the group.
 * Accepts NULL. */
void os_groups_sweep(const char *groups);

/* The following may be called between fork and exec: they only make system calls. */

/* Makes the system kill this process when `parent` dies; false when the parent is dead already.
 * Where the system has no such thing it returns true and does nothing. */
bool os_die_with_parent(pid_t parent);
/* Descriptors from `first` on close at the next exec. */
void os_close_at_exec(int first);
/* Limits of this process and its future children; 0 leaves things as they are. */
bool os_limit_memory(uint64_t bytes);
bool os_limit_cpu(double seconds);
/* Whether a program built like this one can live with a limit on its address space: those built
 * with AddressSanitizer reserve terabytes of it. */
bool os_can_limit_own_memory(void);

/* Puts this process, and all that it will start, into a group of its own. */
bool os_group_enter(const char *groups, unsigned processes);
/* Limits of a child behind a wall: size of files, processes (0: none), no core files. */
bool os_limit_files(uint64_t bytes);
bool os_limit_processes(unsigned count);
/* Puts this process behind the wall, but for bubblewrap's, which is a command line. Returns in the
 * process that is to become the program, which may be a grandchild of this one: the processes
 * between pass its end on. False with errno when it cannot be had. */
bool os_wall_enter(const struct wall *wall, const struct os_filter *filter);
/* Orphans below this process become its children, where the system can. */
void os_adopt_orphans(void);

#include "base/os/wall.h"

#endif
