/* SPDX-License-Identifier: Apache-2.0 */
/* The files beside the database: artefacts by content hash, files that are replaced as a whole, and
 * the log for people. */
#include "store/private.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

char *store_artefact_path(const struct store *store, const char *hash) {
    if (!hash || strlen(hash) != 32 || strspn(hash, "0123456789abcdef") != 32)
        return NULL;
    char *folder = path_join(store->folder, "artifacts");
    char *path = path_join(folder, hash);
    free(folder);
    return path;
}

bool store_artefact_is(const char *path, const char *hash) {
    struct err err = {0};
    size_t size = 0;
    char *bytes = file_exists(path) ? file_read(path, STORE_ARTEFACT_MOST, &size, &err) : NULL;
    bool is = bytes && !strcmp(hash_content(bytes, size).hex, hash);
    free(bytes);
    return is;
}

char *store_artefact_read(const struct store *store, const char *hash, size_t *size,
                          struct err *err) {
    char *path = store_artefact_path(store, hash);
    size_t length = 0;
    if (!path) {
        err_set(err, ERR_USAGE, "%.40s is not an artefact", hash ? hash : "nothing");
        return NULL;
    }
    char *bytes = file_read(path, STORE_ARTEFACT_MOST, &length, err);
    if (bytes && strcmp(hash_content(bytes, length).hex, hash) != 0) {
        err_set(err, ERR_DAMAGED, "%.300s is damaged: it does not hold the bytes that were stored",
                path);
        free(bytes);
        bytes = NULL;
    }
    free(path);
    if (size)
        *size = length;
    return bytes;
}

bool store_artefact_put(struct store *store, const void *data, size_t size, struct hash *hash,
                        struct err *err) {
    *hash = hash_content(data, size);
    char *path = store_artefact_path(store, hash->hex);
    char *folder = path_folder(path);
    bool ok = store_artefact_is(path, hash->hex) ||
              (file_make_private(folder, err) && file_write_private(path, data, size, err));
    free(folder);
    free(path);
    return ok;
}

bool store_file_write(struct store *store, const char *name, struct str text, struct err *err) {
    char *path = path_join(store->folder, name);
    char *folder = path_folder(path);
    bool ok = file_make_private(folder, err) && file_write_private(path, text.at, text.len, err);
    free(folder);
    free(path);
    return ok;
}

void store_log(struct store *store, const char *level, const char *text) {
    if (store->log < 0)
        return;
    time_t now = (time_t)(clock_wall_ms() / 1000);
    struct tm parts;
    char when[32] = "";
    if (gmtime_r(&now, &parts))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    struct buf line = {0};
    buf_printf(&line, "%s %-7s %s\n", when, level, text);
    /* One write for each line, so that lines of two processes never mix. A full disk is no reason
     * to stop. */
    if (write(store->log, line.at, line.len) < 0)
        errno = 0;
    buf_free(&line);
}
