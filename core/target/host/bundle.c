/* SPDX-License-Identifier: Apache-2.0 */
/* What of a task goes to a host: the reference and the Python files beside it, which it may
 * import, but no folders. They must be few and small, because a home folder is no task; the error
 * says so. */
#include "target/host/bundle.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static int by_path(const void *a, const void *b) {
    const struct host_file *one = a, *other = b;
    return strcmp(one->path, other->path);
}

static bool is_python(const char *name) {
    return name[0] != '.' && str_ends(str_of(name), ".py");
}

static bool file_add(struct bundle *bundle, const char *folder, const char *name, struct err *err) {
    if (bundle->files.len == BUNDLE_MAX_FILES)
        return err_set(err, ERR_USAGE,
                       "%s has more than %d Python files; all beside the reference "
                       "go to the host, so put the task into a folder of its own",
                       folder, BUNDLE_MAX_FILES);
    char *path = path_join(folder, name);
    struct host_file file = {0};
    struct err why = {0};
    file.data = file_read(path, BUNDLE_MAX_BYTES, &file.size, &why);
    if (!file.data && !file_is_dir(path))
        err_set(err, ERR_USAGE, "%s cannot go to the host (at most %zu MiB each): %.300s", path,
                BUNDLE_MAX_BYTES >> 20, why.text);
    bool ok = file.data || file_is_dir(path);
    free(path);
    if (!file.data)
        return ok;
    file.path = mem_strdup(name);
    *vec_push(&bundle->files) = file;
    return true;
}

static bool folder_add(struct bundle *bundle, const char *folder, const char *reference,
                       struct err *err) {
    DIR *listing = opendir(folder);
    if (!listing)
        return err_set(err, ERR_USAGE, "the folder %s cannot be read", folder);
    bool ok = true;
    const struct dirent *entry;
    while (ok && (entry = readdir(listing)))
        if (is_python(entry->d_name) && strcmp(entry->d_name, reference) != 0)
            ok = file_add(bundle, folder, entry->d_name, err);
    closedir(listing);
    return ok;
}

bool bundle_read(struct bundle *bundle, const char *reference_path, struct err *err) {
    char *folder = path_folder(reference_path);
    const char *name = path_base(reference_path);
    snprintf(bundle->reference, sizeof bundle->reference, "%s", name);
    bool ok = file_add(bundle, folder, name, err) && folder_add(bundle, folder, name, err);
    free(folder);
    if (!ok)
        return false;
    qsort(bundle->files.at, bundle->files.len, sizeof *bundle->files.at, by_path);
    struct hash_stream *stream = hash_begin();
    for (size_t i = 0; i < bundle->files.len; i++) {
        hash_add(stream, bundle->files.at[i].path, strlen(bundle->files.at[i].path));
        hash_add(stream, bundle->files.at[i].data, bundle->files.at[i].size);
    }
    bundle->hash = hash_end(stream);
    return true;
}

void bundle_free(struct bundle *bundle) {
    for (size_t i = 0; i < bundle->files.len; i++) {
        free(bundle->files.at[i].path);
        free(bundle->files.at[i].data);
    }
    vec_free(&bundle->files);
}
