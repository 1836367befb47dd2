/* SPDX-License-Identifier: Apache-2.0 */
/* Finds events in the bytes of a database, in whatever state it is. Private to this folder. */
#ifndef HONE_STORE_SALVAGE_H
#define HONE_STORE_SALVAGE_H

#include "store/private.h"

struct store_salvage {
    struct arena *arena;
    VEC(struct store_row) rows; /* by number; several of one number where copies differ */
};
/* Reads session.db and its write-ahead log in `folder` page by page, without SQLite. So it also
 * finds rows of events in pages that nothing leads to any more, old and torn ones too. The chain
 * says which of them are true. False and *err when the files cannot be read. */
bool store_salvage_read(const char *folder, struct store_salvage *salvage,
                        struct err *err) CC_MUST_USE;
void store_salvage_free(struct store_salvage *salvage);
/* Where the rows of that number begin, and how many there are. */
size_t store_salvage_find(const struct store_salvage *salvage, int64_t seq, size_t *count);

#endif
