# Begin of the tests on the stand-in: read with their arguments, from the root of the repository.
# arguments: PPSIM FOLDER_OF_THE_STAND-IN|none BUILD
set -u
ppsim=$1
modules=$2
build=$3
root=$PWD
failed=0
patience=${PPSIM_TEST_PATIENCE:-1} # factor of time limits
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

wrong() { echo "$*"; failed=1; }

# port: one that nobody has, with the one behind it; below those that systems give away.
port=$((10000 + $$ % 1000 * 20))
next_port() {
    port=$((port + 2))
    # shellcheck disable=SC2046 # two words
    while grep -qE "^ *[0-9]+: [0-9A-F]+:($(printf '%04X|%04X' $port $((port + 1)))) " /proc/net/tcp /proc/net/tcp6 2>/dev/null; do
        port=$((port + 2))
    done
}

# Status, words on stderr, then what is set, --, arguments of command $command. Nothing is on stdout;
# one line is on stderr, but for $noise.
refuses() {
    wanted=$1 words=$2
    shift 2
    settings=
    while [ "$1" != -- ]; do
        settings="$settings $1"
        shift
    done
    shift
    env $settings timeout $((60 * patience)) "$ppsim" $command "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    [ $status -eq "$wanted" ] && grep -q -- "$words" "$scratch/err" && [ ! -s "$scratch/out" ] &&
        [ "$(grep -vc "$noise" "$scratch/err")" -eq 1 ] ||
        wrong "$settings $*: status $status, wanted $wanted and '$words' in one line: $(cat "$scratch/err" "$scratch/out")"
}
noise='^$'

# NAME:N of STANDIN_FAIL, command: all goes well although that call fails, which it does.
survives() {
    call=$1
    shift
    rm -f log
    STANDIN_FAIL=$call STANDIN_LOG=log timeout -k 5 $((60 * patience)) "$@" >"$scratch/out" 2>&1 ||
        wrong "$call: status $?, wanted 0: $(cat "$scratch/out")"
    grep -q "^fails ${call%:*}$" log || wrong "$call: there are fewer calls"
}

needs_standin() {
    [ "$modules" = none ] || return 0
    [ "$failed" -eq 0 ] || exit 1
    echo "skipped: no headers of CUDA (nvcc), or of cuBLAS or NCCL (tools/dev/cuda-headers)"
    exit 77
}

# skips N: is this round of a loop left out? One in N is tried, by PPSIM_TEST_SEED; tools/test --long tries all.
rounds=${PPSIM_TEST_SEED:-0}
skips() {
    rounds=$((rounds + 1))
    [ -z "${PPSIM_TEST_LONG:-}" ] && [ $((rounds % $1)) -ne 0 ]
}
