/* SPDX-License-Identifier: Apache-2.0 */
/* The fit: least squares over the logarithms of latencies and constants, by Levenberg's and
 * Marquardt's method with derivatives by differences. Each constant is held to its value in
 * constants.def: the better that value is known, the more firmly. The further the rows move it, the
 * weaker the hold becomes (a Cauchy prior). So few constants move, and those that move are not held
 * back. */
#include "calibrate/calibrate.h"

#include <math.h>
#include <stdlib.h>

#define FAR_STEP 0.12 /* of a logarithm, for a derivative; wide, as latencies go in steps */
#define NEAR_STEP 0.03
#define SEEN 0.05      /* a row sees a constant that changes it by this share of its own change */
#define TOGETHER 0.995 /* cosine of the effects of two constants that rows cannot tell apart */
#define FIRMEST 0.01   /* least doubt about a constant, also a documented one */
#define LEAST_ERROR 0.005 /* of a row at least, for what the model leaves out */
#define TOLD 0.1          /* rows see a constant that they alone find this precisely */
#define MOST_STEPS 25
#define ENOUGH 1e-4  /* the fit is done when the sum of squares falls by less */
#define NINETY 1.645 /* standard deviations around the mean that hold nine cases of ten */

struct fitting {
    struct calibrate_row *rows;
    size_t count, n; /* of rows, of constants */
    const struct device_constants *base;
    const struct device_constant **constants; /* those that may move */
    double *sigma;                            /* of each: how far off it may be, as a logarithm */
    double *x, *next;                         /* of each: logarithm of its ratio to the base */
    double *slope;                            /* rows x n: change of a row's logarithm with x */
    double *residual, *trial;                 /* of rows: logarithm of model over measured */
    double *matrix, *step;                    /* n x n; n */
    double error;                             /* of each row, at least */
    double stride;                            /* of a derivative */
    const volatile int *cancel;
};

static bool is_cancelled(const struct fitting *f) {
    return f->cancel && *f->cancel;
}

static struct device_constants values_at(const struct fitting *f, const double *x) {
    struct device_constants values = *f->base;
    for (size_t c = 0; c < f->n; c++)
        *device_constant_in(&values, f->constants[c]) *= exp(x[c]);
    return values;
}

static void find_residuals(const struct fitting *f, const double *x, double *residual) {
    struct device_constants values = values_at(f, x);
    for (size_t r = 0; r < f->count && !is_cancelled(f); r++)
        residual[r] = log(device_latency(f->rows[r].image, &values) / f->rows[r].measured_us);
}

static void find_slopes(struct fitting *f) {
    memcpy(f->next, f->x, f->n * sizeof *f->x);
    for (size_t c = 0; c < f->n; c++) {
        f->next[c] = f->x[c] + f->stride;
        find_residuals(f, f->next, f->trial);
        f->next[c] = f->x[c];
        for (size_t r = 0; r < f->count; r++)
            f->slope[r * f->n + c] = (f->trial[r] - f->residual[r]) / f->stride;
    }
}

static double error_of(const struct fitting *f, size_t row) {
    return fmax(f->rows[row].error, f->error);
}

static double cost_of(const struct fitting *f, const double *x, const double *residual) {
    double sum = 0;
    for (size_t r = 0; r < f->count; r++)
        sum += pow(residual[r] / error_of(f, r), 2) / 2;
    for (size_t c = 0; c < f->n; c++)
        sum += log1p(pow(x[c] / f->sigma[c], 2)) / 2;
    return sum;
}

/* ---- which constants the rows see ----------------------------------------------------------- */

static double slope_of(const struct fitting *f, size_t c) {
    double most = 0;
    for (size_t r = 0; r < f->count; r++)
        most = fmax(most, fabs(f->slope[r * f->n + c]));
    return most;
}

