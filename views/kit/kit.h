/* SPDX-License-Identifier: Apache-2.0 */
/* What screens show, made ready for drawing: numbers as text, Python with its colours, differences
 * as rows. Nothing here knows a screen. */
#ifndef HONE_VIEWS_KIT_KIT_H
#define HONE_VIEWS_KIT_KIT_H

#include "views/kit/diff.h"
#include "views/kit/format.h"
#include "views/kit/source.h"

#endif
