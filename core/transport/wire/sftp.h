/* SPDX-License-Identifier: Apache-2.0 */
/* Copying files over SFTP (version 3, draft-ietf-secsh-filexfer-02, with OpenSSH's extensions).
 * sftp.c speaks the protocol, sftp_copy.c carries one copy from beginning to end, sftp_put.c and
 * sftp_get.c move the bytes, and sftp_file.c reads and writes the local file on worker threads.
 * Private to the rooms of transport. */
#ifndef HONE_TRANSPORT_SFTP_H
#define HONE_TRANSPORT_SFTP_H

#include "transport/wire/inner.h"

#define SFTP_BLOCK ((size_t)1 << 20) /* bytes that a job reads or writes at once */

enum sftp_type {
    SFTP_INIT = 1,
    SFTP_VERSION = 2,
    SFTP_OPEN = 3,
    SFTP_CLOSE = 4,
    SFTP_READ = 5,
    SFTP_WRITE = 6,
    SFTP_FSTAT = 8,
    SFTP_FSETSTAT = 10,
    SFTP_REMOVE = 13,
    SFTP_MKDIR = 14,
    SFTP_RENAME = 18,
    SFTP_STATUS = 101,
    SFTP_HANDLE = 102,
    SFTP_DATA = 103,
    SFTP_ATTRS = 105,
    SFTP_EXTENDED = 200,
    SFTP_EXTENDED_REPLY = 201,
};
enum sftp_status {
    SFTP_OK = 0,
    SFTP_EOF = 1,
    SFTP_NO_SUCH_FILE = 2,
    SFTP_PERMISSION_DENIED = 3,
    SFTP_FAILURE = 4,
    SFTP_UNSUPPORTED = 8,
};

/* ------------------------------------------------------------------------------- local files */

/* A local file. Jobs do its work, one at a time, and changed(data) follows each. */
struct sftp_file {
    struct loop *loop;
    loop_fn *changed;
    void *data;
    char *path, *part;      /* part: where it is written until it gets its name */
    bool writes, make_dirs; /* make_dirs: missing folders are made, 0700 */
    int mode;               /* of a file that is written; 0: 0600 */
    int fd;
    uint64_t size;  /* of a file that is read */
    struct err err; /* of kind ERR_NONE while all is well */
    char *block;    /* what was read or is being written */
    size_t block_len;
    uint64_t block_at;
    bool opened, finished;
    bool busy, dropped;
    loop_fn *work;
};
/* Opens `path` for reading, or a file beside it for writing. */
struct sftp_file *sftp_file_open(const struct sftp_file *like) CC_MUST_USE;
/* Reads up to SFTP_BLOCK bytes from `at` into a new block. */
void sftp_file_read(struct sftp_file *file, uint64_t at);
/* Writes the block, which the file takes over. */
void sftp_file_write(struct sftp_file *file, char *block, size_t size, uint64_t at);
/* Gives the written file its name. */
void sftp_file_finish(struct sftp_file *file);
/* Frees it, at the latest when the present job ends. An unfinished file is removed. */
void sftp_file_drop(struct sftp_file *file);

/* ------------------------------------------------------------------------------- one copy */

struct sftp_block {
    char *at;
    size_t len;
    uint64_t offset;
};

struct sftp_task {
    struct transport_sftp *sftp;
    struct transport_copy *copy;
    struct sftp_file *file; /* NULL when data is put */
    char *part;             /* of a put: the remote name while it is written */
    char handle[256];
    size_t handle_len; /* 0: not open */
    bool part_there, folders_made, moving, local_open, finishing, failing, over;
    uint64_t size, next, done; /* bytes in all, asked for, moved */
    bool to_end;               /* a get of a file whose size is unknown */
    uint64_t window, flying, fastest_ns;
    unsigned in_flight;          /* requests without their replies */
    struct sftp_block block;     /* of a put: is being sent; of a get: is being filled */
    VEC(struct sftp_block) full; /* of a get: waits to be written */
    struct err why;
};

struct sftp_reply {
    uint8_t type;
    uint32_t status;    /* of SFTP_STATUS, otherwise SFTP_OK */
    struct str message; /* the server's own words */
    struct str body;    /* after the request's number */
};
struct sftp_request;
typedef void sftp_reply_fn(struct sftp_task *task, const struct sftp_request *request,
                           const struct sftp_reply *reply);
struct sftp_request {
    uint32_t id;
    struct sftp_task *task; /* NULL: nobody waits for it any more */
    sftp_reply_fn *fn;
    uint64_t offset, sent_ns;
    uint32_t size;
};

struct transport_sftp {
    struct transport *transport;
    struct transport_command *command; /* the channel; NULL when closed */
    bool ready, closing;
    struct buf in, out;
    size_t in_at;
    uint32_t next_id;
    uint32_t max_read, max_write; /* bytes in one request */
    bool posix_rename, statvfs;
    struct buf complaint; /* what the server said instead of speaking SFTP */
    VEC(struct sftp_request) requests;
    VEC(struct sftp_task *) tasks;
    struct loop_timer *idle;
};

/* Building a request: begin, parts, send. Strings go with their length in front. */
void sftp_begin(struct transport_sftp *sftp, enum sftp_type type);
void sftp_put_u32(struct transport_sftp *sftp, uint32_t value);
void sftp_put_u64(struct transport_sftp *sftp, uint64_t value);
void sftp_put_str(struct transport_sftp *sftp, const void *text, size_t size);
/* `tail` is sent after what was built, as the rest of the request. It may be empty. */
void sftp_send(struct transport_sftp *sftp, const struct sftp_request *request, struct str tail);
/* Reads a reply's body. False when it is too short. */
bool sftp_take_u32(struct str *body, uint32_t *value) CC_MUST_USE;
bool sftp_take_u64(struct str *body, uint64_t *value) CC_MUST_USE;
bool sftp_take_str(struct str *body, struct str *text) CC_MUST_USE;

/* The channel speaks SFTP now, so the task can begin. */
void sftp_task_start(struct sftp_task *task);
/* Ends the copy when nothing is under way and the remote leftovers are gone. */
void sftp_task_fail(struct sftp_task *task, const struct err *why);
/* The same, with the server's answer as the reason. `what` is "write", "open", ... */
void sftp_task_refused(struct sftp_task *task, const struct sftp_reply *reply, const char *what);
/* Called when a reply or a job of the task came in. A task that fails is cleaned up and ended. */
void sftp_task_settle(struct sftp_task *task);
void sftp_task_free(struct sftp_task *task);
/* Ends it at once, because the channel is gone. */
void sftp_task_cut(struct sftp_task *task, const struct err *why);
/* All bytes are where they belong. What remains is closing and naming. */
void sftp_task_moved(struct sftp_task *task);
/* A request of `size` bytes was answered. How long it took decides how many may be under way, so
 * that a slow line is not filled for minutes. */
void sftp_task_timed(struct sftp_task *task, const struct sftp_request *request);
/* The bytes of the next request; 0 when enough are under way. */
uint32_t sftp_task_room(const struct sftp_task *task, uint32_t most);
/* Moves what can move now. */
void sftp_put_pump(struct sftp_task *task);
void sftp_get_pump(struct sftp_task *task);

#endif
