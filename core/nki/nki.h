/* SPDX-License-Identifier: Apache-2.0 */
/* nki: the NKI language, from source text to the program a device runs. */
#ifndef HONE_NKI_NKI_H
#define HONE_NKI_NKI_H

#include "nki/lint/lint.h"
#include "nki/program/program.h"
#include "nki/release/release.h"
#include "nki/syntax/syntax.h"

#endif
