/* SPDX-License-Identifier: Apache-2.0 */
/* Files and paths. Every function that can fail names the path and the reason in *err. */
#ifndef HONE_BASE_FILES_FILE_H
#define HONE_BASE_FILES_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/kit/kit.h"

/* Opens a file with the flags of open(2). What is no file (a folder, a pipe, a socket, a device)
 * is refused, without waiting for who could be at its other end: foreign folders may have one where
 * hone looks for a file. Opened to read are also /dev/null and what a shell passes in as /dev/stdin
 * or /dev/fd/N. A new file gets `mode`. -1 on failure, with errno (EINVAL for what is no file). */
int file_open(const char *path, int flags, mode_t mode, struct err *err) CC_MUST_USE;
/* The whole file, opened in the same way, followed by a zero byte that *size does not count. Free
 * it with free. A file of more than `limit` bytes is refused (0: 256 MiB). NULL on failure. */
char *file_read(const char *path, size_t limit, size_t *size, struct err *err) CC_MUST_USE;
/* The SHA-256 of its content, read in pieces; hex is "" on failure. */
bool file_sha256(const char *path, char hex[65], struct err *err) CC_MUST_USE;
/* Replaces the file, or leaves the old one as it was: it writes beside it, syncs and renames.
 * Devices and pipes are written to in place, and a link to a file stays a link. */
bool file_write(const char *path, const void *data, size_t size, struct err *err) CC_MUST_USE;
/* The same for its owner alone, even when the file had wider rights before. A link is replaced:
 * whoever could put one there must not choose what is written. */
bool file_write_private(const char *path, const void *data, size_t size,
                        struct err *err) CC_MUST_USE;
/* A number for this machine, for names of files in folders that several machines may share. */
uint32_t file_machine(void);
/* Adds the template for mkstemp of a file beside `path`, which will replace it. os_sweep removes it
 * when its process was killed. */
void file_beside_name(const char *path, struct buf *out);
bool file_append(const char *path, const void *data, size_t size, struct err *err) CC_MUST_USE;
bool file_exists(const char *path);
/* A symbolic link that leads to nothing, or in a circle. */
bool file_is_broken_link(const char *path);
bool file_is_dir(const char *path);
/* Makes the folder and all its missing parents. */
bool file_make_dirs(const char *path, struct err *err) CC_MUST_USE;
/* The same, but what is missing is made for its owner alone. What is there stays as it is. */
bool file_make_private(const char *path, struct err *err) CC_MUST_USE;
/* Takes the rights of all others from a file, or from a folder with all that is in it, where this
 * user owns it. Links are not followed. What cannot be changed stays as it is. */
void file_tighten(const char *path);
/* Removes the folder with all that is in it. Links are removed, not followed. */
bool file_remove_tree(const char *path, struct err *err) CC_MUST_USE;

/* The bytes that the files in the folder take on the disk, as far as they can be read. */
uint64_t file_tree_bytes(const char *path);

/* These return new strings; free them with free. */
char *path_join(const char *folder, const char *name) CC_MUST_USE;
char *path_folder(const char *path) CC_MUST_USE;   /* "." when there is none */
char *path_absolute(const char *path) CC_MUST_USE; /* without resolving links */
const char *path_base(const char *path);           /* points into path */
/* Where a file of that name is or would be. Links are followed, also to what does not exist yet.
 * NULL with errno for a circle of links. */
char *path_target(const char *path) CC_MUST_USE;
/* hone's folders by the XDG rules: $XDG_CONFIG_HOME/hone and so on. They are not created here. */
char *path_config(const char *name) CC_MUST_USE;
char *path_cache(const char *name) CC_MUST_USE;
char *path_state(const char *name) CC_MUST_USE;

#endif
