#!/bin/sh
# Probes of GPUs on the stand-in, from the command line: what they measure is what plans ask for, and what
# is missing or fails is said.
# usage: probes.sh PPSIM FOLDER_OF_THE_STAND-IN|none BUILD
. tests/cuda/common.sh
needs_standin
export PPSIM_MODULE_DIR="$modules"
promises=${ppsim%/*}/tests/test_contract_probes
cd "$scratch" || exit 1
shapes='--compute-settings hidden=32,heads=2,mlp=64,tokens=256'
small="--quick --budget 2s $shapes"

# Every point of the table, with GPUs.
LD_LIBRARY_PATH="$modules/cudnn" "$promises" >out 2>&1 || wrong "promises: $(cat out)"

brief='calibrate --quick --budget 100ms'
command="$brief $shapes"
refuses 4 'probe gpu-gemm: this machine has no NVIDIA driver' STANDIN_DRIVER=0 -- --probe gpu-gemm
refuses 4 'probe gpu-power: no GPU is visible' STANDIN_GPUS=0 -- --device 0 --probe gpu-power
refuses 4 'there is no GPU 4; 4 are visible, counted from 0' -- --device 4 --probe gpu-gemm
# The host launches behind a gate that it opens later: launches that wait for their kernels never return.
refuses 2 'CUDA_LAUNCH_BLOCKING: is 1: a launch would wait' CUDA_LAUNCH_BLOCKING=1 -- --probe gpu-power
refuses 4 'no GPU is visible' CUDA_LAUNCH_BLOCKING=0 STANDIN_GPUS=0 -- --probe gpu-power
noise='^$\|^points of product_'
refuses 4 'has no algorithm on this GPU for c = a b^T in bf16' STANDIN_ALGORITHMS=0 -- --probe gpu-power
noise='^$'
command=$brief
refuses 2 "'hiden=32' is not a setting" -- --compute-settings hiden=32 --probe gpu-gemm
refuses 2 'hidden=32 is not a multiple of heads=3' -- --compute-settings hidden=32,heads=3 --probe gpu-gemm
refuses 2 'heads=4 is not a multiple of kv_heads=3' -- --compute-settings hidden=32,heads=4,kv_heads=3 --probe gpu-gemm
refuses 2 'tp=2 does not divide kv_heads and mlp' -- --compute-settings hidden=32,heads=1,tp=2 --probe gpu-gemm
refuses 2 'tokens=100: must be a multiple of 64' -- --compute-settings tokens=100 --probe gpu-gemm
refuses 2 'gated=yes: must be off or on' -- --compute-settings gated=yes --probe gpu-gemm
refuses 2 'mlp=0: must be a whole number from 1' -- --compute-settings mlp=0 --probe gpu-gemm
refuses 2 'experts=1: a single expert is a product of gpu-gemm' -- --compute-settings experts=1 --probe gpu-grouped
refuses 2 'tokens=64: each of 8 experts has 16 rows at least; set 128' -- --compute-settings tokens=64 --probe gpu-grouped
refuses 2 'experts=300: must be a whole number from 1 to 256' -- --compute-settings experts=300 --probe gpu-grouped
refuses 2 'a head has at most 256 elements' -- --compute-settings hidden=1024,heads=2 --probe gpu-attention
refuses 3 "in the file are from 'probe cpu-gemm" -- --compute-settings hidden=16,heads=2,mlp=32 --probe cpu-gemm --probe gpu-gemm
command="$brief $shapes"
# A call that fails, at the opening, when operands are taken, and among the timings.
for call in cudaGetDeviceProperties:1/'asking what the GPU is' cudaStreamCreateWithPriority:2/'making streams' \
    cudaMemsetAsync:1/'filling the cache failed' cublasLtCreate:2/'opening it failed' cudaMallocHost:1/'out of memory: pinned memory' \
    cudaMemcpyAsync:2/'filling operands failed' \
    cublasLtMatmul:1/'a product failed' cublasLtMatmul:40/'a product failed' \
    cudaLaunchHostFunc:3/'holding the stream failed' cudaEventRecord:5/'recording an event failed' \
    cudaStreamSynchronize:9/'the work failed' cudaEventElapsedTime:4/'reading an event failed' \
    cudaSetDevice:1/'choosing the GPU failed' cudaDriverGetVersion:1/'asking what the GPU is failed' \
    cudaRuntimeGetVersion:1/'asking what the GPU is failed'; do
    skips 4 && continue
    case $call in cudaMallocHost*) wanted=6 ;; *) wanted=5 ;; esac
    refuses $wanted "${call#*/}" STANDIN_FAIL="${call%%/*}" -- --probe gpu-power
done
for call in cudaEventQuery:1/'the concurrent work failed' ncclGetVersion:2/'NCCL does not report its version'; do
    refuses 5 "${call#*/}" STANDIN_FAIL="${call%%/*}" -- --probe gpu-interference
done
# Messages of the GPU to itself: their communicators, the first message, and those beside. Without them
# the rest is measured.
for failure in ncclGetUniqueId:1/"asking for a communicator's name failed" ncclCommInitRankConfig:2/'joining a communicator failed' \
    ncclGroupStart:2/'opening a group failed' ncclGroupEnd:4/'NCCL reports' ncclSend:1/'a message of the GPU to itself failed' \
    ncclRecv:2/'a message of the GPU to itself failed' ncclCommGetAsyncError:20/'NCCL reports: remote process exited'; do
    skips 3 && continue
    survives "${failure%%/*}" "$ppsim" $command --probe gpu-interference -o l.json
    grep -q "^points of product_beside_self_send: .*${failure#*/}" out && grep -q '^a product during copies' out &&
        grep -q '"class": "product_beside_copy"' l.json || wrong "$failure: $(cat out)"
