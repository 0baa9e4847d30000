"""A pipeline that is planned again for every batch."""

from __future__ import annotations

import json
import threading
from typing import Any, Optional, Union

from ppsim import _call, _errors
from ppsim._arguments import Arguments, lengths_of
from ppsim._results import Plan, Step

# What a plan settles for the batches after it: its keys, and the options that say the same.
_of_plan = {
    "model": "model",
    "hardware": "hw",
    "executor": "executor",
    "shapes": "shapes",
    "step_sync": "step_sync",
    "recompute": "recompute",
    "memory_limit_bytes": "memory_limit",
}
_of_parallel = (
    *("pp", "tp", "cp", "dp", "ep", "etp", "vpp", "zero", "micro_batch_size", "seq_length"),
    *("sequence_parallel", "precision"),
)
# What the batch or the search decides, or what follows from other settings.
_not_settled = {
    *("format", "version", "schedule", "costs", "microbatches", "prediction", "provenance", "recomputed"),
    *("assumptions", "elsewhere", "interval", "profile", "partition", "placement", "lanes", "comm"),
    *("global_batch_size", "stands_for", "sha256"),
}
# Options that have other names than what they set in a plan.
_options_of = {option: key for key, option in _of_plan.items()}
_options_of.update(attention="flash_attention", fp8_params="low_parameters", stack="name")


class Replanned(Step):
    """The plan of one batch: which sequences share a microbatch, and the order of all ranks.

    ``step_ns``, ``order(rank)``, ``timeline()`` and ``memory(rank)`` are those of the slowest replica.
    It can be pickled, so that one rank can plan and broadcast it."""

    def __init__(self, answer: _call.Answer, lengths: list[int], first_fit_ns: int) -> None:
        super().__init__(answer)
        self._lengths = lengths
        #: Nanoseconds of the sequences packed first fit with the pipeline's own schedule; 0: they do
        #: not fit.
        self.first_fit_ns = first_fit_ns

    def __reduce__(self) -> Any:
        return type(self), (self._answer, self._lengths, self.first_fit_ns)

    @property
    def data(self) -> Any:
        """Empty: `Replanner.plan` returns a plan with everything."""
        return {}

    @property
    def packing(self) -> list[list[list[int]]]:
        """For each replica the indices into the batch that each microbatch has."""
        packing: list[list[list[int]]] = json.loads(self._answer.files["packing"])
        return packing

    @property
    def lengths(self) -> list[list[list[int]]]:
        """For each replica the lengths of the sequences that each microbatch has."""
        return [[[self._lengths[k] for k in one] for one in replica] for replica in self.packing]


class Replanner:
    """Plans one pipeline again for every batch, in milliseconds.

    plan: one that settles model, hardware, degrees, schedule and executor; a file or a `Plan` whose
    model and hardware have names that ppsim knows. A plan with settings that are not taken over, such
    as those of a target, is refused until options say them. options: those of ``plan``, which come
    before what the plan says; without a plan, ``model``, ``pp`` and the other degrees. lengths: the sequence
    lengths of a typical batch, for which the pipeline is chosen; those of the plan if there are none.
    A named schedule is what the orders begin with and are never slower than.

    It may be used by several threads, which then take turns, and can be pickled: a process that gets
    it, such as a worker of a data loader, chooses the pipeline again. Raises as `plan`."""

    def __init__(self, plan: Optional[Any] = None, *, lengths: Optional[Any] = None, **options: Any) -> None:
        data = None if plan is None else _plan_data(plan)
        given = {} if data is None else _settled(data)
        given.update(options)
        if lengths is not None:
            given["lengths"] = lengths
        self._given = given
        self._lock = threading.Lock()
        lib, ffi = _call.library()
        arguments = Arguments("plan")
        arguments.add_options(given)
        request = ffi.new("ppsim_request **")
        error = ffi.new("ppsim_error *")
        made = ffi.new("ppsim_replanner **")
        _call.check(lib.ppsim_request_new(b"plan", request, error), error)
        try:
            _call.fill(request[0], arguments.settings, arguments.words, arguments.inputs)
            _call.check(lib.ppsim_replanner_new(request[0], made, error), error)
        finally:
            lib.ppsim_request_free(request[0])
        self._c = ffi.gc(made[0], lib.ppsim_replanner_free)
        if data is not None:
            self._check_settings(data, {_options_of.get(option, option) for option in options})

    def _check_settings(self, data: Any, given: set[str]) -> None:
        """Refuses a plan with settings that this replanner does not have. given: those that options say."""
        parallel = data["parallel"]
        batch = _plan_lengths(data) or [parallel["seq_length"]] * parallel["global_batch_size"]
        wanted, has = _settings(data), _settings(self.plan(batch, budget="1it").data)
        for key in sorted(set(wanted) | set(has)):
            if key not in given and wanted.get(key) != has.get(key):
                raise _errors.UsageError(
                    "plan",
                    f"has {key} {wanted.get(key)}, which a replanner does not take from plans (it has "
                    f"{has.get(key)}); give the options of plan that the plan was made with",
                )

    def __reduce__(self) -> Any:
        return _again, (self._given,)

    def step(self, lengths: Any, *, budget: Union[float, str] = 0.01, seed: int = 0) -> Replanned:
        """Plans a batch.

        lengths: of its sequences, in tokens. budget: about so many seconds, or a number of iterations
        such as ``"100it"``, with which all ranks that have the lengths find the same plan. seed: of
        the search. The result fits in memory and is not slower than the sequences packed first fit
        with the pipeline's own schedule. Raises InputError (a length below 1 or beyond a microbatch),
        UsageError, InfeasibleError where no packing fits, UndecidedError where none did in time."""
        batch = lengths_of(lengths)
        answer, first_fit_ns = self._run(batch, budget, seed, False)
        return Replanned(answer, batch, first_fit_ns)

    def plan(self, lengths: Any, *, budget: Union[float, str] = 0.01, seed: int = 0) -> Plan:
        """Plans a batch like `step`, and returns the whole plan, which takes some milliseconds more
        and can be saved, checked, emitted and run."""
        answer, _ = self._run(lengths_of(lengths), budget, seed, True)
        return Plan(answer._replace(files={}))

    def _run(
        self, batch: list[int], budget: Union[float, str], seed: int, whole: bool
    ) -> tuple[_call.Answer, int]:
        lib, ffi = _call.library()
        try:
            array = ffi.new("int64_t[]", batch)
            number = ffi.new("uint64_t *", seed)
        except (OverflowError, TypeError) as wrong:
            raise _errors.UsageError("lengths or seed", f"{wrong}; give ints of 64 bits") from None
        iterations, time_ns = _budget(budget)
        asked = ffi.new("ppsim_batch *")
        asked.lengths, asked.count = array, len(batch)
        asked.iterations, asked.time_ns = iterations, time_ns
        asked.seed, asked.whole_plan = number[0], whole
        result = ffi.new("ppsim_result **")
        error = ffi.new("ppsim_error *")
        try:
            with self._lock:
                status = lib.ppsim_replan(self._c, asked, result, error)
            _call.check(status, error)
            return _call.copy(result[0], "plan"), lib.ppsim_result_first_fit_ns(result[0])
        finally:
            lib.ppsim_result_free(result[0])


