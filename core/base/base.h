/* SPDX-License-Identifier: Apache-2.0 */
/* base: what every other folder stands on. Include this header, not its parts. */
#ifndef HONE_BASE_BASE_H
#define HONE_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kit/kit.h"
#include "base/files/files.h"
#include "base/config/config.h"
#include "base/os/os.h"
#include "base/words/words.h"

#endif
