/* SPDX-License-Identifier: Apache-2.0 */
/* All commands with their keys, screen by screen: the list that ? opens, and the rows that the
 * manual page is made from. A command stands where it is bound: one that a key runs on every screen
 * (or that has no key) under "everywhere", one of a screen, or bound on it, under that screen. */
#include "views/inner.h"

#include <stdio.h>

#define EVERYWHERE VIEW_COUNT
#define KEY_COLS 9 /* of the list */

/* The keys of all screens, in the form of a user's own. */
static const char keys[] =
    "any q leave\nany Esc back\nany C-c quit\nany ? help\nany F1 help\nany : command\n"
    "any C-z suspend\nany C-l repaint\nany / search\n"
    "any } next-lane\nany { previous-lane\nany . next-open-lane\n"
    "any k up\nany Up up\nany j down\nany Down down\nany PageUp page-up\nany C-b page-up\n"
    "any PageDown page-down\nany C-f page-down\nany C-u half-up\nany C-d half-down\n"
    "any Home first\nany < first\nany End last\nany > last\nany G last\nany Enter enter\n"
    "any C-n next-match\nany C-p previous-match\nany Left left\nany Right right\n"
    "any s run\nany u undo\nany U redo\nany C-r redo\nany g gates\nany R revert\nany K explain\n"
    "any a approve\nany r reject\nany t retry\n";

/* ---- the built-in keys ---------------------------------------------------------------------- */

static bool bind_screen(struct tui_bindings *bindings, const struct screen *screen,
                        struct err *err) {
    struct str rest = str_of(screen->keys ? screen->keys : ""), line;
    struct buf text = {0};
    if (screen->key)
        buf_printf(&text, "any %s %s\n", screen->key, screen->command.name);
    while (str_next(&rest, '\n', &line))
        if (line.len)
            buf_printf(&text, "%s " STR_FMT "\n", screen->name, STR_ARG(line));
    bool ok = tui_bindings_parse(bindings, buf_str(&text), screen->name, command_exists, err);
    buf_free(&text);
    return ok;
}

bool help_bind(struct tui_bindings *bindings, struct err *err) {
    bool ok = tui_bindings_parse(bindings, str_of(keys), "built-in keys", command_exists, err);
    for (int i = 0; ok && i < VIEW_COUNT; i++)
        ok = bind_screen(bindings, screen_at((enum view_id)i), err);
    return ok;
}

/* ---- where a command stands ----------------------------------------------------------------- */

static const char *group_name(int group) {
    return group == EVERYWHERE ? "everywhere" : screen_at((enum view_id)group)->name;
}

/* Whether the command is bound in a context, or with NULL in any. */
static bool bound_in(const struct tui_bindings *bindings, const char *context,
                     const char *command) {
    for (size_t i = 0; i < bindings->all.len; i++)
        if (strcmp(bindings->all.at[i].command, command) == 0 &&
            (!context || strcmp(bindings->all.at[i].context, context) == 0))
            return true;
    return false;
}

static bool is_of_screen(const struct screen *screen, const struct command *command) {
    return command >= screen->commands && command < screen->commands + screen->n_commands;
}

static bool stands_in(const struct tui_bindings *bindings, int group,
                      const struct command *command) {
    bool own = command->where == WHERE_OWN;
    if (group == EVERYWHERE)
        return !own && (bound_in(bindings, "any", command->name) ||
                        !bound_in(bindings, NULL, command->name));
    const struct screen *screen = screen_at((enum view_id)group);
    return own ? is_of_screen(screen, command) : bound_in(bindings, screen->name, command->name);
}

/* Adds the keys that a context binds to the command, as many as fit into `most` columns. Keys of
 * all screens are left out where the screen `here` uses them for another command. */
static void keys_of(const struct tui_bindings *bindings, const char *const contexts[2],
                    const char *command, size_t most, struct buf *out) {
    const char *context = contexts[0], *here = contexts[1];
    for (size_t i = 0; i < bindings->all.len; i++) {
        const struct tui_binding *binding = &bindings->all.at[i];
        const char *runs = tui_bindings_find(bindings, here, binding->key);
        struct buf key = {0};
        if (strcmp(binding->context, context) != 0 || !runs || strcmp(runs, command) != 0)
            continue;
        tui_key_print(binding->key, &key);
        if (out->len + (out->len > 0) + key.len <= most)
            buf_printf(out, "%s%s", out->len ? " " : "", key.at);
        buf_free(&key);
    }
}

/* The keys that run the command there, with blanks between. */
static void keys_print(const struct tui_bindings *bindings, int group, const char *command,
                       size_t most, struct buf *out) {
    const char *here = group == EVERYWHERE ? "any" : screen_at((enum view_id)group)->name;
    if (group != EVERYWHERE)
        keys_of(bindings, (const char *const[2]){here, here}, command, most, out);
    if (!out->len)
        keys_of(bindings, (const char *const[2]){"any", here}, command, most, out);
}

/* ---- the list ------------------------------------------------------------------------------- */

static void chosen(struct views *views, struct str text, struct views_request *request) {
    long long number;
    const struct command *command = str_to_int(text, &number) ? command_at((size_t)number) : NULL;
    if (command)
        command_run(views, command, STR(""), request);
}

static bool is_possible(const struct views *views, const struct command *command) {
    return command_is_here(views, command) && command_can(views, command);
}

/* The rows of a group: first what is possible now. */
static void add_group(struct views *views, int group) {
    const struct command *command;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; (command = command_at(i)); i++) {
            bool other = group != EVERYWHERE && group != (int)views->view;
            bool possible = !other && is_possible(views, command);
            struct buf key = {0};
            if (possible == (pass == 1) || !stands_in(&views->bindings, group, command))
                continue;
            keys_print(&views->bindings, group, command->name, KEY_COLS, &key);
            struct tui_menu_row *row =
                views_menu_row(views, (int)i, key.len ? key.at : ":", command->name, command->help);
            row->group = group_name(group);
            row->dim = !possible;
            buf_free(&key);
        }
}

void help_open(struct views *views) {
    views->over.rows.len = 0;
    add_group(views, (int)views->view);
    add_group(views, EVERYWHERE);
    for (int i = 0; i < VIEW_COUNT; i++)
        if (i != (int)views->view)
            add_group(views, i);
    views_open_menu(views, "keys and commands", chosen);
}

/* ---- for the manual page -------------------------------------------------------------------- */

bool views_key_at(size_t index, struct views_key *key) {
    struct tui_bindings bindings = {0};
    struct err err = {0};
    const struct command *command;
    bool found = false;
    if (!help_bind(&bindings, &err))
        HONE_BUG("the built-in keys are wrong");
    for (int i = 0; i <= VIEW_COUNT && !found; i++) {
        int group = i == 0 ? EVERYWHERE : i - 1;
        for (size_t k = 0; !found && (command = command_at(k)); k++) {
            struct buf keys_there = {0};
            if (!stands_in(&bindings, group, command) || index-- > 0)
                continue;
            found = true;
            keys_print(&bindings, group, command->name, sizeof key->keys - 1, &keys_there);
            *key = (struct views_key){
                .screen = group_name(group), .command = command->name, .help = command->help};
            snprintf(key->keys, sizeof key->keys, "%s", keys_there.at ? keys_there.at : "");
            buf_free(&keys_there);
        }
    }
    tui_bindings_free(&bindings);
    return found;
}
