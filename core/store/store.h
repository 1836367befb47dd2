/* SPDX-License-Identifier: Apache-2.0 */
/* store: a session on disk. The event log is the truth; everything else in the folder is made from
 * it and can be made again.
 *
 *   <folder>/session.db                        events, and tables derived from them for queries
 *   <folder>/session.db-head                   the last event, how session.db was left
 *   <folder>/experiments.jsonl                 one line per attempt
 *   <folder>/checkpoints/                      kernel sources per attempt
 *   <folder>/optimization_memory/rewrites.json the optimisation memory
 *   <folder>/artifacts/<hash>                  by content hash
 *   <folder>/task/                             the session's own copies of the task's files
 *   <folder>/hone.log                          what happened, for people
 *   <folder>/lock                              who holds the session */
#ifndef HONE_STORE_STORE_H
#define HONE_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

#define STORE_APPLICATION_ID 0x686f6e65 /* "hone" */
#define STORE_VERSION 2                 /* version 1 has no chain */

struct store;

/* Opens or makes the session in `folder`. It is opened read-only when another process holds it,
 * when the place cannot be written, or with `look_only`. NULL and *err when the folder cannot be
 * made or locked, or when the file is no session of hone's or of a newer version. ERR_DAMAGED when
 * it is not as hone left it; with `look_only`, what can be read of it is opened all the same. */
struct store *store_open(const char *folder, bool look_only, struct err *err) CC_MUST_USE;
/* The same, but a thread compares a session that was closed in order with how it was left, while
 * its log is read. Settle waits for the thread; call it before the session is believed or written
 * to. It is false with ERR_DAMAGED where store_open would have been. It also removes what killed
 * hones left in the folder. */
struct store *store_open_early(const char *folder, bool look_only, struct err *err) CC_MUST_USE;
/* From now on the calling thread uses it. The one that did so far has ended with it. */
void store_take_over(struct store *store);
bool store_settle(struct store *store, struct err *err) CC_MUST_USE;
void store_close(struct store *store); /* accepts NULL */
bool store_is_read_only(const struct store *store);
/* "process 4711 on laptop"; NULL when nobody else holds it. */
const char *store_holder(const struct store *store);
/* Whether nobody holds it any more, so that it can be opened for writing. Where somebody does,
 * *holder is who, to be freed; else NULL. */
bool store_is_free(const struct store *store, char **holder);
/* Why it is read-only: "it is held by process 4711 on laptop", "... cannot be written". NULL for a
 * session that is not. */
const char *store_why_read_only(const struct store *store);
/* What is odd about the files, though it makes no event doubtful. NULL: nothing. */
const char *store_note(const struct store *store);
const char *store_folder(const struct store *store);
/* Whether `folder` holds a session already. */
bool store_exists(const char *folder);
/* Moves a session out of the way, to "<folder>.<n>". True when there is none. Refused while another
 * process holds it. */
bool store_set_aside(const char *folder, struct err *err) CC_MUST_USE;
/* Moves it to a name that does not exist yet. */
bool store_move(const char *folder, const char *aside, struct err *err) CC_MUST_USE;

/* Where a session stops being what hone wrote. */
struct store_damage {
    bool found;
    int64_t seq; /* the first event that is not as it was written; 0: all that was read is */
    char text[240];
};

/* Appends one event and commits it. When this returns true, a kill cannot lose the event. False and
 * *err when the disk is full or failing; ERR_DAMAGED when the files are no longer where they were
 * opened. The log is then as it was. *seq may be NULL. */
bool store_append(struct store *store, int64_t wall_ms, const char *type, const char *payload,
                  int64_t *seq, struct err *err) CC_MUST_USE;
struct store_event {
    int64_t seq, wall_ms;
    const char *type, *payload; /* gone after the callback */
};
/* Calls fn for every event after `after`, in order, until fn returns false. The chain of hashes is
 * followed on the way. When an event is not as it was written, the events before it are passed to
 * fn, and the result is false with ERR_DAMAGED. What comes before `after` is not checked. */
typedef bool store_event_fn(void *data, const struct store_event *event);
bool store_replay(struct store *store, int64_t after, store_event_fn *fn, void *data,
                  struct err *err) CC_MUST_USE;
/* The number of the last event; 0: there is none. */
int64_t store_last_seq(struct store *store);

/* Reads the events after those already read, ahead, by threads of its own. `make` is called on
 * these threads, and what it makes of an event is in the arena until the next event is taken. This
 * changes nothing but the speed: the chain is followed all the same. Where something is wrong it
 * reports OVER, and store_replay goes on from there. */
struct store_made {
    int64_t seq, wall_ms;
    void *made;
};
typedef void *store_make_fn(struct arena *arena, const struct store_event *event);
struct store_ahead;
/* NULL: there is little to read, or store_replay has to read it. */
struct store_ahead *store_ahead_begin(struct store *store, store_make_fn *make);
void store_ahead_free(struct store_ahead *ahead); /* accepts NULL */
/* Takes the next event. LATE: it was not read within wait_ms (negative: waits as long as it takes).
 * OVER: what is left is for store_replay. */
enum store_ahead_is { STORE_AHEAD_EVENT, STORE_AHEAD_LATE, STORE_AHEAD_OVER };
enum store_ahead_is store_ahead_next(struct store_ahead *ahead, int wait_ms,
                                     struct store_made *made);

/* Whether the files that are open are no longer where they were opened: they were removed, moved or
 * replaced. */
