/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of the protocol: from lines to events, gathered into a result (PROTOCOL.md).
 * The lines come from a process that may be broken, or whose toolchain may write between them. So
 * every field is checked, every list has a limit, and a line that is not an event is a log line. */
#include "runner/protocol/inner.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_DIAGNOSTICS 1000
#define MAX_METRICS 1000
#define MAX_PHASES 100
#define MAX_ARTIFACTS 5000
#define MAX_SAMPLES 1000000
#define MAX_LINES 20000
#define MAX_BOUNDS 100
#define MAX_TEXT 4000
#define MAX_CAUSES ((size_t)1 << 18)

struct runner_reader {
    runner_event_fn *fn;
    void *data;
    struct runner_result result;
    char phase[24]; /* the present one */
    bool has_result, out_of_memory;
    uint64_t events;
};

struct runner_reader *runner_reader_new(runner_event_fn *fn, void *data) {
    struct runner_reader *reader = mem_alloc(1, sizeof *reader);
    reader->fn = fn;
    reader->data = data;
    return reader;
}

void runner_result_free(struct runner_result *result) {
    for (size_t i = 0; i < result->artifacts.len; i++) {
        free(result->artifacts.at[i].name);
        free(result->artifacts.at[i].path);
    }
    vec_free(&result->artifacts);
    diag_free(&result->diagnostics);
    vec_free(&result->seeds);
    vec_free(&result->samples_us);
    vec_free(&result->incumbent_us);
    vec_free(&result->metrics);
    vec_free(&result->phases);
    vec_free(&result->lines);
    vec_free(&result->bounds);
    free(result->causes);
    free(result->causes_text);
}

void runner_reader_free(struct runner_reader *reader) {
    if (!reader)
        return;
    runner_result_free(&reader->result);
    free(reader);
}

/* -------------------------------------------------------------------------------------- fields */

static const char *text_of(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static double number_of(const cJSON *object, const char *name, double missing) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : missing;
}

/* A count, a line, or a number of bytes; 0 when it is none. */
static int64_t whole_of(const cJSON *object, const char *name, double most) {
    double value = number_of(object, name, 0);
    return value >= 0 && value <= most ? (int64_t)value : 0;
}

