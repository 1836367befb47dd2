/* SPDX-License-Identifier: Apache-2.0 */
/* Compiler attributes and the few macros used everywhere. */
#ifndef HONE_BASE_CC_H
#define HONE_BASE_CC_H

#define CC_PRINTF(which, args) __attribute__((format(printf, which, args)))
#define CC_MUST_USE __attribute__((warn_unused_result))
#define CC_NORETURN __attribute__((noreturn))
#define CC_UNUSED __attribute__((unused))
#define CC_NOINLINE __attribute__((noinline))

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

#endif
