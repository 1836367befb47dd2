/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "transport/client/own.h"
#include "transport/client/testing.h"
#include "transport/wire/keys.h"
#include "transport/wire/settings.h"

/* A temporary folder that is HOME, with these files. */
struct home {
    char path[64];
};

static void begin(struct home *home) {
    snprintf(home->path, sizeof home->path, "/tmp/hone-home.XXXXXX");
    assert_non_null(mkdtemp(home->path));
    setenv("HOME", home->path, 1);
}

static void put(const struct home *home, const char *name, const char *text) {
    struct buf path = {0};
    struct err err;
    buf_printf(&path, "%s/.ssh/%s", home->path, name);
    char *folder = path_folder(path.at);
    assert_true(file_make_dirs(folder, &err));
    assert_true(file_write(path.at, text, strlen(text), &err));
    free(folder);
    buf_free(&path);
}

static void end(struct home *home) {
    struct err err;
    assert_true(file_remove_tree(home->path, &err));
}

static struct settings read_for(const struct home *home, const char *name) {
    struct settings settings = {0};
    struct buf path = {0};
    struct err err = {0};
    buf_printf(&path, "%s/.ssh/config", home->path);
    if (!settings_read(&settings, path.at, name, &err))
        fail_msg("%s", err.text);
    buf_free(&path);
    return settings;
}

static void expect(struct settings *settings, const char *keyword, const char *value) {
    const char *is = settings_get(settings, keyword);
    if (!value)
        assert_null(is);
    else
        assert_string_equal(is ? is : "(nothing)", value);
}

static void the_first_value_counts_and_identities_add_up(void **state) {
    (void)state;
    struct home home;
    begin(&home);
    put(&home, "config",
        "# a comment\n"
        "Host trn*  !trn9\n"
        "\tHostName = %h.example.com\n"
        "  Port=2222\n"
        "  IdentityFile \"~/.ssh/with blank\"\n"
        "Host trn1 other\n"
        "  User ubuntu\n"
        "  Port 1\n"
        "Host *\n"
        "  User nobody\n"
        "  IdentityFile ~/.ssh/%r_key\n"
        "  ProxyCommand nc -x \"proxy host\" %h %p\n");
    struct settings settings = read_for(&home, "trn1");
    expect(&settings, "hostname", "trn1.example.com");
    expect(&settings, "port", "2222");
    expect(&settings, "user", "ubuntu");
    expect(&settings, "proxycommand", "nc -x \"proxy host\" %h %p");
    const struct settings_list *keys = settings_all(&settings, "identityfile");
    assert_int_equal(keys->all.len, 2);
    char *key = settings_expand(&settings, keys->all.at[1], "trn1");
    struct buf expected = {0};
    buf_printf(&expected, "%s/.ssh/ubuntu_key", home.path);
    assert_string_equal(key, expected.at);
    buf_free(&expected);
    free(key);
    settings_free(&settings);
    settings = read_for(&home, "trn9");
    expect(&settings, "hostname", NULL);
    expect(&settings, "user", "nobody");
    settings_free(&settings);
    end(&home);
}

static void include_and_match_are_followed(void **state) {
    (void)state;
    struct home home;
    begin(&home);
    put(&home, "config",
        "Include conf.d/*.conf\n"
        "Host a\n"
        "  Include only-a\n"
        "Match originalhost b user root,ubuntu\n"
        "  Port 22001\n"
        "Match host c.example.com !localuser no-such-user\n"
        "  Port 22002\n"
        "Match exec \"touch /tmp/never\"\n"
        "  Port 22003\n"
        "Match all\n"
        "  Port 22004\n");
    put(&home, "conf.d/1.conf", "Host b\n  User ubuntu\nHost c\n  HostName c.example.com\n");
    put(&home, "only-a", "ProxyJump bastion\n");
    static const struct {
        const char *name, *port, *jump;
    } rows[] = {{"a", "22004", "bastion"},
                {"b", "22001", NULL},
                {"c", "22002", NULL},
                {"d", "22004", NULL}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct settings settings = read_for(&home, rows[i].name);
        expect(&settings, "port", rows[i].port);
        expect(&settings, "proxyjump", rows[i].jump);
        settings_free(&settings);
    }
    end(&home);
}

static void files_that_include_themselves_are_refused(void **state) {
    (void)state;
    struct home home;
    struct settings settings = {0};
    struct err err = {0};
    begin(&home);
    put(&home, "config", "Include config\n");
    char *path = settings_user_file("config");
    assert_false(settings_read(&settings, path, "a", &err));
    assert_int_equal(err.kind, ERR_USAGE);
    free(path);
    settings_free(&settings);
    end(&home);
}

static void names_without_wildcards_are_known(void **state) {
    (void)state;
    struct home home;
    begin(&home);
    put(&home, "config", "Host trn1 trn2 *.lab !x\n  User a\nHost *\nInclude more\nHost trn1\n");
    put(&home, "more", "Host \"inner\"\n");
    size_t count;
    char **names = transport_known_names(NULL, &count);
    assert_int_equal(count, 3);
    assert_string_equal(names[0], "trn1");
    assert_string_equal(names[1], "trn2");
    assert_string_equal(names[2], "inner");
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    names = transport_known_names("/no/such/file", &count);
    assert_int_equal(count, 0);
    free(names);
    end(&home);
}

