/* SPDX-License-Identifier: Apache-2.0 */
/* Words: patterns that find them, and a glossary of those that hone uses. */
#ifndef HONE_BASE_WORDS_H
#define HONE_BASE_WORDS_H

#include "base/words/glossary.h"
#include "base/words/pattern.h"

#endif
