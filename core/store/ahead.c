/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the log ahead of its user, in pieces, by threads with connections of their own. Each thread
 * follows the chain through its piece, starting from the hash that the event before the piece has
 * in the file. Whoever takes the events compares that hash with what was proven so far, so the
 * chain holds from piece to piece. Where something is wrong, reading ahead ends, and store_replay
 * says what it is. */
#include "store/private.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define PIECE 1024 /* events in a piece */
#define WORTH 2048 /* fewer events are read at once */
#define MOST_THREADS 4
#define PIECES 6     /* for each thread: read but not taken yet, while the loop draws */
#define MOST_TYPE 48 /* characters of an event's type, with room */

/* The thread that reads the piece writes it until is_read. Afterwards it belongs to whoever takes
 * the events. */
struct piece {
    struct store_link before; /* what the event before it has in the file */
    struct arena *arena;
    VEC(struct store_made) events;
    VEC(struct store_link) links;
    bool is_read, broken;
};

struct reader {
    struct store_ahead *ahead;
    pthread_t thread;
    sqlite3 *db;
    struct store_wide *wide;
    sqlite3_stmt *rows, *before;
    struct buf scratch;
};

struct store_ahead {
    struct store *store;
    store_make_fn *make;
    int64_t after, last;
    struct piece *pieces;
    size_t n_pieces, n_readers;
    struct reader readers[MOST_THREADS];
    pthread_mutex_t mutex;
    pthread_cond_t read, taken; /* signals that a piece was read, was taken */
    int64_t next, now, count;   /* the piece to read next, the piece taken now, all pieces */
    size_t at;                  /* the event in the piece taken now */
    bool ended;
};

/* ------------------------------------------------------------------------------------- reading */

