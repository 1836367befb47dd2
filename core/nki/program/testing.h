/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look through, for nobody else outside this room. */
#ifndef HONE_NKI_PROGRAM_TESTING_H
#define HONE_NKI_PROGRAM_TESTING_H

#include "nki/program/program.h"

/* One line per instruction, for people and golden tests. */
void nki_program_print(const struct nki_program *program, struct buf *out);

#endif
