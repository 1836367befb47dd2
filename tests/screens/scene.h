/* SPDX-License-Identifier: Apache-2.0 */
/* What the scenes of the screens have in common: models, a place, sessions to choose from, and
 * screens on a state. */
#ifndef HONE_TESTS_SCREENS_SCENE_H
#define HONE_TESTS_SCREENS_SCENE_H

#include <math.h>

#include "screens/replay.h"

/* The state of the connection to a place in a scene. */
enum connection { NO_PLACE, MODEL, CONNECTED, WAITING, LOST, FAILED, ASKS_KEY, ASKS_SECRET };
#define CLAUDE                                                                          \
    {                                                                                   \
        .name = "claude", .asked = "anthropic, claude-sonnet-4-5",                      \
        .origin = "~/.config/hone/config.ini:12", .price_input = 3, .price_output = 15, \
        .price_cache_read = 0.3, .price_cache_write = 3.75                              \
    }
static const struct tune_role_model claude = CLAUDE;
static const struct tune_role_model planners[] = {CLAUDE,
                                                  {.name = "local",
                                                   .asked = "openai, qwen3-coder",
                                                   .origin = "~/.config/hone/config.ini:12",
                                                   .price_input = NAN,
                                                   .price_output = NAN,
                                                   .price_cache_read = NAN,
                                                   .price_cache_write = NAN}};
static const struct tune_role_view roles[TUNE_ROLES] = {
    [TUNE_ROLE_PLANNER] = {.models = planners, .count = 2, .by_gain = true},
    [TUNE_ROLE_REWRITER] = {.models = &claude, .count = 1},
    [TUNE_ROLE_FIXER] = {.models = &claude, .count = 1}};

/* Pieces of answers are no events, so they come from here. */
CC_UNUSED static void stream_answers(struct tune_state *state) {
    static const char *const pieces[] = {
        "title: Keep w resident in SBUF\nwhat: w is read again by each of the 32 blocks of rows; ",
        "load it once before the loop, all of its 512 columns, and index it inside.\nwhy: DMA is "
        "what limits the kernel, 61 % of the time goes to line 42\nlines: 38-44\nmetric: "
        "hbm_read_bytes\ndirection: down\nsize: 86 %\n---\ntitle: ",
        "\x1b[31mnot red"};
    for (size_t i = 0; i < state->calls.len; i++)
        for (size_t k = 0; k < COUNT_OF(pieces) && !state->calls.at[i].ended_ms; k++)
            if (!state->calls.at[i].waits && !state->calls.at[i].held && i != 3 && i != 11)
                tune_call_stream(state, (int)i, str_of(pieces[k]), false);
}

/* A host with four cores, as `connection` says. */
CC_UNUSED static struct tune_place_view *make_place(enum connection connection, int64_t now_ms) {
    struct place {
        struct tune_place_view view;
        struct target_info info;
        struct target_status status;
        struct target_question question;
    } *place = mem_alloc(1, sizeof *place);
    struct target_status *status = &place->status;
    static const enum target_state states[] = {
        [MODEL] = TARGET_READY,       [CONNECTED] = TARGET_READY, [WAITING] = TARGET_READY,
        [LOST] = TARGET_LOST,         [FAILED] = TARGET_FAILED,   [ASKS_KEY] = TARGET_ASKING,
        [ASKS_SECRET] = TARGET_ASKING};
    static const struct target_core cores[] = {{"0", "busy", "alice: python train.py (pid 4711)"},
                                               {"1", "free", ""},
                                               {"2", "free", ""},
                                               {"3", "ours", ""}};
    place->info = (struct target_info){.name = "trn2-host", .kind = "ssh", .parallel = 2};
    snprintf(place->info.what, sizeof place->info.what, "Trn2 host over SSH");
    *status = (struct target_status){.state = states[connection],
                                     .since_ms = now_ms - 12000,
                                     .memory_bytes = 493ull << 30,
                                     .disk_free_bytes = 120ull << 30,
                                     .looked_ms = now_ms - 4000};
    snprintf(status->host, sizeof status->host, "ubuntu@10.0.0.5 (libssh2, ed25519 key)");
    snprintf(status->release, sizeof status->release, "Neuron SDK 2.29, nki 0.3.0");
    snprintf(status->text, sizeof status->text, "connected");
    for (size_t i = 0; i < COUNT_OF(cores); i++)
        *vec_push(&status->cores) = cores[i];
    *vec_push(&status->entries) =
        (struct target_entry){"5f0c4e2d", "add_rmsnorm_matmul", "running", "", now_ms - 130000};
    if (connection == MODEL) {
        place->info =
            (struct target_info){"sim", "sim", "device model on this machine, 2 cores", true, 1};
        status->cores.len = status->entries.len = 0;
        status->memory_bytes = status->disk_free_bytes = 0;
        status->looked_ms = 0;
        status->host[0] = status->release[0] = 0;
    } else if (connection == WAITING) {
        struct target_entry *entry = &status->entries.at[0];
        snprintf(entry->state, sizeof entry->state, "waiting");
        snprintf(entry->reason, sizeof entry->reason,
                 "all cores are held: core 0 by alice "
                 "(python train.py, pid 4711) for 2 h");
        for (int i = 0; i < 4; i++)
            *vec_push(&status->entries) = (struct target_entry){"", "add_rmsnorm_matmul", "waiting",
                                                                "2 others run", now_ms - 3000};
    } else if (connection == LOST) {
        status->retry_ms = now_ms + 4000;
        snprintf(
            status->text, sizeof status->text,
            "connection lost (no answer for 45 s). Jobs on trn2-host go on; hone picks up their "
            "events when it is back.");
    } else if (connection == FAILED) {
        snprintf(status->text, sizeof status->text,
                 "the host key of trn2-host is another one than in ~/.ssh/known_hosts:4. Somebody "
                 "may be in between, or the machine was set up anew. If you know that it was: "
                 "ssh-keygen -R trn2-host, then try again.");
    } else if (connection == ASKS_KEY) {
        snprintf(place->question.text, sizeof place->question.text,
                 "hone has never talked to trn2-host (10.0.0.5). Its ed25519 key is "
                 "SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8. Compare it with what the "
                 "machine's owner says. Type yes to trust it from now on.");
    } else if (connection == ASKS_SECRET) {
        place->question.secret = true;
        snprintf(place->question.text, sizeof place->question.text,
                 "The key /home/me/.ssh/id_ed25519 has a passphrase.");
    }
    bool asks = connection == ASKS_KEY || connection == ASKS_SECRET;
    if (asks)
        snprintf(status->text, sizeof status->text, "%.390s", place->question.text);
    place->view = (struct tune_place_view){&place->info, status, asks ? &place->question : NULL};
    return &place->view;
}

