/* SPDX-License-Identifier: Apache-2.0 */
/* The floor: no kernel with as many products can take less time. What has to be read and written is
 * moved once, and products run at the peak of the PE array. There are two accounts of how much that
 * is: the kernel's own traffic and products, and what its reference needs (core/task/record). The
 * least work is at most as much as either says, so for each part the smaller number counts. */
#include "device/time/run.h"

#define FP32_PASSES 4    /* passes of the PE array for a product in fp32; bf16 takes one */
#define SPLIT_PRODUCTS 3 /* high x high, high x low, low x high */

void floor_add_product(struct floor_parts *parts, double once_ns, int passes) {
    parts->pe_ns[FLOOR_KEEP] += once_ns * passes;
    parts->pe_ns[FLOOR_SPLIT] += once_ns * MIN_OF(passes, SPLIT_PRODUCTS);
    parts->pe_ns[FLOOR_ANY] += once_ns;
}

/* What the reference needs. When the kernel writes narrower results than the reference, the
 * kernel's bytes count, because they are fewer. */
static struct floor_parts parts_of(const struct device_generation *generation,
                                   const struct device_need *need) {
    struct floor_parts parts = {.read_bytes = need->read_bytes,
                                .written_bytes = need->written_bytes};
    double bf16 = generation->pe_tflops_bf16 * 1e3, fp8 = generation->pe_tflops_fp8 * 1e3;
    floor_add_product(&parts, 2 * need->multiply_adds[DEVICE_NEED_FP32] / bf16, FP32_PASSES);
    floor_add_product(&parts, 2 * need->multiply_adds[DEVICE_NEED_BF16] / bf16, 1);
    floor_add_product(&parts, 2 * need->multiply_adds[DEVICE_NEED_FP8] / MAX_OF(bf16, fp8), 1);
    return parts;
}

void floor_set(struct device_profile *profile, const struct device_generation *generation) {
    const struct floor_parts *parts = &profile->floor_parts;
    int cores = MAX_OF(profile->cores, 1);
    double hbm_ns = (parts->read_bytes + parts->written_bytes) /
                    device_memory_bytes_per_ns_on(generation, cores);
    profile->floor_us = MAX_OF(hbm_ns, parts->pe_ns[FLOOR_KEEP] / cores) / 1e3;
    profile->floor_split_us = MAX_OF(hbm_ns, parts->pe_ns[FLOOR_SPLIT] / cores) / 1e3;
    profile->floor_any_us = MAX_OF(hbm_ns, parts->pe_ns[FLOOR_ANY] / cores) / 1e3;
    profile->floor_bound = hbm_ns >= parts->pe_ns[FLOOR_KEEP] / cores ? "HBM" : "Tensor";
}

void device_floor_of_task(struct device_profile *profile,
                          const struct device_generation *generation,
                          const struct device_need *need) {
    struct floor_parts task = parts_of(generation, need), *own = &profile->floor_parts;
    own->read_bytes = MIN_OF(own->read_bytes, task.read_bytes);
    own->written_bytes = MIN_OF(own->written_bytes, task.written_bytes);
    for (int i = 0; i < FLOOR_PRECISIONS; i++)
        own->pe_ns[i] = MIN_OF(own->pe_ns[i], task.pe_ns[i]);
    floor_set(profile, generation);
}

double device_floor_on(double floor_us, int cores) {
    return floor_us / MAX_OF(cores, 1);
}