def _again(given: dict[str, Any]) -> Replanner:
    return Replanner(**given)


def _budget(budget: Union[float, str]) -> tuple[int, int]:
    """Returns the iterations and the nanoseconds of a budget, of which one is 0. Raises UsageError."""
    wrong = _errors.UsageError(
        "budget", f"must be seconds, or a text such as '10ms' or '100it', not {budget!r}"
    )
    units = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
    try:
        if isinstance(budget, str):
            unit = next(u for u in ("it", "ns", "us", "ms", "s") if budget.endswith(u))
            number = float(budget[: -len(unit)])
            pair = (int(number), 0) if unit == "it" else (0, round(number * units[unit]))
        else:
            pair = (0, round(float(budget) * 1e9))
    except (ValueError, TypeError, OverflowError, StopIteration):
        raise wrong from None
    if not 0 < sum(pair) < 2**62:
        raise wrong
    return pair


def _plan_data(plan: Any) -> Any:
    """Returns the JSON of a plan. Raises InputError, FileError, OSError."""
    from ppsim._api import load

    return (plan if isinstance(plan, Plan) else load(plan)).data


def _plan_lengths(data: Any) -> list[int]:
    """Returns the lengths of the sequences of a plan; none if it does not have them."""
    batches = data.get("microbatches") or []
    if batches and isinstance(batches[0], list):
        batches = [one for replica in batches for one in replica]
    return [n for one in batches for n in one.get("sequences") or []]


def _settings(data: Any) -> dict[str, Any]:
    """Returns the settings of a plan, those of parts of it by their own names."""
    flat: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, dict) and key not in _not_settled:
            flat.update(_settings(value))
        elif key not in _not_settled and value is not None:
            flat[key] = value
    return flat


def _settled(data: Any) -> dict[str, Any]:
    """Returns the options of a replanner that a plan settles. Raises UsageError."""
    if not data.get("model"):
        raise _errors.UsageError("plan", "has no model; give the options of plan instead")
    parallel = data.get("parallel") or {}
    given = {option: data[key] for key, option in _of_plan.items() if data.get(key) is not None}
    given.update({key: parallel[key] for key in _of_parallel if parallel.get(key) is not None})
    if parallel.get("zero") is not None and given["dp"] == 1:
        del given["zero"]
    if given["recompute"] == "per-microbatch":
        given["recompute"] = "per-stage"
    name = (data.get("stack") or {}).get("name")
    if name:
        given["stack"] = name
    layout = (data.get("partition") or {}).get("layout")
    if layout:
        given["partition"] = layout
    orders = data["schedule"]
    schedule = (orders[0] if isinstance(orders, list) else orders)["name"]
    if schedule == "planned":
        one = parallel.get("vpp", 1) < 2
        schedule = "1f1b" if one else "zbv" if data.get("placement") == "v" else "interleaved"
    given["schedule"] = schedule
    lengths = _plan_lengths(data)
    if lengths:
        given["lengths"] = lengths
    return given
