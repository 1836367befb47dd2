/* SPDX-License-Identifier: Apache-2.0 */
/* The answers that the stand-in for libpam takes (fake_pam.c). */
#ifndef HONE_TESTS_TRANSPORT_FAKE_PAM_H
#define HONE_TESTS_TRANSPORT_FAKE_PAM_H

#define FAKE_PASSWORD "correct horse"
#define FAKE_CODE "123456"

#endif