/* Whatever bytes are in the file. */
static void garbage_is_read_without_harm(void **state) {
    (void)state;
    struct home home;
    begin(&home);
    uint32_t x = 7;
    for (int round = 0; round < 200; round++) {
        struct buf text = {0};
        static const char *const parts[] = {"Host ", "Match ", "Include ",  "\"",  "=",    "\n",
                                            "#",     " ",      "*",         "!",   "port", "exec",
                                            "~",     "%",      "%h",        "a,b", "\\",   "\t",
                                            "\xff",  "\r",     "hostname ", "user"};
        for (int i = 0; i < 60; i++) {
            x = x * 1664525u + 1013904223u;
            buf_puts(&text, parts[(x >> 16) % COUNT_OF(parts)]);
        }
        put(&home, "config", text.at);
        struct settings settings = {0};
        struct err err;
        char *path = settings_user_file("config");
        (void)!settings_read(&settings, path, "a", &err);
        free(path);
        settings_free(&settings);
        buf_free(&text);
    }
    end(&home);
}

/* ---------------------------------------------------------------------- what ssh asks and says */

static void prompts_become_questions(void **state) {
    (void)state;
    struct transport_question question;
    assert_true(asker_understand(
        STR("The authenticity of host '[127.0.0.1]:4 ([127.0.0.1]:4)' can't be established.\n"
            "ED25519 key fingerprint is SHA256:abc.\nThis key is not known by any other names.\n"
            "Are you sure you want to continue connecting (yes/no/[fingerprint])? "),
        STR(""), &question));
    assert_int_equal(question.ask, TRANSPORT_ASK_HOST_KEY);
    assert_false(question.secret);
    assert_non_null(strstr(question.text, "[127.0.0.1]:4"));
    assert_non_null(strstr(question.text, "ED25519"));
    assert_non_null(strstr(question.text, "SHA256:abc."));
    assert_true(
        asker_understand(STR("Enter passphrase for key '/h/.ssh/id_rsa': "), STR(""), &question));
    assert_int_equal(question.ask, TRANSPORT_ASK_PASSPHRASE);
    assert_true(question.secret);
    assert_non_null(strstr(question.text, "/h/.ssh/id_rsa"));
    assert_true(asker_understand(STR("me@trn's password: "), STR(""), &question));
    assert_int_equal(question.ask, TRANSPORT_ASK_PASSWORD);
    assert_true(question.secret);
    assert_true(asker_understand(STR("(me@trn) Code\x1b[2J: "), STR(""), &question));
    assert_null(strchr(question.text, '\x1b'));
    assert_false(asker_understand(STR("Confirm user presence for key"), STR("none"), &question));
}

static void what_ssh_says_becomes_an_error(void **state) {
    (void)state;
    static const struct {
        const char *said;
        bool connected;
        enum err_kind kind;
        const char *words;
    } rows[] = {
        {"ssh: Could not resolve hostname x: Name or service not known\n", false, ERR_USAGE,
         "spelling"},
        {"ssh: Could not resolve hostname x: Temporary failure in name resolution\n", false,
         ERR_ENVIRONMENT, "network"},
        {"ssh: connect to host x port 22: Connection refused\n", false, ERR_ENVIRONMENT, "listens"},
        {"ssh: connect to host x port 22: Connection timed out\n", false, ERR_ENVIRONMENT,
         "switched on"},
        {"me@x: Permission denied (publickey).\n", false, ERR_USAGE, "authorized_keys"},
        {"@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@\n"
         "Host key verification failed.\n",
         false, ERR_USAGE, "ssh-keygen -R"},
        {"Unable to negotiate with 1.2.3.4 port 22: no matching MAC found. Their offer: x\n", false,
         ERR_USAGE, "MAC in common"},
        {"channel 0: open failed: connect failed: Connection refused\nstdio forwarding failed\n"
         "Connection closed by UNKNOWN port 65535\n",
         false, ERR_ENVIRONMENT, "jump host"},
        {"Authenticated to x\nTimeout, server x not responding.\n", true, ERR_ENVIRONMENT, "lost"},
        {"", true, ERR_ENVIRONMENT, "no reason"},
        {"\x1b]0;evil\x07 something new\n", false, ERR_ENVIRONMENT, "something new"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct transport_route route = {.name = "trn2"};
        struct err err = {0};
        client_explain(&route, str_of(rows[i].said), rows[i].connected, &err);
        if (err.kind != rows[i].kind || !strstr(err.text, rows[i].words) ||
            !strstr(err.text, "trn2") || strchr(err.text, '\x1b'))
            fail_msg("row %zu: %s", i, err.text);
    }
}

static void kinds_of_keys_are_told_from_their_files(void **state) {
    (void)state;
    struct home home;
    begin(&home);
    put(&home, "old", "-----BEGIN RSA PRIVATE KEY-----\nxxx\n");
    put(&home, "broken", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r");
    /* magic, "none", "none", "", 1, then a public part of the type that is named */
    put(&home, "rsa",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n"
        "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAFwAAAAdzc2gtcn\nNhAAAAAwEAAQ==\n");
    put(&home, "sk",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n"
        "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAHgAAABpzay1zc2\n"
        "gtZWQyNTUxOUBvcGVuc3NoLmNvbQ==\n");
    static const struct {
        const char *name;
        enum key_kind kind;
    } rows[] = {{"old", KEY_RSA},
                {"rsa", KEY_RSA},
                {"sk", KEY_SECURITY},
                {"broken", KEY_OTHER},
                {"none", KEY_ABSENT}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *path = settings_user_file(rows[i].name);
        assert_int_equal(key_file_kind(path), rows[i].kind);
        free(path);
    }
    end(&home);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_value_counts_and_identities_add_up),
        cmocka_unit_test(include_and_match_are_followed),
        cmocka_unit_test(files_that_include_themselves_are_refused),
        cmocka_unit_test(names_without_wildcards_are_known),
        cmocka_unit_test(garbage_is_read_without_harm),
        cmocka_unit_test(prompts_become_questions),
        cmocka_unit_test(what_ssh_says_becomes_an_error),
        cmocka_unit_test(kinds_of_keys_are_told_from_their_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
