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
#define STORE_VERSION 2                 /* 1: without a chain */

struct store;

/* Opens or makes the session in `folder`. It is opened read-only when another process holds it,
 * when the place cannot be written, or with `look_only`. NULL and *err: the folder cannot be made
 * or locked, the file is no session of hone's, or of a newer version. ERR_DAMAGED: it is not as
 * hone left it; `look_only` opens what can be read of it all the same. */
struct store *store_open(const char *folder, bool look_only, struct err *err) CC_MUST_USE;
/* The same, but a session that was closed in order is compared with how it was left by a thread,
 * while its log is read. Settle waits for that, before the session is believed or written to; false
 * with ERR_DAMAGED where store_open would have been. */
struct store *store_open_early(const char *folder, bool look_only, struct err *err) CC_MUST_USE;
bool store_settle(struct store *store, struct err *err) CC_MUST_USE;
void store_close(struct store *store); /* accepts NULL */
bool store_is_read_only(const struct store *store);
/* "process 4711 on laptop"; NULL when nobody else holds it. */
const char *store_holder(const struct store *store);
/* "it is held by process 4711 on laptop", "... cannot be written"; NULL for one that is not
 * read-only. */
const char *store_why_read_only(const struct store *store);
/* What is odd about the files without making an event doubtful; NULL: nothing. */
const char *store_note(const struct store *store);
const char *store_folder(const struct store *store);
/* Whether `folder` holds a session already. */
bool store_exists(const char *folder);
/* Moves a session out of the way, to "<folder>.<n>"; true when there is none. Refused while
 * another process holds it. */
bool store_set_aside(const char *folder, struct err *err) CC_MUST_USE;
/* The same to a name that is not there. */
bool store_move(const char *folder, const char *aside, struct err *err) CC_MUST_USE;

/* Where a session stops being what hone wrote. */
struct store_damage {
    bool found;
    int64_t seq; /* of the first event that is not as it was written; 0: all that was read is */
    char text[240];
};

/* Appends one event and commits it: when this returns true, a kill cannot lose it. False and *err
 * when the disk is full or failing, or ERR_DAMAGED when the files are no longer where they were
 * opened; the log is then as it was. *seq may be NULL. */
bool store_append(struct store *store, int64_t wall_ms, const char *type, const char *payload,
                  int64_t *seq, struct err *err) CC_MUST_USE;
struct store_event {
    int64_t seq, wall_ms;
    const char *type, *payload; /* gone after the callback */
};
/* Calls fn for every event after `after`, in order, until it returns false. The chain of hashes is
 * followed on the way: events are told up to the first that is not as it was written, then comes
 * false with ERR_DAMAGED. What lies before `after` is not looked at. */
typedef bool store_event_fn(void *data, const struct store_event *event);
bool store_replay(struct store *store, int64_t after, store_event_fn *fn, void *data,
                  struct err *err) CC_MUST_USE;
/* The number of the last event; 0: there is none. */
int64_t store_last_seq(struct store *store);

/* The events that follow those that were read, read ahead and made into something else by threads
 * of their own: `make` is called on those, and what it makes of an event lives in the arena until
 * the next event is taken. It changes nothing but the speed: the chain is followed all the same,
 * and where something is not as it should be, what is told is over, and store_replay goes on. */
struct store_made {
    int64_t seq, wall_ms;
    void *made;
};
typedef void *store_make_fn(struct arena *arena, const struct store_event *event);
struct store_ahead;
/* NULL: there is little to read, or it has to be read by store_replay. */
struct store_ahead *store_ahead_begin(struct store *store, store_make_fn *make);
void store_ahead_free(struct store_ahead *ahead); /* accepts NULL */
/* The next event. LATE: it is not read after wait_ms (negative: waits as long as it takes). OVER:
 * what is left is for store_replay. */
enum store_ahead_is { STORE_AHEAD_EVENT, STORE_AHEAD_LATE, STORE_AHEAD_OVER };
enum store_ahead_is store_ahead_next(struct store_ahead *ahead, int wait_ms,
                                     struct store_made *made);

/* Whether the files that are open are no longer where they were opened: removed, moved, replaced.
 */
bool store_is_lost(struct store *store);
/* Writes all of a session that was lost into another folder, which must hold none, and opens it
 * there: events, tables, and the artefacts that are still there. The lost one stays open. */
struct store *store_rescue(struct store *store, const char *folder, struct err *err) CC_MUST_USE;
/* Copies the artefacts of one session's folder to another's; those that do not have the bytes their
 * names say are left out. */
struct store_copied {
    size_t whole, damaged;
};
void store_artefacts_copy(const char *from, const char *to, struct store_copied *copied);

/* Goes through all of a session on disk without changing it: fn hears of each part. False and *err
 * when there is no session to look at. */
