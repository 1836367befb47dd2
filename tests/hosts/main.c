/* SPDX-License-Identifier: Apache-2.0 */
/* hosts_lab NAME[=CONFIG]...: a lab for scripts and for trying things by hand. Starts an SSH server
 * for each name, with that line in its sshd_config ("box=SetEnv A=b"). Prints HOME=...,
 * SSH_CONFIG=... and NAME=PORT lines and "ready". Ends all when its stdin ends. Exit status 77:
 * there can be no lab here. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hosts/lab.h"

static int start(struct lab *lab, char *name) {
    char *config = strchr(name, '=');
    if (config)
        *config++ = 0;
    struct sshd_options options = {.config = config};
    return sshd_port(sshd_start(lab, name, &options));
}

int main(int argc, char **argv) {
    const char *missing = lab_missing();
    if (missing) {
        fprintf(stderr, "hosts_lab: %s\n", missing);
        return 77;
    }
    struct lab *lab = lab_new();
    printf("HOME=%s\nSSH_CONFIG=%s\nUSER=%s\n", lab_home(lab), lab_ssh_config(lab), lab_user(lab));
    for (int i = 1; i < argc; i++) {
        int port = start(lab, argv[i]);
        printf("%s=%d\n", argv[i], port);
    }
    printf("ready\n");
    fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    lab_free(lab);
    return 0;
}