static bool flag_of(const cJSON *object, const char *name) {
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static enum diag_severity severity_of(const cJSON *object) {
    const char *name = text_of(object, "severity");
    enum diag_severity severity = DIAG_ERROR;
    while (severity < DIAG_NOTE && strcmp(name, diag_severity_name(severity)) != 0)
        severity++;
    return severity;
}

static void copy_name(char *to, size_t size, const char *from) {
    snprintf(to, size, "%s", from);
    for (; *to; to++)
        if ((unsigned char)*to < 32 || *to == 127)
            *to = '?';
}

/* -------------------------------------------------------------------------------------- events */

static void tell(struct runner_reader *reader, const struct runner_event *event) {
    if (reader->fn)
        reader->fn(reader->data, event);
}

static void tell_log(struct runner_reader *reader, enum diag_severity severity, const char *name,
                     struct str text) {
    struct buf safe = {0};
    text_sanitise(&safe, (struct str){text.at, MIN_OF(text.len, (size_t)MAX_TEXT)});
    if (safe.len)
        tell(reader, &(struct runner_event){
                         .kind = RUNNER_LOG, .severity = severity, .name = name, .text = safe.at});
    buf_free(&safe);
}

static void read_phase(struct runner_reader *reader, const cJSON *object) {
    struct runner_result *result = &reader->result;
    struct runner_phase phase = {.seconds = number_of(object, "seconds", -1)};
    copy_name(phase.name, sizeof phase.name, text_of(object, "name"));
    if (phase.seconds < 0)
        snprintf(reader->phase, sizeof reader->phase, "%s", phase.name);
    else if (result->phases.len < MAX_PHASES)
        *vec_push(&result->phases) = phase;
    tell(reader, &(struct runner_event){
                     .kind = RUNNER_PHASE, .name = phase.name, .seconds = phase.seconds});
}

static void read_log(struct runner_reader *reader, const cJSON *object) {
    bool prints = strcmp(text_of(object, "name"), "print") == 0;
    tell_log(reader, severity_of(object), prints ? "print" : NULL, str_of(text_of(object, "text")));
}

static void read_diagnostic(struct runner_reader *reader, const cJSON *object) {
    struct diag_list *list = &reader->result.diagnostics;
    if (list->all.len >= MAX_DIAGNOSTICS)
        return;
    struct buf file = {0}, message = {0};
    char code[40];
    copy_name(code, sizeof code, text_of(object, "code"));
    text_sanitise(&file, str_of(text_of(object, "file")));
    text_sanitise(&message, str_of(text_of(object, "message")));
    struct diag *diag = diag_add(
        list, severity_of(object), code, file.at ? file.at : "", (int)whole_of(object, "line", 1e9),
        (int)whole_of(object, "column", 1e9), "%.*s", MAX_TEXT, message.at ? message.at : "");
    copy_name(diag->cause, sizeof diag->cause, text_of(object, "class"));
    diag->end_line = (int)whole_of(object, "end_line", 1e9);
    diag->end_column = (int)whole_of(object, "end_column", 1e9);
    buf_free(&file);
    buf_free(&message);
    tell(reader, &(struct runner_event){
                     .kind = RUNNER_DIAGNOSTIC, .diag = diag, .severity = diag->severity});
}

static void read_correctness(struct runner_reader *reader, const cJSON *object) {
    struct runner_seed seed = {.seed = whole_of(object, "seed", 4294967295.0),
                               .rel_l2 = number_of(object, "rel_l2", (double)NAN),
                               .max_abs = number_of(object, "max_abs", (double)NAN),
                               .passed = flag_of(object, "passed")};
    if (reader->result.seeds.len >= TASK_MAX_SEEDS)
        return;
    *vec_push(&reader->result.seeds) = seed;
    tell(reader, &(struct runner_event){.kind = RUNNER_CORRECTNESS,
                                        .seed = seed.seed,
                                        .value = seed.rel_l2,
                                        .max_abs = seed.max_abs,
                                        .passed = seed.passed});
}

static void read_sample(struct runner_reader *reader, const cJSON *object) {
    struct runner_result *result = &reader->result;
    double us = number_of(object, "us", -1);
    bool incumbent = strcmp(text_of(object, "of"), "incumbent") == 0;
    if (!(us >= 0) || result->samples_us.len + result->incumbent_us.len >= MAX_SAMPLES)
        return;
    if (incumbent)
        *vec_push(&result->incumbent_us) = us;
    else
        *vec_push(&result->samples_us) = us;
    result->modelled = flag_of(object, "modelled");
    tell(reader, &(struct runner_event){.kind = RUNNER_SAMPLE,
                                        .value = us,
                                        .incumbent = incumbent,
                                        .modelled = result->modelled});
}

static void read_metric(struct runner_reader *reader, const cJSON *object) {
    struct runner_metric metric = {.value = number_of(object, "value", (double)NAN)};
    copy_name(metric.name, sizeof metric.name, text_of(object, "name"));
    copy_name(metric.unit, sizeof metric.unit, text_of(object, "unit"));
    if (!metric.name[0] || reader->result.metrics.len >= MAX_METRICS)
        return;
    *vec_push(&reader->result.metrics) = metric;
    tell(reader, &(struct runner_event){.kind = RUNNER_METRIC,
                                        .name = metric.name,
                                        .value = metric.value,
                                        .unit = metric.unit});
}

/* What the file of an output holds. DTYPE_NONE when the event does not describe it properly. */
static struct array read_array(const cJSON *object) {
    struct array array = {.dtype = dtype_find(str_of(text_of(object, "dtype")))};
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(object, "shape");
    for (const cJSON *side = shape ? shape->child : NULL; side; side = side->next) {
        if (array.ndim == ARRAY_MAX_DIMS || !(side->valuedouble >= 1 && side->valuedouble <= 1e12))
            return (struct array){0};
        array.shape[array.ndim++] = (int64_t)side->valuedouble;
    }
    return array;
}

static void read_artifact(struct runner_reader *reader, const cJSON *object) {
    const char *name = text_of(object, "name"), *path = text_of(object, "path");
    if (!*name || !*path || reader->result.artifacts.len >= MAX_ARTIFACTS)
        return;
    struct runner_artifact artifact = {.name = mem_strdup(name),
                                       .path = mem_strdup(path),
                                       .array = read_array(object),
                                       .bytes = (uint64_t)whole_of(object, "bytes", 1e15),
                                       .seed = whole_of(object, "seed", 4294967295.0)};
    copy_name(artifact.sha256, sizeof artifact.sha256, text_of(object, "sha256"));
    *vec_push(&reader->result.artifacts) = artifact;
    tell(reader, &(struct runner_event){
                     .kind = RUNNER_ARTIFACT,
                     .name = name,
                     .text = path,
                     .seed = artifact.seed,
                     .array = artifact.array.dtype == DTYPE_NONE ? NULL : &artifact.array});
}

static void read_engines(const cJSON *rows, struct runner_prediction *found) {
    for (const cJSON *row = rows ? rows->child : NULL; row; row = row->next) {
        if (found->engine_count == RUNNER_MAX_ENGINES)
            return;
        if (!cJSON_IsNumber(row) || !row->string || !(row->valuedouble >= 0))
            continue;
        struct runner_utilisation *engine = &found->engines[found->engine_count++];
        copy_name(engine->engine, sizeof engine->engine, row->string);
        engine->percent = row->valuedouble;
    }
}

static void read_prediction(struct runner_reader *reader, const cJSON *object) {
    const cJSON *optimised = cJSON_GetObjectItemCaseSensitive(object, "optimised");
    struct runner_prediction found = {.us = number_of(object, "us", 0),
                                      .macs = number_of(object, "macs", (double)NAN),
                                      .hbm_bytes = number_of(object, "hbm_bytes", (double)NAN),
                                      .optimised = cJSON_IsTrue(optimised) ? RUNNER_OPTIMISED
                                                   : cJSON_IsFalse(optimised)
                                                       ? RUNNER_NOT_OPTIMISED
                                                       : RUNNER_OPTIMISED_UNKNOWN};
    if (!(found.us > 0) || !isfinite(found.us))
        return;
    copy_name(found.by, sizeof found.by, text_of(object, "by"));
    read_engines(cJSON_GetObjectItemCaseSensitive(object, "utilisation"), &found);
    reader->result.prediction = found;
    tell(reader, &(struct runner_event){.kind = RUNNER_PREDICTION,
                                        .prediction = &reader->result.prediction});
}

/* -------------------------------------------------------------------------------- the last one */

static void read_judgement(const cJSON *verdict, const char *name,
                           struct task_judgement *judgement) {
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(verdict, name);
    const char *answer = text_of(object, "answer");
    enum task_answer found = TASK_INCONCLUSIVE;
    while (found > TASK_NOT_ASKED && strcmp(answer, task_answer_name(found)) != 0)
        found--;
    task_judge(judgement, found, "%s", "");
    copy_name(judgement->reason, sizeof judgement->reason, text_of(object, "reason"));
}

static void read_lines(const cJSON *rows, struct runner_result *result) {
    for (const cJSON *row = rows ? rows->child : NULL; row; row = row->next) {
        if (result->lines.len == MAX_LINES)
            return;
        struct runner_line line = {.line = (int)whole_of(row, "line", 1e9),
                                   .us = number_of(row, "us", 0),
                                   .share = number_of(row, "share", 0),
                                   .calls = number_of(row, "calls", (double)NAN),
                                   .busy_us = number_of(row, "busy_us", (double)NAN),
                                   .instructions = (uint64_t)whole_of(row, "instructions", 1e15),
                                   .hbm_bytes = (uint64_t)whole_of(row, "hbm_bytes", 1e18)};
        copy_name(line.engine, sizeof line.engine, text_of(row, "engine"));
        *vec_push(&result->lines) = line;
    }
}

static void read_bounds(const cJSON *rows, struct runner_result *result) {
    for (const cJSON *row = rows ? rows->child : NULL; row; row = row->next) {
        if (result->bounds.len == MAX_BOUNDS)
            return;
        struct runner_bound bound = {.busy_us = number_of(row, "busy_us", 0),
                                     .without_us = number_of(row, "without_us", 0)};
        copy_name(bound.name, sizeof bound.name, text_of(row, "name"));
        *vec_push(&result->bounds) = bound;
    }
}

/* Its text and its numbers; what is too long is left out as a whole. */
static void read_causes(const cJSON *object, struct runner_result *result) {
    char *printed = cJSON_IsObject(object) ? cJSON_PrintUnformatted(object) : NULL;
    struct buf safe = {0}, text = {0};
    if (printed && strlen(printed) <= MAX_CAUSES) {
        struct str said = str_of(text_of(object, "text"));
        text_sanitise(&safe, str_of(printed));
        text_sanitise(&text, (struct str){said.at, MIN_OF(said.len, (size_t)MAX_TEXT)});
    }
    free(printed);
    free(result->causes);
    free(result->causes_text);
    result->causes = safe.len ? buf_take(&safe) : NULL;
    result->causes_text = text.len ? buf_take(&text) : NULL;
    buf_free(&safe);
    buf_free(&text);
}

static void read_failure(const cJSON *object, struct err *failure) {
    static const struct {
        const char *name;
        enum err_kind kind;
    } kinds[] = {{"kernel", ERR_KERNEL},
                 {"usage", ERR_USAGE},
                 {"cancelled", ERR_CANCELLED},
                 {"unknown", ERR_UNKNOWN}};
    if (!cJSON_IsObject(object))
        return;
    failure->kind = ERR_ENVIRONMENT;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(text_of(object, "kind"), kinds[i].name) == 0)
            failure->kind = kinds[i].kind;
    copy_name(failure->text, sizeof failure->text, text_of(object, "text"));
}

