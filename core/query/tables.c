/* SPDX-License-Identifier: Apache-2.0 */
/* The tables and the recipes, as others see them. */
#include "query/private.h"

#include <strings.h>

#define COLUMN(id, name, type, what) {#name, QUERY_##type, what},
#define TABLE(id, name, part, what, columns) \
    static const struct query_column columns_##id[] = {columns};
#include "query/tables.def"
#undef TABLE
#undef COLUMN

#define COLUMN(...)
#define TABLE(id, name, part, what, columns) \
    {name, what, QUERY_##part, columns_##id, COUNT_OF(columns_##id)},
static const struct query_table tables[] = {
#include "query/tables.def"
};
#undef TABLE
#undef COLUMN

const struct query_table *query_table_at(size_t index) {
    return index < COUNT_OF(tables) ? &tables[index] : NULL;
}

const struct query_table *query_table_find(const char *name) {
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if (!strcasecmp(tables[i].name, name))
            return &tables[i];
    return NULL;
}

static const struct query_recipe recipes[] = {
#define RECIPE(name, what, sql) {name, what, sql},
#include "query/recipes.def"
#undef RECIPE
};

const struct query_recipe *query_recipe_at(size_t index) {
    return index < COUNT_OF(recipes) ? &recipes[index] : NULL;
}

const struct query_recipe *query_recipe_find(const char *name) {
    for (size_t i = 0; i < COUNT_OF(recipes); i++)
        if (!strcmp(recipes[i].name, name))
            return &recipes[i];
    return NULL;
}
