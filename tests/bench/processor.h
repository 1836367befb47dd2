/* SPDX-License-Identifier: Apache-2.0 */
/* What a process used, for benchmarks. */
#ifndef HONE_TESTS_BENCH_PROCESSOR_H
#define HONE_TESTS_BENCH_PROCESSOR_H

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Processor time of a process, in seconds; NAN when it is gone. */
static double processor_s_of(pid_t pid) {
    char path[64], text[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = 0;
    const char *after = strrchr(text, ')');
    if (!after || sscanf(after + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                         &system) != 2)
        return NAN;
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

#endif
