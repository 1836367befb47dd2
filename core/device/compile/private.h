/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#ifndef HONE_DEVICE_COMPILE_PRIVATE_H
#define HONE_DEVICE_COMPILE_PRIVATE_H

#include "device/compile/inner.h"

/* walk.c: whether everything has room in SBUF. */
bool walk_has_room(const struct allocation *allocation);
/* Fills the allocation's issues, residences and uses. `absent`: per instruction, it takes no time.
 * `spills`: what does not fit in SBUF is moved out. */
void walk_program(struct allocation *allocation, const bool *absent, bool spills);

#endif
