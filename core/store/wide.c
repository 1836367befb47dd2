/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a database from its file in large pieces: SQLite asks for one page after the other, and a
 * call of the system for each takes as long as all else that it does for a row. Every other method
 * of the file is SQLite's own. */
#include "store/private.h"

#include <stdlib.h>

#define WIDE_BYTES 65536

struct store_wide {
    sqlite3_io_methods methods; /* first: a file leads here by its methods */
    const sqlite3_io_methods *own;
    sqlite3_int64 from; /* where the bytes lie in the file; -1: there are none */
    unsigned char bytes[WIDE_BYTES];
};

static int wide_read(sqlite3_file *file, void *out, int size, sqlite3_int64 offset) {
    struct store_wide *wide = (struct store_wide *)(uintptr_t)file->pMethods;
    sqlite3_int64 from = offset - offset % WIDE_BYTES;
    if (size <= 0 || offset < 0 || offset + size > from + WIDE_BYTES)
        return wide->own->xRead(file, out, size, offset);
    if (wide->from != from)
        wide->from = wide->own->xRead(file, wide->bytes, WIDE_BYTES, from) == SQLITE_OK ? from : -1;
    if (wide->from != from) /* the end of the file */
        return wide->own->xRead(file, out, size, offset);
    memcpy(out, wide->bytes + (offset - from), (size_t)size);
    return SQLITE_OK;
}

struct store_wide *store_wide_begin(sqlite3 *db) {
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) || !file ||
        !file->pMethods)
        return NULL;
    struct store_wide *wide = mem_alloc(1, sizeof *wide);
    wide->own = file->pMethods;
    wide->methods = *wide->own;
    wide->methods.xRead = wide_read;
    wide->from = -1;
    file->pMethods = &wide->methods;
    return wide;
}

void store_wide_forget(struct store_wide *wide) {
    if (wide)
        wide->from = -1;
}
