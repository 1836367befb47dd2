/* SPDX-License-Identifier: Apache-2.0 */
/* What prompts say of hardware, API, bounds and floors is what the tables say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"
#include "tune/apply/apply.h"
#include "tune/ask/facts.h"
#include "tune/ask/testing.h"
#include "tune/state/inner.h"
#include "tune/tune.h"

static const char current[] = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n"
                              "@nki.jit\ndef kernel(x):\n    nisa.activation(dst=y, op=nl.exp, "
                              "data=x)\n    nisa.dma_copy(dst=y, src=x)\n";
static const char legacy[] = "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\n"
                             "import neuronxcc.nki.language as nl\n\n@nki.jit\ndef kernel(x):\n"
                             "    y = nl.exp(nl.load(x))\n";

static void apply(struct tune_state *state, const char *type, const char *payload) {
    tune_state_apply(state, state->seq + 1, 1000, type, payload);
}

/* A session after its first round: the seed kernel, and an attempt that was slower. */
static struct tune_state *session(const char *source, const char *device, const char *bounds) {
    struct tune_state *state = tune_state_new();
    char text[4000];
    cJSON *payload = cJSON_CreateObject();
    cJSON_AddStringToObject(payload, "task", "softmax");
    cJSON_AddStringToObject(payload, "source", source);
    cJSON_AddStringToObject(payload, "device", device);
    char *printed = cJSON_PrintUnformatted(payload);
    cJSON_Delete(payload);
    apply(state, "session", printed);
    free(printed);
    state->reference_source = "def forward(x):\n    return x\n";
    payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "attempt", 0);
    cJSON_AddNumberToObject(payload, "parent", -1);
    cJSON_AddStringToObject(payload, "source", source);
    printed = cJSON_PrintUnformatted(payload);
    cJSON_Delete(payload);
    apply(state, "attempt", printed);
    free(printed);
    snprintf(text, sizeof text,
             "{\"attempt\": 0, \"latency_us\": 1000, \"floor_us\": 300, \"bound_by\": \"Scalar\", "
             "\"modelled\": true, \"metrics\": [{\"name\": \"hbm_read_bytes\", \"unit\": "
             "\"bytes\", \"value\": 201326592}, {\"name\": \"spill_save_bytes\", \"unit\": "
             "\"bytes\", \"value\": 0}, {\"name\": \"dma_packet_time\", \"unit\": \"s\", "
             "\"value\": 0.0122}], \"bounds\": %s}",
             bounds);
    apply(state, "measured", text);
    state->incumbent = 0;
    return state;
}

static const char plain_bounds[] =
    "[{\"name\": \"DMA\", \"busy_us\": 900, \"without_us\": 600},"
    " {\"name\": \"Scalar\", \"busy_us\": 310, \"without_us\": 990}]";

static char *system_of(const struct tune_state *state, enum tune_role role, struct buf *rest) {
    struct tune_context *context = tune_context_question(state, 0, role, -1);
    struct tune_prompt *prompt = tune_prompt_build(context, role, NULL, 0);
    struct buf shared = {0};
    tune_prompt_print(prompt, &shared, rest);
    tune_prompt_free(prompt);
    tune_context_free(context);
    return buf_take(&shared);
}

static void what_services_cache_is_the_same_for_all_roles(void **unused) {
    (void)unused;
    struct tune_state *state = session(current, "trn2", plain_bounds);
    struct buf planner = {0};
    char *first = system_of(state, TUNE_ROLE_PLANNER, &planner);
    buf_free(&planner);
    assert_true(tune_tokens_estimate(str_of(first)) >= 4000);
    state->lanes.at[0].attempt = 0; /* a lesson is about an attempt */
    state->round = 5;
    for (int role = 0; role < TUNE_ROLES; role++) {
        struct buf rest = {0};
        char *other = system_of(state, (enum tune_role)role, &rest);
        assert_string_equal(other, first);
        assert_int_equal(strncmp(rest.at, "# role\n", 7), 0);
        free(other);
        buf_free(&rest);
    }
    free(first);
    tune_state_free(state);
}