done
survives ncclCommInitRankConfig:1 "$ppsim" $command --probe gpu-launch --probe gpu-interference --probe gpu-copy -o l.json
for class in launch copy_device copy_out product_alone product_fewer_sms product_beside_copy; do
    grep -q "\"class\": \"$class\"" l.json || wrong "without messages, no $class"
done
! grep -q product_beside_self_send.: l.json || wrong "a message that nobody sent"
# A work that the GPU has no memory for is left out.
survives cudaMalloc:4 "$ppsim" $command --probe gpu-power -o l.json
grep -q '^points of product_[a-z]*: .*out of memory: operands' out && grep -q '"class": "product_' l.json ||
    wrong "no memory for one: $(cat out)"
# What was measured before a failure is kept, and gone on with: the first of two passes, and a whole probe.
runs="$command --probe gpu-launch --probe gpu-power"
fills() {
    rm -f fills.log
    STANDIN_LOG=fills.log timeout $((60 * patience)) "$ppsim" $command "$@" >out 2>&1 || wrong "$*: $(cat out)"
    grep -c '^gpu0 cudaMemcpyAsync ' fills.log
}
before=$(fills --probe gpu-launch)
half=$((before + $(fills --probe gpu-power) / 2 + 1))
for call in cudaMallocHost:2/6/launch "cudaMemcpyAsync:$half/5/launch product_burst product_sustained"; do
    rm -f l.json
    status=${call#*/}
    STANDIN_FAIL=${call%%/*} timeout $((60 * patience)) "$ppsim" $runs -o l.json >out 2>&1
    [ $? -eq "${status%%/*}" ] && grep -q '^ppsim: the measurements made before the failure are in l.json; continue with --resume$' out ||
        wrong "${call%%/*}: $(cat out)"
    for class in ${call##*/}; do
        grep -q "\"class\": \"$class\"" l.json || wrong "${call%%/*}: no $class is kept"
    done
    timeout $((60 * patience)) "$ppsim" $runs -o l.json --resume >out 2>&1 || wrong "${call%%/*}, resumed: $(cat out)"
    python3 - <<'END' || wrong "${call%%/*}, resumed: not all is there once: $(cat out)"
import json
profile = json.load(open("l.json"))
passes = {s["class"]: sorted(p.get("pass", 0) for p in s["samples"]) for s in profile["series"]}
assert passes["product_burst"] == passes["product_sustained"] == [0, 1], passes
assert "launch" in passes and not profile["interrupted"] and not profile["skipped"], profile
END
done
# Not over a good file by one that has measured nothing.
cp l.json kept.json
STANDIN_FAIL=cudaMallocHost:1 timeout $((60 * patience)) "$ppsim" $runs -o l.json --resume >out 2>&1
[ $? -eq 6 ] && cmp -s l.json kept.json && ! grep -q 'before the failure' out || wrong "nothing measured: $(cat out)"
rm l.json
mkdir l.json
STANDIN_FAIL=cudaMallocHost:2 timeout $((60 * patience)) "$ppsim" $runs -o l.json >out 2>&1
[ $? -eq 6 ] && grep -q 'before the failure are lost: ' out || wrong "where nothing can be written: $(cat out)"
rmdir l.json
# What was left out is tried again, and its note goes when it is there.
survives ncclCommInitRankConfig:1 "$ppsim" $command --probe gpu-interference -o l.json
timeout $((60 * patience)) "$ppsim" $command --probe gpu-launch -o l.json --resume >out 2>&1 && grep -q 'points of product_beside_self_send: ' out ||
    wrong "another probe: $(cat out)"
timeout $((60 * patience)) "$ppsim" $command --probe gpu-interference -o l.json --resume >out 2>&1 && ! grep -q 'points of ' out &&
    grep -q '"class": "product_beside_self_send"' l.json || wrong "left out, then resumed: $(cat out)"
# Before anything is measured.
refuses 2 'NCCL may silently deliver wrong data' NCCL_CHUNK_SIZE=4194304 STANDIN_LOG=none.log -- --probe gpu-copy --probe gpu-interference
for name in MAX_CTAS MIN_CTAS MAX_NCHANNELS MIN_NCHANNELS MAX_P2P_NCHANNELS MIN_P2P_NCHANNELS MAX_NRINGS MIN_NRINGS \
    NCHANNELS_PER_NET_PEER; do
    skips 3 && continue
    for probe in gpu-interference nccl-link; do
        refuses 2 "NCCL_$name: is set, and NCCL would use it" NCCL_$name=4 STANDIN_LOG=none.log -- --probe gpu-copy --probe $probe
    done
done
[ ! -s none.log ] || wrong "measured, then refused: $(head -3 none.log)"
refuses 5 'launching the work failed' STANDIN_FAIL=cudaLaunchKernel:30 -- --probe gpu-rows
refuses 5 'filling operands failed' STANDIN_FAIL=cudaMemcpyAsync:1 -- --probe gpu-attention

# A plan takes products and attention from the profile.
timeout $((100 * patience)) "$ppsim" calibrate $small --probe gpu-gemm --probe gpu-attention -o p.json >out 2>&1 ||
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
# Products in 8 bits, products of experts, quantization: a plan of their precision takes them, and one of another
# format says that it has none. The rows of experts are unequal and add up.
cat >moe.json <<'END'
{"format": "ppsim.model", "version": 1, "name": "tiny", "layers": 4, "hidden": 32, "heads": 2, "ffn": 64, "vocab": 0,
 "max_seq_length": 128, "gated_mlp": false, "rms_norm": true, "linear_bias": false, "tied_embeddings": false,
 "learned_positions": false, "dropout": false, "experts": 4, "experts_per_token": 2, "expert_ffn": 64, "source": "a test"}
END
rm -f log r.json
STANDIN_LOG=log timeout $((100 * patience)) "$ppsim" calibrate $small,experts=2 --probe gpu-fp8 --probe gpu-grouped --probe gpu-quantize -o r.json \
    >out 2>&1 || wrong "8 bits and experts: $(cat out)"
! grep -q '^points of' out || wrong "left out: $(cat out)"
for precision in fp8 fp8-current bf16 fp8-block; do
    timeout $((60 * patience)) "$ppsim" plan --model moe.json --pp 2 --ep 2 --dp 2 --schedule 1f1b --seq-length 128 --global-batch-size 8 --tp 1 \
        --micro-batch-size 1 --hw h100-80g --profile r.json --precision $precision --json >$precision.json 2>err ||
        wrong "plan in $precision: $(cat err)"
done
python3 - <<'END' || failed=1
import json, re
profile = json.load(open("r.json"))
series = {s["class"]: s for s in profile["series"]}
passes = ("fwd", "dgrad", "wgrad")
low = {f"gemm_{way}_fp8 {weight}" for way in passes for weight in ("qkv", "proj", "mlp_up", "mlp_down")}
grouped = {f"gemm_{way}_grouped 2 {weight}" for way in passes for weight in ("mlp_up", "mlp_down")}
grouped_low = {name.replace("grouped", "grouped_fp8") for name in grouped}
assert set(series) == low | grouped | grouped_low | {"quantize_fp8", "quantize_fp8_current"}, sorted(series)
at = lambda name: {(s["m"], s["n"], s["k"]) for s in series[name]["samples"]}
assert at("gemm_dgrad_fp8 mlp_up") == {(t, 32, 64) for t in (16, 32, 64, 128, 256)}, at("gemm_dgrad_fp8 mlp_up")
assert at("gemm_wgrad_grouped 2 mlp_down") == {(64, 32, t) for t in (32, 64, 128, 256)}, at("gemm_wgrad_grouped 2 mlp_down")
of = lambda name: {s["bytes"] for s in series[name]["samples"]}
assert of("quantize_fp8") == {4 * 32 * t for t in (4, 16, 32, 64, 128, 256, 512)}, of("quantize_fp8")
assert of("quantize_fp8_current") == {b * 3 / 2 for b in of("quantize_fp8")}, of("quantize_fp8_current")
assert {s["source"].split(":")[1].split(",")[0] for s in profile["series"] if "_fp8" in s["class"]} == {" e4m3", " bf16"}
def used(precision):
    return json.load(open(precision + ".json"))["provenance"].get("profile_classes", {}).keys()
near = {n for n in low if "mlp" not in n}
assert used("fp8") == near | grouped_low | {"quantize_fp8"}, used("fp8")
assert used("bf16") == grouped, used("bf16")
assert used("fp8-current") == near | grouped | grouped_low | {"quantize_fp8_current"}, used("fp8-current")
assert not used("fp8-block"), used("fp8-block")
rest = json.load(open("fp8-block.json"))["assumptions"]["not in the profile"]
assert "products" in rest and "quantization" in rest, rest
# Of 64 rows, one of the two experts has half of the mean, the other one and a half times; they are the columns of results.
columns = {re.search(r"\d+ x (\d+)", line)[1] for line in open("log") if " cublasLtMatmulAlgoGetHeuristic " in line}
assert {"16", "48"} <= columns, columns
END
# GPUs before sm_89 multiply nothing in 8 bits.
STANDIN_SM=86 timeout $((60 * patience)) "$ppsim" calibrate $small,experts=2 --probe gpu-fp8 --probe gpu-grouped -o s.json >out 2>&1 ||
    wrong "sm_86: $(cat out)"
grep -q '^probe gpu-fp8: .*stand-in (sm_86) multiplies nothing in 8 bits; GPUs from sm_89 on do$' out && ! grep -q '^points of' out &&
    grep -q '"class": "gemm_fwd_grouped 2 mlp_up"' s.json && ! grep -q '"class": .*_fp8' s.json || wrong "8 bits on sm_86: $(cat out)"
# How much longer a product takes is printed.
rm -f log
STANDIN_LOG=log timeout $((100 * patience)) "$ppsim" calibrate $small --probe gpu-interference --probe gpu-power -o q.json >out 2>&1 || wrong "$(cat out)"
grep -qE '^a product with SMs taken from it takes x[0-9.]+ \(4\), x[0-9.]+ \(8\)' out || wrong "SMs taken: $(cat out)"
grep -qE '^a product during copies on its GPU takes x[0-9.]+$' out || wrong "during copies: $(cat out)"
grep -qE '^a product during messages of its GPU to itself, without a link, takes x[0-9.]+ \(4\), x[0-9.]+ \(8\)$' out || wrong "during messages: $(cat out)"
for n in 4 8; do # a communicator each, kept over products and passes
    [ "$(grep -c "ncclCommInitRankConfig 0 of 1, at most $n, " log)" -eq 1 ] || wrong "communicators of $n channels: $(grep ncclCommInit log)"
done
[ "$(grep -c ncclCommInitRankConfig log)" -eq 2 ] && [ "$(grep -c ncclCommDestroy log)" -eq 2 ] || wrong "communicators: $(grep ncclComm log)"
[ "$(grep -c 'cudaMalloc ' log)" -eq "$(grep -c 'cudaFree 1' log)" ] || wrong "memory is left"
grep -q '"library": "nccl [0-9.]* to itself"' q.json || wrong "NCCL's version is not said"
! grep '"source"' q.json | grep -v 'cuBLASLt [0-9]\{6\}"' || wrong "a version is cut off"
grep -qE '^a product after long work, compared with one after rest, takes x[0-9.]+$' out || wrong "power: $(cat out)"
! grep -q 'NOT FITTED' out || wrong "ratios are no curves: $(cat out)"
# Heating keeps to the budget (20 s before each of three timings would not), and ends at ^C.
work="--probe gpu-power $shapes"
timeout $((40 * patience)) "$ppsim" calibrate --budget 3s $work >out 2>&1 || wrong "a budget of 3 s: status $?: $(cat out)"
timeout -s INT -k $((8 * patience)) 2 "$ppsim" calibrate --budget 600s $work >out 2>&1
[ $? -ne 137 ] || wrong "^C while heating: still there $((8 * patience)) s later"
# Without being asked, a calibration measures no GPU; asked, it is resumed on the same one.
"$ppsim" list probes | grep -q '^gpu-gemm ' || wrong "list probes"
"$ppsim" calibrate $small --probe copy --json >out 2>&1 && ! grep -q gpu- out || wrong "a GPU that nobody asked for: $(cat out)"
"$ppsim" calibrate $small --probe gpu-gemm --resume -o p.json --json >again 2>err || wrong "resumed: $(cat err)"
exit $failed
