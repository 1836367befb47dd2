/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the way to a host. It asks `ssh -G` (or our own reader, if no ssh client is installed)
 * what the user's ssh_config says about the host, and takes libssh2 in this process, or the
 * system's client if the host needs more than libssh2 can do. */
#include "base/libssh2.h"
#include "transport/client/client.h"
#include "transport/ssh/ssh.h"
#include "transport/transport.h"
#include "transport/wire/inner.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LIBSSH2_WITH_RSA_SHA2 0x010b00
#define DUMP_LIMIT ((size_t)1 << 20)
#define SAID_LIMIT ((size_t)1 << 14)
#define CONNECT_LIMIT_S 20
#define KEEPALIVE_S 15

/* The state of this way while it chooses. */
struct chooser {
    struct transport *transport;
    struct client_folder folder;
    struct loop_child *child;
    struct loop_timer *later;
    struct buf dump, said;
    struct settings settings;
    struct err err; /* why something failed at once */
    bool has_client;
};

/* Keywords that only the system's client honours. */
static const struct {
    const char *keyword, *reason;
} needs[] = {
    {"proxyjump", "it is reached through a jump host (ProxyJump)"},
    {"proxycommand", "it is reached by a command (ProxyCommand)"},
    {"certificatefile", "it wants a certificate (CertificateFile)"},
    {"pkcs11provider", "its key is on a token (PKCS11Provider)"},
    {"knownhostscommand", "a command gives its host key (KnownHostsCommand)"},
    {"revokedhostkeys", "revoked host keys are to be looked up (RevokedHostKeys)"},
    {"bindaddress", "the connection must start at a certain address (BindAddress)"},
    {"bindinterface", "the connection must start at a certain interface (BindInterface)"},
};

/* ----------------------------------------------------------------------------------- the route */

static const char *arena_take(struct arena *arena, char *text) {
    const char *copy = arena_strdup(arena, text);
    free(text);
    return copy;
}

struct files {
    VEC(const char *) all;
};

static void add_file(struct chooser *chooser, struct files *files, struct str path) {
    struct arena *arena = chooser->transport->arena;
    const char *name = chooser->transport->route.asked->name;
    const char *word = arena_strndup(arena, path.at, path.len);
    if (*word && strcmp(word, "none") != 0)
        *vec_push(&files->all) = arena_take(arena, settings_expand(&chooser->settings, word, name));
}

/* A value is one path, or several separated by blanks. */
static void add_files(struct chooser *chooser, struct files *files, const char *keyword,
                      bool several) {
    const struct settings_list *list = settings_all(&chooser->settings, keyword);
    for (size_t i = 0; list && i < list->all.len; i++) {
        struct str rest = str_of(list->all.at[i]), part;
        while (str_next(&rest, several ? ' ' : 0, &part))
            add_file(chooser, files, part);
    }
}

static const char *const *end_files(struct chooser *chooser, struct files *files) {
    *vec_push(&files->all) = NULL;
    const char *const *copy =
        arena_dup(chooser->transport->arena, files->all.at, files->all.len * sizeof *files->all.at);
    vec_free(&files->all);
    return copy;
}

static const char *find_agent(struct chooser *chooser) {
    const struct settings_list *list = settings_all(&chooser->settings, "identityagent");
    const char *value = list ? list->all.at[0] : "SSH_AUTH_SOCK";
    struct arena *arena = chooser->transport->arena;
    if (!strcmp(value, "none"))
        return NULL;
    if (!strcmp(value, "SSH_AUTH_SOCK") || *value == '$') {
        const char *path = getenv(*value == '$' ? value + 1 : value);
        return path && *path ? arena_strdup(arena, path) : NULL;
    }
    return arena_take(
        arena, settings_expand(&chooser->settings, value, chooser->transport->route.asked->name));
}

static bool is_yes(const char *value) {
    return value && (!strcmp(value, "yes") || !strcmp(value, "true"));
}

static const char *own_name(void) {
    const struct passwd *me = getpwuid(getuid());
    return me ? me->pw_name : "root";
}

