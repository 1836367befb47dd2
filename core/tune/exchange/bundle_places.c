/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the folders of this machine out of what is given away: the task's, the session's and the
 * user's. A folder counts where it is a whole name in a text, not the beginning of a longer one.
 * Names of users and hosts by themselves are left alone. */
#include "tune/exchange/bundle.h"
#include "tune/exchange/inner.h"
#include "tune/session/inner.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdlib.h>

static char *json_text(const char *text) {
    cJSON *value = cJSON_CreateString(text);
    char *quoted = cJSON_PrintUnformatted(value);
    size_t len = quoted ? strlen(quoted) : 0;
    char *inside = mem_alloc(len + 1, 1);
    if (len >= 2)
        memcpy(inside, quoted + 1, len - 2);
    free(quoted);
    cJSON_Delete(value);
    return inside;
}

static int longest_first(const void *a, const void *b) {
    const struct bundle_place *x = a, *y = b;
    size_t p = x->from ? strlen(x->from) : 0, q = y->from ? strlen(y->from) : 0;
    return p < q ? 1 : p > q ? -1 : 0;
}

void bundle_places_find(struct bundle_places *places, const struct tune_state *state,
                        const char *session) {
    const char *kernel = state->kernel_path, *home = getenv("HOME");
    places->all[0] = (struct bundle_place){.from = kernel ? path_folder(kernel) : NULL, .to = "."};
    places->all[1] = (struct bundle_place){.from = path_absolute(session), .to = "session"};
    places->all[2] = (struct bundle_place){.from = home ? mem_strdup(home) : NULL, .to = "~"};
    for (size_t i = 0; i < COUNT_OF(places->all); i++) {
        struct bundle_place *place = &places->all[i];
        bool some = place->from && *place->from == '/' && place->from[1];
        if (!some) {
            free(place->from);
            place->from = NULL;
        } else {
            place->json = json_text(place->from);
        }
    }
    qsort(places->all, COUNT_OF(places->all), sizeof *places->all, longest_first);
}

static bool in_name(char c) {
    return isalnum((unsigned char)c) || strchr("_-.", c);
}

/* The length of the folder when the text at `i` begins with it as a whole name. */
static size_t place_at(struct str text, size_t i, const char *folder) {
    size_t len = folder ? strlen(folder) : 0;
    if (!len || text.len - i < len || memcmp(text.at + i, folder, len) != 0)
        return 0;
    bool begins = i == 0 || !in_name(text.at[i - 1]);
    bool ends = i + len == text.len || !in_name(text.at[i + len]);
    return begins && ends ? len : 0;
}

/* The length of the folder that the text at `i` begins with; 0: none. */
static size_t any_place_at(const struct bundle_places *places, struct str text, size_t i, bool json,
                           const char **to) {
    size_t len = 0;
    for (size_t k = 0; k < COUNT_OF(places->all) && !len; k++) {
        const struct bundle_place *place = &places->all[k];
        len = place_at(text, i, json ? place->json : place->from);
        *to = place->to;
    }
    return len;
}

/* Every folder begins with a slash, and texts have few. */
void bundle_places_clean(const struct bundle_places *places, struct str text, bool json,
                         struct buf *out) {
    const char *to, *slash;
    size_t from = 0, at = 0;
    while (at < text.len && (slash = memchr(text.at + at, '/', text.len - at))) {
        size_t i = (size_t)(slash - text.at), len = any_place_at(places, text, i, json, &to);
        if (len) {
            buf_add(out, text.at + from, i - from);
            buf_puts(out, to);
            from = i + len;
        }
        at = i + MAX_OF(len, (size_t)1);
    }
    buf_add(out, text.at + from, text.len - from);
}

void bundle_places_free(struct bundle_places *places) {
    for (size_t i = 0; i < COUNT_OF(places->all); i++) {
        free(places->all[i].from);
        free(places->all[i].json);
    }
}
