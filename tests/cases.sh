# shellcheck shell=sh
# What run_bad.sh and run_golden.sh share: a case is a folder whose cmd (shell lines that call
# `ppsim`) runs in a fresh scratch folder with copies of the case's other files; $CASE is the case's
# own folder. A case with a file no_sanitizer (say, for `ulimit -v`) is left out under sanitizers.
# Sourced with the runner's arguments: PPSIM CASES [--update] [--part K/N] [case...]. --part takes the K-th of
# N parts of all cases, counted from 0. Under sanitizers and in a quick run one case in $thinning is tried, by PPSIM_TEST_SEED,
# unless PPSIM_TEST_LONG is set. The runner sets
#   kind      its name in messages
#   thinning  see above
#   verdicts  files of a case that cmd must not see
# and defines judge, which looks at $status, $work/stdout, $work/stderr, $work/before and
# $work/after (name and content of all in the scratch folder), says what is wrong and sets bad=yes.
set -u
LC_ALL=C
export LC_ALL

[ $# -ge 2 ] || { echo "usage: $0 PPSIM CASES [--update] [case...]" >&2; exit 2; }
PATH=$(cd "$(dirname "$1")" && pwd):$PATH
export PATH
cases=$(cd "$2" && pwd) || exit 2
shift 2
update=no
if [ "${1:-}" = --update ]; then
    update=yes
    shift
fi
part=0/1
if [ "${1:-}" = --part ]; then
    part=$2
    shift 2
fi
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM

inventory() {
    (cd "$work/scratch" && find . ! -type f ! -name . -print && find . -type f -exec cksum {} +) |
        sort
}

# run_case: runs $case and has it judged; bad tells the outcome
run_case() {
    bad=no
    if [ ! -f "$case/cmd" ]; then
        echo "--- $name has no cmd"
        bad=yes
        return
    fi
    rm -rf "$work/scratch"
    cp -R "$case" "$work/scratch"
    # shellcheck disable=SC2086 # a list of names
    (cd "$work/scratch" && rm -f cmd exit no_sanitizer $verdicts)
    inventory >"$work/before"
    (cd "$work/scratch" && CASE=$case sh "$case/cmd") >"$work/stdout" 2>"$work/stderr" </dev/null
    status=$?
    inventory >"$work/after"
    judge
}

# run_cases [case...]: all of them where none is named
run_cases() {
    failed=
    count=0
    thin=1
    if [ $# -eq 0 ]; then
        set -- "$cases"/*/
        [ -d "$1" ] || shift
        [ -z "${PPSIM_SANITIZE:-}${PPSIM_TEST_QUICK:-}" ] || [ -n "${PPSIM_TEST_LONG:-}" ] || thin=$thinning
    fi
    number=${PPSIM_TEST_SEED:-0}
    kept=0
    for case in "$@"; do
        name=$(basename "$case")
        case=$cases/$name
        [ -d "$case" ] || { echo "no case $name" >&2; exit 2; }
        if [ -n "${PPSIM_SANITIZE:-}" ] && [ -e "$case/no_sanitizer" ]; then
            continue
        fi
        number=$((number + 1))
        [ $((number % thin)) -eq 0 ] || continue
        kept=$((kept + 1))
        [ $((kept % ${part#*/})) -eq "${part%/*}" ] || continue
        count=$((count + 1))
        run_case
        if [ "$bad" = yes ]; then
            echo "FAILED $kind/$name: $(head -n 1 "$case/cmd" 2>&1)"
            failed="$failed $name"
        fi
    done
    if [ -n "$failed" ]; then
        # shellcheck disable=SC2086 # counts the words
        echo "$kind: $(echo $failed | wc -w) of $count cases failed:$failed"
        exit 1
    fi
    [ "$count" -gt 0 ] || { echo "$kind: no cases yet"; exit 77; }
    echo "$kind: $count cases as expected"
}
