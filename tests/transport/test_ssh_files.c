/* SPDX-License-Identifier: Apache-2.0 */
/* known_hosts and key files: what is read from them, and that nothing in them does harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/ssh/ssh_key.h"
#include "transport/ssh/ssh_known.h"
#include "transport/ssh/testing.h"

#define ED_A "AAAAC3NzaC1lZDI1NTE5AAAAIJcxeDLh3lX1kssFa7xI57FnvW16mW/uTGrww62N0J14"
#define ED_B "AAAAC3NzaC1lZDI1NTE5AAAAIAPl6U4/WNa404yJi8MJlnOS2+I16uThSLcEe3g6Xw5c"
#define EC_C                                                                                       \
    "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBJP90xiF4CT0nrCdnOgCoHN1I99q72gnaQoyOP8T" \
    "Wt7Zt"                                                                                        \
    "UA/OGGFdaBZVQQmrDW0cB4Bx8RGbXpTiPZrAmqnr8c="

static const char known_hosts[] =
    "# a comment\n"
    "\n"
    "plain.example.com,10.0.0.1 ssh-ed25519 " ED_A " someone\n"
    "*.lab.example.com,!bad.lab.example.com ssh-ed25519 " ED_A "\n"
    "[ported.example.com]:2222 ssh-ed25519 " ED_B "\n"
    "ported.example.com\tssh-ed25519\t" ED_A "\n"
    "|1|hOVTWmhzx/bmLQrwwlTZ66yh6mE=|K3vv1W1hN4GZxvtTW5HkNYd0vl4= ssh-ed25519 " ED_A "\n"
    "|1|Jq48Tdg7cmTK7TcLD2x/DGeTAIo=|JfEtDhGlqO3VeEWAP8oUbX7DZwo= ssh-ed25519 " ED_B "\n"
    "@revoked * ssh-ed25519 " ED_B "\n"
    "@cert-authority *.ca.example.com ssh-ed25519 " ED_A "\n"
    "two.example.com ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQ==\n"
    "two.example.com ecdsa-sha2-nistp256 " EC_C "\n"
    "@odd marker.example.com ssh-ed25519 " ED_A "\n"
    "short.example.com ssh-ed25519\n"
    "last.example.com ssh-ed25519 " ED_A;

static enum ssh_known_answer check(const char *host, int port, const char *type, const char *key,
                                   int *line) {
    struct ssh_known known = {0};
    const struct ssh_known_line *where = NULL;
    ssh_known_parse(&known, "known", str_of(known_hosts), host, port);
    enum ssh_known_answer answer = ssh_known_check(&known, type, key, &where);
    *line = where ? where->line : 0;
    ssh_known_free(&known);
    return answer;
}

static void a_key_is_judged_by_the_lines_of_its_host(void **state) {
    static const struct {
        const char *host;
        int port;
        const char *type, *key;
        enum ssh_known_answer answer;
        int line;
    } rows[] = {
        {"plain.example.com", 22, "ssh-ed25519", ED_A, SSH_KNOWN_SAME, 3},
        {"PLAIN.Example.com", 22, "ssh-ed25519", ED_A, SSH_KNOWN_SAME, 3},
        {"10.0.0.1", 22, "ssh-ed25519", ED_A, SSH_KNOWN_SAME, 3},
        {"plain.example.com", 22, "ssh-ed25519", "AAAA", SSH_KNOWN_CHANGED, 3},
        {"plain.example.com", 22, "ecdsa-sha2-nistp256", EC_C, SSH_KNOWN_OTHER_KIND, 3},
        {"x.lab.example.com", 22, "ssh-ed25519", ED_A, SSH_KNOWN_SAME, 4},
        {"bad.lab.example.com", 22, "ssh-ed25519", ED_A, SSH_KNOWN_NEW, 0},
        {"lab.example.com", 22, "ssh-ed25519", ED_A, SSH_KNOWN_NEW, 0},
        {"ported.example.com", 2222, "ssh-ed25519", "AAAA", SSH_KNOWN_CHANGED, 5},
        {"ported.example.com", 2222, "ssh-ed25519", ED_A, SSH_KNOWN_SAME, 6},
        {"ported.example.com", 2223, "ssh-ed25519", "AAAA", SSH_KNOWN_NEW, 0},
        {"ported.example.com", 22, "ssh-ed25519", ED_A, SSH_KNOWN_SAME, 6},
        {"trn.example.com", 22, "ssh-ed25519", ED_A, SSH_KNOWN_SAME, 7},
        {"trn.example.com", 22, "ssh-ed25519", "AAAA", SSH_KNOWN_CHANGED, 7},
        {"10.0.0.5", 2222, "ssh-ed25519", "AAAA", SSH_KNOWN_CHANGED, 8},
        {"10.0.0.5", 22, "ssh-ed25519", ED_A, SSH_KNOWN_NEW, 0},
        {"anything", 22, "ssh-ed25519", ED_B, SSH_KNOWN_IS_REVOKED, 9},
        {"h.ca.example.com", 22, "ssh-ed25519", "AAAA", SSH_KNOWN_CERTIFIED, 10},
        {"two.example.com", 22, "ecdsa-sha2-nistp256", EC_C, SSH_KNOWN_SAME, 12},
        {"marker.example.com", 22, "ssh-ed25519", ED_A, SSH_KNOWN_NEW, 0},
        {"short.example.com", 22, "ssh-ed25519", ED_A, SSH_KNOWN_NEW, 0},
        {"last.example.com", 22, "ssh-ed25519", ED_A, SSH_KNOWN_SAME, 15},
        {"", 22, "ssh-ed25519", ED_A, SSH_KNOWN_NEW, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int line;
        enum ssh_known_answer answer =
            check(rows[i].host, rows[i].port, rows[i].type, rows[i].key, &line);
        if (answer != rows[i].answer || line != rows[i].line)
            fail_msg("%s port %d: answer %d line %d, expected %d line %d", rows[i].host,
                     rows[i].port, (int)answer, line, (int)rows[i].answer, rows[i].line);
    }
}

static void known_kinds_of_keys_are_preferred(void **state) {
    (void)state;
    struct ssh_known known = {0};
    struct buf order = {0};
    ssh_known_parse(&known, "known", str_of(known_hosts), "two.example.com", 22);
    ssh_known_order(&known, &order);
    assert_non_null(strstr(order.at, "ecdsa-sha2-nistp256,ssh-ed25519"));
    ssh_known_free(&known);
    buf_free(&order);
    ssh_known_order(&known, &order);
    assert_true(str_starts(buf_str(&order), "ssh-ed25519,ecdsa-sha2-nistp256"));
    buf_free(&order);
}

static void a_new_key_is_added_on_a_line_of_its_own(void **state) {
    (void)state;
    char folder[] = "/tmp/hone-known.XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *ssh = path_join(folder, ".ssh"), *file = path_join(ssh, "known_hosts");
    struct buf name = {0};
    struct err err = {0};
    struct stat status;
    ssh_known_name(&name, "Trn.Example", 2200);
    assert_string_equal(name.at, "[trn.example]:2200");
    assert_true(ssh_known_add(file, name.at, "ssh-ed25519", ED_A, &err));
    assert_int_equal(stat(file, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(stat(ssh, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_true(file_append(file, "no line end", 11, &err));
    assert_true(ssh_known_add(file, "other", "ssh-ed25519", ED_B, &err));
    char *text = file_read(file, 0, NULL, &err);
    assert_string_equal(text, "[trn.example]:2200 ssh-ed25519 " ED_A "\nno line end\n"
                              "other ssh-ed25519 " ED_B "\n");
    struct ssh_known known = {0};
    const struct ssh_known_line *where;
    ssh_known_read(&known, file, "trn.example", 2200);
    assert_int_equal(ssh_known_check(&known, "ssh-ed25519", ED_A, &where), SSH_KNOWN_SAME);
    ssh_known_free(&known);
    assert_false(ssh_known_add("/proc/no/known_hosts", "h", "t", "k", &err));
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    assert_true(file_remove_tree(folder, &err));
    free(text);
    free(file);
    free(ssh);
    buf_free(&name);
}

/* ------------------------------------------------------------------------------------- keys */