static bool reader_open(struct reader *reader) {
    const char *path = reader->ahead->store->path;
    bool ok = sqlite3_open_v2(path, &reader->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                              NULL) == SQLITE_OK;
    if (!ok)
        return false;
    sqlite3_db_config(reader->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_busy_timeout(reader->db, 2000);
    reader->wide = store_wide_begin(reader->db);
    return sqlite3_prepare_v2(reader->db,
                              "SELECT " STORE_COLUMNS ", hash FROM events"
                              " WHERE seq > ? AND seq <= ? ORDER BY seq",
                              -1, &reader->rows, NULL) == SQLITE_OK &&
           sqlite3_prepare_v2(reader->db, "SELECT hash FROM events WHERE seq = ?", -1,
                              &reader->before, NULL) == SQLITE_OK;
}

static void reader_close(struct reader *reader) {
    sqlite3_finalize(reader->rows);
    sqlite3_finalize(reader->before);
    sqlite3_close(reader->db);
    free(reader->wide);
    buf_free(&reader->scratch);
}

/* What the event before the piece has in the file. Before the first one all is zero. */
static bool before_read(struct reader *reader, int64_t seq, struct store_link *link) {
    *link = (struct store_link){.seq = seq};
    if (!seq)
        return true;
    store_wide_forget(reader->wide);
    sqlite3_bind_int64(reader->before, 1, seq);
    bool found = sqlite3_step(reader->before) == SQLITE_ROW &&
                 sqlite3_column_bytes(reader->before, 0) == HASH_BYTES;
    if (found)
        memcpy(link->hash, sqlite3_column_blob(reader->before, 0), HASH_BYTES);
    sqlite3_reset(reader->before);
    return found;
}

/* The texts of the row are not terminated. Those that were hashed are: they are in the scratch. */
static bool row_make(struct reader *reader, struct piece *piece, const struct store_row *row,
                     const struct store_link *link) {
    char type[MOST_TYPE];
    if (!row->type.at || !row->payload.at || row->type.len >= sizeof type)
        return false;
    memcpy(type, row->type.at, row->type.len);
    type[row->type.len] = '\0';
    struct store_event event = {row->seq, row->wall_ms, type,
                                store_link_payload(&reader->scratch, row)};
    *vec_push(&piece->events) =
        (struct store_made){event.seq, event.wall_ms, reader->ahead->make(piece->arena, &event)};
    *vec_push(&piece->links) = *link;
    return true;
}

/* As store_row_read, without SQLite's own copies. */
static struct store_row row_read(sqlite3_stmt *rows) {
    struct str texts[3];
    for (int i = 0; i < 3; i++) {
        texts[i].at = sqlite3_column_blob(rows, i + 2);
        texts[i].len = (size_t)sqlite3_column_bytes(rows, i + 2);
    }
    return (struct store_row){.seq = sqlite3_column_int64(rows, 0),
                              .wall_ms = sqlite3_column_int64(rows, 1),
                              .type = texts[0],
                              .payload = texts[1],
                              .hash = texts[2]};
}

static bool rows_read(struct reader *reader, struct piece *piece, int64_t upto) {
    struct store_link at = piece->before, link;
    int code;
    store_wide_forget(reader->wide);
    sqlite3_bind_int64(reader->rows, 1, at.seq);
    sqlite3_bind_int64(reader->rows, 2, upto);
    while ((code = sqlite3_step(reader->rows)) == SQLITE_ROW) {
        struct store_row row = row_read(reader->rows);
        store_link_make(&reader->scratch, &at, &row, &link);
        if (!store_row_is(&row, &link) || !row_make(reader, piece, &row, &link))
            break;
        at = link;
    }
    sqlite3_reset(reader->rows);
    return code == SQLITE_DONE;
}

static void piece_read(struct reader *reader, struct piece *piece, int64_t number) {
    const struct store_ahead *ahead = reader->ahead;
    int64_t after = ahead->after + number * PIECE;
    arena_reset(piece->arena);
    piece->events.len = piece->links.len = 0;
    piece->broken = !reader->before || !before_read(reader, after, &piece->before) ||
                    !rows_read(reader, piece, MIN_OF(after + PIECE, ahead->last));
}

/* The number of a piece to read, when there is room for it; -1: there is nothing to do. */
static int64_t piece_wait(struct store_ahead *ahead) {
    while (!ahead->ended && ahead->next < ahead->count &&
           ahead->next >= ahead->now + (int64_t)ahead->n_pieces)
        pthread_cond_wait(&ahead->taken, &ahead->mutex);
    return ahead->ended || ahead->next >= ahead->count ? -1 : ahead->next++;
}

static void *reader_run(void *data) {
    struct reader *reader = data;
    struct store_ahead *ahead = reader->ahead;
    (void)!reader_open(reader); /* without a statement its pieces are broken */
    pthread_mutex_lock(&ahead->mutex);
    for (int64_t number; (number = piece_wait(ahead)) >= 0;) {
        struct piece *piece = &ahead->pieces[(size_t)number % ahead->n_pieces];
        pthread_mutex_unlock(&ahead->mutex);
        piece_read(reader, piece, number);
        pthread_mutex_lock(&ahead->mutex);
        piece->is_read = true;
        pthread_cond_signal(&ahead->read);
    }
    pthread_mutex_unlock(&ahead->mutex);
    reader_close(reader);
    return NULL;
}

/* ------------------------------------------------------------------------------------- taking */

/* Signals are for the thread that runs the loop. */
static size_t readers_start(struct store_ahead *ahead, size_t wanted) {
    sigset_t all, before;
    size_t started = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; started < wanted; started++) {
        ahead->readers[started] = (struct reader){.ahead = ahead};
        if (pthread_create(&ahead->readers[started].thread, NULL, reader_run,
                           &ahead->readers[started]))
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

struct store_ahead *store_ahead_begin(struct store *store, store_make_fn *make) {
    int64_t last = store->tail_known ? store->tail.seq : 0, after = store->proven.seq;
    if (!store->chained || store->damage.found || !store->in_place || last - after < WORTH ||
        !sqlite3_threadsafe())
        return NULL;
    struct store_ahead *ahead = mem_alloc(1, sizeof *ahead);
    size_t threads = (size_t)MIN_OF(MAX_OF(os_cpu_count(), 1), MOST_THREADS);
    *ahead = (struct store_ahead){.store = store,
                                  .make = make,
                                  .after = after,
                                  .last = last,
                                  .count = (last - after + PIECE - 1) / PIECE,
                                  .n_pieces = threads * PIECES};
    ahead->pieces = mem_alloc(ahead->n_pieces, sizeof *ahead->pieces);
    for (size_t i = 0; i < ahead->n_pieces; i++)
        ahead->pieces[i].arena = arena_new();
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->read, NULL);
    pthread_cond_init(&ahead->taken, NULL);
    ahead->n_readers = readers_start(ahead, threads);
    if (ahead->n_readers)
        return ahead;
    store_ahead_free(ahead);
    return NULL;
}

void store_ahead_free(struct store_ahead *ahead) {
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->mutex);
    ahead->ended = true;
    pthread_cond_broadcast(&ahead->taken);
    pthread_mutex_unlock(&ahead->mutex);
    for (size_t i = 0; i < ahead->n_readers; i++)
        pthread_join(ahead->readers[i].thread, NULL);
    for (size_t i = 0; i < ahead->n_pieces; i++) {
        arena_free(ahead->pieces[i].arena);
        vec_free(&ahead->pieces[i].events);
        vec_free(&ahead->pieces[i].links);
    }
    pthread_cond_destroy(&ahead->taken);
    pthread_cond_destroy(&ahead->read);
    pthread_mutex_destroy(&ahead->mutex);
    free(ahead->pieces);
    free(ahead);
}

