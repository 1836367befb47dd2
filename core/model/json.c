/* SPDX-License-Identifier: Apache-2.0 */
/* Bits of JSON the interfaces share. */
#include <stdlib.h>

#include "model/private.h"

const char *model_json_text(const cJSON *object, const char *name) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

void model_json_take(cJSON *object, struct buf *out) {
    char *text = cJSON_PrintUnformatted(object);
    buf_puts(out, text ? text : "{}");
    free(text);
    cJSON_Delete(object);
}

bool model_json_is_empty(const cJSON *item) {
    return !item || cJSON_IsNull(item);
}

const char *model_json_error(const cJSON *object) {
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(object, "error");
    if (cJSON_IsString(error))
        return error->valuestring;
    if (cJSON_IsObject(error) && model_json_text(error, "message"))
        return model_json_text(error, "message");
    const char *message = model_json_text(object, "message");
    return message ? message : model_json_text(object, "Message");
}
