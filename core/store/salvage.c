/* SPDX-License-Identifier: Apache-2.0 */
/* The format is SQLite's (sqlite.org/fileformat2.html): leaf pages of tables (1.6), records (2.1),
 * overflow pages (1.6), frames of the write-ahead log (4.1). Nothing here can be trusted: each
 * number is checked against the bytes that are there. */
#include "store/salvage.h"

#include <stdlib.h>

#define PAGE_DEFAULT 4096
#define WAL_HEADER 32
#define FRAME_HEADER 24
#define MOST_BYTES ((size_t)4 << 30)
#define MOST_PAYLOAD ((uint64_t)64 << 20)
#define COLUMNS 5

struct pages {
    const unsigned char *db, *wal;
    size_t db_size, wal_size, page;
    VEC(const unsigned char *) newest; /* pages in the log by number, from 1; NULL: there is none */
};

static uint32_t big32(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static size_t page_size(const struct pages *pages) {
    size_t size = pages->db_size >= 100 ? (size_t)(pages->db[16] << 8 | pages->db[17]) : 0;
    size_t other = pages->wal_size >= WAL_HEADER ? big32(pages->wal + 8) : 0;
    size = size == 1 ? 65536 : size;
    if (size >= 512 && size <= 65536 && !(size & (size - 1)))
        return size;
    return other >= 512 && other <= 65536 && !(other & (other - 1)) ? other : PAGE_DEFAULT;
}

static const unsigned char *frame_at(const struct pages *pages, size_t index) {
    size_t each = FRAME_HEADER + pages->page, at = WAL_HEADER + index * each;
    return pages->wal_size >= at + each ? pages->wal + at : NULL;
}

/* The frames of this log come before those that an earlier log left behind. */
static void newest_fill(struct pages *pages) {
    size_t most = (pages->db_size + pages->wal_size) / pages->page + 2;
    vec_reserve(&pages->newest, most);
    pages->newest.len = most;
    memset(pages->newest.at, 0, most * sizeof *pages->newest.at);
    for (int own = 0; own < 2; own++) {
        const unsigned char *frame;
        for (size_t i = 0; (frame = frame_at(pages, i)); i++) {
            bool is_own = !memcmp(frame + 8, pages->wal + 16, 8);
            uint32_t number = big32(frame);
            if (is_own == (own == 1) && number && number < most)
                pages->newest.at[number] = frame + FRAME_HEADER;
        }
    }
}

static const unsigned char *page_at(const struct pages *pages, uint32_t number, bool log) {
    if (!number || number >= pages->newest.len)
        return NULL;
    if (log && pages->newest.at[number])
        return pages->newest.at[number];
    size_t at = (size_t)(number - 1) * pages->page;
    return at + pages->page <= pages->db_size ? pages->db + at : NULL;
}

/* ------------------------------------------------------------------------------------- records */

struct bytes {
    const unsigned char *at;
    size_t len;
};

/* Takes a variable-length number off the front. */
static bool varint(struct bytes *from, uint64_t *value) {
    *value = 0;
    for (int i = 0; i < 9 && from->len; i++) {
        unsigned char byte = *from->at;
        from->at++;
        from->len--;
        if (i == 8) {
            *value = *value << 8 | byte;
            return true;
        }
        *value = *value << 7 | (byte & 0x7f);
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static size_t serial_size(uint64_t serial) {
    static const size_t sizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
    return serial < COUNT_OF(sizes) ? sizes[serial] : (size_t)((serial - 12) / 2);
}

static int64_t integer_of(uint64_t serial, const unsigned char *at) {
    size_t size = serial_size(serial);
    uint64_t value = size && at[0] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | at[i];
    return serial == 9 ? 1 : (int64_t)value;
}

static bool is_text(uint64_t serial) {
    return serial >= 13 && serial % 2 == 1;
}

/* seq is the number of the row and is stored as null; hash is missing in an older session. */
static bool is_event(const uint64_t *serials, size_t count) {
    bool integer = (serials[1] >= 1 && serials[1] <= 6) || serials[1] == 8 || serials[1] == 9;
    return count >= 4 && serials[0] == 0 && integer && is_text(serials[2]) && is_text(serials[3]) &&
           (count < 5 || serials[4] == 0 || serials[4] == 12 + 2 * HASH_BYTES);
}

static bool record_read(struct bytes record, struct store_row *row) {
    struct bytes head = record;
    uint64_t size, serials[COLUMNS] = {0};
    size_t count = 0;
    if (!varint(&head, &size) || size > record.len || size < 5)
        return false;
    head.len = (size_t)size - (size_t)(head.at - record.at);
    while (head.len && count < COLUMNS)
        if (!varint(&head, &serials[count++]))
            return false;
    if (head.len || !is_event(serials, count))
        return false;
    struct str parts[COLUMNS] = {{0}};
    size_t at = (size_t)size;
    for (size_t i = 0; i < count; i++) {
        size_t length = serial_size(serials[i]);
        if (length > record.len - at)
            return false;
        parts[i] = (struct str){(const char *)record.at + at, length};
        at += length;
    }
    row->wall_ms = integer_of(serials[1], (const unsigned char *)parts[1].at);
    row->type = parts[2];
    row->payload = parts[3];
    row->hash = parts[4];
    return at == record.len;
}

/* --------------------------------------------------------------------------------------- cells */

static size_t local_size(const struct pages *pages, size_t whole) {
    size_t most = pages->page - 35, least = (pages->page - 12) * 32 / 255 - 23;
    if (whole <= most)
        return whole;
    size_t size = least + (whole - least) % (pages->page - 4);
    return size <= most ? size : least;
}

/* Follows the overflow pages of a record. False where one is missing. */
static bool overflow_read(const struct pages *pages, uint32_t next, bool log, size_t rest,
                          struct buf *out) {
    while (rest) {
        const unsigned char *page = page_at(pages, next, log);
        size_t here = MIN_OF(rest, pages->page - 4);
        if (!page)
            return false;
        buf_add(out, (const char *)page + 4, here);
        rest -= here;
        next = big32(page);
    }
    return true;
}

static struct str keep(struct arena *arena, struct str text) {
    return (struct str){text.len ? arena_strndup(arena, text.at, text.len) : "", text.len};
}

static void row_take(struct store_salvage *salvage, struct bytes record, int64_t seq) {
    struct store_row row = {.seq = seq};
    if (!record_read(record, &row))
        return;
    row.type = keep(salvage->arena, row.type);
    row.payload = keep(salvage->arena, row.payload);
    row.hash = keep(salvage->arena, row.hash);
    *vec_push(&salvage->rows) = row;
}

static void cell_read(const struct pages *pages, struct bytes cell, bool log,
                      struct store_salvage *salvage) {
    uint64_t size, seq;
    if (!varint(&cell, &size) || !varint(&cell, &seq) || size > MOST_PAYLOAD || !seq ||
        seq > INT64_MAX)
        return;
    size_t local = local_size(pages, (size_t)size);
    if (local == size && local <= cell.len) {
        row_take(salvage, (struct bytes){cell.at, local}, (int64_t)seq);
    } else if (local + 4 <= cell.len) {
        struct buf whole = {0};
        buf_add(&whole, (const char *)cell.at, local);
        if (overflow_read(pages, big32(cell.at + local), log, (size_t)size - local, &whole))
            row_take(salvage, (struct bytes){(unsigned char *)whole.at, whole.len}, (int64_t)seq);
        buf_free(&whole);
    }
}

static void leaf_read(const struct pages *pages, const unsigned char *page, bool log,
                      struct store_salvage *salvage) {
    size_t count = (size_t)(page[3] << 8 | page[4]);
    if (page[0] != 0x0d || 8 + 2 * count > pages->page)
        return;
    for (size_t i = 0; i < count; i++) {
        size_t at = (size_t)(page[8 + 2 * i] << 8 | page[9 + 2 * i]);
        if (at >= 8 + 2 * count && at < pages->page)
            cell_read(pages, (struct bytes){page + at, pages->page - at}, log, salvage);
    }
}

/* ---------------------------------------------------------------------------------------- rows */

static int compare_text(struct str a, struct str b) {
    size_t both = MIN_OF(a.len, b.len);
    int order = both ? memcmp(a.at, b.at, both) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare(const void *a, const void *b) {
    const struct store_row *left = a, *right = b;
    int order = (left->seq > right->seq) - (left->seq < right->seq);
    order = order ? order : (left->wall_ms > right->wall_ms) - (left->wall_ms < right->wall_ms);
    order = order ? order : compare_text(left->hash, right->hash);
    order = order ? order : compare_text(left->type, right->type);
    return order ? order : compare_text(left->payload, right->payload);
}

static void rows_sort(struct store_salvage *salvage) {
    size_t kept = 0;
    if (!salvage->rows.len)
        return;
    qsort(salvage->rows.at, salvage->rows.len, sizeof *salvage->rows.at, compare);
    for (size_t i = 1; i < salvage->rows.len; i++)
        if (compare(&salvage->rows.at[kept], &salvage->rows.at[i]) != 0)
            salvage->rows.at[++kept] = salvage->rows.at[i];
    salvage->rows.len = kept + 1;
}

size_t store_salvage_find(const struct store_salvage *salvage, int64_t seq, size_t *count) {
    size_t low = 0, high = salvage->rows.len;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (salvage->rows.at[middle].seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    *count = 0;
    while (low + *count < salvage->rows.len && salvage->rows.at[low + *count].seq == seq)
        ++*count;
    return low;
}

/* ---------------------------------------------------------------------------------------- files */

static char *bytes_read(const char *folder, const char *name, size_t *size, struct err *err) {
    char *path = path_join(folder, name);
    char *bytes = file_exists(path) ? file_read(path, MOST_BYTES, size, err) : mem_strdup("");
    free(path);
    return bytes;
}

static void pages_read(struct pages *pages, struct store_salvage *salvage) {
    const unsigned char *frame;
    for (size_t at = 0; at + pages->page <= pages->db_size; at += pages->page)
        for (int log = 0; log < 2; log++)
            leaf_read(pages, pages->db + at, log == 1, salvage);
    for (size_t i = 0; (frame = frame_at(pages, i)); i++)
        leaf_read(pages, frame + FRAME_HEADER, true, salvage);
}

bool store_salvage_read(const char *folder, struct store_salvage *salvage, struct err *err) {
    struct pages pages = {0};
    *salvage = (struct store_salvage){.arena = arena_new()};
    char *db = bytes_read(folder, "session.db", &pages.db_size, err);
    char *wal = db ? bytes_read(folder, "session.db-wal", &pages.wal_size, err) : NULL;
    bool ok = wal != NULL;
    if (ok) {
        pages.db = (unsigned char *)db;
        pages.wal = (unsigned char *)wal;
        pages.page = page_size(&pages);
        newest_fill(&pages);
        pages_read(&pages, salvage);
        rows_sort(salvage);
        vec_free(&pages.newest);
    }
    free(wal);
    free(db);
    return ok;
}

void store_salvage_free(struct store_salvage *salvage) {
    vec_free(&salvage->rows);
    arena_free(salvage->arena);
}
