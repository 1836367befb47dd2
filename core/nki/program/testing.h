/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look at. Nobody else outside this room may include it. */
#ifndef HONE_NKI_PROGRAM_TESTING_H
#define HONE_NKI_PROGRAM_TESTING_H

#include "nki/program/program.h"

/* Prints the program, one line for each instruction. For people and golden tests. */
void nki_program_print(const struct nki_program *program, struct buf *out);

#endif
