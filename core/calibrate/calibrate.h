/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of the device model for one host: small kernels whose latency depends on them (the
 * suite), the times that the host took, the constants that explain these times, and the file in
 * which they are kept. */
#ifndef HONE_CALIBRATE_CALIBRATE_H
#define HONE_CALIBRATE_CALIBRATE_H

#include "base/base.h"
#include "device/device.h"
#include "nki/nki.h"

/* ---- the suite ------------------------------------------------------------------------------ */

#define CALIBRATE_INPUTS 4

/* An argument of a kernel of the suite: an array of rows x columns, or a whole number. */
struct calibrate_input {
    const char *name; /* NULL ends the list */
    enum dtype dtype; /* DTYPE_NONE: a whole number, no array */
    int64_t rows, columns, number;
};
struct calibrate_kernel {
    const char *name;     /* "vector_scale_wide" */
    const char *function; /* its function in calibrate_text */
    const char *what;     /* what it is there for, in a few words */
    bool current_only;
    struct calibrate_input inputs[CALIBRATE_INPUTS];
};
/* Row by row; NULL past the last. */
const struct calibrate_kernel *calibrate_kernel_at(size_t index);
/* The file with all kernels, for a dialect. */
struct str calibrate_text(enum nki_dialect dialect);

/* A kernel made ready for the model. */
struct calibrate_made {
    struct nki_tree *tree;
    struct nki_program *program;
    struct device_image *image;
};
/* Makes a kernel of the suite ready; false with *err when the model does not take it. */
bool calibrate_make(const struct calibrate_kernel *kernel, enum nki_dialect dialect,
                    enum nki_generation generation, struct calibrate_made *made, struct err *err);
void calibrate_unmake(struct calibrate_made *made);

/* ---- the fit -------------------------------------------------------------------------------- */

/* What the host took for a kernel. */
struct calibrate_row {
    const char *name; /* the caller's, like the image */
    const struct device_image *image;
    double measured_us;
    double error;               /* relative error of the measurement: 0.01 */
    double before_us, after_us; /* what the model says; set by the fit */
};
/* What became of a constant. */
struct calibrate_constant {
    const struct device_constant *row;
    double was, is;
    double low, high; /* the range that holds it in nine cases of ten */
    bool seen;        /* the rows alone determine it well enough */
};
struct calibrate_fit {
    struct device_constants constants;
    VEC(struct calibrate_constant) all; /* as in constants.def */
    double before, after;               /* median of |model / measured - 1| over the rows */
    double scatter;                     /* relative error that the fit gave the rows */
};
/* Fits the constants of a generation to the rows: least squares of the logarithms, with a prior at
 * the values of constants.def. A documented constant moves only when many rows ask for it; a
 * guessed one follows them. A constant that no row sees stays as it is. Of two that always act
 * together, the one that is known better stays. A `cancel` that is not 0 ends the fit; it may be
 * NULL. False when the fit was cancelled. */
bool calibrate_fit(struct calibrate_row *rows, size_t count, enum nki_generation generation,
                   const volatile int *cancel, struct calibrate_fit *fit);
void calibrate_fit_free(struct calibrate_fit *fit);

/* ---- what is kept of a host ----------------------------------------------------------------- */

struct calibrate_record {
    struct arena *arena; /* owns the texts */
    const char *host, *device, *release;
    int64_t when_ms; /* wall clock */
    double before, after;
    size_t kernels;
    const char *constants; /* as a job has them: a JSON object of numbers */
};
/* The path of a host's constants, a file in a folder of hone's state. The caller frees it. */
char *calibrate_path(const char *host) CC_MUST_USE;
/* Writes a fit to the host's file, which only its owner can read. An older one is replaced. */
bool calibrate_keep(const char *host, const char *release, const struct calibrate_fit *fit,
                    const struct calibrate_row *rows, size_t count, struct err *err);
/* Reads the constants of a host; a name with a slash is a file. False with *err when there are none
 * or they cannot be read; *record is then empty. */
bool calibrate_load(const char *host, struct calibrate_record *record, struct err *err);
void calibrate_record_free(struct calibrate_record *record);
/* Replaces values of *constants by those of such an object (record.constants). Names that this hone
 * does not know are skipped. False with *err for a value that cannot be a constant. */
bool calibrate_constants(const char *text, struct device_constants *constants, struct err *err);

#endif
