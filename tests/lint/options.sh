#!/bin/sh
# Libraries name fields of the input (sim/base/field.h); what an option is called and what to type
# is said by the command, tools/ppsim/base/option_names.c. No string below tools/ spells either.
set -eu
cd "$1"

# literals FILE...: file:line:text of every string literal, comments aside
literals() {
    awk '
        FNR == 1 { comment = 0 }
        {
            n = length($0)
            for (i = 1; i <= n; i++) {
                two = substr($0, i, 2)
                c = substr($0, i, 1)
                if (comment) {
                    if (two == "*/") { comment = 0; i++ }
                } else if (two == "/*") {
                    comment = 1
                    i++
                } else if (two == "//") {
                    break
                } else if (c == "\"" || c == "\047") {
                    text = ""
                    for (i++; i <= n && substr($0, i, 1) != c; i++) {
                        if (substr($0, i, 1) == "\\") text = text substr($0, i++, 1)
                        text = text substr($0, i, 1)
                    }
                    if (c == "\"") print FILENAME ":" FNR ":" text
                }
            }
        }' "$@"
}

commands=$(sed -n 's/^PP_COMMAND(\([a-z]*\)).*/\1/p' tools/ppsim/commands.def | paste -sd '|')
[ -n "$commands" ] || { echo "no command in tools/ppsim/commands.def"; exit 1; }
# leaks FILE...: literals with an option or a command line of ppsim
leaks() {
    literals "$@" | grep -E "^[^:]*:[0-9]*:(.*[^A-Za-z0-9_-])?(--[a-z]|ppsim ($commands)([^a-z]|\$))" || :
}

# Options of other programs, each with its program:
#   calib/import/megatron_log.c  Megatron-LM writes the timers that are read
#   calib/samples/environment.c, runtime/mpi/module.c  mpirun
#   runtime/cuda/timing/cudnn.c  tools/dev/cuda-headers
# and traces/target/, whose files hold command lines and name the options that give other ones.
others='^(traces/target/|calib/import/megatron_log\.c:.*--timing-log-level|calib/samples/environment\.c:.*mpirun --bind-to|runtime/mpi/module\.c:.*--oversubscribe|runtime/cuda/timing/cudnn\.c:.*--cudnn)'

sample=$(mktemp)
trap 'rm -f "$sample"' EXIT
cat >"$sample" <<'EOF'
/* "--pp" in a comment, 'ppsim plan' */
set(err, "--vpp", '"', "leave it out"); // "--tp"
set(err, "see 'ppsim plan'", "a \"-- dash", "ppsim knows", "--- line", "ppsim planned");
set(err, "give",
    "or --dp 2");
EOF
found=$(leaks "$sample" | sed 's/^[^:]*:\([0-9]*\):.*/\1/' | paste -sd ' ')
[ "$found" = '2 3 5' ] || { echo "this lint is blind: of its sample it finds lines $found"; exit 1; }

files=$(find sim planner calib runtime traces -name '*.[ch]' -o -name '*.cu' -o -name '*.cpp' -o -name '*.def' | sort)
# shellcheck disable=SC2086
if leaks $files | grep -vE "$others"; then
    echo "^ the command's words: name the field, pp_err_name(err, PP_FIELD_...)"
    exit 1
fi
