/* SPDX-License-Identifier: Apache-2.0 */
/* OpenBLAS, which is loaded when a product is computed: starting it takes longer than checking a
 * kernel does. */
#ifndef HONE_BASE_OPENBLAS_H
#define HONE_BASE_OPENBLAS_H

#include <cblas.h>

#include "base/os/library.h"

#ifdef HONE_LATE_LIBRARIES
#define OPENBLAS_FUNCTIONS(X) \
    X(cblas_sgemm)            \
    X(openblas_get_config)    \
    X(openblas_get_corename)  \
    X(openblas_set_num_threads)
OS_LIBRARY(openblas, OPENBLAS_FUNCTIONS)

#define cblas_sgemm openblas()->cblas_sgemm
#define openblas_get_config openblas()->openblas_get_config
#define openblas_get_corename openblas()->openblas_get_corename
#define openblas_set_num_threads openblas()->openblas_set_num_threads
#endif

#endif
