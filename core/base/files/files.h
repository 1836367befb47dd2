/* SPDX-License-Identifier: Apache-2.0 */
/* Files: reading and writing them whole, paths, and the files that are built into the binary. */
#ifndef HONE_BASE_FILES_FILES_H
#define HONE_BASE_FILES_FILES_H

#include "base/files/embed.h"
#include "base/files/file.h"

#endif
