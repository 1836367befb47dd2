/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look through, for nobody else outside this room. */
#ifndef HONE_BASE_KIT_TESTING_H
#define HONE_BASE_KIT_TESTING_H

#include "base/kit/map.h"

size_t text_pool_count(const struct text_pool *texts);

#endif
