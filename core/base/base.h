/* SPDX-License-Identifier: Apache-2.0 */
/* base: what every other folder stands on. Include this header, not its parts. */
#ifndef HONE_BASE_BASE_H
#define HONE_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cc.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/err.h"
#include "base/pattern.h"
#include "base/diag.h"
#include "base/map.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/os.h"
#include "base/wall.h"
#include "base/dtype.h"
#include "base/embed.h"
#include "base/glossary.h"

#endif
