/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements of an output are wrong, and how: all, some rows or columns, a tail; by a constant
 * factor or summand; as another permutation of what is right. */
#include "diagnose/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct wrong {
    const float *is, *should;
    int64_t rows, columns;
    int64_t count, bad;          /* wrong elements; of them no numbers */
    int64_t *in_row, *in_column; /* wrong elements of each */
    double allowed;
};

static float *as_floats(const struct array *array) {
    size_t n = (size_t)array_count(array);
    float *to = mem_alloc(n + 1, sizeof *to);
    device_to_float(array->dtype, array->data, to, n);
    return to;
}

/* Equal numbers are so where they are infinite, too. */
static double off_by(float is, float should) {
    return is == should ? 0 : (double)is - (double)should;
}

double outputs_off(const struct study *study, const struct array *outputs) {
    const struct diagnose_question *question = study->question;
    double worst = 0;
    for (size_t k = 0; question->right && k < study->program->outputs.len; k++) {
        size_t n = (size_t)array_count(&outputs[k]);
        float *is = as_floats(&outputs[k]);
        const float *should = question->right[k].data;
        double off = 0, total = 0;
        for (size_t i = 0; i < n; i++) {
            double d = off_by(is[i], should[i]);
            off += d * d;
            total += isfinite(should[i]) ? (double)should[i] * should[i] : 0;
        }
        free(is);
        double rel = total > 0 ? sqrt(off / total) : sqrt(off);
        if (!(rel <= worst))
            worst = rel;
    }
    return question->right ? worst : (double)NAN;
}

static void count_wrong(struct wrong *wrong) {
    for (int64_t i = 0; i < wrong->rows * wrong->columns; i++) {
        if (fabs(off_by(wrong->is[i], wrong->should[i])) <= wrong->allowed)
            continue;
        wrong->count++;
        wrong->bad += !isfinite(wrong->is[i]);
        wrong->in_row[i / wrong->columns]++;
        wrong->in_column[i % wrong->columns]++;
    }
}

/* "rows 128 to 255", when all that are wrong lie in a part; nothing when they are everywhere. */
static void print_part(struct buf *out, const char *what, const int64_t *in, int64_t n) {
    int64_t first = n, last = -1, count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!in[i])
            continue;
        first = MIN_OF(first, i);
        last = i;
        count++;
    }
    if (count == n || last < 0)
        return;
    if (first == last)
        buf_printf(out, ", all in %s %lld of %lld", what, (long long)first, (long long)n);
    else if (count == last - first + 1)
        buf_printf(out, ", all in %ss %lld to %lld of %lld", what, (long long)first,
                   (long long)last, (long long)n);
    else
        buf_printf(out, ", in %lld of %lld %ss, the first %lld", (long long)count, (long long)n,
                   what, (long long)first);
}

/* is = factor * should + summand, by least squares; how much of the difference that leaves. */
static void print_law(struct buf *out, const struct wrong *wrong) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    for (int64_t i = 0; i < wrong->rows * wrong->columns; i++) {
        double is = wrong->is[i], should = wrong->should[i];
        if (!isfinite(is) || !isfinite(should) || fabs(is - should) <= wrong->allowed)
            continue;
        n++, x += should, y += is, xx += should * should, xy += should * is, yy += is * is;
    }
    double spread = xx - x * x / n, slope = (xy - x * y / n) / spread;
    double left = yy - y * y / n - slope * slope * spread;
    if (n < 8 || !(spread > 0))
        return;
    if (!(left <= 1e-6 * (yy - y * y / n))) {
        if (yy == 0)
            buf_puts(out, "; the wrong ones are 0");
        return;
    }
    double summand = (y - slope * x) / n, size = sqrt(xx / n);
    if (fabs(summand) < 1e-4 * size)
        buf_printf(out, "; they are %.6g times what they should be", slope);
    else if (fabs(slope - 1) < 1e-4)
        buf_printf(out, "; they are what they should be plus %.6g", summand);
    else
        buf_printf(out, "; they are %.6g times what they should be plus %.6g", slope, summand);
}

static void print_first(struct buf *out, const struct wrong *wrong) {
    for (int64_t i = 0; i < wrong->rows * wrong->columns; i++) {
        if (fabs(off_by(wrong->is[i], wrong->should[i])) <= wrong->allowed)
            continue;
        buf_printf(out, "; the first, [%lld, %lld], is %.6g and should be %.6g",
                   (long long)(i / wrong->columns), (long long)(i % wrong->columns),
                   (double)wrong->is[i], (double)wrong->should[i]);
        return;
    }
}

static void tell_output(struct study *study, size_t k) {
    const struct array *output = &study->question->outputs[k];
    struct wrong wrong = {.should = study->question->right[k].data};
    int64_t n = array_count(output);
    wrong.columns = output->ndim ? output->shape[output->ndim - 1] : 1;
    wrong.rows = wrong.columns ? n / wrong.columns : 0;
    double square = 0;
    for (int64_t i = 0; i < n; i++)
        square += isfinite(wrong.should[i]) ? (double)wrong.should[i] * wrong.should[i] : 0;
    wrong.allowed = 10 * study->question->tolerance * sqrt(square / (double)MAX_OF(n, 1));
    float *is = as_floats(output);
    wrong.is = is;
    wrong.in_row = mem_alloc((size_t)wrong.rows + 1, sizeof *wrong.in_row);
    wrong.in_column = mem_alloc((size_t)wrong.columns + 1, sizeof *wrong.in_column);
    count_wrong(&wrong);
    struct buf text = {0};
    buf_printf(&text, "output %zu: %lld of %lld elements are wrong", k, (long long)wrong.count,
               (long long)n);
    if (wrong.bad)
        buf_printf(&text, ", %lld of them NaN or infinite", (long long)wrong.bad);
    print_part(&text, "row", wrong.in_row, wrong.rows);
    print_part(&text, "column", wrong.in_column, wrong.columns);
    print_law(&text, &wrong);
    print_first(&text, &wrong);
    if (wrong.count)
        diag_add(study->diags, DIAG_NOTE, "hone-wrong-numbers",
                 study->program->files.len ? study->program->files.at[0] : "", 0, 0, "%s", text.at);
    buf_free(&text);
    free(is);
    free(wrong.in_row);
    free(wrong.in_column);
}

void pattern_tell(struct study *study) {
    for (size_t k = 0; study->knows_right && k < study->program->outputs.len; k++)
        tell_output(study, k);
}
