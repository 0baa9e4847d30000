#!/bin/sh
# Every example of every man page runs:   manual.sh PPSIM
set -eu
PATH=$(cd "$(dirname "$1")" && pwd):$PATH
export PATH
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
bad=0
# The files that examples name.
cp "$source/tests/golden/plan-profile/samples.csv" samples.csv
cp "$source/traces/data/models/llama3-8b.json" config.json
awk 'BEGIN { for (i = 0; i < 256; i++) print 512 + 37 * i % 3500 }' >lengths.txt
ppsim plan --model llama3-8b --pp 4 --vpp 2 --emit plan=plan.json >/dev/null
cp plan.json plan
ppsim convert plan.json --to pytorch-csv -o schedule.csv 2>/dev/null
ppsim sweep --model gpt1.7b --pp 2,4 --tp 1,2 -o sweep.jsonl >/dev/null
ppsim simulate plan.json --json -o old.json
cp old.json new.json
for page in "$source"/tools/man/ppsim*.1; do
    cp plan plan.json
    case $page in *-sweep.1) rm -f sweep.jsonl ;; esac # else the example would go on with it
    # A line that ends in a backslash goes on in the next one.
    sed -n '/^\.SH EXAMPLES/,/^\.fi/p' "$page" | sed 's/\\-/-/g; s/\\e/\\/g' |
        sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' | grep '^ppsim ' >examples || { echo "${page##*/} has no example"; bad=1; }
    while read -r example; do
        status=0
        case $example in # too long for a test: 20 s, and a model of 8 billion parameters on this processor
        "ppsim calibrate --quick "* | "ppsim run plan.json "*) continue ;;
        esac
        sh -c "$example" >said 2>&1 </dev/null || status=$?
        case $status,$example in
        0,* | 4,"ppsim plot "*) continue ;; # no gnuplot here
        esac
        echo "${page##*/}: $example: status $status"
        cat said
        bad=1
    done <examples
done
exit $bad
