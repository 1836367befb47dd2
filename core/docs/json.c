/* SPDX-License-Identifier: Apache-2.0 */
/* A page as JSON. */
#include "docs/private.h"

#include <cjson/cJSON.h>

static void add(cJSON *object, const char *key, struct buf *text) {
    if (text->len)
        cJSON_AddStringToObject(object, key, text->at);
    buf_free(text);
}

static void add_list(cJSON *object, const struct docs_page *page, const char *part,
                     const char *key) {
    struct str text;
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (size_t i = 0; (text = docs_part_at(page, part, i)).at; i++) {
        struct buf filled = {0};
        docs_fill(page, text, &filled);
        cJSON_AddItemToArray(list, cJSON_CreateString(filled.at ? filled.at : ""));
        buf_free(&filled);
    }
}

static void add_dialect(cJSON *object, const struct docs_page *page, enum nki_dialect dialect,
                        const char *key) {
    cJSON *of = cJSON_AddObjectToObject(object, key);
    struct buf call = {0}, example = {0}, inputs = {0}, gives = {0}, gap = {0}, values = {0};
    struct str takes = docs_example_inputs(page, dialect),
               makes = docs_example_gives(page, dialect);
    struct str holds = docs_example_values(page, dialect);
    struct str lacks = docs_gap(page, dialect);
    docs_print_call(page, dialect, &call);
    if (docs_example(page, dialect, &example)) {
        buf_add(&inputs, takes.at, takes.len);
        buf_add(&values, holds.at, holds.len);
        docs_fill(page, makes, &gives);
    }
    buf_add(&gap, lacks.at, lacks.len);
    add(of, "signature", &call);
    add(of, "example", &example);
    add(of, "inputs", &inputs);
    add(of, "values", &values);
    add(of, "returns", &gives);
    add(of, "gap", &gap);
    const char *notes = dialect == NKI_DIALECT_LEGACY ? "legacy note" : "current note";
    if (docs_part(page, notes).at)
        add_list(of, page, notes, "notes");
}

static void add_releases(cJSON *object, const struct docs_page *page) {
    cJSON *list = cJSON_AddArrayToObject(object, "releases");
    for (int i = 0; docs_release_sdk(i); i++)
        if (docs_has(page, i))
            cJSON_AddItemToArray(list, cJSON_CreateString(docs_release_sdk(i)));
}

static void add_devices(cJSON *object, const struct docs_page *page) {
    cJSON *list = cJSON_AddArrayToObject(object, "devices");
    for (int g = NKI_GEN2; g <= NKI_GEN4; g++)
        if (docs_example_on(page, (enum nki_generation)g))
            cJSON_AddItemToArray(list,
                                 cJSON_CreateString(nki_generation_name((enum nki_generation)g)));
}

cJSON *docs_json(const struct docs_page *page, const struct docs_told *told) {
    cJSON *object = cJSON_CreateObject();
    struct buf what = {0}, text = {0};
    cJSON_AddStringToObject(object, "name", page->name);
    cJSON_AddBoolToObject(object, "guide", docs_is_guide(page));
    docs_print_what(page, &what);
    add(object, "what", &what);
    if (!docs_is_guide(page)) {
        add_releases(object, page);
        add_devices(object, page);
        if (docs_tells(page, told, NKI_DIALECT_CURRENT))
            add_dialect(object, page, NKI_DIALECT_CURRENT, "current");
        if (docs_tells(page, told, NKI_DIALECT_LEGACY))
            add_dialect(object, page, NKI_DIALECT_LEGACY, "legacy");
        add_list(object, page, "limit", "limits");
        add_list(object, page, "note", "notes");
        add_list(object, page, "change", "changes");
    }
    docs_print(page, told, &text);
    add(object, "text", &text);
    return object;
}
