/* SPDX-License-Identifier: Apache-2.0 */
/* What a child sees of hone's environment: a list of what programs need to run and to compute as
 * hone does, unless its spec asks for more. No list has keys, agents' sockets or tokens. */
#include "loop/handles.h"

extern char **environ;

/* A name, or, before a star, the beginning of names. */
static const char *const harmless[] = {
    /* Who and where. */
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR",
    "XDG_CACHE_HOME",
    /* Which libraries and which Python. */
    "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "PYTHONPATH",
    "PYTHONHOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE", "PYTHONHASHSEED", "VIRTUAL_ENV",
    "CONDA_PREFIX", "PYENV_ROOT", "PYENV_VERSION",
    /* How numbers are computed: the same in hone and in its children. */
    "OPENBLAS_*", "GOTO_NUM_THREADS", "OMP_*", "KMP_*", "GOMP_*", "MKL_*", "BLIS_*", "NPY_*",
    "NUMEXPR_*", "VECLIB_MAXIMUM_THREADS", "MALLOC_ARENA_MAX",
    /* The device's tools. */
    "NEURON_*", "NKI_*",
    /* Programs built for tests. */
    "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LLVM_PROFILE_FILE", "GCOV_PREFIX",
    "GCOV_PREFIX_STRIP", NULL};

/* Whether `names` has the name of an entry. */
static bool is_named(const char *entry, const char *const *names) {
    size_t len = strcspn(entry, "=");
    for (; names && *names; names++) {
        size_t stem = strcspn(*names, "*");
        bool same = (*names)[stem] ? len >= stem : len == stem;
        if (same && strncmp(entry, *names, stem) == 0)
            return true;
    }
    return false;
}

static bool is_changed(const char *entry, const char *const *changes) {
    size_t len = strcspn(entry, "=");
    for (; changes && *changes; changes++)
        if (strcspn(*changes, "=") == len && strncmp(entry, *changes, len) == 0)
            return true;
    return false;
}

static bool is_seen(const char *entry, const struct loop_child_spec *spec) {
    return spec->environment == LOOP_WHOLE || is_named(entry, harmless) ||
           is_named(entry, spec->pass);
}

char **loop_make_environment(const struct loop_child_spec *spec) {
    VEC(char *) env = {0};
    char *const *walls = spec->wall ? spec->wall->environment : NULL;
    union {
        char *const *in;
        const char *const *out;
    } names = {walls};
    for (char **entry = environ; entry && *entry; entry++)
        if (is_seen(*entry, spec) && !is_changed(*entry, spec->env) &&
            !is_changed(*entry, names.out))
            *vec_push(&env) = *entry;
    for (; walls && *walls; walls++)
        *vec_push(&env) = *walls;
    for (const char *const *change = spec->env; change && *change; change++) {
        union {
            const char *in;
            char *out;
        } text = {*change}; /* exec takes pointers without const */
        if (strchr(*change, '='))
            *vec_push(&env) = text.out;
    }
    *vec_push(&env) = NULL;
    return env.at;
}
