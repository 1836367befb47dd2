/* SPDX-License-Identifier: Apache-2.0 */
/* session.db-head, beside the database: one line with the last event that was acknowledged. When
 * the session was closed in order, it also has the size and the hash of session.db as it was left.
 * Without the first, events that a damaged write-ahead log loses would leave no trace. Without the
 * second, damage in pages that hold no event would stay unnoticed. */
#include "store/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "hone-head 1"
#define BODY 120 /* bytes before the line's own hash */
#define WHOLE (BODY + 32 + 1)
#define CHUNK ((size_t)1 << 20)

static char *head_path(const char *folder) {
    return path_join(folder, "session.db-head");
}

static void hex_of(const unsigned char *bytes, char out[33]) {
    for (int i = 0; i < HASH_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static bool hex_read(const char *text, unsigned char *bytes) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < HASH_BYTES; i++) {
        const char *high = memchr(digits, text[2 * i], 16);
        const char *low = memchr(digits, text[2 * i + 1], 16);
        if (!high || !low)
            return false;
        bytes[i] = (unsigned char)((high - digits) << 4 | (low - digits));
    }
    return true;
}

static bool number_read(const char *text, int64_t *value) {
    char digits[21];
    memcpy(digits, text, 20);
    digits[20] = '\0';
    long long number = 0;
    bool ok = strspn(digits, "0123456789") == 20 && str_to_int((struct str){digits, 20}, &number) &&
              number >= 0;
    *value = number;
    return ok;
}

static void line_make(const struct store_head *head, char line[WHOLE + 1]) {
    char last[33];
    hex_of(head->last.hash, last);
    int len = snprintf(line, WHOLE + 1, MAGIC " %020lld %s %020lld %s ", (long long)head->last.seq,
                       last, (long long)(head->sealed ? head->size : 0),
                       head->sealed ? head->file.hex : "--------------------------------");
    if (len != BODY)
        HONE_BUG("the head's line has another length");
    struct hash own = hash_content(line, BODY);
    snprintf(line + BODY, WHOLE + 1 - BODY, "%s\n", own.hex);
}

static bool line_read(const char *line, struct store_head *head) {
    size_t at = sizeof MAGIC;
    struct hash own = hash_content(line, BODY);
    if (memcmp(line + BODY, own.hex, 32) != 0 || memcmp(line, MAGIC " ", at) != 0)
        return false;
    bool ok = number_read(line + at, &head->last.seq) &&
              hex_read(line + at + 21, head->last.hash) && number_read(line + at + 54, &head->size);
    head->sealed = line[at + 75] != '-';
    memcpy(head->file.hex, line + at + 75, 32);
    head->file.hex[32] = '\0';
    return ok;
}

void store_head_read(const char *folder, struct store_head *head) {
    *head = (struct store_head){.is = STORE_HEAD_NONE};
    char *path = head_path(folder);
    int fd = file_open(path, O_RDONLY, 0, NULL);
    free(path);
    if (fd < 0)
        return;
    char line[WHOLE + 2];
    ssize_t got = pread(fd, line, sizeof line, 0);
    close(fd);
    bool ok = got == WHOLE && line_read(line, head);
    if (!ok)
        *head = (struct store_head){.size = MAX_OF(got, 0)};
    head->is = ok ? STORE_HEAD_GOOD : STORE_HEAD_BAD;
}

/* A file that somebody removed is made again. */
static bool head_open(struct store *store) {
    struct stat st;
    if (store->head >= 0 && fstat(store->head, &st) == 0 && st.st_nlink)
        return true;
    if (store->head >= 0)
        close(store->head);
    char *path = head_path(store->folder);
    store->head = file_open(path, O_RDWR | O_CREAT, 0600, NULL);
    free(path);
    return store->head >= 0;
}

void store_head_write(struct store *store, const struct store_head *head) {
    char line[WHOLE + 1];
    line_make(head, line);
    store->known_head = *head;
    store->known_head.is = STORE_HEAD_GOOD;
    if (!head_open(store) || pwrite(store->head, line, WHOLE, 0) != WHOLE ||
        ftruncate(store->head, WHOLE) != 0)
        errno = 0;
}

/* SQLite reads it: to close a file that was opened here would take all locks of this process on it
 * away, those of SQLite's connections as well (fcntl). */
bool store_file_sum(const char *path, int64_t *size, struct hash *sum) {
    sqlite3 *db = NULL;
    sqlite3_file *file = NULL;
    sqlite3_int64 bytes = 0;
    bool ok = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
              sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK &&
              file && file->pMethods && file->pMethods->xFileSize(file, &bytes) == SQLITE_OK;
    char *chunk = mem_alloc(CHUNK, 1);
    struct hash_stream *stream = hash_begin();
    for (sqlite3_int64 at = 0; ok && at < bytes; at += CHUNK) {
        int part = (int)MIN_OF((sqlite3_int64)CHUNK, bytes - at);
        ok = file->pMethods->xRead(file, chunk, part, at) == SQLITE_OK;
        hash_add(stream, chunk, (size_t)part);
    }
    *size = bytes;
    *sum = hash_end(stream);
    free(chunk);
    sqlite3_close_v2(db);
    return ok;
}

bool store_head_agrees(struct store *store) {
    const struct store_head *head = &store->known_head;
    struct store_link there = {0};
    if (head->is != STORE_HEAD_GOOD || !store->chained || head->last.seq == 0)
        return true;
    if (store->tail.seq < head->last.seq)
        return store_damage_note(store, store->tail.seq + 1,
                                 "its last event is %lld, but %lld events were stored: the end is "
                                 "missing, as after a power cut, or where session.db-wal was not "
                                 "copied along",
                                 (long long)store->tail.seq, (long long)head->last.seq);
    if (!store_link_read(store, head->last.seq, &there) ||
        memcmp(there.hash, head->last.hash, HASH_BYTES) != 0)
        return store_damage_note(store, head->last.seq,
                                 "event %lld is not the one that was stored as the last",
                                 (long long)head->last.seq);
    return true;
}
