"""The keyword arguments of the functions of ppsim, for type checkers and editors.

Made by runtime/python/generate.py from the option tables; do not edit.
"""
from __future__ import annotations

import os
from typing import Any, Mapping, Sequence, TypedDict, Union

Path = Union[str, os.PathLike[str]]
# A name or a path, or an object that the file could hold.
File = Union[Path, Mapping[str, Any]]
# A name, a path, a dict, a configuration of transformers, or a torch.nn.Module.
Model = Any
# A path, or lengths: ints, or lists of ints (a microbatch each).
Lengths = Any
# A text as on the command line, or the parts of it.
Value = Union[int, float, str, Path, Sequence[Any], Mapping[str, Any]]


class StepOptions(TypedDict, total=False):
    """Options of `ppsim.plan` with which it returns a Plan."""

    model: Model
    "a name from 'ppsim list models', a ppsim.model file, or a Hugging Face config.json"
    seq_length: Union[int, str]
    "tokens per sequence (default: the model's maximum)"
    micro_batch_size: Union[int, str]
    'sequences per microbatch (default: chosen)'
    global_batch_size: Union[int, str]
    'sequences per step (default: 8 x pp x dp, or with --gpus one per GPU, times --micro-batch-size if given)'
    lengths: Lengths
    'sequence lengths of one step, one per line or as JSON'
    truncate: bool
    'cut sequences that are longer than --seq-length, which otherwise are refused'
    split_long: bool
    'split them into pieces of at most --seq-length'
    packing: Union[int, float, str, Path]
    'how the sequences of --lengths are packed into rows of --seq-length tokens. auto takes the fastest (default: auto, or given if FILE has groups)'
    hw: File
    "a name from 'ppsim list hardware', or a hardware file (default: h100-80g)"
    memory_limit: Union[int, str]
    'limit per GPU, e.g. 80GB (default: 95 % of its memory)'
    profile: File
    "use measured costs where they exist: a name from 'ppsim list profiles', or a file that 'ppsim calibrate' wrote"
    profile_only: Union[int, float, str, Path]
    'use only this part of the profile (default: both)'
    profile_layers: Union[int, str]
    'number of layers per stage in the imported measurements'
    rank_speed: Value
    'relative compute speed of individual pipeline ranks, e.g. 3=0.8,5=1.1 (default: 1)'
    rank_memory: Value
    'memory limit of individual pipeline ranks, e.g. 3=40GiB (default: --memory-limit)'
    rank_link: Value
    "bandwidth between two pipeline ranks, e.g. 2:3=25GB/s (default: the hardware's)"
    node_network: Union[int, float, str, Path]
    "network bandwidth of a node (NVL72: of the rack), e.g. 800Gb/s or 100GB/s (default: the hardware's)"
    gpus: Union[int, str]
    'number of GPUs, divided among the degrees not given'
    pp: Union[int, str]
    'pipeline-parallel degree (number of pipeline ranks)'
    tp: Union[int, str]
    'tensor-parallel degree (default: chosen)'
    dp: Union[int, str]
    'data-parallel degree (default: 1)'
    cp: Union[int, str]
    'context-parallel degree (default: 1)'
    ep: Union[int, str]
    'expert-parallel degree, a divisor of tp x cp x dp / etp (default: 1)'
    etp: Union[int, str]
    'ranks that divide an expert (1: experts are whole) (default: tp)'
    schedule: Union[int, float, str, Path]
    "a name from 'ppsim list schedules', or planned for an order found by search (default: all are tried)"
    microbatches: Union[int, str]
    'with --costs-file: microbatches per step'
    vpp: Union[int, str]
    'stages per pipeline rank (virtual pipeline stages) (default: chosen)'
    microbatch_group_size: Union[int, str]
    "interleaved: microbatches that a stage runs before the rank's next stage starts (default: PyTorch's rule)"
    pipeline_runs: Union[int, str]
    'run the schedule R times per step, each time with an equal part of the microbatches, as torchtitan and AutoModel accumulate gradients (default: 1)'
    recompute: Union[int, float, str, Path]
    'activation recomputation (default: auto)'
    partition: Union[int, float, str, Path]
    "layers per stage. uniform: equally many, as Colossal-AI. LAYOUT is a layout of Megatron, such as 'Et*3|t*4|t*3L' (default: auto)"
    bare_ends: Union[bool, str]
    '--partition auto may give the embedding or the head a stage without layers (default: on, but off with executor neuronx)'
    target: Union[int, float, str, Path]
    "plan for one framework (see 'ppsim list targets')"
    executor: Union[int, float, str, Path]
    "communicate as this framework does: a name from 'ppsim list executors'. auto takes the fastest (default: that of --target, or ppsim)"
    torch_compile: Union[bool, str]
    'the framework compiles its stages, so that no backward is split into I and W (default: off)'
    stack: File
    "training software: a name from 'ppsim list stacks', or a stack file (default: current)"
    zero: Union[int, float, str, Path]
    "ZeRO stage. 1 divides the optimizer state over the dp x cp ranks, 2 also the gradients (executors ppsim and megatron-fsdp), 3 also the parameters (these and PyTorch's, FSDP2) (default: 1 if dp x cp > 1, but 0 in stacks of 2021 and 2022, and 3 with targets torchtitan and automodel)"
    fsdp: bool
    'same as --zero 3'
    dp_replicate: Union[int, str]
    'with --zero 3: N copies of the parameters, each divided over dp x cp / N ranks (HSDP) (default: 1, or the fastest of those that fit in nodes)'
    dp_shard: Union[int, str]
    'with --zero 3 and --dp (with --gpus also --cp): each copy is divided over N ranks, so that there are dp x cp / N copies'
    reshard_after_forward: Union[int, float, str, Path]
    "with --zero 3: free a stage's parameters after its forwards, and gather them again layer by layer (N: they stay divided over N GPUs) (default: never, or the fastest value that fits if nothing fits otherwise, without --budget)"
    unshard_lookahead: Union[int, float, str, Path]
    'with --zero 3 and torch-2.15: of how many stages of a rank parameters are gathered ahead (default: full, which is 3, or the fastest with more than three stages per rank)'
    sequence_parallel: Union[bool, str]
    'sequence parallelism among the tensor-parallel GPUs (default: on if tp > 1)'
    attention: Union[int, float, str, Path]
    "attention kernel (default: the stack's)"
    grad_sync: Union[int, float, str, Path]
    "reduce gradients after the backward, or overlapped with it (default: the stack's)"
    precision: Union[int, float, str, Path]
    'number format of the GEMMs in transformer layers, but with fp8-current not of the first and last (default: bf16)'
    fp8_params: Union[bool, str]
    'keep and gather the weights of layers in 8 bits, with ZeRO 1 (default: on with fp8, fp8-current, fp8-current-all and mxfp8)'
    grad_dtype: Union[int, float, str, Path]
    "data type of the main gradients (default: the stack's)"
    optimizer_dtype: Union[int, float, str, Path]
    "data type of the optimizer's two moments. All but fp32 need the distributed optimizer (default: fp32)"
    cp_comm: Union[int, float, str, Path]
    "exchange of context parallelism. hierarchical: all-to-all in a node, a ring over nodes (default: the stack's, or the target's)"
    moe_dispatcher: Union[int, float, str, Path]
    "exchange of tokens with experts (default: auto: the stack's, or one that the target has)"
    moe_fp8_dispatch: Union[bool, str]
    "send rows to experts in 8 bits, with deepep and hybridep. They come back in 16 (default: the stack's, or off for targets that lack it)"
    moe_shared_expert_overlap: Union[bool, str]
    "shared experts compute while tokens are on their way, not before (default: the stack's, or off for targets that lack it)"
    moe_imbalance: Union[float, str]
    "tokens of the busiest rank's experts over the mean of all ranks (default: 1)"
    moe_capacity_factor: Union[float, str]
    'most tokens of an expert, over the mean of all. Others are dropped (default: no limit)'
    moe_pad_to_capacity: Union[bool, str]
    "pad each expert's tokens to its capacity (default: off)"
    cuda_graphs: Union[int, float, str, Path]
    "what CUDA graphs capture, so that the host is not late with it: full, or attn, mlp, moe, moe_router, moe_preprocess with commas, as Megatron-LM (default: the stack's, off)"
    moe_tokens: File
    'tokens of each expert, by microbatch (and layer), from which the imbalance of each microbatch follows. With --lengths for named schedules'
    tp_overlap: Union[bool, str]
    "hide part of the tensor-parallel communication behind compute (default: the stack's, off in nvfp4)"
    step_sync: Union[bool, str]
    'end every step with a global barrier (default: on)'
    shapes: Union[int, float, str, Path]
    'how receivers learn tensor sizes (see ppsim(1)). padded:MAX pads to MAX tokens. auto chooses the fastest (default: plan)'
    shape_message: Union[float, str]
    'time of one tensor-size message (default: link latency)'
    host: Value
    'host overhead: per launch, per device sync, per size read (default: 0)'
    tensors_per_boundary: Union[int, str]
    'number of tensors that carry the data between two stages (default: 1)'
    communicators: Union[int, float, str, Path]
    "ranks that share a communicator. auto takes the fastest (default: the executor's)"
    p2p: Union[int, float, str, Path]
    "operation that carries a pipeline transfer (default: the executor's)"
    scatter_gather: Union[bool, str]
    "each tensor-parallel rank sends 1/tp of a tensor, and the receivers gather it (default: the stack's)"
    recv_buffers: Union[int, float, str, Path]
    "how receive buffers are allocated: on-post, per-microbatch, per-stage, per-direction or pool (default: the executor's)"
    send_buffers: Union[int, float, str, Path]
    "how long sent tensors are kept: until-done, until-waited, until-backward or until-step-end (default: the executor's)"
    return_outputs: Union[bool, str]
    "the last stage keeps its outputs until the step ends (default: the executor's)"
    tie: Union[int, float, str, Path]
    'steps that differ by at most this count as equal, then headroom, steadiness and simplicity decide (default: 1%)'
    headroom: Union[int, float, str, Path]
    "of plans that tie, first those that leave this much memory free on every GPU, beside the 5 % that are always kept free (default: 10% of the GPU's memory, or 0 with --memory-limit)"
    fastest: bool
    'the fastest plan that fits, same as --tie 0%'
    budget: Union[int, float, str, Path]
    'limit of the search: 5s, or 20000it (iterations)'
    seed: Union[int, str]
    'random seed of the search and of --jitter (default: 0)'
    threads: Union[int, str]
    'threads for the search and --jitter. They do not change the result (default: all processors)'
    why: bool
    'show where the time of the step goes, part by part'
    explain: bool
    'if nothing fits, list the sets of changes that make it fit'
    jitter: Value
    'compare plans by their step under random delays, e.g. compute=0.02,comm=0.1 (see ppsim-simulate(1))'
    rank_by: Union[int, float, str, Path]
    'with --jitter: the percentile to compare (default: p50)'
    verbose: bool
    'also print alternatives, stages, memory, assumptions'
    emit: Union[Value, Sequence[Value]]
    "write the plan or its schedule ('ppsim list formats')"
    trace: Union[Value, Sequence[Value]]
    "write the timeline (see 'ppsim list formats')"
    ranks: Union[int, float, str, Path]
    'pipeline ranks that --trace writes (default: all)'
    report: Union[int, float, str, Path]
    'write a web page that shows the answer, e.g. a.html'
    candidates: Union[int, float, str, Path]
    'write every candidate, and why it was not chosen, as CSV'
    use_distributed_optimizer: bool
    'same as --zero 1'
    overlap_grad_reduce: bool
    'same as --grad-sync overlap'
    fp8_format: Union[int, float, str, Path]
    'same as --precision fp8, without --fp8-recipe'
    fp8_recipe: Union[int, float, str, Path]
    'same as --precision fp8, fp8-current-all, fp8-block, mxfp8'
    first_last_layers_bf16: bool
    'with --fp8-recipe tensorwise: fp8-current'
    fp4_format: Union[int, float, str, Path]
    'same as --precision nvfp4'
    fp4_recipe: Union[int, float, str, Path]
    'accepted with --fp4-format'
    fp8_param_gather: bool
    'same as --fp8-params on'
    use_flash_attn: bool
    'same as --attention flash'
    accumulate_allreduce_grads_in_fp32: bool
    'same as --grad-dtype fp32'
    grad_reduce_in_bf16: bool
    'same as --grad-dtype bf16'
    use_precision_aware_optimizer: bool
    'accepted with --optimizer-dtype (--exp-avg-dtype)'
    exp_avg_sq_dtype: Union[int, float, str, Path]
    'accepted if it is --optimizer-dtype'
    main_params_dtype: Union[int, float, str, Path]
    'accepted: master weights are in fp32'
    cp_comm_type: Union[int, float, str, Path]
    'same as --cp-comm ring, all-to-all, all-gather, all-gather, hierarchical'
    moe_token_dispatcher_type: Union[int, float, str, Path]
    'same as --moe-dispatcher alltoall, allgather, and that of the next option'
    moe_flex_dispatcher_backend: Union[int, float, str, Path]
    'same as --moe-dispatcher deepep, hybridep'
    overlap_moe_expert_parallel_comm: bool
    'same as --schedule combined-1f1b'
    delay_wgrad_compute: bool
    'accepted: combined-1f1b computes gradients of weights apart'
    no_overlap_p2p_communication: bool
    'same as --executor megatron'
    overlap_p2p_communication_warmup_flush: bool
    'same as --executor megatron-overlap-flush'
    recompute_modules: Value
    'what selective recomputation recomputes, with commas: core_attn, layernorm, mla_up_proj, mlp, moe_act, shared_experts, moe (default: core_attn, and with experts what saves most memory for its time)'
    recompute_method: Union[int, float, str, Path]
    'with --recompute full: all layers, N at a time, or the first N of every stage (default: uniform)'
    recompute_num_layers: Union[int, str]
    'N of --recompute-method. Uniform keeps the input of every N-th layer (default: 1)'
    output: Union[int, float, str, Path]
    'write the result to FILE (default: stdout)'