/* What is known before the kernel's numbers are checked, too: told twice, the later counts. */
static void read_times(const cJSON *object, struct runner_result *result) {
    copy_name(result->floor_bound, sizeof result->floor_bound, text_of(object, "floor_bound"));
    copy_name(result->bound, sizeof result->bound, text_of(object, "bound"));
    result->latency_us = number_of(object, "latency_us", 0);
    result->low_us = number_of(object, "low_us", 0);
    result->high_us = number_of(object, "high_us", 0);
    result->floor_us = number_of(object, "floor_us", 0);
    result->floor_split_us = number_of(object, "floor_split_us", 0);
    result->floor_any_us = number_of(object, "floor_any_us", 0);
    result->lnc = (int)whole_of(object, "lnc", 8);
    result->instructions = (uint64_t)whole_of(object, "instructions", 1e15);
    result->lines.len = result->bounds.len = 0;
    read_lines(cJSON_GetObjectItemCaseSensitive(object, "lines"), result);
    read_bounds(cJSON_GetObjectItemCaseSensitive(object, "bounds"), result);
    read_causes(cJSON_GetObjectItemCaseSensitive(object, "causes"), result);
}

static void read_timed(struct runner_reader *reader, const cJSON *object) {
    if (reader->has_result)
        return;
    read_times(object, &reader->result);
    tell(reader, &(struct runner_event){.kind = RUNNER_TIMED, .result = &reader->result});
}

