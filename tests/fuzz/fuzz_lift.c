/* SPDX-License-Identifier: Apache-2.0 */
/* What random programs compute: whatever is lifted whole is what the device model makes of the
 * inputs, and what is not says why. */
#include "fuzz/fuzz.h"
#include "fuzz/programs.h"
#include "lift/lift.h"
#include "nki/program/testing.h"

#include <stdio.h>

#define LONGEST 30    /* instructions; in long ones roundings and comparisons add up */
#define TOLERANCE 0.1 /* so many roundings to 8 bits may lie between the two */

static bool add(struct build *b, enum nki_op op, const struct nki_operand *operands, size_t n) {
    build_instr(b, op, operands, n);
    if (programs_is_accepted(b))
        return true;
    b->program->instrs.len--;
    return false;
}

/* Tiles hold something from the start: an input of their shape, or a number. */
static void fill_tiles(struct build *b, struct dice *dice) {
    for (uint32_t s = 0; s < b->program->storages.len; s++) {
        struct nki_operand dst = tile(build_all(b, s));
        uint32_t from = dice_roll(dice, (uint32_t)b->program->storages.len);
        bool copied =
            b->program->storages.at[from]->input >= 0 && from != s &&
            add(b, NKI_OP_DMA_COPY, (const struct nki_operand[]){dst, tile(build_all(b, from))}, 2);
        if (!copied && b->program->storages.at[s]->space != NKI_HBM)
            add(b, NKI_OP_MEMSET, (const struct nki_operand[]){dst, number(dice_roll(dice, 4))}, 2);
    }
}

/* Outputs are written in the end, as far as there are tiles that are large enough. */
static void write_outputs(struct build *b, struct dice *dice) {
    for (uint32_t s = 0; s < b->program->storages.len; s++) {
        const struct nki_storage *to = b->program->storages.at[s];
        if (to->output < 0)
            continue;
        int rows = (int)to->shape[0], columns = (int)to->shape[1];
        for (int tries = 0; tries < 60; tries++) {
            uint32_t from = dice_roll(dice, (uint32_t)b->program->storages.len);
            const struct nki_storage *source = b->program->storages.at[from];
            if (from == s || source->shape[0] < rows || source->shape[1] < columns)
                continue;
            const struct nki_operand operands[] = {tile(build_all(b, s)),
                                                   tile(build_part(b, from, 0, rows, 0, columns))};
            if (add(b, NKI_OP_DMA_COPY, operands, 2))
                break;
        }
    }
}

static void check_words(const struct lifted *lifted) {
    struct buf text = {0};
    lifted_print_graph(lifted, NULL, 0, &text);
    if (!strstr(text.at, lifted_is_whole(lifted) ? "\"graph\"" : "\"refused\""))
        HONE_BUG("a graph, or a refusal");
    lifted_print_words(lifted, &text);
    buf_free(&text);
}

static void compare(struct build *b, const struct lifted *lifted) {
    struct device_limits limits = {.memory_bytes = 1 << 24};
    struct device_image *image = device_load(b->program, b->generation, &b->diags);
    size_t count = 0;
    if (image && device_execute(image, b->inputs, b->n_inputs, b->outputs, &limits, &b->err)) {
        double error = lifted_check(lifted, b->inputs, b->outputs, 1e7, &count);
        if (count && !(error <= TOLERANCE)) {
            struct buf text = {0};
            nki_program_print(b->program, &text);
            lifted_print_words(lifted, &text);
            fprintf(stderr, "%s\nrelative L2 %g\n", text.at, error);
            HONE_BUG("what was lifted is not what the program computes");
        }
    }
    device_unload(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct dice dice = {data, size, 1};
    struct build b = programs_begin(&dice);
    b.program->cores = 1; /* what two do is not lifted */
    fill_tiles(&b, &dice);
    for (uint32_t tries = 20 * (1 + dice_roll(&dice, LONGEST)); tries > 0; tries--) {
        programs_add(&b, &dice);
        if (!programs_is_accepted(&b))
            b.program->instrs.len--;
    }
    write_outputs(&b, &dice);
    struct lifted *lifted = lift_program(b.program, NULL, &b.err);
    if (!lifted && !b.err.text[0])
        HONE_BUG("a program was refused without a word");
    if (lifted)
        check_words(lifted);
    if (lifted && lifted_is_whole(lifted))
        compare(&b, lifted);
    lifted_free(lifted);
    build_end(&b);
    return 0;
}

#ifndef HONE_LIBFUZZER
int main(int argc, char **argv) {
    return programs_main("lift", argc, argv);
}
#endif
