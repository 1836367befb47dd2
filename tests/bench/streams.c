/* SPDX-License-Identifier: Apache-2.0 */
/* The screen while many models answer at once: how long a frame takes, how much of a core it all
 * needs, and how long a word takes from the service that writes it to the terminal.
 *
 *     bench_streams [-n STREAMS] [-t TOKENS_A_SECOND] [-s SECONDS] [-h HONE]
 *
 * Three processes: a service that streams (OpenAI's Chat Completions), hone's own model layer,
 * state, views and terminal on a pseudo-terminal, and this one, which reads the terminal. With -h
 * the program itself is measured too, as it asks that many questions in one round of a beam
 * search. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop/loop.h"
#include "screens/replay.h"
#include "bench/processor.h"
#include "tui/term/term.h"
#include "tui/tui.h"
#include "model/model.h"
#include "tune/apply/apply.h"

#define MOST 256
#define FRAME_MS 16 /* as in cli/workbench.c */
#define MARKS 200   /* words whose time is measured */
#define LETTERS 52

/* What the three processes share. */
struct shared {
    _Atomic int64_t mark_ns;   /* when the service wrote the last mark; 0: none yet */
    _Atomic int mark;          /* its number */
    _Atomic int seen;          /* the last mark that this process saw on the terminal */
    _Atomic int asked;         /* questions that are being answered */
    _Atomic int64_t tokens;    /* how many were sent */
    _Atomic int64_t behind_ms; /* how far the service itself fell behind */
    /* of the screen */
    int frames;
    double frame_ms[3], gap_ms[3], cpu_share, wall_s, bytes;
    double end_ms; /* from the key that ends the program to its end; 0: not measured */
};

struct options {
    int streams, rate, seconds;
    bool probe;       /* the stream on the screen sends nothing but marks */
    const char *hone; /* the program to measure; NULL: run_screen */
};

static int64_t now_ns(void) {
    return (int64_t)clock_monotonic_ns();
}

/* --------------------------------------------------------------------------------- the service */

struct client {
    int fd;
    bool asked; /* the request has come, and its answer has begun */
    int64_t begun_ns, sent;
};

struct service {
    struct shared *shared;
    const struct options *options;
    int listener;
    struct client clients[MOST];
    int count;
    int64_t next_mark_ns;
};

static void say(int fd, const char *text) {
    char line[512];
    int size =
        snprintf(line, sizeof line,
                 "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1800000000,"
                 "\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"},"
                 "\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n",
                 text);
    if (write(fd, line, (size_t)size) != size && errno != EPIPE && errno != ECONNRESET)
        perror("service");
}

static char letter(int mark) {
    int at = mark % LETTERS;
    return (char)(at < 26 ? 'A' + at : 'a' + at - 26);
}

/* A word that differs from the ones above it in every letter, so that the terminal gets all of it
 * when it comes. */
static void mark(struct service *service, int fd) {
    char word[16] = "\\n";
    struct shared *shared = service->shared;
    int number = atomic_load(&shared->mark) + 1;
    memset(word + 2, letter(number), 8);
    atomic_store(&shared->mark, number);
    atomic_store(&shared->mark_ns, now_ns());
    say(fd, word);
}

static void talk(struct service *service, struct client *client, int64_t now) {
    const struct options *options = service->options;
    bool probe = options->probe && client == &service->clients[0];
    struct shared *shared = service->shared;
    if (probe) {
        bool seen = atomic_load(&shared->seen) == atomic_load(&shared->mark);
        if (now >= service->next_mark_ns && seen) {
            /* At varying distances, so that it meets frames in every phase. */
            service->next_mark_ns = now + (20 + (now / 1000) % 37) * 1000000;
            mark(service, client->fd);
        }
        return;
    }
    int64_t due = (now - client->begun_ns) * options->rate / 1000000000;
    int64_t late_ms = (due - client->sent) * 1000 / options->rate;
    if (late_ms > atomic_load(&shared->behind_ms))
        atomic_store(&shared->behind_ms, late_ms);
    for (; client->sent < due; client->sent++) {
        say(client->fd, client->sent % 12 == 11 ? "tokens\\n"
                        : client->sent % 3      ? "some "
                                                : "more ");
        atomic_fetch_add(&shared->tokens, 1);
    }
}

static void greet(struct service *service, struct client *client) {
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                               "Connection: close\r\n\r\n";
    char request[65536];
    ssize_t size = recv(client->fd, request, sizeof request, MSG_DONTWAIT);
    (void)service;
    if (size <= 0 || client->asked) /* the rest of a long prompt */
        return;
    client->asked = true;
    atomic_fetch_add(&service->shared->asked, 1);
    client->begun_ns = now_ns();
    (void)!write(client->fd, head, sizeof head - 1);
}