static void read_result(struct runner_reader *reader, const cJSON *object) {
    struct runner_result *result = &reader->result;
    const cJSON *verdict = cJSON_GetObjectItemCaseSensitive(object, "verdict");
    if (reader->has_result)
        return;
    reader->has_result = true;
    read_judgement(verdict, "compiles", &result->verdict.compiles);
    read_judgement(verdict, "correct", &result->verdict.correct);
    read_judgement(verdict, "credible", &result->verdict.credible);
    read_judgement(verdict, "faster", &result->verdict.faster);
    copy_name(result->kernel_name, sizeof result->kernel_name, text_of(object, "kernel_name"));
    copy_name(result->device, sizeof result->device, text_of(object, "device"));
    copy_name(result->release, sizeof result->release, text_of(object, "release"));
    copy_name(result->dialect, sizeof result->dialect, text_of(object, "dialect"));
    copy_name(result->wall, sizeof result->wall, text_of(object, "wall"));
    copy_name(result->python, sizeof result->python, text_of(object, "python"));
    copy_name(result->nki, sizeof result->nki, text_of(object, "nki"));
    read_times(object, result);
    result->tolerance = number_of(object, "tolerance", 0);
    result->device_s = number_of(object, "device_s", 0);
    result->needs_bytes = (uint64_t)whole_of(object, "needs_bytes", 1e15);
    read_failure(cJSON_GetObjectItemCaseSensitive(object, "failure"), &result->failure);
    tell(reader, &(struct runner_event){.kind = RUNNER_RESULT});
}

