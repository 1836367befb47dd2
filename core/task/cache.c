/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of what references made. The Python harness writes its entries (a folder beside, then a
 * rename); here they are found and mapped. Any number of processes share it: an entry that vanishes
 * in between is made again. cache_size.c keeps its size. */
#include "task/cache.h"

#include "task/imports.h"
#include "task/python.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define META_VERSION 3
#define META_LIMIT ((size_t)4 << 20)
#define GRAPH "graph/meta.json"
#define GRAPH_LIMIT ((size_t)256 << 20)
#define MAX_DEPTH 8                   /* as in harness.py: of values in values */
#define MAX_HASHED ((size_t)64 << 20) /* as in harness.py */

/* The folder counts only for a reference that may look at other files in it. */
static void add_place(struct hash_stream *stream, const struct task_closure *closure) {
    bool reaches = false;
    for (size_t i = 0; !reaches && i < closure->files.len; i++)
        reaches = task_imports_reach_out(
            (struct str){closure->files.at[i].text, closure->files.at[i].size});
    if (reaches)
        hash_add(stream, closure->files.at[0].path, strlen(closure->files.at[0].path));
}

static char *cache_of(const char *reference_path, struct task_seen *seen, struct err *err) {
    struct task_start start = {.reference_path = reference_path, .seen = seen};
    struct task_closure *closure = task_closure_find(&start, err);
    if (!closure)
        return NULL;
    struct str program = python_program();
    struct hash content = task_closure_hash(closure, TASK_OF_REFERENCE);
    struct hash_stream *stream = hash_begin();
    hash_add(stream, content.hex, strlen(content.hex));
    hash_add(stream, program.at, program.len);
    add_place(stream, closure);
    struct hash hash = hash_end(stream);
    struct buf name = {0};
    buf_printf(&name, "references/%s", hash.hex);
    char *folder = path_cache(name.at);
    buf_free(&name);
    task_closure_free(closure);
    return folder;
}

char *task_cache_of(const char *reference_path, struct err *err) {
    return cache_of(reference_path, NULL, err);
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

static bool read_container(const cJSON *row, const char *text, struct task_value *value) {
    double count;
    if (value->kind > TASK_MEMBER || !text ||
        !read_number(row, "count", value->kind == TASK_MEMBER, TASK_MAX_VALUES, &count))
        return false;
    value->text = mem_strdup(text);
    value->items = (size_t)count;
    return value->kind != TASK_MEMBER || value->items == 1;
}

/* Reads one row of "values". An array gets its place in the file as its data pointer, mapped or
 * not. */
static bool read_value(const cJSON *row, struct task_value *value, char *data, uint64_t data_size) {
    static const char *const kinds[] = {"array", "float", "int",  "bool", "text",   "none",
                                        "dtype", "tuple", "list", "dict", "record", "enum"};
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(row, "kind");
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, "value");
    size_t k = 0;
    while (k < COUNT_OF(kinds) && !(cJSON_IsString(kind) && !strcmp(kind->valuestring, kinds[k])))
        k++;
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, "name");
    *value =
        (struct task_value){.kind = (enum task_value_kind)k,
                            .name = cJSON_IsString(name) ? mem_strdup(name->valuestring) : NULL};
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
    case TASK_DTYPE:
        value->text = mem_strdup(text);
        return text && dtype_find(str_of(text)) != DTYPE_NONE;
    default: return read_container(row, text, value);
    }
}

/* Whether the values of containers follow them, `depth` of them open. */
static bool is_whole(const struct task_inputs *inputs, size_t *at, int depth) {
    if (*at == inputs->count || depth > MAX_DEPTH)
        return false;
    const struct task_value *value = &inputs->values[(*at)++];
    for (size_t i = 0; i < value->items; i++) {
        bool needs_name = value->kind == TASK_DICT || value->kind == TASK_RECORD;
        if (*at < inputs->count && needs_name && !inputs->values[*at].name)
            return false;
        if (!is_whole(inputs, at, depth + 1))
            return false;
    }
    return true;
}

static bool are_whole(const struct task_inputs *inputs) {
    for (size_t at = 0; at < inputs->count;)
        if (!is_whole(inputs, &at, 0))
            return false;
    return true;
}

