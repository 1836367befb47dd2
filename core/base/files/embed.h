/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are built into the binary (prompts, seeds, runner scripts), under their paths in the
 * source tree. Where a caller asks for it, a file of the same name in the configuration folder
 * wins. */
#ifndef HONE_BASE_FILES_EMBED_H
#define HONE_BASE_FILES_EMBED_H

#include <stddef.h>

#include "base/kit/kit.h"

struct embedded_file {
    const char *name;          /* "seeds/silu/kernel.py"; NULL ends the table */
    const unsigned char *data; /* followed by a zero byte */
    size_t size;
};
extern const struct embedded_file embedded_files[];

/* The text of a built-in file; at == NULL when there is none of that name. */
struct str embed_find(const char *name);

#endif
