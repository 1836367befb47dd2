/* SPDX-License-Identifier: Apache-2.0 */
/* Screen 5 is also a pane of the workbench: its rows, and what stands beside its title. */
#ifndef HONE_VIEWS_PROFILE_PROFILE_H
#define HONE_VIEWS_PROFILE_PROFILE_H

struct buf;
struct tui_area;
struct views;

void pane_profile_draw(struct views *views, struct tui_area area);
void pane_profile_note(const struct views *views, struct buf *note);

/* The metric that a row of the pane is about; NULL where it has none. The rows that have one come
 * first, without a gap. */
const char *pane_profile_metric(const struct views *views, int row);

#endif