/* Whether the size of a file, and its content (or its time where it is large), are what they
 * were. */
static bool depend_holds(const char *path, const cJSON *row, struct task_seen *seen) {
    const cJSON *size = cJSON_GetArrayItem(row, 1), *content = cJSON_GetArrayItem(row, 2);
    struct stat st;
    char now[65] = "";
    if (!cJSON_IsNumber(size) || !cJSON_IsString(content) || !task_seen_stat(seen, path, &st) ||
        !S_ISREG(st.st_mode) || (double)st.st_size != size->valuedouble)
        return false;
    if ((size_t)st.st_size > MAX_HASHED) {
        snprintf(now, sizeof now, "changed %lld",
                 (long long)st.st_mtim.tv_sec * 1000000000 + (long long)st.st_mtim.tv_nsec);
        return strcmp(now, content->valuestring) == 0;
    }
    return task_seen_sha256(seen, path, now) && strcmp(now, content->valuestring) == 0;
}

/* Whether the files that the reference imported or read are beside it as they were. */
static bool depends_hold(const cJSON *meta, const char *beside, struct task_seen *seen) {
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(meta, "depends");
    bool holds = rows != NULL;
    for (const cJSON *row = rows ? rows->child : NULL; holds && row; row = row->next) {
        const cJSON *name = cJSON_GetArrayItem(row, 0);
        char *path = cJSON_IsString(name) ? path_join(beside, name->valuestring) : NULL;
        holds = path && depend_holds(path, row, seen);
        free(path);
    }
    return holds;
}

static void read_version(const cJSON *meta, const char *name, char *text, size_t size) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(meta, name);
    snprintf(text, size, "%s", cJSON_IsString(item) ? item->valuestring : "");
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 127)
            *text = '?';
}

static void read_text(const char *from, char *text, size_t size) {
    struct buf safe = {0};
    text_sanitise(&safe, str_of(from));
    snprintf(text, size, "%s", safe.at ? safe.at : "");
    buf_free(&safe);
}

/* What kernels of the reference have to do, or why that is unknown. */
static void read_work(const cJSON *meta, struct task_work *work) {
    const cJSON *row = cJSON_GetObjectItemCaseSensitive(meta, "work");
    const cJSON *products = cJSON_GetObjectItemCaseSensitive(row, "multiply_adds");
    double line = 0;
    work->known = read_number(row, "read_bytes", 0, 1e18, &work->read_bytes) &&
                  read_number(row, "written", 0, 1e18, &work->written) &&
                  read_number(products, "fp32", 0, 1e24, &work->fp32) &&
                  read_number(products, "bf16", 0, 1e24, &work->bf16) &&
                  read_number(products, "fp8", 0, 1e24, &work->fp8);
    const cJSON *refused = cJSON_GetObjectItemCaseSensitive(meta, "refused");
    if (cJSON_IsString(refused))
        read_text(refused->valuestring, work->refused, sizeof work->refused);
    work->line = read_number(meta, "line", 0, 1e9, &line) ? (int)line : 0;
}

static bool is_name(const char *text) {
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
    return n > 0 && !text[n] && n < sizeof((struct task_shape *)0)->name;
}

static bool read_shapes(const cJSON *meta, struct task_inputs *inputs) {
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(meta, "shapes");
    for (const cJSON *row = rows ? rows->child : NULL; row; row = row->next) {
        const cJSON *name = cJSON_GetArrayItem(row, 0), *weight = cJSON_GetArrayItem(row, 1);
        if (inputs->shape_count == TASK_MAX_SHAPES || !cJSON_IsString(name) ||
            !is_name(name->valuestring) || !cJSON_IsNumber(weight) || !(weight->valuedouble > 0))
            return false;
        struct task_shape *shape = &inputs->shapes[inputs->shape_count++];
        snprintf(shape->name, sizeof shape->name, "%s", name->valuestring);
        shape->weight = weight->valuedouble;
    }
    return true;
}

/* Where to look: what files beside the reference hold is known, or not. */
struct place {
    const char *reference_path;
    bool shapes_only;
    struct task_seen *seen;
};

