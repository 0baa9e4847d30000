#!/bin/sh
# What --help says, what shells complete, what the manual names and what the tables hold is one thing.
#   complete.sh SOURCE BUILD
set -eu
cd "$1"
ppsim=$2/ppsim
bad=0
wrong() { echo "$*"; bad=1; }
[ -x "$ppsim" ] || { echo "no $ppsim to ask"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
PATH=$2:$PATH
export PATH

for shell in bash zsh fish; do
    ppsim completion $shell >"$scratch/$shell"
    ! command -v $shell >/dev/null || $shell -n "$scratch/$shell" || wrong "$shell does not read its completion"
done
manual=$(sed 's/\\-/-/g; s/\\&//g; s/\\f[A-Z]//g' tools/man/ppsim*.1)

# What bash offers at the end of a line.
offered() {
    bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _ppsim
        printf "%s\n" "${COMPREPLY[@]}"' _ "$scratch/bash" "$@" | sort
}
commands=$(sed -n 's/^PP_COMMAND(\(.*\))/\1/p' tools/ppsim/commands.def)
offered ppsim '' | grep -v '^--' >"$scratch/offered"
printf '%s\n' help "$commands" | sort | diff - "$scratch/offered" || wrong "bash offers other commands than the table"
narrow() { # ARGUMENT...: ppsim prints at most 80 columns
    ppsim "$@" >"$scratch/printed"
    awk 'length > 80 { print; bad = 1 } END { exit bad }' "$scratch/printed" ||
        wrong "ppsim $* is wider than 80 columns"
}
short() { # ARGUMENT...: ppsim prints at most 40 lines
    lines=$(ppsim "$@" | wc -l)
    [ "$lines" -le 40 ] || wrong "ppsim $* prints $lines lines, more than 40"
}
narrow --help
short --help
narrow --version
for command in $commands; do
    for topic in "" all megatron; do
        # shellcheck disable=SC2086
        narrow "$command" --help $topic
        # shellcheck disable=SC2086
        [ "$(ppsim "$command" --help $topic)" = "$(ppsim help "$command" $topic)" ] ||
            wrong "ppsim help $command $topic is not what ppsim $command --help $topic prints"
    done
    short "$command" --help
    ppsim --help | grep -q "^  $command " || wrong "ppsim --help lacks $command"
    printf '%s\n' "$manual" | grep -qE "^\.B (ppsim )?$command$" || wrong "tools/man/ppsim.1 has no $command"
    # Names and short forms, and the names of Megatron-LM, which end a line of their table.
    {
        ppsim "$command" --help all | sed -n 's/^  \(-[a-z]\), \(--[^ ]*\).*/\1 \2/p; t
            s/^  \(-[^ ]*\).*/\1/p' | tr ' ' '\n'
        ppsim "$command" --help megatron | sed -n 's/^  .* \(--[^ ]*\)\( [A-Za-z0-9|_+-]*\)\{0,1\}$/\1/p'
    } | sort -u >"$scratch/help"
    offered ppsim "$command" - | sort -u >"$scratch/offered"
    diff "$scratch/help" "$scratch/offered" || wrong "bash offers other options of $command than --help"
    while read -r option; do
        grep -qF -- "'$option[" "$scratch/zsh" || grep -qF -- "'*$option[" "$scratch/zsh" ||
            wrong "zsh lacks $option of $command"
        case $option in --*) letter="-l ${option#--}" ;; *) letter="-s ${option#-}" ;; esac
        grep -qE -- "from $command' $letter " "$scratch/fish" || wrong "fish lacks $option of $command"
    done <"$scratch/help"
    cat "$scratch/help" >>"$scratch/all"
    for kind in $(ppsim "$command" --help all | tr -s ' \n' '  ' | grep -oE "'ppsim list [a-z]*'" | sed -n "s/.*'ppsim list \([a-z]*\)'.*/\1/p"); do
        ppsim list "$kind" >/dev/null || wrong "ppsim $command --help names 'ppsim list $kind', which is not there"
    done
done
[ "$(offered ppsim help plan '')" = "all
megatron" ] || wrong "bash offers no topics of help"
[ "$(offered ppsim help pl)" = "plan
plot" ] || wrong "bash offers no commands after help"
[ -n "$(offered ppsim plan --model gpt1)" ] || wrong "bash offers no models"
[ "$(offered ppsim simulate --step-sync o)" = "off
on" ] || wrong "bash does not offer on and off"
[ "$(offered ppsim simulate --trace chr)" = chrome= ] || wrong "bash does not offer chrome="

tools/dev/man-pages "$ppsim" --check || wrong "the manual has other options than the program"

# man ppsim COMMAND finds a page where there is one, and the overview names it.
for page in tools/man/ppsim-*.1; do
    command=${page#tools/man/ppsim-}
    command=${command%.1}
    printf '%s\n' "$commands" | grep -qx "$command" || wrong "$page is of no command"
    [ "$(grep -c "^\.BR ppsim\\\\-$command (1)" tools/man/ppsim.1)" -eq 2 ] || wrong "tools/man/ppsim.1 does not name $page twice"
done
for option in $(printf '%s\n' "$manual" | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u); do
    case $option in --version | --help | --enable-recovery) continue ;; esac # the last is mpirun's
    grep -qxF -- "$option" "$scratch/all" || wrong "a man page names $option, which no command has"
done
exit $bad