class PlanOptions(StepOptions, total=False):
    """Options of `ppsim.plan`."""

    pareto: bool
    'print a table instead: the fastest step found for every memory limit up to the given one'
    costs_file: File
    'order the ops of --schedule with --pp and --microbatches, with these times (ppsim.costs), instead of planning a model'
    instance: File
    'order the ops of a ppsim.instance file instead of planning a model'


class SimulateOptions(TypedDict, total=False):
    """Options of `ppsim.simulate`."""

    schedule: File
    "a name from 'ppsim list schedules', or a schedule file"
    pp: Union[int, str]
    'pipeline-parallel degree (number of pipeline ranks)'
    microbatches: Union[int, str]
    'microbatches per step'
    vpp: Union[int, str]
    'stages per pipeline rank (virtual pipeline stages) (default: 1, or 2 for V-shaped schedules such as zbv. Interleaved schedules need a value)'
    microbatch_group_size: Union[int, str]
    "interleaved: microbatches that a stage runs before the rank's next stage starts (default: PyTorch's rule)"
    pipeline_runs: Union[int, str]
    'run the schedule R times per step, each time with an equal part of the microbatches, as torchtitan and AutoModel accumulate gradients (default: 1)'
    forward_only: bool
    'evaluation: run the forwards only'
    costs: Value
    'time per op of one stage: forward F, backward for input I and weights W. B=T sets I and W together, FB=T is the time of an F and B that overlap'
    costs_file: File
    'JSON file with times per stage and microbatch (docs/reference/formats.md)'
    memory_costs: Value
    'memory that each op takes or frees, in activations or with a unit'
    memory_limit: Union[int, str]
    "limit per rank, e.g. 80GB (default: the plan's)"
    rank_speed: Value
    'relative compute speed of individual pipeline ranks, e.g. 3=0.8,5=1.1 (default: 1)'
    rank_memory: Value
    'memory limit of individual pipeline ranks, e.g. 3=40GiB (default: --memory-limit)'
    rank_link: Value
    "bandwidth between two pipeline ranks, e.g. 2:3=25GB/s (default: the hardware's)"
    nic: Union[int, str]
    'K consecutive ranks share one NIC, max-min fair (default: no sharing)'
    overlap_slowdown: File
    'slow-down of compute and of transfers while they overlap (default: 1)'
    transfer_latency: Union[float, str]
    'with --nic or --overlap-slowdown: latency, the part of a transfer in which no bytes move (default: 0)'
    executor: Union[int, float, str, Path]
    "communicate as this framework does: a name from 'ppsim list executors'. all prints a table of all of them (default: the plan's, or ideal)"
    step_sync: Union[bool, str]
    'end every step with a global barrier (default: on)'
    comm: Union[int, float, str, Path]
    "how sends work: rendezvous, eager:BYTES or batched, or with the lanes of PyTorch's nccl, nccl-lazy, nccl-per-edge or gloo (default: the plan's, or rendezvous)"
    lanes: Union[int, float, str, Path]
    "queues of a rank: single, per-direction, per-peer or per-edge (default: the executor's)"
    communicators: Union[int, float, str, Path]
    "another way to set --lanes: world and pp mean single, per-edge means per-edge (default: the plan's)"
    p2p: Union[int, float, str, Path]
    "operation that carries a pipeline transfer. It does not change the transfer's time (default: the plan's)"
    recv_buffers: Union[int, float, str, Path]
    "how receive buffers are allocated: on-post, per-microbatch, per-stage, per-direction or pool (default: the executor's)"
    send_buffers: Union[int, float, str, Path]
    "how long sent tensors are kept: until-done, until-waited, until-backward or until-step-end (default: the executor's)"
    return_outputs: Union[bool, str]
    "the last stage keeps its outputs until the step ends (default: the executor's)"
    shapes: Union[int, float, str, Path]
    'how receivers learn tensor sizes: plan, local, message, cached, padded[:MAX], bucket:N or padded-wire[:MAX] (default: plan)'
    shape_message: Union[float, str]
    "time of one tensor-size message (default: the plan's, or 0)"
    host: Value
    'host overhead: per launch, per device sync, per size read (default: 0)'
    tensors_per_boundary: Union[int, str]
    'number of tensors that carry the data between two stages (default: 1)'
    max_outstanding_sends: Union[int, float, str, Path]
    "with torch-2.15: how many sends of a rank may be under way, by waiting for others earlier (default: the plan's, or none)"
    unshard_lookahead: Union[int, float, str, Path]
    "with torch-2.15: of how many stages parameters are gathered ahead. It changes the emitted rows, and with sharded parameters the time (default: the plan's, or full, which is 3)"
    profile: File
    'refuse a plan that was not made from this profile, unless --recost is given'
    recost: bool
    "keep the plan's order, partition and data, but take its costs from --profile"
    model: Model
    "with --recost: the model (default: the plan's, if it has a name)"
    hw: File
    'with --recost: hardware for costs that the profile lacks'
    profile_only: Union[int, float, str, Path]
    'with --recost: use only this part of the profile (default: both)'
    profile_layers: Union[int, str]
    'with --recost: number of layers per stage in the imported measurements'
    compile_time: Union[float, str]
    'time to compile one graph (executors xla, xla-fused and neuronx)'
    torch_compile: Union[bool, str]
    'the framework compiles its stages, so that no backward is split into I and W (default: off)'
    why: bool
    'show where the time of the step goes, part by part'
    bound: bool
    'a closer lower bound of the makespan, as plan has it. It takes longer'
    worst: Union[int, str]
    'number of longest waits to show, with their causes (default: 5)'
    sensitivity: bool
    'growth of the step if a stage or link is slower'
    jitter: Value
    'random delays, e.g. compute=0.02,slow-rank=3:1.3 (see ppsim-simulate(1))'
    seed: Union[int, str]
    'random seed of --jitter (default: 0)'
    threads: Union[int, str]
    'threads for --jitter. They do not change the result (default: all processors)'
    verbose: bool
    'print every rank, the longest waits, memory by component'
    emit: Union[Value, Sequence[Value]]
    "write schedule, plan or report ('ppsim list formats')"
    trace: Union[Value, Sequence[Value]]
    "write the timeline (see 'ppsim list formats')"
    ranks: Union[int, float, str, Path]
    'pipeline ranks that --trace writes (default: all)'
    columns: Union[int, str]
    'width of the text timeline, in characters (default: 80)'
    output: Union[int, float, str, Path]
    'write the result to FILE (default: stdout)'


