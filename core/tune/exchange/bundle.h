/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of this machine in what a bundle says. Private to bundle.c. */
#ifndef HONE_TUNE_BUNDLE_H
#define HONE_TUNE_BUNDLE_H

#include "tune/state/state.h"

struct bundle_place {
    char *from, *json; /* as it is, and as JSON writes it; NULL: none */
    const char *to;
};
struct bundle_places {
    struct bundle_place all[3]; /* the longest first */
};

/* The task's folder (".") as the session knows it, the session's ("session"), the user's ("~").
 * Free with bundle_places_free. */
void bundle_places_find(struct bundle_places *places, const struct tune_state *state,
                        const char *session);
/* Appends the text with what stands for them. */
void bundle_places_clean(const struct bundle_places *places, struct str text, bool json,
                         struct buf *out);
void bundle_places_free(struct bundle_places *places);

#endif