CC_UNUSED static void free_place(struct tune_place_view *view) {
    if (!view)
        return;
    struct target_status *status = (struct target_status *)(uintptr_t)view->status;
    vec_free(&status->cores);
    vec_free(&status->entries);
    free(view);
}

static void no_answer(void *context, const char *answer) {
    (void)context;
    (void)answer;
    fail_msg("nothing is answered in this test");
}

static void no_retry(void *context) {
    (void)context;
}

/* The texts of a struct tune_recent are not const, because whoever lists them frees them. */
#define TEXT(literal) ((char *)(uintptr_t)(literal))
static const struct tune_recent recent[] = {
    {TEXT("add_rmsnorm_matmul"), TEXT("seeds/add_rmsnorm_matmul"), TEXT("/s/a"),
     TEXT("Sum, norm over rows, product with a matrix: three loops that read too much"),
     TEXT("1.61x, 0.842 ms after 3 rounds"), REPLAY_START_MS - 7200000, false, false},
    {TEXT("attention"), TEXT("/home/me/attention"), TEXT("/s/b"), NULL,
     TEXT("1.08x, 2.31 ms after 12 rounds"), REPLAY_START_MS - 3 * 86400000ll, false, true},
    {TEXT("silu"), TEXT("seeds/silu"), NULL, TEXT("x times its sigmoid, tile by tile"), NULL, 0,
     true, false},
    {TEXT("softmax"), TEXT("seeds/softmax"), NULL, TEXT("Softmax over long rows"), NULL, 0, true,
     false},
    {TEXT("matmul"), TEXT("seeds/matmul"), NULL, TEXT("A large product in bf16, current dialect"),
     NULL, 0, true, false},
};

static bool no_act(void *context, const struct tune_action *action, struct err *err) {
    (void)context;
    (void)action;
    return err_set(err, ERR_USAGE, "nothing is done in this test");
}

/* Two engines and a direction of DMA whose transfers overlap and come out of order. */
static char *timeline_text(void *context, const char *hash) {
    (void)context;
    if (!strcmp(hash, "prompt"))
        return mem_strdup(
            "You tune kernels for AWS Trainium NeuronCores.\n\n# task\n\nadd_rmsnorm\n");
    if (!strcmp(hash, "answer"))
        return mem_strdup("title: Load each tile once\nwhat: keep it\n");
    return mem_strdup(
        "{\"format\": \"hone-profile\", \"lanes\": [\"Tensor\", \"Vector\", \"DMA in\"],"
        "\n\"spans_left_out\": 0,\n\"spans\": ["
        "\n[3,0,\"nc_matmul\",43,200.0,500.0],\n[6,0,\"nc_matmul\",43,700.0,800.5],"
        "\n[4,1,\"tensor_tensor\",36,100.0,200.0],\n[5,1,\"tensor_copy\",44,500.0,650.0],"
        "\n[2,2,\"dma_copy\",22,50.0,150.0],\n[1,2,\"dma_copy\",23,0.0,100.0],"
        "\n[9,77,\"nowhere\",1,0.0,900.0]],\n\"waits\": [[\"nothing\",0,\"\",\"\"],"
        "\n[\"operand\",36,\"tensor_tensor\",\"Vector\"],\n[\"operand\",43,\"nc_matmul\","
        "\"Tensor\"],"
        "\n[\"buffer\",44,\"tensor_copy\",\"Vector\"],\n[\"operand\",23,\"dma_copy\",\"DMA in\"]],"
        "\n\"reasons\": [[1,4,0.0,1],\n[3,5,200.0,1],\n[4,1,0.0,1],\n[2,3,300.0,1],"
        "\n[0,-1,0.0,0],\n[0,-1,0.0,1],\n[0,-1,0.0,0]]}\n");
}

CC_UNUSED static struct views *make_views(const struct tune_state *state) {
    struct err err = {0};
    struct views *views = views_new(NULL, NULL, &err);
    if (!views)
        print_message("%s\n", err.text);
    assert_non_null(views);
    const struct views_model model = {.state = state,
                                      .act = no_act,
                                      .artefact = timeline_text,
                                      .answer = no_answer,
                                      .retry = no_retry,
                                      .recent = recent,
                                      .n_recent = COUNT_OF(recent)};
    views_set_model(views, &model);
    return views;
}

#endif
