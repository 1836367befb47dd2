/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in events and in the state alike. A text that is not known is NULL, a number that is
 * not known is NAN. */
#ifndef HONE_TUNE_RECORDS_H
#define HONE_TUNE_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "tune/events/words.h"

/* What one edit is expected to do. `key` names the direction (what is done where), so that a
 * direction that failed is not taken again. It is the same for the same edit of the same source. */
struct tune_plan {
    const char *key, *title, *what, *why;
    const char *author; /* "rewriter", "you", a model's name */
    /* the whole sweep that it is one value of; NULL. In a proposer's plan: the sweep that it asks
     * for, in its own words */
    const char *sweep;
    const char *strategy;      /* an entry of prompts/menu.md, or a name of its own; NULL */
    int first_line, last_line; /* in the parent's source; 0 when it has no place */
    const char *lines;         /* where not all between them: "31, 38 to 40"; NULL: all */
    const char *metric;        /* Neuron's name: "hbm_read_bytes", or "latency" */
    enum tune_direction direction;
    double size;           /* expected relative change, 0.2 = by 20 %; NAN unknown */
    double latency;        /* expected relative change of the latency, negative = faster */
    enum tune_answer held; /* scored after benchmark */
    double moved;          /* what the metric did, relative: -0.6 = 60 % less */
    int lane;              /* whose question brought it; -1: of a round without lanes */
    const char *source;    /* the whole kernel that came with it, made from its parent; NULL */
    bool edited;           /* its text was changed by a person */
    bool revised;          /* made after a rejection; shown again whatever the gate */
};

struct tune_metric {
    const char *name, *unit; /* Neuron's names */
    double value;
};

struct tune_line_cost {
    int line;
    double us, share;      /* share of the whole time, 0 to 1 */
    const char *engine;    /* the one most of it went to; NULL */
    double calls, busy_us; /* instructions on it, and what they take in all; NAN: not known */
};

/* Of all lines that cost something. */
struct tune_lines {
    const struct tune_line_cost *at;
    size_t len;
};

/* A resource that can limit the kernel: how long it is busy, and what the latency would be if it
 * took no time. */
struct tune_bound {
    const char *name; /* "Tensor", "DMA" */
    double busy_us, without_us;
};

struct tune_note {
    int round, attempt;
    const char *lesson, *evidence, *plan;
    enum tune_category category;
    enum tune_answer held;      /* the prediction, as measured */
    enum tune_answer diagnosis; /* right: yes; wrong: no; the numbers do not tell: inconclusive */
    const char *author;         /* the model that wrote it; NULL: hone */
    bool pinned, dropped, edited;
    int entered; /* contexts it went into */
};

/* `family`, `generation` and `dialect` say what it applies to. NULL: not known, so it applies
 * anywhere. */
struct tune_experience {
    int attempt, against; /* what it rests on: faster or slower than which attempt */
    const char *title, *summary, *slow, *fast, *applies_to;
    const char *family;     /* of operations, with blanks between: "matmul norm" */
    const char *generation; /* "trn2" */
    const char *dialect;    /* "current" or "legacy" */
    const char *source;     /* imported: "nki-kernel-agent, rewrites.json:12"; NULL */
    const char *key;        /* the direction of its plan; NULL */
    const char *evidence;   /* what was merged into it: "#7 against #5"; NULL */
    const char *expired;    /* why it is no longer believed; NULL */
    int64_t recorded_ms;    /* when it was first written down; 0: not known */
    double speedup;         /* above 1: a gain; below 1: a loss */
    enum tune_experience_is is;
    bool edited, imported; /* imported: it comes from before or outside this session */
    bool closed;           /* a list of directions, one a line, that did not work */
    int entered, merged;   /* prompts; how often the same was found again */
};

/* An attempt of another agent, or of another session. It can be read, but nothing goes on from
 * it. */
struct tune_import {
    const char *agent, *source; /* "AccelOpt"; "executor_results.json:1" */
    const char *name, *parent;  /* as that agent calls it and what it came from; NULL */
    const char *status;         /* its own word: "compile_fail" */
    const char *title, *reason; /* its plan; why it failed; NULL */
    const char *normal;         /* of its kernel, as an attempt's; NULL: it came without one */
    enum tune_status is;
    int round;
    double latency_us, speedup; /* NAN: not known; the speedup is over what it came from */
};

/* How wide a beam search is. */
struct tune_width {
    int parents, plans, rewrites;
};

#endif
