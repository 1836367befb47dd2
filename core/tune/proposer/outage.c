/* SPDX-License-Identifier: Apache-2.0 */
/* Services of models that are out of order, as events. A question that failed so counts for
 * nothing: no plan is closed, nothing is remembered. Who is asked instead is decided in
 * request_again.c. */
#include <math.h>

#include "tune/proposer/inner.h"
#include "tune/sums/sums.h"

#define MOST_TIMES 60 /* the longest pause, in times the first: 5 s become 5 min */
#define SPREAD 0.2    /* pauses differ by this share, so that not all tries come at once */
#define MOST_DOUBLED 20

double tune_outage_pause(double first_s, int tries, double asked_s) {
    uint64_t now = clock_monotonic_ns();
    double spread = (double)(hash_quick(&now, sizeof now) % 1000) / 1000;
    double pause_s = first_s * pow(2, MIN_OF(MAX_OF(tries - 1, 0), MOST_DOUBLED));
    pause_s = fmin(pause_s, first_s * MOST_TIMES) * (1 - SPREAD + 2 * SPREAD * spread);
    return asked_s > pause_s ? asked_s * (1 + SPREAD / 4 * spread) : pause_s;
}

/* Who is asked instead, or when it is tried again. */
static void news_log(struct tune_reply *reply, const struct tune_outage_news *news) {
    struct buf text = {0};
    buf_printf(&text, "%s; ", news->text);
    if (news->wait_s > 0) {
        buf_printf(&text, "waits, tries %s again in ", news->next);
        tune_amount_print(&text, TUNE_BUDGET_WALL_S, news->wait_s);
    } else {
        buf_printf(&text, "asks %s", news->next);
    }
    tune_emit_log(reply->work.session, reply->work.lane, TUNE_LEVEL_WARNING,
                  tune_step_word(reply->work.step), "%s", text.at);
    buf_free(&text);
}

void tune_reply_outage(struct tune_reply *reply, const struct tune_outage_news *news) {
    struct tune_session *session = reply->work.session;
    if (tune_emit(session, reply->work.lane,
                  TUNE_EVENT(OUTAGE, outage, .role = tune_role_word(news->role),
                             .model = news->model, .call = news->call, .kind = news->kind,
                             .text = news->text, .tries = news->tries, .pause_s = news->pause_s,
                             .next = news->next, .wait_s = news->wait_s)))
        news_log(reply, news);
}

void tune_reply_paused(struct tune_reply *reply, const char *text) {
    struct tune_session *session = reply->work.session;
    if (reply->done || session->closing)
        return;
    tune_request_end(reply);
    tune_emit(session, TUNE_ALL_LANES,
              TUNE_EVENT(PAUSE, pause, .text = text, .environment = true, .again = true));
    tune_advance(session);
}