/* The job runs again from the start, because its node was restarted. All of it comes again. */
static void read_restart(struct runner_reader *reader, const cJSON *object) {
    runner_result_free(&reader->result);
    reader->result = (struct runner_result){0};
    reader->phase[0] = 0;
    reader->has_result = reader->out_of_memory = false;
    tell(reader, &(struct runner_event){.kind = RUNNER_RESTART, .local = flag_of(object, "fresh")});
}

static bool read_event(struct runner_reader *reader, const cJSON *object) {
    typedef void read_fn(struct runner_reader * reader, const cJSON *object);
    static read_fn *const readers[] = {
        read_phase,    read_log,    read_diagnostic, read_correctness, read_sample, read_metric,
        read_artifact, read_result, read_restart,    read_prediction,  read_timed};
    const char *name = text_of(object, "event");
    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        if (strcmp(name, events_name((enum runner_event_kind)i)) == 0) {
            reader->events++;
            readers[i](reader, object);
            return true;
        }
    }
    return false;
}

void runner_reader_wall(struct runner_reader *reader, const char *name) {
    copy_name(reader->result.wall, sizeof reader->result.wall, name);
}

bool runner_reader_ended(const struct runner_reader *reader) {
    return reader->has_result;
}

bool runner_reader_heard(const struct runner_reader *reader) {
    return reader->events > 0;
}

void runner_reader_noise(struct runner_reader *reader, struct str line) {
    if (str_starts(line, "hone: out of memory"))
        reader->out_of_memory = true;
    tell_log(reader, DIAG_NOTE, NULL, line);
}

void runner_reader_line(struct runner_reader *reader, struct str line) {
    size_t skip = strlen(RUNNER_SENTINEL);
    bool read = false;
    if (str_starts(line, RUNNER_SENTINEL)) {
        cJSON *object = cJSON_ParseWithLength(line.at + skip, line.len - skip);
        read = cJSON_IsObject(object) && read_event(reader, object);
        cJSON_Delete(object);
    }
    if (!read)
        runner_reader_noise(reader, line);
}

/* ------------------------------------------------------------------------------------- the end */

/* A kernel used up time or memory. It failed at the part of the verdict that was being found. */
static void blame_kernel(struct runner_reader *reader, const char *reason) {
    struct task_verdict *verdict = &reader->result.verdict;
    static const char *const running[] = {"execute", "compare", "verify", "benchmark", "profile"};
    bool ran = false;
    for (size_t i = 0; i < COUNT_OF(running); i++)
        ran = ran || strcmp(reader->phase, running[i]) == 0;
    task_judge(ran ? &verdict->correct : &verdict->compiles, TASK_NO, "%s", reason);
    if (ran)
        task_judge(&verdict->compiles, TASK_YES, "%s", "");
}

