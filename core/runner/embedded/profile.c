/* SPDX-License-Identifier: Apache-2.0 */
/* The profile as a file: the artefact "profile" (PROTOCOL.md says what is in it). It is written as
 * text piece by piece, because a timeline may have millions of entries. */
#include "runner/embedded/private.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#define MAX_SPANS 1000000

static void add_string(struct buf *out, const char *text) {
    cJSON *item = cJSON_CreateString(text ? text : "");
    char *quoted = cJSON_PrintUnformatted(item);
    buf_puts(out, quoted ? quoted : "\"\"");
    free(quoted);
    cJSON_Delete(item);
}

static void add_number(struct buf *out, double value) {
    if (isfinite(value))
        buf_printf(out, "%.10g", value);
    else
        buf_puts(out, "null");
}

static void add_field(struct buf *out, const char *name, double value) {
    buf_printf(out, ",\n\"%s\": ", name);
    add_number(out, value);
}

static void add_metrics(struct buf *out, const struct device_profile *profile) {
    buf_puts(out, ",\n\"metrics\": [");
    for (size_t i = 0; i < profile->metrics.len; i++) {
        buf_puts(out, i ? ",\n " : "\n ");
        buf_puts(out, "{\"name\": ");
        add_string(out, profile->metrics.at[i].name);
        buf_puts(out, ", \"value\": ");
        add_number(out, profile->metrics.at[i].value);
        buf_puts(out, ", \"unit\": ");
        add_string(out, profile->metrics.at[i].unit);
        buf_putc(out, '}');
    }
    buf_puts(out, "]");
}

static void add_lines(struct buf *out, const struct device_profile *profile) {
    buf_puts(out, ",\n\"lines\": [");
    for (size_t i = 0; i < profile->lines.len; i++) {
        const struct device_line *line = &profile->lines.at[i];
        buf_printf(out, "%s{\"file\": %u, \"line\": %u, \"share\": ", i ? ",\n " : "\n ",
                   line->file, line->line);
        add_number(out, line->share);
        buf_printf(out, ", \"instructions\": %llu, \"hbm_bytes\": %llu, \"engine_ns\": {",
                   (unsigned long long)line->instructions, (unsigned long long)line->hbm_bytes);
        bool first = true;
        for (enum nki_engine e = NKI_ENGINE_UNKNOWN; e < NKI_ENGINE_COUNT; e++) {
            if (!(line->engine_ns[e] > 0))
                continue;
            buf_printf(out, "%s\"%s\": ", first ? "" : ", ", nki_engine_name(e));
            add_number(out, line->engine_ns[e]);
            first = false;
        }
        buf_puts(out, "}}");
    }
    buf_puts(out, "]");
}

static void add_bounds(struct buf *out, const struct device_profile *profile) {
    buf_puts(out, ",\n\"bounds\": [");
    for (size_t i = 0; i < profile->bounds.len; i++) {
        buf_puts(out, i ? ",\n {\"name\": " : "\n {\"name\": ");
        add_string(out, profile->bounds.at[i].name);
        buf_puts(out, ", \"busy_ns\": ");
        add_number(out, profile->bounds.at[i].busy_ns);
        buf_puts(out, ", \"without_ns\": ");
        add_number(out, profile->bounds.at[i].without_ns);
        buf_putc(out, '}');
    }
    buf_puts(out, "]");
}

/* The file calls them "lanes". */
static void add_queues(struct buf *out, const struct device_profile *profile) {
    buf_puts(out, ",\n\"lanes\": [");
    for (size_t i = 0; i < profile->queues.len; i++) {
        buf_puts(out, i ? ", " : "");
        add_string(out, profile->queues.at[i].name);
    }
    buf_puts(out, "]");
}

static void add_files(struct buf *out, const struct nki_program *program) {
    buf_puts(out, ",\n\"files\": [");
    for (size_t i = 0; i < program->files.len; i++) {
        buf_puts(out, i ? ", " : "");
        add_string(out, program->files.at[i]);
    }
    buf_puts(out, "]");
}

