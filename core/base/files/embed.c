/* SPDX-License-Identifier: Apache-2.0 */
#include "base/files/files.h"

struct str embed_find(const char *name) {
    for (const struct embedded_file *file = embedded_files; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return (struct str){(const char *)file->data, file->size};
    return (struct str){NULL, 0};
}
