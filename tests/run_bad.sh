#!/bin/sh
# Bad input must end in the right words, with the right status, and leave nothing behind:
#   run_bad.sh PPSIM CASES [--update] [case...]
# A case (see cases.sh) holds cmd, its input files, error (stderr, exactly) and exit. stdout must
# stay empty; no file may appear, change or vanish.
# shellcheck source=tests/cases.sh disable=SC2034
. "$(dirname "$0")/cases.sh"
kind=bad
thinning=6
verdicts=error

judge() {
    if [ "$update" = yes ]; then
        cmp -s "$work/stderr" "$case/error" || cp "$work/stderr" "$case/error"
        echo "$status" | cmp -s - "$case/exit" || echo "$status" >"$case/exit"
    fi
    if [ "$status" -eq 0 ] || [ "$status" -gt 6 ]; then
        echo "--- exit status $status is not one of a failure (1 to 6)"
        bad=yes
    elif [ "$status" != "$(cat "$case/exit" 2>/dev/null)" ]; then
        echo "--- exit status $status, expected $(cat "$case/exit" 2>&1)"
        bad=yes
    fi
    expected=$case/error
    [ -e "$expected" ] || expected=/dev/null
    diff -u --label "$name/error" --label "now" "$expected" "$work/stderr" || bad=yes
    [ -s "$work/stderr" ] || { echo "--- nothing on stderr"; bad=yes; }
    [ ! -s "$work/stdout" ] || { echo "--- on stdout:"; head -n 5 "$work/stdout"; bad=yes; }
    diff -u --label "files before" --label "files after" "$work/before" "$work/after" || bad=yes
}

run_cases "$@"
