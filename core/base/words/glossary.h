/* SPDX-License-Identifier: Apache-2.0 */
/* The words that panels, plans, prompts and pages share, and what they mean: one table,
 * glossary.def. All texts live as long as the program. */
#ifndef HONE_BASE_GLOSSARY_H
#define HONE_BASE_GLOSSARY_H

#include <stddef.h>

#include "base/kit/kit.h"

/* X(ID, "title of the part on the page") */
#define GLOSSARY_PARTS(X)              \
    X(LOOP, "The loop")                \
    X(VERDICT, "Verdicts")             \
    X(TIME, "Time")                    \
    X(DEVICE, "The device")            \
    X(LANGUAGE, "The kernel language") \
    X(METRIC, "Metrics")

enum glossary_part {
#define X(id, title) GLOSSARY_##id,
    GLOSSARY_PARTS(X)
#undef X
        GLOSSARY_PART_COUNT
};

struct glossary_entry {
    enum glossary_part part;
    const char *word;    /* what hone calls it */
    const char *names;   /* what others call it, with commas; "" */
    const char *meaning; /* sentences */
};
/* In the table's order; NULL past the end. */
const struct glossary_entry *glossary_at(size_t index);
const char *glossary_part_title(enum glossary_part part);

/* By word or by any of the names. Capitals do not matter, and "_", "-" and a blank are alike.
 * NULL: not known. */
const struct glossary_entry *glossary_find(struct str name);
/* What panels call a metric: "HBM read" for "hbm_read_bytes"; `metric` itself where the table has
 * no row about it alone. */
const char *glossary_word(const char *metric);
/* The other way: "hbm_read_bytes" for "HBM read". Empty: the word is no metric's. */
struct str glossary_metric(struct str word);

#endif
