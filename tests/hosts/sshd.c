/* SPDX-License-Identifier: Apache-2.0 */
/* A real OpenSSH server as an ordinary process: its configuration, host keys, and a home for what
 * runs on it; starting it, killing it, and starting it again. */
#include "hosts/lab.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

struct sshd {
    struct lab *lab;
    char *folder, *home, *log, *config;
    char name[64], listen[64];
    char host_keys[64];
    int port;
    pid_t pid, netns_of;
    bool fixed_port;
};

static void put_file(const char *folder, const char *name, const struct buf *text, mode_t mode) {
    char *path = path_join(folder, name);
    if (!file_write(path, text->at, text->len, NULL) || chmod(path, mode) != 0)
        HONE_BUG("cannot write a file of a server");
    free(path);
}

static const char *find_sftp_server(void) {
    static const char *const places[] = {"/usr/lib/openssh/sftp-server", "/usr/lib/ssh/sftp-server",
                                         "/usr/libexec/openssh/sftp-server",
                                         "/usr/libexec/sftp-server"};
    for (size_t i = 0; i < COUNT_OF(places); i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    HONE_BUG("no sftp-server is installed");
}

/* Every command and sftp go through this script, which gives them the server's own home. */
static void write_entry(const struct sshd *sshd) {
    struct buf text = {0};
    buf_printf(&text,
               "#!/bin/sh\n"
               "export HOME=%s\n"
               "cd \"$HOME\" || exit 1\n"
               "case $SSH_ORIGINAL_COMMAND in\n"
               "*/sftp-server) exec $SSH_ORIGINAL_COMMAND ;;\n"
               "'') exec \"${SHELL:-/bin/sh}\" -l ;;\n"
               "*) exec \"${SHELL:-/bin/sh}\" -c \"$SSH_ORIGINAL_COMMAND\" ;;\n"
               "esac\n",
               sshd->home);
    put_file(sshd->folder, "enter", &text, 0700);
    buf_free(&text);
}

/* SHLVL keeps bash from reading the login user's .bashrc. Of several lines with SetEnv sshd takes
 * the first one alone. */
static void write_environment(const struct sshd_options *options, struct buf *text) {
    static const char command[] = "SetEnv ";
    const char *config = options->config ? options->config : "";
    const char *there = strstr(config, command);
    const char *behind = there ? there + strlen(command) : config;
    buf_add(text, config, (size_t)(there ? there - config : 0));
    buf_printf(text, "%sSHLVL=2%s%s\n", command, there ? " " : "\n", behind);
}

static void write_config(const struct sshd *sshd, const struct sshd_options *options) {
    struct buf text = {0};
    struct str rest = str_of(sshd->host_keys), kind;
    write_environment(options, &text);
    buf_printf(&text, "ListenAddress %s\nPidFile none\n", sshd->listen);
    while (str_next(&rest, ' ', &kind))
        buf_printf(&text, "HostKey %s/host_" STR_FMT "\n", sshd->folder, STR_ARG(kind));
    buf_printf(&text,
               "AuthorizedKeysFile %s/authorized_keys\n"
               "StrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n"
               "LogLevel VERBOSE\nPrintMotd no\nUseDNS no\nMaxStartups 200\n"
               "Subsystem sftp %s\n",
               lab_folder(sshd->lab), find_sftp_server());
    if (!options->plain_home)
        buf_printf(&text, "ForceCommand %s/enter\n", sshd->folder);
    put_file(sshd->folder, "sshd_config", &text, 0600);
    buf_free(&text);
}

static void make_host_keys(const struct sshd *sshd) {
    struct str rest = str_of(sshd->host_keys), kind;
    while (str_next(&rest, ' ', &kind)) {
        struct buf path = {0}, type = {0};
        buf_printf(&path, "%s/host_" STR_FMT, sshd->folder, STR_ARG(kind));
        buf_printf(&type, STR_FMT, STR_ARG(kind));
        const char *argv[] = {"ssh-keygen", "-q",    "-t",
                              type.at,      "-N",    "",
                              "-f",         path.at, str_is(kind, "rsa") ? "-b2048" : NULL,
                              NULL};
        unlink(path.at);
        if (!lab_run(sshd->lab, argv))
            HONE_BUG("ssh-keygen failed");
        buf_free(&path);
        buf_free(&type);
    }
}

static void make_known(const struct sshd *sshd) {
    struct str rest = str_of(sshd->host_keys), kind;
    while (str_next(&rest, ' ', &kind)) {
        struct buf path = {0}, line = {0};
        buf_printf(&path, "%s/host_" STR_FMT ".pub", sshd->folder, STR_ARG(kind));
        char *key = file_read(path.at, 0, NULL, NULL);
        if (!key)
            HONE_BUG("a host key is gone");
        buf_printf(&line, "[%s]:%d %s", sshd->listen, sshd->port, key);
        if (!file_append(lab_known_hosts(sshd->lab), line.at, line.len, NULL))
            HONE_BUG("cannot write the lab's known_hosts");
        free(key);
        buf_free(&path);
        buf_free(&line);
    }
}

/* ------------------------------------------------------------------------------------- running */

static bool alive(pid_t pid) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    bool there = file && fgets(line, sizeof line, file) && !strstr(line, ") Z ");
    if (file)
        fclose(file);
    return there;
}

