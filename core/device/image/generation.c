/* SPDX-License-Identifier: Apache-2.0 */
/* The three generations of NeuronCores, as hardware.def has their numbers. */
#include "device/image/image.h"

/* What nki/program/generations.def says of a generation, for its row. */
#define GENERATION(id, number, name, alias, sbuf_bytes) \
    static const char name_##id[] = name;               \
    enum { sbuf_bytes_##id = sbuf_bytes };
#include "device/image/testing.h"
#include "nki/program/generations.def"
#undef GENERATION
#define NAMED(id) .name = name_##id, .generation = NKI_##id

static const struct device_generation rows[] = {
    {
        NAMED(GEN2),
#define HARDWARE(field, what, unit, gen2, gen3, gen4, source) .field = (gen2),
#include "device/image/hardware.def"
#undef HARDWARE
    },
    {
        NAMED(GEN3),
#define HARDWARE(field, what, unit, gen2, gen3, gen4, source) .field = (gen3),
#include "device/image/hardware.def"
#undef HARDWARE
    },
    {
        NAMED(GEN4),
#define HARDWARE(field, what, unit, gen2, gen3, gen4, source) .field = (gen4),
#include "device/image/hardware.def"
#undef HARDWARE
    },
};

static const struct device_fact facts[] = {
#define HARDWARE(field, what, unit, gen2, gen3, gen4, source) \
    {what, unit, {(double)(gen2), (double)(gen3), (double)(gen4)}, source},
#include "device/image/hardware.def"
#undef HARDWARE
};

const struct device_fact *device_fact_at(size_t index) {
    return index < COUNT_OF(facts) ? &facts[index] : NULL;
}

double device_memory_bytes_per_ns_on(const struct device_generation *generation, int cores) {
    double dma = generation->dma_engines * generation->dma_engine_bytes_per_ns;
    return MAX_OF(dma, cores * generation->hbm_bytes_per_ns);
}

double device_memory_bytes_per_ns(const struct device_generation *generation) {
    return device_memory_bytes_per_ns_on(generation, 1);
}

const struct device_generation *device_generation_find(const char *name) {
    return device_generation_of(nki_generation_find(name));
}

const struct device_generation *device_generation_of(enum nki_generation generation) {
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].generation == generation)
            return &rows[i];
    return NULL;
}

const char *device_name(const char *asked) {
    return asked ? asked : nki_generation_name(NKI_GENERATION_DEFAULT);
}

const struct device_generation *device_generation_ask(const char *asked, struct err *err) {
    const char *name = device_name(asked);
    const struct device_generation *found = device_generation_find(name);
    struct buf all = {0};
    for (size_t i = 0; !found && i < COUNT_OF(rows); i++)
        buf_printf(&all, "%s%s",
                   i == 0                    ? ""
                   : i + 1 == COUNT_OF(rows) ? " and "
                                             : ", ",
                   rows[i].name);
    if (!found)
        err_set(err, ERR_USAGE, "there is no device %s; there are %s", name, all.at);
    buf_free(&all);
    return found;
}

const struct device_generation *device_generation_at(size_t index) {
    return index < COUNT_OF(rows) ? &rows[index] : NULL;
}
