/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of what references made. Entries are written by the Python harness (a folder beside,
 * then a rename); here they are found, mapped, and removed when there are too many. Any number of
 * processes share it: an entry that vanishes in between is made again. */
#include "task/cache.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define META_VERSION 1
#define META_LIMIT ((size_t)4 << 20)
#define DEFAULT_LIMIT ((uint64_t)8 << 30)

char *task_cache_of(const char *reference_path, struct err *err) {
    size_t size;
    char *text = file_read(reference_path, 0, &size, err);
    if (!text)
        return NULL;
    char *absolute = path_absolute(reference_path);
    struct str harness = embed_find("core/task/harness.py");
    struct hash_stream *stream = hash_begin();
    hash_add(stream, text, size);
    hash_add(stream, harness.at, harness.len);
    /* The path too: a reference may read files beside it. */
    hash_add(stream, absolute, strlen(absolute));
    struct hash hash = hash_end(stream);
    free(absolute);
    free(text);
    struct buf name = {0};
    buf_printf(&name, "references/%s", hash.hex);
    char *folder = path_cache(name.at);
    buf_free(&name);
    return folder;
}

char *task_cache_seed(const char *of_reference, int64_t seed) {
    struct buf path = {0};
    buf_printf(&path, "%s/%lld", of_reference, (long long)seed);
    return buf_take(&path);
}

/* -------------------------------------------------------------------------------- reading meta */

static bool read_number(const cJSON *row, const char *name, double least, double most,
                        double *value) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, name);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= least && item->valuedouble <= most))
        return false;
    *value = item->valuedouble;
    return true;
}

static bool read_array(const cJSON *row, struct array *array, double *offset, uint64_t data_size) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, "dtype");
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(row, "shape");
    if (!cJSON_IsString(name) || !cJSON_IsArray(shape) ||
        cJSON_GetArraySize(shape) > ARRAY_MAX_DIMS)
        return false;
    array->dtype = dtype_find(str_of(name->valuestring));
    uint64_t bytes = dtype_bytes(array->dtype);
    for (const cJSON *side = shape->child; side; side = side->next) {
        if (!cJSON_IsNumber(side) || side->valuedouble < 0 || side->valuedouble > 1e15)
            return false;
        int64_t length = (int64_t)side->valuedouble;
        array->shape[array->ndim++] = length;
        if (__builtin_mul_overflow(bytes, (uint64_t)length, &bytes))
            return false;
    }
    return array->dtype != DTYPE_NONE && read_number(row, "offset", 0, 1e15, offset) &&
           bytes <= data_size && (uint64_t)*offset <= data_size - bytes;
}

/* One row of "values"; arrays get their place in the file as data pointer, mapped or not. */
static bool read_value(const cJSON *row, struct task_value *value, char *data, uint64_t data_size) {
    static const char *const kinds[] = {"array", "float", "int", "bool", "text", "none"};
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(row, "kind");
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, "value");
    size_t k = 0;
    while (k < COUNT_OF(kinds) && !(cJSON_IsString(kind) && !strcmp(kind->valuestring, kinds[k])))
        k++;
    *value = (struct task_value){.kind = (enum task_value_kind)k};
    const char *text = cJSON_IsString(item) ? item->valuestring : NULL;
    double offset = 0;
    long long integer = 0;
    switch (value->kind) {
    case TASK_ARRAY:
        if (!read_array(row, &value->array, &offset, data_size))
            return false;
        value->array.data = data ? data + (size_t)offset : NULL;
        return true;
    case TASK_FLOAT: return text && str_to_double(str_of(text), &value->number);
    case TASK_INT:
        if (!text || !str_to_int(str_of(text), &integer))
            return false;
        value->integer = integer;
        return true;
    case TASK_BOOL: value->integer = cJSON_IsTrue(item); return cJSON_IsBool(item);
    case TASK_TEXT: value->text = mem_strdup(text); return text != NULL;
    case TASK_NONE: return true;
    }
    return false;
}

