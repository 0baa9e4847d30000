"""Where every rank of a pipeline is, and why nothing moves.

Each rank has a place: the op that it computes, or the transfer that it waits for. A thread publishes it
in the store of the process group, several times a second, so that a step pays nothing for it; a rank that
fails publishes its last place itself. When a rank fails or waits for too long, it reads the places of the
others and follows the chain of waits, as runtime/core/deadlock_report.c does: every rank waits for at
most one other, so that the chain ends at the rank that all wait for, or runs into a cycle.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any, Optional

import torch.distributed as dist

_beat = 0.2  # seconds between two looks at the place
_patience = 1.5  # seconds for the others to publish why they ended


class PipelineError(RuntimeError):
    """A step failed. The text names the rank, the op and the tensor, and what the other ranks do;
    ``rank`` and ``op`` are the first two."""

    def __init__(self, text: str, rank: int, op: str) -> None:
        super().__init__(text)
        self.rank = rank
        self.op = op

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.rank, self.op)


class Place:
    """What a rank does since `since`, of the clock time.monotonic."""

    def __init__(self, doing: str, what: str = "", peer: int = -1) -> None:
        self.doing = doing  # computing, waiting, failed, finished
        self.what = what  # the op, or the transfer
        self.peer = peer  # the rank at the other end of the transfer
        self.since = time.monotonic()

    def text(self, beat: int, why: str = "") -> str:
        age = time.monotonic() - self.since
        return json.dumps([self.doing, self.what, self.peer, age, beat, why])


class Places:
    """Publishes the place of this rank, and reads those of the others."""

    def __init__(self, store: Any, name: str, rank: int, ranks: int) -> None:
        self.rank = rank
        self.ranks = ranks
        self.now = Place("finished")
        self._store = dist.PrefixStore(f"ppsim/{name}", store.clone())
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._publish, name="ppsim places", daemon=True)
        self._thread.start()

    def computing(self, op: str) -> None:
        self.now = Place("computing", op)

    def waiting(self, transfer: str, peer: int) -> None:
        self.now = Place("waiting", transfer, peer)

    def finished(self) -> None:
        self.now = Place("finished")

    def _set(self, beat: int, why: str = "") -> None:
        self._store.set(str(self.rank), self.now.text(beat, why))

    def _publish(self) -> None:
        beat = 0
        try:
            while not self._stop.is_set():
                self._set(beat)
                beat += 1
                self._stop.wait(_beat)
        except Exception:  # the store is gone, as at the end of rank 0  # pylint: disable=broad-except
            pass

    def close(self) -> None:
        """Ends the thread."""
        self._stop.set()
        self._thread.join()

    def fail(self, why: str) -> None:
        """Publishes that this rank ends at its place. why: one line, "" where it only waited."""
        self.close()
        try:
            self._set(-1, why)
        except Exception:  # pylint: disable=broad-except
            pass

    def _read(self) -> dict[int, list[Any]]:
        found = {}
        for rank in range(self.ranks):
            try:
                if self._store.check([str(rank)]):
                    found[rank] = json.loads(self._store.get(str(rank)))
            except Exception:  # pylint: disable=broad-except
                break
        return found

    def report(self, awaited: int = -1) -> str:
        """Returns why this rank makes no progress, in one line. awaited: the rank that it waits for. It
        takes up to two seconds, in which a rank that lives publishes its place again."""
        before = self._read()
        until = time.monotonic() + _patience
        while True:
            time.sleep(2 * _beat)
            after = self._read()
            ended = awaited in after and after[awaited][4] == -1
            if ended or time.monotonic() > until:
                break
        silent = {rank for rank in range(self.ranks) if not _answers(rank, before, after)} - {self.rank}
        return _explain(self.rank, after, silent)


def _answers(rank: int, before: dict[int, list[Any]], after: dict[int, list[Any]]) -> bool:
    """Whether a rank has published again since `before`, or that it failed."""
    if rank not in after:
        return False
    beat = after[rank][4]
    return beat == -1 or rank not in before or beat != before[rank][4]


def _describe(rank: int, places: dict[int, list[Any]], silent: set[int]) -> str:
    doing, what, peer, age, _, why = places.get(rank, ["unknown", "", -1, 0, 0, ""])
    if rank in silent:
        last = {"computing": f"; it computed {what}", "waiting": f"; it waited for {what}"}.get(doing, "")
        return f"rank {rank} does not answer{last}"
    if why:
        return f"rank {rank} died in {what}: {why}"
    if doing == "waiting":
        way = "to" if "SEND" in what else "from"
        return f"rank {rank} has been waiting for {what} {way} rank {peer} for {age:.2f} s"
    if doing == "computing":
        return f"rank {rank} has been computing {what} for {age:.2f} s"
    return f"rank {rank} has finished its program"


def _next(rank: int, places: dict[int, list[Any]], silent: set[int]) -> Optional[int]:
    """The rank that `rank` waits for."""
    place = places.get(rank)
    waits = place is not None and rank not in silent and place[0] == "waiting" and not place[5]
    return int(place[2]) if waits and place else None


def _explain(first: int, places: dict[int, list[Any]], silent: set[int]) -> str:
    chain = [first]
    while (after := _next(chain[-1], places, silent)) is not None and after not in chain:
        chain.append(after)
    if after is None:
        words = [_describe(rank, places, silent) for rank in chain]
        return "the run makes no progress: " + "; ".join(words)
    cycle = chain[chain.index(after) :]
    words = [_describe(rank, places, silent) for rank in cycle]
    return "the run hangs, because ranks wait for each other in a cycle: " + "; ".join(words)
