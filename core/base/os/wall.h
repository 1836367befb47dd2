/* SPDX-License-Identifier: Apache-2.0 */
/* A wall around a child: which files it reaches, that it has no network, and that all it starts
 * ends with it. Systems differ in what they can do, so there are levels. The strongest that works
 * is taken. */
#ifndef HONE_BASE_WALL_H
#define HONE_BASE_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/kit/kit.h"

/* In ascending order. */
enum wall_level {
    WALL_NONE,
    WALL_LIMITS,     /* limits of time, memory and files; what the child started is ended */
    WALL_LANDLOCK,   /* also files and network, by Landlock and seccomp */
    WALL_NAMESPACES, /* its own file system, processes and network, made by hone */
    WALL_BUBBLEWRAP, /* the same, made by bubblewrap */
};
/* "none", "limits", ... */
const char *wall_name(enum wall_level level);

enum wall_use {
    WALL_READ,
    WALL_WRITE,
    WALL_LIST, /* only the names in a folder, some of which are shown themselves */
    WALL_HIDE, /* an empty folder is there instead, where the level can do it */
};
struct wall_place {
    char *source, *path; /* source: without links; path: as seen behind the wall */
    enum wall_use use;
};
struct wall {
    enum wall_level level;
    VEC(struct wall_place) places; /* later ones lie over earlier ones */
    char *here;                    /* the folder in which the child starts */
    char *folder;                  /* HOME and TMPDIR behind the wall: empty, and the wall's own */
    bool owns_folder;              /* it is a real folder, which is removed with the wall */
    char *environment[4];          /* "HOME=...", to set for the child; ends with NULL */
    char *groups;                  /* for root: where to make a group that counts processes; NULL */
    bool demanded;                 /* this level or none */
    uint64_t file_bytes;           /* of any file that the child writes */
    unsigned processes;            /* all of this user's; 0: the wall counts its own */
};
#define WALL_FILE_BYTES ((uint64_t)8 << 30)    /* the inputs of a kernel may be large */
#define WALL_SCRATCH_BYTES ((uint64_t)4 << 30) /* size of /tmp and of /dev/shm */
/* How many processes and threads there may be behind a wall. Libraries start some for each
 * processor. */
unsigned wall_processes(void);
/* What the system's own limit behind a wall with namespaces is set to. Before Linux 5.14 it counts
 * the user's processes and threads outside, too (commit 21d1c5e386bc): there is room for those. */
unsigned wall_processes_most(void);

/* A wall that shows what every program needs of the system. Its level is none until wall_choose. */
struct wall *wall_new(void) CC_MUST_USE;
/* Also removes the wall's own folder. Accepts NULL. */
void wall_free(struct wall *wall);
/* Shows a file or folder. What does not exist is left out. Relative paths start at this process's
 * folder. */
void wall_add(struct wall *wall, const char *path, enum wall_use use);
/* Shows a folder of the user's for reading. Where it is the home folder or holds it, what is in it
 * is shown one by one, without names that begin with a dot, because keys lie there. hone's own
 * sessions are never shown. */
void wall_add_folder(struct wall *wall, const char *path);
/* Where a place is mounted. NULL: what was shown before it already holds it. In a shown folder a
 * link stays a link, and what it leads to is shown where that lies, because nothing is mounted on
 * links. */
const char *wall_goes_to(const struct wall *wall, size_t index);
/* Chooses the strongest level that works here, or the one of that name ("auto": the strongest).
 * False and *err (environment) with what is missing. Runs small programs of the system for some
 * milliseconds. */
bool wall_choose(struct wall *wall, const char *wanted, struct err *err);

/* Takes the next weaker level, when the present one could not be set up for a child. False when the
 * level was demanded or there is no weaker one. */
bool wall_weaken(struct wall *wall);

/* The command line that runs argv behind bubblewrap. Its entries are in the wall or in `argv`. The
 * caller owns the list, and its texts from *made on. `filter` is the descriptor of a seccomp
 * program. */
struct wall_command {
    VEC(char *) argv;
    VEC(char *) made;
};
void wall_command_make(const struct wall *wall, char *const *argv, int filter,
                       struct wall_command *command);
void wall_command_free(struct wall_command *command);

#endif
