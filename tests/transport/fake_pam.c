/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for libpam in an sshd under test (LD_PRELOAD), so that passwords and questions can be
 * tried without an account. It asks for a password. Where the conversation can show what is typed
 * (keyboard-interactive), it also asks for a code. The names and numbers are those of
 * <security/pam_appl.h>. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/fake_pam.h"

enum {
    SUCCESS = 0,
    AUTH_ERR = 7,
    CONV_ERR = 19,
    ECHO_OFF = 1,
    ECHO_ON = 2,
    ITEM_CONV = 5,
    ITEM_USER = 2
};

struct pam_message {
    int style;
    const char *text;
};
struct pam_response {
    char *text;
    int unused;
};
struct pam_conv {
    int (*talk)(int count, const struct pam_message **messages, struct pam_response **responses,
                void *data);
    void *data;
};
struct pam_handle {
    char user[64];
    struct pam_conv conv;
};

int pam_start(const char *service, const char *user, const struct pam_conv *conv,
              struct pam_handle **handle);
int pam_end(struct pam_handle *handle, int status);
int pam_authenticate(struct pam_handle *handle, int flags);
int pam_acct_mgmt(struct pam_handle *handle, int flags);
int pam_chauthtok(struct pam_handle *handle, int flags);
int pam_open_session(struct pam_handle *handle, int flags);
int pam_close_session(struct pam_handle *handle, int flags);
int pam_setcred(struct pam_handle *handle, int flags);
int pam_get_item(const struct pam_handle *handle, int type, const void **item);
int pam_set_item(struct pam_handle *handle, int type, const void *item);
int pam_putenv(struct pam_handle *handle, const char *setting);
char **pam_getenvlist(struct pam_handle *handle);
const char *pam_strerror(struct pam_handle *handle, int status);

/* True when the conversation took place. *right: the answer was right. */
static int ask(struct pam_handle *handle, int style, const char *text, const char *expected,
               int *right) {
    struct pam_message message = {style, text};
    const struct pam_message *messages = &message;
    struct pam_response *response = NULL;
    if (handle->conv.talk(1, &messages, &response, handle->conv.data) != SUCCESS || !response)
        return 0;
    *right = response->text && strcmp(response->text, expected) == 0;
    free(response->text);
    free(response);
    return 1;
}

int pam_authenticate(struct pam_handle *handle, int flags) {
    int right = 0;
    (void)flags;
    if (!ask(handle, ECHO_OFF, "Password: ", FAKE_PASSWORD, &right))
        return CONV_ERR;
    if (!right)
        return AUTH_ERR;
    if (ask(handle, ECHO_ON, "Code: ", FAKE_CODE, &right) && !right)
        return AUTH_ERR;
    return SUCCESS;
}

int pam_start(const char *service, const char *user, const struct pam_conv *conv,
              struct pam_handle **handle) {
    (void)service;
    *handle = calloc(1, sizeof **handle);
    if (!*handle)
        return CONV_ERR;
    snprintf((*handle)->user, sizeof(*handle)->user, "%s", user ? user : "");
    (*handle)->conv = *conv;
    return SUCCESS;
}

int pam_end(struct pam_handle *handle, int status) {
    (void)status;
    free(handle);
    return SUCCESS;
}

int pam_get_item(const struct pam_handle *handle, int type, const void **item) {
    *item = type == ITEM_USER ? handle->user : NULL;
    return SUCCESS;
}

int pam_set_item(struct pam_handle *handle, int type, const void *item) {
    if (type == ITEM_CONV)
        handle->conv = *(const struct pam_conv *)item;
    return SUCCESS;
}

int pam_acct_mgmt(struct pam_handle *handle, int flags) {
    (void)handle, (void)flags;
    return SUCCESS;
}

int pam_chauthtok(struct pam_handle *handle, int flags) {
    (void)handle, (void)flags;
    return SUCCESS;
}

int pam_open_session(struct pam_handle *handle, int flags) {
    (void)handle, (void)flags;
    return SUCCESS;
}

int pam_close_session(struct pam_handle *handle, int flags) {
    (void)handle, (void)flags;
    return SUCCESS;
}

int pam_setcred(struct pam_handle *handle, int flags) {
    (void)handle, (void)flags;
    return SUCCESS;
}

int pam_putenv(struct pam_handle *handle, const char *setting) {
    (void)handle, (void)setting;
    return SUCCESS;
}

char **pam_getenvlist(struct pam_handle *handle) {
    (void)handle;
    return calloc(1, sizeof(char *));
}

const char *pam_strerror(struct pam_handle *handle, int status) {
    (void)handle;
    return status == SUCCESS ? "Success" : "Authentication failure";
}
