/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a bundle as they are written: whole ones, and those that come piece by piece, since
 * they grow with the session. Folders of this machine are replaced in all but sources. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tune/exchange/bundle.h"

#define PIECES ((size_t)256 << 10) /* bytes that are written at once */

/* A folder is made when it is first needed: most files lie where others do. */
static int out_open(struct bundle_out *out, const char *path, int how) {
    const int flags = O_WRONLY | O_CREAT | how;
    int fd = file_open(path, flags, 0666, NULL);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    char *folder = path_folder(path);
    bool made = file_make_dirs(folder, out->err);
    free(folder);
    return made ? file_open(path, flags, 0666, out->err) : -1;
}

bool bundle_file_begin(struct bundle_out *out, const char *name, int how) {
    char *path = path_join(out->folder, name);
    out->fd = out_open(out, path, how);
    if (out->fd < 0 && out->err->kind == ERR_NONE)
        err_set(out->err, ERR_ENVIRONMENT, "cannot write %.200s: %s", path, strerror(errno));
    free(path);
    return out->fd >= 0;
}

static bool file_failed(struct bundle_out *out) {
    return err_set(out->err, ERR_ENVIRONMENT, "cannot write to %.200s: %s", out->folder,
                   strerror(errno));
}

static bool pieces_write(struct bundle_out *out) {
    const struct buf *pieces = &out->pieces;
    size_t done = 0;
    ssize_t n = 0;
    while (done < pieces->len && (n = write(out->fd, pieces->at + done, pieces->len - done)) > 0)
        done += (size_t)n;
    bool ok = done == pieces->len || file_failed(out);
    buf_clear(&out->pieces);
    return ok;
}

bool bundle_file_add(void *data, struct str piece) {
    struct bundle_out *out = data;
    bundle_places_clean(out->places, piece, true, &out->pieces);
    return out->pieces.len < PIECES || pieces_write(out);
}

bool bundle_file_end(struct bundle_out *out, bool ok) {
    ok = ok && pieces_write(out) && (os_sync_later(out->fd) || file_failed(out));
    if (out->fd >= 0)
        close(out->fd);
    out->fd = -1;
    buf_clear(&out->pieces);
    return ok;
}

bool bundle_put(struct bundle_out *out, const char *name, struct str text) {
    bool ok = bundle_file_begin(out, name, O_TRUNC);
    if (str_ends(str_of(name), ".py"))
        buf_add(&out->pieces, text.at, text.len);
    else
        bundle_places_clean(out->places, text, strstr(name, ".json") != NULL, &out->pieces);
    return bundle_file_end(out, ok);
}

void bundle_out_free(struct bundle_out *out) {
    buf_free(&out->pieces);
}