/* Of 500 us that attempt 1 saves, 250 are of fitted rules (30 % of 1000 us before, 10 % of 500). */
static void prompts_say_what_a_gain_rests_on(void **unused) {
    (void)unused;
    static const char told[] = "50 % of the gain rests on fitted rules";
    struct tune_state *state = session(current, "trn2", plain_bounds);
    apply(state, "measured",
          "{\"attempt\": 0, \"latency_us\": 1000, \"modelled\": true, \"metrics\": [{\"name\": "
          "\"fitted_rules_percent\", \"unit\": \"%\", \"value\": 30}]}");
    apply(state, "attempt", "{\"attempt\": 1, \"parent\": 0, \"source\": \"x = 1\\n\"}");
    apply(state, "measured",
          "{\"attempt\": 1, \"latency_us\": 500, \"modelled\": true, \"metrics\": [{\"name\": "
          "\"fitted_rules_percent\", \"unit\": \"%\", \"value\": 10}]}");
    state->attempts.at[1].status = TUNE_STATUS_KEEP;
    struct buf plan = {0}, lesson = {0};
    free(system_of(state, TUNE_ROLE_PLANNER, &plan));
    assert_non_null(strstr(plan.at, told));
    state->lanes.at[0].attempt = 1;
    free(system_of(state, TUNE_ROLE_SUMMARISER, &lesson));
    assert_non_null(strstr(lesson.at, told));
    buf_free(&plan);
    buf_free(&lesson);
    tune_state_free(state);
}

/* Every "N GB/s" is the one bandwidth, every TFLOPS a peak of the table. */
static void numbers_hold(const char *text, const char *device) {
    const struct device_generation *row = device_generation_find(device);
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, " GB/s")); at++, found++) {
        const char *begin = at;
        while (begin > text && (isdigit((unsigned char)begin[-1]) || begin[-1] == '.'))
            begin--;
        assert_true(fabs(strtod(begin, NULL) - device_memory_bytes_per_ns(row)) < 0.06);
    }
    assert_int_equal(found, 1);
    char peak[80];
    snprintf(peak, sizeof peak, "%.1f TFLOPS bf16, %.1f fp32", row->pe_tflops_bf16,
             row->pe_tflops_fp32);
    assert_non_null(strstr(text, peak));
    snprintf(peak, sizeof peak, "128 partitions of %.0f KiB",
             (double)row->sbuf_partition_bytes / 1024);
    assert_non_null(strstr(text, peak));
}

/* Every nisa.name( is an instruction of the dialect, every nl.name( one of the release. */
static void names_hold(const char *text, enum nki_dialect dialect) {
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, "nisa.")); at += 5) {
        size_t len = strspn(at + 5, "abcdefghijklmnopqrstuvwxyz_0123456789");
        if (at[5 + len] != '(' || (at > text && at[-1] != '\n' && at[-1] != ' '))
            continue;
        enum nki_op op = nki_op_find((struct str){at + 5, len});
        assert_true(op != NKI_OP_COUNT);
        assert_true(dialect != NKI_DIALECT_LEGACY || nki_op_in_legacy(op));
        assert_true(nki_release_has(dialect, NULL, (struct str){at, len + 5}));
        found++;
    }
    assert_true(found > 20);
    for (const char *at = text; (at = strstr(at, "\nnl.")); at += 4) {
        size_t len = strspn(at + 4, "abcdefghijklmnopqrstuvwxyz_0123456789");
        assert_true(nki_release_has(dialect, NULL, (struct str){at + 1, len + 3}));
    }
}

/* What the first kernels of the dialect use stands there, too: every nl.name and nisa.name. */
static void seeds_hold(const char *text, enum nki_dialect dialect) {
    static const char *const seeds[] = {"seeds/add_rmsnorm_matmul/kernel.py",
                                        "seeds/matmul/kernel.py", "seeds/silu/kernel.py",
                                        "seeds/softmax/kernel.py"};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    for (size_t i = 0; i < COUNT_OF(seeds); i++) {
        struct str seed = embed_find(seeds[i]);
        assert_non_null(seed.at);
        if (!strstr(seed.at, "neuronxcc") == (dialect == NKI_DIALECT_LEGACY))
            continue;
        for (const char *at = seed.at; (at = strstr(at, "n")); at++) {
            size_t module = !strncmp(at, "nl.", 3) ? 3 : !strncmp(at, "nisa.", 5) ? 5 : 0;
            size_t len = module + strspn(at + module, letters);
            char name[60];
            snprintf(name, sizeof name, "%.*s", (int)len, at);
            const char *found = module ? strstr(text, name) : name;
            while (found && module && strspn(found + len, letters))
                found = strstr(found + 1, name);
            if (!found)
                fail_msg("%s uses %s, which is not told", seeds[i], name);
        }
    }
}