enum store_finding { STORE_WHOLE, STORE_UNPROVEN, STORE_DAMAGED, STORE_FINDINGS };
typedef void store_check_fn(void *data, const char *part, enum store_finding is, const char *text);
bool store_check(const char *folder, store_check_fn *fn, void *data, struct err *err) CC_MUST_USE;

/* What a repair cannot know of events. */
struct store_repair_ways {
    const char *const *harmless; /* types that no other event refers to; ends with NULL. A lost one
                                  * is replaced: */
    const char *stand_in_type;
    void (*stand_in)(int64_t seq, struct buf *payload);
    /* An event behind the place where the new session ends. Proven: by its neighbours' hashes. */
    void (*behind)(void *data, int64_t seq, bool proven, struct str type, struct str payload);
    void *data;
};
struct store_repaired {
    bool chained;            /* else nothing could be proven */
    int64_t events;          /* in the new session, */
    int64_t mended, dropped; /* of them put right by their hash; replaced */
    int64_t cut, last;       /* the first event that is not in it; the last that is known of */
    int64_t behind;          /* proven events after the cut, */
    int64_t doubtful;        /* others */
    struct store_copied artefacts;
};
/* Saves what is true of the session in `folder` into a new one, `to`, which must not be there. The
 * old one is only read. */
bool store_repair(const char *folder, const char *to, const struct store_repair_ways *ways,
                  struct store_repaired *done, struct err *err) CC_MUST_USE;

/* A value of the derived tables; a real that is NAN is stored as NULL. */
struct store_cell {
    enum { STORE_NULL, STORE_INT, STORE_REAL, STORE_TEXT } is;
    int64_t integer;
    double real;
    const char *text;
};
/* Replaces all rows of one attempt in the derived tables, at once: begin, any number of rows (the
 * columns of each table are in tables.c; the first is the attempt), end, which commits. */
bool store_attempt_begin(struct store *store, int attempt, struct err *err) CC_MUST_USE;
bool store_table_row(struct store *store, const char *table, const struct store_cell *cells,
                     size_t count, struct err *err) CC_MUST_USE;
/* `seq`: the event up to which the derived tables, and experiments.jsonl as it is now, are true. */
bool store_attempt_end(struct store *store, int64_t seq, struct err *err) CC_MUST_USE;
/* The event up to which the derived tables are true; 0 when they are empty. */
int64_t store_derived_seq(struct store *store);

/* experiments.jsonl, a row an attempt, grows at its end. A row is written before the tables that go
 * with it are committed, and how long the file truly is, is committed with them: what a kill leaves
 * behind that is cut off, and written again from the log. */
/* Cuts the file to what was committed. False: it is shorter, or nobody knows how long it should be,
 * and all of it has to be made anew. */
bool store_rows_mend(struct store *store) CC_MUST_USE;
/* Whole lines at its end. False and *err when they cannot be written, or it was changed from
 * outside (then store_rows_mend is false, too). */
bool store_rows_add(struct store *store, struct str lines, struct err *err) CC_MUST_USE;
/* Writes all of it anew beside the old one: begin, any number of adds, end, which replaces it and
 * commits that. The tables are true already by then. A process that dies in between leaves the old
 * one, and store_rows_mend is false. */
bool store_rows_begin(struct store *store, struct err *err) CC_MUST_USE;
bool store_rows_end(struct store *store, struct err *err) CC_MUST_USE;

/* Runs one SELECT and calls `row` for each row with its values as text (NULL for null). Anything
 * that would write is refused. Usage error for SQL that does not parse. */
typedef bool store_query_fn(void *data, size_t count, const char *const *names,
                            const char *const *values);
bool store_query(struct store *store, const char *sql, store_query_fn *row, void *data,
                 struct err *err) CC_MUST_USE;

/* Puts bytes under their content hash; writing what is there already costs nothing. */
bool store_artefact_put(struct store *store, const void *data, size_t size, struct hash *hash,
                        struct err *err) CC_MUST_USE;
/* What lies under a hash, compared with it; free it with free. NULL and *err: there is none, or
 * ERR_DAMAGED for other bytes. */
#define STORE_ARTEFACT_MOST ((size_t)256 << 20)
char *store_artefact_read(const struct store *store, const char *hash, size_t *size,
                          struct err *err) CC_MUST_USE;
/* Whether the file has the bytes that the hash says. */
bool store_artefact_is(const char *path, const char *hash);
/* "<folder>/artifacts/<hash>"; NULL when the text is no hash. A new string. */
char *store_artefact_path(const struct store *store, const char *hash) CC_MUST_USE;
/* Writes a file of the session's folder at once or not at all; makes its folder. */
bool store_file_write(struct store *store, const char *name, struct str text,
                      struct err *err) CC_MUST_USE;
/* A line with the time for hone.log; what cannot be written is let go. */
void store_log(struct store *store, const char *level, const char *text);

#endif
