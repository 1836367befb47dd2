/* SPDX-License-Identifier: Apache-2.0 */
/* What a prompt says of the hardware and of the API. All of it comes from the tables that the
 * device model reads (hardware.def, instructions.def, language.def, releases.def), and from the
 * pages of hone docs. */
#include <ctype.h>
#include <stdio.h>

#include "device/device.h"
#include "docs/docs.h"
#include "tune/ask/facts.h"

/* Where products lie and how large they may be. Up to trn2 one lies in one bank. */
static void products_print(const struct device_generation *row, struct buf *out) {
    double bank = (double)row->psum_partition_bytes / row->psum_banks;
    buf_printf(out, "- PSUM: %d partitions of %.0f KiB in %u banks of %.0f KiB; a matrix product ",
               NKI_PARTITIONS, (double)row->psum_partition_bytes / 1024, row->psum_banks,
               bank / 1024);
    if (row->pe_columns_fp32 * dtype_bytes(DTYPE_FLOAT32) <= bank)
        buf_printf(out, "writes one bank, %u fp32 values a partition\n", row->pe_columns_fp32);
    else
        buf_printf(out, "writes %u fp32 values a partition, or %u bf16 ones\n",
                   row->pe_columns_fp32, row->pe_columns_bf16);
    buf_printf(out,
               "- Tensor engine: %.1f TFLOPS bf16, %.1f fp32; at most %d x %d stationary by "
               "%d x %u moving\n",
               row->pe_tflops_bf16, row->pe_tflops_fp32, DEVICE_PE_ROWS, DEVICE_PE_ROWS,
               DEVICE_PE_ROWS, MAX_OF(row->pe_columns_fp32, row->pe_columns_bf16));
}

void tune_facts_limits(const char *device, struct buf *out) {
    const struct device_generation *row = device_generation_find(device);
    if (!row)
        return;
    buf_printf(out, "%s, one NeuronCore:\n- SBUF: %d partitions of %.0f KiB\n", row->name,
               NKI_PARTITIONS, (double)row->sbuf_partition_bytes / 1024);
    products_print(row, out);
    buf_printf(out, "- HBM: at most %.1f GB/s, reads and writes together, through %u DMA engines\n",
               device_memory_bytes_per_ns(row), row->dma_engines);
    buf_puts(out, "- Clocks, GHz:");
    static const struct {
        enum nki_engine engine;
        const char *name;
    } clocks[] = {{NKI_ENGINE_TENSOR, "Tensor"},
                  {NKI_ENGINE_VECTOR, "Vector"},
                  {NKI_ENGINE_SCALAR, "Scalar"},
                  {NKI_ENGINE_GPSIMD, "GpSimd"}};
    for (size_t i = 0; i < COUNT_OF(clocks); i++)
        buf_printf(out, "%s %s %.2f", i ? "," : "", clocks[i].name,
                   row->clock_ghz[clocks[i].engine]);
    buf_puts(out, "\n- Tensor, Vector, Scalar, GpSimd and the DMA queues work at the same time\n"
                  "- The first dimension of a tile is the partition dimension\n");
}

/* The compilers of both dialects schedule; only the current one can be told not to. */
static void order_print(bool legacy, struct buf *out) {
    buf_puts(out, "The compiler may reorder instructions where data allow it");
    buf_puts(out, legacy ? ". " : ", except in `with nl.no_reorder():`. ");
    buf_puts(out, "An instruction waits for its operands, for room in the memory it writes and for "
                  "its engine.\n");
}

/* In the older dialect a call returns the tile that it writes, as a rule, and takes fewer. */
static bool is_told(enum nki_op op, bool legacy, const struct nki_param *param) {
    return !legacy || nki_op_takes_in_legacy(op, str_of(param->name));
}

/* "dst is overwritten", "dst is added to or written in part". */
static void writes_print(enum nki_op op, bool legacy, struct buf *out) {
    const struct nki_op_row *row = nki_op_row(op);
    for (size_t k = 0; k < row->n_params; k++) {
        const struct nki_param *param = &row->params[k];
        if (!is_told(op, legacy, param))
            continue;
        if (param->role == NKI_ROLE_WRITES)
            buf_printf(out, "; overwrites %s", param->name);
        else if (param->role == NKI_ROLE_UPDATES)
            buf_printf(out, "; adds to %s or writes a part of it", param->name);
    }
}

/* What a kernel is told of: dialect, release, generation. */
struct told {
    bool legacy;
    const char *release, *device;
};