static void serve(struct service *service) {
    struct pollfd ready[MOST + 1];
    for (;;) {
        ready[0] = (struct pollfd){.fd = service->listener, .events = POLLIN};
        for (int i = 0; i < service->count; i++)
            ready[i + 1] = (struct pollfd){.fd = service->clients[i].fd, .events = POLLIN};
        poll(ready, (nfds_t)service->count + 1, 1);
        for (int i = 0; i < service->count; i++)
            if (ready[i + 1].revents)
                greet(service, &service->clients[i]);
        if (ready[0].revents && service->count < MOST) {
            int fd = accept(service->listener, NULL, NULL), one = 1;
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
            service->clients[service->count++] = (struct client){.fd = fd};
        }
        int64_t now = now_ns();
        for (int i = 0; i < service->count; i++)
            if (service->clients[i].asked)
                talk(service, &service->clients[i], now);
    }
}

static int listen_on(int *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, MOST) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return -1;
    *port = ntohs(address.sin_port);
    return fd;
}

/* ---------------------------------------------------------------------------------- the screen */

/* What the workbench does with a change of the session: a frame follows, at most one per
 * FRAME_MS. */
struct screen {
    struct loop *loop;
    struct tui_term *term;
    struct views *views;
    struct tune_state *state;
    struct loop_timer *frame;
    struct shared *shared;
    uint64_t drawn_ns;
    VEC(double) frames_ms;
    VEC(double) gaps_ms;
};

struct stream {
    struct screen *screen;
    int number;
};

static void draw(void *data) {
    struct screen *screen = data;
    uint64_t begun = clock_monotonic_ns();
    screen->frame = NULL;
    views_draw(screen->views, tui_area_all(tui_term_canvas(screen->term)), clock_wall_ms());
    tui_term_show(screen->term);
    uint64_t now = clock_monotonic_ns();
    *vec_push(&screen->frames_ms) = (double)(now - begun) * 1e-6;
    if (screen->drawn_ns)
        *vec_push(&screen->gaps_ms) = (double)(now - screen->drawn_ns) * 1e-6;
    screen->drawn_ns = now;
}

static void on_text(void *data, struct str piece) {
    struct stream *stream = data;
    struct screen *screen = stream->screen;
    tune_call_stream(screen->state, stream->number, piece, false);
    uint64_t since_ms = (clock_monotonic_ns() - screen->drawn_ns) / 1000000;
    if (!screen->frame)
        screen->frame = loop_timer_start(
            screen->loop, since_ms >= FRAME_MS ? 0 : FRAME_MS - since_ms, 0, draw, screen);
}

