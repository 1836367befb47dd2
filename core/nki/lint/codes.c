/* SPDX-License-Identifier: Apache-2.0 */
/* What the codes of compilers mean: those of the Neuron compiler that its documentation or public
 * issues tell of, and hone's own lints. It explains; it does not look for anything. */
#include "nki/lint/lint.h"

#define TOO_MANY                                                                             \
    "the program has more instructions than the compiler takes",                             \
        "Use larger tiles, loops that stay loops, fewer unrolled copies; or do less in one " \
        "kernel."
#define NO_HBM                                         \
    "the tensors do not fit into the device's memory", \
        "Use a smaller batch or smaller tensors, or spread them over cores."
#define NO_OPERATOR                              \
    "an operator of the graph is not supported", \
        "Express it with operators that are; neuronx-cc list-operators names them."
#define NO_TARGET                                                 \
    "a custom call has a target that the compiler does not know", \
        "Check that the kernel was traced with the NKI that belongs to this compiler."
#define BAD_MX                                                                                    \
    "an operand of a microscaling instruction has the wrong form",                                \
        "Blocks are 32 elements, scales are packed in unsigned words, the axis is a multiple of " \
        "4; "                                                                                     \
        "compare types, ranks and block sizes with the instruction's documentation."
#define BAD_DOT                                                                                 \
    "the operands of a scaled matrix product do not match",                                     \
        "Compare operand count, ranks, batch and contraction sizes and the result's type with " \
        "the "                                                                                  \
        "instruction's documentation."