static bool has_name(const struct told *told, const char *module, const char *name) {
    char full[80];
    snprintf(full, sizeof full, "%s.%s", module, name);
    return nki_release_has(told->legacy ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT, told->release,
                           str_of(full));
}

/* Some rows of the table stand for what kernels write in another way, and some are of one
 * generation. */
static bool has_instruction(const struct told *told, enum nki_op op) {
    const struct nki_op_row *row = nki_op_row(op);
    bool later = told->device && nki_generation_find(told->device) < nki_op_generation(op);
    return nki_op_find(str_of(row->name)) == op && !later &&
           (!told->legacy || nki_op_in_legacy(op)) && has_name(told, "nisa", row->name);
}

static void instructions_print(const struct told *told, struct buf *out) {
    bool legacy = told->legacy;
    buf_puts(out, legacy ? "Instructions, import neuronxcc.nki.isa as nisa. All take mask= and "
                           "name=; a call returns the new tile.\n"
                         : "Instructions, import nki.isa as nisa. All take name=.\n");
    for (int op = 0; op < NKI_OP_COUNT; op++) {
        const struct nki_op_row *row = nki_op_row((enum nki_op)op);
        if (!has_instruction(told, (enum nki_op)op))
            continue;
        buf_printf(out, "nisa.%s(", row->name);
        if (legacy)
            nki_op_print_legacy((enum nki_op)op, out);
        else
            buf_puts(out, row->signature);
        buf_printf(out, ")\n    %s; on ", row->summary);
        nki_op_print_engines((enum nki_op)op, out);
        writes_print((enum nki_op)op, legacy, out);
        buf_putc(out, '\n');
    }
}

/* Parameters without mask=, which only the legacy dialect has. */
static void parameters_print(struct str parameters, bool legacy, struct buf *out) {
    struct str one;
    const char *between = "";
    bool star = false;
    while (str_next(&parameters, ',', &one)) {
        one = str_trim(one);
        if (!legacy && str_is(one, "mask=None"))
            continue;
        if (str_is(one, "*")) {
            star = true;
            continue;
        }
        buf_printf(out, "%s%s" STR_FMT, between, star ? "*, " : "", STR_ARG(one));
        between = ", ";
        star = false;
    }
}

/* Sentences, without those about masks in the dialect that has none. */
static void meaning_print(struct str text, bool legacy, struct buf *out) {
    struct str rest = text, one;
    while (str_next(&rest, '.', &one))
        if (one.len && (legacy || !memmem(one.at, one.len, "mask", 4)))
            buf_printf(out, STR_FMT ".", STR_ARG(one));
    buf_putc(out, '\n');
}

static void names_print(const struct told *told, struct buf *out) {
    const char *parameters, *what, *name;
    buf_puts(out, "Names of nki.language, nl:\n");
    for (size_t i = 0; (name = nki_name_at(i, &parameters, &what)); i++) {
        if (!has_name(told, "nl", name))
            continue;
        buf_printf(out, "nl.%s%s", name, *parameters ? "(" : "");
        parameters_print(str_of(parameters), told->legacy, out);
        buf_printf(out, "%s: ", *parameters ? ")" : "");
        meaning_print(str_of(what), told->legacy, out);
    }
}

/* Names that are not called with tiles: where tensors lie, types, loops. */
static const struct {
    const char *names, *what;
    bool legacy; /* of that dialect alone */
} further[] = {
    {"sbuf psum hbm shared_hbm private_hbm", "places of a tensor, for buffer=", false},
    {"affine_range sequential_range static_range", "loops over the arguments of Python's range",
     false},
    {"par_dim", "marks the partition dimension in the shape of a new tensor: nl.par_dim(128)",
     true},
};

static void list_print(const struct told *told, struct str names, struct buf *out) {
    struct str one;
    const char *between = "";
    while (str_next(&names, ' ', &one)) {
        char name[40];
        snprintf(name, sizeof name, STR_FMT, STR_ARG(one));
        if (!has_name(told, "nl", name))
            continue;
        buf_printf(out, "%snl.%s", between, name);
        between = ", ";
    }
}

/* What only products of scaled numbers take, which begin with trn3. */
static bool has_dtype(const struct told *told, enum dtype dtype) {
    bool scaled = dtype == DTYPE_FLOAT8_E8M0FNU || dtype == DTYPE_FLOAT8_E4M3FN_X4 ||
                  dtype == DTYPE_FLOAT8_E5M2_X4 || dtype == DTYPE_FLOAT4_E2M1FN_X4;
    return !scaled || !told->device ||
           nki_generation_find(told->device) >= nki_op_generation(NKI_OP_NC_MATMUL_MX);
}