/* Its log has one line more when it listens. */
static bool listens(const struct sshd *sshd, size_t from) {
    size_t size;
    char *log = file_read(sshd->log, 0, &size, NULL);
    bool yes = log && size > from && strstr(log + from, "Server listening on");
    free(log);
    return yes;
}

/* Newer servers shut out an address that fails to log in too often. Older ones do not know the
 * option and would not start with it. */
static const char *lenient_option(const struct sshd *sshd) {
    static const char option[] = "-oPerSourcePenalties=no";
    const char *argv[] = {"/usr/sbin/sshd", "-t", option, "-f", sshd->config, NULL};
    return lab_run(sshd->lab, argv) ? option : NULL;
}

static bool launch(struct sshd *sshd) {
    struct buf port = {0};
    struct stat st;
    size_t before = stat(sshd->log, &st) == 0 ? (size_t)st.st_size : 0;
    buf_printf(&port, "%d", sshd->port);
    const char *argv[] = {"/usr/sbin/sshd",     "-D", "-e", "-p", port.at, "-f", sshd->config,
                          lenient_option(sshd), NULL};
    const char *log = sshd->log + strlen(lab_folder(sshd->lab)) + 1;
    sshd->pid = lab_start(sshd->lab, argv, log, sshd->netns_of);
    buf_free(&port);
    for (int i = 0; i < 4000; i++) {
        if (listens(sshd, before))
            return true;
        if (!alive(sshd->pid))
            return false;
        usleep(3000);
    }
    return false;
}

static void launch_or_end(struct sshd *sshd) {
    for (int i = 0; i < 10; i++) {
        if (launch(sshd))
            return;
        if (sshd->fixed_port)
            usleep(100000); /* the one before it may still have the port */
        else
            sshd->port = lab_free_port();
    }
    char *log = sshd_log(sshd);
    fprintf(stderr, "%s", log);
    free(log);
    HONE_BUG("the SSH server does not start");
}

static void free_sshd(void *data) {
    struct sshd *sshd = data;
    free(sshd->folder);
    free(sshd->home);
    free(sshd->log);
    free(sshd->config);
    free(sshd);
}

struct sshd *sshd_start(struct lab *lab, const char *name, const struct sshd_options *options) {
    static const struct sshd_options none = {0};
    if (!options)
        options = &none;
    if (getuid() == 0)
        mkdir("/run/sshd", 0755); /* an sshd of root needs this empty folder */
    struct sshd *sshd = mem_alloc(1, sizeof *sshd);
    lab_at_end(lab, free_sshd, sshd);
    sshd->lab = lab;
    sshd->netns_of = options->netns_of;
    snprintf(sshd->name, sizeof sshd->name, "%s", name);
    snprintf(sshd->listen, sizeof sshd->listen, "%s",
             options->listen ? options->listen : "127.0.0.1");
    snprintf(sshd->host_keys, sizeof sshd->host_keys, "%s",
             options->host_keys ? options->host_keys : "ed25519 ecdsa");
    sshd->folder = lab_path(lab, name);
    sshd->home = options->plain_home ? NULL : path_join(sshd->folder, "home");
    sshd->log = path_join(sshd->folder, "log");
    sshd->config = path_join(sshd->folder, "sshd_config");
    if (mkdir(sshd->folder, 0700) != 0 || (sshd->home && mkdir(sshd->home, 0700) != 0))
        HONE_BUG("cannot make the folder of a server");
    make_host_keys(sshd);
    if (sshd->home)
        write_entry(sshd);
    write_config(sshd, options);
    sshd->fixed_port = options->port != 0;
    sshd->port = options->port ? options->port : lab_free_port();
    launch_or_end(sshd);
    sshd->fixed_port = true;
    if (!options->unknown)
        make_known(sshd);
    lab_add_config(lab, "Host %s\n  HostName %s\n  Port %d\n  User %s\n  IdentityFile %s\n", name,
                   sshd->listen, sshd->port, lab_user(lab), lab_key(lab, "ed25519"));
    return sshd;
}

int sshd_port(const struct sshd *sshd) {
    return sshd->port;
}

const char *sshd_home(const struct sshd *sshd) {
    return sshd->home;
}

char *sshd_log(const struct sshd *sshd) {
    char *log = file_read(sshd->log, 0, NULL, NULL);
    return log ? log : mem_strdup("");
}

static void end(struct sshd *sshd, const char *which) {
    kill(sshd->pid, SIGSTOP); /* so that no connection slips through */
    lab_kill_tree(sshd->lab, sshd->pid, which);
    for (int i = 0; i < 2000 && alive(sshd->pid); i++)
        usleep(2000);
}

void sshd_kill(struct sshd *sshd) {
    end(sshd, "sshd");
}

void sshd_power_off(struct sshd *sshd) {
    end(sshd, NULL);
}

void sshd_restart(struct sshd *sshd) {
    launch_or_end(sshd);
}

void sshd_change_keys(struct sshd *sshd) {
    make_host_keys(sshd);
}
