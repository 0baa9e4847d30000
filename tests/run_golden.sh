#!/bin/sh
# The command line against what it printed last time:
#   run_golden.sh PPSIM CASES [--update] [case...]
# A case (see cases.sh) holds cmd, its input files and what cmd must give:
#   stdout.exact or stdout.glob, stderr.exact or stderr.glob (absent: nothing), exit (absent: 0).
# In a .glob every line is a shell pattern; a line `...` stands for any number of lines. --update
# rewrites .exact and exit, and tells which .glob no longer match.
# shellcheck source=tests/cases.sh disable=SC2034
. "$(dirname "$0")/cases.sh"
kind=golden
thinning=8
verdicts='stdout.exact stdout.glob stderr.exact stderr.glob'

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

judge() {
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
}

run_cases "$@"
