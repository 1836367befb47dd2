/* SPDX-License-Identifier: Apache-2.0 */
/* A device's profile from the tables in Parquet that neuron-explorer writes: Table.parquet, in
 * parts Table_0.parquet, Table_1.parquet and on, or a folder of that name. Columns are looked up by
 * name (profile schema reference of Neuron SDK 2.32), and each may be missing: schemas change with
 * every release. Of several cores the first is taken, as by the runner on hosts. */
#include <cjson/cJSON.h>
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "query/parquet/parquet.h"
#include "query/private.h"

#define MOST_DEPTH 6   /* folders: profiles/global/<name>@latest/ below the tool's own */
#define MOST_FILES 512 /* parts of a table, entries of a folder that are looked into */
#define MOST_ROWS ((size_t)2000000)

/* ---- files ----------------------------------------------------------------------------------- */

typedef VEC(char *) names_t;

static void names_free(names_t *names) {
    for (size_t i = 0; i < names->len; i++)
        free(names->at[i]);
    vec_free(names);
}

/* By the number before the ending, then by name. */
static int by_part(const void *a, const void *b) {
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    size_t m = strlen(x), n = strlen(y);
    return m != n ? (m < n ? -1 : 1) : strcmp(x, y);
}

static bool is_part(const char *name, const char *table) {
    size_t len = strlen(table);
    if (strncmp(name, table, len) != 0 || name[len] != '_')
        return false;
    size_t digits = strspn(name + len + 1, "0123456789");
    return digits && !strcmp(name + len + 1 + digits, ".parquet");
}

static void list(const char *folder, const char *table, names_t *files) {
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && files->len < MOST_FILES && (entry = readdir(dir)))
        if (table ? is_part(entry->d_name, table) : str_ends(str_of(entry->d_name), ".parquet")) {
            struct buf path = {0};
            buf_printf(&path, "%s/%s", folder, entry->d_name);
            *vec_push(files) = path.at;
        }
    if (dir)
        closedir(dir);
    if (files->len)
        qsort(files->at, files->len, sizeof *files->at, by_part);
}

static void files_of(const char *folder, const char *table, names_t *files) {
    struct buf exact = {0};
    buf_printf(&exact, "%s/%s.parquet", folder, table);
    if (file_is_dir(exact.at))
        list(exact.at, NULL, files);
    else
        list(folder, table, files);
    if (file_exists(exact.at) && !file_is_dir(exact.at))
        *vec_push(files) = mem_strdup(exact.at);
    buf_free(&exact);
}

static bool has_table(const char *folder, const char *table) {
    names_t files = {0};
    files_of(folder, table, &files);
    bool has = files.len > 0;
    names_free(&files);
    return has;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void folders_in(const char *folder, names_t *found) {
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && found->len < MOST_FILES && (entry = readdir(dir))) {
        struct buf path = {0};
        struct stat info;
        buf_printf(&path, "%s/%s", folder, entry->d_name);
        if (*entry->d_name != '.' && !lstat(path.at, &info) && S_ISDIR(info.st_mode))
            *vec_push(found) = mem_strdup(path.at);
        buf_free(&path);
    }
    if (dir)
        closedir(dir);
    if (found->len)
        qsort(found->at, found->len, sizeof *found->at, by_name);
}

/* The folder with the tables, to be freed; NULL. */
static char *find_folder(const char *folder, int depth) {
    names_t inside = {0};
    char *found = NULL;
    if (has_table(folder, "Instruction") || has_table(folder, "Summary"))
        return mem_strdup(folder);
    if (depth)
        folders_in(folder, &inside);
    for (size_t i = 0; !found && i < inside.len; i++)
        found = find_folder(inside.at[i], depth - 1);
    names_free(&inside);
    return found;
}

