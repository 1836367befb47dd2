/* SPDX-License-Identifier: Apache-2.0 */
/* A laboratory for tests that need machines: a temp folder that stands for the user's home (keys,
 * ssh_config, known_hosts), real OpenSSH servers on loopback, an ssh-agent, relays that play a bad
 * network. Whatever happens to the test, a keeper process ends all that was started here, also what
 * detached itself, and removes the folder. What cannot be set up ends the test with a message. */
#ifndef HONE_TESTS_HOSTS_LAB_H
#define HONE_TESTS_HOSTS_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lab;
/* Why there can be no lab here ("no sshd is installed"); NULL: there can. */
const char *lab_missing(void);
/* Sets HOME to the lab's and unsets SSH_AUTH_SOCK and the like, so that nothing in this process or
 * its children touches what is the user's. One at a time. */
struct lab *lab_new(void);
void lab_free(struct lab *lab);
const char *lab_folder(const struct lab *lab);      /* of everything; its path is short */
const char *lab_home(const struct lab *lab);        /* the user's: HOME */
const char *lab_ssh_config(const struct lab *lab);  /* ~/.ssh/config */
const char *lab_known_hosts(const struct lab *lab); /* ~/.ssh/known_hosts */
const char *lab_user(const struct lab *lab);        /* login name at every server */
/* Appends to ~/.ssh/config. */
void lab_add_config(struct lab *lab, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Path of a private key that every server accepts, made at its first use and named as the user's
 * usual files are: "ed25519", "ecdsa", "rsa"; "locked" is an ed25519 key under LAB_PASSPHRASE, and
 * "stranger" one that no server knows. */
#define LAB_PASSPHRASE "open sesame"
const char *lab_key(struct lab *lab, const char *kind);
/* Starts ssh-agent with that key ("" or NULL: none) and sets SSH_AUTH_SOCK. Returns the socket. */
const char *lab_start_agent(struct lab *lab, const char *kind);

/* Runs a program to its end; false when it failed, its output is in the lab's log then. */
bool lab_run(struct lab *lab, const char *const *argv);
/* Starts one that the lab ends; its output goes to the file `log` of the lab (NULL: "lab.log").
 * `netns_of` is a process whose network namespace it enters (0: none). */
pid_t lab_start(struct lab *lab, const char *const *argv, const char *log, pid_t netns_of);
/* Kills every process below `root` (0: below the lab) whose name begins with `name` (NULL: any),
 * root among them. */
void lab_kill_tree(struct lab *lab, pid_t root, const char *name);
char *lab_path(const struct lab *lab, const char *name); /* in the folder; the caller's */
/* Calls fn(data) in lab_free, once all processes are gone. */
void lab_at_end(struct lab *lab, void (*fn)(void *data), void *data);
/* A port of 127.0.0.1 that nobody listens on now. */
int lab_free_port(void);

/* ------------------------------------------------------------------------------------ sshd.c */

struct sshd_options {
    const char *config;    /* lines for its sshd_config that go before ours and so win; NULL */
    const char *host_keys; /* NULL: "ed25519 ecdsa"; also "rsa" */
    bool unknown;          /* its keys are not put into known_hosts */
    bool plain_home;       /* no home of its own: commands start in the login user's real one */
    int port;              /* 0: a free one */
    const char *listen;    /* NULL: 127.0.0.1 */
    pid_t netns_of;        /* as in lab_start */
};
/* A server; commands on it start in a home of its own, HOME is set to that, and so does sftp. The
 * name becomes an alias in ~/.ssh/config, with the ed25519 key. `options` may be NULL. */
struct sshd;
struct sshd *sshd_start(struct lab *lab, const char *name, const struct sshd_options *options);
int sshd_port(const struct sshd *sshd);
const char *sshd_home(const struct sshd *sshd);
/* All it has logged so far (LogLevel VERBOSE); free it with free. */
char *sshd_log(const struct sshd *sshd);
/* The server and its connections die at once; commands under way lose their connection and go on if
 * they can. */
void sshd_kill(struct sshd *sshd);
/* The server and everything below it dies, as if the machine was switched off. */
void sshd_power_off(struct sshd *sshd);
/* Starts it on the same port again, after one of the above. */
void sshd_restart(struct sshd *sshd);
/* New host keys, which known_hosts does not have; takes effect with a restart. */
void sshd_change_keys(struct sshd *sshd);

/* ----------------------------------------------------------------------------------- relay.c */

/* A TCP relay to a port of 127.0.0.1, to be had at another one. */
struct relay;
struct relay *relay_start(struct lab *lab, int to_port);
int relay_port(const struct relay *relay);
/* Like a thin line: bytes a second in each direction, all connections together; 0: no limit. */
void relay_throttle(struct relay *relay, uint32_t bytes_per_s);
/* Like a network that swallows packets: nothing passes, nothing is refused, until it passes
 * again. */
void relay_stall(struct relay *relay, bool stalled);
/* Connections are reset and new ones refused; until it is restored. Comes back when it is so. */
void relay_cut(struct relay *relay, bool cut);
uint64_t relay_bytes(const struct relay *relay);  /* passed in both directions so far */
int relay_connections(const struct relay *relay); /* open now */

/* The keeper lives in keeper.c: lab.c and relay.c alone talk to it. */
struct keeper;
enum { KEEPER_RELAYS = 64 };
struct keeper_relay { /* shared with the process that plays it */
    int port, to_port;
    _Atomic uint32_t bytes_per_s;
    _Atomic int stalled, cut, is_cut, connections;
    _Atomic uint64_t bytes;
};
struct keeper *keeper_start(const char *folder);
/* Ends everything below it and removes the folder. */
void keeper_end(struct keeper *keeper);
pid_t keeper_run(struct keeper *keeper, const char *const *argv, const char *log, pid_t netns_of);
/* Runs the relay with that number. */
pid_t keeper_relay(struct keeper *keeper, int number);
struct keeper_relay *keeper_relays(struct keeper *keeper);
pid_t keeper_pid(const struct keeper *keeper);
void relay_main(struct keeper_relay *relay) __attribute__((noreturn));
struct keeper *lab_keeper(struct lab *lab);
int lab_take_relay(struct lab *lab);

#endif
