/* SPDX-License-Identifier: Apache-2.0 */
/* AWS credentials, found where AWS's own tools look for them. Private to model. */
#ifndef HONE_MODEL_CREDENTIALS_H
#define HONE_MODEL_CREDENTIALS_H

#include "base/base.h"
#include "loop/loop.h"

struct credentials {
    struct buf access_key, secret_key, session_token; /* wiped by credentials_wipe */
    struct buf bearer;                                /* a Bedrock API key instead of the three */
    char region[40];                                  /* "" not said */
};
void credentials_wipe(struct credentials *credentials);
/* From the environment (AWS_BEARER_TOKEN_BEDROCK, AWS_ACCESS_KEY_ID, ...) and the profile files
 * (AWS_PROFILE or `profile`, AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE). False: they have none;
 * *err tells where was looked. */
bool credentials_find(const char *profile, struct credentials *found, struct err *err);
/* Reads what the metadata service of an instance or container answers. */
bool credentials_parse(struct str json, struct credentials *found);

#endif