static void further_print(const struct told *told, struct buf *out) {
    struct buf dtypes = {0};
    for (size_t i = 0; i < COUNT_OF(further); i++) {
        if (further[i].legacy && !told->legacy)
            continue;
        list_print(told, str_of(further[i].names), out);
        buf_printf(out, ": %s.\n", further[i].what);
    }
    for (int dtype = DTYPE_NONE + 1; dtype < DTYPE_INT64; dtype++) /* the others are the host's */
        if (has_dtype(told, (enum dtype)dtype))
            buf_printf(&dtypes, "%s ", dtype_name((enum dtype)dtype));
    list_print(told, str_trim(buf_str(&dtypes)), out);
    buf_puts(out, ": dtypes.\n");
    buf_free(&dtypes);
}

static void operators_print(char kind, const char *title, struct buf *out) {
    buf_puts(out, title);
    const char *between = " ";
    for (int func = NKI_FUNC_NONE + 1; func < NKI_FUNC_COUNT; func++) {
        if (!nki_func_has((enum nki_func)func, kind))
            continue;
        buf_printf(out, "%snl.%s", between, nki_func_name((enum nki_func)func));
        between = ", ";
    }
    buf_putc(out, '\n');
}

/* "nisa.reduce_cmd: idle, reset", those that instructions take; not in the older dialect. */
static const char *const enumerations[] = {"engine", "reduce_cmd", "dge_mode", "oob_mode",
                                           "matmul_perf_mode"};

static void members_print(const char *type, struct buf *out) {
    const char *member;
    for (size_t i = 0; (member = nki_enum_member_at(type, i)); i++)
        buf_printf(out, "%s%s", i ? ", " : "", member);
}

static void enumerations_print(struct buf *out) {
    buf_puts(out, "Enumerations:\n");
    for (size_t i = 0; i < COUNT_OF(enumerations); i++) {
        buf_printf(out, "nisa.%s: ", enumerations[i]);
        members_print(enumerations[i], out);
        buf_putc(out, '\n');
    }
}

void tune_facts_api(const char *dialect, const char *release, const char *device, struct buf *out) {
    const struct told told = {dialect && !strcmp(dialect, "legacy"), release, device};
    order_print(told.legacy, out);
    instructions_print(&told, out);
    operators_print('b', "Operators with two operands:", out);
    operators_print('r', "Of them, reductions take:", out);
    operators_print('a', "Functions of activation:", out);
    enumerations_print(out);
    names_print(&told, out);
    further_print(&told, out);
    struct str example =
        embed_find(told.legacy ? "prompts/examples/legacy.py" : "prompts/examples/current.py");
    buf_printf(out, "A kernel that the device model runs and that is correct:\n\n" STR_FMT,
               STR_ARG(example));
}

/* Those of the device model have one name or two; peaks are told for a partition (context_profile).
 */
void tune_facts_metrics(struct buf *out) {
    const struct glossary_entry *entry;
    for (size_t i = 0; (entry = glossary_at(i)); i++) {
        const char *comma = strchr(entry->names, ',');
        bool many = strchr(entry->names, '{') || (comma && strchr(comma + 1, ','));
        if (entry->part == GLOSSARY_METRIC && *entry->names && !many &&
            !strstr(entry->names, "peak"))
            buf_printf(out, "%s: %s\n", entry->names, entry->meaning);
    }
}

/* ------------------------------------------------------------------------------- what is in use */

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* `end`: the character that follows; 0: any but one of a word. */
static bool has(const char *text, const char *name, char end) {
    size_t len = strlen(name);
    for (const char *at = text; at && (at = strstr(at, name)); at += len)
        if ((at == text || !is_word(at[-1])) && (end ? at[len] == end : !is_word(at[len])))
            return true;
    return false;
}

/* Bytes of what pages say, after which a prompt has none of the further ones. */
#define PAGES_BYTES 6000

/* What the page of an instruction says, as long as there is room. */
static void page_print(const struct docs *docs, const char *name, enum nki_dialect dialect,
                       size_t *room, struct buf *out) {
    const struct docs_page *page;
    char full[80];
    snprintf(full, sizeof full, "nisa.%s", name);
    struct buf said = {0};
    if (docs_find(docs, str_of(full), &page, 1))
        docs_print_brief(page, dialect, &said);
    if (said.len && said.len <= *room) {
        buf_puts(out, said.at);
        *room -= said.len;
    }
    buf_free(&said);
}

