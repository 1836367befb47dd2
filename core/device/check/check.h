/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of instructions. */
#ifndef HONE_DEVICE_CHECK_H
#define HONE_DEVICE_CHECK_H

#include "device/image/image.h"

/* Checks the whole program and fills the engines and kinds of its image. False when there were
 * errors. */
bool check_program(struct device_image *image, struct diag_list *diags);
/* check_cores.c: of a launch on two cores, whether neither touches what the other one writes. Needs
 * the image's operands. False with an error in *diags. */
bool check_cores(struct device_image *image, struct diag_list *diags);
/* check_accumulate.c: whether sums in PSUM are started by a matmul; reports the first that is not.
 * Does nothing in the legacy dialect. */
bool check_sums(struct device_image *image, struct diag_list *diags);
/* check_rounds.c: in the legacy dialect, whether rounds that may run in any order write different
 * places. Needs the image's operands. False with an error in *diags; what one round hands to
 * another is warned about. */
bool check_rounds(struct device_image *image, struct diag_list *diags);
/* check_written.c: warns of parts of tiles that are read, and of outputs, to which nothing was
 * written. */
void check_written(const struct device_image *image, struct diag_list *diags);

#endif