bool store_is_lost(struct store *store);
/* Writes all of a lost session into another folder, which must hold none, and opens it there:
 * events, tables, and the artefacts that still exist. The lost one stays open. */
struct store *store_rescue(struct store *store, const char *folder, struct err *err) CC_MUST_USE;
/* Copies the artefacts from one session's folder to another's. One that does not have the bytes its
 * name says is left out. */
struct store_copied {
    size_t whole, damaged;
};
void store_artefacts_copy(const char *from, const char *to, struct store_copied *copied);

/* Goes through a whole session on disk without changing it, and reports each part to fn. False and
 * *err when there is no session. */
enum store_finding { STORE_WHOLE, STORE_UNPROVEN, STORE_DAMAGED, STORE_FINDINGS };
typedef void store_check_fn(void *data, const char *part, enum store_finding is, const char *text);
bool store_check(const char *folder, store_check_fn *fn, void *data, struct err *err) CC_MUST_USE;

/* What a repair cannot know about events. */
struct store_repair_ways {
    const char *const *harmless; /* types that no other event refers to, ending with NULL; a lost
                                  * one is replaced by: */
    const char *stand_in_type;
    void (*stand_in)(int64_t seq, struct buf *payload);
    /* Gets an event after the place where the new session ends. Proven: by the hashes of its
     * neighbours. */
    void (*behind)(void *data, int64_t seq, bool proven, struct str type, struct str payload);
    void *data;
};
struct store_repaired {
    bool chained;            /* otherwise nothing could be proven */
    int64_t events;          /* events in the new session; */
    int64_t mended, dropped; /* how many of them were mended by their hash, or replaced */
    int64_t cut, last;       /* the first event that is not in it; the last known event */
    int64_t behind;          /* proven events after the cut; */
    int64_t doubtful;        /* other events there */
    struct store_copied artefacts;
};
/* Saves what is true of the session in `folder` into a new one, `to`, which must not exist. The old
 * one is only read. */
bool store_repair(const char *folder, const char *to, const struct store_repair_ways *ways,
                  struct store_repaired *done, struct err *err) CC_MUST_USE;

/* A value of the derived tables. A real that is NAN is stored as NULL. */
struct store_cell {
    enum { STORE_NULL, STORE_INT, STORE_REAL, STORE_TEXT } is;
    int64_t integer;
    double real;
    const char *text;
};
/* Replaces all rows of one attempt in the derived tables, in one transaction: begin, any number of
 * rows, end, which commits. The columns of each table are in tables.c; the first is the attempt. */
bool store_attempt_begin(struct store *store, int attempt, struct err *err) CC_MUST_USE;
bool store_table_row(struct store *store, const char *table, const struct store_cell *cells,
                     size_t count, struct err *err) CC_MUST_USE;
/* `seq`: the event up to which the derived tables, and experiments.jsonl as it is now, are true. */
bool store_attempt_end(struct store *store, int64_t seq, struct err *err) CC_MUST_USE;
/* The event up to which the derived tables are true; 0 when they are empty. */
int64_t store_derived_seq(struct store *store);

/* experiments.jsonl has one row for each attempt and grows at its end. A row is written before the
 * tables that go with it are committed, and the true length of the file is committed with them.
 * What a kill leaves after that length is cut off and written again from the log. */
/* Cuts the file to what was committed. False when it is shorter, or its true length is unknown:
 * then all of it has to be made anew. */
bool store_rows_mend(struct store *store) CC_MUST_USE;
/* Adds whole lines at its end. False and *err when they cannot be written, or the file was changed
 * from outside (then store_rows_mend is false too). */
bool store_rows_add(struct store *store, struct str lines, struct err *err) CC_MUST_USE;
/* Writes all of it anew beside the old file: begin, any number of adds, end, which replaces the old
 * file and commits that. The tables are already true by then. A process that dies in between leaves
 * the old file, and store_rows_mend is false. */
bool store_rows_begin(struct store *store, struct err *err) CC_MUST_USE;
bool store_rows_end(struct store *store, struct err *err) CC_MUST_USE;

/* Runs one SELECT and calls `row` for each row, with its values as text (NULL for null). Anything
 * that would write is refused. Usage error for SQL that does not parse. */
typedef bool store_query_fn(void *data, size_t count, const char *const *names,
                            const char *const *values);
bool store_query(struct store *store, const char *sql, store_query_fn *row, void *data,
                 struct err *err) CC_MUST_USE;

/* Puts bytes under their content hash. Bytes that are there already cost nothing. */
bool store_artefact_put(struct store *store, const void *data, size_t size, struct hash *hash,
                        struct err *err) CC_MUST_USE;
/* Reads what is under a hash, and compares it with the hash. Free it with free. NULL and *err when
 * there is none; ERR_DAMAGED for other bytes. */
#define STORE_ARTEFACT_MOST ((size_t)256 << 20)
char *store_artefact_read(const struct store *store, const char *hash, size_t *size,
                          struct err *err) CC_MUST_USE;
/* Whether the file has the bytes that belong to the hash. */
bool store_artefact_is(const char *path, const char *hash);
/* "<folder>/artifacts/<hash>", a new string. NULL when the text is no hash. */
char *store_artefact_path(const struct store *store, const char *hash) CC_MUST_USE;
/* Writes a file in the session's folder, as a whole or not at all. Makes the folder that it is
 * in. */
bool store_file_write(struct store *store, const char *name, struct str text,
                      struct err *err) CC_MUST_USE;
/* Writes a line with the time to hone.log. A line that cannot be written is dropped. */
void store_log(struct store *store, const char *level, const char *text);

#endif
