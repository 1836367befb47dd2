/* SPDX-License-Identifier: Apache-2.0 */
/* hone skills: pages of instructions for coding agents, and where each agent looks for them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/words/words.h"

#define FOLDER "skills/"
#define PAGE "/SKILL.md"

/* Sources: the documentation of each agent. All follow the standard of agentskills.io. */
static const struct {
    const char *agent, *folder; /* below the home folder, or below a project */
} places[] = {
    {"claude", ".claude/skills"},
    {"kiro", ".kiro/skills"},
    {"codex", ".agents/skills"},
    {"agents", ".agents/skills"},
};

static bool is_skill(const struct embedded_file *file) {
    return str_starts(str_of(file->name), FOLDER) && str_ends(str_of(file->name), PAGE);
}

/* "hone-optimise", of "skills/hone-optimise/SKILL.md". */
static struct str name_of(const struct embedded_file *file) {
    return (struct str){file->name + strlen(FOLDER),
                        strlen(file->name) - strlen(FOLDER) - strlen(PAGE)};
}

static struct str text_of(const struct embedded_file *file) {
    return (struct str){(const char *)file->data, file->size};
}

/* The line "description: ..." of its head. */
static struct str description_of(const struct embedded_file *file) {
    struct str rest = text_of(file), line;
    while (str_next(&rest, '\n', &line))
        if (str_starts(line, "description: "))
            return (struct str){line.at + 13, line.len - 13};
    return STR("");
}

static int list(void) {
    for (const struct embedded_file *file = embedded_files; file->name; file++)
        if (is_skill(file))
            printf("%-22.*s " STR_FMT "\n", (int)name_of(file).len, name_of(file).at,
                   STR_ARG(description_of(file)));
    return CLI_OK;
}

static int show(const struct cli *cli, const char *name) {
    struct err err = {0};
    for (const struct embedded_file *file = embedded_files; name && file->name; file++)
        if (is_skill(file) && str_is(name_of(file), name)) {
            printf(STR_FMT, STR_ARG(text_of(file)));
            return CLI_OK;
        }
    err_set(&err, ERR_USAGE, "%s%.60s; hone skills list has their names",
            name ? "there is no skill " : "show needs the name of a skill", name ? name : "");
    return cli_fail(cli, &err);
}

/* ---- install -----------------------------------------------------------------------------------
 */

enum outcome { WRITTEN, SAME, DIFFERS, FAILED };

static enum outcome compare(const char *path, struct str text) {
    struct err err = {0};
    size_t size = 0;
    if (!file_exists(path))
        return WRITTEN;
    char *there = file_read(path, text.len + 1, &size, &err);
    bool same = there && size == text.len && !memcmp(there, text.at, size);
    free(there);
    return same ? SAME : DIFFERS;
}

static enum outcome write_one(const struct cli *cli, const char *path, struct str text,
                              struct err *err) {
    enum outcome is = compare(path, text);
    char *folder = path_folder(path);
    bool writes = is == WRITTEN || (is == DIFFERS && cli_has(cli, "replace"));
    if (writes && !cli_has(cli, "dry-run") &&
        (!file_make_dirs(folder, err) || !file_write(path, text.at, text.len, err)))
        is = FAILED;
    else if (writes)
        is = WRITTEN;
    free(folder);
    return is;
}

static int install_in(const struct cli *cli, const char *root) {
    static const char *const said[] = {"written", "unchanged", "differs from hone's, left as it is",
                                       "failed"};
    int status = CLI_OK;
    struct err err = {0};
    for (const struct embedded_file *file = embedded_files;
         file->name && status != CLI_ENVIRONMENT_FAILED; file++) {
        if (!is_skill(file))
            continue;
        char *path = path_join(root, file->name + strlen(FOLDER));
        enum outcome is = write_one(cli, path, text_of(file), &err);
        bool would = is == WRITTEN && cli_has(cli, "dry-run");
        cli_say(stdout, "%s: %s\n", path, would ? "would be written" : said[is]);
        if (is == DIFFERS)
            status = CLI_KERNEL_FAILED;
        if (is == FAILED)
            status = cli_fail(cli, &err);
        free(path);
    }
    return status;
}

static const char *folder_of(const char *agent) {
    for (size_t i = 0; agent && i < COUNT_OF(places); i++)
        if (!strcmp(places[i].agent, agent))
            return places[i].folder;
    return NULL;
}

static int install(const struct cli *cli, const char *agent) {
    const char *folder = folder_of(agent), *home = getenv("HOME");
    struct err err = {0};
    bool project = cli_has(cli, "project");
    if (!folder)
        err_set(&err, ERR_USAGE, "install for whom: claude, kiro, codex or agents%s%.40s",
                agent ? ", not " : "", agent ? agent : "");
    else if (!project && (!home || *home != '/'))
        err_set(&err, ERR_ENVIRONMENT,
                "HOME is not set, so there is no home folder; --project "
                "installs into the current folder");
    if (err.kind != ERR_NONE)
        return cli_fail(cli, &err);
    char *root = path_join(project ? "." : home, folder);
    int status = install_in(cli, root);
    free(root);
    return status;
}

int cli_skills(const struct cli *cli) {
    const char *what = cli->args.at[0], *name = cli->args.len > 1 ? cli->args.at[1] : NULL;
    struct err err = {0};
    if (!strcmp(what, "list"))
        return list();
    if (!strcmp(what, "show"))
        return show(cli, name);
    if (!strcmp(what, "install"))
        return install(cli, name);
    err_set(&err, ERR_USAGE, "%.40s is not list, show or install", what);
    return cli_fail(cli, &err);
}
