#!/bin/sh
# Parts of a Chrome trace that is larger than the memory allowed:   convert_large.sh [MEGABYTES [LIMIT_KIB]]
# ppsim is found by PATH; the file is made here, one step over and over, in a folder of its own.
set -eu
megabytes=${1:-300}
limit=${2:-14336}
fail() { echo "convert_large: $*"; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 2' HUP INT TERM
cd "$folder"

ppsim simulate --schedule 1f1b --pp 4 --microbatches 8 --costs F=1009us,B=2003us,comm=10us \
    --memory-costs F=100MB,I=-50MB,W=-50MB --trace chrome=one.json --trace text=one.txt >/dev/null
# A step is 100 ms behind the one before; names and colours stand once.
awk -v bytes="$megabytes"000000 '
NR == 1 { print; next }
/^\]/ { next }
{ sub(/,$/, ""); line[++n] = $0 }
END {
    for (k = 0; size < bytes; k++)
        for (i = 1; i <= n; i++) {
            if (match(line[i], /"ts":[0-9]+/)) {
                at = substr(line[i], RSTART + 5, RLENGTH - 5)
                text = substr(line[i], 1, RSTART + 4) (at + k * 100000) substr(line[i], RSTART + RLENGTH)
            } else if (k == 0)
                text = line[i]
            else
                continue
            printf "%s%s", size ? ",\n" : "", text
            size += length(text) + 2
        }
    print "\n]}"
}' one.json >large.json
bytes=$(wc -c <large.json)
[ "$bytes" -ge "$megabytes"000000 ] || fail "made $bytes bytes only"
[ "$((bytes / 1024))" -gt "$limit" ] || fail "the limit is above the file"

(ulimit -v "$limit" && ppsim convert large.json --to chrome --ranks 1-2 -o ranks.json) || fail "--ranks"
grep -cE '"pid":[12],' large.json >wanted
grep -c '"pid":' ranks.json | diff wanted - || fail "--ranks keeps other events"
last=$(($(grep -c '"name":"0F0","cat":"compute"' large.json) - 1))
for first in 3 $((last - 1)); do
    (ulimit -v "$limit" && ppsim convert large.json --to chrome --steps $first-$((first + 1)) -o steps.json.gz) ||
        fail "--steps $first-$((first + 1))"
    for step in 0 1; do
        ppsim convert steps.json.gz --to text --steps $step 2>/dev/null | diff one.txt - || fail "step $step differs"
    done
    ppsim convert steps.json.gz --to text --steps 2 >/dev/null 2>&1 && fail "more than two steps were kept"
done
echo "convert_large: parts of $megabytes MB within $((limit / 1024)) MiB"
