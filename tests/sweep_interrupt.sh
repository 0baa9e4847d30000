#!/bin/sh
# An interrupted sweep says how far it is, and the same command continues it:   sweep_interrupt.sh PPSIM
set -u
ppsim=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "$*"; cat words; exit 1; }

points=400
set -- --model gpt22b --pp 8 --tp 8 --schedule zbv --threads 2 --top 1

# interrupt WAIT ARGUMENTS...: runs a sweep and interrupts it once WAIT succeeds; leaves its status
# in $status. A background job of a script ignores SIGINT, so env restores it.
interrupt() {
    wait_for=$1
    shift
    env --default-signal=INT "$ppsim" sweep "$@" >out 2>words &
    sweep=$!
    while kill -0 $sweep 2>/dev/null && ! $wait_for; do sleep 0.01; done
    kill -INT $sweep 2>/dev/null
    wait $sweep
    status=$?
}
some_lines() { [ -e s.jsonl ] && [ "$(wc -l <s.jsonl)" -gt 10 ]; }
# Bit 2 of SigCgt: SIGINT is caught.
catches() { grep -q '^SigCgt:.*[2367abef]$' /proc/$sweep/status && sleep "$moment"; }

interrupt some_lines "$@" --seed 0..$((points - 1)) -o s.jsonl
[ $status = 130 ] || fail "the interrupted sweep ends with $status"
grep -q 'finishing the points in progress' words || fail 'nothing says that points are finished'
done=$(($(wc -l <s.jsonl) - 1))
[ $done -lt $points ] || fail 'the sweep was done before it was interrupted'
grep -q "^ppsim: $done of $points points are done and saved in s.jsonl; the same command continues" words ||
    fail "there are $done points, and it says otherwise"
"$ppsim" sweep "$@" --seed 0..$((points - 1)) -o s.jsonl >out 2>words || fail 'the sweep does not continue'
grep -q "^ppsim: $done points are already in s.jsonl" words || fail 'it does not say how many there are'
[ "$(wc -l <s.jsonl)" = $((points + 1)) ] || fail "there are $(wc -l <s.jsonl) lines"

# Without a file nothing shows when the first point is done; there are enough of them.
for moment in 0.1 0.3 1 2 4 8; do
    interrupt catches "$@" --seed 0..4095
    [ ! -s words ] || break
done
[ $status = 130 ] || fail "without a file: $status"
grep -q 'are lost; with -o FILE a sweep can be continued' words || fail 'nothing says that points are lost'
echo "sweep: interrupted after $done of $points points, and continued"
