/* SPDX-License-Identifier: Apache-2.0 */
/* Talks to slurm.py, which keeps the cluster and ends it when this process is gone. */
#include "hosts/slurm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct slurm {
    pid_t pid;
    FILE *to, *from;
    char conf[512];
};

static void say(struct slurm *slurm, char *line, int size) {
    if (!fgets(line, size, slurm->from))
        snprintf(line, (size_t)size, "failed slurm.py ended");
    line[strcspn(line, "\n")] = 0;
}

static void run_script(const char *folder, const int numbers[2], const int in[2],
                       const int out[2]) {
    char nodes[16], cpus[16];
    snprintf(nodes, sizeof nodes, "%d", numbers[0]);
    snprintf(cpus, sizeof cpus, "%d", numbers[1]);
    if (dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0)
        _exit(1);
    const int fds[4] = {in[0], in[1], out[0], out[1]};
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    execl("/usr/bin/python3", "python3", HONE_SOURCE_DIR "/tests/hosts/slurm.py", folder, nodes,
          cpus, (char *)NULL);
    _exit(1);
}

struct slurm *slurm_start(const char *folder, int nodes, int cpus, struct err *why) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        HONE_BUG("no pipes for the cluster");
    struct slurm *slurm = mem_alloc(1, sizeof *slurm);
    slurm->pid = fork();
    if (slurm->pid == 0)
        run_script(folder, (int[]){nodes, cpus}, in, out);
    close(in[0]);
    close(out[1]);
    slurm->to = fdopen(in[1], "w");
    slurm->from = fdopen(out[0], "r");
    char line[1024];
    say(slurm, line, sizeof line);
    if (sscanf(line, "ready %511[^\n]", slurm->conf) == 1) {
        setenv("SLURM_CONF", slurm->conf, 1);
        return slurm;
    }
    err_set(why, strncmp(line, "skip ", 5) == 0 ? ERR_ENVIRONMENT : ERR_USAGE, "%s", line);
    slurm_stop(slurm);
    return NULL;
}

void slurm_stop(struct slurm *slurm) {
    if (!slurm)
        return;
    fclose(slurm->to);
    fclose(slurm->from);
    waitpid(slurm->pid, NULL, 0);
    unsetenv("SLURM_CONF");
    free(slurm);
}

const char *slurm_conf(const struct slurm *slurm) {
    return slurm->conf;
}

static void command(struct slurm *slurm, const char *verb, const char *name, char *line, int size) {
    fprintf(slurm->to, "%s %s\n", verb, name);
    fflush(slurm->to);
    say(slurm, line, size);
    if (strncmp(line, "ok", 2) != 0) {
        fprintf(stderr, "the cluster cannot %s %s: %s\n", verb, name, line);
        exit(1);
    }
}

void slurm_kill(struct slurm *slurm, const char *name) {
    char line[1024];
    command(slurm, "kill", name, line, sizeof line);
}

void slurm_revive(struct slurm *slurm, const char *name) {
    char line[1024];
    command(slurm, "start", name, line, sizeof line);
}

int slurm_left(struct slurm *slurm, const char *word) {
    char line[1024];
    int count = -1;
    command(slurm, "left", word, line, sizeof line);
    return sscanf(line, "ok %d", &count) == 1 ? count : -1;
}
