/* SPDX-License-Identifier: Apache-2.0 */
/* A wall around a child: which files it reaches, that it has no network, and that all it starts
 * ends with it. What a system can do differs, so there are levels; the strongest that works is
 * taken. */
#ifndef HONE_BASE_WALL_H
#define HONE_BASE_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/kit/kit.h"

/* Ascending. */
enum wall_level {
    WALL_NONE,
    WALL_LIMITS,     /* limits of time, memory and files; what it started is ended */
    WALL_LANDLOCK,   /* also: files and network by Landlock and seccomp */
    WALL_NAMESPACES, /* file system, processes and network of its own, made by hone */
    WALL_BUBBLEWRAP, /* the same, made by bubblewrap */
};
/* "none", "limits", ... */
const char *wall_name(enum wall_level level);

enum wall_use {
    WALL_READ,
    WALL_WRITE,
    WALL_LIST, /* only the names in a folder, some of which are shown */
    WALL_HIDE, /* an empty folder stands there, where the level can */
};
struct wall_place {
    char *source, *path; /* without links; as it is seen behind the wall */
    enum wall_use use;
};
struct wall {
    enum wall_level level;
    VEC(struct wall_place) places; /* later ones stand over earlier ones */
    char *here;                    /* the folder the child starts in */
    char *folder;                  /* HOME and TMPDIR behind the wall: of the wall's own, empty */
    bool owns_folder;              /* it is a real folder, removed with the wall */
    char *environment[4];          /* "HOME=...", to be set for the child; ends with NULL */
    char *groups;        /* where one is made that counts processes, for root; NULL: nowhere */
    bool demanded;       /* this level or none */
    uint64_t file_bytes; /* of any file that is written */
    unsigned processes;  /* of this user, all of them; 0: the wall counts by itself */
};
#define WALL_FILE_BYTES ((uint64_t)8 << 30)    /* inputs of a kernel may be large */
#define WALL_SCRATCH_BYTES ((uint64_t)4 << 30) /* of /tmp, of /dev/shm */
/* Processes and threads behind a wall: libraries start some for each processor. */
unsigned wall_processes(void);

/* A wall that shows what every program needs of the system. Level none until wall_choose. */
struct wall *wall_new(void) CC_MUST_USE;
/* Removes the wall's own folder, too. Accepts NULL. */
void wall_free(struct wall *wall);
/* A file or folder to show; what is not there is left out. Relative paths count from here. */
void wall_add(struct wall *wall, const char *path, enum wall_use use);
/* A folder of the user's to read. Where it is or holds the home folder, what is in it is shown one
 * by one, without names that begin with a dot: keys lie there. hone's own sessions are never
 * shown. */
void wall_add_folder(struct wall *wall, const char *path);
/* Where a place is mounted; NULL: what was shown before it holds it. In a folder that is shown a
 * link is one as well, and what it leads to is shown where that lies: nothing is mounted on
 * links. */
const char *wall_goes_to(const struct wall *wall, size_t index);
/* The strongest level that works here, or the one of that name ("auto": the strongest); false and
 * *err (environment) with what is missing. Runs small programs of the system for some
 * milliseconds. */
bool wall_choose(struct wall *wall, const char *wanted, struct err *err);

/* The next weaker level, after the present one could not be set up for a child; false where it was
 * demanded, or there is none. */
bool wall_weaken(struct wall *wall);

/* The command line that runs argv behind bubblewrap; entries live in the wall or in `argv`, the
 * list is the caller's, as are the texts from *made on. `filter` is the descriptor of a seccomp
 * program. */
struct wall_command {
    VEC(char *) argv;
    VEC(char *) made;
};
void wall_command_make(const struct wall *wall, char *const *argv, int filter,
                       struct wall_command *command);
void wall_command_free(struct wall_command *command);

#endif
