/* SPDX-License-Identifier: Apache-2.0 */
/* Text, memory, containers, errors, diagnostics, hashes, clocks, dtypes. */
#ifndef HONE_BASE_KIT_H
#define HONE_BASE_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kit/cc.h"
#include "base/kit/mem.h"
#include "base/kit/str.h"
#include "base/kit/text.h"
#include "base/kit/err.h"
#include "base/kit/diag.h"
#include "base/kit/map.h"
#include "base/kit/hash.h"
#include "base/kit/clock.h"
#include "base/kit/dtype.h"

#endif
