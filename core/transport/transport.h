/* SPDX-License-Identifier: Apache-2.0 */
/* transport: ways to a machine. Include this header, not its parts. */
#ifndef HONE_TRANSPORT_TRANSPORT_H
#define HONE_TRANSPORT_TRANSPORT_H

#include "transport/wire/wire.h"

#endif
