/* SPDX-License-Identifier: Apache-2.0 */
/* Products of fp32 by products of bf16, which the Tensor engine makes four times as fast. A number
 * is the sum of a high half, its nearest bf16, and a low half, the bf16 nearest to what is missing;
 * of the four products of halves the one of both low halves is left out. */
#include "write/product.h"

#include <math.h>

#define UNIT 0x1p-8    /* roundoff of bf16: the largest relative error of rounding to 8 bits */
#define MARGIN 2       /* an error is to be so many times smaller than the tolerance */
#define TOLERANCE 2e-5 /* of a task that names none (task/verdict) */

enum numbers { NUMBERS_KEPT = 0, NUMBERS_NARROW = 1, NUMBERS_HALVES = 3 };

/* The relative L2 error of a sum of products whose terms err independently. Rounding errs by at
 * most u in each number, and evenly, so by u / sqrt(3) in the mean square (Higham, Accuracy and
 * Stability of Numerical Algorithms, 2.2 and 2.8). With one bf16 for each operand that is
 * sqrt(2) u / sqrt(3). Of halves, what is left of each operand and the product of the low halves
 * are u^2 / 3 each: sqrt(3) u^2 / 3. Accumulation is in fp32 as before. */
static double error_of(enum numbers numbers) {
    return numbers == NUMBERS_NARROW ? sqrt(2.0 / 3) * UNIT : sqrt(3) * UNIT * UNIT / 3;
}

static bool is_precise_enough(const struct product *p, enum numbers numbers) {
    double tolerance = p->writer->spec->tolerance;
    return error_of(numbers) * MARGIN <= (tolerance > 0 ? tolerance : TOLERANCE);
}

/* Whether halves are the best guess. Three short products take longer than one of fp32: their
 * weights load for 95 ns each, as long as 228 columns take. The Tensor engine's clock is halved
 * where too few of its rows work (pe_window_share). */
static bool halves_pay(const struct product *p) {
    return p->main[COLUMN].n >= 2 * PARTITIONS && p->main[SUMMED].n > PARTITIONS / 2;
}

void product_choose_numbers(struct product *p) {
    enum write_precision precision = p->writer->spec->precision;
    bool narrow = precision == WRITE_ANY && is_precise_enough(p, NUMBERS_NARROW);
    bool halves = is_precise_enough(p, NUMBERS_HALVES);
    int64_t values[4];
    int count = 0;
    if (precision == WRITE_KEEP || strcmp(p->dtype, "float32") || !(narrow || halves))
        return;
    if (narrow)
        values[count++] = NUMBERS_NARROW;
    else if (!halves_pay(p))
        values[count++] = NUMBERS_KEPT;
    if (halves)
        values[count++] = NUMBERS_HALVES;
    values[count++] = NUMBERS_KEPT;
    int64_t how = write_choose(
        p->writer, (int)(p->node - p->writer->graph->nodes), "numbers",
        "products of fp32: as they are (0), as three of bf16 halves (3), as one of bf16 (1)",
        values, count);
    p->halves = how == NUMBERS_HALVES;
    p->narrow = how == NUMBERS_NARROW;
}

const char *product_dtype(const struct product *p) {
    return p->halves || p->narrow ? "bfloat16" : p->dtype;
}

void product_declare_operand(struct product *p, const char *name, const char *shape) {
    product_declare(p, name, shape, product_dtype(p), "sbuf");
    if (p->halves)
        product_declare(p, arena_printf(p->writer->arena, "%s_low", name), shape, "bfloat16",
                        "sbuf");
}

/* High halves of what lies in SBUF are best made by GpSimd, which nobody else waits for here. */
static void take_high(struct product *p, const char *to, const char *from, bool in_psum) {
    static const int64_t values[] = {2, 0, 1}, of_psum[] = {0, 1};
    struct writer *w = p->writer;
    int node = (int)(p->node - w->graph->nodes);
    int64_t how =
        in_psum ? write_choose(w, node, "turned_high_by",
                               "high halves of turned pieces: made by Scalar (0), by Vector (1)",
                               of_psum, 2)
                : write_choose(w, node, "high_by",
                               "high halves: made by Scalar (0), by Vector (1), by GpSimd (2)",
                               values, 3);
    if (how == 0)
        write_line(w, "nisa.activation(dst=%s, op=nl.copy, data=%s)", to, from);
    else
        write_line(w, "nisa.tensor_copy(dst=%s, src=%s%s)", to, from,
                   how == 2 ? ", engine=nisa.gpsimd_engine" : "");
}

void product_take(struct product *p, const char *name, const char *part, const char *from,
                  bool in_psum) {
    struct writer *w = p->writer;
    if (!p->halves) {
        write_line(w, "nisa.tensor_copy(dst=%s%s, src=%s)", name, part, from);
        return;
    }
    take_high(p, arena_printf(w->arena, "%s%s", name, part), from, in_psum);
    write_line(w, "nisa.tensor_tensor(dst=%s_low%s, data1=%s, data2=%s%s, op=nl.subtract)", name,
               part, from, name, part);
}

void product_multiply_tiles(struct product *p, const char *sums, const char *left_part,
                            const char *right_part) {
    /* The stationary operand is the same in the first two. */
    static const char *const halves[][2] = {{"", ""}, {"", "_low"}, {"_low", ""}};
    for (size_t i = 0; i < (p->halves ? COUNT_OF(halves) : 1); i++)
        write_line(p->writer, "nisa.nc_matmul(dst=%s, stationary=%sleft%s%s%s, moving=right%s%s%s)",
                   sums, p->left_early ? "now_" : "", p->name, halves[i][0], left_part, p->name,
                   halves[i][1], right_part);
}
