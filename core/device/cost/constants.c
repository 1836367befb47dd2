/* SPDX-License-Identifier: Apache-2.0 */
/* The table constants.def as values of each generation, and as rows. */
#include "device/cost/inner.h"

#include <math.h>

static const struct device_constants tables[] = {
    {
        .generation = NKI_GEN2,
#define CONSTANT(field, what, unit, worse, gen2, how2, gen3, how3, gen4, how4, source) \
    .field = (gen2),
#include "device/cost/constants.def"
#undef CONSTANT
    },
    {
        .generation = NKI_GEN3,
#define CONSTANT(field, what, unit, worse, gen2, how2, gen3, how3, gen4, how4, source) \
    .field = (gen3),
#include "device/cost/constants.def"
#undef CONSTANT
    },
    {
        .generation = NKI_GEN4,
#define CONSTANT(field, what, unit, worse, gen2, how2, gen3, how3, gen4, how4, source) \
    .field = (gen4),
#include "device/cost/constants.def"
#undef CONSTANT
    },
};

static size_t row_of(enum nki_generation generation) {
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if (tables[i].generation == generation)
            return i;
    return 1;
}

const struct device_constants *device_constants_of(enum nki_generation generation) {
    return &tables[row_of(generation)];
}

struct device_constants device_constants_on_grid(const struct device_constants *constants) {
    struct device_constants on_grid = *constants;
    double *const times[] = {&on_grid.semaphore_ns, &on_grid.scalar_table_ns,
                             &on_grid.pe_window_ns, &on_grid.dma_wait_ns,
                             &on_grid.dma_start_ns, &on_grid.dma_complete_ns,
                             &on_grid.start_ns};
    for (size_t i = 0; i < COUNT_OF(times); i++)
        *times[i] = cost_on_grid(*times[i]);
    return on_grid;
}

/* ---- rows ----------------------------------------------------------------------------------- */

#define KNOWN_DOCUMENTED \
    { DEVICE_DOCUMENTED, 0 }
#define KNOWN_MEASURED(percent) \
    { DEVICE_MEASURED, percent }
#define KNOWN_FITTED(percent) \
    { DEVICE_FITTED, percent }
#define KNOWN_GUESSED(percent) \
    { DEVICE_GUESSED, percent }
#define WORSE_MORE false
#define WORSE_LESS true

static const struct device_constant rows[] = {
#define CONSTANT(field, what, unit, worse, gen2, how2, gen3, how3, gen4, how4, source) \
    {#field,                                                                           \
     what,                                                                             \
     unit,                                                                             \
     WORSE_##worse,                                                                    \
     {gen2, gen3, gen4},                                                               \
     {KNOWN_##how2, KNOWN_##how3, KNOWN_##how4},                                       \
     source,                                                                           \
     offsetof(struct device_constants, field)},
#include "device/cost/constants.def"
#undef CONSTANT
};

const struct device_constant *device_constant_at(size_t index) {
    return index < COUNT_OF(rows) ? &rows[index] : NULL;
}

const struct device_constant *device_constant_find(struct str name) {
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

struct device_known device_constant_known(const struct device_constant *constant,
                                          enum nki_generation generation) {
    return constant->known[row_of(generation)];
}

/* ---- the unfavourable end ------------------------------------------------------------------- */

static double worst_of_any(const struct device_constant *row) {
    double most = fmax(row->value[0], fmax(row->value[1], row->value[2]));
    double least = INFINITY;
    for (size_t g = 0; g < COUNT_OF(row->value); g++)
        if (row->value[g] > 0)
            least = fmin(least, row->value[g]);
    return row->less_is_worse && isfinite(least) ? least : most;
}

static double worse_of(const struct device_constant *row, size_t g) {
    double ratio = 1 + row->known[g].percent / 100;
    if (row->value[g] <= 0)
        return worst_of_any(row);
    return row->less_is_worse ? row->value[g] / ratio : row->value[g] * ratio;
}

void device_constants_worsen(struct device_constants *constants, enum device_how how) {
    size_t g = row_of(constants->generation);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double *value = device_constant_in(constants, &rows[i]);
        bool is_default = *value >= rows[i].value[g] && *value <= rows[i].value[g];
        if (rows[i].known[g].how == how && is_default)
            *value = worse_of(&rows[i], g);
    }
}
