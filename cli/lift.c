/* SPDX-License-Identifier: Apache-2.0 */
/* hone lift: what a kernel computes, found from its program. */
#include <math.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/kit/kit.h"

#define TOLERANCE 2e-5 /* relative L2, where a reference names none */

static double tolerance_of(const struct runner_lift *lift) {
    return lift->tolerance > 0 ? lift->tolerance : TOLERANCE;
}

static bool is_right(const struct runner_lift *lift) {
    return !lift->compared || !lift->elements || lift->error <= tolerance_of(lift);
}

static void print_comparison(const struct runner_lift *lift) {
    if (!lift->whole)
        printf("not all of it could be said\n");
    else if (lift->unchecked.kind != ERR_NONE)
        cli_say(stdout, "not compared with the kernel: %s\n", lift->unchecked.text);
    else if (!lift->compared)
        printf("not compared with the kernel\n");
    else if (lift->elements == 0)
        printf("not compared with the kernel: an element takes too long, or none is finite\n");
    else
        cli_say(stdout, "%s the kernel's own results: relative L2 %.3g over %zu elements\n",
                is_right(lift) ? "agrees with" : "DIFFERS from", lift->error, lift->elements);
}

static int print(const struct cli *cli, const struct runner_lift *lift) {
    if (cli_has(cli, "json")) {
        fputs(lift->graph.at ? lift->graph.at : "", stdout);
    } else {
        fputs(lift->words.at ? lift->words.at : "", stdout);
        print_comparison(lift);
    }
    if (lift->compared && lift->elements && !is_right(lift))
        fprintf(stderr, "hone lift: what was lifted is not what the kernel computes; please report "
                        "it\n");
    return lift->whole && is_right(lift) ? CLI_OK : CLI_KERNEL_FAILED;
}

int cli_lift(const struct cli *cli) {
    struct cli_job job = {0};
    struct runner_lift lift = {0};
    struct err err = {0};
    int status = cli_job_open(cli, &job);
    if (status == CLI_OK) {
        cli_job_prepare(&job.job, false, &err);
        bool ok =
            err.kind == ERR_NONE && runner_lift(&job.job, !cli_has(cli, "no-verify"), &lift, &err);
        status = ok ? print(cli, &lift) : cli_fail(cli, &err);
        runner_lift_free(&lift);
    }
    cli_job_close(&job);
    return status;
}