/* Every instruction stands with its signature, its engines and what it overwrites, as the table of
 * the release has them, and every instruction of the release stands there. */
static void instructions_hold(const char *text, enum nki_dialect dialect, const char *device) {
    for (int op = 0; op < NKI_OP_COUNT; op++) {
        const struct nki_op_row *row = nki_op_row((enum nki_op)op);
        struct buf line = {0}, name = {0};
        buf_printf(&name, "\nnisa.%s(", row->name);
        const char *at = strstr(text, name.at);
        bool called = nki_op_find(str_of(row->name)) == (enum nki_op)op &&
                      (dialect != NKI_DIALECT_LEGACY || nki_op_in_legacy((enum nki_op)op)) &&
                      nki_release_has(dialect, NULL, (struct str){name.at + 1, name.len - 2}) &&
                      nki_generation_find(device) >= nki_op_generation((enum nki_op)op);
        assert_true(called == (at != NULL) || nki_op_find(str_of(row->name)) != (enum nki_op)op);
        if (at && called) {
            buf_puts(&line, name.at);
            if (dialect == NKI_DIALECT_LEGACY)
                nki_op_print_legacy((enum nki_op)op, &line);
            else
                buf_puts(&line, row->signature);
            buf_printf(&line, ")\n    %s; on ", row->summary);
            nki_op_print_engines((enum nki_op)op, &line);
            if (strncmp(at, line.at, line.len) != 0)
                fail_msg("not as the table has it: %s", line.at);
        }
        buf_free(&line);
        buf_free(&name);
    }
}

/* "PSUM: 128 partitions of 16 KiB in 8 banks", "Clocks, GHz: Tensor 2.40, ..": all that is said of
 * a generation, number by number. */
static void generation_holds(const char *text, const char *device) {
    const struct device_generation *row = device_generation_find(device);
    char words[200];
    snprintf(words, sizeof words, "SBUF: %d partitions of %.0f KiB\n", NKI_PARTITIONS,
             (double)row->sbuf_partition_bytes / 1024);
    assert_non_null(strstr(text, words));
    snprintf(words, sizeof words, "PSUM: %d partitions of %.0f KiB in %u banks of %.0f KiB;",
             NKI_PARTITIONS, (double)row->psum_partition_bytes / 1024, row->psum_banks,
             (double)row->psum_partition_bytes / row->psum_banks / 1024);
    assert_non_null(strstr(text, words));
    snprintf(words, sizeof words, "through %u DMA engines\n", row->dma_engines);
    assert_non_null(strstr(text, words));
    snprintf(words, sizeof words,
             "Clocks, GHz: Tensor %.2f, Vector %.2f, Scalar %.2f, GpSimd %.2f\n",
             row->clock_ghz[NKI_ENGINE_TENSOR], row->clock_ghz[NKI_ENGINE_VECTOR],
             row->clock_ghz[NKI_ENGINE_SCALAR], row->clock_ghz[NKI_ENGINE_GPSIMD]);
    assert_non_null(strstr(text, words));
}

/* Every number of the part about the hardware is one of the table's rows for this generation, or
 * made of them: there is none that only the prompt knows. */
static void no_number_stands_alone(const char *device) {
    const struct device_generation *row = device_generation_find(device);
    double values[64] = {NKI_PARTITIONS, DEVICE_PE_ROWS, device_memory_bytes_per_ns(row)};
    const struct device_fact *fact;
    size_t count = 3;
    for (size_t i = 0; (fact = device_fact_at(i)); i++) {
        double value = fact->value[row->generation - NKI_GEN2];
        values[count++] = !strcmp(fact->unit, "bytes") ? value / 1024 : value;
        assert_true(count + 1 < COUNT_OF(values));
    }
    values[count++] = (double)row->psum_partition_bytes / row->psum_banks / 1024;
    struct buf text = {0};
    size_t found = 0;
    tune_facts_limits(device, &text);
    for (const char *at = strchr(text.at, '\n'); *at; at++) {
        if (isalpha((unsigned char)*at))
            at += strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") - 1;
        if (!isdigit((unsigned char)*at) || isalnum((unsigned char)at[-1]))
            continue;
        char *end;
        double value = strtod(at, &end);
        bool known = false;
        for (size_t i = 0; i < count; i++) /* as precise as it is printed */
            known |= fabs(values[i] - value) < (memchr(at, '.', (size_t)(end - at)) ? 0.051 : 0.51);
        if (!known)
            fail_msg("%s: %g is in no table: %s", device, value, text.at);
        found++;
        at = end - 1;
    }
    assert_true(found >= 15);
    buf_free(&text);
}

