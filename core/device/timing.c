/* SPDX-License-Identifier: Apache-2.0 */
/* Timing a loaded program. Of loops that were copied most rounds are left out again, where the
 * schedule becomes steady without them: the profile is the same, and takes a part of the time. */
#include "device/causes/inner.h"
#include "device/device.h"
#include "device/image/inner.h"
#include "device/time/inner.h"

/* Looking for a steady state takes several schedules, so it has to be a small part: the more so
 * when it was not found in fewer rounds. */
#define LEAST_SHORTER 7
#define LEAST_AGAIN 10
#define MOST_WHOLE \
    100000u /* instructions: changes of longer programs are timed in a part of them */

/* A shorter program with the same schedule, as far as that is steady; false: there is none. */
static bool shorten(const struct device_image *image, uint32_t rounds,
                    struct device_kernel *shorter) {
    struct diag_list told = {0}; /* with the whole program */
    bool again = rounds != device_fold_rounds(NULL);
    size_t most = image->program->instrs.len / (again ? LEAST_AGAIN : LEAST_SHORTER);
    *shorter = (struct device_kernel){.program = nki_program_shorten(image->program, rounds, most)};
    if (shorter->program)
        shorter->image = device_load(shorter->program, image->generation, &told);
    diag_free(&told);
    if (shorter->image)
        return true;
    device_kernel_free(shorter);
    return false;
}

struct device_profile *device_time_with(const struct device_image *image,
                                        const struct device_constants *constants) {
    struct device_kernel shorter;
    uint32_t rounds = device_fold_rounds(NULL);
    while (rounds && shorten(image, rounds, &shorter)) {
        struct device_profile *profile = time_profile(shorter.image, constants, true);
        rounds = device_fold_rounds(shorter.program);
        device_kernel_free(&shorter);
        if (profile)
            return profile;
    }
    return time_profile(image, constants, false);
}

double device_time_latency(const struct device_image *image,
                           const struct device_constants *constants) {
    struct device_kernel shorter;
    uint32_t rounds = device_fold_rounds(NULL);
    while (rounds && shorten(image, rounds, &shorter)) {
        double us = time_latency(shorter.image, constants);
        rounds = device_fold_rounds(shorter.program);
        device_kernel_free(&shorter);
        if (us > 0)
            return us;
    }
    return time_latency(image, constants);
}

struct device_causes *device_causes_of(const struct device_image *image,
                                       const struct device_constants *constants, bool reasons) {
    struct device_kernel shorter;
    if (reasons && image->program->instrs.len <= DEVICE_MOST_REASONS)
        return causes_make(image, constants, true);
    uint32_t rounds = device_fold_rounds(NULL);
    while (rounds && shorten(image, rounds, &shorter)) {
        struct device_causes *causes = causes_make(shorter.image, constants, false);
        rounds = device_fold_rounds(shorter.program);
        device_kernel_free(&shorter);
        if (causes)
            return causes;
    }
    return causes_make(image, constants, false);
}

/* Of a long program what is left of it with most rounds left out, where that was steady before. */
void device_causes_try(struct device_causes *causes, const struct device_image *image,
                       const struct device_constants *constants) {
    struct device_kernel shorter;
    size_t most = image->program->folds.len ? SIZE_MAX : MOST_WHOLE;
    uint32_t rounds = device_fold_rounds(NULL);
    bool tried = image->program->instrs.len <= most;
    if (tried)
        causes_try(causes, image, constants);
    while (!tried && rounds && shorten(image, rounds, &shorter)) {
        tried = time_latency(shorter.image, constants) > 0;
        if (tried)
            causes_try(causes, shorter.image, constants);
        rounds = device_fold_rounds(shorter.program);
        device_kernel_free(&shorter);
    }
}

struct device_profile *device_time(const struct device_image *image) {
    return device_time_with(image, NULL);
}
