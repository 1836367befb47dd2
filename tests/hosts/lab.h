/* SPDX-License-Identifier: Apache-2.0 */
/* A laboratory for tests that need machines: a temporary folder that stands for the user's home
 * (keys, ssh_config, known_hosts), real OpenSSH servers on loopback, an ssh-agent, and relays that
 * play a bad network. Whatever happens to the test, a keeper process ends all that was started
 * here, even what detached itself, and removes the folder. What cannot be set up ends the test with
 * a message. */
#ifndef HONE_TESTS_HOSTS_LAB_H
#define HONE_TESTS_HOSTS_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lab;
/* Why there can be no lab here ("no sshd is installed"). NULL: there can be one. */
const char *lab_missing(void);
/* Makes a lab, one at a time. Sets HOME to the lab's and unsets SSH_AUTH_SOCK and the like, so that
 * neither this process nor its children touch the user's files. */
struct lab *lab_new(void);
void lab_free(struct lab *lab);
const char *lab_folder(const struct lab *lab);      /* of everything; short */
const char *lab_home(const struct lab *lab);        /* the user's home: HOME */
const char *lab_ssh_config(const struct lab *lab);  /* ~/.ssh/config */
const char *lab_known_hosts(const struct lab *lab); /* ~/.ssh/known_hosts */
const char *lab_user(const struct lab *lab);        /* login name at every server */
/* Appends to ~/.ssh/config. */
void lab_add_config(struct lab *lab, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The path of a private key that every server accepts. It is made at its first use and has the name
 * that a user's file has: "ed25519", "ecdsa", "rsa". "locked" is an ed25519 key under
 * LAB_PASSPHRASE, and "stranger" one that no server knows. */
#define LAB_PASSPHRASE "open sesame"
const char *lab_key(struct lab *lab, const char *kind);
/* Starts ssh-agent with that key ("" or NULL: none) and sets SSH_AUTH_SOCK. Returns the socket. */
const char *lab_start_agent(struct lab *lab, const char *kind);

/* Runs a program to its end. False when it failed; its output is then in the lab's log. */
bool lab_run(struct lab *lab, const char *const *argv);
/* Starts a program that the lab ends. Its output goes to the file `log` of the lab (NULL:
 * "lab.log"). `netns_of` is a process whose network namespace it enters (0: none). */
pid_t lab_start(struct lab *lab, const char *const *argv, const char *log, pid_t netns_of);
/* Kills every process below `root` (0: below the lab) whose name begins with `name` (NULL: any),
 * root among them. */
void lab_kill_tree(struct lab *lab, pid_t root, const char *name);
char *lab_path(const struct lab *lab, const char *name); /* a path in the folder; free it */
/* Calls fn(data) in lab_free, when all processes are gone. */
void lab_at_end(struct lab *lab, void (*fn)(void *data), void *data);
/* A port of 127.0.0.1 on which nobody listens now. */
int lab_free_port(void);

/* ------------------------------------------------------------------------------------ sshd.c */

struct sshd_options {
    const char *config;    /* lines of its sshd_config that come before ours, and so win; NULL */
    const char *host_keys; /* NULL: "ed25519 ecdsa"; also "rsa" */
    bool unknown;          /* its keys are not put into known_hosts */
    bool plain_home;       /* no home of its own: commands start in the user's real one */
    int port;              /* 0: a free one */
    const char *listen;    /* NULL: 127.0.0.1 */
    pid_t netns_of;        /* as in lab_start */
};
/* A server. Commands on it start in a home of its own, to which HOME is set, and so does sftp. Its
 * name becomes an alias in ~/.ssh/config, with the ed25519 key. `options` may be NULL. */
struct sshd;
struct sshd *sshd_start(struct lab *lab, const char *name, const struct sshd_options *options);
int sshd_port(const struct sshd *sshd);
const char *sshd_home(const struct sshd *sshd);
/* All it has logged so far (LogLevel VERBOSE); free it with free. */
char *sshd_log(const struct sshd *sshd);
/* The server and its connections die at once. Commands under way lose their connection, and go on
 * if they can. */
void sshd_kill(struct sshd *sshd);
/* The server and everything below it die, as if the machine was switched off. */
void sshd_power_off(struct sshd *sshd);
/* Starts it on the same port again, after one of the above. */
void sshd_restart(struct sshd *sshd);
/* Makes new host keys, which known_hosts does not have. They take effect with a restart. */
void sshd_change_keys(struct sshd *sshd);

/* ----------------------------------------------------------------------------------- relay.c */

/* A TCP relay from one port to another port of 127.0.0.1. */
struct relay;
struct relay *relay_start(struct lab *lab, int to_port);
int relay_port(const struct relay *relay);
/* Like a slow line: this many bytes a second in each direction, for all connections together. 0: no
 * limit. */
void relay_throttle(struct relay *relay, uint32_t bytes_per_s);
/* Like a network that swallows packets: until it is lifted nothing passes, and nothing is
 * refused. */
void relay_stall(struct relay *relay, bool stalled);
/* Resets connections and refuses new ones, until it is lifted. Returns when that is so. */
void relay_cut(struct relay *relay, bool cut);
uint64_t relay_bytes(const struct relay *relay);  /* how many passed so far, in both directions */
int relay_connections(const struct relay *relay); /* open now */

/* The keeper is in keeper.c. Only lab.c and relay.c talk to it. */
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
