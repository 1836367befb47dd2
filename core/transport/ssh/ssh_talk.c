/* SPDX-License-Identifier: Apache-2.0 */
/* Keyboard-interactive login. libssh2 wants the answers from within its callback, and a person
 * takes minutes. So this one call runs on a thread of its own, with the session lent to it. The
 * workers are few and must not wait for people. Questions go to the loop through a pipe. */
#include "transport/ssh/ssh_link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_PROMPTS 16

struct ssh_talk {
    struct ssh_link *link;
    ssh_link_fn *worked;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t answered;
    int signal[2]; /* 'q': a question is there; 'd': done */
    struct loop_watch *watch;
    struct transport_question question;
    char *answer;
    bool has_answer, declined, closing;
    int result;
};

/* ----------------------------------------------------------------------------- on the thread */

ssize_t ssh_talk_receive(struct ssh_link *link, void *buffer, size_t size) {
    ssize_t n = recv(link->fd, buffer, size, 0);
    return n < 0 ? -errno : n;
}

ssize_t ssh_talk_send(struct ssh_link *link, const void *buffer, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = send(link->fd, (const char *)buffer + done, size - done, MSG_NOSIGNAL);
        struct pollfd wait = {.fd = link->fd, .events = POLLOUT};
        if (n > 0)
            done += (size_t)n;
        else if (errno == EAGAIN)
            (void)!poll(&wait, 1, -1);
        else if (errno != EINTR)
            return -errno;
    }
    return (ssize_t)size;
}

static void signal_loop(struct ssh_talk *talk, char what) {
    (void)!write(talk->signal[1], &what, 1);
}

/* Waits for the person. The caller wipes the answer. NULL: declined. */
static char *ask(struct ssh_talk *talk, struct str prompt, bool echo) {
    struct buf text = {0};
    text_sanitise(&text, (struct str){prompt.at, MIN_OF(prompt.len, (size_t)300)});
    pthread_mutex_lock(&talk->mutex);
    talk->question = (struct transport_question){.ask = TRANSPORT_ASK_PASSWORD, .secret = !echo};
    snprintf(talk->question.text, sizeof talk->question.text, "%s@%s asks: %s",
             talk->link->route.user, talk->link->route.name, text.len ? text.at : "");
    talk->has_answer = false;
    signal_loop(talk, 'q');
    while (!talk->has_answer && !talk->closing)
        pthread_cond_wait(&talk->answered, &talk->mutex);
    char *answer = talk->answer;
    talk->answer = NULL;
    pthread_mutex_unlock(&talk->mutex);
    buf_free(&text);
    return answer;
}

static LIBSSH2_USERAUTH_KBDINT_RESPONSE_FUNC(respond) {
    struct ssh_link *link = *abstract;
    struct ssh_talk *talk = link->talk;
    (void)name, (void)name_len, (void)instruction, (void)instruction_len;
    for (int i = 0; i < num_prompts; i++) {
        bool stop = talk->declined || talk->closing || i >= MOST_PROMPTS;
        char *answer =
            stop ? NULL
                 : ask(talk, (struct str){(const char *)prompts[i].text, prompts[i].length},
                       prompts[i].echo);
        talk->declined |= !answer;
        size_t size = answer ? strlen(answer) : 0;
        void *copy = ssh_link_allocate(link, size + 1);
        memcpy(copy, answer ? answer : "", size + 1);
        responses[i].text = copy;
        responses[i].length = (unsigned)size;
        if (answer)
            explicit_bzero(answer, size);
        free(answer);
    }
}

static void *talk_to_server(void *data) {
    struct ssh_talk *talk = data;
    struct ssh_link *link = talk->link;
    libssh2_session_set_blocking(link->session, 1);
    talk->result = libssh2_userauth_keyboard_interactive_ex(
        link->session, link->route.user, (unsigned)strlen(link->route.user), respond);
    libssh2_session_set_blocking(link->session, 0);
    signal_loop(talk, 'd');
    return NULL;
}

/* ------------------------------------------------------------------------------- on the loop */

static void on_answer(struct ssh_link *link) {
    struct ssh_talk *talk = link->talk;
    pthread_mutex_lock(&talk->mutex);
    talk->answer = mem_strdup(link->answer);
    talk->has_answer = true;
    pthread_cond_signal(&talk->answered);
    pthread_mutex_unlock(&talk->mutex);
}

static void on_signal(void *data, int events) {
    struct ssh_talk *talk = data;
    char what;
    (void)events;
    if (read(talk->signal[0], &what, 1) != 1)
        return;
    if (what == 'q') {
        pthread_mutex_lock(&talk->mutex);
        struct transport_question question = talk->question;
        pthread_mutex_unlock(&talk->mutex);
        ssh_link_ask(talk->link, &question, on_answer);
    } else {
        talk->worked(talk->link);
    }
}

struct ssh_talk *ssh_talk_start(struct ssh_link *link, ssh_link_fn *worked) {
    struct ssh_talk *talk = mem_alloc(1, sizeof *talk);
    talk->link = link;
    talk->worked = worked;
    link->talk = talk;
    pthread_mutex_init(&talk->mutex, NULL);
    pthread_cond_init(&talk->answered, NULL);
    ssh_link_lend(link);
    if (pipe(talk->signal) != 0)
        HONE_BUG("no pipe");
    for (int i = 0; i < 2; i++)
        fcntl(talk->signal[i], F_SETFD, FD_CLOEXEC);
    talk->watch = loop_watch_start(link->loop, talk->signal[0], LOOP_READABLE, on_signal, talk);
    if (pthread_create(&talk->thread, NULL, talk_to_server, talk) != 0)
        HONE_BUG("no thread");
    return talk;
}

int ssh_talk_result(const struct ssh_talk *talk) {
    return talk->result;
}

bool ssh_talk_declined(const struct ssh_talk *talk) {
    return talk->declined;
}

void ssh_talk_free(struct ssh_talk *talk) {
    if (!talk)
        return;
    pthread_mutex_lock(&talk->mutex);
    talk->closing = true;
    pthread_cond_signal(&talk->answered);
    pthread_mutex_unlock(&talk->mutex);
    if (talk->link->over) /* it may wait for the server */
        shutdown(talk->link->fd, SHUT_RDWR);
    pthread_join(talk->thread, NULL);
    loop_watch_stop(talk->watch);
    close(talk->signal[0]);
    close(talk->signal[1]);
    pthread_mutex_destroy(&talk->mutex);
    pthread_cond_destroy(&talk->answered);
    if (talk->answer)
        explicit_bzero(talk->answer, strlen(talk->answer));
    free(talk->answer);
    free(talk);
}