/* [instruction, queue, operation, line, start, end] for each occupation of a queue. */
static void add_spans(struct buf *out, const struct device_profile *profile,
                      const struct nki_program *program) {
    size_t count = MIN_OF(profile->spans.len, (size_t)MAX_SPANS);
    buf_printf(out, ",\n\"spans_left_out\": %zu", profile->spans.len - count);
    buf_puts(out, ",\n\"spans\": [");
    for (size_t i = 0; i < count; i++) {
        const struct device_span *span = &profile->spans.at[i];
        const struct nki_instr *instr = &program->instrs.at[span->instr];
        const struct nki_loc *loc = nki_loc_own(program, instr->loc);
        buf_printf(out, "%s[%u,%u,\"%s\",%u,%.1f,%.1f]", i ? ",\n" : "\n", span->instr, span->queue,
                   nki_op_name((enum nki_op)instr->op), loc ? loc->line : 0, span->start_ns,
                   span->end_ns);
    }
    buf_puts(out, "]");
}

/* What each span waited for, in the order of the spans: [index into `waits`, the instruction that
 * it waited for or -1, ns for which its queue was idle, 1 where it is on the critical path]. */
static void add_reasons(struct buf *out, const struct device_profile *profile,
                        const struct device_causes *causes) {
    size_t count = MIN_OF(profile->spans.len, (size_t)MAX_SPANS);
    if (!causes || causes->reasons.len != profile->spans.len)
        return;
    buf_puts(out, ",\n\"waits\": [");
    for (size_t i = 0; i < causes->waits.len; i++) {
        const struct device_stall *wait = &causes->waits.at[i];
        uint32_t line = wait->cause.file ? 0 : wait->cause.line; /* of the kernel's own file */
        buf_printf(out, "%s[\"%s\",%u,\"%s\",\"%s\"]", i ? ",\n" : "\n",
                   device_wait_key(wait->wait), line, wait->cause.op, wait->cause.lane);
    }
    buf_puts(out, "],\n\"reasons\": [");
    for (size_t i = 0; i < count; i++) {
        const struct device_reason *reason = &causes->reasons.at[i];
        buf_printf(out, "%s[%u,%lld,%.1f,%d]", i ? ",\n" : "\n", reason->wait,
                   (long long)reason->cause, reason->idle_us * 1e3, reason->is_critical);
    }
    buf_puts(out, "]");
}

static void add_causes(struct buf *out, const struct device_causes *causes) {
    char *text = causes ? causes_json(causes) : NULL;
    if (text)
        buf_printf(out, ",\n\"causes\": %s", text);
    free(text);
}

bool profile_write(const struct evaluation *evaluation, const char *path, struct err *err) {
    const struct device_profile *profile = evaluation->profile;
    const struct nki_program *program = evaluation->program;
    const struct device_image *image = evaluation->image;
    struct buf out = {0};
    buf_puts(&out, "{\"format\": \"hone-profile\", \"version\": 1,\n\"kernel\": ");
    add_string(&out, program->kernel);
    buf_printf(&out, ",\n\"generation\": \"gen%d\"", (int)program->generation);
    buf_printf(&out, ",\n\"instructions\": %llu",
               (unsigned long long)nki_program_count(device_image_program(image)));
    add_field(&out, "latency_us", profile->latency_us);
    add_field(&out, "floor_us", profile->floor_us);
    add_field(&out, "floor_split_us", profile->floor_split_us);
    add_field(&out, "floor_any_us", profile->floor_any_us);
    buf_puts(&out, ",\n\"floor_bound\": ");
    add_string(&out, profile->floor_bound);
    buf_puts(&out, ",\n\"bound\": ");
    add_string(&out, profile->bound);
    add_metrics(&out, profile);
    add_lines(&out, profile);
    add_bounds(&out, profile);
    add_queues(&out, profile);
    add_files(&out, program);
    add_spans(&out, profile, program);
    add_reasons(&out, profile, evaluation->causes);
    add_causes(&out, evaluation->causes);
    buf_puts(&out, "}\n");
    bool ok = file_write(path, out.at, out.len, err);
    buf_free(&out);
    return ok;
}