static void numbers_of_the_hardware_come_from_its_table(void **unused) {
    (void)unused;
    no_number_stands_alone("trn1");
    no_number_stands_alone("trn2");
    no_number_stands_alone("trn3");
    struct buf text = {0};
    tune_facts_limits("trn3", &text);
    assert_non_null(strstr(text.at, "writes 4096 fp32 values a partition, or 8192 bf16 ones\n"));
    assert_non_null(strstr(text.at, "128 x 8192 moving\n"));
    buf_clear(&text);
    tune_facts_limits("trn2", &text);
    assert_non_null(strstr(text.at, "writes one bank, 512 fp32 values a partition\n"));
    assert_non_null(strstr(text.at, "128 x 512 moving\n"));
    buf_free(&text);
}

/* What templates say in prose of partitions and products is what the table has. */
static void templates_hold(void **unused) {
    (void)unused;
    static const char *const files[] = {"prompts/plan.md", "prompts/once.md", "prompts/rewrite.md",
                                        "prompts/fix.md", "prompts/menu.md"};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct str text = embed_find(files[i]);
        assert_non_null(text.at);
        for (const char *at = text.at; (at = strstr(at, " partitions")); at++) {
            const char *begin = at;
            while (begin > text.at && isdigit((unsigned char)begin[-1]))
                begin--;
            if (begin < at)
                assert_int_equal(atoi(begin), NKI_PARTITIONS);
        }
        assert_null(strstr(text.at, "GB/s"));
        assert_null(strstr(text.at, "TFLOPS"));
    }
}

static void facts_are_those_of_the_tables(void **unused) {
    (void)unused;
    static const char *const devices[] = {"trn1", "trn2", "trn3"};
    for (size_t i = 0; i < 2 * COUNT_OF(devices); i++) {
        bool old = i % 2;
        struct tune_state *state = session(old ? legacy : current, devices[i / 2], plain_bounds);
        struct buf all = {0};
        struct tune_context *context = tune_context_build(state, 0);
        tune_context_print(context, &all);
        struct buf api = {0};
        tune_facts_api(old ? "legacy" : "current", NULL, devices[i / 2], &api);
        *strstr(api.at, "A kernel that the device model runs") = '\0';
        seeds_hold(api.at, old ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT);
        buf_free(&api);
        numbers_hold(all.at, devices[i / 2]);
        generation_holds(all.at, devices[i / 2]);
        instructions_hold(all.at, old ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT, devices[i / 2]);
        names_hold(all.at, old ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT);
        assert_null(strstr(all.at, "only through data"));
        assert_null(strstr(all.at, "loop_branch"));
        assert_true(!old == !strstr(all.at, "nl.arange("));
        assert_true(!old == !strstr(all.at, "mask=None"));
        assert_true(!strcmp(devices[i / 2], "trn3") || !strstr(all.at, "nisa.nc_matmul_mx("));
        assert_true(old == !strstr(all.at, "except in `with nl.no_reorder():`"));
        buf_free(&all);
        tune_context_free(context);
        tune_state_free(state);
    }
}

static char *section(const struct tune_state *state, const char *name) {
    struct tune_context *context = tune_context_build(state, 0);
    char *text = NULL;
    for (size_t i = 0; i < context->sections.len; i++)
        if (!strcmp(context->sections.at[i].name, name))
            text = mem_strdup(context->sections.at[i].text);
    tune_context_free(context);
    assert_non_null(text);
    return text;
}

