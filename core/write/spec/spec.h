/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a kernel that is written, and what comes of it: the schedule's choices, what
 * each of their values means, and what could not be written. */
#ifndef HONE_WRITE_SPEC_SPEC_H
#define HONE_WRITE_SPEC_SPEC_H

#include "base/base.h"

/* How the numbers of products may be made: as the task's dtypes say, by sums of bf16 products, or
 * by anything that the tolerance allows. */
enum write_precision { WRITE_KEEP, WRITE_SPLIT, WRITE_ANY };
/* "keep", "split", "any" */
const char *write_precision_word(enum write_precision precision);
/* WRITE_KEEP for NULL and for what is none of the words. */
enum write_precision write_precision_of(const char *word);

#define WRITE_MAX_VALUES 12
/* One decision of the schedule: it changes how a stage computes, never what. Stages declare theirs
 * while they are written, so which there are may depend on the others. */
struct write_choice {
    char key[64];      /* "matmul_4.block_rows": the stage's node and the choice's name */
    const char *title; /* what it decides, for a person: static */
    int line;          /* of the reference */
    int64_t value, values[WRITE_MAX_VALUES]; /* the chosen one, and all: the default is first */
    int count;
    char note[120]; /* what the chosen one means for the result's error, in words; may be "" */
};
/* What a title is about: "sums leave PSUM"; what a value of it means: "by Scalar", or the number
 * where numbers are the values. */
void write_subject_print(const char *title, struct buf *out);
void write_value_print(const char *title, int64_t value, struct buf *out);
struct write_setting {
    const char *key;
    int64_t value;
};
struct write_spec {
    struct str graph;     /* meta.json of the recorded reference */
    const char *name;     /* of the task, for the first comment */
    const char *function; /* the kernel's name; NULL: "kernel" */
    double sbuf_bytes;    /* of one partition, that a kernel may use */
    bool older_dialect;   /* the kernel is one of neuronxcc.nki */
    bool is_trn1;         /* Scalar takes no number as a summand, Vector reads two tiles of SBUF in
                           * turns, and products do not run in quarters of the array */
    enum write_precision precision;
    double tolerance; /* the largest relative L2 error that counts as correct; 0: 2e-5 */
    /* The schedule: where a choice is named, its value instead of the default. Keys that no stage
     * declares and values that it does not offer are passed over. */
    const struct write_setting *settings;
    size_t setting_count;
};
/* What could not be written: an operation of forward, at a line of the reference. */
struct write_gap {
    char what[40], why[120]; /* why: "" where there is no more to say */
    int line;
};
struct written {
    char *text;    /* the kernel; with gaps a skeleton: what hangs on them is missing */
    size_t stages; /* loop nests in it */
    VEC(struct write_gap) gaps;
    VEC(struct write_choice) choices; /* that were met, in the kernel's order */
};

#endif
