/* SPDX-License-Identifier: Apache-2.0 */
/* AWS credentials from the environment and the profile files ("Configuration and credential file
 * settings", AWS SDKs and Tools reference). The metadata services are asked by metadata.c. */
#include "model/keys/credentials.h"

#include <cjson/cJSON.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/keys/keys.h"

static const char *json_text(const cJSON *object, const char *name) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

void credentials_wipe(struct credentials *credentials) {
    model_wipe(&credentials->access_key);
    model_wipe(&credentials->secret_key);
    model_wipe(&credentials->session_token);
    model_wipe(&credentials->bearer);
}

static bool is_whole(const struct credentials *found) {
    return found->bearer.len || (found->access_key.len && found->secret_key.len);
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static void take(struct buf *into, const char *value) {
    if (value && !into->len)
        buf_puts(into, value);
}

static void from_environment(struct credentials *found) {
    take(&found->bearer, variable("AWS_BEARER_TOKEN_BEDROCK"));
    if (variable("AWS_ACCESS_KEY_ID") && variable("AWS_SECRET_ACCESS_KEY")) {
        take(&found->access_key, variable("AWS_ACCESS_KEY_ID"));
        take(&found->secret_key, variable("AWS_SECRET_ACCESS_KEY"));
        take(&found->session_token, variable("AWS_SESSION_TOKEN"));
    }
    const char *region = variable("AWS_REGION");
    region = region ? region : variable("AWS_DEFAULT_REGION");
    if (region)
        snprintf(found->region, sizeof found->region, "%s", region);
}

struct reading {
    const char *profile;
    struct credentials *found;
    bool keys; /* keys count too, not the region alone */
};

/* "[profile NAME]" in the configuration file, "[NAME]" in the credentials file. */
static bool is_profile(const char *section, const char *profile) {
    if (!strncmp(section, "profile ", 8) && strcmp(profile, "default"))
        section += 8;
    return !strcmp(str_trim(str_of(section)).at, profile);
}

static int on_row(void *data, const char *section, const char *name, const char *value) {
    struct reading *reading = data;
    struct credentials *found = reading->found;
    if (!is_profile(section, reading->profile))
        return 1;
    if (!strcmp(name, "region") && !*found->region)
        snprintf(found->region, sizeof found->region, "%s", value);
    if (!reading->keys)
        return 1;
    if (!strcmp(name, "aws_access_key_id"))
        take(&found->access_key, value);
    if (!strcmp(name, "aws_secret_access_key"))
        take(&found->secret_key, value);
    if (!strcmp(name, "aws_session_token"))
        take(&found->session_token, value);
    return 1;
}

/* Where the reader of INI files had its lines. */
static CC_NOINLINE void wipe_stack(void) {
    char area[8192];
    explicit_bzero(area, sizeof area);
}

static void from_file(const char *set, const char *usual, struct reading *reading) {
    const char *path = variable(set), *home = variable("HOME");
    char *own = path ? mem_strdup(path) : path_join(home ? home : "/", usual);
    size_t size = 0;
    struct err err = {0};
    char *text = file_exists(own) ? file_read(own, 1u << 20, &size, &err) : NULL;
    if (text) {
        ini_parse_string(text, on_row, reading);
        wipe_stack();
        explicit_bzero(text, size);
    }
    free(text);
    free(own);
}

bool credentials_find(const char *profile, struct credentials *found, struct err *err) {
    bool named = profile != NULL;
    profile = profile ? profile : variable("AWS_PROFILE");
    named = named || profile;
    profile = profile ? profile : "default";
    /* A profile that was asked for comes before keys that happen to be in the environment. */
    if (!named)
        from_environment(found);
    struct reading reading = {profile, found, !is_whole(found)};
    from_file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", &reading);
    reading.keys = !is_whole(found);
    from_file("AWS_CONFIG_FILE", ".aws/config", &reading);
    if (named && !is_whole(found))
        from_environment(found);
    if (!*found->region && named)
        from_environment(found);
    if (is_whole(found))
        return true;
    return err_set(
        err, ERR_USAGE,
        "no AWS credentials: neither AWS_ACCESS_KEY_ID nor AWS_BEARER_TOKEN_BEDROCK is "
        "set, the profile \"%.60s\" of ~/.aws has no keys, and no instance offers any. "
        "With single sign-on, \"aws configure export-credentials --format env\" prints what to set",
        profile);
}

bool credentials_parse(struct str json, struct credentials *found) {
    cJSON *object = cJSON_ParseWithLength(json.at ? json.at : "", json.len);
    take(&found->access_key, json_text(object, "AccessKeyId"));
    take(&found->secret_key, json_text(object, "SecretAccessKey"));
    take(&found->session_token, json_text(object, "Token"));
    cJSON_Delete(object);
    return is_whole(found);
}
