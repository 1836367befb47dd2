/* SPDX-License-Identifier: Apache-2.0 */
/* Saves what is true of a damaged session into a new one. The chain says what is true: an event
 * counts where its hash follows from the one before it. One flipped bit in an event is found by
 * trying all of them against the hash. */
#include "store/salvage.h"

#include <stdio.h>
#include <stdlib.h>

#define MEND_MOST 65536 /* bytes of an event in which to look for a flipped bit */

struct repair {
    const char *folder;
    const struct store_repair_ways *ways;
    struct store_repaired *done;
    struct store_salvage found;
    struct store_head head;
    struct store *to;
    struct store_link at;    /* in the damaged chain */
    struct store_row mended; /* the row that was mended last */
    struct buf scratch, bytes;
    size_t astray; /* the row that had lost its number; SIZE_MAX: none */
    bool chained;
};

/* ------------------------------------------------------------------------- which events are
 * true */

static bool hash_set(struct store_link *link, const struct store_row *row) {
    link->seq = row->seq;
    if (row->hash.len != HASH_BYTES)
        return false;
    memcpy(link->hash, row->hash.at, HASH_BYTES);
    return true;
}

/* Whether this place is the one before the next event or before the head, as these say. */
static bool is_followed(struct repair *repair, const struct store_link *link) {
    size_t count, at = store_salvage_find(&repair->found, link->seq + 1, &count);
    for (size_t i = at; i < at + count; i++) {
        struct store_link next;
        store_link_make(&repair->scratch, link, &repair->found.rows.at[i], &next);
        if (store_row_is(&repair->found.rows.at[i], &next))
            return true;
    }
    return repair->head.is == STORE_HEAD_GOOD && repair->head.last.seq == link->seq &&
           !memcmp(repair->head.last.hash, link->hash, HASH_BYTES);
}

static bool mend_text(struct repair *repair, struct store_row *row, struct str *part) {
    struct store_link link;
    buf_clear(&repair->bytes);
    buf_add(&repair->bytes, part->at, part->len);
    struct str before = *part;
    *part = buf_str(&repair->bytes);
    for (size_t bit = 0; bit < part->len * 8; bit++) {
        repair->bytes.at[bit / 8] ^= (char)(1 << bit % 8);
        store_link_make(&repair->scratch, &repair->at, row, &link);
        if (store_row_is(row, &link)) {
            *part =
                (struct str){arena_strndup(repair->found.arena, part->at, part->len), part->len};
            return true;
        }
        repair->bytes.at[bit / 8] ^= (char)(1 << bit % 8);
    }
    *part = before;
    return false;
}

static bool mend_time(struct repair *repair, struct store_row *row) {
    struct store_link link;
    for (int bit = 0; bit < 64; bit++) {
        row->wall_ms = (int64_t)((uint64_t)row->wall_ms ^ (uint64_t)1 << bit);
        store_link_make(&repair->scratch, &repair->at, row, &link);
        if (store_row_is(row, &link))
            return true;
        row->wall_ms = (int64_t)((uint64_t)row->wall_ms ^ (uint64_t)1 << bit);
    }
    return false;
}

/* Tries to flip each bit of the row. Only the right one gives the hash. */
static bool mend(struct repair *repair, struct store_row *row) {
    if (row->hash.len != HASH_BYTES || row->payload.len + row->type.len > MEND_MOST)
        return false;
    return mend_time(repair, row) || mend_text(repair, row, &row->type) ||
           mend_text(repair, row, &row->payload);
}

/* Whether the row is the next event: as it is, or with its number, its hash or one bit mended. */
static bool take_row(struct repair *repair, const struct store_row *found, bool try_bits) {
    struct store_link link;
    struct store_row row = *found;
    row.seq = repair->at.seq + 1;
    store_link_make(&repair->scratch, &repair->at, &row, &link);
    bool same = store_row_is(&row, &link), own = same || is_followed(repair, &link);
    if (!own && (!try_bits || !mend(repair, &row)))
        return false;
    if (!own)
        store_link_make(&repair->scratch, &repair->at, &row, &link);
    repair->done->mended += !same || found->seq != row.seq;
    repair->mended = row;
    repair->at = link;
    return true;
}

/* Takes the next event from the rows with its number. */
static bool take_next(struct repair *repair) {
    size_t count, at = store_salvage_find(&repair->found, repair->at.seq + 1, &count);
    for (int try_bits = 0; try_bits < 2; try_bits++)
        for (size_t i = at; i < at + count; i++)
            if (take_row(repair, &repair->found.rows.at[i], try_bits == 1))
                return true;
    return false;
}

/* Takes a row that lost its number: any that fits after the last event. */
static bool take_astray(struct repair *repair) {
    struct store_link link;
    for (size_t i = 0; i < repair->found.rows.len; i++) {
        struct store_row row = repair->found.rows.at[i];
        row.seq = repair->at.seq + 1;
        store_link_make(&repair->scratch, &repair->at, &row, &link);
        if (store_row_is(&row, &link)) {
            repair->astray = i;
            repair->done->mended++;
            return take_row(repair, &row, false);
        }
    }
    return false;
}

/* A damaged row of a type that nothing else refers to; the event after it proves its place. */
static const struct store_row *harmless_next(struct repair *repair) {
    size_t count, at = store_salvage_find(&repair->found, repair->at.seq + 1, &count);
    for (size_t i = at; i < at + count; i++) {
        const struct store_row *row = &repair->found.rows.at[i];
        struct store_link own;
        if (!hash_set(&own, row) || !is_followed(repair, &own))
            continue;
        for (const char *const *type = repair->ways->harmless; *type; type++)
            if (str_is(row->type, *type))
                return row;
    }
    return NULL;
}

