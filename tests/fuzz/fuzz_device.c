/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs: whatever loads must run without a crash, or end with an error. */
#include "fuzz/fuzz.h"
#include "fuzz/programs.h"

#define LONGEST 1500 /* instructions */

/* An input with more bytes than a seed has few instructions, which the bytes choose. */
static void add_instructions(struct build *b, struct dice *dice) {
    size_t most = dice->left > 8 ? dice->left / 4 : LONGEST;
    for (size_t i = 0; i < MIN_OF(most, (size_t)LONGEST); i++) {
        programs_add(b, dice);
        if (!programs_is_accepted(b) && dice_roll(dice, 20000))
            b->program->instrs.len -= programs_last(b);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct dice dice = {data, size, 1};
    struct build b = programs_begin(&dice);
    add_instructions(&b, &dice);
    programs_end(&b);
    struct device_image *image = device_load(b.program, b.generation, &b.diags);
    bool said = b.diags.errors > 0;
    if (image) {
        struct device_limits limits = {.memory_bytes = 1 << 24};
        said = device_execute(image, b.inputs, b.n_inputs, b.outputs, &limits, &b.err) ||
               b.err.text[0];
        device_profile_free(device_time(image));
    }
    if (!said)
        HONE_BUG("a program was refused without a word");
    device_unload(image);
    build_end(&b);
    return 0;
}

#ifndef HONE_LIBFUZZER
int main(int argc, char **argv) {
    return programs_main("device", argc, argv);
}
#endif
