/* SPDX-License-Identifier: Apache-2.0 */
/* hone docs: pages about the names of NKI and guides, found by name or by words. */
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "cli/words/words.h"
#include "device/device.h"
#include "docs/docs.h"
#include "runner/runner.h"

#define MOST_PAGES 6  /* of one name */
#define MOST_FOUND 12 /* of a search */

static void print_json(cJSON *json) {
    char *text = cJSON_Print(json);
    cJSON_Delete(json);
    printf("%s\n", text);
    cJSON_free(text);
}

/* ---- lists ------------------------------------------------------------------------------------
 */

static void print_line(const struct docs_page *page) {
    struct buf what = {0};
    docs_print_what(page, &what);
    printf("%-34s %s\n", docs_name(page), what.at ? what.at : "");
    buf_free(&what);
}

static bool is_told(const struct docs_page *page, const struct docs_told *told) {
    return told->release < 0 || docs_has(page, told->release);
}

static void print_all(const struct docs *docs, const struct docs_told *told, bool json) {
    const struct docs_page *page;
    cJSON *list = json ? cJSON_CreateArray() : NULL;
    for (size_t i = 0; (page = docs_at(docs, i)); i++) {
        if (is_told(page, told) && json)
            cJSON_AddItemToArray(list, docs_json(page, told));
        else if (is_told(page, told))
            print_line(page);
    }
    if (json)
        print_json(list);
}

/* ---- pages ------------------------------------------------------------------------------------
 */

static void print_pages(const struct docs_page *const *pages, size_t n,
                        const struct docs_told *told, bool json) {
    cJSON *list = json ? cJSON_CreateArray() : NULL;
    struct buf text = {0};
    for (size_t i = 0; i < n; i++) {
        if (json)
            cJSON_AddItemToArray(list, docs_json(pages[i], told));
        else
            docs_print(pages[i], told, &text);
        if (i + 1 < n)
            buf_puts(&text, "\n");
    }
    if (json)
        print_json(list);
    else
        fputs(text.at ? text.at : "", stdout);
    buf_free(&text);
}

/* Prints the example of the first page that has one. */
static int print_example(const struct cli *cli, const struct docs_page *page) {
    const char *dialect = cli_value(cli, "example");
    struct buf file = {0};
    struct err err = {0};
    bool has = docs_example(
        page, strcmp(dialect, "current") ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT, &file);
    if (has)
        fputs(file.at, stdout);
    else
        err_set(&err, ERR_USAGE, "%s has no example in the %s dialect", docs_name(page), dialect);
    buf_free(&file);
    return has ? CLI_OK : cli_fail(cli, &err);
}

static int not_found(const struct cli *cli, const struct docs *docs, const char *words) {
    const char *near = docs_nearest(docs, words);
    struct err err = {0};
    if (near)
        err_set(&err, ERR_USAGE, "no page is about %.60s; did you mean %s?", words, near);
    else
        err_set(&err, ERR_USAGE,
                "no page is about %.60s; hone docs lists all, and hone explain "
                "knows errors and metrics",
                words);
    return cli_fail(cli, &err);
}

static int search(const struct cli *cli, const struct docs *docs, const char *words,
                  const struct docs_told *told) {
    const struct docs_page *found[MOST_FOUND];
    struct buf said = {0};
    size_t n = docs_search(docs, str_of(words), false, found, MOST_FOUND);
    bool json = cli_has(cli, "json"), explained = !n && !json;
    int status = CLI_OK;
    if (n == 1 || (n && json))
        print_pages(found, n, told, json);
    for (size_t i = 0; n > 1 && !json && i < n; i++)
        print_line(found[i]);
    if (explained && message_explain(str_of(words), &said))
        fputs(said.at, stdout);
    else if (!n)
        status = not_found(cli, docs, words);
    buf_free(&said);
    return status;
}

static int look_up(const struct cli *cli, const struct docs *docs, const struct docs_told *told) {
    const struct docs_page *found[MOST_PAGES];
    struct buf words = {0};
    int status = CLI_OK;
    for (size_t i = 0; i < cli->args.len; i++)
        buf_printf(&words, "%s%s", i ? " " : "", cli->args.at[i]);
    size_t n = words.at ? docs_find(docs, buf_str(&words), found, MOST_PAGES) : 0;
    if (!n && words.len)
        status = search(cli, docs, words.at, told);
    else if (n && cli_has(cli, "example"))
        status = print_example(cli, found[0]);
    else if (n)
        print_pages(found, n, told, cli_has(cli, "json"));
    else
        print_all(docs, told, cli_has(cli, "json"));
    buf_free(&words);
    return status;
}

int cli_docs(const struct cli *cli) {
    const char *release = cli_value(cli, "release"), *device = cli_value(cli, "device");
    struct docs_told told = {.release = release ? docs_release_find(release) : -1};
    struct err err = {0};
    if (release && told.release < 0) {
        err_set(&err, ERR_USAGE,
                "no release %.20s is known; the SDK's (2.29) and NKI's own numbers (0.3) are",
                release);
        return cli_fail(cli, &err);
    }
    if (device)
        told.generation = nki_generation_find(device);
    struct docs *docs = docs_open();
    int status = look_up(cli, docs, &told);
    docs_close(docs);
    return status;
}