static bool read_meta(const cJSON *meta, const char *beside, const struct place *place,
                      struct task_inputs *inputs) {
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(meta, "values");
    double version, bytes;
    if (!read_number(meta, "version", META_VERSION, META_VERSION, &version) ||
        !read_number(meta, "bytes", 0, 1e15, &bytes) || !depends_hold(meta, beside, place->seen) ||
        !read_number(meta, "tolerance", 0, 1e9, &inputs->tolerance) ||
        !read_number(meta, "elapsed", 0, 1e9, &inputs->elapsed_s) || !cJSON_IsArray(rows))
        return false;
    if ((!place->shapes_only && inputs->mapping_bytes < (uint64_t)bytes) ||
        !read_shapes(meta, inputs))
        return false;
    read_version(meta, "python", inputs->python, sizeof inputs->python);
    read_version(meta, "numpy", inputs->numpy, sizeof inputs->numpy);
    read_work(meta, &inputs->work);
    for (const cJSON *row = rows->child; row; row = row->next) {
        if (inputs->count == TASK_MAX_VALUES)
            return false;
        if (!read_value(row, &inputs->values[inputs->count++], inputs->mapping, (uint64_t)bytes))
            return false;
    }
    return are_whole(inputs);
}

/* ------------------------------------------------------------------------------------- mapping */

/* An empty file has nothing to map, which is right for inputs without arrays. */
static bool map_data(const char *path, struct task_inputs *inputs) {
    int fd = file_open(path, O_RDONLY, 0, NULL);
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
    for (size_t i = 0; i < inputs->count; i++) {
        free(inputs->values[i].text);
        free(inputs->values[i].name);
    }
    if (inputs->mapping)
        munmap(inputs->mapping, inputs->mapping_bytes);
    free(inputs);
}

static struct task_inputs *load_from(const char *folder, const char *beside, const char *text,
                                     const struct place *place) {
    struct task_inputs *inputs = mem_alloc(1, sizeof *inputs);
    char *data_path = path_join(folder, "data.bin");
    cJSON *meta = cJSON_Parse(text);
    bool ok = meta && (place->shapes_only || map_data(data_path, inputs)) &&
              read_meta(meta, beside, place, inputs);
    cJSON_Delete(meta);
    free(data_path);
    inputs->from_cache = true;
    if (ok)
        return inputs;
    task_inputs_free(inputs);
    return NULL;
}

/* What the seed's folder has under that name. If it is stale or broken, all of the seed is
 * removed. */
static struct task_inputs *load_named(const struct place *place, const char *seed_folder,
                                      const char *name) {
    char *folder = path_join(seed_folder, name), *beside = path_folder(place->reference_path);
    char *path = path_join(folder, "meta.json");
    char *text = file_read(path, META_LIMIT, NULL, NULL);
    struct task_inputs *inputs = text ? load_from(folder, beside, text, place) : NULL;
    if (text && !inputs)
        (void)!file_remove_tree(seed_folder, NULL);
    else if (inputs)
        utimensat(AT_FDCWD, seed_folder, NULL, 0);
    free(text);
    free(path);
    free(beside);
    free(folder);
    return inputs;
}

static struct task_inputs *load(const struct place *place, const char *seed_folder) {
    struct task_inputs *inputs = load_named(place, seed_folder, "inputs");
    if (!inputs && place->shapes_only)
        inputs = load_named(place, seed_folder, "shapes");
    return inputs;
}

struct task_inputs *task_cache_load(const char *reference_path, const char *seed_folder,
                                    bool shapes_only) {
    return load(&(struct place){reference_path, shapes_only, NULL}, seed_folder);
}

struct task_inputs *task_cache_take_steps(const char *reference_path, const char *seed_folder) {
    struct task_inputs *steps =
        load_named(&(struct place){reference_path, false, NULL}, seed_folder, "steps");
    char *folder = path_join(seed_folder, "steps");
    (void)!file_remove_tree(folder, NULL);
    free(folder);
    return steps;
}

/* Any seed will do whose inputs have the same shape. */
static struct task_inputs *load_any_seed(const struct place *place, const char *of_reference,
                                         int64_t wanted) {
    struct task_inputs *inputs = NULL;
    DIR *dir = opendir(of_reference);
    struct dirent *entry;
    while (dir && !inputs && (entry = readdir(dir))) {
        long long seed;
        if (!str_to_int(str_of(entry->d_name), &seed) || seed >> 32 != wanted >> 32)
            continue;
        char *folder = path_join(of_reference, entry->d_name);
        inputs = load(place, folder);
        free(folder);
    }
    if (dir)
        closedir(dir);
    return inputs;
}