/* --------------------------------------------------------------------------------- the new
 * session */

static bool put(struct repair *repair, const struct store_row *row, struct err *err) {
    struct buf type = {0}, payload = {0};
    buf_add(&type, row->type.at, row->type.len);
    buf_add(&payload, row->payload.at, row->payload.len);
    bool ok = store_append(repair->to, row->wall_ms, type.at ? type.at : "",
                           payload.at ? payload.at : "", NULL, err);
    buf_free(&type);
    buf_free(&payload);
    repair->done->events += ok;
    return ok;
}

static bool put_stand_in(struct repair *repair, const struct store_row *row, struct err *err) {
    struct buf payload = {0};
    hash_set(&repair->at, row);
    repair->done->dropped++;
    repair->ways->stand_in(row->seq, &payload);
    struct store_row other = {.wall_ms = row->wall_ms,
                              .type = str_of(repair->ways->stand_in_type),
                              .payload = buf_str(&payload)};
    bool ok = put(repair, &other, err);
    buf_free(&payload);
    return ok;
}

/* Takes the events of a session without a chain, one after the other, as they are. */
static bool take_unproven(struct repair *repair) {
    size_t count, at = store_salvage_find(&repair->found, repair->at.seq + 1, &count);
    if (!count)
        return false;
    repair->mended = repair->found.rows.at[at + count - 1];
    repair->at.seq++;
    return true;
}

static bool put_all(struct repair *repair, struct err *err) {
    bool ok = true;
    while (ok) {
        const struct store_row *harmless = NULL;
        bool next =
            repair->chained ? take_next(repair) || take_astray(repair) : take_unproven(repair);
        if (next)
            ok = put(repair, &repair->mended, err);
        else if (repair->chained && (harmless = harmless_next(repair)))
            ok = put_stand_in(repair, harmless, err);
        else
            break;
    }
    return ok;
}

/* --------------------------------------------------------------------------- behind the damage */

/* Proven by the hash that the row before it has in the file. The first row after a gap cannot be
 * proven. */
static bool is_proven(struct repair *repair, const struct store_row *row) {
    size_t count, at = store_salvage_find(&repair->found, row->seq - 1, &count);
    for (size_t i = at; i < at + count; i++) {
        struct store_link before, link;
        if (!hash_set(&before, &repair->found.rows.at[i]))
            continue;
        store_link_make(&repair->scratch, &before, row, &link);
        if (store_row_is(row, &link))
            return true;
    }
    return false;
}

/* Reports one row for each number, a proven one before others. */
static void tell_behind(struct repair *repair) {
    const struct store_salvage *found = &repair->found;
    for (size_t i = 0, count; i < found->rows.len; i += count) {
        int64_t seq = found->rows.at[i].seq;
        store_salvage_find(found, seq, &count);
        if (seq <= repair->at.seq || i == repair->astray)
            continue;
        const struct store_row *row = &found->rows.at[i];
        bool proven = false;
        for (size_t k = i; k < i + count && !proven; k++)
            if ((proven = is_proven(repair, &found->rows.at[k])))
                row = &found->rows.at[k];
        repair->done->behind += proven;
        repair->done->doubtful += !proven;
        if (proven || repair->head.is != STORE_HEAD_GOOD)
            repair->done->last = MAX_OF(repair->done->last, seq);
        if (repair->ways->behind)
            repair->ways->behind(repair->ways->data, row->seq, proven, row->type, row->payload);
    }
}

static bool has_chain(const struct store_salvage *found) {
    for (size_t i = 0; i < found->rows.len; i++)
        if (found->rows.at[i].hash.len == HASH_BYTES)
            return true;
    return false;
}

static bool repair_into(struct repair *repair, const char *to, struct err *err) {
    struct err ignored = {0};
    repair->to = store_open(to, false, err);
    if (!repair->to || !store_exec(repair->to, "BEGIN", "cannot write the new session", err))
        return false;
    bool ok = put_all(repair, err) &&
              store_exec(repair->to, "COMMIT", "cannot write the new session", err);
    if (!ok)
        return false;
    repair->done->cut = repair->at.seq + 1;
    repair->done->last = repair->head.is == STORE_HEAD_GOOD
                             ? MAX_OF(repair->head.last.seq, repair->at.seq)
                             : repair->at.seq;
    tell_behind(repair);
    store_artefacts_copy(repair->folder, to, &repair->done->artefacts);
    char *log = path_join(repair->folder, "hone.log");
    size_t size = 0;
    char *text = file_exists(log) ? file_read(log, 0, &size, &ignored) : NULL;
    if (text)
        (void)!store_file_write(repair->to, "hone.log", (struct str){text, size}, &ignored);
    free(text);
    free(log);
    return true;
}

bool store_repair(const char *folder, const char *to, const struct store_repair_ways *ways,
                  struct store_repaired *done, struct err *err) {
    struct repair repair = {.folder = folder, .ways = ways, .done = done, .astray = SIZE_MAX};
    *done = (struct store_repaired){0};
    store_head_read(folder, &repair.head);
    bool ok = (!file_exists(to) || err_set(err, ERR_USAGE, "%.300s already exists", to)) &&
              store_salvage_read(folder, &repair.found, err);
    repair.chained = ok && has_chain(&repair.found);
    ok = ok && (repair.found.rows.len ||
                err_set(err, ERR_DAMAGED,
                        "no event can be found in %.200s/session.db. The files beside it are still "
                        "there: kernels in checkpoints/, experiments.jsonl (hone import reads it)",
                        folder));
    ok = ok && repair_into(&repair, to, err);
    done->chained = repair.chained;
    store_close(repair.to);
    store_salvage_free(&repair.found);
    buf_free(&repair.scratch);
    buf_free(&repair.bytes);
    return ok;
}
