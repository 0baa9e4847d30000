"""The memory that ppsim predicts for PyTorch's executors is the one that autograd keeps.

Four gloo processes run schedules of ppsim's, each rank counts the bytes that autograd keeps (saved.py): saved tensors,
what checkpointing computes again, gradients kept from I to W. The peak of every rank is within 3 % of what
`ppsim simulate --executor torch` says of the same order, with costs that were counted on one microbatch of each stage:
F, then B; F, then I, then W. Once without and once with full recomputation, fused and split backwards.

These counted costs are within 3 % of those that `ppsim plan --stack pytorch-eager` computes for the same model, and
where torchtitan is installed its own layer keeps as much as the layer here. Without PPSIM_TEST_LONG only three
schedules and a planned order are run.

usage: test_memory.py PPSIM
"""
import functools
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile

import torch
from torch.distributed.pipelining import PipelineStage, schedules
from torch.distributed.pipelining._backward import stage_backward, stage_backward_input, stage_backward_weight

import common
import saved
import test_execution as execution

RANKS, MICROBATCHES = 4, 8
NAMED = [("1f1b", None), ("zb-1p", None), ("zbv", 2)]
if "PPSIM_TEST_LONG" in os.environ:
    NAMED += [("gpipe", None), ("zb-2p", None), ("interleaved", 2), ("interleaved-zb", 2), ("v-half", 2)]
    NAMED += [("dualpipev", 2)]
WITHIN = 0.03
SMALL = 1024  # bytes of a stage that are not in the model: a mean per row of each norm, the words
COUNTS = 16  # PyTorch's order of ops in W differs from time to time, and with it what is held with recomputation


# --- one microbatch of one stage -----------------------------------------------------------------


class Lone:
    """A stage alone, with a ledger of its own."""

    def __init__(self, index, stages, full):
        self.index, self.last = index, index == stages - 1
        self.module = saved.Stage(index, stages, full)
        self.ledger = saved.Ledger(saved.constants(self.module))
        if not index:  # W is the whole backward there
            self.split = lambda: (self.fused()[0],) * 3

    def forward(self):
        tokens, target = saved.batch(1)
        shape = (1, saved.LENGTH, saved.WIDTH)
        given = tokens if self.index == 0 else torch.randn(shape, dtype=torch.bfloat16, requires_grad=True)
        output = self.module(given)
        self.restart()
        if self.last:
            return (saved.loss_of(output, target),), None, (given,)
        return (output,), (torch.randn_like(output),), (given,)

    def restart(self):
        self.ledger.peak = self.ledger.now

    def fused(self):
        """(bytes after F, most during B)"""
        with self.ledger.watch():
            outputs, gradients, given = self.forward()
            kept = self.ledger.now
            stage_backward(outputs[0] if self.last else outputs, gradients, given)
        del outputs
        common.demand(self.ledger.now == 0, f"stage {self.index} still keeps {self.ledger.now} bytes after B")
        return kept, self.ledger.peak

    def split(self):
        """(what is kept from I to W of saved tensors, with gradients, most during W)"""
        with self.ledger.watch():
            outputs, gradients, given = self.forward()
            groups = stage_backward_input(outputs, gradients, given, self.module.parameters())[1]
            kept = self.ledger.now
            keys = [self.ledger.take(g) for group in groups for grads in group["grads"] for g in grads if g is not None]
            with_gradients = self.ledger.now
            self.restart()
            stage_backward_weight(self.module.parameters(), groups)
            for key in keys:
                self.ledger.drop(key)
        del outputs
        common.demand(self.ledger.now == 0, f"stage {self.index} still keeps {self.ledger.now} bytes after W")
        return kept, with_gradients, self.ledger.peak


@functools.lru_cache(maxsize=None)
def count(index, stages, full):
    """Of one fused and several split backwards."""
    lone = Lone(index, stages, full)
    return lone.fused(), [lone.split() for _ in range(COUNTS if full else 1)]


