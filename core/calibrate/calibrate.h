/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of the device model for one host: small kernels that see them (the suite), what the
 * host took for them, the constants that explain it, and the file in which they are kept. */
#ifndef HONE_CALIBRATE_CALIBRATE_H
#define HONE_CALIBRATE_CALIBRATE_H

#include "base/base.h"
#include "device/device.h"
#include "nki/nki.h"

/* ---- the suite ------------------------------------------------------------------------------ */

#define CALIBRATE_INPUTS 4

/* An argument of a kernel of the suite: an array of rows x columns, or a whole number. */
struct calibrate_input {
    const char *name; /* NULL: no more of them */
    enum dtype dtype; /* DTYPE_NONE: the number */
    int64_t rows, columns, number;
};
struct calibrate_kernel {
    const char *name;     /* "vector_scale_wide" */
    const char *function; /* of the file */
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
    const char *name; /* stays the caller's, as the image */
    const struct device_image *image;
    double measured_us;
    double error;               /* of it, relative: 0.01 */
    double before_us, after_us; /* by the model: filled by the fit */
};
/* What became of a constant. */
struct calibrate_constant {
    const struct device_constant *row;
    double was, is;
    double low, high; /* where it lies with nine chances of ten, as far as the rows tell */
    bool seen;        /* the rows tell something of it */
};
struct calibrate_fit {
    struct device_constants constants;
    VEC(struct calibrate_constant) all; /* as in constants.def */
    double before, after;               /* median of |model / measured - 1| over the rows */
    double scatter;                     /* that the rows were given: relative */
};
/* Fits the constants of a generation to the rows. Least squares of the logarithms, with a prior at
 * the values of constants.def: one that is documented moves only where many rows ask for it, a
 * guessed one follows them. Constants that no row sees, and of two that always act together the
 * better known one, stay. `cancel`: not 0 ends it; may be NULL. False when it was cancelled. */
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
/* Where those of a host are: a file in a folder of hone's state; free it. */
char *calibrate_path(const char *host) CC_MUST_USE;
/* Keeps a fit for its owner alone, in the place of one that was there. */
bool calibrate_keep(const char *host, const char *release, const struct calibrate_fit *fit,
                    const struct calibrate_row *rows, size_t count, struct err *err);
/* Those of a host, or of a file where the name has a slash. False with *err when there are none, or
 * they cannot be read; `record` is then empty. */
bool calibrate_load(const char *host, struct calibrate_record *record, struct err *err);
void calibrate_record_free(struct calibrate_record *record);
/* Puts the constants of such an object over *constants. Names that this hone does not know are left
 * out; false with *err for what is no constant. */
bool calibrate_constants(const char *text, struct device_constants *constants, struct err *err);

#endif
