"""NeMo AutoModel's pipeline runs what `ppsim plan --target automodel` writes, the given sequence length included.

Four gloo processes give AutoModel the YAML, which has pp_seq_len, and a small Llama of transformers in float32 (its
stages take no float64); its AutoPipeline splits the model and runs a step. Demanded: the ops run in the order of
FILE.csv, stages have their shapes from pp_seq_len instead of from each other, and loss and gradients are those of the
model on one process. On the CPU its warm-up needs torch.cuda.synchronize to do nothing.

usage: test_automodel.py PPSIM

tools/test --long makes the environment (tools/dev/torch-env --new)."""
import importlib.util
import json
import logging
import os
import pathlib
import sys
import tempfile

if not importlib.util.find_spec("nemo_automodel"):
    print("skipped: no nemo_automodel; tools/dev/torch-env --new installs it")
    sys.exit(77)

import torch
import torch.distributed as dist

import common
import test_execution as execution

RANKS, MICROBATCHES, LENGTH = 4, 8, 32
RELATIVE = 1e-5  # in float32, whose terms are added in another order
MODEL = {
    "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 16, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 128, "max_position_embeddings": LENGTH, "tie_word_embeddings": False,
}
PLANS = {"1f1b": [], "zbv": [], "interleaved": ["--vpp", "2"], "dualpipev": [], "planned": ["--budget", "200it"]}


def whole_model():
    import transformers

    torch.manual_seed(3)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**MODEL)).float()


def loss_of(output, target):
    logits = getattr(output, "logits", output)
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="sum")


def batch():
    draw = torch.Generator().manual_seed(5)
    return [torch.randint(MODEL["vocab_size"], (MICROBATCHES, LENGTH), generator=draw) for _ in range(2)]


def run_case(case, rank):
    import yaml
    from nemo_automodel.components.distributed.pipelining.autopipeline import AutoPipeline
    from nemo_automodel.recipes import _dist_utils

    logging.disable()
    torch.cuda.synchronize = lambda *_: None  # of the warm-up, whatever the device
    whole = yaml.safe_load(pathlib.Path(case["yaml"]).read_text(encoding="utf-8"))
    config = _dist_utils.parse_distributed_section(whole["distributed"])["pipeline_config"]
    common.demand(config.pp_seq_len == LENGTH, f"the file has pp_seq_len {config.pp_seq_len}")
    config.pp_batch_size = whole["step_scheduler"]["local_batch_size"]
    config.dtype = torch.float32
    options = {key: value for key, value in config.to_dict().items() if key != "loss_fn"}
    mesh = dist.device_mesh.init_device_mesh("cpu", (RANKS,), mesh_dim_names=("pp",))
    pipeline = AutoPipeline(world_mesh=mesh, device=torch.device("cpu"), **options)
    pipeline.build(whole_model(), loss_fn=loss_of)
    ran, losses = [], []
    for stage in pipeline.info.stages:
        execution.watch(stage, ran)
    tokens, targets = batch()
    last = pipeline.info.has_last_stage
    pipeline.step(tokens, target=targets if last else None, losses=losses if last else None)
    modes = [stage._inference_mode.name for stage in pipeline.info.stages]
    gradients = {name: p.grad for part in pipeline.parts for name, p in part.named_parameters()}
    return {"ran": ran, "losses": [float(loss.detach()) for loss in losses], "gradients": gradients, "modes": modes}


def judge(case, results, loss, gradients):
    found = set()
    for rank, row in enumerate(common.read_rows(case["yaml"] + ".csv")):
        told = [op for cell in row for op in execution.re.findall(r"\d+[FIWB]\d+", cell)]
        ran = [op for op in results[rank]["ran"] if execution.re.fullmatch(r"\d+[FIWB]\d+", op)]
        if told != ran:
            found.add("order")
        if set(results[rank]["modes"]) != {"STATIC"}:
            found.add("stages asked each other for shapes")
    losses = [loss for result in results for loss in result["losses"]]
    if len(losses) != MICROBATCHES or abs(sum(losses) - loss) > RELATIVE * loss:
        found.add("loss")
    seen = {name: gradient for result in results for name, gradient in result["gradients"].items()}
    for name, theirs in gradients.items():
        ours = seen.get(name)
        if ours is None or (ours - theirs).abs().max() > RELATIVE * theirs.abs().max():
            found.add("gradients")
    return found


def main(arguments):
    program = os.path.abspath(arguments[0])
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    execution.run_case = run_case
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        config, cases = f"{folder}/config.json", []
        with open(config, "w", encoding="ascii") as out:
            json.dump({"model_type": "llama", **MODEL}, out)
        for name, options in PLANS.items():
            path = f"{folder}/{name}.yaml"
            common.must(
                program, "plan", "--model", config, "--hw", "h100-80g", "--pp", RANKS, "--tp", 1, "--dp", 1,
                "--seq-length", LENGTH, "--micro-batch-size", 1, "--global-batch-size", MICROBATCHES,
                "--schedule", name, "--recompute", "none", *options, "--target", "automodel",
                "--emit", f"automodel={path}",
            )
            cases.append({"name": name, "yaml": path})
        ran = execution.launch(RANKS, cases, folder)
        model = whole_model()
        tokens, targets = batch()
        loss = 0
        for x, target in zip(tokens.split(1), targets.split(1)):
            term = loss_of(model(x), target)
            term.backward()
            loss += float(term.detach())
        gradients = {name: p.grad for name, p in model.named_parameters()}
        for case, results in zip(cases, ran):
            found = judge(case, results, loss, gradients)
            wrong += bool(found)
            print(f"{'FAILED' if found else 'ok    '} {case['name']}: {', '.join(sorted(found)) or 'equal'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except common.Failure as failure:
        sys.exit(f"FAILED {failure}")
