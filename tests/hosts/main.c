/* SPDX-License-Identifier: Apache-2.0 */
/* hosts_lab NAME...: a lab for scripts and for hands. Starts an SSH server for each name, prints
 * HOME=..., SSH_CONFIG=... and NAME=PORT lines and "ready", and ends all when its stdin does. */
#include <stdio.h>
#include <unistd.h>

#include "hosts/lab.h"

int main(int argc, char **argv) {
    struct lab *lab = lab_new();
    printf("HOME=%s\nSSH_CONFIG=%s\nUSER=%s\n", lab_home(lab), lab_ssh_config(lab), lab_user(lab));
    for (int i = 1; i < argc; i++)
        printf("%s=%d\n", argv[i], sshd_port(sshd_start(lab, argv[i], NULL)));
    printf("ready\n");
    fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    lab_free(lab);
    return 0;
}