/* Files the reference imported are what they were. */
static bool depends_hold(const cJSON *meta) {
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(meta, "depends");
    for (const cJSON *row = rows ? rows->child : NULL; row; row = row->next) {
        const cJSON *path = cJSON_GetArrayItem(row, 0), *size = cJSON_GetArrayItem(row, 1);
        const cJSON *changed = cJSON_GetArrayItem(row, 2);
        struct stat st;
        if (!cJSON_IsString(path) || !cJSON_IsNumber(size) || !cJSON_IsString(changed) ||
            stat(path->valuestring, &st) != 0 || (double)st.st_size != size->valuedouble)
            return false;
        char now[48];
        snprintf(now, sizeof now, "%lld",
                 (long long)st.st_mtim.tv_sec * 1000000000 + (long long)st.st_mtim.tv_nsec);
        if (strcmp(now, changed->valuestring) != 0)
            return false;
    }
    return rows != NULL;
}

static bool read_meta(const cJSON *meta, bool shapes_only, struct task_inputs *inputs) {
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(meta, "values");
    double version, bytes;
    if (!read_number(meta, "version", META_VERSION, META_VERSION, &version) ||
        !read_number(meta, "bytes", 0, 1e15, &bytes) || !depends_hold(meta) ||
        !read_number(meta, "tolerance", 0, 1e9, &inputs->tolerance) ||
        !read_number(meta, "elapsed", 0, 1e9, &inputs->elapsed_s) || !cJSON_IsArray(rows))
        return false;
    if (!shapes_only && inputs->mapping_bytes < (uint64_t)bytes)
        return false;
    for (const cJSON *row = rows->child; row; row = row->next) {
        if (inputs->count == TASK_MAX_VALUES)
            return false;
        if (!read_value(row, &inputs->values[inputs->count++], inputs->mapping, (uint64_t)bytes))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------------------------- mapping */

/* An empty file maps to nothing, which is fine for inputs without arrays. */
static bool map_data(const char *path, struct task_inputs *inputs) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    bool ok = fd >= 0 && fstat(fd, &st) == 0;
    if (ok && st.st_size > 0) {
        void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        ok = at != MAP_FAILED;
        inputs->mapping = ok ? at : NULL;
        inputs->mapping_bytes = ok ? (size_t)st.st_size : 0;
    }
    if (fd >= 0)
        close(fd);
    return ok;
}

void task_inputs_free(struct task_inputs *inputs) {
    if (!inputs)
        return;
    for (size_t i = 0; i < inputs->count; i++)
        free(inputs->values[i].text);
    if (inputs->mapping)
        munmap(inputs->mapping, inputs->mapping_bytes);
    free(inputs);
}

static struct task_inputs *load_from(const char *folder, const char *text, bool shapes_only) {
    struct task_inputs *inputs = mem_alloc(1, sizeof *inputs);
    char *data_path = path_join(folder, "data.bin");
    cJSON *meta = cJSON_Parse(text);
    bool ok = meta && (shapes_only || map_data(data_path, inputs)) &&
              read_meta(meta, shapes_only, inputs);
    cJSON_Delete(meta);
    free(data_path);
    inputs->from_cache = true;
    if (ok)
        return inputs;
    task_inputs_free(inputs);
    return NULL;
}

struct task_inputs *task_cache_load(const char *seed_folder, bool shapes_only) {
    char *folder = path_join(seed_folder, "inputs");
    char *path = path_join(folder, "meta.json");
    char *text = file_read(path, META_LIMIT, NULL, NULL);
    struct task_inputs *inputs = text ? load_from(folder, text, shapes_only) : NULL;
    if (text && !inputs)
        (void)!file_remove_tree(seed_folder, NULL);
    else if (inputs)
        utimensat(AT_FDCWD, seed_folder, NULL, 0);
    free(text);
    free(path);
    free(folder);
    return inputs;
}

static struct task_inputs *load_any_seed(const char *of_reference) {
    struct task_inputs *inputs = NULL;
    DIR *dir = opendir(of_reference);
    struct dirent *entry;
    while (dir && !inputs && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        char *folder = path_join(of_reference, entry->d_name);
        inputs = task_cache_load(folder, true);
        free(folder);
    }
    if (dir)
        closedir(dir);
    return inputs;
}

struct task_inputs *task_inputs_cached(const char *reference_path, int64_t seed, bool shapes_only) {
    char *of = task_cache_of(reference_path, NULL);
    if (!of)
        return NULL;
    char *folder = task_cache_seed(of, seed);
    struct task_inputs *inputs = task_cache_load(folder, shapes_only);
    if (!inputs && shapes_only)
        inputs = load_any_seed(of);
    free(folder);
    free(of);
    return inputs;
}

/* ------------------------------------------------------------------------------------ trimming */

struct entry {
    char *path;
    uint64_t bytes;
    struct timespec used;
};
struct entries {
    VEC(struct entry) all;
    uint64_t bytes;
};

static uint64_t bytes_below(const char *path, int depth) {
    struct stat st;
    if (lstat(path, &st) != 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return (uint64_t)st.st_blocks * 512;
    uint64_t bytes = 0;
    DIR *dir = depth > 0 ? opendir(path) : NULL;
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        char *child = path_join(path, entry->d_name);
        bytes += bytes_below(child, depth - 1);
        free(child);
    }
    if (dir)
        closedir(dir);
    return bytes;
}

static void collect(const char *of_reference, struct entries *entries) {
    DIR *dir = opendir(of_reference);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        char *path = path_join(of_reference, entry->d_name);
        struct stat st;
        if (stat(path, &st) != 0) {
            free(path);
            continue;
        }
        struct entry row = {path, bytes_below(path, 3), st.st_mtim};
        entries->bytes += row.bytes;
        *vec_push(&entries->all) = row;
    }
    if (dir)
        closedir(dir);
}

