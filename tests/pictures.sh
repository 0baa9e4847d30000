#!/bin/sh
# Texts of pictures lie inside the picture and apart from each other: every kind, at several sizes
# and numbers of ranks, and the pictures in docs/:   pictures.sh PPSIM
set -eu
ppsim=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
command -v gnuplot >/dev/null || { echo "skipped: no gnuplot"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: no python3, which looks at the pictures"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# The test sees what it looks for: a text beyond the edge, and one text on another.
picture() {
    echo '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100">'
    while [ $# -gt 0 ]; do
        echo "<g transform=\"translate($1)\" font-size=\"12\" text-anchor=\"$2\"><text>words</text></g>"
        shift 2
    done
    echo '</svg>'
}
picture 10,20 start 100,20 middle '150,80) rotate(270' middle >good.svg
picture 10,98 start >low.svg
picture 10,20 start 190,60 middle >wide.svg
picture 10,20 start 40,24 start >over.svg
python3 "$root/tests/pictures.py" good.svg
for bad in low wide over; do
    ! python3 "$root/tests/pictures.py" $bad.svg >words || { echo "$bad.svg passes"; exit 1; }
done
rm ./*.svg

# draw NAME ARGUMENTS...: at every size; 300x300 is the smallest
draw() {
    name=$1
    shift
    for size in $sizes; do
        option=
        [ $size = default ] || option="--size $size"
        # shellcheck disable=SC2086 # an option and its value, or nothing
        "$ppsim" plot "$@" $option -o "$name-$size.svg" 2>words || { cat words; exit 1; }
    done
}

costs='--costs F=18.5ms,I=18.1ms,W=9.3ms,comm=0.6ms --memory-costs F=1GiB,I=-512MiB,W=-512MiB'
for p in 1 2 4 8 16 64; do
    # The seed leaves out one of two numbers; tools/test --long takes all.
    number=$((${number:-${PPSIM_TEST_SEED:-0}} + 1))
    [ $p = 4 ] || [ -n "${PPSIM_TEST_LONG:-}" ] || [ $((number % 2)) -eq 0 ] || continue
    sizes='default 300x300'
    [ $p != 4 ] || sizes='default 300x300 500x320 900x600 2400x1600'
    for executor in ideal torch; do
        # shellcheck disable=SC2086 # lists of options
        "$ppsim" simulate --schedule 1f1b --pp $p --microbatches $((p < 8 ? 8 : 2 * p)) $costs \
            --executor $executor --trace chrome=$executor.json >words
    done
    draw timeline-$p torch.json
    draw memory-$p torch.json --kind memory --memory-limit 2GiB
    draw peaks-$p torch.json --kind peaks --memory-limit 2GiB
    draw executed-$p ideal.json torch.json
done

sizes='default 300x300 500x320 900x600 2400x1600'
# shellcheck disable=SC2086 # lists of options
draw interleaved --schedule interleaved --vpp 4 --pp 4 --microbatches 16 $costs --executor torch
"$ppsim" plan --model llama3-8b --pp 4 --tp 2 --global-batch-size 8 --micro-batch-size 1 --schedule zbv \
    --emit plan=step.json >words
"$ppsim" plan --model llama3-8b --pp 4 --tp 2 --micro-batch-size 1 --budget 50it --candidates c.csv >words 2>&1
"$ppsim" plan --model llama3-8b --pp 4 --tp 2 --micro-batch-size 1 --budget 300it --pareto --json -o small.json 2>words
"$ppsim" plan --model gpt175b --pp 16 --tp 8 --budget 50it --pareto --json -o large.json 2>words
"$ppsim" simulate step.json --jitter compute=0.05,comm=0.1,scenarios=100 --emit report=jitter.json >words
"$ppsim" sweep --model llama3-8b --pp 1,2,4,8,16 --tp 1,2,4,8 --schedule 1f1b,zbv -o sweep.jsonl >words
draw plan step.json
draw plan-memory step.json --kind memory --memory-limit 20GiB
draw plan-peaks step.json --kind peaks --memory-limit 20GiB
draw candidates c.csv --memory-limit 30GiB
draw bars step.json jitter.json --kind schedules
draw pareto small.json
draw pareto-two small.json large.json
draw jitter jitter.json
draw jitter-two jitter.json jitter.json
draw heat sweep.jsonl --x pp --y tp
draw heat-row sweep.jsonl --x schedule --metric peak_memory_bytes
draw fit "$root/traces/data/profiles/h100-ib.json"
for kind in $("$ppsim" list plots | sed 's/ .*//'); do
    grep -ql "title" $kind-*.svg 2>words || [ $kind = schedules ] || { echo "no picture of kind $kind"; exit 1; }
done

python3 "$root/tests/pictures.py" ./*.svg "$root"/docs/pictures/*.svg
echo "pictures: the texts of $(ls ./*.svg | wc -l) pictures are inside and apart"
