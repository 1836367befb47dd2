/* SPDX-License-Identifier: Apache-2.0 */
/* Turns what ssh wrote before it gave up into a kind of error and sentences with what to do. The
 * first row of the table whose words occur decides. */
#include "transport/client/own.h"

#include <stdio.h>
#include <stdlib.h>

#define SHOWN 200

struct failure {
    const char *words;
    enum err_kind kind;
    const char *advice; /* follows the line of ssh that has the words */
};
static const struct failure failures[] = {
    {"REMOTE HOST IDENTIFICATION HAS CHANGED", ERR_USAGE,
     "its host key is not the one in known_hosts: either the machine was reinstalled or somebody "
     "intercepts the connection. If the change is right, remove the old key (ssh-keygen -R) and "
     "connect again"},
    {"Host key verification failed", ERR_USAGE,
     "its host key is not in known_hosts and was not confirmed"},
    {"Bad owner or permissions on", ERR_USAGE,
     "ssh refuses a file that others may change: chmod 600"},
    {"Bad configuration option", ERR_USAGE, "correct the ssh configuration"},
    {"Too many authentication failures", ERR_USAGE,
     "the agent offers too many keys: name the right one (identity) and set IdentitiesOnly yes"},
    {"Permission denied (", ERR_USAGE,
     "no key or password was accepted: check the user name, and that the public key is in "
     "~/.ssh/authorized_keys there"},
    {"Temporary failure in name resolution", ERR_ENVIRONMENT,
     "the name server does not answer: is there a network?"},
    {"Could not resolve hostname", ERR_USAGE, "no name server knows this name: check its spelling"},
    {"nodename nor servname provided", ERR_USAGE,
     "no name server knows this name: check its spelling"},
    {"no matching key exchange method found", ERR_USAGE,
     "the two sides have no algorithm in common: one of them is too old or too strict"},
    {"no matching host key type found", ERR_USAGE,
     "the two sides have no kind of host key in common: one of them is too old or too strict"},
    {"no matching cipher found", ERR_USAGE,
     "the two sides have no cipher in common: one of them is too old or too strict"},
    {"no matching MAC found", ERR_USAGE,
     "the two sides have no MAC in common: one of them is too old or too strict"},
    {"Connection refused", ERR_ENVIRONMENT,
     "the machine is there, but no SSH server listens at that port"},
    {"No route to host", ERR_ENVIRONMENT, "check the network, a VPN, and that it is switched on"},
    {"Network is unreachable", ERR_ENVIRONMENT, "check the network and a VPN"},
    {"timed out", ERR_ENVIRONMENT,
     "it does not answer: is it switched on, and does a firewall or security group let you in?"},
    {"not responding", ERR_ENVIRONMENT, "the connection went dead"},
    {"open failed: administratively prohibited", ERR_USAGE,
     "the jump host does not pass connections on (AllowTcpForwarding)"},
    {"stdio forwarding failed", ERR_ENVIRONMENT, "the jump host cannot reach it"},
    {"Connection closed by", ERR_ENVIRONMENT, "the server closed the connection"},
    {"Connection reset by", ERR_ENVIRONMENT, "the server closed the connection"},
    {"Broken pipe", ERR_ENVIRONMENT, "the connection was cut"},
    {"closed by remote host", ERR_ENVIRONMENT, "the server closed the connection"},
};

/* The line with the words, or an empty one. */
static struct str find_line(struct str said, const char *words) {
    struct str line;
    while (str_next(&said, '\n', &line))
        if (memmem(line.at, line.len, words, strlen(words)))
            return str_trim(line);
    return (struct str){"", 0};
}

static struct str last_line(struct str said) {
    struct str line, last = {"", 0};
    while (str_next(&said, '\n', &line)) {
        line = str_trim(line);
        if (line.len && !str_starts(line, "Transferred:") &&
            !str_starts(line, "Bytes per second:") && !str_starts(line, "Authenticated to"))
            last = line;
    }
    return last;
}

static void put_line(struct buf *out, struct str line) {
    line = str_trim(line);
    while (line.len && strchr("@ .", *line.at)) { /* frames of warnings, full stops */
        line.at++;
        line.len--;
    }
    while (line.len && strchr("@ .", line.at[line.len - 1]))
        line.len--;
    text_sanitise(out, (struct str){line.at, MIN_OF(line.len, (size_t)SHOWN)});
}

/* ssh writes this when the program that it connects through ended. It had reached no machine
 * itself. */
static bool failed_on_the_way(struct str said) {
    return find_line(said, "UNKNOWN port 65535").len ||
           find_line(said, "stdio forwarding failed").len;
}

void client_explain(const struct transport_route *route, struct str said, bool connected,
                    struct err *err) {
    struct buf what = {0};
    const struct failure *failure = NULL;
    for (size_t i = 0; !failure && i < COUNT_OF(failures); i++)
        if (memmem(said.at, said.len, failures[i].words, strlen(failures[i].words)))
            failure = &failures[i];
    put_line(&what, failure ? find_line(said, failure->words) : last_line(said));
    const char *ssh = what.len ? what.at : "it gave no reason";
    const char *through = failed_on_the_way(said) ? " through its jump host or ProxyCommand" : "";
    if (connected)
        err_set(err, ERR_ENVIRONMENT, "the connection to %s was lost: %s", route->name, ssh);
    else if (failure)
        err_set(err, failure->kind, "cannot reach %s%s: %s (ssh: %s)", route->name, through,
                failure->advice, ssh);
    else
        err_set(err, ERR_ENVIRONMENT, "cannot reach %s%s (ssh: %s)", route->name, through, ssh);
    buf_free(&what);
}