static void fill_route(struct chooser *chooser) {
    struct transport_route *route = &chooser->transport->route;
    struct arena *arena = chooser->transport->arena;
    const struct settings *settings = &chooser->settings;
    const char *host = settings_get(settings, "hostname"), *user = settings_get(settings, "user");
    const char *alias = settings_get(settings, "hostkeyalias");
    const char *port = settings_get(settings, "port");
    struct files keys = {0}, known = {0};
    long long number;
    add_files(chooser, &keys, "identityfile", false);
    add_files(chooser, &known, "userknownhostsfile", true);
    add_files(chooser, &known, "globalknownhostsfile", true);
    route->host = host ? arena_strdup(arena, host) : route->name;
    route->user = arena_strdup(arena, user ? user : own_name());
    route->port = port && str_to_int(str_of(port), &number) && number > 0 && number < 65536
                      ? (int)number
                      : 22;
    route->host_key_name = alias ? arena_strdup(arena, alias) : NULL;
    route->identities = end_files(chooser, &keys);
    route->identities_only = is_yes(settings_get(settings, "identitiesonly"));
    route->agent = find_agent(chooser);
    route->known_hosts = end_files(chooser, &known);
    route->strict = is_yes(settings_get(settings, "stricthostkeychecking"));
}

/* ---------------------------------------------------------------------------------- the choice */

static bool has_certificate(const char *identity) {
    struct buf path = {0};
    buf_printf(&path, "%s-cert.pub", identity);
    bool there = file_exists(path.at);
    buf_free(&path);
    return there;
}

/* There are tickets, and the user's configuration uses them. */
static bool uses_kerberos(const struct settings *settings) {
    char cache[64];
    const char *named = getenv("KRB5CCNAME");
    snprintf(cache, sizeof cache, "/tmp/krb5cc_%u", (unsigned)getuid());
    return is_yes(settings_get(settings, "gssapiauthentication")) &&
           ((named && *named) || file_exists(cache));
}

static const char *key_need(const struct transport_route *route) {
    size_t counts[KEY_SECURITY + 1] = {0}, all = 0;
    for (size_t i = 0; route->identities[i]; i++) {
        enum key_kind kind = key_file_kind(route->identities[i]);
        if (kind == KEY_ABSENT)
            continue;
        if (has_certificate(route->identities[i]))
            return "its key has a certificate";
        counts[kind]++;
        all++;
    }
    if (!all || counts[KEY_OTHER] || (route->agent && !route->identities_only))
        return NULL; /* libssh2 has something to try */
    if (counts[KEY_SECURITY])
        return "its key is on a security key";
    if (!libssh2_version(LIBSSH2_WITH_RSA_SHA2))
        return "its key is RSA, which libssh2 before 1.11 signs in a way that servers refuse";
    return NULL;
}

/* Why libssh2 cannot connect; NULL: no reason is known. */
static const char *find_need(const struct chooser *chooser) {
    for (size_t i = 0; i < COUNT_OF(needs); i++)
        if (settings_get(&chooser->settings, needs[i].keyword))
            return needs[i].reason;
    const char *need = key_need(&chooser->transport->route);
    if (!need && uses_kerberos(&chooser->settings))
        need = "it takes Kerberos tickets (GSSAPIAuthentication)";
    return need;
}

static bool client_is(const struct transport_route *route, const char *what) {
    return route->asked->client && !strcmp(route->asked->client, what);
}

static bool may_use(const struct chooser *chooser, const char *need, struct err *err) {
    const struct transport_route *route = &chooser->transport->route;
    if (need && client_is(route, "libssh2"))
        return err_set(err, ERR_USAGE,
                       "%s cannot be reached with libssh2: %s. Set client = ssh, or "
                       "leave it at auto",
                       route->name, need);
    if ((need || client_is(route, "ssh")) && !chooser->has_client)
        return err_set(err, ERR_USAGE,
                       "%s needs the system's ssh client%s%s, and there is no ssh on "
                       "PATH. Install OpenSSH's client (package openssh-client)",
                       route->name, need ? ": " : "", need ? need : "");
    return true;
}

/* Continues with the way that was found. The chooser is gone afterwards. */
static void choose(struct chooser *chooser) {
    struct transport *transport = chooser->transport;
    struct err err;
    fill_route(chooser);
    bool wants_client = client_is(&transport->route, "ssh");
    bool wants_libssh2 = client_is(&transport->route, "libssh2");
    const char *need = wants_client ? NULL : find_need(chooser);
    if (!may_use(chooser, need, &err)) {
        transport_end(transport, &err);
        return;
    }
    if (need)
        transport_note(transport, "the system's ssh is used for %s: %s", transport->route.name,
                       need);
    struct transport_ways ways = {.ops = &transport_client_ops};
    if (!need && !wants_client)
        ways = (struct transport_ways){
            .ops = &transport_libssh2_ops,
            .fallback = chooser->has_client && !wants_libssh2 ? &transport_client_ops : NULL};
    transport_proceed(transport, &ways);
}

