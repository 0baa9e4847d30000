"""When the ops of a step ran: measured by the host, or on a GPU by events of its stream.

Hosts take time.monotonic, placed on the clock of the day once per process, so that ranks on one host
agree to the microsecond, and others as their clocks do. The file is a Chrome trace as ``ppsim run
--trace chrome=FILE`` writes it, which ``ppsim compare`` and ``ppsim plot`` read.
"""

from __future__ import annotations

import json
import time
from typing import Any

import torch

_start = time.time_ns() - time.monotonic_ns()
_names = {"F": "forward", "I": "backward for input", "W": "backward for weight", "B": "backward"}


class Clock:
    """Marks moments, and says later when they were."""

    def __init__(self, device: torch.device) -> None:
        self._cuda = device.type == "cuda"
        self._device = device
        self._base: Any = None

    def begin(self) -> None:
        """Places the device's clock on the host's, at the start of a step."""
        if self._cuda:
            torch.cuda.synchronize(self._device)
            self._base = (self._event(), time.monotonic_ns())

    def _event(self) -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def mark(self) -> Any:
        return self._event() if self._cuda else time.monotonic_ns()

    def when_ns(self, mark: Any) -> int:
        """Nanoseconds since 1970."""
        if self._cuda:
            event, host_ns = self._base
            mark.synchronize()
            mark = host_ns + int(event.elapsed_time(mark) * 1e6)
        return int(_start + mark)


def write_trace(path: Any, ranks: list[list[tuple[str, int, int, int, int]]], about: dict[str, str]) -> None:
    """Writes the ops of all ranks, each (kind, stage, microbatch, start, end) in ns since 1970."""
    first = min(op[3] for ops in ranks for op in ops)
    events: list[dict[str, Any]] = [
        {"ph": "i", "s": "g", "pid": 0, "tid": 0, "ts": 0.0, "name": "step"},
    ]
    for rank, ops in enumerate(ranks):
        events.append(
            {"ph": "M", "pid": rank, "tid": 0, "name": "process_name", "args": {"name": f"rank {rank}"}}
        )
        for kind, stage, microbatch, start, end in ops:
            events.append(
                {
                    "ph": "X",
                    "pid": rank,
                    "tid": 0,
                    "ts": (start - first) / 1000,
                    "dur": (end - start) / 1000,
                    "name": f"{stage}{kind}{microbatch}",
                    "cat": "compute",
                    "args": {"stage": stage, "microbatch": microbatch, "kind": _names[kind]},
                }
            )
    other = {"producer": "ppsim", "times": "measured", **about}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}, file)
