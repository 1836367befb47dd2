/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that know NKI: pages of names and guides; kernels of a release brought to another. */
#include <stdlib.h>

#include "docs/docs.h"
#include "mcp/private.h"

#define MOST_SAME 6   /* pages of one name */
#define MOST_FOUND 12 /* of a search */

static void page_put(cJSON *pages, const struct docs_page *page, const struct docs_told *told,
                     bool whole) {
    struct buf text = {0};
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "name", docs_name(page));
    if (whole)
        docs_print(page, told, &text);
    else
        docs_print_what(page, &text);
    mcp_put_text(row, whole ? "page" : "what", text.at);
    cJSON_AddItemToArray(pages, row);
    buf_free(&text);
}

static void not_found(struct mcp_call *call, const struct docs *docs, const char *what) {
    const char *near = docs_nearest(docs, what);
    if (near)
        mcp_call_failed(call, "no page is about \"%.60s\"; the nearest name is %s", what, near);
    else
        mcp_call_failed(call,
                        "no page is about \"%.60s\": give a name (nisa.activation), a guide "
                        "(tiling) or words (free dimension limit); explain knows codes and metrics",
                        what);
}

/* The page of a name; of words the pages that are about them, a line each. */
static void look_up(struct mcp_call *call, const struct docs *docs, const struct docs_told *told) {
    const char *what = mcp_text(call, "what");
    const struct docs_page *found[MOST_FOUND];
    struct str words = str_trim(str_of(what));
    size_t n = docs_find(docs, words, found, MOST_SAME);
    bool named = n > 0;
    if (!n)
        n = docs_search(docs, words, false, found, MOST_FOUND);
    if (!n) {
        not_found(call, docs, what);
        return;
    }
    cJSON *object = cJSON_CreateObject(), *pages = cJSON_AddArrayToObject(object, "pages");
    for (size_t i = 0; i < n; i++)
        page_put(pages, found[i], told, named || n == 1);
    mcp_call_done(call, object, NULL);
}

void mcp_tool_docs(struct mcp_call *call) {
    const struct tune_state *state = mcp_state(call);
    const char *release = mcp_text(call, "release");
    struct docs_told told = {.release = release ? docs_release_find(release) : -1,
                             .generation = nki_generation_find(state->device)};
    if (release && told.release < 0) {
        mcp_call_failed(call,
                        "no release %.20s is known; give the SDK's number (2.29) or NKI's (0.3)",
                        release);
        return;
    }
    struct docs *docs = docs_open();
    look_up(call, docs, &told);
    docs_close(docs);
}
