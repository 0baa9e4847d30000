#!/bin/sh
# The command line against what it printed last time:
#   run_golden.sh PPSIM CASES [--update] [case...]
# A case is a folder: cmd (shell lines that call `ppsim`), and what they must give:
#   stdout.exact or stdout.glob, stderr.exact or stderr.glob (absent: nothing), exit (absent: 0).
# Everything else in the folder is copied to the fresh scratch folder in which cmd runs; $CASE is
# the case's own folder. In a .glob every line is a shell pattern; a line `...` stands for any
# number of lines. --update rewrites .exact and exit, and tells which .glob no longer match.
# A case with a file no_sanitizer is left out under sanitizers.
set -u
LC_ALL=C
export LC_ALL

[ $# -ge 2 ] || { echo "usage: run_golden.sh PPSIM CASES [--update] [case...]" >&2; exit 2; }
PATH=$(cd "$(dirname "$1")" && pwd):$PATH
export PATH
cases=$(cd "$2" && pwd) || exit 2
shift 2
update=no
if [ "${1:-}" = --update ]; then
    update=yes
    shift
fi
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM

# glob_match PATTERNS TEXT: does the file TEXT follow the file PATTERNS?
glob_match() {
    exec 3<"$1" 4<"$2"
    skipping=no
    while IFS= read -r pattern <&3 || [ -n "$pattern" ]; do
        if [ "$pattern" = ... ]; then
            skipping=yes
            continue
        fi
        while :; do
            IFS= read -r line <&4 || [ -n "$line" ] || return 1
            # shellcheck disable=SC2254 # a pattern on purpose
            case $line in $pattern) break ;; esac
            [ "$skipping" = yes ] || return 1
        done
        skipping=no
    done
    [ "$skipping" = yes ] || ! { IFS= read -r line <&4 || [ -n "$line" ]; }
}

# compare STREAM: the file $work/STREAM against the case's expectation
compare() {
    if [ -e "$case/$1.glob" ]; then
        if ! (glob_match "$case/$1.glob" "$work/$1"); then
            echo "--- $1 does not match $name/$1.glob:"
            cat "$work/$1"
            bad=yes
        fi
    elif [ "$update" = yes ]; then
        if [ -s "$work/$1" ]; then
            cmp -s "$work/$1" "$case/$1.exact" || cp "$work/$1" "$case/$1.exact"
        else
            rm -f "$case/$1.exact"
        fi
    else
        expected=$case/$1.exact
        [ -e "$expected" ] || expected=/dev/null
        if ! diff -u --label "$name/$1.exact" --label "now" "$expected" "$work/$1"; then
            bad=yes
        fi
    fi
}

failed=
count=0
if [ $# -eq 0 ]; then
    set -- "$cases"/*/
    [ -d "$1" ] || shift
fi
for case in "$@"; do
    name=$(basename "$case")
    case=$cases/$name
    [ -d "$case" ] || { echo "no case $name" >&2; exit 2; }
    if [ -n "${PPSIM_SANITIZE:-}" ] && [ -e "$case/no_sanitizer" ]; then
        continue
    fi
    count=$((count + 1))
    bad=no
    if [ ! -f "$case/cmd" ]; then
        echo "$name has no cmd"
        failed="$failed $name"
        continue
    fi
    rm -rf "$work/scratch"
    cp -R "$case" "$work/scratch"
    (cd "$work/scratch" && rm -f cmd exit no_sanitizer stdout.exact stdout.glob stderr.exact stderr.glob)
    (cd "$work/scratch" && CASE=$case sh "$case/cmd") >"$work/stdout" 2>"$work/stderr" </dev/null
    status=$?
    compare stdout
    compare stderr
    expected=0
    [ -e "$case/exit" ] && expected=$(cat "$case/exit")
    if [ "$status" != "$expected" ]; then
        if [ "$update" = yes ]; then
            if [ "$status" -eq 0 ]; then rm -f "$case/exit"; else echo "$status" >"$case/exit"; fi
        else
            echo "--- exit status $status, expected $expected"
            bad=yes
        fi
    fi
    if [ "$bad" = yes ]; then
        echo "FAILED golden/$name: $(head -n 1 "$case/cmd")"
        failed="$failed $name"
    fi
done

if [ -n "$failed" ]; then
    echo "golden: $(echo $failed | wc -w) of $count cases failed:$failed"
    exit 1
fi
[ "$count" -gt 0 ] || { echo "golden: no cases yet"; exit 77; }
echo "golden: $count cases as expected"
