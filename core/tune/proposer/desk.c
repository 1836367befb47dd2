/* SPDX-License-Identifier: Apache-2.0 */
/* The folder that a model which is a program runs in: the kernel, the reference and the profile as
 * files, and what agents' programs read to find hone mcp, so that they can check, evaluate and
 * measure before they answer. What hone docs says of the kernel's instructions is there, too. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "tune/proposer/request.h"

#define MOST_REFERENCE ((size_t)1 << 20)

static const char told[] =
    "# One question about one kernel\n"
    "\n"
    "The question comes on standard input, and what you print at the end is the answer, in the "
    "form that it asks for. Here are files for it:\n"
    "\n"
    "* `kernel.py`: the kernel that the question is about\n"
    "* `reference.py`: what it has to compute, with its inputs\n"
    "* `profile.json`: where its time goes, by line and engine\n"
    "* `docs.md`: what hone docs says of the names it calls, and guides\n"
    "\n"
    "The server `hone` (hone mcp, configured for clients in this folder) has tools for it: "
    "`check` and `evaluate` try a kernel, `profile`, `why`, `what_if`, `cost` and `query` say "
    "where time goes, `docs` and `explain` know NKI, `history` and `notes` what was tried. "
    "Evaluate a kernel before you answer with it. Do not `submit`: the answer is taken from what "
    "you print.\n";

/* Where clients look for servers, and the object that has them. */
static const struct {
    const char *folder, *file;
} clients[] = {{"", ".mcp.json"},
               {".kiro/settings", "mcp.json"},
               {".gemini", "settings.json"},
               {".cursor", "mcp.json"}};

static bool put(const char *folder, const char *name, const char *text, struct err *err) {
    char *path = path_join(folder, name);
    bool ok = file_write_private(path, text, strlen(text), err);
    free(path);
    return ok;
}

static bool put_json(const char *folder, const char *name, cJSON *object, struct err *err) {
    char *text = cJSON_Print(object);
    bool ok = put(folder, name, text ? text : "{}", err);
    free(text);
    cJSON_Delete(object);
    return ok;
}

static void add_number(cJSON *object, const char *name, double value) {
    if (isfinite(value))
        cJSON_AddNumberToObject(object, name, value);
}

static cJSON *profile_of(const struct tune_context *context) {
    cJSON *object = cJSON_CreateObject(), *row;
    add_number(object, "latency_us", context->latency_us);
    add_number(object, "floor_us", context->floor_us);
    if (context->limited_by)
        cJSON_AddStringToObject(object, "bound_by", context->limited_by);
    cJSON *lines = cJSON_AddArrayToObject(object, "lines");
    for (size_t i = 0; i < context->lines.len; i++) {
        const struct tune_line_cost *line = &context->lines.at[i];
        cJSON_AddItemToArray(lines, row = cJSON_CreateObject());
        cJSON_AddNumberToObject(row, "line", line->line);
        add_number(row, "us", line->us);
        add_number(row, "share", line->share);
        if (line->engine)
            cJSON_AddStringToObject(row, "engine", line->engine);
    }
    cJSON *metrics = cJSON_AddObjectToObject(object, "metrics");
    for (size_t i = 0; i < context->metrics.len; i++)
        add_number(metrics, context->metrics.at[i].name, context->metrics.at[i].value);
    cJSON *bounds = cJSON_AddArrayToObject(object, "bounds");
    for (size_t i = 0; i < context->bounds.len; i++) {
        cJSON_AddItemToArray(bounds, row = cJSON_CreateObject());
        cJSON_AddStringToObject(row, "name", context->bounds.at[i].name);
        add_number(row, "busy_us", context->bounds.at[i].busy_us);
        add_number(row, "latency_without_us", context->bounds.at[i].without_us);
    }
    return object;
}

/* hone mcp on this very session, whoever holds it. */
static cJSON *server_of(const struct tune_session *session, const char *kernel) {
    cJSON *root = cJSON_CreateObject();
    cJSON *entry = cJSON_AddObjectToObject(cJSON_AddObjectToObject(root, "mcpServers"), "hone");
    char *self = os_executable_path(), *path = path_absolute(kernel);
    const char *reference = tune_reference_file(session->state);
    char *other = reference ? path_absolute(reference) : NULL;
    char *folder = path_absolute(tune_session_folder(session));
    cJSON_AddStringToObject(entry, "command", self ? self : "hone");
    const char *const words[] = {"mcp", path, "--session", folder, other ? "--reference" : NULL,
                                 other};
    cJSON *args = cJSON_AddArrayToObject(entry, "args");
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (words[i])
            cJSON_AddItemToArray(args, cJSON_CreateString(words[i]));
    free(folder);
    free(other);
    free(path);
    free(self);
    return root;
}

static bool server_put(const struct tune_session *session, const char *desk, struct err *err) {
    const char *kernel = tune_kernel_file(session->state);
    bool ok = true;
    for (size_t i = 0; ok && kernel && i < COUNT_OF(clients); i++) {
        char *folder = *clients[i].folder ? path_join(desk, clients[i].folder) : mem_strdup(desk);
        ok = file_make_private(folder, err) &&
             put_json(folder, clients[i].file, server_of(session, kernel), err);
        free(folder);
    }
    return ok;
}

static bool reference_put(const struct tune_context *context, const char *desk, struct err *err) {
    char *text = context->reference_path
                     ? file_read(context->reference_path, MOST_REFERENCE, NULL, NULL)
                     : NULL;
    bool ok = !text || put(desk, "reference.py", text, err);
    free(text);
    return ok;
}

struct laying {
    const char *desk;
    struct err *err;
    bool ok;
};

static void import_put(void *data, const char *name, const char *beside, const char *text) {
    struct laying *laying = data;
    (void)name;
    if (!beside || !laying->ok)
        return;
    char *path = path_join(laying->desk, beside), *folder = path_folder(path);
    laying->ok =
        file_make_private(folder, laying->err) && put(laying->desk, beside, text, laying->err);
    free(folder);
    free(path);
}

/* What the kernel imports from beside it; without it no tool takes the kernel. */
static bool imports_put(const struct tune_state *state, const char *desk, struct err *err) {
    struct laying laying = {desk, err, true};
    tune_imports_each(state, import_put, &laying);
    return laying.ok;
}

static bool docs_put(const struct tune_session *session, const struct tune_context *context,
                     const char *desk, struct err *err) {
    struct buf text = {0};
    if (context->source)
        tune_context_pages(context, session->state, &text);
    bool ok = put(desk, "docs.md", text.at ? text.at : "", err);
    buf_free(&text);
    return ok;
}

char *tune_desk_lay(const struct tune_session *session, const struct tune_context *context) {
    char *own = path_absolute(tune_session_folder(session)), *desk = path_join(own, "desk");
    const char *source = context->repair_source ? context->repair_source : context->source;
    struct err err = {0};
    bool ok = file_make_private(desk, &err) && put(desk, "AGENTS.md", told, &err) &&
              put(desk, "CLAUDE.md", "@AGENTS.md\n", &err) &&
              put(desk, "kernel.py", source ? source : "", &err) &&
              put_json(desk, "profile.json", profile_of(context), &err) &&
              imports_put(session->state, desk, &err) && reference_put(context, desk, &err) &&
              docs_put(session, context, desk, &err) && server_put(session, desk, &err);
    free(own);
    if (ok)
        return desk;
    free(desk); /* it answers without files, as a service does */
    return NULL;
}