/* Phases of a host in which no kernel can be at fault. */
static bool is_hosts_own(const char *phase) {
    static const char *const phases[] = {"environment", "canary", "wait"};
    for (size_t i = 0; i < COUNT_OF(phases); i++)
        if (strcmp(phase, phases[i]) == 0)
            return true;
    return false;
}

/* What a signal that hone did not send means. */
enum ending { ENDING_OUTSIDE, ENDING_CRASH, ENDING_PROCESSOR };
static enum ending ending_of(int signum) {
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
    for (size_t i = 0; i < COUNT_OF(crashes); i++)
        if (signum == crashes[i])
            return ENDING_CRASH;
    return signum == SIGXCPU ? ENDING_PROCESSOR : ENDING_OUTSIDE;
}

static void settle_signal(struct runner_reader *reader, const char *phase, int signum,
                          const char *how) {
    struct err *failure = &reader->result.failure;
    switch (ending_of(signum)) {
    case ENDING_PROCESSOR:
        err_set(failure, ERR_KERNEL,
                "the evaluation used up its processor time in the phase \"%s\"", phase);
        blame_kernel(reader, failure->text);
        break;
    case ENDING_CRASH:
        err_set(failure, ERR_UNKNOWN, "the runner crashed in the phase \"%s\" (%s)", phase, how);
        break;
    case ENDING_OUTSIDE:
        err_set(failure, ERR_ENVIRONMENT,
                "the runner was ended from outside in the phase \"%s\" (%s): by the system when "
                "memory runs out, or by somebody",
                phase, how);
        break;
    }
}

static void settle_time(struct runner_reader *reader, const char *phase, double elapsed_s) {
    struct err *failure = &reader->result.failure;
    bool own = is_hosts_own(phase);
    err_set(failure, own ? ERR_ENVIRONMENT : ERR_KERNEL,
            "the evaluation did not end within %.3g s (it was in the phase \"%s\")", elapsed_s,
            phase);
    if (!own)
        blame_kernel(reader, failure->text);
}

/* Whose fault it is that there is no result: the kernel's where a limit of hone's own ended it,
 * otherwise nobody's. */
static void settle(struct runner_reader *reader, const struct loop_exit *result) {
    struct err *failure = &reader->result.failure;
    const char *phase = reader->phase[0] ? reader->phase : "start";
    struct buf how = {0};
    loop_exit_print(result, &how);
    if (result->end == LOOP_KILLED) {
        err_set(failure, ERR_CANCELLED, "the evaluation was cancelled");
    } else if (result->end == LOOP_TIMED_OUT) {
        settle_time(reader, phase, result->elapsed_s);
    } else if (result->end == LOOP_FLOODED) {
        err_set(failure, ERR_ENVIRONMENT,
                "the evaluation printed without end in the phase \"%s\"; it was stopped", phase);
    } else if (reader->out_of_memory) {
        err_set(failure, ERR_KERNEL, "the evaluation ran out of memory in the phase \"%s\"", phase);
        blame_kernel(reader, failure->text);
    } else if (result->end == LOOP_SIGNALLED) {
        settle_signal(reader, phase, result->signum, how.at);
    } else if (!reader->events) {
        err_set(failure, ERR_ENVIRONMENT, "the runner said nothing that hone understands (%s)",
                how.at);
    } else {
        err_set(failure, ERR_UNKNOWN,
                "the runner ended without a result in the phase \"%s\" "
                "(%s)",
                phase, how.at);
    }
    buf_free(&how);
}

struct runner_result *runner_reader_finish(struct runner_reader *reader,
                                           const struct loop_exit *result) {
    reader->result.elapsed_s = result->elapsed_s;
    if (!reader->has_result)
        settle(reader, result);
    return &reader->result;
}