static void limit_is(const char *bounds, const char *words) {
    struct tune_state *state = session(current, "trn2", bounds);
    char *text = section(state, "profile");
    assert_non_null(strstr(text, words));
    free(text);
    tune_state_free(state);
}

static void what_limits_is_what_saves_the_most(void **unused) {
    (void)unused;
    limit_is(plain_bounds, "limited by: DMA\n");
    limit_is("[{\"name\": \"Vector\", \"busy_us\": 700, \"without_us\": 810},"
             " {\"name\": \"Scalar\", \"busy_us\": 310, \"without_us\": 800},"
             " {\"name\": \"DMA\", \"busy_us\": 900, \"without_us\": 900}]",
             "limited by: Scalar and Vector alike\n");
    limit_is("[{\"name\": \"Vector\", \"busy_us\": 700, \"without_us\": 980},"
             " {\"name\": \"DMA\", \"busy_us\": 900, \"without_us\": 990}]",
             "limited by: nothing by itself\n");
    limit_is("[]", "limited by: Scalar\n");
}

static void a_profile_has_no_zeros_exponents_or_sums(void **unused) {
    (void)unused;
    struct tune_state *state = session(current, "trn2", plain_bounds);
    char *text = section(state, "profile");
    assert_non_null(strstr(text, "hbm_read_bytes: 201.3 MB\n"));
    assert_null(strstr(text, "spill_save_bytes"));
    assert_null(strstr(text, "e+0"));
    assert_null(strstr(text, "dma_packet_time"));
    assert_non_null(strstr(text, "floor of the task: 0.300 ms in precision keep"));
    assert_non_null(strstr(text, "an algorithm with fewer of them may go below"));
    free(text);
    text = section(state, "precision");
    assert_non_null(strstr(text, "Allowed is keep: "));
    assert_non_null(strstr(text, "split into bf16 ones are not allowed"));
    free(text);
    tune_state_free(state);
}

/* What an instruction in use has to keep to is told with it; for many instructions not all of it.
 */
static void instructions_in_use_come_with_their_pages(void **unused) {
    (void)unused;
    struct tune_state *state = session(current, "trn2", plain_bounds);
    char *text = section(state, "api in use");
    assert_non_null(strstr(text, "reduce_op is nl.add; reduce_res gets the sum"));
    assert_non_null(strstr(text, "dge_mode.hwdge does not cast"));
    assert_non_null(strstr(text, "since 0.3 sources in PSUM"));
    assert_null(strstr(text, "\n    \n"));
    assert_null(strstr(text, "legacy"));
    free(text);
    tune_state_free(state);
    /* what other generations and dialects have is not told */
    state = session(legacy, "trn1", plain_bounds);
    struct buf api = {0};
    text = section(state, "api in use");
    assert_null(strstr(text, "since NKI 0."));
    assert_null(strstr(text, "accumulate"));
    assert_null(strstr(text, "priority"));
    assert_null(strstr(text, "    dst: a tile; stationary"));
    tune_facts_api("legacy", NULL, "trn1", &api);
    assert_null(strstr(api.at, "_x4"));
    assert_null(strstr(api.at, "overwrites dst\nnisa.tensor_tensor"));
    buf_free(&api);
    free(text);
    tune_state_free(state);
    state = session("import nki.isa as nisa\n    nisa.exponential(x)\n    nisa.activation(x)\n",
                    "trn2", plain_bounds);
    text = section(state, "api in use");
    assert_null(strstr(text, "nisa.exponential"));
    assert_non_null(strstr(text, "reduce_cmd: a member of nisa.reduce_cmd"));
    free(text);
    tune_state_free(state);
    struct buf source = {0};
    buf_puts(&source, "import nki\nimport nki.isa as nisa\n\n@nki.jit\ndef kernel(x):\n");
    for (int op = 0; op < NKI_OP_COUNT; op++)
        buf_printf(&source, "    nisa.%s(x)\n", nki_op_name((enum nki_op)op));
    state = session(source.at, "trn2", plain_bounds);
    text = section(state, "api in use");
    assert_true(strlen(text) > 9000 && strlen(text) <= 16000);
    free(text);
    buf_free(&source);
    tune_state_free(state);
}

/* ---- what a slower attempt lost ------------------------------------------------------------- */

