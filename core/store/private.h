/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of store share. */
#ifndef HONE_STORE_PRIVATE_H
#define HONE_STORE_PRIVATE_H

#include <pthread.h>
#include <sqlite3.h>
#include <sys/types.h>

#include "store/store.h"

/* A place in the chain: the number of an event, and its hash. All zero: before the first event. */
struct store_link {
    int64_t seq;
    unsigned char hash[HASH_BYTES];
};

/* An event as it is in the file. */
struct store_row {
    int64_t seq, wall_ms;
    struct str type, payload; /* terminated where SQLite read them; NULL: there is none */
    struct str hash;          /* the hash that it has in the file; 16 bytes when it is whole */
};

/* What session.db-head says: the last event that was acknowledged, and how session.db was left. */
struct store_head {
    enum { STORE_HEAD_NONE, STORE_HEAD_BAD, STORE_HEAD_GOOD } is;
    struct store_link last;
    bool sealed;  /* it was closed in order, when the file had these bytes */
    int64_t size; /* session.db's at that time; of a bad head its own */
    struct hash file;
};

/* Which file a path led to. */
struct store_place {
    bool known;
    dev_t device;
    ino_t inode;
};

/* What the files had after the last commit, as far as it is looked at: their sizes and some of
 * their bytes. There is no padding: two are compared as a whole. */
struct store_trace {
    int64_t db_bytes, wal_bytes;
    unsigned char places[184]; /* trace.c */
};

struct store {
    char *folder, *path; /* path: of session.db */
    sqlite3 *db;         /* see store_db */
    pthread_t owner;     /* the thread that opened it */
    sqlite3_stmt *append;
    int lock;           /* descriptor of the lock file; -1 when read-only */
    int log;            /* descriptor of hone.log; -1 */
    int head;           /* descriptor of session.db-head; -1 */
    int64_t rows_bytes; /* bytes of experiments.jsonl that are true; -1: it has to be made anew */
    int rows_anew;      /* descriptor of the new file beside it; -1: none */
    int64_t anew_bytes; /* bytes in the new file */
    bool read_only, look_only;
    bool defers; /* a thread compares the seal: */
    struct store_sealing *sealing;
    bool in_place; /* it is read in its place, not as a copy */
    bool chained;  /* its events have hashes; older sessions have none */
    bool is_new;   /* nothing in it yet */
    bool prepared; /* it is ready for writing */
    bool swept;    /* what killed hones left in its folders was removed */
    bool tail_known;
    struct store_link tail;   /* the last event */
    struct store_link proven; /* how far the chain was followed from the beginning */
    struct store_head known_head;
    struct store_place db_place, wal_place;
    bool traced; /* what was written last is known: */
    struct store_trace trace;
    int frames;                  /* that count in the log of SQLite */
    int index;                   /* descriptor of SQLite's index; -1: not opened yet */
    size_t index_bytes;          /* that it had after the last commit; 0: not known */
    char *index_was, *index_now; /* they, and those that are compared with them */
    struct store_damage damage;
    struct buf scratch; /* for hashing */
    int attempt;        /* the attempt that is being written */
    uint64_t sum;       /* of its rows */
    bool derived_doubtful;
    char *holder, *why, *note, *copy; /* copy: a folder to remove; NULL */
};

/* The connection, for the thread that opened the store. Two threads in one connection read rows
 * that are not there, and a session that is whole seems damaged; so any other thread is a bug. */
sqlite3 *store_db(struct store *store);
/* Fills *err from the connection's last failure: what was tried, why, what to do. */
bool store_sql_failed(struct store *store, const char *what, struct err *err);
/* Whether that failure is about what the file holds. */
bool store_sql_is_damage(const struct store *store);
bool store_exec(struct store *store, const char *sql, const char *what,
                struct err *err) CC_MUST_USE;
/* The number that a statement returns; `missing` on failure. */
int64_t store_number(struct store *store, const char *sql, int64_t missing);

/* open.c, seal.c: opens the database in the folder for reading or writing, and checks it without
 * changing it. */
bool store_db_open(struct store *store, struct err *err) CC_MUST_USE;
void store_db_close(struct store *store);
void store_leftovers_remove(struct store *store);
/* Whether session.db has the bytes it was closed with. A file larger than `most` is not compared
 * (0: any size is). NONE: it was not closed in order, or is in use. */
enum store_seal {
    STORE_SEAL_NONE,
    STORE_SEAL_WHOLE,
    STORE_SEAL_BROKEN,
    STORE_SEAL_ROWS,
    STORE_SEAL_TORN
};
enum store_seal store_seal_check(const struct store *store, int64_t most);
#define STORE_SEAL_MOST ((int64_t)256 << 20) /* only hone session check compares a larger file */
/* What can be said without a seal, as far as a file of at most `most` bytes can be read by a
 * connection of its own. ROWS: of attempts, are not as they were written. TORN: SQLite finds
 * something (in files of a quarter of that size). Else NONE. */
