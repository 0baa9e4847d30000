#!/bin/sh
# A plug-in is one file and one line: sim/schedule/x.c and PP_SCHEDULE(x) in sim/schedules.def.
# Holds for every <folder>/<kind>s.def with a folder <folder>/<kind>/.
set -eu
cd "$1"
bad=0
tables=0
wrong() { echo "$*"; bad=1; }

for table in */*s.def; do
    [ -e "$table" ] || continue
    folder=${table%s.def}
    [ -d "$folder" ] || continue
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
        [ -e "$file" ] || continue
        id=$(basename "$file" .c)
        echo "$lines" | grep -qx "$id" || wrong "$file has no line in $table"
        grep -qE "^const pp_[a-z_]+ pp_[a-z_]+_$id = " "$file" ||
            wrong "$file does not define the entry of $id (const pp_<kind> pp_<kind>_$id = {...})"
    done
    for name in $(sed -n 's/^ *\.name = "\([^"]*\)".*/\1/p' "$folder"/*.c | sort | uniq -d); do
        wrong "$folder: two entries are named $name"
    done
done
# A plug-in folder without its table.
for kind in sim/schedule sim/executor runtime/transport runtime/compute traces/format calib/probe; do
    if [ -n "$(find "$kind" -name '*.c' 2>/dev/null)" ] && [ ! -f "${kind}s.def" ]; then
        wrong "$kind/ has files, but there is no ${kind}s.def"
    fi
done
# An option row that two commands have is written once, in tools/ppsim/option_rows.h.
twice=$(for file in tools/ppsim/cmd_*.c; do tr -s '\n ' '  ' <"$file" | grep -oE '\{ "--[^{}]*\}'; done | sort | uniq -d)
[ -z "$twice" ] || wrong "in two option tables, should be in tools/ppsim/option_rows.h: $twice"
[ "$tables" -gt 0 ] || wrong "no table found"
exit $bad