static void put_attempt(struct tune_state *state, int id, const char *source, const char *numbers) {
    char text[2000];
    snprintf(text, sizeof text,
             "{\"attempt\": %d, \"parent\": %d, \"source\": \"%s\", \"plan\": {\"key\": \"k%d\", "
             "\"title\": \"t%d\"}}",
             id, id ? 0 : -1, source, id, id);
    apply(state, "attempt", text);
    snprintf(text, sizeof text, "{\"attempt\": %d, \"modelled\": true, %s}", id, numbers);
    apply(state, "measured", text);
    snprintf(text, sizeof text, "{\"attempt\": %d, \"status\": \"%s\"}", id,
             id ? "revert" : "keep");
    apply(state, "decided", text);
}

static const char *part_of(const struct tune_context *context, const char *name) {
    for (size_t i = 0; i < context->sections.len; i++)
        if (!strcmp(context->sections.at[i].name, name))
            return context->sections.at[i].text;
    return "";
}

static void a_loss_is_told_by_line(void **unused) {
    (void)unused;
    struct tune_state *state = tune_state_new();
    apply(state, "session", "{\"task\": \"softmax\", \"source\": \"a\\nb\\nc\\nd\\n\"}");
    put_attempt(state, 0, "a\\nb\\nc\\nd\\n",
                "\"latency_us\": 1000, \"lines\": [{\"line\": 2, \"us\": 400, \"share\": 0.4}, "
                "{\"line\": 4, \"us\": 600, \"share\": 0.6}], \"bounds\": [{\"name\": \"Tensor\", "
                "\"busy_us\": 908, \"without_us\": 600}]");
    put_attempt(state, 1, "a\\nb\\nx\\nc\\nd\\n",
                "\"latency_us\": 1031, \"lines\": [{\"line\": 2, \"us\": 401, \"share\": 0.39}, "
                "{\"line\": 3, \"us\": 59, \"share\": 0.06}, {\"line\": 5, \"us\": 571, \"share\": "
                "0.55}], \"bounds\": [{\"name\": \"Tensor\", \"busy_us\": 880, \"without_us\": "
                "900}]");
    put_attempt(state, 2, "a\\nd\\n",
                "\"latency_us\": 1100, \"lines\": [{\"line\": 2, \"us\": 1100, \"share\": 1}]");
    state->incumbent = 0;
    struct tune_context *context = tune_context_build(state, 0);
    const char *tried = part_of(context, "tried before");
    assert_non_null(strstr(tried, "Of the critical path: +59.0 us on line 3, which is new, -29.0 "
                                  "us on line 5. Tensor busy 908 -> 880 us."));
    assert_non_null(strstr(tried, "Of the critical path: +500.0 us on line 2, -400.0 us on lines 2 "
                                  "to 3 of the parent, which is gone."));
    tune_context_free(context);
    state->lanes.at[0].attempt = 1;
    context = tune_context_lesson(state, 0);
    assert_non_null(strstr(part_of(context, "measured"), "by line: Of the critical path: +59.0"));
    tune_context_free(context);
    tune_state_free(state);
}

/* Busy time of a line and its part of the critical path are two things; a device's profile knows
 * the first alone. */
static void a_line_tells_busy_and_critical_apart(void **unused) {
    (void)unused;
    static const char lines[] =
        "\"latency_us\": 1000, \"lines\": [{\"line\": 2, \"us\": 400, \"share\": 0.4, "
        "\"engine\": \"Vector\", \"calls\": 512, \"busy_us\": 640}, {\"line\": 3, \"us\": "
        "100, \"share\": 0.1, \"engine\": \"DMA\", \"calls\": 16, \"busy_us\": 4000}, "
        "{\"line\": 4, \"us\": 50, \"share\": 0.05, \"engine\": \"Scalar\"}]";
    struct tune_state *state = tune_state_new();
    apply(state, "session", "{\"task\": \"softmax\", \"source\": \"a\\nb\\nc\\nd\\n\"}");
    put_attempt(state, 0, "a\\nb\\nc\\nd\\n", lines);
    state->incumbent = 0;
    char *text = section(state, "cost per line");
    assert_string_equal(text, "line 2: 40.0 % of the critical path, Vector busy 64.0 %, 512 x "
                              "1.25 us: b\n"
                              "line 3: 10.0 % of the critical path, DMA 16 x 250 us: c\n"
                              "line 4: 5.0 % of the critical path, Scalar: d\n");
    free(text);
    state->attempts.at[0].modelled = state->attempts.at[0].profile_modelled = false;
    text = section(state, "cost per line");
    assert_true(str_starts(str_of(text), "line 2: busy for 40.0 % of the time, Vector"));
    free(text);
    tune_state_free(state);
}