static struct task_inputs *cached(const struct place *place, int64_t seed) {
    char *of = cache_of(place->reference_path, place->seen, NULL);
    if (!of)
        return NULL;
    char *folder = task_cache_seed(of, seed);
    struct task_inputs *inputs = load(place, folder);
    if (!inputs && place->shapes_only)
        inputs = load_any_seed(place, of, seed);
    free(folder);
    free(of);
    return inputs;
}

struct task_inputs *task_inputs_cached(const char *reference_path, int64_t seed, bool shapes_only) {
    return cached(&(struct place){reference_path, shapes_only, NULL}, seed);
}

struct task_inputs *task_shapes_copy(const struct task_inputs *inputs) {
    struct task_inputs *copy = inputs ? mem_dup(inputs, sizeof *inputs) : NULL;
    for (size_t i = 0; copy && i < copy->count; i++) {
        copy->values[i].text = mem_strdup(inputs->values[i].text);
        copy->values[i].name = mem_strdup(inputs->values[i].name);
    }
    return copy;
}

struct task_inputs *task_shapes_cached(const char *reference_path, int64_t seed,
                                       struct task_seen *seen) {
    return cached(&(struct place){reference_path, true, seen}, seed);
}

/* Rows that hold: name, size, content. */
static void depends_tell(const char *meta_path, const char *beside,
                         const struct task_reading *reading) {
    char *text = file_read(meta_path, META_LIMIT, NULL, NULL);
    cJSON *meta = text ? cJSON_Parse(text) : NULL;
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(meta, "depends");
    for (const cJSON *row = rows ? rows->child : NULL; row; row = row->next) {
        const cJSON *name = cJSON_GetArrayItem(row, 0);
        char *path = cJSON_IsString(name) ? path_join(beside, name->valuestring) : NULL;
        if (path && reading->wants(reading->data, name->valuestring) &&
            depend_holds(path, row, reading->seen))
            reading->fn(reading->data, name->valuestring);
        free(path);
    }
    cJSON_Delete(meta);
    free(text);
}

void task_reference_read(const struct task_reading *reading, int64_t seed) {
    static const char *const made[] = {"shapes/meta.json", "inputs/meta.json", "outputs/meta.json"};
    char *of = cache_of(reading->reference_path, reading->seen, NULL);
    char *beside = path_folder(reading->reference_path);
    char *folder = of ? task_cache_seed(of, seed) : NULL;
    for (size_t i = 0; folder && i < COUNT_OF(made); i++) {
        char *path = path_join(folder, made[i]);
        depends_tell(path, beside, reading);
        free(path);
    }
    free(folder);
    free(beside);
    free(of);
}

bool task_graph_there(const char *of_reference) {
    char *path = path_join(of_reference, GRAPH);
    bool there = file_exists(path);
    free(path);
    return there;
}

char *task_graph_read(const char *reference_path, size_t *size, struct err *err) {
    char *of = task_cache_of(reference_path, err);
    if (!of)
        return NULL;
    char *path = path_join(of, GRAPH);
    char *text = file_read(path, GRAPH_LIMIT, size, NULL);
    if (!text)
        err_set(err, ERR_ENVIRONMENT,
                "the reference was not recorded; hone clean makes room for another try");
    free(path);
    free(of);
    return text;
}

bool task_graph_is_cached(const char *reference_path, struct task_seen *seen) {
    char *of = cache_of(reference_path, seen, NULL);
    bool there = of && task_graph_there(of);
    free(of);
    return there;
}

/* What references make belongs to those who run them. Older hones made the cache readable for
 * everybody, so this is set right once. */
bool task_cache_make(const char *folder, struct err *err) {
    char *root = path_cache("references");
    struct stat st;
    bool ok = file_make_private(folder, err);
    if (ok && stat(root, &st) == 0 && st.st_uid == geteuid() && st.st_mode & 077)
        (void)!chmod(root, st.st_mode & 07700);
    free(root);
    return ok;
}
