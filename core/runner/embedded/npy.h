/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in files, as numpy writes them (.npy, format versions 1 to 3) or raw. */
#ifndef HONE_RUNNER_EMBEDDED_NPY_H
#define HONE_RUNNER_EMBEDDED_NPY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

/* What the header of an .npy file says. */
struct npy_header {
    enum dtype dtype; /* DTYPE_NONE: void, as numpy saves types that it does not know */
    size_t item_bytes;
    int ndim;
    int64_t shape[ARRAY_MAX_DIMS];
    size_t offset; /* where the numbers begin */
};
/* False and *err (usage) for a file that is not .npy, or that holds what no kernel can take:
 * big-endian numbers, structures, columns first, more than eight dimensions. */
bool npy_read_header(const char *path, struct npy_header *header, struct err *err);
/* Reads exactly array_bytes(array) bytes from offset on into `data`. Usage error when the file is
 * shorter, or, where `whole` is set, longer. */
struct npy_part {
    size_t offset, bytes;
    bool whole;
};
bool npy_read_data(const char *path, struct npy_part part, void *data, struct err *err);
/* Writes the array as .npy, or leaves the old file as it was. Types that numpy does not know are
 * written as unsigned integers of their size, which are their raw codes. */
bool npy_write(const char *path, const struct array *array, struct err *err);

#endif
