/* SPDX-License-Identifier: Apache-2.0 */
/* hone host list: what --target may name, and in what state each was when hone last saw it. It
 * connects to nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/host/private.h"
#include "cli/kit/kit.h"
#include "transport/transport.h"

struct row {
    const char *name, *kind; /* "host", "cluster", "ssh alias" */
    char section[96];        /* "" for an alias */
};
typedef VEC(struct row) rows;

static void add_row(rows *all, const char *kind, const char *name, bool section) {
    struct row *row = vec_push(all);
    *row = (struct row){.name = name, .kind = kind};
    if (section)
        snprintf(row->section, sizeof row->section, "%s %s", kind, name);
}

static void collect(const struct config *config, char *const *aliases, size_t count, rows *all) {
    static const char *const kinds[] = {"host", "cluster"};
    const char *name;
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        for (size_t i = 0; (name = config_name(config, kinds[k], i)); i++)
            add_row(all, kinds[k], name, true);
    for (size_t i = 0; i < count; i++) {
        bool given = false;
        for (size_t k = 0; k < all->len; k++)
            given = given || strcmp(all->at[k].name, aliases[i]) == 0;
        if (!given)
            add_row(all, "ssh alias", aliases[i], false);
    }
}

static void address_of(const struct config *config, const struct row *row, struct buf *out) {
    if (strcmp(row->kind, "cluster") == 0) {
        const char *head = config_get(config, row->section, "head", NULL);
        buf_printf(out, "head %s", head ? head : "this machine");
        return;
    }
    if (!row->section[0]) {
        buf_puts(out, "~/.ssh/config");
        return;
    }
    const char *user = config_get(config, row->section, "user", NULL);
    const char *address = config_get(config, row->section, "address", NULL);
    const char *port = config_get(config, row->section, "port", NULL);
    buf_printf(out, "%s%s%s%s%s", user ? user : "", user ? "@" : "", address ? address : row->name,
               port ? ":" : "", port ? port : "");
}

static void print_row(const struct config *config, const struct row *row, const cJSON *known,
                      struct buf *out) {
    struct buf address = {0}, seen = {0};
    address_of(config, row, &address);
    known_print(cJSON_GetObjectItemCaseSensitive(known, row->name), clock_wall_ms(), &seen);
    buf_printf(out, "%-16s %-10s %-28s %s\n", row->name, row->kind, address.at, seen.at);
    buf_free(&address);
    buf_free(&seen);
}

static cJSON *row_json(const struct config *config, const struct row *row, const cJSON *known) {
    struct buf address = {0}, where = {0};
    const cJSON *seen = cJSON_GetObjectItemCaseSensitive(known, row->name);
    cJSON *item = cJSON_CreateObject();
    address_of(config, row, &address);
    cJSON_AddStringToObject(item, "name", row->name);
    cJSON_AddStringToObject(item, "kind", row->kind);
    cJSON_AddStringToObject(item, "address", address.at);
    cJSON_AddItemToObject(item, "seen", seen ? cJSON_Duplicate(seen, true) : cJSON_CreateNull());
    buf_free(&address);
    buf_free(&where);
    return item;
}

static void print_list(const struct cli *cli, const struct config *config, const rows *all) {
    struct buf out = {0}, safe = {0};
    cJSON *known = known_load(), *list = cJSON_CreateArray();
    if (!cli_has(cli, "names") && !cli_has(cli, "json") && all->len)
        buf_printf(&out, "%-16s %-10s %-28s %s\n", "NAME", "KIND", "ADDRESS", "LAST SEEN");
    for (size_t i = 0; i < all->len; i++) {
        if (cli_has(cli, "names"))
            buf_printf(&out, "%s\n", all->at[i].name);
        else if (cli_has(cli, "json"))
            cJSON_AddItemToArray(list, row_json(config, &all->at[i], known));
        else
            print_row(config, &all->at[i], known, &out);
    }
    if (cli_has(cli, "json"))
        cli_json_print(list);
    else if (!all->len && !cli_has(cli, "names"))
        buf_puts(&out, "no hosts yet: hone host add NAME [USER@ADDRESS]\n");
    text_sanitise(&safe, buf_str(&out));
    fputs(safe.at ? safe.at : "", stdout);
    buf_free(&safe);
    buf_free(&out);
    if (!cli_has(cli, "json"))
        cJSON_Delete(list);
    cJSON_Delete(known);
}

int host_list(const struct cli *cli) {
    struct err err = {0};
    size_t count = 0;
    rows all = {0};
    struct config *config = settings_load(NULL, &err);
    if (!config)
        return cli_fail(cli, &err);
    char **aliases = transport_known_names(NULL, &count);
    collect(config, aliases, count, &all);
    print_list(cli, config, &all);
    vec_free(&all);
    for (size_t i = 0; i < count; i++)
        free(aliases[i]);
    free(aliases);
    config_free(config);
    return CLI_OK;
}
