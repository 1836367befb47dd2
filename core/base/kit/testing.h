/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look at. Nobody else outside this room may include it. */
#ifndef HONE_BASE_KIT_TESTING_H
#define HONE_BASE_KIT_TESTING_H

#include "base/kit/map.h"

size_t text_pool_count(const struct text_pool *texts);

#endif
