/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel evaluated by Python instead of the interpreter (struct nki_tracer). Python runs the
 * kernel's file with recorder.py, and asks for each attribute, item, call and operator of what NKI
 * gave it; the answers come from the same functions that the interpreter calls, at the same places
 * of the source. So the program, and what is said of errors, are the interpreter's.
 *
 * A message is a value as Python's marshal writes it in version 2 (wire.c). Python sends (op,
 * stack, places, arguments), and gets one of the answers of private.h. `stack` has a number for the
 * place in each of the kernel's frames, the outermost first; `places` tells of those that are new.
 * Nothing in a message is trusted: whoever can write to the pipe says what a kernel could say. */
#ifndef HONE_NKI_TRACE_H
#define HONE_NKI_TRACE_H

#include "nki/python/python.h"

/* What interp_specialise takes where the options have a tracer. */
extern const struct interp_tracing trace_tracing;

#endif
