#!/bin/sh
# The manual knows every command and every table entry; documents link to what exists, and their
# lines have at most 100 columns, tables aside.
set -eu
cd "$1"
bad=0
wrong() { echo "$*"; bad=1; }

if [ ! -f tools/man/ppsim.1 ]; then
    echo "tools/man/ppsim.1 is missing: the man page, which names every command and table entry"
    exit 1
fi
[ -f README.md ] || { echo "README.md is missing"; exit 1; }
text=$(sed 's/\\-/-/g; s/\\&//g; s/\\f[A-Z]//g' tools/man/ppsim*.1 README.md)

# mentioned NAME: as a word of its own
mentioned() {
    printf '%s\n' "$text" | grep -qE -- "(^|[^A-Za-z0-9_-])$1($|[^A-Za-z0-9_-])"
}
# headings PAGE: the fragments of links by which its headings are reached
headings() {
    sed -n 's/^##* //p' "$1" 2>/dev/null | tr '[:upper:]' '[:lower:]' |
        sed 's/\[\([^]]*\)\]([^)]*)/\1/g; s/[^a-z0-9_ -]//g; s/ /-/g'
}
commands=$(sed -n "s/^PP_COMMAND(\\(.*\\))/\\1/p" tools/ppsim/commands.def | tr _ -)
[ -n "$commands" ] || wrong "no PP_COMMAND row in tools/ppsim/commands.def"
for command in $commands; do
    mentioned "$command" || wrong "command $command is neither in a man page nor in README.md"
done
while read -r table folder; do
    for name in $(sed -n 's/^ *\.name = "\([^"]*\)".*/\1/p' "$folder"/*.c); do
        mentioned "$name" || wrong "$name of $table is neither in a man page nor in README.md"
    done
done <tests/lint/plugins.txt

for command in tools/quickstart tools/test; do
    mentioned "$command" || wrong "README.md does not name $command"
done
for page in *.md docs/*.md docs/*/*.md; do
    [ -e "$page" ] || continue
    for link in $(grep -oE '\]\([^)# ]+' "$page" | sed 's/^](//'); do
        case $link in
        *://* | mailto:*) ;;
        *) [ -e "$(dirname "$page")/$link" ] || wrong "$page links to $link, which is not there" ;;
        esac
    done
    for link in $(grep -oE '\]\([^)# ]*#[^) ]+' "$page" | sed 's/^](//'); do
        file=${link%%#*}
        case $link in *://*) continue ;; esac
        [ -z "$file" ] || file=$(dirname "$page")/$file
        headings "${file:-$page}" | grep -qxF -e "${link#*#}" ||
            wrong "$page links to $link, which is no heading there"
    done
done
# Lines of at most 100 columns. BENCHMARKS.md quotes programs.
for page in *.md docs/*.md docs/*/*.md tests/*.md tests/data/*.md tests/data/*/*.md; do
    [ -e "$page" ] || continue
    wide=$(awk -v quoted="$page" '/^```/ { inside = !inside }
        !/^ *\|/ && !(inside && quoted == "BENCHMARKS.md")' "$page" |
        LC_ALL=C.UTF-8 grep -m 1 -E '^.{101}') || continue
    wrong "$page has a line of more than 100 columns: $wide"
done
exit $bad