static void put_string(struct buf *out, const void *text, size_t size) {
    char length[4] = {(char)(size >> 24), (char)(size >> 16), (char)(size >> 8), (char)size};
    buf_add(out, length, 4);
    buf_add(out, text, size);
}

/* The plain part of an OpenSSH private key file, with nothing private in it. */
static void make_key(struct buf *out, const char *type, const char *cipher) {
    struct buf bytes = {0}, public = {0};
    put_string(&public, type, strlen(type));
    put_string(&public, "0123456789abcdef0123456789abcdef", 32);
    buf_add(&bytes, "openssh-key-v1", 15);
    put_string(&bytes, cipher, strlen(cipher));
    put_string(&bytes, "none", 4);
    put_string(&bytes, "", 0);
    buf_add(&bytes, "\0\0\0\1", 4);
    put_string(&bytes, public.at, public.len);
    put_string(&bytes, "private", 7);
    buf_clear(out);
    buf_puts(out, "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    ssh_base64_encode(out, buf_str(&bytes), true);
    buf_puts(out, "\n-----END OPENSSH PRIVATE KEY-----\n");
    buf_free(&bytes);
    buf_free(&public);
}

static void a_key_file_tells_its_kind_without_its_passphrase(void **state) {
    static const struct {
        const char *type, *cipher;
        enum ssh_key_state expected;
        bool locked;
    } rows[] = {
        {"ssh-ed25519", "none", SSH_KEY_USABLE, false},
        {"ssh-ed25519", "aes256-ctr", SSH_KEY_USABLE, true},
        {"ecdsa-sha2-nistp384", "none", SSH_KEY_USABLE, false},
        {"sk-ssh-ed25519@openssh.com", "none", SSH_KEY_UNSUPPORTED, false},
        {"ssh-ed25519-cert-v01@openssh.com", "none", SSH_KEY_UNSUPPORTED, false},
        {"ssh-dss", "none", SSH_KEY_UNSUPPORTED, false},
        {"what-is-this", "none", SSH_KEY_UNSUPPORTED, false},
    };
    (void)state;
    struct buf text = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct ssh_key key = {0};
        make_key(&text, rows[i].type, rows[i].cipher);
        ssh_key_parse(&key, buf_str(&text), STR(""));
        assert_int_equal(key.state, rows[i].expected);
        assert_int_equal(key.locked, rows[i].locked);
        assert_string_equal(key.type, rows[i].type);
        ssh_key_free(&key);
    }
    buf_free(&text);
}

