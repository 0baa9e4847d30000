#!/bin/sh
# Probe gpu-cudnn on stand-ins: plans take its attention, the kernels of ppsim keep a name of their own, and
# what is missing, too old, wrong or failing is said.
# usage: cudnn.sh PPSIM FOLDER_OF_THE_STAND-IN|none BUILD
. tests/cuda/common.sh
needs_standin
[ -f "$modules/cudnn/libcudnn.so.9" ] || { echo "skipped: no headers of cuDNN or its frontend (tools/dev/cuda-headers --cudnn)"; exit 77; }
export PPSIM_MODULE_DIR="$modules"
cd "$scratch" || exit 1
quick='--quick --budget 300ms'
small=hidden=32,heads=2,mlp=64,tokens=256

export LD_LIBRARY_PATH="$modules/cudnn"
probe="calibrate $quick --probe gpu-cudnn"
command="$probe --compute-settings $small"

refuses 4 'probe gpu-cudnn: this machine has no NVIDIA driver' STANDIN_DRIVER=0 --
mkdir empty
: >empty/libcudnn.so.9 # whatever the machine has
refuses 4 'cuDNN 9 was not found (.*libcudnn.so.9: .*); add its folder to LD_LIBRARY_PATH' LD_LIBRARY_PATH=$scratch/empty --
refuses 4 'cuDNN is 9.5.0; attention over sequences of several lengths needs 9.6' STANDIN_CUDNN=90500 --
refuses 4 'the attention of cuDNN .* is wrong: the gradient of keys of token .* by 0.[0-9]* of its own and a typical row.s length together, 0.03 is allowed' STANDIN_CUDNN_WRONG=dk --
refuses 4 'does not start: the stand-in fails' STANDIN_FAIL=cudnnCreate:1 --
refuses 4 'cannot do forward of 496 tokens in 5 sequences' STANDIN_FAIL=cudaGetDevice:1 --
refuses 5 'GPU 0: attention by cuDNN [0-9.]* failed: ' STANDIN_FAIL=cudnnSetStream:4 --
for n in 1 2 3 4 10; do # while it is compared, prepared and timed
    skips 3 && continue
    refuses 5 'GPU 0: attention by cuDNN [0-9.]* failed: ' STANDIN_FAIL=cudnnBackendExecute:$n --
done
refuses 6 'out of memory: comparing attention' STANDIN_FAIL=cudaMalloc:5 --
refuses 5 'comparing attention failed' STANDIN_FAIL=cudaStreamSynchronize:4 --

command=$probe
refuses 4 'with heads of 12 on GPU 0: hidden_dim should be multiple of 8' -- --compute-settings hidden=24,heads=2,mlp=64
refuses 2 'a head has at most 256 elements' -- --compute-settings hidden=1024,heads=2

# Beside other probes its absence is a note.
LD_LIBRARY_PATH="$scratch/empty" timeout $((300 * patience)) "$ppsim" calibrate $quick --compute-settings $small --probe gpu-launch --probe gpu-cudnn >out 2>&1 ||
    wrong "without cuDNN: $(cat out)"
grep -q '^probe gpu-cudnn: cuDNN 9 was not found' out || wrong "no note: $(cat out)"

# A shape that cuDNN refuses is left out, with a note; so are sequences of one token.
timeout $((300 * patience)) "$ppsim" calibrate --budget 1s --compute-settings hidden=32,heads=2,mlp=64,tokens=64 --probe gpu-cudnn >out 2>&1 ||
    wrong "of 64 tokens: $(cat out)"
STANDIN_FAIL=cudnnBackendFinalize:130 timeout $((300 * patience)) "$ppsim" calibrate $quick --compute-settings $small --probe gpu-launch --probe gpu-cudnn \
    -o part.json >out 2>&1 || wrong "a shape refused: $(cat out)"
grep -qE '^points of attn_(fwd|bwd): cuDNN [0-9.]+ cannot do .* tokens in [0-9]+ sequences? of at most' out && [ -s part.json ] ||
    wrong "no note of a shape: $(cat out)"

cat >model.json <<'END'
{"format": "ppsim.model", "version": 1, "name": "tiny", "hidden": 32, "layers": 4, "heads": 2, "ffn": 64,
 "vocab": 128, "max_seq_length": 1024, "gated_mlp": false, "rms_norm": true, "linear_bias": false,
 "tied_embeddings": false, "learned_positions": false, "dropout": false}
END
# file, what follows the names of the attention that the plan must take
plans() {
    "$ppsim" plan --model model.json --pp 2 --schedule 1f1b --seq-length 256 --global-batch-size 8 --tp 1 \
        --micro-batch-size 1 --hw h100-80g --profile "$1" --json >plan.json 2>err || wrong "plan of $1: $(cat err)"
    python3 - "$1" "$2" <<'END' || failed=1
import json, sys
used = {c for c in json.load(open("plan.json"))["provenance"]["profile_classes"] if c.startswith("attn")}
assert used == {f"attn_fwd{sys.argv[2]}", f"attn_bwd{sys.argv[2]}"}, (sys.argv, used)
END
}
timeout $((300 * patience)) "$ppsim" calibrate $quick --compute-settings $small --probe gpu-gemm --probe gpu-attention -o own.json >out 2>&1 ||
    wrong "gpu-attention: $(cat out)"
plans own.json ' ppsim'
LD_LIBRARY_PATH="$scratch/empty" timeout $((300 * patience)) "$ppsim" calibrate $quick --compute-settings $small --probe gpu-cudnn --resume -o own.json \
    >out 2>&1 || wrong "gpu-cudnn missing: $(cat out)"
grep -q '^probe gpu-cudnn: cuDNN 9 was not found' out || wrong "no note when resumed: $(cat out)"
timeout $((300 * patience)) "$ppsim" calibrate $quick --compute-settings $small --probe gpu-cudnn --resume -o own.json \
    >out 2>&1 || wrong "gpu-cudnn: $(cat out)"
! grep -q 'cuDNN 9 was not found' out own.json || wrong "a note of what is there now: $(cat out)"
plans own.json ''
python3 - <<'END' || failed=1
import json, re
series = {s["class"]: s for s in json.load(open("own.json"))["series"]}
mixes = {(s["tokens"], s["longest"]) for s in series["attn_bwd"]["samples"]}
assert mixes >= {(256, 256), (256, 128), (64, 64), (64, 32)}, mixes
assert mixes < {(s["tokens"], s["longest"]) for s in series["attn_bwd ppsim"]["samples"]}, mixes
for name in ("attn_fwd", "attn_bwd"):
    assert all(s["kernel"].startswith("cuDNN 9.") for s in series[name]["samples"]), series[name]
    assert re.fullmatch(r"probe gpu-cudnn, device time: bf16, stand-in, cuDNN 9[.0-9]+, CUDA [.0-9]+, driver [.0-9]+", series[name]["source"]), series[name]
END
exit $failed
