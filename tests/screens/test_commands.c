/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of commands: each command has a key or a help, and a place in the list of keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "screens/acts.h"

struct keys {
    VEC(struct views_key) all;
};

static bool is_listed(const struct keys *keys, const char *screen, const char *command,
                      const char *bound) {
    for (size_t i = 0; i < keys->all.len; i++)
        if (!strcmp(keys->all.at[i].screen, screen) && !strcmp(keys->all.at[i].command, command))
            return !strcmp(keys->all.at[i].keys, bound);
    return false;
}

/* Every command is in the list of keys, with a help. Each key is listed for the screen that has
 * it. */
static void every_command_is_documented(void **state) {
    (void)state;
    static const char *const rows[][3] = {
        {"everywhere", "approve", "a"}, {"everywhere", "up", "k Up"},
        {"everywhere", "gate", ""},     {"everywhere", "kernel", "2"},
        {"history", "mark", "Space"},   {"notes", "edit", "e"},
        {"workbench", "edit", "e"},     {"lanes", "another", "n"},
        {"profile", "zoom-in", "+ ="},  {"workbench", "next-pane", "Tab"},
    };
    struct keys keys = {0};
    struct views_key key;
    const struct command *command;
    for (size_t i = 0; views_key_at(i, &key); i++) {
        assert_true(key.command[0] && key.help[0] && key.screen[0]);
        assert_false(is_listed(&keys, key.screen, key.command, key.keys)); /* once */
        *vec_push(&keys.all) = key;
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_true(is_listed(&keys, rows[i][0], rows[i][1], rows[i][2]));
    assert_false(is_listed(&keys, "kernel", "edit", "e"));
    for (size_t i = 0, k; (command = command_at(i)); i++) {
        for (k = 0; k < keys.all.len && strcmp(keys.all.at[k].command, command->name) != 0;)
            k++;
        assert_true(k < keys.all.len);
    }
    vec_free(&keys.all);
}

/* A screen's commands are all in the table, and names are unique. */
static void tables_of_commands_agree(void **state) {
    (void)state;
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++)
        assert_ptr_equal(command, command_find(str_of(command->name)));
    for (int i = 0; i < VIEW_COUNT; i++) {
        const struct screen *screen = screen_at((enum view_id)i);
        struct str rest = str_of(screen->takes ? screen->takes : ""), word;
        assert_true((screen->edit != NULL) == (screen->can_edit != NULL));
        while (str_next(&rest, ' ', &word)) {
            command = command_find(word);
            assert_true(!word.len || (command && command->where == WHERE_TAKEN));
        }
        for (size_t k = 0; k < screen->n_commands; k++)
            assert_int_equal(screen->commands[k].where, WHERE_OWN);
    }
}

int main(void) {
    acts_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_is_documented),
        cmocka_unit_test(tables_of_commands_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