def count_costs(stages, full, choose):
    """Tables of bytes as counted: of the first stage, of one in the middle and of the last. choose: of several runs."""
    counted = {}
    for index in (0, stages // 2, stages - 1):
        (kept, most), splits = count(index, stages, full)
        until_weight, with_gradients, in_weight = (choose(of) for of in zip(*splits))
        counted[index] = {
            "activation_bytes": until_weight, "logits_bytes": kept - until_weight, "recompute_bytes": most - kept,
            "weight_gradient_bytes": with_gradients - until_weight, "again_bytes": in_weight - with_gradients,
        }
    of = [counted[0], *[counted[stages // 2]] * (stages - 2), counted[stages - 1]]
    return {key: [here[key] for here in of] for key in of[0]}


def write_costs(table, full, path):
    with open(path, "w", encoding="ascii") as out:
        json.dump({"format": "ppsim.costs", "version": 1, "forward_ns": 3000000, "input_ns": 2000000,
                   "weight_ns": 1000000, "again_ns": 1000000 if full else 0, "comm_ns": 1000,
                   "memory": {**table, "stash_bytes": table["activation_bytes"]}}, out)


# --- whole pipelines -----------------------------------------------------------------------------


def run_case(case, rank):
    """The most bytes that this rank kept in its second step: the first one also learns shapes."""
    home = case["home"]
    modules = {s: saved.Stage(s, len(home), case["full"]) for s in range(len(home)) if home[s] == rank}
    stages = [PipelineStage(modules[s], s, len(home), torch.device("cpu")) for s in modules]
    runtime = schedules._PipelineScheduleRuntime(
        stages, case["microbatches"], loss_fn=saved.loss_of, scale_grads=False
    )
    runtime._load_csv(case["file"], "compute_only")
    ledger = saved.Ledger([t for module in modules.values() for t in saved.constants(module)])
    for stage in stages:
        ledger.watch_gradients(stage)
    tokens, targets = saved.batch(case["microbatches"])
    first, last = 0 in modules, len(home) - 1 in modules
    with ledger.watch():
        for _ in range(2):
            ledger.peak = ledger.now
            losses = []
            runtime.step(*([tokens] if first else []), target=targets if last else None,
                         losses=losses if last else None)
            del losses
    return {"peak": ledger.peak, "left": ledger.now}


def check_model(program, folder):
    """The bytes that ppsim computes for this model against the counted ones. Returns the number of wrong ones."""
    config, wrong = f"{folder}/config.json", 0
    with open(config, "w", encoding="ascii") as out:
        json.dump({
            "model_type": "llama", "hidden_size": saved.WIDTH, "intermediate_size": saved.INNER,
            "num_hidden_layers": RANKS * saved.LAYERS, "num_attention_heads": saved.HEADS,
            "num_key_value_heads": saved.KV_HEADS, "vocab_size": saved.WORDS, "tie_word_embeddings": False,
            "max_position_embeddings": saved.LENGTH,
        }, out)
    for recompute in ("none", "full"):
        plan = f"{folder}/{recompute}.json"
        common.must(
            program, "plan", "--model", config, "--hw", "h100-80g", "--pp", RANKS, "--tp", 1, "--dp", 1,
            "--seq-length", saved.LENGTH, "--micro-batch-size", 1, "--global-batch-size", MICROBATCHES,
            "--stack", "pytorch-eager", "--executor", "torch", "--schedule", "zb-1p", "--recompute", recompute,
            "--emit", f"plan={plan}",
        )
        with open(plan, encoding="utf-8") as file:
            computed = json.load(file)["costs"]["memory"]
        computed = {key: of if isinstance(of, list) else [of] * RANKS for key, of in computed.items()}
        counted = count_costs(RANKS, recompute == "full", statistics.mean)
        # ppsim counts the input of a layer that runs again a second time.
        twice = 2 * saved.LENGTH * saved.WIDTH if recompute == "full" else 0
        counted["recompute_bytes"] = [of + twice for of in counted["recompute_bytes"]]
        # W of the first stage is the whole backward. Of the last one, ppsim holds what the loss keeps and a layer that
        # runs again at a time.
        for name, keys, stages in (
            ("F to B", ("activation_bytes", "logits_bytes"), range(RANKS)),
            ("I to W", ("activation_bytes", "weight_gradient_bytes"), range(1, RANKS)),
            ("B, in addition", ("recompute_bytes",), range(RANKS - 1)),
            ("W, in addition", ("again_bytes",), range(1, RANKS)),
        ):
            theirs, ours = ([sum(of[key][s] for key in keys) for s in stages] for of in (counted, computed))
            bad = any(abs(b - a) > WITHIN * a + SMALL for a, b in zip(theirs, ours))
            wrong += bad
            print(f"{'FAILED' if bad else 'ok    '} {name}, recompute {recompute}: " + "; ".join(
                f"{a / 1024:.1f} KiB, computed {b / 1024:.1f}" for a, b in zip(theirs, ours)))
    return wrong


def check_torchtitan():
    """What torchtitan's own Llama 3 layer keeps of a token, against the layer here."""
    from torchtitan.models import llama3
    from torchtitan.models.common.attention import ScaledDotProductAttention
    from torchtitan.models.common.rope import ComplexRoPE

    llama3.get_attention_config = lambda _: ScaledDotProductAttention.Config()
    head = saved.WIDTH // saved.HEADS
    config, = llama3._build_llama3_layers(
        n_layers=1, dim=saved.WIDTH, n_heads=saved.HEADS, n_kv_heads=saved.KV_HEADS, hidden_dim=saved.INNER,
        rope=ComplexRoPE.Config(dim=head, max_seq_len=saved.LENGTH, theta=500000, scaling="llama"), attn_backend="",
    )
    theirs = config.build()
    theirs.attention.inner_attention.sdpa_backends = [torch.nn.attention.SDPBackend.FLASH_ATTENTION]
    for name in ("attention_norm", "ffn_norm"):  # on CPUs, theirs is several kernels
        setattr(theirs, name, torch.nn.LayerNorm(saved.WIDTH, bias=False))
    bytes = []
    for layer, arguments in ((saved.Layer(), ()), (theirs, (None, None))):
        for part in layer.parameters():
            part.data = part.data.bfloat16()
        ledger = saved.Ledger(saved.constants(layer))
        given = torch.randn((1, saved.LENGTH, saved.WIDTH), dtype=torch.bfloat16, requires_grad=True)
        with ledger.watch():
            output = layer(given, *arguments)
            bytes.append(ledger.now)
        del output
    wrong = bytes[0] != bytes[1]
    print(f"{'FAILED' if wrong else 'ok    '} torchtitan's layer keeps {bytes[1]} bytes, ours {bytes[0]}")
    return wrong


def predicted(program, case, choose, costs):
    """Peaks of the ranks by the counted costs."""
    write_costs(count_costs(len(case["home"]), case["full"], choose), case["full"], costs)
    done = subprocess.run(
        [program, "simulate", case["file"], "--costs-file", costs, "--executor", case["executor"], "--json"],
        capture_output=True, text=True, timeout=300, check=False,
    )
    common.demand(done.returncode == 0, f"simulate {case['name']}: exit {done.returncode}: {done.stderr}")
    return [rank["peak_memory_bytes"] for rank in json.loads(done.stdout)["per_rank"]]


def cases_of(program, folder, executor):
    emitted = {}
    for schedule, per_rank in NAMED:
        arguments = ["--schedule", schedule, "--pp", RANKS, "--microbatches", MICROBATCHES]
        arguments += ["--vpp", per_rank] if per_rank else []
        plain, _, rows, home, _ = execution.emit(program, folder, schedule, arguments)
        emitted[schedule] = plain, rows, home, MICROBATCHES
    planned = next(execution.planned_cases(program, folder, RANKS))
    emitted["planned"] = tuple(planned[key] for key in ("file", "rows", "home", "microbatches"))
    cases = []
    for full in (False, True):
        for schedule, (plain, rows, home, microbatches) in emitted.items():
            name = f"{schedule}{', full recomputation' if full else ''}"
            case = execution.make_case(name, plain, rows, home, microbatches)
            cases.append({**case, "full": full, "executor": executor})
    return cases


def main(arguments):
    program = arguments[0]
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    executor = execution.EXECUTOR
    execution.run_case = run_case
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        cases = cases_of(program, folder, executor)
        ran = execution.launch(RANKS, cases, folder)  # before this process computes: autograd and fork do not mix
        wrong += check_model(program, folder)
        if importlib.util.find_spec("torchtitan"):
            wrong += check_torchtitan()
        for case, results in zip(cases, ran):
            least, most = (predicted(program, case, choose, f"{folder}/costs.json") for choose in (min, max))
            # A few microbatches may have any of PyTorch's orders of ops in W, many have the worst.
            said = [min(max(result["peak"], a), b) for result, a, b in zip(results, least, most)]
            off = [ours / result["peak"] - 1 for ours, result in zip(said, results)]
            bad = max(abs(x) for x in off) > WITHIN or any(result["left"] for result in results)
            wrong += bad
            print(f"{'FAILED' if bad else 'ok    '} {case['name']}: " + "; ".join(
                f"{result['peak'] / 1024:.0f} KiB, predicted {a / 1024:.0f}"
                f"{f' to {b / 1024:.0f}' if a != b else ''} ({100 * x:+.1f} %)"
                for a, b, result, x in zip(least, most, results, off)))
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except common.Failure as failure:
        sys.exit(f"FAILED {failure}")