enum store_seal store_tables_look(const struct store *store, int64_t most);
/* The one, and the other of a session without a seal that may be written. Begin does it by a
 * thread. False: the thread could not be started. End waits for it; NONE: there is no
 * thread. */
enum store_seal store_seal_look(const struct store *store, int64_t most);
bool store_seal_begin(struct store *store, int64_t most);
enum store_seal store_seal_end(struct store *store);
/* open.c: what to say of a seal that is broken; a check says it too. */
#define STORE_CHANGED "session.db was changed after hone closed it"
#define STORE_TABLES_ANEW \
    "Only tables for queries are damaged; hone makes them again. The events are whole"
void store_seal_means(struct store *store, enum store_seal seal);
/* The bytes of the file `path` + `suffix`; -1: there is none. */
int64_t store_bytes_of(const char *path, const char *suffix);
/* SQLite's own check. True, or what it found first. */
bool store_integrity(sqlite3 *db, struct buf *found);

/* tables.c: makes what the events of a new file need, before anything is written. */
bool store_schema_make(struct store *store, struct err *err) CC_MUST_USE;
/* Makes the tables for queries, where they are missing. */
bool store_tables_make(struct store *store, struct err *err) CC_MUST_USE;
/* Empties what is made from the events, so that it is made again. */
bool store_tables_clear(struct store *store, struct err *err) CC_MUST_USE;
/* Whether the rows of each attempt are those that were written. Fills `what` with the first that
 * are not. *checked and *unknown: how many could be compared, and how many could not. */
bool store_sums_check(sqlite3 *db, int64_t *checked, int64_t *unknown, struct buf *what);

/* wide.c: from now on the connection reads its file in large pieces. NULL: it does not. Free the
 * result with free when the connection is closed. Forget: another process may have written. Call it
 * before each statement. */
struct store_wide;
struct store_wide *store_wide_begin(sqlite3 *db) CC_MUST_USE;
void store_wide_forget(struct store_wide *wide); /* accepts NULL */

/* chain.c: the place in the chain of an event that follows `before`. `scratch` saves an
 * allocation. */
void store_link_make(struct buf *scratch, const struct store_link *before,
                     const struct store_row *row, struct store_link *link);
/* The row's payload, terminated, in the scratch of the last store_link_make, which was of this
 * row. */
const char *store_link_payload(const struct buf *scratch, const struct store_row *row);
/* Whether the row has the hash that it should. */
bool store_row_is(const struct store_row *row, const struct store_link *link);
struct store_row store_row_read(sqlite3_stmt *rows);
#define STORE_COLUMNS "seq, wall_ms, type, payload"
/* Reads the last event. False when it cannot be read. All zero when there is none. */
bool store_tail_read(struct store *store, struct store_link *tail);
/* Reads what event number seq has in the file. False when it is not there. */
bool store_link_read(struct store *store, int64_t seq, struct store_link *link);
/* Gives hashes to the events of an older session, all at once. */
bool store_chain_adopt(struct store *store, struct err *err) CC_MUST_USE;
/* Notes where the damage begins, unless an earlier place is known. Returns false. */
bool store_damage_note(struct store *store, int64_t seq, const char *format, ...) CC_PRINTF(3, 4);
/* Fills *err with "…/session.db is damaged: ... What to do." Returns false. */
bool store_damage_tell(const struct store *store, struct err *err);

/* head.c */
void store_head_read(const char *folder, struct store_head *head);
/* Writes what is true now. When it cannot be written nothing happens, because an older head is
 * still true. */
void store_head_write(struct store *store, const struct store_head *head);
/* The bytes of session.db and their hash. False when it cannot be read. */
bool store_file_sum(const char *path, int64_t *size, struct hash *sum);
/* Whether the database ends where the head says. If not, notes the damage. */
bool store_head_agrees(struct store *store);

/* here.c: whether the paths still lead to the files that are open. */
void store_place_note(struct store *store);
bool store_is_here(struct store *store, struct err *err);

/* trace.c: from now on each commit is noted. Same: whether the files are as the last one left them,
 * and no other program wrote into them. */
void store_trace_follow(struct store *store);
bool store_trace_same(struct store *store);
/* index.c: notes SQLite's index as it is after a commit; before the connection is used, makes one
 * that was changed or cut again. Whole: all of its bytes are compared, not its length alone. */
void store_index_note(struct store *store);
void store_index_keep(struct store *store, bool whole);

/* Called before anything is written: whether it may be. Then makes schema and chain, and breaks the
 * seal. */
bool store_may_write(struct store *store, struct err *err) CC_MUST_USE;

/* Takes the lock of a folder. True and *descriptor; or, when somebody has it, true with *descriptor
 * -1 and *holder (a new string). The system frees the lock of a process that dies. For a folder
 * that cannot be written, false with *unwritable set. */
struct store_lock {
    int descriptor;
    char *holder;
    bool unwritable;
};
bool store_lock_take(const char *folder, struct store_lock *lock, struct err *err) CC_MUST_USE;

#endif
