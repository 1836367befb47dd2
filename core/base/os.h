/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between operating systems. os_linux.c and os_other.c are the only files that know
 * which one it is; where a system cannot do a thing, the function says so or does the next best. */
#ifndef HONE_BASE_OS_H
#define HONE_BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cc.h"

/* Path of the running program; free it with free. NULL when it cannot be found out. */
char *os_executable_path(void) CC_MUST_USE;
/* Processors this process may use, at least 1. */
int os_cpu_count(void);
/* Bytes of memory that can be had without swapping, within the control group's limit; 0: unknown. */
uint64_t os_available_memory(void);

/* Asks for large pages under memory that is about to be filled; a hint that may do nothing. */
void os_prefer_large_pages(void *memory, uint64_t bytes);

/* Bytes of a block that malloc gave, for wiping it; 0: the system does not tell. */
size_t os_block_size(void *block);

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

#endif