static void older_key_files_are_told_apart_too(void **state) {
    (void)state;
    struct ssh_key key = {0};
    ssh_key_parse(&key,
                  STR("-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n"
                      "-----END EC PRIVATE KEY-----\n"),
                  STR("ssh-ed25519 " ED_A " me@here\n"));
    assert_int_equal(key.state, SSH_KEY_USABLE);
    assert_true(key.locked);
    assert_int_equal(key.blob_len, 51);
    assert_string_equal(key.type, "ssh-ed25519");
    ssh_key_free(&key);
    ssh_key_parse(&key,
                  STR("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"),
                  STR("not a key"));
    assert_string_equal(key.type, "ssh-rsa");
    ssh_key_free(&key);
    ssh_key_parse(&key, STR("ssh-ed25519 " ED_A "\n"), STR(""));
    assert_int_equal(key.state, SSH_KEY_UNKNOWN);
    ssh_key_free(&key);
}

static void base64_goes_there_and_back(void **state) {
    (void)state;
    char bytes[50];
    for (size_t n = 0; n < sizeof bytes; n++) {
        struct buf code = {0}, back = {0};
        bytes[n] = (char)(n * 37);
        ssh_base64_encode(&code, (struct str){bytes, n}, true);
        assert_true(ssh_base64_decode(&back, buf_str(&code)));
        assert_int_equal(back.len, n);
        assert_int_equal(n ? memcmp(back.at, bytes, n) : 0, 0);
        buf_free(&code);
        buf_free(&back);
    }
    struct buf out = {0};
    assert_false(ssh_base64_decode(&out, STR("A")));
    assert_false(ssh_base64_decode(&out, STR("AAAA=A")));
    assert_false(ssh_base64_decode(&out, STR("AA*A")));
    buf_free(&out);
}

