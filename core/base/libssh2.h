/* SPDX-License-Identifier: Apache-2.0 */
/* libssh2, which is loaded when a host is spoken with: it brings OpenSSL along. */
#ifndef HONE_BASE_LIBSSH2_H
#define HONE_BASE_LIBSSH2_H

#include <libssh2.h>

#include "base/os/library.h"

#ifdef HONE_LATE_LIBRARIES
#if LIBSSH2_VERSION_NUM >= 0x010b01
#define LIBSSH2_SET_CALLBACK(X) X(libssh2_session_callback_set2)
#else
#define LIBSSH2_SET_CALLBACK(X) X(libssh2_session_callback_set)
#endif
#define LIBSSH2_FUNCTIONS(X)                    \
    X(libssh2_channel_close)                    \
    X(libssh2_channel_eof)                      \
    X(libssh2_channel_free)                     \
    X(libssh2_channel_get_exit_signal)          \
    X(libssh2_channel_get_exit_status)          \
    X(libssh2_channel_open_ex)                  \
    X(libssh2_channel_process_startup)          \
    X(libssh2_channel_read_ex)                  \
    X(libssh2_channel_send_eof)                 \
    X(libssh2_channel_wait_closed)              \
    X(libssh2_channel_write_ex)                 \
    X(libssh2_exit)                             \
    X(libssh2_free)                             \
    X(libssh2_hostkey_hash)                     \
    X(libssh2_init)                             \
    X(libssh2_knownhost_addc)                   \
    X(libssh2_knownhost_check)                  \
    X(libssh2_knownhost_free)                   \
    X(libssh2_knownhost_init)                   \
    LIBSSH2_SET_CALLBACK(X)                     \
    X(libssh2_session_disconnect_ex)            \
    X(libssh2_session_free)                     \
    X(libssh2_session_handshake)                \
    X(libssh2_session_hostkey)                  \
    X(libssh2_session_init_ex)                  \
    X(libssh2_session_last_errno)               \
    X(libssh2_session_last_error)               \
    X(libssh2_session_method_pref)              \
    X(libssh2_session_set_blocking)             \
    X(libssh2_userauth_authenticated)           \
    X(libssh2_userauth_keyboard_interactive_ex) \
    X(libssh2_userauth_list)                    \
    X(libssh2_userauth_password_ex)             \
    X(libssh2_userauth_publickey)               \
    X(libssh2_userauth_publickey_frommemory)    \
    X(libssh2_version)
OS_LIBRARY(libssh2, LIBSSH2_FUNCTIONS)

#define libssh2_channel_close libssh2()->libssh2_channel_close
#define libssh2_channel_eof libssh2()->libssh2_channel_eof
#define libssh2_channel_free libssh2()->libssh2_channel_free
#define libssh2_channel_get_exit_signal libssh2()->libssh2_channel_get_exit_signal
#define libssh2_channel_get_exit_status libssh2()->libssh2_channel_get_exit_status
#define libssh2_channel_open_ex libssh2()->libssh2_channel_open_ex
#define libssh2_channel_process_startup libssh2()->libssh2_channel_process_startup
#define libssh2_channel_read_ex libssh2()->libssh2_channel_read_ex
#define libssh2_channel_send_eof libssh2()->libssh2_channel_send_eof
#define libssh2_channel_wait_closed libssh2()->libssh2_channel_wait_closed
#define libssh2_channel_write_ex libssh2()->libssh2_channel_write_ex
#define libssh2_exit libssh2()->libssh2_exit
#define libssh2_free libssh2()->libssh2_free
#define libssh2_hostkey_hash libssh2()->libssh2_hostkey_hash
#define libssh2_init libssh2()->libssh2_init
#define libssh2_knownhost_addc libssh2()->libssh2_knownhost_addc
#define libssh2_knownhost_check libssh2()->libssh2_knownhost_check
#define libssh2_knownhost_free libssh2()->libssh2_knownhost_free
#define libssh2_knownhost_init libssh2()->libssh2_knownhost_init
#define libssh2_session_callback_set libssh2()->libssh2_session_callback_set
#define libssh2_session_callback_set2 libssh2()->libssh2_session_callback_set2
#define libssh2_session_disconnect_ex libssh2()->libssh2_session_disconnect_ex
#define libssh2_session_free libssh2()->libssh2_session_free
#define libssh2_session_handshake libssh2()->libssh2_session_handshake
#define libssh2_session_hostkey libssh2()->libssh2_session_hostkey
#define libssh2_session_init_ex libssh2()->libssh2_session_init_ex
#define libssh2_session_last_errno libssh2()->libssh2_session_last_errno
#define libssh2_session_last_error libssh2()->libssh2_session_last_error
#define libssh2_session_method_pref libssh2()->libssh2_session_method_pref
#define libssh2_session_set_blocking libssh2()->libssh2_session_set_blocking
#define libssh2_userauth_authenticated libssh2()->libssh2_userauth_authenticated
#define libssh2_userauth_keyboard_interactive_ex libssh2()->libssh2_userauth_keyboard_interactive_ex
#define libssh2_userauth_list libssh2()->libssh2_userauth_list
#define libssh2_userauth_password_ex libssh2()->libssh2_userauth_password_ex
#define libssh2_userauth_publickey libssh2()->libssh2_userauth_publickey
#define libssh2_userauth_publickey_frommemory libssh2()->libssh2_userauth_publickey_frommemory
#define libssh2_version libssh2()->libssh2_version
#endif

#endif
