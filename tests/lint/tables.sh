#!/bin/sh
# A plug-in is one file and one line: sim/schedule/x.c and PP_SCHEDULE(x) in sim/schedules.def.
# tests/lint/plugins.txt names every table and the folder of its plug-ins. Every .c file of such a folder is a plug-in,
# except those that have a header of their own name.
set -eu
cd "$1"
bad=0
tables=0
wrong() { echo "$*"; bad=1; }

for table in $(ls */*s.def tools/ppsim/*s.def); do
    grep -q "^$table " tests/lint/plugins.txt && continue
    case $table in tools/ppsim/*) continue ;; esac
    wrong "$table: tests/lint/plugins.txt does not name the folder of its plug-ins"
done
while read -r table folder; do
    tables=$((tables + 1))
    lines=$(sed -n 's/^PP_[A-Z0-9_]*(\([A-Za-z0-9_]*\).*/\1/p' "$table")
    unknown=$(grep -vE '^(PP_[A-Z0-9_]*\([A-Za-z0-9_]+.*\)|/?[ ]?\*.*|//.*|[[:space:]]*|[^P].*\*/)$' "$table") || unknown=
    [ -z "$unknown" ] || wrong "$table: not an entry, a comment or an empty line: $unknown"
    for id in $lines; do
        [ -f "$folder/$id.c" ] || wrong "$table has $id, but there is no $folder/$id.c"
    done
    for id in $(echo "$lines" | sort | uniq -d); do
        wrong "$table has $id twice"
    done
    for file in "$folder"/*.c; do
        [ -e "$file" ] && [ ! -e "${file%.c}.h" ] || continue
        id=$(basename "$file" .c)
        echo "$lines" | grep -qx "$id" || wrong "$file has no line in $table"
        grep -qE "^const pp_[a-z_]+ pp_[a-z_]+_$id = " "$file" ||
            wrong "$file does not define the entry of $id (const pp_<kind> pp_<kind>_$id = {...})"
    done
    for name in $(sed -n 's/^ *\.name = "\([^"]*\)".*/\1/p' "$folder"/*.c | sort | uniq -d); do
        wrong "$folder: two entries are named $name"
    done
done <tests/lint/plugins.txt
# An option row that two commands have is written once, in tools/ppsim/base/option_rows.h.
twice=$(for file in tools/ppsim/cmd_*.c tools/ppsim/*/*options.c; do tr -s '\n ' '  ' <"$file" | grep -oE '\{ PP_ROW[A-Z_]*\( ?"--[^{}]*\}'; done | sort | uniq -d)
[ -z "$twice" ] || wrong "in two option tables, should be in tools/ppsim/base/option_rows.h: $twice"
[ "$tables" -gt 0 ] || wrong "no table found"
exit $bad
