/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that hone can do without: what needs one says so when it is not there. */
#ifndef HONE_BASE_OPTIONAL_H
#define HONE_BASE_OPTIONAL_H

#include <stdbool.h>
#include <stddef.h>

/* Functions of libNAME in the NUMBERth version of its binary interface, wherever this system keeps
 * it and however it names it: n of them at *out, of which those without a name are skipped. It
 * stays loaded. False: the library, or one of them, is not on this machine. */
bool library_try(const char *name, int number, const char *const *functions, size_t n, void **out);

#endif