static double cosine_of(const struct fitting *f, size_t a, size_t b) {
    double ab = 0, aa = 0, bb = 0;
    for (size_t r = 0; r < f->count; r++) {
        double x = f->slope[r * f->n + a], y = f->slope[r * f->n + b];
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

/* When rows cannot tell two constants apart, the one that is known less well moves for both. */
static bool has_stand_in(const struct fitting *f, size_t c, const bool *out) {
    for (size_t other = 0; other < f->n; other++)
        if (other != c && !out[other] && cosine_of(f, c, other) > TOGETHER &&
            (f->sigma[other] > f->sigma[c] || (f->sigma[other] >= f->sigma[c] && other < c)))
            return true;
    return false;
}

static void keep_seen(struct fitting *f) {
    bool *out = mem_alloc(f->n + 1, sizeof *out);
    for (size_t c = 0; c < f->n; c++)
        out[c] = slope_of(f, c) < SEEN;
    for (size_t c = 0; c < f->n; c++)
        out[c] = out[c] || has_stand_in(f, c, out);
    size_t kept = 0;
    for (size_t c = 0; c < f->n; c++)
        if (!out[c]) {
            f->constants[kept] = f->constants[c];
            f->sigma[kept++] = f->sigma[c];
        }
    f->n = kept;
    free(out);
}

/* ---- a step --------------------------------------------------------------------------------- */

static double hold_of(const struct fitting *f, size_t c) {
    double far = f->x[c] / f->sigma[c];
    return 1 / (f->sigma[c] * f->sigma[c] * (1 + far * far));
}

/* The matrix of the normal equations, and their right side in `step`. */
static void make_equations(struct fitting *f, double damping) {
    for (size_t a = 0; a < f->n; a++) {
        f->step[a] = -hold_of(f, a) * f->x[a];
        for (size_t b = 0; b < f->n; b++)
            f->matrix[a * f->n + b] = 0;
    }
    for (size_t r = 0; r < f->count; r++) {
        const double *slope = &f->slope[r * f->n];
        double weight = 1 / (error_of(f, r) * error_of(f, r));
        for (size_t a = 0; a < f->n; a++) {
            f->step[a] -= weight * slope[a] * f->residual[r];
            for (size_t b = 0; b < f->n; b++)
                f->matrix[a * f->n + b] += weight * slope[a] * slope[b];
        }
    }
    for (size_t a = 0; a < f->n; a++)
        f->matrix[a * f->n + a] = f->matrix[a * f->n + a] * (1 + damping) + hold_of(f, a);
}

/* Cholesky's factor takes the matrix's place, below its diagonal and on it. */
static void factor(double *m, size_t n) {
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b <= a; b++) {
            double sum = m[a * n + b];
            for (size_t k = 0; k < b; k++)
                sum -= m[a * n + k] * m[b * n + k];
            m[a * n + b] = a == b ? sqrt(fmax(sum, 1e-12)) : sum / m[b * n + b];
        }
}

static void solve(const double *m, size_t n, double *x) {
    for (size_t a = 0; a < n; a++) {
        for (size_t k = 0; k < a; k++)
            x[a] -= m[a * n + k] * x[k];
        x[a] /= m[a * n + a];
    }
    for (size_t a = n; a-- > 0;) {
        for (size_t k = a + 1; k < n; k++)
            x[a] -= m[k * n + a] * x[k];
        x[a] /= m[a * n + a];
    }
}

/* Takes steps until the cost no longer falls. */
static void descend(struct fitting *f) {
    double damping = 1e-3;
    find_residuals(f, f->x, f->residual);
    double cost = cost_of(f, f->x, f->residual);
    for (int i = 0; i < MOST_STEPS && !is_cancelled(f); i++) {
        find_slopes(f);
        double least = cost;
        for (int tries = 0; tries < 6 && least >= cost && !is_cancelled(f); tries++) {
            make_equations(f, damping);
            factor(f->matrix, f->n);
            solve(f->matrix, f->n, f->step);
            for (size_t c = 0; c < f->n; c++)
                f->next[c] = f->x[c] + fmax(-0.7, fmin(0.7, f->step[c]));
            find_residuals(f, f->next, f->trial);
            least = cost_of(f, f->next, f->trial);
            damping *= least < cost ? 0.2 : 10;
        }
        if (least >= cost)
            return;
        memcpy(f->x, f->next, f->n * sizeof *f->x);
        memcpy(f->residual, f->trial, f->count * sizeof *f->residual);
        if (cost - least < ENOUGH * (1 + cost))
            return;
        cost = least;
    }
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of how far the rows are off. */
static double median_of(const struct fitting *f, const double *residual) {
    double *all = mem_alloc(f->count + 1, sizeof *all);
    for (size_t r = 0; r < f->count; r++)
        all[r] = fabs(expm1(residual[r]));
    qsort(all, f->count, sizeof *all, by_size);
    double median = f->count ? all[f->count / 2] : 0;
    free(all);
    return median;
}

static void begin(struct fitting *f) {
    size_t most = 0;
    while (device_constant_at(most))
        most++;
    f->constants = mem_alloc(most, sizeof *f->constants);
    f->sigma = mem_alloc(most, sizeof *f->sigma);
    f->x = mem_alloc(most, sizeof *f->x);
    f->next = mem_alloc(most, sizeof *f->next);
    f->step = mem_alloc(most, sizeof *f->step);
    f->matrix = mem_alloc(most * most, sizeof *f->matrix);
    f->slope = mem_alloc(f->count * most + 1, sizeof *f->slope);
    f->residual = mem_alloc(f->count + 1, sizeof *f->residual);
    f->trial = mem_alloc(f->count + 1, sizeof *f->trial);
    for (size_t i = 0; i < most; i++) {
        const struct device_constant *row = device_constant_at(i);
        struct device_known known = device_constant_known(row, f->base->generation);
        if (device_constant_value(f->base, row) <= 0 || strcmp(row->unit, "passes") == 0)
            continue;
        f->constants[f->n] = row;
        f->sigma[f->n++] = fmax(known.percent / 100, FIRMEST);
    }
}

static void end(struct fitting *f) {
    double *const all[] = {f->sigma,    f->x,     f->next,   f->slope,
                           f->residual, f->trial, f->matrix, f->step};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        free(all[i]);
    free((void *)f->constants);
}

/* The standard deviation of constant c, as a logarithm, from the factored matrix. */
static double deviation_of(struct fitting *f, size_t c) {
    memset(f->next, 0, f->n * sizeof *f->next);
    f->next[c] = 1;
    solve(f->matrix, f->n, f->next);
    return sqrt(fmax(f->next[c], 0));
}

static struct calibrate_constant *told_of(struct calibrate_fit *fit,
                                          const struct device_constant *row) {
    for (size_t i = 0; i < fit->all.len; i++)
        if (fit->all.at[i].row == row)
            return &fit->all.at[i];
    return NULL;
}

static void tell(struct fitting *f, struct calibrate_fit *fit) {
    const struct device_constant *row;
    fit->constants = values_at(f, f->x);
    for (size_t i = 0; (row = device_constant_at(i)); i++) {
        double is = device_constant_value(&fit->constants, row);
        double was = device_constant_value(f->base, row);
        *vec_push(&fit->all) =
            (struct calibrate_constant){.row = row, .was = was, .is = is, .low = is, .high = is};
    }
    find_slopes(f);
    make_equations(f, 0);
    factor(f->matrix, f->n);
    for (size_t c = 0; c < f->n; c++) {
        struct calibrate_constant *told = told_of(fit, f->constants[c]);
        double deviation = deviation_of(f, c), wide = NINETY * deviation;
        /* The rows alone: the hold, which stands for what was known before, is taken off. */
        told->seen = 1 / (deviation * deviation) - hold_of(f, c) > 1 / (TOLD * TOLD);
        told->low = told->is * exp(-wide);
        told->high = told->is * exp(wide);
    }
    for (size_t r = 0; r < f->count; r++)
        f->rows[r].after_us = f->rows[r].measured_us * exp(f->residual[r]);
    fit->after = median_of(f, f->residual);
}

bool calibrate_fit(struct calibrate_row *rows, size_t count, enum nki_generation generation,
                   const volatile int *cancel, struct calibrate_fit *fit) {
    struct fitting f = {.rows = rows,
                        .count = count,
                        .base = device_constants_of(generation),
                        .error = LEAST_ERROR,
                        .stride = FAR_STEP,
                        .cancel = cancel};
    *fit = (struct calibrate_fit){.constants = *f.base};
    begin(&f);
    find_residuals(&f, f.x, f.residual);
    for (size_t r = 0; r < count; r++)
        rows[r].before_us = rows[r].measured_us * exp(f.residual[r]);
    fit->before = median_of(&f, f.residual);
    find_slopes(&f);
    keep_seen(&f);
    descend(&f);
    /* What the first descent leaves unexplained is taken as the error of the rows. */
    f.error = fmax(f.error, 1.48 * median_of(&f, f.residual));
    f.stride = NEAR_STEP;
    descend(&f);
    fit->scatter = f.error;
    if (!is_cancelled(&f))
        tell(&f, fit);
    end(&f);
    return !is_cancelled(&f);
}

void calibrate_fit_free(struct calibrate_fit *fit) {
    vec_free(&fit->all);
}
