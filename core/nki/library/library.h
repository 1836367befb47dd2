/* SPDX-License-Identifier: Apache-2.0 */
/* What Python itself offers a kernel: builtins, the methods of its types, and modules of its
 * standard library. */
#ifndef HONE_NKI_LIBRARY_H
#define HONE_NKI_LIBRARY_H

#include "nki/python/python.h"

extern const struct interp_library python_library;

#endif
