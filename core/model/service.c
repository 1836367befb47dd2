/* SPDX-License-Identifier: Apache-2.0 */
/* Services by their usual names, and what models cost. Prices are data: prices.def, and the user's
 * own prices.ini before it. */
#include <ini.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/private.h"

static const struct {
    const char *name, *api, *base_url;
} services[] = {
    {"anthropic", "anthropic", NULL},
    {"openai", "responses", NULL},
    {"openai-chat", "openai", NULL},
    {"bedrock", "bedrock", NULL},
    {"ollama", "openai", "http://localhost:11434/v1"},
    {"vllm", "openai", "http://localhost:8000/v1"},
    {"llama.cpp", "openai", "http://localhost:8080/v1"},
    {"litellm", "openai", "http://localhost:4000/v1"},
    {"human", "human", NULL},
};

bool model_service_find(const char *name, struct model_endpoint *endpoint) {
    for (size_t i = 0; name && i < COUNT_OF(services); i++) {
        if (strcmp(services[i].name, name) != 0)
            continue;
        *endpoint = (struct model_endpoint){.api = services[i].api,
                                            .base_url = services[i].base_url,
                                            .temperature = NAN,
                                            .price = {NAN, NAN, NAN, NAN, 0}};
        return true;
    }
    return false;
}

/* -------------------------------------------------------------------------------------- prices */

struct row {
    char name[96]; /* the beginning of a model's name */
    struct model_price price;
};

static const struct {
    const char *name;
    struct model_price price;
} built_in[] = {
#define X(name, input, output, cache_read, cache_write, up_to) \
    {name, {input, output, cache_read, cache_write, up_to}},
#include "model/prices.def"
#undef X
};

struct model_prices {
    VEC(struct row) rows; /* the user's */
    struct err err;
    const char *path;
};

static double *field_of(struct model_price *price, const char *name) {
    const struct {
        const char *name;
        double *field;
    } fields[] = {{"input", &price->input},
                  {"output", &price->output},
                  {"cache_read", &price->cache_read},
                  {"cache_write", &price->cache_write},
                  {"up_to", &price->up_to}};
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (!strcmp(fields[i].name, name))
            return fields[i].field;
    return NULL;
}

static struct row *row_of(struct model_prices *prices, const char *name) {
    for (size_t i = 0; i < prices->rows.len; i++)
        if (!strcmp(prices->rows.at[i].name, name))
            return &prices->rows.at[i];
    struct row *row = vec_push(&prices->rows);
    *row = (struct row){.price = {NAN, NAN, NAN, NAN, 0}};
    snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

static int on_price(void *data, const char *section, const char *name, const char *value) {
    struct model_prices *prices = data;
    double number;
    struct row *row = row_of(prices, section);
    double *field = field_of(&row->price, name);
    if (!field)
        return err_set(&prices->err, ERR_USAGE,
                       "%s: [%.60s] has \"%.40s\"; allowed are input, output, cache_read and "
                       "cache_write, in dollars per million tokens, and up_to, in tokens of the "
                       "prompt",
                       prices->path, section, name);
    if (!str_to_double(str_of(value), &number) || !(number >= 0 && number < 1e9))
        return err_set(&prices->err, ERR_USAGE,
                       "%s: [%.60s] %s = %.40s is not a price in dollars per million tokens",
                       prices->path, section, name, value);
    *field = number;
    return 1;
}

struct model_prices *model_prices_load(struct err *err) {
    struct model_prices *prices = mem_alloc(1, sizeof *prices);
    char *path = path_config("prices.ini");
    bool fine = true;
    char *text = file_exists(path) ? file_read(path, 1u << 20, NULL, err) : NULL;
    prices->path = path;
    fine = text || !file_exists(path);
    if (text && ini_parse_string(text, on_price, prices) != 0) {
        fine = prices->err.kind == ERR_NONE
                   ? err_set(err, ERR_USAGE, "%s: a line is neither [MODEL] nor NAME = PRICE", path)
                   : err_set(err, ERR_USAGE, "%s", prices->err.text);
    }
    free(text);
    free(path);
    prices->path = NULL;
    if (fine)
        return prices;
    model_prices_free(prices);
    return NULL;
}

void model_prices_free(struct model_prices *prices) {
    if (!prices)
        return;
    vec_free(&prices->rows);
    free(prices);
}

/* What services put behind a model's name: a date ("-20250514", "-2024-07-18", "@20250514"), a
 * version
 * ("-v1:0"), "-latest". Anything else is another model. */
static bool is_edition(const char *rest) {
    if (!strncmp(rest, "-latest", 7))
        rest += 7;
    const char *date = *rest == '-' || *rest == '@' ? rest + 1 : rest;
    size_t digits = strspn(date, "0123456789-");
    while (digits && date[digits - 1] == '-')
        digits--;
    if (date != rest && digits >= 8 && strspn(date, "0123456789") >= 4)
        rest = date + digits;
    if (!strncmp(rest, "-v", 2) && rest[2] >= '0' && rest[2] <= '9')
        rest += 3;
    return !*rest || *rest == ':' || *rest == '[';
}

/* Whether it is the row's model, alone or after a service's prefix ("us.anthropic.", "openai/"). */
static bool is_model(const char *model, const char *name) {
    const char *at = strstr(model, name);
    bool begins = at && (at == model || at[-1] == '.' || at[-1] == '/' || at[-1] == ':');
    return begins && is_edition(at + strlen(name));
}

static void set_known(double *field, double value) {
    if (!isnan(value))
        *field = value;
}

struct model_price model_prices_find(const struct model_prices *prices, const char *model) {
    struct model_price found = {NAN, NAN, NAN, NAN, 0};
    for (size_t i = 0; i < COUNT_OF(built_in); i++)
        if (is_model(model, built_in[i].name))
            found = built_in[i].price;
    for (size_t i = 0; prices && i < prices->rows.len; i++) {
        const struct model_price *own = &prices->rows.at[i].price;
        if (!is_model(model, prices->rows.at[i].name))
            continue;
        set_known(&found.input, own->input);
        set_known(&found.output, own->output);
        set_known(&found.cache_read, own->cache_read);
        set_known(&found.cache_write, own->cache_write);
        found.up_to = own->up_to;
    }
    return found;
}

static bool add_cost(double *sum, double tokens, double price) {
    if (isnan(tokens) || tokens == 0)
        return true;
    *sum += tokens * price / 1e6;
    return !isnan(price);
}

double model_price_of(const struct model_price *price, const struct model_usage *usage) {
    double sum = 0, cached = 0;
    if (isnan(usage->input) || isnan(usage->output))
        return NAN;
    cached += isnan(usage->cache_read) ? 0 : usage->cache_read;
    cached += isnan(usage->cache_write) ? 0 : usage->cache_write;
    if (price->up_to > 0 && usage->input + cached > price->up_to)
        return NAN;
    bool known = add_cost(&sum, usage->input, price->input);
    known = add_cost(&sum, usage->output, price->output) && known;
    known = add_cost(&sum, usage->cache_read, price->cache_read) && known;
    known = add_cost(&sum, usage->cache_write, price->cache_write) && known;
    return known ? sum : (double)NAN;
}

/* About 3.6 bytes a token for source code and English prose, as the services' own counters come out
 * on kernels; always shown as an estimate. */
#define BYTES_PER_TOKEN 3.6

double model_tokens_estimate(struct str text) {
    return ceil((double)text.len / BYTES_PER_TOKEN);
}
