#!/bin/sh
# Probes of GPUs on the stand-in, from the command line: what they measure is what plans ask for, and what
# is missing or fails is said.
# usage: probes.sh PPSIM FOLDER_OF_THE_STAND-IN|none BUILD
. tests/cuda/common.sh
needs_standin
export PPSIM_MODULE_DIR="$modules"
promises=${ppsim%/*}/tests/test_contract_probes
cd "$scratch" || exit 1
quick='--quick --budget 2s'
small="$quick --compute-settings hidden=32,heads=2,mlp=64,tokens=256"

# Every point of the table, with GPUs.
LD_LIBRARY_PATH="$modules/cudnn" "$promises" >out 2>&1 || wrong "promises: $(cat out)"

# status, words, then what is set, --, options
refuses() {
    wanted=$1 words=$2
    shift 2
    settings=
    while [ "$1" != -- ]; do
        settings="$settings $1"
        shift
    done
    shift
    case $* in *compute-settings*) ;; *) set -- "$@" --compute-settings hidden=32,heads=2,mlp=64,tokens=256 ;; esac
    env $settings timeout 60 "$ppsim" calibrate $quick "$@" >out 2>err
    status=$?
    [ $status -eq "$wanted" ] && grep -q "$words" err && [ ! -s out ] ||
        wrong "$settings $*: status $status, wanted $wanted and '$words': $(cat err out)"
}
refuses 4 'probe gpu-gemm: this machine has no NVIDIA driver' STANDIN_DRIVER=0 -- --probe gpu-gemm
refuses 4 'probe gpu-power: no GPU is visible' STANDIN_GPUS=0 -- --device 0 --probe gpu-power
refuses 4 'there is no GPU 4, 4 are visible, counted from 0' -- --device 4 --probe gpu-gemm
# The host launches behind a gate that it opens later: launches that wait for their kernels never return.
refuses 2 'CUDA_LAUNCH_BLOCKING: is 1: a launch would wait' CUDA_LAUNCH_BLOCKING=1 -- --probe gpu-power
refuses 4 'no GPU is visible' CUDA_LAUNCH_BLOCKING=0 STANDIN_GPUS=0 -- --probe gpu-power
refuses 4 'has no algorithm on this GPU for c = a b^T in bf16' STANDIN_ALGORITHMS=0 -- --probe gpu-power
refuses 2 "'hiden=32' is no setting" -- --compute-settings hiden=32 --probe gpu-gemm
refuses 2 'hidden=32 does not divide into heads=3' -- --compute-settings hidden=32,heads=3 --probe gpu-gemm
refuses 2 'heads=4 do not share kv_heads=3 evenly' -- --compute-settings hidden=32,heads=4,kv_heads=3 --device 0
refuses 2 'tp=2 does not divide kv_heads and mlp' -- --compute-settings hidden=32,heads=1,tp=2 --device 0
refuses 2 'tokens=100: must be a multiple of 64' -- --compute-settings tokens=100 --device 0
refuses 2 'gated=yes: must be off or on' -- --compute-settings gated=yes --device 0
refuses 2 'mlp=0: must be a whole number from 1' -- --compute-settings mlp=0 --device 0
refuses 2 'a head has at most 256 elements' -- --compute-settings hidden=1024,heads=2 --probe gpu-attention
refuses 3 "at hand are from 'probe cpu-gemm" -- --compute-settings hidden=16,heads=2,mlp=32 --probe cpu-gemm --probe gpu-gemm
# A call that fails, at the opening, when operands are taken, and among the timings.
for call in cudaGetDeviceProperties:1/'asking what the GPU is' cudaStreamCreateWithPriority:2/'making streams' \
    cudaMemsetAsync:1/'filling the cache failed' cublasLtCreate:2/'opening it failed' cudaMallocHost:1/'out of memory: pinned memory' \
    cudaMalloc:4/'out of memory: operands' cudaMemcpyAsync:2/'filling operands failed' \
    cublasLtMatmul:1/'a product failed' cublasLtMatmul:40/'a product failed' \
    cudaLaunchHostFunc:3/'holding the stream failed' cudaEventRecord:5/'recording an event failed' \
    cudaStreamSynchronize:9/'the work failed' cudaEventElapsedTime:4/'reading an event failed' \
    cudaSetDevice:1/'choosing the GPU failed'; do
    case $call in cudaMalloc*) wanted=6 ;; *) wanted=5 ;; esac
    refuses $wanted "${call#*/}" STANDIN_FAIL="${call%%/*}" -- --probe gpu-power
done
refuses 5 'waiting for an event failed' STANDIN_FAIL=cudaStreamWaitEvent:1 -- --probe gpu-interference

refuses 5 'launching the work failed' STANDIN_FAIL=cudaLaunchKernel:30 -- --probe gpu-rows
refuses 5 'filling operands failed' STANDIN_FAIL=cudaMemcpyAsync:1 -- --probe gpu-attention

# A plan takes products and attention from the profile.
timeout 100 "$ppsim" calibrate $small --probe gpu-gemm --probe gpu-attention -o p.json >out 2>&1 ||
    wrong "gpu-gemm, gpu-attention: $(cat out)"
cat >model.json <<'END'
{"format": "ppsim.model", "version": 1, "name": "tiny", "hidden": 32, "layers": 4, "heads": 2, "ffn": 64,
 "vocab": 128, "max_seq_length": 1024, "gated_mlp": false, "rms_norm": true, "linear_bias": false,
 "tied_embeddings": false, "learned_positions": false, "dropout": false}
END
"$ppsim" plan --model model.json --pp 2 --schedule 1f1b --seq-length 256 --global-batch-size 8 --tp 1 \
    --micro-batch-size 1 --hw h100-80g --profile p.json --json >plan.json 2>err || wrong "plan: $(cat err)"
python3 - <<'END' || failed=1
import json
profile, plan = json.load(open("p.json")), json.load(open("plan.json"))
names = [f"gemm_{way} {weight}" for way in ("fwd", "dgrad", "wgrad") for weight in ("qkv", "proj", "mlp_up", "mlp_down")]
series = {s["class"]: s for s in profile["series"]}
assert profile["device"] == "stand-in" and profile["sm_count"] == 16, profile["device"]
assert sorted(series) == sorted(names + ["attn_fwd ppsim", "attn_bwd ppsim"]), sorted(series)
mixes = {(s["tokens"], s["longest"]) for s in series["attn_bwd ppsim"]["samples"]}
assert mixes >= {(256, 256), (256, 128), (64, 64), (64, 32)}, mixes
at = {(s["m"], s["n"], s["k"]) for s in series["gemm_wgrad mlp_up"]["samples"]}
assert at == {(32, 64, t) for t in (4, 16, 32, 64, 128, 256)}, at
for name in names:
    assert all(s["kernel"].startswith("algorithm 66, tile 20, stages 4, split-K 1, ") for s in series[name]["samples"])
assert all(n["clock"] == "device" for n in profile["notes"])
used = plan["provenance"]["profile_classes"]
assert set(names) | {"attn_fwd ppsim", "attn_bwd ppsim"} <= set(used), used
END
# How much longer a product takes is printed.
timeout 100 "$ppsim" calibrate $small --probe gpu-interference --probe gpu-power >out 2>&1 || wrong "$(cat out)"
grep -qE '^a product with SMs taken from it takes x[0-9.]+ \(4\), x[0-9.]+ \(8\)' out || wrong "SMs taken: $(cat out)"
grep -qE '^a product beside copies on its GPU takes x[0-9.]+$' out || wrong "beside copies: $(cat out)"
grep -qE '^a product after long work, over one after rest, takes x[0-9.]+$' out || wrong "power: $(cat out)"
! grep -q 'NOT FITTED' out || wrong "ratios are no curves: $(cat out)"
# Heating keeps to the budget (20 s before each of three timings would not), and ends at ^C.
work='--probe gpu-power --compute-settings hidden=32,heads=2,mlp=64,tokens=256'
timeout 40 "$ppsim" calibrate --budget 3s $work >out 2>&1 || wrong "a budget of 3 s: status $?: $(cat out)"
timeout -s INT -k 8 2 "$ppsim" calibrate --budget 600s $work >out 2>&1
[ $? -ne 137 ] || wrong "^C while heating: still there after 8 s"
# Without being asked, a calibration measures no GPU; asked, it is resumed on the same one.
"$ppsim" list probes | grep -q '^gpu-gemm ' || wrong "list probes"
"$ppsim" calibrate $small --probe copy --json >out 2>&1 && ! grep -q gpu- out || wrong "a GPU that nobody asked for: $(cat out)"
"$ppsim" calibrate $small --probe gpu-gemm --resume -o p.json --json >again 2>err || wrong "resumed: $(cat err)"
exit $failed
