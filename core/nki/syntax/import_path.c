/* SPDX-License-Identifier: Apache-2.0 */
#include "nki/syntax/syntax.h"

#include <stdlib.h>

static char *find_file(const char *folder, struct str dotted) {
    struct buf path = {0};
    struct str part;
    buf_puts(&path, folder);
    while (str_next(&dotted, '.', &part))
        buf_printf(&path, "/" STR_FMT, STR_ARG(part));
    size_t stem = path.len;
    buf_puts(&path, ".py");
    if (file_exists(path.at) && !file_is_dir(path.at))
        return buf_take(&path);
    path.len = stem;
    buf_puts(&path, "/__init__.py");
    if (file_exists(path.at))
        return buf_take(&path);
    /* What has the name and is no file is found as well: reading it says why it cannot be. */
    path.len = stem;
    buf_puts(&path, ".py");
    if (file_is_dir(path.at) || file_is_broken_link(path.at))
        return buf_take(&path);
    buf_free(&path);
    return NULL;
}

char *nki_import_path(const char *importer, struct str dotted, uint32_t up) {
    char *folder = path_folder(importer);
    while (up-- > 0) {
        const char *last = path_base(folder);
        bool plain = strcmp(last, ".") != 0 && strcmp(last, "..") != 0;
        char *parent = plain ? path_folder(folder) : path_join(folder, "..");
        free(folder);
        folder = parent;
    }
    char *path = find_file(folder, dotted);
    free(folder);
    return path;
}
