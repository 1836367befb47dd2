/* SPDX-License-Identifier: Apache-2.0 */
/* What an endpoint is, in words: where its key comes from, where it is asked. No secret is in
 * them. */
#include "model/private.h"

static void named_print(const struct model_endpoint *endpoint, struct buf *out) {
    if (endpoint->key.environment)
        buf_printf(out, "%s of the environment", endpoint->key.environment);
    else if (endpoint->key.command)
        buf_puts(out, "what key_command prints");
    else if (endpoint->key.keyring)
        buf_puts(out, "the system's keyring");
    else
        buf_printf(out, "AWS profile %s", endpoint->profile);
}

void model_key_print(const struct model_endpoint *endpoint, struct buf *out) {
    const struct model_api *api = model_api_find(endpoint->api);
    enum model_trust trust = MODEL_TRUST_NOTHING;
    struct err err = {0};
    if (!api || !api->is_service) {
        buf_puts(out, "none is needed");
    } else if (!model_trust_find(endpoint, &trust, &err)) {
        buf_puts(out, err.text);
    } else if (trust == MODEL_TRUST_NOTHING) {
        buf_puts(out, "no key is set for this address; it is asked without one");
    } else if (trust == MODEL_TRUST_NAMED) {
        named_print(endpoint, out);
    } else if (api->key_variable) {
        buf_printf(out, "%s of the environment", api->key_variable);
    } else {
        buf_puts(out, "AWS's credentials");
    }
}

void model_address_print(const struct model_endpoint *endpoint, struct buf *out) {
    const struct model_api *api = model_api_find(endpoint->api);
    if (endpoint->base_url)
        buf_puts(out, endpoint->base_url);
    else if (endpoint->command && endpoint->command[0])
        buf_puts(out, endpoint->command[0]);
    else if (api && api->address)
        buf_puts(out, api->address);
    else if (api && api->is_service)
        buf_printf(out, "bedrock-runtime of %s",
                   endpoint->region ? endpoint->region : "AWS's region");
    else
        buf_puts(out, "you");
}
