/* SPDX-License-Identifier: Apache-2.0 */
/* SSH by the system's own client. */
#ifndef HONE_TRANSPORT_CLIENT_H
#define HONE_TRANSPORT_CLIENT_H

#include "transport/wire/wire.h"

/* A private folder with the ssh_config that hone's children of ssh read: first what hone insists
 * on, then the user's. Its path is short, because it holds a socket. */
struct transport_route;
struct client_folder {
    char path[40];     /* "" when there is none */
    int lock;          /* held while in use, because others remove folders that are not; or -1 */
    struct buf config; /* path of that ssh_config */
};
bool client_folder_make(struct client_folder *folder, const struct transport_route *route,
                        struct err *err) CC_MUST_USE;
void client_folder_remove(struct client_folder *folder);
char *client_folder_file(const struct client_folder *folder, const char *name) CC_MUST_USE;
/* The command line: ssh -F config, `more` (ends with NULL), what the user set outside ssh_config,
 * the name. The caller frees the words and the array. */
char **client_command_line(const struct client_folder *folder, const struct transport_route *route,
                           const char *const *more) CC_MUST_USE;
void client_free_words(char **words);

extern const struct transport_ops transport_client_ops;

#endif