/* ------------------------------------------------------------------------------------- looking */

static void on_dump(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct chooser *chooser = data;
    struct buf *to = stream == LOOP_STDERR ? &chooser->said : &chooser->dump;
    size_t limit = stream == LOOP_STDERR ? SAID_LIMIT : DUMP_LIMIT;
    (void)whole;
    if (to->len < limit)
        buf_add(to, text.at, MIN_OF(text.len, limit - to->len));
}

static void on_dumped(void *data, const struct loop_exit *result) {
    struct chooser *chooser = data;
    struct transport *transport = chooser->transport;
    struct err err;
    chooser->child = NULL;
    if (result->end == LOOP_EXITED && result->status == 0) {
        settings_take_dump(&chooser->settings, buf_str(&chooser->dump));
        choose(chooser);
        return;
    }
    if (result->end == LOOP_TIMED_OUT) {
        err_set(&err, ERR_USAGE,
                "ssh -G %s gave no answer within %.0f s: does a Match exec or a "
                "name look-up in ssh_config hang?",
                transport->route.name, transport->route.connect_limit_s);
    } else {
        struct buf said = {0};
        text_sanitise(&said, str_trim(buf_str(&chooser->said)));
        err_set(&err, ERR_USAGE, "the ssh client does not take the configuration of %s: %s",
                transport->route.name, said.at ? said.at : "ssh -G failed");
        buf_free(&said);
    }
    transport_end(transport, &err);
}

static bool start_client(struct chooser *chooser, struct err *err) {
    static const char *const more[] = {"-G", NULL};
    const struct transport_route *route = &chooser->transport->route;
    if (!client_folder_make(&chooser->folder, route, err))
        return false;
    char **argv = client_command_line(&chooser->folder, route, more);
    struct loop_child_spec spec = {.argv = (const char *const *)argv,
                                   .own_session = true,
                                   .environment = LOOP_WHOLE,
                                   .out = LOOP_RAW,
                                   .err = LOOP_RAW,
                                   .time_limit_s = route->connect_limit_s,
                                   .on_output = on_dump,
                                   .on_exit = on_dumped,
                                   .data = chooser};
    struct err ignored;
    chooser->child = loop_child_start(chooser->transport->loop, &spec, &ignored);
    client_free_words(argv);
    return true;
}

/* Takes "user@host" or "host", as on the command line of ssh. */
static void take_name(struct chooser *chooser, struct buf *host) {
    const struct transport_host *asked = chooser->transport->route.asked;
    const char *at = strrchr(asked->name, '@');
    char port[16];
    snprintf(port, sizeof port, "%d", asked->port);
    buf_puts(host, at ? at + 1 : asked->name);
    if (asked->user)
        settings_add(&chooser->settings, STR("user"), str_of(asked->user));
    else if (at)
        settings_add(&chooser->settings, STR("user"),
                     (struct str){asked->name, (size_t)(at - asked->name)});
    if (asked->host)
        settings_add(&chooser->settings, STR("hostname"), str_of(asked->host));
    if (asked->port)
        settings_add(&chooser->settings, STR("port"), str_of(port));
    if (asked->identity)
        settings_add(&chooser->settings, STR("identityfile"), str_of(asked->identity));
    if (asked->known_hosts)
        settings_add(&chooser->settings, STR("userknownhostsfile"), str_of(asked->known_hosts));
}

static void add_defaults(struct chooser *chooser, const char *host) {
    struct settings *settings = &chooser->settings;
    static const char *const keys[] = {"~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ed25519"};
    const char *name = settings_get(settings, "hostname");
    if (!name)
        settings_add(settings, STR("hostname"), str_of(host));
    bool none = settings_all(settings, "identityfile") == NULL;
    for (size_t i = 0; none && i < COUNT_OF(keys); i++)
        settings_add(settings, STR("identityfile"), str_of(keys[i]));
    if (!settings_all(settings, "userknownhostsfile"))
        settings_add(settings, STR("userknownhostsfile"), STR("~/.ssh/known_hosts"));
}