/* "bias: a tile or a number, or None": what each parameter takes. What is written stands in the
 * API. */
static void parameters_take(enum nki_op op, bool legacy, struct buf *out) {
    const struct nki_op_row *row = nki_op_row(op);
    const char *between = "    ";
    for (size_t k = 0; k < row->n_params; k++) {
        const struct nki_param *param = &row->params[k];
        if (!is_told(op, legacy, param))
            continue;
        const char *takes = nki_takes_text(param->takes);
        bool is_enum = !strcmp(takes, "a member of its enumeration");
        bool mode = !strcmp(param->name, "perf_mode");
        buf_printf(out, "%s%s: ", between, param->name);
        between = "; ";
        if (is_enum)
            buf_printf(out, "a member of nisa.%s", mode ? "matmul_perf_mode" : param->name);
        else
            buf_puts(out, takes);
    }
    buf_putc(out, '\n');
}

void tune_facts_in_use(const struct tune_facts_told *told, const char *source, const char *words,
                       struct buf *out) {
    const struct told rules = {told->dialect && !strcmp(told->dialect, "legacy"), told->release,
                               told->device};
    struct docs *docs = docs_open();
    size_t room = PAGES_BYTES;
    for (int op = 0; op < NKI_OP_COUNT; op++) {
        const struct nki_op_row *row = nki_op_row((enum nki_op)op);
        if ((!has(source, row->name, '(') && !has(words, row->name, 0)) ||
            !has_instruction(&rules, (enum nki_op)op))
            continue;
        buf_printf(out, "nisa.%s\n", row->name);
        parameters_take((enum nki_op)op, rules.legacy, out);
        page_print(docs, row->name, rules.legacy ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT, &room,
                   out);
    }
    docs_close(docs);
}

void tune_facts_pages(const struct tune_facts_told *told, const char *source, struct buf *out) {
    bool legacy = told->dialect && !strcmp(told->dialect, "legacy");
    const struct docs_told of = {!legacy && told->release ? docs_release_find(told->release) : -1,
                                 told->device ? nki_generation_find(told->device)
                                              : (enum nki_generation)0};
    struct docs *docs = docs_open();
    const struct docs_page *page;
    for (int guides = 0; guides < 2; guides++)
        for (size_t i = 0; (page = docs_at(docs, i)); i++)
            if (guides ? docs_is_guide(page)
                       : !docs_is_guide(page) && has(source, docs_name(page), '(')) {
                docs_print(page, &of, out);
                buf_putc(out, '\n');
            }
    docs_close(docs);
}

/* ------------------------------------------------------------------------------- near names */

static void near_print(const struct told *told, bool isa, const char *name, struct buf *out) {
    const char *parameters, *what, *other;
    enum nki_op op = isa ? nki_op_find(str_of(name)) : NKI_OP_COUNT;
    buf_printf(out, "    The nearest name of this release is %s.%s", isa ? "nisa" : "nl", name);
    if (op < NKI_OP_COUNT) {
        buf_putc(out, '(');
        if (told->legacy)
            nki_op_print_legacy(op, out);
        else
            buf_puts(out, nki_op_row(op)->signature);
        buf_putc(out, ')');
    }
    for (size_t i = 0; !isa && (other = nki_name_at(i, &parameters, &what)); i++)
        if (!strcmp(other, name) && *parameters) {
            buf_putc(out, '(');
            parameters_print(str_of(parameters), told->legacy, out);
            buf_putc(out, ')');
        }
    buf_putc(out, '\n');
}

void tune_facts_near(const struct tune_facts_told *told, const char *message, struct buf *out) {
    const struct told rules = {told->dialect && !strcmp(told->dialect, "legacy"), told->release,
                               told->device};
    const char *open = message ? strchr(message, '\'') : NULL;
    const char *close = open ? strchr(open + 1, '\'') : NULL;
    char full[100];
    if (!close || (size_t)(close - open) > sizeof full)
        return;
    snprintf(full, sizeof full, "%.*s", (int)(close - open - 1), open + 1);
    char *dot = strrchr(full, '.');
    if (!dot)
        return;
    *dot = '\0';
    struct nki_profile profile = {rules.legacy ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT,
                                  rules.release,
                                  rules.device ? nki_generation_find(rules.device) : 0};
    const char *near = nki_name_near(str_of(full), str_of(dot + 1), &profile);
    if (near)
        near_print(&rules, strstr(full, "isa") != NULL, near, out);
}
