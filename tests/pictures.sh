#!/bin/sh
# Texts of pictures lie inside the picture and apart from each other, and an SVG stays below a
# megabyte: every kind, at several sizes and numbers of ranks, and the pictures in docs/. The short
# suite takes some of them, tools/test --long all:   pictures.sh PPSIM
set -eu
ppsim=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
command -v gnuplot >/dev/null || { echo "skipped: no gnuplot"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: no python3, which looks at the pictures"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# The test sees what it looks for: a text beyond the edge, one text on another, a large file.
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
{ cat good.svg && head -c 1000000 /dev/zero | tr '\0' ' '; } >large.svg
for bad in low wide over large; do
    ! python3 "$root/tests/pictures.py" $bad.svg >words || { echo "$bad.svg passes"; exit 1; }
done
rm ./*.svg

long=${PPSIM_TEST_LONG:-}
sizes='default 300x300' # 300x300 is the smallest
[ -z "$long" ] || sizes='default 300x300 500x320 800 900x600 1600x900 2400x1600'

# draw KIND NAME ARGUMENTS...: at every size; one number is a width
draw() {
    kind=$1
    name=$2
    shift 2
    for size in $sizes; do
        case $size in
        default) option= ;;
        *x*) option="--size $size" ;;
        *) option="--width $size" ;;
        esac
        # shellcheck disable=SC2086 # an option and its value, or nothing
        "$ppsim" plot "$@" --kind "$kind" $option -o "$kind-$name-$size.svg" 2>words || { cat words; exit 1; }
    done
}

# Kinds that show ranks. The short suite takes 4 ranks and two other numbers, by its seed.
seed=${PPSIM_TEST_SEED:-0}
costs='--costs F=18.5ms,I=18.1ms,W=9.3ms,comm=0.6ms --memory-costs F=1GiB,I=-512MiB,W=-512MiB'
many='1 2 4 8 16 64'
[ -n "$long" ] || many="4 $(echo 1 2 8 | cut -d' ' -f$((seed % 3 + 1))) $(echo 16 64 | cut -d' ' -f$((seed % 2 + 1)))"
for p in $many; do
    for executor in ideal torch; do
        # shellcheck disable=SC2086 # lists of options
        "$ppsim" simulate --schedule 1f1b --pp $p --microbatches $((p < 8 ? 8 : 4 * p)) $costs \
            --executor $executor --trace chrome=$executor.json >words
    done
    draw timeline $p torch.json
    draw memory $p torch.json --memory-limit 2GiB
    draw peaks $p torch.json --memory-limit 2GiB
    draw executed $p ideal.json torch.json
    # shellcheck disable=SC2086 # lists of options
    [ $p = 1 ] || draw timeline zb-$p --schedule zb-h1 --pp $p --microbatches $((4 * p)) $costs --executor torch
done
# shellcheck disable=SC2086 # lists of options
draw timeline interleaved --schedule interleaved --vpp 4 --pp 4 --microbatches 16 $costs --executor torch

# Kinds that compare, for plans of few and of many ranks.
"$ppsim" plan --model llama3-8b --pp 4 --tp 2 --global-batch-size 8 --micro-batch-size 1 --schedule zbv \
    --emit plan=step.json >words
draw timeline plan step.json
draw memory plan step.json --memory-limit 20GiB
draw peaks plan step.json --memory-limit 20GiB
"$ppsim" plan --model llama3-8b --pp 4 --tp 2 --micro-batch-size 1 --budget 50it --candidates c4.csv >words 2>&1
"$ppsim" plan --model llama3-8b --pp 4 --tp 2 --micro-batch-size 1 --budget 300it --pareto --json -o p4.json 2>words
ranks=4
if [ -n "$long" ]; then
    ranks='4 16 64'
    for p in 16 64; do
        model=$([ $p = 16 ] && echo gpt175b || echo gpt1t)
        batch="--global-batch-size $((2 * p))"
        # shellcheck disable=SC2086 # an option and its value
        "$ppsim" plan --model $model --pp $p --tp 8 $batch --budget 50it --candidates c$p.csv \
            --trace chrome=plan$p.json >words 2>&1
        # shellcheck disable=SC2086 # an option and its value
        "$ppsim" plan --model $model --pp $p --tp 8 $batch --budget 50it --pareto --json -o p$p.json 2>words
    done
    draw pareto all p4.json p16.json p64.json
fi
for p in $ranks; do
    draw schedules $p c$p.csv --memory-limit 30GiB
    draw pareto $p p$p.json
done
"$ppsim" simulate step.json --jitter compute=0.05,comm=0.1,scenarios=100 --emit report=jitter.json >words
"$ppsim" sweep --model llama3-8b --pp 1,2,4,8,16 --tp 1,2,4,8 --schedule 1f1b,zbv -o sweep.jsonl >words
draw schedules plans step.json jitter.json
draw jitter one jitter.json
draw jitter two jitter.json jitter.json
draw heat two sweep.jsonl --x pp --y tp
draw heat row sweep.jsonl --x schedule --metric peak_memory_bytes
draw fit h100 "$root/traces/data/profiles/h100-ib.json"
sizes='default 800 1600x900' # reading the trace of 64 ranks takes seconds
for p in ${long:+16 64}; do
    for kind in timeline memory peaks; do
        draw $kind plan-$p plan$p.json --memory-limit 60GiB
    done
done
for kind in $("$ppsim" list plots | sed 's/ .*//'); do
    ls $kind-*.svg >words || { echo "no picture of kind $kind"; exit 1; }
done

python3 "$root/tests/pictures.py" ./*.svg "$root"/docs/pictures/*.svg
echo "pictures: $(ls ./*.svg | wc -l) are small, their texts inside and apart"