class CheckOptions(TypedDict, total=False):
    """Options of `ppsim.check`."""

    executor: Union[int, float, str, Path]
    "framework that adds the sends and receives if the file has none: a name from 'ppsim list executors' (default: torch)"
    target: Union[int, float, str, Path]
    "also check that this runtime runs it, and trains rightly (see 'ppsim list targets')"
    comm: Union[int, float, str, Path]
    "how sends work: rendezvous, eager:BYTES or batched, or with the lanes of PyTorch's nccl, nccl-lazy, nccl-per-edge or gloo (default: the plan's, or rendezvous)"
    lanes: Union[int, float, str, Path]
    "queues of a rank: single, per-direction, per-peer or per-edge (default: those of the plan's executor or of the target's, or single)"
    shapes: Union[int, float, str, Path]
    'how receivers learn tensor sizes: plan, local, message or cached (default: plan)'
    tensors_per_boundary: Union[int, str]
    'number of tensors that carry the data between two stages (default: 1)'
    message_bytes: Union[int, str]
    'size of every message if no plan specifies it (default: 1B)'
    partial: bool
    'the file is an excerpt: ops outside of it count as done'
    output: Union[int, float, str, Path]
    'write the result to FILE (default: stdout)'


class PackOptions(TypedDict, total=False):
    """Options of `ppsim.pack`."""

    model: Model
    "a name from 'ppsim list models', a ppsim.model file, or a Hugging Face config.json"
    seq_length: Union[int, str]
    "longest sequence, in tokens (default: the model's maximum)"
    truncate: bool
    'cut sequences that are longer than --seq-length, which otherwise are refused'
    split_long: bool
    'split them into pieces of at most --seq-length'
    micro_batch_size: Union[int, str]
    'a microbatch has at most N x seq-length tokens (default: 1)'
    global_batch_size: Union[int, str]
    'sequences per step, if the file holds several steps (default: all sequences are one step)'
    packing: Union[int, float, str, Path]
    'packing to start from. auto tries all of them (default: auto)'
    budget: Union[int, float, str, Path]
    'time for all, mostly to improve that packing by moving and swapping sequences, or moves per batch, e.g. 1000it (iterations) (default: 1000it for auto, otherwise 0)'
    seed: Union[int, str]
    'random seed of the moves and swaps (default: 0)'
    hw: File
    "a name from 'ppsim list hardware', or a hardware file (default: h100-80g)"
    memory_limit: Union[int, str]
    'limit per GPU, e.g. 80GB (default: 95 % of its memory)'
    pp: Union[int, str]
    'pipeline-parallel degree (number of pipeline ranks)'
    tp: Union[int, str]
    'tensor-parallel degree (default: chosen)'
    dp: Union[int, str]
    'data-parallel degree (default: 1)'
    cp: Union[int, str]
    'context-parallel degree (default: 1)'
    ep: Union[int, str]
    'expert-parallel degree, a divisor of tp x cp x dp / etp (default: 1)'
    etp: Union[int, str]
    'ranks that divide an expert (1: experts are whole) (default: tp)'
    schedule: Union[int, float, str, Path]
    "a name from 'ppsim list schedules'. auto takes the fastest (default: 1f1b)"
    vpp: Union[int, str]
    'stages per pipeline rank (virtual pipeline stages) (default: chosen)'
    microbatch_group_size: Union[int, str]
    "interleaved: microbatches that a stage runs before the rank's next stage starts (default: PyTorch's rule)"
    recompute: Union[int, float, str, Path]
    'activation recomputation (default: auto)'
    partition: Union[int, float, str, Path]
    "layers per stage. uniform: equally many, as Colossal-AI. LAYOUT is a layout of Megatron, such as 'Et*3|t*4|t*3L' (default: auto)"
    target: Union[int, float, str, Path]
    "pack for what one framework can run (see 'ppsim list targets')"
    executor: Union[int, float, str, Path]
    "communicate as this framework does: a name from 'ppsim list executors' (default: ideal)"
    stack: File
    "training software: a name from 'ppsim list stacks', or a stack file (default: current)"
    step_sync: Union[bool, str]
    'end every step with a global barrier (default: on)'
    shapes: Union[int, float, str, Path]
    'how receivers learn tensor sizes: plan, local, message, cached, padded[:MAX], bucket:N or padded-wire[:MAX] (default: plan)'
    verbose: bool
    'also print all packings that were tried'
    output: Union[int, float, str, Path]
    'write the result to FILE (default: stdout)'


