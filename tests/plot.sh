#!/bin/sh
# gnuplot takes every script without a word and makes a valid picture of it:  plot.sh PPSIM
set -eu
ppsim=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
samples=$(cd "$(dirname "$0")" && pwd)/golden/plot-fit/samples.csv
command -v gnuplot >/dev/null || { echo "skipped: no gnuplot"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: no python3, which looks at the pictures"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
bad=0
wrong() { echo "$*"; bad=1; }

# look PICTURE WORDS...: is it whole, and do the words stand in it (SVG)?
look() {
    python3 - "$@" <<'END' || bad=1
import re, sys, xml.etree.ElementTree as tree, zlib
name, words = sys.argv[1], sys.argv[2:]
data = open(name, 'rb').read()
if name.endswith('.svg'):
    root = tree.fromstring(data)
    said = ' '.join(t for e in root.iter() for t in [e.text or ''])
    missing = [w for w in words if w not in said]
    shapes = sum(e.tag.endswith(('path', 'polygon', 'rect')) for e in root.iter())
    ok = root.tag.endswith('svg') and not missing and shapes > 5
    sys.exit(0 if ok else f'{name}: {shapes} shapes, lacks {missing}')
if name.endswith('.pdf'):  # its size is in points, 3/4 of a pixel
    box = re.search(rb'/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+)', data)
    size = tuple(round(float(n)) for n in box.groups()) if box else None
    wanted = tuple(int(n) for n in words[0].split('x'))
    near = size and all(abs(a - b) <= 1 for a, b in zip(size, wanted))
    sys.exit(0 if data.startswith(b'%PDF-') and near else f'{name}: {size}')
size = (int.from_bytes(data[16:20], 'big'), int.from_bytes(data[20:24], 'big'))
pixels = b''
at = 8
while at < len(data):
    length = int.from_bytes(data[at:at + 4], 'big')
    if data[at + 4:at + 8] == b'IDAT':
        pixels += data[at + 8:at + 8 + length]
    at += 12 + length
blank = len(set(zlib.decompress(pixels))) < 5
wanted = tuple(int(n) for n in words[0].split('x'))
sys.exit(0 if data[:8] == b'\x89PNG\r\n\x1a\n' and size == wanted and not blank else
         f'{name}: {size}, blank: {blank}')
END
}

# draw PICTURE ARGUMENTS...: and gnuplot, asked again, says nothing
draw() {
    picture=$1
    shift
    "$ppsim" plot "$@" -o "$picture" || wrong "plot $* ends with $?"
    stem=${picture%.*}
    (cd "$(dirname "$picture")" && LC_ALL=C.UTF-8 gnuplot -d "./$(basename "$stem").gp") >again 2>words ||
        wrong "gnuplot does not take $stem.gp"
    [ ! -s words ] || { echo "$stem.gp:"; cat words; bad=1; }
    cmp -s again "$picture" || wrong "$stem.gp makes another picture than $picture"
}

costs='--costs F=1ms,I=1ms,W=0.8ms,comm=0.1ms --memory-costs F=1GiB,I=-512MiB,W=-512MiB'
# shellcheck disable=SC2086 # lists of options
{
    for executor in ideal torch ppsim; do
        draw $executor.svg --schedule zb-h1 --pp 4 --microbatches 6 $costs --executor $executor
        look $executor.svg 'time (ms)' "executor $executor: makespan" 'F forward' 'W backward' F5 \
            'critical path' 'idle'
    done
    draw wide.png --schedule 1f1b --pp 64 --microbatches 64 $costs --size 900x400
    look wide.png 900x400
    draw sharp.png --schedule 1f1b --pp 4 --microbatches 6 $costs --width 700 --scale 2
    look sharp.png "1400x$(($(sed -n 's/.*size 1400,\([0-9]*\).*/\1/p' sharp.gp)))"
    "$ppsim" plot --schedule 1f1b --pp 4 --microbatches 6 $costs --size 960x480 -o paper.pdf || wrong 'no PDF'
    look paper.pdf 720x360
    draw plain.svg --schedule zb-h1 --pp 4 --microbatches 6 $costs --no-critical-path
    ! grep -q 'critical path' plain.svg || wrong 'a critical path that nobody wants'
    draw memory.svg --schedule 1f1b --pp 4 --microbatches 6 $costs --memory-limit 5GiB --kind memory
    look memory.svg activations 'limit 5.000 GiB' peak 'rank 0: peak 4.000 GiB in 0F3' 'memory per rank (GiB)'
    draw over.svg --schedule 1f1b --pp 4 --microbatches 6 $costs --memory-limit 2GiB --kind memory
    look over.svg 'over the limit' 'rank 0: peak 4.000 GiB in 0F3; over the limit from 2.000 ms on, in 0F2'
    look over.svg 'Rank 0 runs out of memory first, at 2.000 ms in 0F2.' 'out of memory' 'activations'
    draw peaks.svg --schedule 1f1b --pp 4 --microbatches 6 $costs --memory-limit 3500MiB --kind peaks
    look peaks.svg '4.000 GiB in 0F3, 596.0 MiB over' '3.000 GiB in 1F2' 'over the limit' \
        '1 of 4 ranks need more than the limit' 'activations' 'memory (GiB)'
    draw panels.png --schedule 1f1b --pp 64 --microbatches 64 $costs --kind memory --size 900x400
    look panels.png 900x400
    for executor in ideal torch; do
        "$ppsim" simulate --schedule 1f1b --pp 4 --microbatches 6 $costs --executor $executor \
            --trace chrome=$executor.json --emit report=$executor-report.json \
            --jitter compute=0.05,scenarios=100 -o "$executor.txt"
    done
}
draw both.svg ideal.json torch.json
look both.svg 'predicted' 'executed' 'ended later than predicted by (us)' 'end of the predicted step'
draw bars.svg ideal-report.json torch-report.json --kind schedules
look bars.svg 'step (ms)' 'idle' 'vs fastest' 'peak memory (GiB)' '1f1b (ideal-report.json)' '4 pipeline ranks, 6 microbatches'
draw jitter.svg ideal-report.json torch-report.json
look jitter.svg 'median ' 'p95 ' 'without jitter' 'longer than without jitter (%)'
draw one.svg ideal-report.json
look one.svg 'median ' 'p95 ' 'step (ms)' 'scenarios (%)' '100 scenarios'
"$ppsim" plan --model llama3-8b --pp 4 --tp 2 --micro-batch-size 1 --pareto --json -o pareto.json
draw pareto.svg pareto.json
look pareto.svg 'memory limit per GPU (GiB)' 'fastest step (s)' 'no order of ops in any setup tried is faster' 'llama3-8b on h100-80g, pp 4' 'no recompute'
"$ppsim" sweep --model llama3-8b --pp 1,2,4 --tp 1,2,8 --schedule 1f1b,zbv -o s.jsonl >words
draw heat.svg s.jsonl --x pp --y tp
look heat.svg 'tokens/s per GPU' 'best over schedule' 'does not fit the memory' 'best' 'memory' ' GiB short'

# A plan and its trace give the same picture, whose title says what is trained.
"$ppsim" plan --model llama3-8b --pp 4 --tp 2 --global-batch-size 8 --micro-batch-size 1 --schedule zbv \
    --emit plan=step.json >words
"$ppsim" simulate step.json --trace chrome=traced.json >words
draw step.svg step.json
draw traced.svg traced.json
cmp step.svg traced.svg || wrong 'a plan and its trace give different pictures'
look traced.svg 'llama3-8b on 8 GPUs (pp 4, tp 2), batch 8 x 8192 tokens' 'the small number is the stage'

"$ppsim" calibrate --import "$samples" -o profile.json >words
draw fit.svg profile.json
look fit.svg 'measured' 'fitted' 'deviation of a measurement from the fit (%)' '95 %' 'thread_link: '

# Names that a shell or gnuplot would take for something else.
mkdir 'a b'
i=0
for name in "it's" '`touch bad`' '$(touch bad)' '|cat' '<cat' '-e' '"q"' '@x' "'; system('touch bad'); '"; do
    i=$((i + 1))
    draw "a b/$name.svg" ideal.json
    look "a b/$name.svg" 'time (ms)'
done
for name in "x'; system('touch bad'); '" "x'\\\\nsystem 'touch bad'\\\\n#" '\\"q\\" `touch bad`'; do
    sed 's|"schedule": *"[^"]*"|"schedule": "'"$name"'"|' pareto.json >evil.json
    draw evil.svg evil.json
    look evil.svg 'fastest step (s)'
done
[ "$(find . -name bad)" = "" ] || wrong "a name was executed"
cd 'a b'
"$ppsim" plot ../ideal.json -o '-x.svg' && look ./-x.svg 'time (ms)'
cd ..

# A script that gnuplot refuses leaves the picture of before, and the words say where.
mkdir fake
printf '#!/bin/sh\necho "line 3: no such thing" >&2\nexit 1\n' >fake/gnuplot
chmod +x fake/gnuplot
cp ideal.svg before.svg
PATH=$PWD/fake:$PATH "$ppsim" plot torch.json -o ideal.svg 2>words && wrong 'a failure of gnuplot is no failure'
cmp -s ideal.svg before.svg || wrong 'the picture of before is gone'
grep -q 'line 3: no such thing' words || { cat words; wrong "the message of gnuplot is not repeated"; }
[ "$i" -eq 9 ] && [ "$bad" = 0 ] && echo "plot: all pictures are whole"
exit $bad
