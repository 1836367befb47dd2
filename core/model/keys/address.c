/* SPDX-License-Identifier: Apache-2.0 */
/* Which machine an address means, as libcurl reads it. */
#include <arpa/inet.h>
#include <stdio.h>
#include <strings.h>

#include "base/libcurl.h"
#include "model/keys/keys.h"

bool model_place_of(const char *address, struct model_place *place) {
    char *host = NULL, *scheme = NULL;
    CURLU *url = curl_url();
    unsigned flags = CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME;
    bool fine = url && curl_url_set(url, CURLUPART_URL, address, flags) == CURLUE_OK &&
                curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK;
    *place = (struct model_place){.secure = fine && !strcasecmp(scheme, "https")};
    if (fine) {
        size_t size = strlen(host);
        size -= size && host[size - 1] == '.';
        fine = size && size < sizeof place->host;
        snprintf(place->host, sizeof place->host, "%.*s", fine ? (int)size : 0, host);
    }
    curl_free(host);
    curl_free(scheme);
    curl_url_cleanup(url);
    return fine;
}

bool model_place_is_here(const char *host) {
    struct in_addr four;
    if (inet_pton(AF_INET, host, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    return !strcmp(host, "[::1]") || !strcasecmp(host, "localhost");
}

bool model_is_this_machine(const char *address) {
    struct model_place place;
    return model_place_of(address, &place) && model_place_is_here(place.host);
}
