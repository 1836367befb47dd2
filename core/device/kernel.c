/* SPDX-License-Identifier: Apache-2.0 */
/* From a tree to a latency at once. Loops whose rounds are alike are folded where their schedule
 * becomes steady: what comes out is the same as without. */
#include "device/device.h"

uint32_t device_fold_rounds(const struct nki_program *before) {
    static const uint32_t first = 1024, more = 8;
    if (!before)
        return first;
    bool again =
        before->folds.len && before->folds.at[0].kept * before->folds.at[0].rounds < more * first;
    return again && nki_program_count(before) > 4 * more * before->instrs.len ? more * first : 0;
}

void device_kernel_free(struct device_kernel *kernel) {
    device_profile_free(kernel->profile);
    device_unload(kernel->image);
    nki_program_free(kernel->program);
    *kernel = (struct device_kernel){0};
}

/* What a kernel is timed with, and what came out. */
struct asked {
    const struct nki_tree *tree;
    const struct device_constants *constants;
    struct diag_list *diags;
    bool only_latency;
    double us; /* 0: it did not become steady, or there was an error */
};

static bool make(struct asked *asked, const struct nki_specialise_options *options,
                 struct device_kernel *kernel) {
    const struct nki_tree *tree = asked->tree;
    struct diag_list *diags = asked->diags;
    *kernel = (struct device_kernel){.program = nki_specialise(tree, options, diags)};
    if (kernel->program)
        kernel->image =
            device_load(kernel->program, device_generation_of(options->generation), diags);
    if (kernel->image && asked->only_latency)
        asked->us = device_time_latency(kernel->image, asked->constants);
    else if (kernel->image)
        kernel->profile = asked->constants ? device_time_with(kernel->image, asked->constants)
                                           : device_time(kernel->image);
    return kernel->profile || asked->us > 0;
}

static bool time_it(struct asked *asked, const struct nki_specialise_options *options,
                    struct device_kernel *kernel) {
    struct nki_specialise_options mine = *options;
    size_t findings = asked->diags->all.len;
    bool folded = false;
    mine.was_folded = &folded;
    mine.fold_rounds = device_fold_rounds(NULL);
    while (!make(asked, &mine, kernel) && folded) {
        /* An error is found again, as it is told when all is evaluated. */
        mine.fold_rounds = kernel->image ? device_fold_rounds(kernel->program) : 0;
        folded = mine.fold_rounds != 0;
        device_kernel_free(kernel);
        diag_forget(asked->diags, findings);
        if (!folded)
            return make(asked, &mine, kernel);
    }
    return kernel->profile || asked->us > 0;
}

bool device_kernel_time(const struct nki_tree *tree, const struct nki_specialise_options *options,
                        const struct device_constants *constants, struct diag_list *diags,
                        struct device_kernel *kernel) {
    struct asked asked = {tree, constants, diags, false, 0};
    return time_it(&asked, options, kernel);
}

double device_kernel_latency(const struct nki_tree *tree,
                             const struct nki_specialise_options *options,
                             const struct device_constants *constants, struct diag_list *diags) {
    struct asked asked = {tree, constants, diags, true, 0};
    struct device_kernel kernel;
    (void)time_it(&asked, options, &kernel);
    device_kernel_free(&kernel);
    return asked.us;
}
