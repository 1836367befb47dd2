/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries that are loaded when they are first used, by the names of their files. */
#include "base/libcurl.h"
#include "base/libssh2.h"
#include "base/openblas.h"

#ifdef HONE_LATE_LIBRARIES
OS_LIBRARY_OPEN(libcurl, LIBCURL_FUNCTIONS, "libcurl.so.4")
OS_LIBRARY_OPEN(libssh2, LIBSSH2_FUNCTIONS, "libssh2.so.1")
OS_LIBRARY_OPEN(openblas, OPENBLAS_FUNCTIONS, "libopenblas.so.0")
#endif
