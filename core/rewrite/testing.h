/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look through, for nobody else outside this room. */
#ifndef HONE_REWRITE_TESTING_H
#define HONE_REWRITE_TESTING_H

#include "rewrite/private.h"

/* Specialises and times the source; numbers are not computed. *cancel non-zero gives up. */
void rewrite_estimate(const struct rewrite_request *request, struct str source, struct arena *arena,
                      const volatile int *cancel, struct rewrite_estimate *estimate);
/* NAN when it was not reported. */
double rewrite_estimate_metric(const struct rewrite_estimate *estimate, const char *name);

#endif
