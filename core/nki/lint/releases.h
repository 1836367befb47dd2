/* SPDX-License-Identifier: Apache-2.0 */
/* What came with the releases of the SDK and of NKI: releases.def, row by row. */
#ifndef HONE_NKI_RELEASES_H
#define HONE_NKI_RELEASES_H

#include "nki/lint/lint.h"

enum release_change {
    RELEASE_IS, /* a release begins */
    RELEASE_NEW,
    RELEASE_GONE,
    RELEASE_GONE_HOST,
    RELEASE_OLD,
    RELEASE_KEYWORD,
    RELEASE_RULE,
    RELEASE_CHANGES,
};

/* A row; fields that it does not have are NULL. `name` is a list for RELEASE_NEW and a function for
 * RELEASE_KEYWORD. */
struct release_row {
    enum release_change change;
    int rule;                                         /* of RELEASE_RULE: enum lint_rule */
    const char *sdk, *nki, *compiler, *route, *seams; /* of RELEASE_IS */
    const char *name, *keyword, *instead;
};

/* The row after `row`, or the first after NULL; NULL past the last. *since is the version of nki
 * whose block has the row, NULL before there was one. Pass the same *since from row to row. */
const struct release_row *release_next(const struct release_row *row, const char **since);
/* Whether a list of names, separated by blanks, has one. */
bool release_names(const char *names, struct str name);
/* The version of nki from which a lint holds; NULL: it always holds. */
const char *release_of_rule(int rule);
/* The version of nki with which a name came; NULL: it was always there. */
const char *release_of_name(struct str name);

#endif
