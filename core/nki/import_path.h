/* SPDX-License-Identifier: Apache-2.0 */
/* Where an imported module of the task lies. The interpreter and the guard for candidates ask here,
 * so that what is judged is what is run. */
#ifndef HONE_NKI_IMPORT_PATH_H
#define HONE_NKI_IMPORT_PATH_H

#include "base/base.h"

/* The file of the module "a.b" (a/b.py or a/b/__init__.py), searched from the folder of the file
 * that imports it, `up` folders higher. NULL when there is neither. Free the result. */
char *nki_import_path(const char *importer, struct str dotted, uint32_t up) CC_MUST_USE;

#endif
