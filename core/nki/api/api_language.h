/* SPDX-License-Identifier: Apache-2.0 */
/* The native functions of nki.language, for its table of names. Private to this folder. */
#ifndef HONE_NKI_API_LANGUAGE_H
#define HONE_NKI_API_LANGUAGE_H

#include "nki/api/api.h"

#define API_MAX_BOUND 16

/* Binds a call to the signature. An argument that is left out is VALUE_NONE. */
bool api_bind(struct interp *in, const struct call *call, const char *signature,
              struct value *values);

native_fn nl_par_dim, nl_ndarray, nl_filled, nl_full, nl_like, nl_rand, nl_shared_constant,
    nl_shared_identity_matrix;
native_fn nl_load, nl_store, nl_load_transpose2d, nl_transpose, nl_expand_dims, nl_broadcast_to,
    nl_gather_flattened, nl_ds, nl_arange, nl_cast, nl_atomic_rmw;
native_fn tensor_rearrange; /* a method of tensors */
/* A ufunc of numpy on numbers. */
bool api_numpy_call(struct interp *in, const struct call *call, enum nki_func func,
                    struct value *result);
native_fn nl_nothing, nl_context;

#endif
