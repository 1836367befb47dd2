/* SPDX-License-Identifier: Apache-2.0 */
/* The causes of a latency as JSON (PROTOCOL.md says what is in it): for the result, and for the
 * artefact "profile". */
#include "runner/embedded/private.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#define SEGMENTS 24 /* the others are told as one */
#define STALLS 24
#define TILES 24
#define TAKEN 24
#define LEGS 400 /* of all segments together */

/* Times in three digits behind the point: whole nanoseconds. */
static void add_us(cJSON *object, const char *name, double us) {
    if (isfinite(us))
        cJSON_AddNumberToObject(object, name, round(us * 1e3) / 1e3);
    else
        cJSON_AddNullToObject(object, name);
}

static void fill_spot(cJSON *object, const struct device_spot *spot) {
    cJSON_AddNumberToObject(object, "line", spot->line);
    if (spot->module)
        cJSON_AddStringToObject(object, "module", spot->module);
    cJSON_AddStringToObject(object, "op", spot->op);
    cJSON_AddStringToObject(object, "lane", spot->lane);
}

static void add_spot(cJSON *object, const char *name, const struct device_spot *spot) {
    if (spot->op[0])
        fill_spot(cJSON_AddObjectToObject(object, name), spot);
}

static cJSON *leg_object(const struct device_causes *causes, const struct device_leg *leg,
                         int *left) {
    cJSON *object = cJSON_CreateObject();
    (*left)--;
    add_us(object, "us", leg->us);
    if (leg->count) {
        cJSON_AddNumberToObject(object, "times", round(leg->times * 1e3) / 1e3);
        cJSON *legs = cJSON_AddArrayToObject(object, "legs");
        for (uint32_t i = 0; i<leg->count && * left> 0; i++)
            cJSON_AddItemToArray(legs, leg_object(causes, &causes->legs.at[leg->first + i], left));
        return object;
    }
    fill_spot(object, &leg->spot);
    add_us(object, "held_us", leg->held_us);
    cJSON_AddStringToObject(object, "wait", device_wait_key(leg->wait));
    add_spot(object, "for", &leg->cause);
    return object;
}

static void add_segments(cJSON *object, const struct device_causes *causes) {
    cJSON *rows = cJSON_AddArrayToObject(object, "segments");
    double others = 0;
    int left = LEGS;
    for (size_t i = 0; i < causes->segments.len; i++) {
        const struct device_segment *segment = &causes->segments.at[i];
        if (i >= SEGMENTS || left <= 0) {
            others += segment->us;
            continue;
        }
        cJSON *row = cJSON_CreateObject();
        add_us(row, "us", segment->us);
        cJSON_AddNumberToObject(row, "times", (double)segment->times);
        cJSON_AddItemToObject(row, "leg",
                              leg_object(causes, &causes->legs.at[segment->leg], &left));
        cJSON_AddItemToArray(rows, row);
    }
    add_us(object, "others_us", others);
    add_us(object, "launch_us", causes->launch_us);
}

