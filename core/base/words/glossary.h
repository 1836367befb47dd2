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
    const char *names;   /* what others call it, separated by commas; "" */
    const char *meaning; /* sentences */
};
/* In the table's order; NULL past the end. */
const struct glossary_entry *glossary_at(size_t index);
const char *glossary_part_title(enum glossary_part part);

/* Finds a row by its word or by any of its names. Capitals do not matter, and "_", "-" and a blank
 * are alike. NULL: unknown. */
const struct glossary_entry *glossary_find(struct str name);
/* What panels call a metric: "HBM read" for "hbm_read_bytes". Where no row is about the metric
 * alone, it is `metric` itself. */
const char *glossary_word(const char *metric);
/* The metric that panels call by a word: "hbm_read_bytes" for "HBM read". Empty: no metric has the
 * word. */
struct str glossary_metric(struct str word);

#endif
