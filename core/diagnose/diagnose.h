/* SPDX-License-Identifier: Apache-2.0 */
/* Why a kernel's numbers are wrong: which elements are, where the first number that is none comes
 * from, which tile is the first that is not what the reference goes through, and which statement is
 * therefore suspected.
 *
 *     program ──▶ survey ──▶ watch ──▶ match ──▶ rank ──▶ alter ──▶ findings
 *                 sites      tiles     arrays    suspects  tried out
 */
#ifndef HONE_DIAGNOSE_DIAGNOSE_H
#define HONE_DIAGNOSE_DIAGNOSE_H

#include "device/device.h"

#define DIAGNOSE_SECONDS 6.0           /* of processor time, unless its caller says otherwise */
#define DIAGNOSE_INSTRUCTIONS 1000000u /* longer programs are not looked at */

/* An array that the right computation goes through, in fp32, row-major. */
struct diagnose_array {
    const char *name; /* as it is shown; printable */
    int line;         /* of the reference; 0: unknown */
    struct array array;
};
/* What went wrong, and all that is known of it. The caller owns everything. */
struct diagnose_question {
    const struct device_image *image;
    const struct array *inputs; /* as for device_execute */
    size_t input_count;
    const struct array *outputs; /* what the kernel made of them; as many as program->outputs */
    const struct diagnose_array *known; /* arrays of the reference, or of a kernel that is right */
    size_t known_count;
    const struct array *right; /* the outputs as they should be, fp32 and of equal sizes; NULL:
                                * not known in the kernel's own order */
    double expected;           /* the relative L2 that was found; where `right` gives another one,
                                * it is not in the kernel's order and not used; 0: unknown */
    double tolerance;          /* the relative L2 that counts as equal */
    const struct device_image *parent;  /* of a kernel that is right; NULL: there is none */
    const char *source, *parent_source; /* texts of both; NULL: unknown */
    double seconds;                     /* 0: DIAGNOSE_SECONDS */
    uint64_t memory_bytes;              /* for each run; 0: as device_execute */
    const volatile int *cancel;
};
/* Adds what it finds to `diags`, as notes about `program->files` with the codes hone-wrong-numbers
 * (which elements), hone-unwritten, hone-not-a-number, and hone-suspect (statements, the most
 * suspected first). Does not say more than it found. Takes a worker's time, not the event loop's.
 */
void diagnose(const struct diagnose_question *question, struct diag_list *diags);

/* A tile as text for people, each line ended: range, mean, deviation, NaN, infinities and zeros;
 * its corners as a table; and how large its elements are, as a map. `rows` of `columns` each, as
 * fp32. */
struct diagnose_tile {
    const float *at;
    size_t rows, columns;
};
void diagnose_tile_print(const struct diagnose_tile *tile, struct buf *out);

/* Shows tiles while a kernel runs: what device_print names, and what the instructions of a line
 * read and write. It is a watch of device_execute; zeroed but for the first members. */
struct diagnose_show {
    const struct nki_program *program;
    int line;        /* of the kernel's own file; 0: only device_print */
    size_t round;    /* of the instructions of that line, from 1 on */
    struct buf text; /* what was shown; the caller frees it */
    size_t seen;     /* instructions of the line that were reached */
    size_t next;     /* private: prints that were shown */
};
bool diagnose_show_watch(void *show, struct exec *run, size_t instruction, bool before);
/* Whether there is anything to show. */
bool diagnose_shows(const struct diagnose_show *show);

/* What a code of those means; NULL past the last. */
struct diagnose_code {
    const char *code, *what, *fix;
};
const struct diagnose_code *diagnose_code_at(size_t index);

#endif