static void add_lanes(cJSON *object, const struct device_causes *causes) {
    cJSON *rows = cJSON_AddArrayToObject(object, "lanes");
    for (size_t i = 0; i < causes->lanes.len; i++) {
        const struct device_lane *lane = &causes->lanes.at[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", lane->name);
        cJSON_AddNumberToObject(row, "issues", (double)lane->issues);
        add_us(row, "busy_us", lane->busy_us);
        cJSON *idle = cJSON_AddObjectToObject(row, "idle_us");
        for (enum device_wait wait = DEVICE_WAIT_NOTHING; wait < DEVICE_WAITS; wait++)
            if (lane->idle_us[wait] > 0)
                add_us(idle, device_wait_key(wait), lane->idle_us[wait]);
        add_us(row, "lead_us", lane->lead_us);
        add_us(row, "tail_us", lane->tail_us);
        add_spot(row, "first", &lane->first);
        cJSON_AddItemToArray(rows, row);
    }
}

static void add_stalls(cJSON *object, const struct device_causes *causes) {
    cJSON *rows = cJSON_AddArrayToObject(object, "stalls");
    for (size_t i = 0; i < causes->stalls.len && i < STALLS; i++) {
        const struct device_stall *stall = &causes->stalls.at[i];
        cJSON *row = cJSON_CreateObject();
        fill_spot(row, &stall->spot);
        cJSON_AddStringToObject(row, "wait", device_wait_key(stall->wait));
        add_spot(row, "for", &stall->cause);
        add_us(row, "us", stall->us);
        cJSON_AddNumberToObject(row, "times", (double)stall->times);
        cJSON_AddNumberToObject(row, "critical", (double)stall->critical);
        add_us(row, "longest_us", stall->longest_us);
        add_us(row, "longest_at_us", stall->longest_at_us);
        cJSON_AddItemToArray(rows, row);
    }
}

static void add_what_ifs(cJSON *object, const struct device_causes *causes) {
    cJSON *rows = cJSON_AddArrayToObject(object, "what_if");
    for (size_t i = 0; i < causes->ifs.len; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "change", causes->ifs.at[i].change);
        add_us(row, "us", causes->ifs.at[i].us);
        cJSON_AddItemToArray(rows, row);
    }
}

static void add_memory(cJSON *object, const struct device_causes *causes) {
    cJSON *row = cJSON_AddObjectToObject(object, "partition_bytes");
    cJSON_AddNumberToObject(row, "sbuf_used", (double)causes->sbuf_bytes);
    cJSON_AddNumberToObject(row, "sbuf_in_flight", (double)causes->sbuf_flight);
    cJSON_AddNumberToObject(row, "sbuf", (double)causes->sbuf_room);
    cJSON_AddNumberToObject(row, "psum_used", (double)causes->psum_bytes);
    cJSON_AddNumberToObject(row, "psum_in_flight", (double)causes->psum_flight);
    cJSON_AddNumberToObject(row, "psum", (double)causes->psum_room);
}

static void add_tiles(cJSON *object, const struct device_causes *causes) {
    cJSON *rows = cJSON_AddArrayToObject(object, "tiles");
    for (size_t i = 0; i < causes->tiles.len && i < TILES; i++) {
        const struct device_tile *tile = &causes->tiles.at[i];
        cJSON *row = cJSON_CreateObject();
        fill_spot(row, &tile->spot);
        cJSON_AddStringToObject(row, "name", tile->name);
        cJSON_AddStringToObject(row, "memory", tile->psum ? "psum" : "sbuf");
        cJSON_AddNumberToObject(row, "partition_bytes", tile->bytes);
        cJSON_AddNumberToObject(row, "most_bytes", (double)tile->most_bytes);
        cJSON_AddNumberToObject(row, "times", (double)tile->times);
        add_us(row, "live_us", tile->live_us);
        cJSON_AddItemToArray(rows, row);
    }
}

static void add_taken(cJSON *object, const struct device_causes *causes) {
    cJSON *rows = cJSON_AddArrayToObject(object, "compiler");
    for (size_t i = 0; i < causes->taken.len && i < TAKEN; i++) {
        const struct device_taken *taken = &causes->taken.at[i];
        cJSON *row = cJSON_CreateObject();
        fill_spot(row, &taken->spot);
        cJSON_AddStringToObject(row, "pass", taken->pass);
        cJSON_AddStringToObject(row, "what", taken->word);
        cJSON_AddNumberToObject(row, "times", (double)taken->times);
        cJSON_AddItemToArray(rows, row);
    }
}

char *causes_json(const struct device_causes *causes) {
    struct buf text = {0};
    cJSON *object = cJSON_CreateObject();
    device_causes_print(causes, &text);
    cJSON_AddStringToObject(object, "text", text.at);
    add_us(object, "latency_us", causes->latency_us);
    add_segments(object, causes);
    add_lanes(object, causes);
    add_stalls(object, causes);
    add_what_ifs(object, causes);
    add_memory(object, causes);
    add_tiles(object, causes);
    add_taken(object, causes);
    char *printed = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    buf_free(&text);
    return printed;
}