bool query_has_tables(const char *folder) {
    char *found = file_is_dir(folder) ? find_folder(folder, MOST_DEPTH) : NULL;
    bool has = found != NULL;
    free(found);
    return has;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Instruction.id and the row of spans that it became; and what Flow says made a transfer. */
struct link {
    int64_t from, to;
};
struct tables {
    struct measured *measured;
    const char *folder;
    VEC(struct link) ids, flow;
    int64_t core; /* of the first row; -1: none yet */
    size_t other_cores, odd, transfers_without, rows;
    cJSON *summary;
    struct parquet *parquet; /* the file that is read */
};

static double real_of(const struct parquet_value *value) {
    if (value->type == PARQUET_TEXT) { /* some versions write numbers as text */
        double number;
        return str_to_double(str_trim(value->text), &number) ? number : (double)NAN;
    }
    return value->type == PARQUET_INT    ? (double)value->integer
           : value->type == PARQUET_REAL ? value->real
                                         : (double)NAN;
}

static int64_t whole_of(const struct parquet_value *value) {
    if (value->type == PARQUET_INT)
        return value->integer >= 0 ? value->integer : -1;
    double number = real_of(value);
    return number >= 0 && number < 9e15 ? (int64_t)number : -1;
}

static const char *text_of(struct tables *tables, const struct parquet_value *value) {
    struct buf number = {0};
    const char *text = NULL;
    if (value->type == PARQUET_INT)
        buf_printf(&number, "%lld", (long long)value->integer);
    struct str own = value->type == PARQUET_TEXT ? value->text : buf_str(&number);
    if (own.len)
        text = text_pool_keep(tables->measured->texts, own);
    buf_free(&number);
    return text;
}

/* Whether a row is of the core that is read. */
static bool is_core(struct tables *tables, const struct parquet_value *value) {
    int64_t core = whole_of(value);
    if (core < 0)
        return true;
    tables->core = tables->core < 0 ? core : tables->core;
    tables->other_cores += core != tables->core;
    return core == tables->core;
}

/* The columns of a table that are read, in the order of its names. */
#define TIMES "start_ts", "end_ts", "duration_ns", "pcore_idx"
enum { START, END, DURATION, CORE, TIMES_COUNT };

static bool times_take(const struct parquet_value *row, double *start_ns, double *end_ns) {
    double duration = real_of(&row[DURATION]);
    *start_ns = real_of(&row[START]);
    *end_ns = real_of(&row[END]);
    if (isnan(*end_ns))
        *end_ns = *start_ns + (duration > 0 ? duration : 0);
    return isfinite(*start_ns) && isfinite(*end_ns) && *end_ns >= *start_ns;
}

static const char *const instruction_names[] = {TIMES,
                                                "engine",
                                                "opcode",
                                                "operands",
                                                "id",
                                                "bir_id",
                                                "evt_wait_time_ns",
                                                "adjusted_flops",
                                                "hbm_read_bytes",
                                                "hbm_write_bytes",
                                                "tensor_instruction_type",
                                                "nki_source_location",
                                                "bir_debug_info_source_location",
                                                "timeline_track"};

static void place_of(struct tables *tables, struct measured_span *span,
                     const struct parquet_value *own, const struct parquet_value *other) {
    if (own->type == PARQUET_TEXT)
        measured_place(tables->measured, span, own->text);
    if (!span->place && other->type == PARQUET_TEXT)
        measured_place(tables->measured, span, other->text);
}

static bool on_instruction(void *data, const struct parquet_value *row) {
    enum {
        ENGINE = TIMES_COUNT,
        OPCODE,
        OPERANDS,
        ID,
        BIR_ID,
        WAIT,
        FLOPS,
        READ,
        WRITE,
        KIND,
        PLACE,
        BIR_PLACE,
        TRACK
    };
    struct tables *tables = data;
    struct measured *measured = tables->measured;
    const char *engine = text_of(tables, &row[row[ENGINE].type == PARQUET_TEXT ? ENGINE : TRACK]);
    struct measured_span span = {.waited_ns = real_of(&row[WAIT]),
                                 .flops = real_of(&row[FLOPS]),
                                 .opcode = text_of(tables, &row[OPCODE]),
                                 .operands = text_of(tables, &row[OPERANDS]),
                                 .name = text_of(tables, &row[BIR_ID]),
                                 .kind = text_of(tables, &row[KIND]),
                                 .number = whole_of(&row[ID]),
                                 .read_bytes = whole_of(&row[READ]),
                                 .write_bytes = whole_of(&row[WRITE])};
    if (!is_core(tables, &row[CORE]))
        return true;
    if (measured->spans.len == MOST_ROWS || !times_take(row, &span.start_ns, &span.end_ns) ||
        !measured_lane(engine, &span.lane)) {
        tables->odd++;
        return true;
    }
    place_of(tables, &span, &row[PLACE], &row[BIR_PLACE]);
    if (span.number >= 0)
        *vec_push(&tables->ids) = (struct link){span.number, (int64_t)measured->spans.len};
    *vec_push(&measured->spans) = span;
    return true;
}

static int by_from(const void *a, const void *b) {
    const struct link *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Where a sorted list of links leads from a number; -1: nowhere. */
static int64_t follow(const struct link *links, size_t count, int64_t from) {
    struct link key = {from, 0};
    const struct link *found = count ? bsearch(&key, links, count, sizeof key, by_from) : NULL;
    return found ? found->to : -1;
}

static const char *const flow_names[] = {"in_table", "in_id", "out_table", "out_id"};

static bool on_flow(void *data, const struct parquet_value *row) {
    struct tables *tables = data;
    bool is = row[0].type == PARQUET_TEXT && str_is(row[0].text, "Instruction") &&
              row[2].type == PARQUET_TEXT && str_starts(row[2].text, "DmaPacket");
    if (is && tables->flow.len < MOST_ROWS)
        *vec_push(&tables->flow) = (struct link){whole_of(&row[3]), whole_of(&row[1])};
    return true;
}

static const char *const transfer_names[] = {TIMES,
                                             "id",
                                             "variable",
                                             "source",
                                             "dest",
                                             "transfer_bytes",
                                             "read_num_sbuf_partitions",
                                             "write_num_sbuf_partitions",
                                             "is_transpose_mode",
                                             "op",
                                             "queue_name",
                                             "queue_type",
                                             "nki_source_location",
                                             "bir_debug_info_source_location",
                                             "read_bytes",
                                             "write_bytes"};
enum {
    T_ID = TIMES_COUNT,
    T_VARIABLE,
    T_SOURCE,
    T_DEST,
    T_BYTES,
    T_READS,
    T_WRITES,
    T_TRANSPOSES,
    T_OP,
    T_QUEUE,
    T_TYPE,
    T_PLACE,
    T_BIR_PLACE,
    T_READ_BYTES,
    T_WRITE_BYTES
};

static bool is_on_chip(const char *place) {
    return place && (strstr(place, "SB") || strstr(place, "PSUM") || strstr(place, "PSB"));
}

/* Into the core's memory or out of it: by its ends, then by what its queue is for. */
static uint32_t way_of(const struct measured_move *move, const char *queue, const char *type) {
    static const char *const outwards[] = {"output", "spillsave", "spill_save", "SpillSave"};
    if (is_on_chip(move->dest) || is_on_chip(move->source))
        return is_on_chip(move->dest) ? MEASURED_DMA_IN : MEASURED_DMA_OUT;
    for (size_t i = 0; i < COUNT_OF(outwards); i++)
        if ((type && strstr(type, outwards[i])) || (queue && strstr(queue, outwards[i])))
            return MEASURED_DMA_OUT;
    return MEASURED_DMA_IN;
}

/* Bytes as the table has them, or what it read or wrote. */
static int64_t bytes_of(const struct parquet_value *row) {
    int64_t bytes = whole_of(&row[T_BYTES]);
    bytes = bytes < 0 ? whole_of(&row[T_READ_BYTES]) : bytes;
    return bytes < 0 ? whole_of(&row[T_WRITE_BYTES]) : bytes;
}

static bool on_transfer(void *data, const struct parquet_value *row) {
    struct tables *tables = data;
    struct measured *measured = tables->measured;
    const char *op = text_of(tables, &row[T_OP]), *type = text_of(tables, &row[T_TYPE]);
    struct measured_move move = {.variable = text_of(tables, &row[T_VARIABLE]),
                                 .source = text_of(tables, &row[T_SOURCE]),
                                 .dest = text_of(tables, &row[T_DEST]),
                                 .bytes = bytes_of(row),
                                 .read_partitions = whole_of(&row[T_READS]),
                                 .write_partitions = whole_of(&row[T_WRITES]),
                                 .transposes = whole_of(&row[T_TRANSPOSES])};
    struct measured_span span = {.waited_ns = NAN,
                                 .flops = NAN,
                                 .number = -1,
                                 .opcode = op ? op : "DMA",
                                 .read_bytes = -1,
                                 .write_bytes = -1};
    if (!is_core(tables, &row[CORE]))
        return true;
    if (measured->spans.len == MOST_ROWS || !times_take(row, &span.start_ns, &span.end_ns)) {
        tables->transfers_without++;
        return true;
    }
    place_of(tables, &span, &row[T_PLACE], &row[T_BIR_PLACE]);
    int64_t by = follow(tables->flow.at, tables->flow.len, whole_of(&row[T_ID]));
    int64_t from = by < 0 ? -1 : follow(tables->ids.at, tables->ids.len, by);
    if (!span.place && from >= 0) {
        span.place = measured->spans.at[from].place;
        span.file = measured->spans.at[from].file;
        span.line = measured->spans.at[from].line;
    }
    span.lane = way_of(&move, text_of(tables, &row[T_QUEUE]), type);
    *(span.lane == MEASURED_DMA_IN ? &span.read_bytes : &span.write_bytes) = move.bytes;
    *vec_push(&measured->moves) = move;
    span.move = (uint32_t)measured->moves.len;
    *vec_push(&measured->spans) = span;
    return true;
}

static bool on_packet(void *data, const struct parquet_value *row) {
    struct tables *tables = data;
    struct measured_packet packet = {.queue_type = text_of(tables, &row[T_TYPE]),
                                     .bytes = bytes_of(row)};
    if (is_core(tables, &row[CORE]) && tables->measured->packets.len < 2 * MOST_ROWS &&
        times_take(row, &packet.start_ns, &packet.end_ns))
        *vec_push(&tables->measured->packets) = packet;
    return true;
}

static const char *const active_names[] = {TIMES, "engine"};

static bool on_active(void *data, const struct parquet_value *row) {
    struct tables *tables = data;
    struct stretch active = {0};
    const char *engine = text_of(tables, &row[TIMES_COUNT]);
    bool is = engine && (measured_lane(engine, &active.lane) ||
                         (!strncmp(engine, "dma", 3) && (active.lane = MEASURED_DMA_IN)));
    if (is && is_core(tables, &row[CORE]) && tables->measured->actives.len < MOST_ROWS &&
        times_take(row, &active.start_ns, &active.end_ns))
        *vec_push(&tables->measured->actives) = active;
    return true;
}

static const char *const tensor_names[] = {"variable_name", "type", "size", "dtype", "shape"};

static bool on_tensor(void *data, const struct parquet_value *row) {
    struct tables *tables = data;
    if (tables->measured->tensors.len < MOST_ROWS)
        *vec_push(&tables->measured->tensors) = (struct measured_tensor){
            .name = text_of(tables, &row[0]),
            .type = text_of(tables, &row[1]),
            .bytes = whole_of(&row[2]),
            .dtype = text_of(tables, &row[3]),
            .shape = text_of(tables, &row[4]),
        };
    return true;
}

static const char *const warning_names[] = {"message", "category"};
static const char *const error_names[] = {"description", "type"};

static bool on_warning(void *data, const struct parquet_value *row) {
    struct tables *tables = data;
    const char *text = text_of(tables, &row[row[0].type == PARQUET_NULL]);
    if (text)
        measured_warn(tables->measured, "%s", text);
    return true;
}

static bool on_error(void *data, const struct parquet_value *row) {
    struct tables *tables = data;
    const char *text = text_of(tables, &row[row[0].type == PARQUET_NULL]);
    if (text)
        measured_warn(tables->measured, "The device reported an error: %s", text);
    return true;
}

static const char *const hardware_names[] = {"dma_ddr_bandwidth", "tensor_engine_num_rows",
                                             "tensor_engine_num_cols", "tensor_engine_clock_freq",
                                             "num_physical_cores"};

static bool on_hardware(void *data, const struct parquet_value *row) {
    struct tables *tables = data;
    for (size_t i = 0; i < COUNT_OF(hardware_names); i++) {
        const char *name = i == 4 ? "cores" : hardware_names[i];
        if (isfinite(real_of(&row[i])))
            *vec_push(&tables->measured->hardware) =
                (struct measured_metric){name, NULL, real_of(&row[i])};
    }
    return false; /* the first row */
}

/* A row of all columns: the slowest stays, which with several cores is when the kernel was done. */
static bool on_summary(void *data, const struct parquet_value *row) {
    struct tables *tables = data;
    cJSON *one = cJSON_CreateObject();
    for (size_t i = 0; i < parquet_column_count(tables->parquet); i++)
        if (isfinite(real_of(&row[i])) && row[i].type != PARQUET_TEXT)
            cJSON_AddNumberToObject(one, parquet_column_name(tables->parquet, i), real_of(&row[i]));
    const cJSON *own = cJSON_GetObjectItemCaseSensitive(one, "total_time");
    const cJSON *best = cJSON_GetObjectItemCaseSensitive(tables->summary, "total_time");
    tables->rows++;
    if (tables->summary && best && (!own || own->valuedouble <= best->valuedouble)) {
        cJSON_Delete(one);
        return true;
    }
    cJSON_Delete(tables->summary);
    tables->summary = one;
    return true;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Reads the columns of these names, or all (count 0), of a file. */
static bool file_take(struct tables *tables, const char *const *names, size_t count,
                      parquet_row_fn *row, struct err *err) {
    size_t all = count ? count : parquet_column_count(tables->parquet);
    int *columns = mem_alloc(all + 1, sizeof *columns);
    for (size_t i = 0; i < all; i++)
        columns[i] = count ? parquet_column(tables->parquet, names[i]) : (int)i;
    bool ok = parquet_read(tables->parquet, columns, all, row, tables, err);
    free(columns);
    return ok;
}

static bool table_take(struct tables *tables, const char *table, const char *const *names,
                       size_t count, parquet_row_fn *row, struct err *err) {
    names_t files = {0};
    bool ok = true;
    files_of(tables->folder, table, &files);
    for (size_t i = 0; ok && i < files.len; i++) {
        struct err why = {0};
        tables->parquet = parquet_open(files.at[i], &why);
        ok = tables->parquet != NULL;
        if (ok && !(ok = file_take(tables, names, count, row, &why)))
            err_prefix(&why, "%.200s", files.at[i]);
        parquet_close(tables->parquet);
        tables->parquet = NULL;
        if (!ok)
            err_set(err, why.kind, "%s", why.text);
    }
    names_free(&files);
    return ok;
}

#define TAKE(table, names, row) table_take(tables, table, names, COUNT_OF(names), row, err)

static bool transfers_take(struct tables *tables, struct err *err) {
    size_t before = tables->measured->spans.len;
    if (!TAKE("DmaPacketAggregated", transfer_names, on_transfer))
        return false;
    if (tables->measured->spans.len == before) /* packets alone: they are the transfers */
        return TAKE("DmaPacket", transfer_names, on_transfer);
    return TAKE("DmaPacket", transfer_names, on_packet);
}

static bool tables_take(struct tables *tables, struct err *err) {
    bool ok = table_take(tables, "Summary", NULL, 0, on_summary, err) &&
              TAKE("Instruction", instruction_names, on_instruction) &&
              TAKE("Flow", flow_names, on_flow);
    if (tables->ids.len)
        qsort(tables->ids.at, tables->ids.len, sizeof *tables->ids.at, by_from);
    if (tables->flow.len)
        qsort(tables->flow.at, tables->flow.len, sizeof *tables->flow.at, by_from);
    return ok && transfers_take(tables, err) && TAKE("ActiveTime", active_names, on_active) &&
           TAKE("TensorInfo", tensor_names, on_tensor) &&
           TAKE("Metadata", hardware_names, on_hardware) &&
           TAKE("Warning", warning_names, on_warning) && TAKE("Error", error_names, on_error);
}

static void tables_end(struct tables *tables) {
    struct measured *measured = tables->measured;
    if (measured_is_summary(tables->summary))
        measured_summary(measured, tables->summary);
    if (tables->rows > 1)
        measured_warn(measured, "Summary has %zu rows; these are the numbers of the slowest.",
                      tables->rows);
    if (tables->odd)
        measured_warn(measured,
                      "Left out, because they have no times or no engine: %zu instructions.",
                      tables->odd);
    if (tables->transfers_without)
        measured_warn(measured, "Left out, because they have no times: %zu transfers.",
                      tables->transfers_without);
    if (tables->other_cores)
        measured_warn(measured, "The tables have several cores; the rows are of core %lld.",
                      (long long)tables->core);
    measured_scale(measured, true); /* by the schema */
    measured_end(measured);
}

struct measured *measured_tables(const char *folder, struct err *err) {
    char *found = find_folder(folder, MOST_DEPTH);
    struct tables tables = {.measured = measured_new(), .folder = found, .core = -1};
    tables.measured->source = "device";
    bool ok = found ? tables_take(&tables, err)
                    : err_set(err, ERR_USAGE,
                              "there are no tables of a profile in %.200s: Instruction.parquet or "
                              "Summary.parquet (neuron-explorer view --output-format parquet)",
                              folder);
    if (ok)
        tables_end(&tables);
    cJSON_Delete(tables.summary);
    vec_free(&tables.ids);
    vec_free(&tables.flow);
    free(found);
    if (ok)
        return tables.measured;
    measured_free(tables.measured);
    return NULL;
}
