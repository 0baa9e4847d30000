#!/bin/sh
# Functions that have no place in ppsim, and state that outlives a call.
set -eu
cd "$1"
build=$2
code=$(mktemp)
trap 'rm -f "$code"' EXIT
find sim planner calib runtime traces tools tests -name '*.[ch]' | sort |
    xargs awk -f tests/lint/strip.awk >"$code"
bad=0

# ban WHY FUNCTIONS [FILES]: calls of FUNCTIONS in files that match FILES; a member of that name is ours
ban() {
    if grep -E "^${3:-}[^:]*:[0-9]+:(.*[^A-Za-z0-9_>.])?($2)[[:space:]]*\(" "$code"; then
        echo "^ banned: $1"
        bad=1
    fi
}
library='(sim|planner|calib|runtime|traces)/'
ours='(sim|planner|calib|runtime|traces|tools)/'
ban 'the buffer is longer than you think: snprintf' 'v?sprintf|strcpy|strcat|gets' "$ours"
ban 'use the rng with a seed of the input' 'rand|srand|random|drand48' "$library"
ban 'the locale decides how numbers look' 'setlocale'
ban 'hidden state: strchr, strspn, strtok_r' 'strtok' "$library"
ban 'no error is seen: sim/base/text.h, sim/base/units.h, strtol' 'atoi|atol|atoll|atof' "$library"
ban 'only main ends the program: return a status' '_?exit|_Exit|quick_exit|abort' "$library"
ban 'only tools/ prints' 'printf|puts|putchar|perror|vprintf' "$library"
if grep -E "^$library[^:]*:[0-9]+:(.*[^A-Za-z0-9_])?(stdout|stderr)([^A-Za-z0-9_]|$)" "$code"; then
    echo "^ banned: only tools/ prints"
    bad=1
fi
if grep -E "^$library[^:]*:[0-9]+:(.*[^A-Za-z0-9_])?time[[:space:]]*\([[:space:]]*(NULL|0)" "$code"; then
    echo "^ banned: time is an input"
    bad=1
fi

# Mutable globals, static locals included; constant tables lie in .rodata or .data.rel.ro.
seen=0
for library in $(find "$build" -path "$build/[a-z]*/libppsim_*.a" ! -name libppsim_tools.a |
    grep -E "^$build/(sim|planner|calib|runtime|traces)/[^/]*$"); do
    seen=1
    if objdump -t "$library" | awk -F '\t' -v library="${library##*/}" '
        / file format / { object = $1; sub(/:.*/, "", object) }
        NF == 2 {
            section = $1; sub(/.* /, "", section)
            name = $2; sub(/.* /, "", name)
            if (name !~ /^\./ && section ~ /^(\.t?data|\.t?bss|\*COM\*)/ &&
                section !~ /^\.data\.rel\.ro/) {
                print library ": " object ": " name
                found = 1
            }
        }
        END { exit !found }'; then
        echo "^ banned: mutable globals; pass the value in"
        bad=1
    fi
done
[ "$seen" = 1 ] || { echo "no library found in the build folder"; bad=1; }
exit $bad
