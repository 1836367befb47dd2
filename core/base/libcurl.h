/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl, which is loaded when a model is asked: it brings 27 libraries along. */
#ifndef HONE_BASE_LIBCURL_H
#define HONE_BASE_LIBCURL_H

#include "base/os/library.h"

#ifdef HONE_LATE_LIBRARIES
#define CURL_DISABLE_TYPECHECK
#endif
#include <curl/curl.h>

#ifdef HONE_LATE_LIBRARIES
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#define LIBCURL_FUNCTIONS(X)    \
    X(curl_easy_cleanup)        \
    X(curl_easy_getinfo)        \
    X(curl_easy_init)           \
    X(curl_easy_perform)        \
    X(curl_easy_setopt)         \
    X(curl_easy_strerror)       \
    X(curl_free)                \
    X(curl_getdate)             \
    X(curl_global_init_mem)     \
    X(curl_multi_add_handle)    \
    X(curl_multi_assign)        \
    X(curl_multi_cleanup)       \
    X(curl_multi_info_read)     \
    X(curl_multi_init)          \
    X(curl_multi_remove_handle) \
    X(curl_multi_setopt)        \
    X(curl_multi_socket_action) \
    X(curl_slist_append)        \
    X(curl_slist_free_all)      \
    X(curl_url)                 \
    X(curl_url_cleanup)         \
    X(curl_url_get)             \
    X(curl_url_set)             \
    X(curl_version_info)
OS_LIBRARY(libcurl, LIBCURL_FUNCTIONS)

#define curl_easy_cleanup libcurl()->curl_easy_cleanup
#define curl_easy_getinfo libcurl()->curl_easy_getinfo
#define curl_easy_init libcurl()->curl_easy_init
#define curl_easy_perform libcurl()->curl_easy_perform
#define curl_easy_setopt libcurl()->curl_easy_setopt
#define curl_easy_strerror libcurl()->curl_easy_strerror
#define curl_free libcurl()->curl_free
#define curl_getdate libcurl()->curl_getdate
#define curl_global_init_mem libcurl()->curl_global_init_mem
#define curl_multi_add_handle libcurl()->curl_multi_add_handle
#define curl_multi_assign libcurl()->curl_multi_assign
#define curl_multi_cleanup libcurl()->curl_multi_cleanup
#define curl_multi_info_read libcurl()->curl_multi_info_read
#define curl_multi_init libcurl()->curl_multi_init
#define curl_multi_remove_handle libcurl()->curl_multi_remove_handle
#define curl_multi_setopt libcurl()->curl_multi_setopt
#define curl_multi_socket_action libcurl()->curl_multi_socket_action
#define curl_slist_append libcurl()->curl_slist_append
#define curl_slist_free_all libcurl()->curl_slist_free_all
#define curl_url libcurl()->curl_url
#define curl_url_cleanup libcurl()->curl_url_cleanup
#define curl_url_get libcurl()->curl_url_get
#define curl_url_set libcurl()->curl_url_set
#define curl_version_info libcurl()->curl_version_info
#endif

#endif