static void a_name_that_is_not_there_has_a_near_one(void **unused) {
    (void)unused;
    const struct tune_facts_told told = {"current", NULL, "trn2"}, older = {"legacy", NULL, "trn2"};
    struct buf out = {0};
    tune_facts_near(&told, "'nki.isa.tensor_scaler' is not among what a candidate may use", &out);
    assert_non_null(strstr(out.at, "is nisa.tensor_scalar(dst, data, op0, operand0"));
    buf_clear(&out);
    tune_facts_near(&older, "'neuronxcc.nki.isa.nc_matmull' is not ..", &out);
    assert_non_null(strstr(out.at, "is nisa.nc_matmul(stationary, moving"));
    buf_clear(&out);
    tune_facts_near(&older, "'neuronxcc.nki.language.loads' is not ..", &out);
    assert_non_null(strstr(out.at, "is nl.load(src, *, mask=None"));
    buf_clear(&out);
    tune_facts_near(&older, "'neuronxcc.nki.language.par_dims' is not ..", &out);
    assert_non_null(strstr(out.at, "is nl.par_dim"));
    buf_clear(&out);
    tune_facts_near(&told, "'nki.language.sume' is not ..", &out);
    assert_non_null(strstr(out.at, "is nl.sum(x, axis"));
    buf_clear(&out);
    static const char *const others[] = {
        "",          "no quotes",          "'open",
        "'nothing'", "'nki.language.sum'", "'nki.language.zzzzzzzzzzzzz'",
        "'.'"};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        tune_facts_near(&told, others[i], &out);
    tune_facts_near(&told, NULL, &out);
    assert_int_equal(out.len, 0);
    buf_free(&out);
}

static int times(const char *text, const char *words) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, words)); at++)
        count++;
    return count;
}

/* An attempt has one row: hone's own note repeats the row and is not told, a model's lesson joins
 * it. All rows have the conditions before them. */
static void each_thing_is_said_once(void **unused) {
    (void)unused;
    struct tune_state *state = tune_state_new();
    apply(state, "session", "{\"task\": \"softmax\", \"source\": \"a\\n\", \"device\": \"trn2\"}");
    apply(state, "closure",
          "{\"python\": \"3\", \"numpy\": \"2\", \"sizes\": \"x float32 (4096, 4096)\"}");
    put_attempt(state, 0, "a\\n", "\"latency_us\": 1000");
    put_attempt(state, 1, "b\\n", "\"latency_us\": 1031");
    put_attempt(state, 2, "c\\n", "\"latency_us\": 1032");
    apply(state, "note",
          "{\"round\": 1, \"attempt\": 1, \"lesson\": \"\\\"t1\\\" was a step back: slower.\"}");
    apply(state, "note",
          "{\"round\": 2, \"attempt\": 2, \"lesson\": \"the store waits\", \"author\": \"me\"}");
    apply(state, "note", "{\"round\": 2, \"attempt\": -1, \"lesson\": \"about nothing here\"}");
    state->incumbent = 0;
    struct buf rest = {0};
    free(system_of(state, TUNE_ROLE_PLANNER, &rest));
    assert_int_equal(times(rest.at, "\"t1\""), 1);
    assert_int_equal(times(rest.at, "the store waits"), 1);
    assert_non_null(strstr(rest.at, "\"t2\": revert, 0.969x. Lesson: the store waits\n"));
    assert_int_equal(times(rest.at, "about nothing here"), 1);
    assert_non_null(strstr(rest.at, "Modelled on trn2, x float32 (4096, 4096), precision keep:\n"));
    assert_non_null(strstr(rest.at, "\ninputs: x float32 (4096, 4096)\n"));
    buf_free(&rest);
    tune_state_free(state);
}

static void write_template(const char *text) {
    struct err err = {0};
    char *path = path_config("prompts/plan.md"), *parent = path_folder(path);
    assert_true(file_make_dirs(parent, &err));
    assert_true(file_write(path, text, strlen(text), &err));
    free(path);
    free(parent);
}

