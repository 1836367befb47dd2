/* SPDX-License-Identifier: Apache-2.0 */
/* Brings together kernel Python, its library and NKI's objects. */
#include "nki/api/api.h"
#include "nki/library/library.h"
#include "nki/nki.h"
#include "nki/trace/trace.h"

struct nki_program *nki_specialise(const struct nki_tree *tree,
                                   const struct nki_specialise_options *options,
                                   struct diag_list *diags) {
    return interp_specialise(tree, options, &api_objects, &python_library, &trace_tracing, diags);
}