class CompareOptions(TypedDict, total=False):
    """Options of `ppsim.compare`."""

    tolerance: Union[Value, Sequence[Value]]
    "largest accepted change: 1%, 20us, or any for no limit. +1% limits increases only, -1% decreases only. METRIC is a name from 'ppsim list metrics', or all. If some are named, the others are judged only with all=LIMIT (default: 0 for every metric)"
    strict: bool
    'fail on any difference, even an improvement'
    baseline: Union[int, float, str, Path]
    'compare with the results kept in FOLDER, in FOLDER/simulated or per platform'
    refresh: bool
    'keep NEW as the baseline, unless it is worse'
    accept: bool
    'with --refresh: keep NEW even if it is worse or lacks files'
    platform: Union[int, float, str, Path]
    "platform of measured baselines (default: this machine's processor and number of cores)"
    rows: Union[int, str]
    'number of differences to print (default: 10, and a metric of several ranks or stages once)'
    markdown: Union[int, float, str, Path]
    'write the same as a Markdown table'
    junit: Union[int, float, str, Path]
    'write JUnit XML, one test case per metric and file'
    output: Union[int, float, str, Path]
    'write the result to FILE (default: stdout)'


class ShapesOptions(TypedDict, total=False):
    """Options of `ppsim.shapes`."""

    executors: Value
    'executors to compare (default: that of the plan, then others that run its schedule, three in all)'
    protocols: Value
    'tensor-size protocols to compare (default: all, with bucket:512)'
    host: Value
    'host overhead: per launch, per device sync, per size read (default: launch=5us,sync=10us,read=8us)'
    shape_message: Union[float, str]
    'time of one tensor-size message (default: link latency)'
    tensors_per_boundary: Union[int, str]
    'number of tensors that carry the data between two stages (default: 1)'
    model: Model
    "a name from 'ppsim list models', a ppsim.model file, or a Hugging Face config.json"
    seq_length: Union[int, str]
    "tokens per sequence, or per packed row of --lengths (default: the model's maximum)"
    micro_batch_size: Union[int, str]
    'sequences, or packed rows, per microbatch (default: chosen)'
    global_batch_size: Union[int, str]
    'without --lengths: sequences per step'
    lengths: Lengths
    'sequence lengths of one step, one per line or as JSON'
    truncate: bool
    'cut sequences that are longer than --seq-length, which otherwise are refused'
    split_long: bool
    'split them into pieces of at most --seq-length'
    hw: File
    "a name from 'ppsim list hardware', or a hardware file (default: h100-80g)"
    memory_limit: Union[int, str]
    'limit per GPU, e.g. 80GB (default: 95 % of its memory)'
    pp: Union[int, str]
    'pipeline-parallel degree (number of pipeline ranks)'
    tp: Union[int, str]
    'tensor-parallel degree (default: chosen)'
    dp: Union[int, str]
    'data-parallel degree (default: 1)'
    cp: Union[int, str]
    'context-parallel degree (default: 1)'
    schedule: Union[int, float, str, Path]
    "a name from 'ppsim list schedules' (default: 1f1b)"
    vpp: Union[int, str]
    'stages per pipeline rank (virtual pipeline stages) (default: 1, or 2 for V-shaped schedules such as zbv. Interleaved schedules need a value)'
    microbatch_group_size: Union[int, str]
    "interleaved: microbatches that a stage runs before the rank's next stage starts (default: PyTorch's rule)"
    recompute: Union[int, float, str, Path]
    'activation recomputation (default: auto)'
    verbose: bool
    'also print the assumptions'
    output: Union[int, float, str, Path]
    'write the result to FILE (default: stdout)'