/* Waits until the piece was read. False when that takes longer than `wait_ms` (negative: waits as
 * long as it takes). */
static bool piece_is_read(struct store_ahead *ahead, const struct piece *piece, int wait_ms) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += MAX_OF(wait_ms, 0) * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int late = 0;
    pthread_mutex_lock(&ahead->mutex);
    while (!piece->is_read && !late)
        late = wait_ms < 0 ? pthread_cond_wait(&ahead->read, &ahead->mutex)
                           : pthread_cond_timedwait(&ahead->read, &ahead->mutex, &until);
    bool is_read = piece->is_read;
    pthread_mutex_unlock(&ahead->mutex);
    return is_read;
}

static void piece_give_back(struct store_ahead *ahead, struct piece *piece) {
    pthread_mutex_lock(&ahead->mutex);
    piece->is_read = false;
    ahead->now++;
    ahead->at = 0;
    pthread_cond_broadcast(&ahead->taken);
    pthread_mutex_unlock(&ahead->mutex);
}

/* Whether the piece begins where the chain was followed to. */
static bool piece_joins(const struct store_ahead *ahead, const struct piece *piece) {
    const struct store_link *proven = &ahead->store->proven;
    return piece->before.seq == proven->seq &&
           !memcmp(piece->before.hash, proven->hash, HASH_BYTES);
}

enum store_ahead_is store_ahead_next(struct store_ahead *ahead, int wait_ms,
                                     struct store_made *made) {
    while (ahead->now < ahead->count) {
        struct piece *piece = &ahead->pieces[(size_t)ahead->now % ahead->n_pieces];
        if (!ahead->at && !piece_is_read(ahead, piece, wait_ms))
            return STORE_AHEAD_LATE;
        if (!ahead->at && !piece_joins(ahead, piece))
            return STORE_AHEAD_OVER;
        if (ahead->at < piece->events.len) {
            ahead->store->proven = piece->links.at[ahead->at];
            *made = piece->events.at[ahead->at++];
            return STORE_AHEAD_EVENT;
        }
        if (piece->broken || !piece->events.len)
            return STORE_AHEAD_OVER;
        piece_give_back(ahead, piece);
    }
    return STORE_AHEAD_OVER;
}
