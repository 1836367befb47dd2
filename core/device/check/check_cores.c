/* SPDX-License-Identifier: Apache-2.0 */
/* What two cores of a launch do in the HBM that they share. Nothing orders them here, so neither
 * may read or write what the other one writes. Execution runs one after the other and the clock
 * both at once: without this, one of the two would be wrong. */
#include "device/check/check.h"
#include "device/check/own.h"

#include <stdlib.h>

/* Which elements of one tensor the first core has touched. */
struct touched {
    uint8_t *read, *written; /* a bit each */
    size_t element;          /* bytes */
    int64_t n;
};

/* An access to be noted, or held against what was noted. */
struct visit {
    const struct touched *touched;
    bool notes, writes;
};

static bool is_set(const uint8_t *bits, int64_t at) {
    return bits[at / 8] >> (at % 8) & 1;
}

/* Whether the elements from `at` on may be touched so. */
static bool visit_run(const struct visit *visit, int64_t at, int64_t n) {
    const struct touched *touched = visit->touched;
    uint8_t *bits = visit->writes ? touched->written : touched->read;
    for (int64_t i = MAX_OF(at, 0); i < MIN_OF(at + n, touched->n); i++) {
        if (visit->notes)
            bits[i / 8] |= (uint8_t)(1u << (i % 8));
        else if (is_set(touched->written, i) || (visit->writes && is_set(touched->read, i)))
            return false;
    }
    return true;
}

/* The same for an access pattern, whose index of one dimension after the other runs. */
static bool visit_dims(const struct visit *visit, const struct nki_ap *ap, int d, int64_t at) {
    int64_t size = (int64_t)dtype_bytes(ap->dtype), unit = (int64_t)visit->touched->element;
    if (d == ap->n_dims)
        return visit_run(visit, at * size / unit, MAX_OF(size / unit, 1));
    if (d == ap->n_dims - 1 && ap->step[d] == 1)
        return visit_run(visit, at * size / unit, (ap->count[d] * size + unit - 1) / unit);
    bool good = true;
    for (int32_t i = 0; good && i < (ap->step[d] ? ap->count[d] : 1); i++)
        good = visit_dims(visit, ap, d + 1, at + i * ap->step[d]);
    return good;
}

static bool visit_ap(const struct visit *visit, const struct nki_ap *ap) {
    if (ap->indirect) /* anywhere */
        return visit_run(visit, 0, visit->touched->n);
    return visit_dims(visit, ap, 0, ap->offset);
}

static void refuse(const struct device_image *image, uint32_t i, uint32_t storage, const char *what,
                   struct diag_list *diags) {
    const struct nki_program *program = image->program;
    device_report(program, diags, DIAG_ERROR, program->instrs.at[i].loc, "hone-two-cores",
                  "core %u %s a part of `%s` that core %u %s, and an exchange between cores is "
                  "not modelled yet: give each core its own part",
                  program->instrs.at[i].core, what, program->storages.at[storage].name,
                  1u - program->instrs.at[i].core,
                  strcmp(what, "reads") == 0 ? "writes" : "uses, too");
}

/* Visits the accesses of one core to a tensor; false when one meets what was noted. */
static bool visit_core(const struct device_image *image, uint8_t core, uint32_t storage,
                       const struct touched *touched, struct diag_list *diags) {
    const struct nki_program *program = image->program;
    for (uint32_t i = 0; i < program->instrs.len; i++) {
        size_t n;
        const struct block_operand *operands = device_block_operands(image, i, &n);
        for (size_t k = 0; program->instrs.at[i].core == core && k < n; k++) {
            struct visit visit = {touched, core == 0, operands[k].is_dst};
            if (operands[k].ap->storage != storage || visit_ap(&visit, operands[k].ap))
                continue;
            refuse(image, i, storage, operands[k].is_dst ? "writes" : "reads", diags);
            return false;
        }
    }
    return true;
}

static bool check_storage(const struct device_image *image, uint32_t s, struct diag_list *diags) {
    const struct nki_storage *storage = &image->program->storages.at[s];
    struct touched touched = {.element = MAX_OF(dtype_bytes(storage->dtype), 1u)};
    if (storage->space != NKI_HBM) {
        device_report(image->program, diags, DIAG_ERROR, storage->loc, "hone-two-cores",
                      "both cores use `%s`, but each has its own SBUF and PSUM", storage->name);
        return false;
    }
    touched.n = (int64_t)(storage->bytes / touched.element);
    touched.read = mem_alloc((size_t)touched.n / 8 + 1, 1);
    touched.written = mem_alloc((size_t)touched.n / 8 + 1, 1);
    bool good =
        visit_core(image, 0, s, &touched, diags) && visit_core(image, 1, s, &touched, diags);
    free(touched.read);
    free(touched.written);
    return good;
}

bool check_cores(const struct device_image *image, struct diag_list *diags) {
    const struct nki_program *program = image->program;
    uint8_t *users = mem_alloc(program->storages.len + 1, 1);
    for (uint32_t i = 0; i < program->instrs.len; i++) {
        size_t n;
        const struct block_operand *operands = device_block_operands(image, i, &n);
        for (size_t k = 0; k < n; k++)
            users[operands[k].ap->storage] |= (uint8_t)(1u << program->instrs.at[i].core);
    }
    bool good = true;
    for (uint32_t s = 0; s < program->storages.len && good; s++)
        if (users[s] == 3 && image->written[s])
            good = check_storage(image, s, diags);
    free(users);
    return good;
}
