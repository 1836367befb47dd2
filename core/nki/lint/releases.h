/* SPDX-License-Identifier: Apache-2.0 */
/* What releases of the SDK and of NKI brought: releases.def, row by row. */
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

/* What a row has; the rest is NULL. `name` is a list for RELEASE_NEW, a function for
 * RELEASE_KEYWORD. */
struct release_row {
    enum release_change change;
    int rule;                                         /* of RELEASE_RULE: enum lint_rule */
    const char *sdk, *nki, *compiler, *route, *seams; /* of RELEASE_IS */
    const char *name, *keyword, *instead;
};

/* The row after `row`, the first after NULL; NULL past the last. *since is the version of nki in
 * whose block it stands, NULL before there was one; it is carried from row to row. */
const struct release_row *release_next(const struct release_row *row, const char **since);
/* Whether a list of names, with blanks between them, has one. */
bool release_names(const char *names, struct str name);
/* The version of nki that a lint holds from; NULL: it always holds. */
const char *release_of_rule(int rule);
/* The version of nki that a name came with; NULL: it was always there. */
const char *release_of_name(struct str name);

#endif
