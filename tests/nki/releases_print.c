/* SPDX-License-Identifier: Apache-2.0 */
/* Prints releases.def as C reads it: each row on a line, with tabs between its parts.
 * tests/remote/test_releases.py compares this with what Python reads. */
#include <stdio.h>

#include "nki/release/release.h"

static void print(const char *text) {
    printf("\t%s", text ? text : "NULL");
}

int main(void) {
    static const char *const kinds[RELEASE_CHANGES] = {"RELEASE", "NEW",     "GONE", "GONE_HOST",
                                                       "OLD",     "KEYWORD", "RULE", "ENDS"};
    const char *since = NULL;
    for (const struct release_row *row = NULL; (row = release_next(row, &since)); putchar('\n')) {
        fputs(kinds[row->change], stdout);
        print(since);
        if (row->change == RELEASE_IS) {
            print(row->sdk);
            print(row->nki);
            print(row->compiler);
            print(row->route);
            print(row->seams);
        } else if (row->change < RELEASE_RULE) {
            print(row->name);
            print(row->keyword);
            print(row->instead);
        }
    }
    return 0;
}
