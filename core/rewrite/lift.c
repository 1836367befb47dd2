/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel computes takes the place of its reference where that cannot be recorded. */
#include "lift/lift.h"
#include "rewrite/private.h"

static char *print_graph(const struct lifted *lifted, const struct rewrite_request *request,
                         struct err *err) {
    struct buf graph = {0};
    if (lifted_is_whole(lifted)) {
        lifted_print_graph(lifted, request->inputs, request->n_inputs, &graph);
        return graph.at;
    }
    for (size_t i = 0; i < lifted_opaque_count(lifted); i++) {
        struct lift_opaque opaque = lifted_opaque_at(lifted, i);
        if (opaque.matters) {
            err_set(err, ERR_KERNEL, "%s at line %d of the kernel is opaque: %s", opaque.what,
                    opaque.line, opaque.why);
            return NULL;
        }
    }
    err_set(err, ERR_KERNEL, "what the kernel computes could not be found; hone lift says why");
    return NULL;
}

static char *lift_tree(const struct rewrite_request *request, const struct nki_tree *tree,
                       const struct lift_limits *limits, struct err *err) {
    struct diag_list ignored = {0};
    struct nki_specialise_options options = {.function = request->function,
                                             .generation = request->generation,
                                             .inputs = request->inputs,
                                             .n_inputs = request->n_inputs,
                                             .max_instructions = LIFT_MAX_INSTRUCTIONS,
                                             .cancel = limits->cancel};
    struct nki_program *program = nki_specialise(tree, &options, &ignored);
    struct lifted *lifted = NULL;
    char *graph = NULL;
    if (!program)
        err_set(err, ERR_KERNEL, "the kernel does not compile, or is too long to be lifted");
    else
        lifted = lift_program(program, limits, err);
    if (lifted)
        graph = print_graph(lifted, request, err);
    lifted_free(lifted);
    if (program)
        nki_program_free(program);
    diag_free(&ignored);
    return graph;
}

char *rewrite_lift(const struct rewrite_request *request, const volatile int *cancel,
                   struct err *err) {
    struct diag_list ignored = {0};
    struct lift_limits limits = {.cancel = cancel};
    struct nki_tree *tree = nki_parse("kernel.py", request->source, &ignored);
    char *graph = NULL;
    if (tree->errors)
        err_set(err, ERR_KERNEL, "the kernel cannot be read");
    else
        graph = lift_tree(request, tree, &limits, err);
    nki_tree_free(tree);
    diag_free(&ignored);
    return graph;
}
