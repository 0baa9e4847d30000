#!/bin/sh
# Bad input must end in the right words, with the right status, and leave nothing behind:
#   run_bad.sh PPSIM CASES [--update] [case...]
# A case is a folder: cmd (shell lines that call `ppsim`), its input files, error (stderr, exactly)
# and exit. cmd runs in a fresh scratch folder that holds copies of the input files; $CASE is the
# case's own folder. stdout must stay empty; no file may appear, change or vanish. A case with a file
# no_sanitizer (say, for `ulimit -v`) is left out under sanitizers.
set -u
LC_ALL=C
export LC_ALL

[ $# -ge 2 ] || { echo "usage: run_bad.sh PPSIM CASES [--update] [case...]" >&2; exit 2; }
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

# Name and content of all that is in the scratch folder.
inventory() {
    (cd "$work/scratch" && find . ! -type f ! -name . -print && find . -type f -exec cksum {} +) |
        sort
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
    (cd "$work/scratch" && rm -f cmd exit no_sanitizer error)
    inventory >"$work/before"
    (cd "$work/scratch" && CASE=$case sh "$case/cmd") >"$work/stdout" 2>"$work/error" </dev/null
    status=$?
    inventory >"$work/after"

    if [ "$update" = yes ]; then
        cmp -s "$work/error" "$case/error" || cp "$work/error" "$case/error"
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
    diff -u --label "$name/error" --label "now" "$expected" "$work/error" || bad=yes
    [ -s "$work/error" ] || { echo "--- nothing on stderr"; bad=yes; }
    [ ! -s "$work/stdout" ] || { echo "--- on stdout:"; head -n 5 "$work/stdout"; bad=yes; }
    diff -u --label "files before" --label "files after" "$work/before" "$work/after" || bad=yes
    if [ "$bad" = yes ]; then
        echo "FAILED bad/$name: $(head -n 1 "$case/cmd")"
        failed="$failed $name"
    fi
done

if [ -n "$failed" ]; then
    echo "bad: $(echo $failed | wc -w) of $count cases failed:$failed"
    exit 1
fi
[ "$count" -gt 0 ] || { echo "bad: no cases yet"; exit 77; }
echo "bad: $count cases as expected"
