/* SPDX-License-Identifier: Apache-2.0 */
/* Login with what a person answers: the server's own questions (keyboard-interactive), or a
 * password. Answers are wiped when they were sent. */
#include "transport/ssh/ssh_auth.h"

#include <stdio.h>
#include <stdlib.h>

static void ask_password(struct ssh_link *link);

static void talked(struct ssh_link *link) {
    struct ssh_auth *auth = link->auth;
    int status = ssh_talk_result(link->talk);
    bool declined = ssh_talk_declined(link->talk);
    ssh_talk_free(link->talk);
    link->talk = NULL;
    if (status == 0) {
        ssh_auth_done(link, "asked the user");
        return;
    }
    if (declined)
        ssh_link_end(link, ERR_CANCELLED, "%s asked for a password and got no answer",
                     link->route.name);
    else if (status == LIBSSH2_ERROR_AUTHENTICATION_FAILED && ++auth->tries < SSH_AUTH_TRIES)
        (void)!ssh_talk_start(link, talked);
    else if (status != LIBSSH2_ERROR_AUTHENTICATION_FAILED)
        ssh_link_end(link, ERR_ENVIRONMENT, "%s ended the connection during login: %s",
                     link->route.name, ssh_link_last_error(link));
    else
        ssh_auth_fail(link);
    ssh_link_wake(link);
}

static void send_password(struct ssh_link *link) {
    struct ssh_auth *auth = link->auth;
    const char *user = link->route.user;
    int status = libssh2_userauth_password_ex(link->session, user, (unsigned)strlen(user),
                                              auth->secret, (unsigned)strlen(auth->secret), NULL);
    if (status == LIBSSH2_ERROR_EAGAIN || (status && link->hung_up))
        return;
    link->stage = NULL;
    ssh_auth_set_secret(auth, NULL);
    if (status == 0)
        ssh_auth_done(link, "password");
    else if (status == LIBSSH2_ERROR_PASSWORD_EXPIRED)
        ssh_link_end(link, ERR_USAGE,
                     "the password of %s@%s has expired: log in with ssh and change it",
                     link->route.user, link->route.name);
    else if (++auth->tries < SSH_AUTH_TRIES)
        ask_password(link);
    else
        ssh_auth_fail(link);
}

static void on_password(struct ssh_link *link) {
    if (!link->answer) {
        ssh_link_end(link, ERR_CANCELLED, "the password of %s@%s was not given", link->route.user,
                     link->route.name);
        return;
    }
    ssh_auth_set_secret(link->auth, link->answer);
    link->stage = send_password;
}

static void ask_password(struct ssh_link *link) {
    struct transport_question question = {.ask = TRANSPORT_ASK_PASSWORD, .secret = true};
    snprintf(question.text, sizeof question.text,
             "%sPassword of %s@%s:", link->auth->tries ? "That was not the password. " : "",
             link->route.user, link->route.name);
    ssh_link_ask(link, &question, on_password);
}

void ssh_auth_ask(struct ssh_link *link) {
    const struct ssh_auth *auth = link->auth;
    bool asks = link->transport->callbacks.on_question != NULL;
    /* A key that the system's ssh could use is better than a password. */
    if (auth->obstacle.len && link->transport->fallback)
        ssh_auth_fail(link);
    else if (auth->takes_talk && asks)
        (void)!ssh_talk_start(link, talked);
    else if (auth->takes_password && asks)
        ask_password(link);
    else
        ssh_auth_fail(link);
}