static void on_done(void *data, const struct model_reply *reply) {
    (void)data;
    (void)reply;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void spread(double *values, size_t count, double out[3]) {
    qsort(values, count, sizeof *values, by_value);
    out[0] = count ? values[count / 2] : NAN;
    out[1] = count ? values[count * 99 / 100] : NAN;
    out[2] = count ? values[count - 1] : NAN;
}

static double cpu_s(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6 +
           (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec * 1e-6;
}

static void ask_all(struct screen *screen, struct model_client *client, struct stream *streams,
                    int count, int port) {
    char url[64];
    struct err err = {0};
    int64_t wall_ms = clock_wall_ms();
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", port);
    for (int i = 0; i < count; i++) {
        struct model_endpoint endpoint = {
            .api = "openai", .base_url = url, .model = "bench", .proxy = "", .temperature = NAN};
        struct model_message message = {MODEL_USER, STR("Make it faster.\n"), false};
        struct model_request request = {.endpoint = &endpoint, .messages = &message, .count = 1};
        streams[i] = (struct stream){screen, (int)screen->state->calls.len};
        struct model_callbacks callbacks = {
            .on_text = on_text, .on_done = on_done, .data = &streams[i]};
        tune_state_apply(screen->state, screen->state->seq + 1, wall_ms, "asked",
                         "{\"role\": \"planner\", \"model\": \"bench\", \"estimate\": 3210}");
        if (!model_ask(client, &request, &callbacks, &err))
            abort();
        if (i == 0) /* the one on the screen; this tells the service which it is */
            loop_run_until(screen->loop, &(bool){false}, 200);
    }
}

static bool no_act(void *context, const struct tune_action *action, struct err *err) {
    (void)context;
    (void)action;
    return err_set(err, ERR_USAGE, "nothing is done here");
}

static void run_screen(const struct options *options, struct shared *shared, int port) {
    int64_t now_ms = 0;
    struct err err = {0};
    struct screen screen = {.loop = loop_new(), .shared = shared};
    struct stream streams[MOST];
    const struct tui_term_options terminal = {.no_mouse = true};
    screen.state = replay_of("calls.events", "asking", &now_ms);
    tune_state_apply(screen.state, screen.state->seq + 1, now_ms, "answered", "{\"call\": 0}");
    screen.views = views_new(NULL, NULL, &err);
    screen.term = tui_term_new(&terminal, &err);
    if (!screen.views || !screen.term)
        abort();
    const struct views_model model = {.state = screen.state, .act = no_act};
    views_set_model(screen.views, &model);
    struct model_client *client = model_client_new(screen.loop);
    draw(&screen);
    ask_all(&screen, client, streams, options->streams, port);
    loop_run_until(screen.loop, &(bool){false}, 700); /* until all of them stream */
    screen.frames_ms.len = screen.gaps_ms.len = 0;
    double cpu = cpu_s();
    int64_t begun = now_ns();
    loop_run_until(screen.loop, &(bool){false}, (uint64_t)options->seconds * 1000);
    shared->wall_s = (double)(now_ns() - begun) * 1e-9;
    shared->cpu_share = (cpu_s() - cpu) / shared->wall_s;
    shared->frames = (int)screen.frames_ms.len;
    spread(screen.frames_ms.at, screen.frames_ms.len, shared->frame_ms);
    spread(screen.gaps_ms.at, screen.gaps_ms.len, shared->gap_ms);
    model_client_free(client);
    tui_term_free(screen.term);
    _exit(0);
}

/* A seed with inputs so small that its profile takes no time. */
static void write_task(const char *folder) {
    static const char *const names[] = {"kernel.py", "reference.py"};
    char path[80];
    struct err err = {0};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct buf copy = {0};
        snprintf(path, sizeof path, "seeds/silu/%s", names[i]);
        struct str text = embed_find(path);
        buf_add(&copy, text.at, text.len);
        char *size = strstr(copy.at, "M, N = 4096, 7168");
        if (size)
            memcpy(size, "M, N =  256, 1024", 17);
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (!file_write(path, copy.at, copy.len, &err))
            abort();
        buf_free(&copy);
    }
}

/* The program itself, with a configuration that names the service. */
static void run_hone(const char *program, const char *folder, int streams, int port) {
    char path[80], text[300], search[40] = "greedy";
    struct err err = {0};
    if (streams > 1)
        snprintf(search, sizeof search, "beam:1,%d,1", streams);
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("XDG_STATE_HOME", folder, 1);
    snprintf(path, sizeof path, "%s/hone", folder);
    snprintf(text, sizeof text,
             "[model bench]\napi = openai\nbase_url = http://127.0.0.1:%d/v1\nproxy = none\n"
             "[search]\nquestions = %d\n[defaults]\nsearch = %s\n",
             port, streams, search);
    if (!file_make_dirs(path, &err))
        abort();
    snprintf(path, sizeof path, "%s/hone/config.ini", folder);
    if (!file_write(path, text, strlen(text), &err))
        abort();
    write_task(folder);
    execl(program, "hone", folder, "--proposer", "bench", "--gate", "auto", "--rounds", "1",
          (char *)NULL);
    _exit(127);
}

/* -------------------------------------------------------------------------------- the terminal */

struct watch {
    struct shared *shared;
    double ways_ms[MARKS];
    int count, run; /* run: how many letters of the mark came in a row */
};

static void look(struct watch *watch, const char *bytes, ssize_t size) {
    int number = atomic_load(&watch->shared->mark);
    if (!number || atomic_load(&watch->shared->seen) == number)
        return;
    for (ssize_t i = 0; i < size; i++) {
        watch->run = bytes[i] == letter(number) ? watch->run + 1 : 0;
        if (watch->run < 8)
            continue;
        double ms = (double)(now_ns() - atomic_load(&watch->shared->mark_ns)) * 1e-6;
        if (watch->count < MARKS)
            watch->ways_ms[watch->count++] = ms;
        atomic_store(&watch->shared->seen, number);
        watch->run = 0;
        return;
    }
}

static void watch_terminal(struct watch *watch, int fd, int64_t until_ns) {
    char bytes[65536];
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (now_ns() < until_ns) {
        if (poll(&ready, 1, 100) <= 0)
            continue;
        ssize_t size = read(fd, bytes, sizeof bytes);
        if (size <= 0)
            return;
        watch->shared->bytes += (double)size;
        look(watch, bytes, size);
    }
}

/* Starts the program's loop, waits until all its questions are asked, and watches. */
static void watch_hone(struct watch *watch, const struct options *options, int fd, pid_t pid) {
    struct shared *shared = watch->shared;
    int64_t limit_ns = now_ns() + 30000000000;
    watch_terminal(watch, fd, now_ns() + 1000000000);
    (void)!write(fd, "s", 1);
    while (atomic_load(&shared->asked) < options->streams && now_ns() < limit_ns)
        watch_terminal(watch, fd, now_ns() + 50000000);
    watch_terminal(watch, fd, now_ns() + 700000000);
    double cpu = processor_s_of(pid);
    int64_t begun = now_ns();
    watch_terminal(watch, fd, begun + (int64_t)options->seconds * 1000000000);
    shared->wall_s = (double)(now_ns() - begun) * 1e-9;
    shared->cpu_share = (processor_s_of(pid) - cpu) / shared->wall_s;
    begun = now_ns();
    (void)!write(fd, ":quit\r", 6);
    watch_terminal(watch, fd, begun + 10000000000); /* until the terminal is closed */
    shared->end_ms = (double)(now_ns() - begun) * 1e-6;
}

static void measure(const struct options *options, const char *title) {
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct service service = {.shared = shared, .options = options};
    struct winsize size = {.ws_row = 40, .ws_col = 120};
    struct watch watch = {.shared = shared};
    char folder[] = "/tmp/hone-bench-XXXXXX";
    struct err err = {0};
    int port = 0, fd, status;
    if (!mkdtemp(folder))
        abort();
    service.listener = listen_on(&port);
    pid_t server = fork();
    if (server == 0)
        serve(&service);
    close(service.listener);
    pid_t screen = forkpty(&fd, NULL, NULL, &size);
    if (screen == 0) {
        setenv("TERM", "xterm-256color", 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        if (options->hone)
            run_hone(options->hone, folder, options->streams, port);
        run_screen(options, shared, port);
    }
    if (options->hone)
        watch_hone(&watch, options, fd, screen);
    else
        watch_terminal(&watch, fd, now_ns() + (int64_t)(options->seconds + 5) * 1000000000);
    kill(server, SIGKILL);
    kill(screen, SIGKILL);
    waitpid(server, &status, 0);
    waitpid(screen, &status, 0);
    close(fd);
    (void)!file_remove_tree(folder, &err);
    printf("%s\n", title);
    printf("  %lld tokens, the service was at most %lld ms behind; %.0f kB to the terminal\n",
           (long long)atomic_load(&shared->tokens), (long long)atomic_load(&shared->behind_ms),
           shared->bytes / 1e3);
    if (!options->hone)
        printf("  frame: median %.2f ms, p99 %.2f ms, most %.2f ms; %.1f frames a second, "
               "between two: median %.1f ms, p99 %.1f ms, most %.1f ms\n",
               shared->frame_ms[0], shared->frame_ms[1], shared->frame_ms[2],
               shared->frames / shared->wall_s, shared->gap_ms[0], shared->gap_ms[1],
               shared->gap_ms[2]);
    printf("  %d questions at once; processor: %.1f %% of one core\n", atomic_load(&shared->asked),
           shared->cpu_share * 100);
    if (shared->end_ms > 0)
        printf("  it ended %.0f ms after it was told to\n", shared->end_ms);
    if (watch.count) {
        double ways[3];
        spread(watch.ways_ms, (size_t)watch.count, ways);
        printf("  a word's way from the service to the terminal: median %.1f ms, p99 %.1f ms, "
               "most %.1f ms (%d words)\n",
               ways[0], ways[1], ways[2], watch.count);
    }
    munmap(shared, sizeof *shared);
}

int main(int argc, char **argv) {
    struct options options = {.streams = 64, .rate = 1000, .seconds = 5};
    int option;
    char title[120];
    const char *hone = NULL;
    while ((option = getopt(argc, argv, "n:t:s:h:")) != -1) {
        if (option == 'h') {
            hone = optarg;
            continue;
        }
        long value = strtol(optarg ? optarg : "0", NULL, 10);
        if (option == '?' || value < 1 || (option == 'n' && value > MOST)) {
            fprintf(stderr, "usage: %s [-n STREAMS] [-t TOKENS_A_SECOND] [-s SECONDS] [-h HONE]\n",
                    argv[0]);
            return 2;
        }
        *(option == 'n'   ? &options.streams
          : option == 't' ? &options.rate
                          : &options.seconds) = (int)value;
    }
    signal(SIGPIPE, SIG_IGN);
    snprintf(title, sizeof title, "%d streams of %d tokens a second", options.streams,
             options.rate);
    measure(&options, title);
    struct options alone = options;
    alone.streams = 1;
    alone.probe = true;
    measure(&alone, "one stream that speaks now and then");
    options.probe = true;
    snprintf(title, sizeof title, "the same beside %d streams of %d tokens a second",
             options.streams - 1, options.rate);
    measure(&options, title);
    alone.hone = options.hone = hone;
    if (!hone)
        return 0;
    measure(&alone, "the program, one question that is answered now and then");
    snprintf(title, sizeof title, "the program, the same beside %d streams of %d tokens a second",
             options.streams - 1, options.rate);
    measure(&options, title);
    options.probe = false;
    snprintf(title, sizeof title, "the program, %d streams of %d tokens a second", options.streams,
             options.rate);
    measure(&options, title);
    return 0;
}