/* ----------------------------------------------------------------------------------- any bytes */

struct dice {
    uint64_t at;
};

static uint32_t roll(struct dice *dice, uint32_t n) {
    dice->at = dice->at * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(dice->at >> 33) % n;
}

static void spoil(struct dice *dice, struct buf *text) {
    static const char alphabet[] = "\n\n |*?!,@#[]:=AZ09 \t\r\xff\x01-";
    for (uint32_t n = 1 + roll(dice, 12); n && text->len; n--) {
        size_t at = roll(dice, (uint32_t)text->len);
        switch (roll(dice, 4)) {
        case 0: text->at[at] = (char)roll(dice, 256); break;
        case 1: text->at[at] = alphabet[roll(dice, sizeof alphabet - 1)]; break;
        case 2: text->len = at; break;
        default:
            memmove(text->at + at, text->at + text->len / 2, text->len - MAX_OF(at, text->len / 2));
        }
    }
}

static void spoiled_files_are_read_without_harm(void **state) {
    static const char *const hosts[] = {"trn.example.com", "x.lab.example.com", "*", ""};
    (void)state;
    struct dice dice = {7};
    for (int i = 0; i < 3000; i++) {
        struct buf text = {0};
        struct ssh_known known = {0};
        const struct ssh_known_line *where;
        buf_add(&text, known_hosts, sizeof known_hosts - 1);
        spoil(&dice, &text);
        ssh_known_parse(&known, "known", buf_str(&text), hosts[i % 4], i % 3 ? 22 : 2222);
        for (size_t k = 0; k < known.lines.len; k++)
            assert_true(known.lines.at[k].line > 0 && known.lines.at[k].type[0]);
        ssh_known_check(&known, "ssh-ed25519", ED_A, &where);
        ssh_known_free(&known);
        make_key(&text, i % 2 ? "ssh-ed25519" : "ssh-rsa", "none");
        spoil(&dice, &text);
        struct ssh_key key = {0};
        ssh_key_parse(&key, buf_str(&text), STR("ssh-ed25519 " ED_A));
        assert_true(key.state != SSH_KEY_ABSENT);
        ssh_key_free(&key);
        buf_free(&text);
    }
}

static void a_pattern_of_many_stars_takes_no_time(void **state) {
    (void)state;
    struct buf text = {0}, host = {0};
    for (int i = 0; i < 2000; i++)
        buf_puts(&text, "*a");
    buf_puts(&text, "b ssh-ed25519 " ED_A "\n");
    for (int i = 0; i < 250; i++)
        buf_putc(&host, 'a');
    struct ssh_known known = {0};
    ssh_known_parse(&known, "known", buf_str(&text), host.at, 22);
    assert_int_equal(known.lines.len, 0);
    ssh_known_free(&known);
    buf_free(&text);
    buf_free(&host);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_judged_by_the_lines_of_its_host),
        cmocka_unit_test(known_kinds_of_keys_are_preferred),
        cmocka_unit_test(a_new_key_is_added_on_a_line_of_its_own),
        cmocka_unit_test(a_key_file_tells_its_kind_without_its_passphrase),
        cmocka_unit_test(older_key_files_are_told_apart_too),
        cmocka_unit_test(base64_goes_there_and_back),
        cmocka_unit_test(spoiled_files_are_read_without_harm),
        cmocka_unit_test(a_pattern_of_many_stars_takes_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
