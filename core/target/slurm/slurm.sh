#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What hone does with Slurm, on the machine that has its commands and in the job itself.
#
#   tool DIR ARGV...                a command of Slurm's as it is
#   submit DIR FOLDER TRY ARGV...   hands in the job of the folder by sbatch ARGV, once for each TRY
#   cancel DIR FOLDER...            ends what was handed in for the folders
#   explain DIR FOLDER JOB          what the cluster remembers of a job, and the end of its output
#   run DIR ARGV...                 in the job, on its node
#
# DIR is where Slurm's commands are ("": they are looked for). Answers begin with "@hone ". The
# folder remembers: slurm.json (the job's number), slurm.sent (a try that may have reached the
# cluster), slurm.cancelled. A job is only ever touched by its number and its name together.
set -u

verb=$1 dir=$2
[ "$verb" = run ] && { shift 2; exec "$@"; }

# Slurm's commands are often on the path of login shells alone.
PATH=${dir:+$dir:}$PATH:/opt/slurm/bin:/usr/local/slurm/bin
if ! command -v sbatch >/dev/null; then
    [ -z "${HONE_LOGIN:-}" ] || {
        echo "there is no sbatch on $(uname -n), neither on the path nor in /opt/slurm/bin" >&2
        exit 127
    }
    shell=$(command -v bash || echo /bin/sh)
    # shellcheck disable=SC2016 # the login shell expands it
    HONE_LOGIN=1 exec "$shell" -lc 'exec /bin/sh "$0" "$@"' "$0" "$@"
fi
unset HONE_LOGIN
shift 2

me=$(id -un)

# name_of FOLDER TRY: sets name.
name_of() {
    name=hone-${1##*/}
    [ "$2" -le 1 ] || name=$name-$2
}

# recall FOLDER: reads slurm.json into job and try; false when there is none.
recall() {
    line=
    [ -s "$1/slurm.json" ] && IFS= read -r line <"$1/slurm.json"
    job=${line#*\"job\":} try=${line#*\"try\":}
    job=${job%%[!0-9]*} try=${try%%[!0-9]*}
    [ -n "$job" ] && [ -n "$try" ]
}

# complain FILE: what a command said, as one line.
complain() {
    sed -e 's/^[a-z]*: //' -e 's/^error: //' -e '/^Try "/d' -e '/^ *$/d' "$1" |
        paste -s -d ';' - >&2
}

# find_sent FOLDER NAME: the number of a job that was handed in without an answer, into job.
find_sent() {
    job=
    [ -e "$1/slurm.sent" ] || return 0
    job=$(squeue --noheader --user="$me" --name="$2" --format=%A \
                 --states=PENDING,CONFIGURING,RUNNING,SUSPENDED) || return 1
    job=$(printf '%s\n' "$job" | sed -n 's/^\([0-9][0-9]*\) *$/\1/p' | head -n 1)
}

# hand_in FOLDER ARGV...: sets job.
hand_in() {
    into=$1
    shift
    printf '%s\n' "$wanted" >"$into/slurm.sent" || return 1
    sbatch --job-name="$name" "$@" >"$into/slurm.said" 2>"$into/slurm.err" || {
        status=$?
        complain "$into/slurm.err"
        return "$status"
    }
    job=$(sed -n 's/^\([0-9][0-9]*\)\(;.*\)\{0,1\}$/\1/p' "$into/slurm.said" | tail -n 1)
    [ -n "$job" ] || {
        echo "sbatch did not tell the job's number, but: $(tail -n 1 "$into/slurm.said")" >&2
        return 1
    }
}

submit() {
    folder=$1 wanted=$2
    shift 2
    # One at a time: what an earlier connection began may still wait for the controller.
    exec 9>"$folder/slurm.lock" || return
    ! command -v flock >/dev/null || flock -w 40 9 || {
        echo "an earlier sbatch for this job still waits for an answer: Socket timed out" >&2
        return 1
    }
    [ ! -e "$folder/slurm.cancelled" ] || rm -f "$folder"/slurm.json "$folder"/slurm.cancelled
    known=true
    if ! recall "$folder" || [ "$try" -lt "$wanted" ]; then
        known=false try=$wanted
        name_of "$folder" "$wanted"
        find_sent "$folder" "$name" || return
        [ -n "$job" ] || hand_in "$folder" "$@" || return
        printf '{"job":%s,"try":%s,"name":"%s"}\n' "$job" "$try" "$name" >"$folder/slurm.json.$$" &&
            mv -f "$folder/slurm.json.$$" "$folder/slurm.json" || return
        rm -f "$folder/slurm.sent"
        [ ! -e "$folder/slurm.cancelled" ] || end_job "$folder"
    fi
    printf '@hone {"event":"submitted","job":%s,"try":%s,"known":%s}\n' "$job" "$try" "$known"
}

# end_job FOLDER: the job is ours by number and name; one that is over already is no failure.
end_job() {
    if recall "$1"; then
        name_of "$1" "$try"
        set -- "$1" "$job"
    elif [ -e "$1/slurm.sent" ]; then
        IFS= read -r try <"$1/slurm.sent"
        name_of "$1" "${try:-1}"
    else
        return 0
    fi
    into=$1
    shift
    scancel --user="$me" --name="$name" "$@" 2>"$into/slurm.err" && return
    ! grep -q -e 'already complet' -e 'Invalid job id' "$into/slurm.err" || return 0
    complain "$into/slurm.err"
    return 1
}

cancel() {
    failed=0
    for folder in "$@"; do
        [ -d "$folder" ] || continue
        : >"$folder/slurm.cancelled"
        end_job "$folder" || failed=1
    done
    return "$failed"
}

explain() {
    found=$(scontrol --oneliner show job "$2" 2>/dev/null | head -n 1)
    case $found in
    *"JobName=hone-${1##*/}"*) printf 'scontrol %s\n' "$found" ;;
    *)
        found=$(sacct --noheader --parsable2 --allocations --jobs="$2" \
                      --format=State,ExitCode,NodeList 2>/dev/null | tail -n 1)
        [ -z "$found" ] || printf 'sacct %s\n' "$found" ;;
    esac
    [ ! -f "$1/slurm.out" ] || tail -c 4000 "$1/slurm.out" | sed 's/^/out /'
}

case $verb in
tool) exec "$@" ;;
submit | cancel | explain) "$verb" "$@" ;;
*)
    echo "hone asked for \"$verb\", which this script does not do" >&2
    exit 2 ;;
esac
