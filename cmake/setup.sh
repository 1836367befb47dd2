# shellcheck shell=bash disable=SC2034
# Sourced by ./run and ./test: finds out what is missing, installs it, builds a preset.
# Nothing is installed, and no package manager asked, when all is there.

setup_say() {
    printf '%s\n' "$*" >&2
}

# What the build and the program need: "kind what package", kind p: pkg-config module, c: command,
# i: a C header, n: numpy for the Python that will run references, a: the authorities whose
# certificates are trusted, without which no service of models can be asked.
setup_table="
c cmake cmake
c ninja ninja-build
c pkg-config pkg-config
c cc gcc
i stdio.h libc6-dev
p ncursesw libncurses-dev
p libcurl libcurl4-openssl-dev
p libcjson libcjson-dev
p libssh2 libssh2-1-dev
p libpcre2-8 libpcre2-dev
p sqlite3 libsqlite3-dev
p libuv libuv1-dev
p openblas libopenblas-dev
p inih libinih-dev
p libxxhash libxxhash-dev
c python3 python3
n numpy python3-numpy
a certificates ca-certificates
"
setup_test_table="
p cmocka libcmocka-dev
p vterm libvterm-dev
c tmux tmux
c openssl openssl
c /usr/sbin/sshd openssh-server
c ssh openssh-client
c ip iproute2
c /usr/sbin/slurmctld slurm-wlm
c /usr/sbin/munged munge
c bwrap bubblewrap
c groff groff-base
c clang-format clang-format
"

setup_has_numpy() {
    local python
    # A look at Debian's folder first: importing numpy takes a tenth of a second.
    [ -x /usr/bin/python3 ] && [ -d /usr/lib/python3/dist-packages/numpy ] && return 0
    for python in ${HONE_PYTHON:+"$HONE_PYTHON"} python3 /usr/bin/python3 /usr/local/bin/python3; do
        command -v "$python" >/dev/null 2>&1 || continue
        "$python" -c 'import numpy' >/dev/null 2>&1 && return 0
    done
    return 1
}

# Where systems keep them; one that is not Linux brings its own.
setup_has_authorities() {
    local file
    [ "$(uname -s)" = Linux ] || return 0
    for file in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt \
        /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem "${SSL_CERT_FILE:-}"; do
        [ -n "$file" ] && [ -s "$file" ] && return 0
    done
    return 1
}

setup_is_there() {
    case $1 in
    c) command -v "$2" >/dev/null 2>&1 ;;
    p) command -v pkg-config >/dev/null 2>&1 && pkg-config --exists "$2" ;;
    i) [ -e "/usr/include/$2" ] || [ "$(uname -s)" != Linux ] ;;
    n) setup_has_numpy ;;
    a) setup_has_authorities ;;
    esac
}

# setup_missing TABLE: names of the packages whose part is not there.
setup_missing() {
    local kind what package missing=""
    while read -r kind what package; do
        [ -n "$kind" ] || continue
        setup_is_there "$kind" "$what" || missing="$missing $package"
    done <<<"$1"
    printf '%s' "$missing"
}

setup_install() {
    local sudo=""
    if ! command -v apt-get >/dev/null 2>&1; then
        setup_say "hone needs these packages (Debian's names):$*"
        setup_say "Install them with your package manager and start again."
        exit 3
    fi
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 || {
            setup_say "hone needs:$*"
            setup_say "Run as root:  apt-get install$*"
            exit 3
        }
        sudo=sudo
    fi
    setup_say "installing:$*"
    export DEBIAN_FRONTEND=noninteractive
    # The lists on the machine may do; if not, fetch them and try once more.
    $sudo apt-get install -y --no-install-recommends "$@" >/dev/null 2>&1 && return
    $sudo apt-get update >&2 || {
        setup_say "apt-get update failed: is there a network, and are the package sources right?"
        exit 3
    }
    $sudo apt-get install -y --no-install-recommends "$@" >&2 || {
        setup_say "could not install:$*"
        exit 3
    }
}

# setup_packages TABLE: installs what is missing of the table.
setup_packages() {
    local missing
    missing=$(setup_missing "$1")
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2086 # package names, one word each
    setup_install $missing
}

# setup_build PRESET: configures once, builds; quiet unless it fails.
setup_build() {
    local log status
    log=$(mktemp "${TMPDIR:-/tmp}/hone-build.XXXXXX")
    if [ ! -e "build/$1/build.ninja" ]; then
        setup_say "building hone ($1)…"
        cmake --preset "$1" >"$log" 2>&1
        status=$?
    else
        status=0
    fi
    if [ "$status" -eq 0 ]; then
        cmake --build --preset "$1" >"$log" 2>&1
        status=$?
    fi
    if [ "$status" -ne 0 ]; then
        cat "$log" >&2
        setup_say "the build failed; its whole output is above"
        rm -f "$log"
        exit 3
    fi
    rm -f "$log"
}