/* Sources: the error code pages of the Neuron SDK documentation; public issues where it says so. */
static const struct nki_code codes[] = {
    {"NCC_EVRF001", NO_OPERATOR},
    {"NCC_EVRF004", "a complex type is used",
     "Keep real and imaginary parts in tensors of their own."},
    {"NCC_EVRF005", "an 8-bit float of the FNUZ kind is used",
     "Use float16, bfloat16 or a standard float8 where the generation has it."},
    {"NCC_EVRF006", "this algorithm for random numbers is not supported",
     "Use the default generator."},
    {"NCC_EVRF007", TOO_MANY},
    {"NCC_EVRF009", NO_HBM},
    {"NCC_EVRF010", "input and kernel are both dilated", "Use one of the two dilations."},
    {"NCC_EVRF011", "a stride is combined with a dilated input", "Drop one of them."},
    {"NCC_EVRF013", "the largest k are asked of integers", "Cast to a float type first."},
    {"NCC_EVRF015", NO_TARGET},
    {"NCC_EVRF016", "a scatter with a reduction works on integers or booleans",
     "Cast to a float type first."},
    {"NCC_EVRF017", "a windowed reduction has a base dilation above 1", "Set it to 1."},
    {"NCC_EVRF018", "a windowed reduction has a window dilation above 1", "Set it to 1."},
    {"NCC_EVRF019", "a windowed reduction has several operands", "Use one operand for each."},
    {"NCC_EVRF022", "an arithmetic shift to the right is not of 32 bits",
     "Cast what is shifted to a 32-bit integer."},
    {"NCC_EVRF024", "an output is larger than 4 GB", "Make it smaller or split it."},
    {"NCC_EVRF031", "a scatter's indices run past its operand",
     "Give the iota the length of the operand."},
    {"NCC_EVRF035", "a matrix product takes integers",
     "Cast to a float type, or allow the compiler to (--implicit-integer-downcast=dot)."},
    {"NCC_EVRF036", BAD_MX},
    {"NCC_EVRF037", BAD_MX},
    {"NCC_EVRF038", BAD_MX},
    {"NCC_EVRF039", BAD_MX},
    {"NCC_EVRF040", BAD_MX},
    {"NCC_EVRF041", BAD_MX},
    {"NCC_EVRF042", BAD_MX},
    {"NCC_EVRF043", BAD_DOT},
    {"NCC_EVRF044", BAD_DOT},
    {"NCC_EVRF045", BAD_DOT},
    {"NCC_EVRF046", BAD_DOT},
    {"NCC_EVRF047", BAD_DOT},
    {"NCC_EVRF048", BAD_DOT},
    {"NCC_EVRF049", BAD_DOT},
    {"NCC_EVRF050", BAD_DOT},
    {"NCC_EVRF051", "float8_e4m3fn is not there on trn1 and trn2",
     "Use bfloat16, or float8_e4m3 where the generation has it."},
    {"NCC_EVRF052", "float8_e4m3 is not there after trn3", "Use float8_e4m3fn."},
    {"NCC_EVRF053", BAD_DOT},
    {"NCC_EVRF054", BAD_DOT},
    {"NCC_EVRF055", BAD_DOT},
    {"NCC_EVRF056", "a gather's indices run past its operand",
     "Keep the iota within the operand's size."},
    {"NCC_EVRF057", BAD_MX},
    {"NCC_EVRF058", BAD_MX},
    {"NCC_EVRF059", "the artefact of a kernel is missing", "Trace the kernel again."},
    {"NCC_EVRF060", "a scatter works on integers", "Cast to a float type first."},
    {"NCC_EVRF061", "an all-reduce works on integers", "Cast to a float type first."},
    {"NCC_EVRF062", "a power of 64-bit integers is taken", "Use 32-bit integers or floats."},
    {"NCC_EVRF063", "a reduce-scatter works on integers", "Cast to a float type first."},
    {"NCC_EVRF064", "the graph is not valid", "Look at the operation the message names."},
    {"NCC_EVRF065", "the kernel was traced with an older NKI than the compiler takes",
     "Trace it again with the release that belongs to this compiler."},
    {"NCC_EOOM001", NO_HBM},
    {"NCC_EOOM002", NO_HBM},
    {"NCC_EARG001", "the number of logical cores is not one the target has",
     "Set what the generation supports."},
    {"NCC_EBIR023", "the intermediate size of a fused MLP is above 4096",
     "Split it, or do not use the fused kernel."},
    {"NCC_EBVF030", TOO_MANY},
    {"NCC_EHCA005", NO_TARGET},
    {"NCC_EMOD025", "a shape is known only at run time", "Give fixed shapes."},
    {"NCC_ESFH002", "a constant is an unsigned integer of 64 bits", "Use 32-bit constants."},
    {"NCC_ESPP004", "there is no code for this type here", "Use float32, float16 or bfloat16."},
    {"NCC_ESPP047", "this generation does not have this 8-bit float",
     "Use float16 or bfloat16, or a device that has it."},
    {"NCC_EUOC002", NO_OPERATOR},
    {"NCC_EXSP001", NO_HBM},
    {"NCC_EXTP004", TOO_MANY},
    /* from public issues, not documented */
    {"NCC_IXGM002", "the compiler failed over a dynamic loop",
     "Use a loop with a fixed count, or unroll it."},
    {"NCC_ITEN404", "the tensoriser failed", "Write the access patterns in a simpler way."},
    {"NCC_ISFV902", "a DMA transpose of float32 failed",
     "Transpose on the tensor engine, or in a 16-bit type."},
};

const struct nki_code *nki_code_find(const char *code, struct nki_code *own) {
    size_t count = 0;
    const struct nki_lint_rule *rules = nki_lint_rules(&count);
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (!strcmp(codes[i].code, code) || !strcmp(codes[i].code + 4, code))
            return &codes[i];
    for (size_t i = 0; i < count; i++)
        if (!strcmp(rules[i].code, code)) {
            *own = (struct nki_code){rules[i].code, rules[i].message, rules[i].help};
            return own;
        }
    return NULL;
}

const struct nki_code *nki_code_at(size_t index) {
    return index < COUNT_OF(codes) ? &codes[index] : NULL;
}

const char *nki_code_cause(const char *code) {
    if (!strncmp(code, "NCC_E", 5))
        return "user";
    if (!strncmp(code, "NCC_I", 5))
        return "internal";
    if (!strcmp(code, "F134") || !strcmp(code, "70"))
        return "crash";
    return *code ? "user" : "trace";
}