/* Somebody's template may be older than the rows of attempts: {{notes}} alone are all of them. */
static void notes_alone_are_all_notes(void **unused) {
    (void)unused;
    char folder[] = "/tmp/hone-told-XXXXXX";
    struct err err = {0};
    assert_non_null(mkdtemp(folder));
    setenv("XDG_CONFIG_HOME", folder, 1);
    struct tune_state *state = tune_state_new();
    apply(state, "session", "{\"task\": \"softmax\", \"source\": \"a\\n\", \"device\": \"trn2\"}");
    put_attempt(state, 0, "a\\n", "\"latency_us\": 1000");
    put_attempt(state, 1, "b\\n", "\"latency_us\": 1031");
    apply(state, "note",
          "{\"round\": 1, \"attempt\": 1, \"lesson\": \"the store waits\", \"author\": \"me\"}");
    apply(state, "note", "{\"round\": 2, \"attempt\": -1, \"lesson\": \"about nothing here\"}");
    state->incumbent = 0;
    static const struct {
        const char *layout;
        int about, other; /* how often each note is told */
    } rows[] = {{"# all\n\n{{notes}}\n", 1, 1},
                {"# all\n\n{{ notes }} of {{task}}\n", 1, 1},
                {"# all\n\n{{tried before}}\n{{notes}}\n", 1, 1},
                {"# all\n\n{{tried before}}\n", 1, 0},
                {"# all\n\n{{task}}\n", 0, 0}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf rest = {0};
        write_template(rows[i].layout);
        free(system_of(state, TUNE_ROLE_PLANNER, &rest));
        assert_int_equal(times(rest.at, "the store waits"), rows[i].about);
        assert_int_equal(times(rest.at, "about nothing here"), rows[i].other);
        assert_null(strstr(rest.at, "{{"));
        buf_free(&rest);
    }
    tune_state_free(state);
    assert_true(file_remove_tree(folder, &err));
    unsetenv("XDG_CONFIG_HOME");
}

/* Planner and rewriter see why the kernel at hand takes its time, and the text is the log's. */
static void causes_are_told_as_the_log_has_them(void **unused) {
    (void)unused;
    struct tune_state *state = session(current, "trn2", plain_bounds);
    apply(state, "measured",
          "{\"attempt\": 0, \"latency_us\": 1000, \"modelled\": true, \"causes\": \"critical path "
          "of 1000 us, in us each:\\n  990 us: 32 x (line 7 activation Scalar 3.9)\\n\"}");
    static const enum tune_role roles[] = {TUNE_ROLE_PLANNER, TUNE_ROLE_REWRITER};
    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        struct buf rest = {0};
        free(system_of(state, roles[i], &rest));
        const char *part = strstr(rest.at, "# causes\n");
        assert_non_null(part);
        assert_non_null(strstr(part, "32 x (line 7 activation Scalar 3.9)"));
        buf_free(&rest);
    }
    apply(state, "measured", "{\"attempt\": 0, \"latency_us\": 900}");
    struct buf rest = {0};
    free(system_of(state, TUNE_ROLE_PLANNER, &rest));
    assert_null(strstr(rest.at, "# causes\n"));
    buf_free(&rest);
    tune_state_free(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_services_cache_is_the_same_for_all_roles),
        cmocka_unit_test(prompts_say_what_a_gain_rests_on),
        cmocka_unit_test(facts_are_those_of_the_tables),
        cmocka_unit_test(numbers_of_the_hardware_come_from_its_table),
        cmocka_unit_test(templates_hold),
        cmocka_unit_test(what_limits_is_what_saves_the_most),
        cmocka_unit_test(a_profile_has_no_zeros_exponents_or_sums),
        cmocka_unit_test(instructions_in_use_come_with_their_pages),
        cmocka_unit_test(a_loss_is_told_by_line),
        cmocka_unit_test(a_line_tells_busy_and_critical_apart),
        cmocka_unit_test(a_name_that_is_not_there_has_a_near_one),
        cmocka_unit_test(each_thing_is_said_once),
        cmocka_unit_test(notes_alone_are_all_notes),
        cmocka_unit_test(causes_are_told_as_the_log_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