static int by_use(const void *a, const void *b) {
    const struct timespec *x = &((const struct entry *)a)->used;
    const struct timespec *y = &((const struct entry *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* "8G", "500M", "123456". */
static uint64_t limit_from_environment(void) {
    const char *text = getenv("HONE_CACHE_LIMIT");
    if (!text || !*text)
        return DEFAULT_LIMIT;
    struct str number = str_of(text);
    int shift = 0;
    switch (number.at[number.len - 1]) {
    case 'K': shift = 10; break;
    case 'M': shift = 20; break;
    case 'G': shift = 30; break;
    default: break;
    }
    number.len -= shift != 0;
    long long value;
    if (!str_to_int(number, &value) || value < 0 || value > (INT64_MAX >> shift))
        return DEFAULT_LIMIT;
    return (uint64_t)value << shift;
}

static void remove_oldest(struct entries *entries, uint64_t limit, const char *keep) {
    if (entries->all.len)
        qsort(entries->all.at, entries->all.len, sizeof *entries->all.at, by_use);
    for (size_t i = 0; i < entries->all.len && entries->bytes > limit; i++) {
        struct entry *entry = &entries->all.at[i];
        if (keep && strcmp(entry->path, keep) == 0)
            continue;
        if (file_remove_tree(entry->path, NULL))
            entries->bytes -= entry->bytes;
        char *folder = path_folder(entry->path);
        rmdir(folder); /* goes when it was the last seed of its reference */
        free(folder);
    }
}

void task_cache_tidy(void) {
    task_cache_trim(0, NULL);
}

void task_cache_trim(uint64_t limit, const char *keep) {
    char *root = path_cache("references");
    struct entries entries = {0};
    DIR *dir = opendir(root);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        char *path = path_join(root, entry->d_name);
        collect(path, &entries);
        free(path);
    }
    if (dir)
        closedir(dir);
    remove_oldest(&entries, limit ? limit : limit_from_environment(), keep);
    for (size_t i = 0; i < entries.all.len; i++)
        free(entries.all.at[i].path);
    vec_free(&entries.all);
    free(root);
}

/* What references make is theirs who run them; hone made the cache for everybody to read, once. */
bool task_cache_make(const char *folder, struct err *err) {
    char *root = path_cache("references");
    struct stat st;
    bool ok = file_make_private(folder, err);
    if (ok && stat(root, &st) == 0 && st.st_uid == geteuid() && st.st_mode & 077)
        (void)!chmod(root, st.st_mode & 07700);
    free(root);
    return ok;
}
