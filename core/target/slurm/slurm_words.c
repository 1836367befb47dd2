/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's states and reasons, and what they mean for the person whose evaluation waits or failed.
 * Names and meanings come from Slurm's manual: squeue, "JOB STATE CODES" and "JOB REASON CODES". No
 * cluster is asked here. */
#include "target/slurm/slurm.h"

#include <stdlib.h>

static const struct slurm_state states[] = {
    {"PENDING", SLURM_WAITS, "waits"},
    {"CONFIGURING", SLURM_WAITS, "waits until its node is started"},
    {"REQUEUED", SLURM_WAITS, "was put back into the queue"},
    {"REQUEUE_FED", SLURM_WAITS, "was put back into the queue"},
    {"REQUEUE_HOLD", SLURM_WAITS, "was put back into the queue and is held there"},
    {"RESV_DEL_HOLD", SLURM_WAITS, "is held because its reservation was deleted"},
    {"SPECIAL_EXIT", SLURM_WAITS, "was put back into the queue by a prolog or epilog and is held"},
    {"POWER_UP_NODE", SLURM_WAITS, "waits until its node is started"},
    {"RUNNING", SLURM_RUNS, "runs"},
    {"SUSPENDED", SLURM_RUNS, "is suspended"},
    {"STOPPED", SLURM_RUNS, "is stopped"},
    {"RESIZING", SLURM_RUNS, "runs"},
    {"SIGNALING", SLURM_RUNS, "runs"},
    {"COMPLETING", SLURM_ENDS, "ends"},
    {"STAGE_OUT", SLURM_ENDS, "ends"},
    {"COMPLETED", SLURM_DONE, "ended"},
    {"FAILED", SLURM_FAILED, "failed"},
    {"TIMEOUT", SLURM_FAILED, "reached its time limit"},
    {"OUT_OF_MEMORY", SLURM_FAILED, "used more memory than it was given"},
    {"DEADLINE", SLURM_FAILED, "could not be run before its deadline"},
    {"NODE_FAIL", SLURM_LOST, "was lost when its node failed"},
    {"PREEMPTED", SLURM_LOST, "had to make room for another job (preempted)"},
    {"BOOT_FAIL", SLURM_LOST, "was lost because its node did not start"},
    {"LAUNCH_FAILED", SLURM_LOST, "could not be started on its node"},
    {"RECONFIG_FAIL", SLURM_LOST, "was lost because its node could not be prepared"},
    {"REVOKED", SLURM_LOST, "was taken over by another cluster"},
    {"CANCELLED", SLURM_CANCELLED, "was cancelled on the cluster"},
};

const struct slurm_state *slurm_state_find(const char *name) {
    static const struct slurm_state unknown = {"", SLURM_WAITS, "is in a state hone does not know"};
    for (size_t i = 0; i < COUNT_OF(states); i++)
        if (strcmp(states[i].name, name) == 0)
            return &states[i];
    return &unknown;
}

/* The first row whose name begins the reason counts. */
static const struct {
    const char *reason, *words;
} reasons[] = {
    {"Resources", "waits for free nodes"},
    {"Priority", "other jobs come first"},
    {"BeginTime", "may not start yet"},
    {"JobHeldUser", "held by you: scontrol release lets it go"},
    {"JobHeldAdmin", "held by the administrator"},
    {"Reservation", "waits for its reservation"},
    {"Dependency", "waits for another job"},
    {"Licenses", "waits for a license"},
    {"NodeDown", "a node it needs is down"},
    {"ReqNodeNotAvail", "a node it needs is not available now"},
    {"Nodes required for job are DOWN", "the nodes it needs are down, drained or reserved"},
    {"PartitionDown", "its partition is down"},
    {"PartitionInactive", "its partition takes no jobs to run"},
    {"PartitionNodeLimit", "asks for more nodes than its partition allows"},
    {"PartitionTimeLimit", "asks for more time than its partition allows"},
    {"PartitionConfig", "asks for what its partition does not have"},
    {"BadConstraints", "no node has what it asks for"},
    {"InvalidAccount", "its account is not known"},
    {"InvalidQOS", "its quality of service is not known"},
    {"AccountNotAllowed", "its account may not use this partition"},
    {"QOSNotAllowed", "its quality of service may not be used here"},
    {"QOSTimeLimit", "the time of its quality of service is used up"},
    {"QOSMax", "a limit of its quality of service is reached"},
    {"QOSGrp", "a limit of its quality of service is reached"},
    {"QOS", "its quality of service does not allow it now"},
    {"AssocMax", "a limit of your account is reached"},
    {"AssocGrp", "a limit of your account is reached"},
    {"Assoc", "your account does not allow it now"},
    {"JobArrayTaskLimit", "as many tasks of its array run as may"},
    {"Cleaning", "its last run is being cleaned up"},
    {"Prolog", "its node is being prepared"},
    {"BurstBuffer", "waits for its burst buffer"},
    {"FrontEndDown", "no front end node can run it"},
    {"NonZeroExitCode", "its script failed"},
    {"SystemFailure", "something in the cluster failed"},
    {"launch failed requeued held", "could not be started on its node, and is held: ask the "
                                    "administrator"},
    {"JobHoldMaxRequeue", "was put back too often, and is held"},
    {"DeadLine", "its deadline is near"},
};

static const char *reason_words(const char *reason) {
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (str_starts(str_of(reason), reasons[i].reason))
            return reasons[i].words;
    return NULL;
}

static bool is_nothing(const char *text) {
    static const char *const nothing[] = {"", "None", "(null)", "N/A", "Unknown", "n/a"};
    for (size_t i = 0; i < COUNT_OF(nothing); i++)
        if (strcmp(text, nothing[i]) == 0)
            return true;
    return false;
}

void slurm_reason_print(const char *reason, const char *start, struct buf *out) {
    const char *words = reason_words(reason);
    if (words)
        buf_printf(out, "%s (%s)", words, reason);
    else if (!is_nothing(reason))
        buf_puts(out, reason);
    if (is_nothing(start) || strlen(start) < strlen("2026-11-20T15:04"))
        return;
    /* Slurm guesses by the limits of what runs now, in the cluster's own time. */
    buf_printf(out, "%sstart expected %.10s %.5s", out->len ? "; " : "", start, start + 11);
}