/* There is no client to ask. */
static void read_by_ourselves(void *data) {
    struct chooser *chooser = data;
    const struct transport_host *asked = chooser->transport->route.asked;
    struct buf host = {0};
    char *path = asked->ssh_config ? mem_strdup(asked->ssh_config) : settings_user_file("config");
    struct err err;
    chooser->later = NULL;
    take_name(chooser, &host);
    bool ok = !file_exists(path) || settings_read(&chooser->settings, path, host.at, &err);
    if (ok)
        add_defaults(chooser, host.at);
    free(path);
    buf_free(&host);
    if (ok)
        choose(chooser);
    else
        transport_end(chooser->transport, &err);
}

static void choice_open(struct transport *transport) {
    struct chooser *chooser = mem_alloc(1, sizeof *chooser);
    chooser->transport = transport;
    transport->own = chooser;
    if (!start_client(chooser, &chooser->err)) {
        transport_end(transport, &chooser->err);
        return;
    }
    chooser->has_client = chooser->child != NULL;
    if (!chooser->child)
        chooser->later = loop_timer_start(transport->loop, 0, 0, read_by_ourselves, chooser);
}

static void choice_close(struct transport *transport) {
    struct chooser *chooser = transport->own;
    if (chooser->child) {
        loop_child_forget(chooser->child);
        loop_child_kill(chooser->child, 0);
    }
    loop_timer_stop(chooser->later);
    client_folder_remove(&chooser->folder);
    settings_free(&chooser->settings);
    buf_free(&chooser->dump);
    buf_free(&chooser->said);
    free(chooser);
}

/* Until a way is chosen, no questions are asked and nothing runs. */
static const struct transport_ops choice_ops = {.open = choice_open, .close = choice_close};

/* ------------------------------------------------------------------------------- the open call */

static bool is_word(const char *text) {
    if (*text == '-' || !*text)
        return false;
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 127 || *text == '"' || *text == '\'')
            return false;
    return true;
}

static bool check_word(const char *what, const char *text, struct err *err) {
    if (!text || is_word(text))
        return true;
    struct buf shown = {0};
    text_sanitise(&shown, str_of(text));
    err_set(err, ERR_USAGE,
            "\"%.80s\" cannot be the %s of a host: it is empty, begins with '-' or has "
            "blanks or quotes",
            shown.at ? shown.at : "", what);
    buf_free(&shown);
    return false;
}

static bool check_host(const struct transport_host *host, struct err *err) {
    static const char *const clients[] = {"auto", "libssh2", "ssh"};
    bool known = !host->client;
    for (size_t i = 0; i < COUNT_OF(clients); i++)
        known = known || !strcmp(host->client, clients[i]);
    if (!known)
        return err_set(err, ERR_USAGE, "client = %.40s: it can be auto, libssh2 or ssh",
                       host->client);
    if (host->port < 0 || host->port > 65535)
        return err_set(err, ERR_USAGE, "port %d: a port is a number from 1 to 65535", host->port);
    if (!check_word("name", host->name ? host->name : "", err) ||
        !check_word("address", host->host, err) || !check_word("user", host->user, err))
        return false;
    if (host->ssh_config && access(host->ssh_config, R_OK) != 0)
        return err_set(err, ERR_USAGE, "the ssh configuration %s cannot be read", host->ssh_config);
    return true;
}

static const struct transport_host *copy_host(struct arena *arena,
                                              const struct transport_host *host) {
    struct transport_host *copy = ARENA_NEW(arena, struct transport_host);
    *copy = *host;
    const char **texts[] = {&copy->name,       &copy->host,        &copy->user,  &copy->identity,
                            &copy->ssh_config, &copy->known_hosts, &copy->client};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (*texts[i])
            *texts[i] = arena_strdup(arena, *texts[i]);
    return copy;
}

struct transport *transport_open_ssh(struct loop *loop, const struct transport_host *host,
                                     const struct transport_callbacks *callbacks, struct err *err) {
    if (!check_host(host, err))
        return NULL;
    struct arena *arena = arena_new();
    const struct transport_host *asked = copy_host(arena, host);
    struct transport_route route = {
        .name = asked->name,
        .asked = asked,
        .port = host->port,
        .connect_limit_s = host->connect_limit_s > 0 ? host->connect_limit_s : CONNECT_LIMIT_S,
        .keepalive_s = host->keepalive_s > 0 ? host->keepalive_s : KEEPALIVE_S};
    struct transport_ways ways = {.ops = &choice_ops};
    return transport_new(loop, &ways, callbacks, arena, &route);
}
