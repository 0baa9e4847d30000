"""How tensors travel between the ranks of a pipeline: size protocols, receive buffers, sends.

On each directed edge tensors travel in the order of the program. NCCL has a communicator per directed
edge, as executor ppsim assumes; gloo needs one group. Messages about sizes have communicators (or a tag)
of their own, so that they overtake tensors.
"""

from __future__ import annotations

import collections
import queue
import threading
from datetime import timedelta
from typing import Any, Callable, NamedTuple, Optional

import torch
import torch.distributed as dist

from ppsim.torch._places import Places

PROTOCOLS = ("plan", "local", "message", "cached", "padded", "padded-wire")


class Row(NamedTuple):
    """A row of ``Plan.program``."""

    action: str
    stage: int
    microbatch: int
    peer: int

    @property
    def token(self) -> str:
        return f"{self.stage}{self.action}{self.microbatch}"


class Failed(Exception):
    """A transfer failed; `what` describes it and its tensor."""

    def __init__(self, what: str, peer: int, why: BaseException) -> None:
        super().__init__(f"{what}: {first_line(why)}")
        self.transfer = what.split()[0]
        self.peer = peer


def first_line(why: BaseException) -> str:
    """Returns the first line of an error's text, with its type, without gloo's advice."""
    line = (str(why).splitlines() or [""])[0].split(" This is typically caused")[0]
    return f"{type(why).__name__}: {line}"


class Pool:
    """Receive buffers. A buffer is used again when the graph that reads it is gone; where no free one is
    large enough, the largest free one is replaced, so that there are never more than are needed at once.

    waiting_bytes: of receives that are posted, until their op takes them over (an activation: when its F
    starts; a gradient: when its B or I ends), and its peak, which is the plan's ``peak_recv_bytes``.
    bytes: of all buffers."""

    def __init__(self, hidden: int, dtype: torch.dtype, device: torch.device) -> None:
        self.hidden, self.dtype, self.device = hidden, dtype, device
        self.bytes = self.waiting_bytes = self.peak_bytes = 0
        self._free: list[torch.Tensor] = []

    def take(self, tokens: int) -> torch.Tensor:
        """Returns a flat buffer with room for `tokens`, which waits."""
        fitting = [b for b in self._free if len(b) >= tokens]
        chosen = min(fitting or self._free, key=lambda b: len(b) if fitting else -len(b), default=None)
        if chosen is not None:
            self._free = [b for b in self._free if b is not chosen]
        if chosen is None or not fitting:
            self.bytes -= 0 if chosen is None else chosen.nbytes
            chosen = torch.empty(tokens, self.hidden, dtype=self.dtype, device=self.device)
            self.bytes += chosen.nbytes
        return chosen

    def wait(self, size: int) -> None:
        """Counts bytes that wait from now on (negative: no longer)."""
        self.waiting_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.waiting_bytes)

    def give_back(self, buffer: torch.Tensor) -> None:
        self._free.append(buffer)


class Sends:
    """Keeps tensors until they are sent. gloo tells only who waits, so a thread does; NCCL tells."""

    def __init__(self, waits: bool) -> None:
        self._works: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._held: collections.deque[Any] = collections.deque()
        self._failed: Optional[Failed] = None
        self._waits = waits
        if waits:
            threading.Thread(target=self._run, name="ppsim sends", daemon=True).start()

    def add(self, work: Any, tensor: torch.Tensor, what: str, peer: int) -> None:
        if self._failed:
            raise self._failed
        if self._waits:
            self._works.put((work, tensor, what, peer))
            return
        while self._held and self._held[0][0].is_completed():
            self._held.popleft()
        self._held.append((work, tensor, what, peer))

    def _run(self) -> None:
        while (item := self._works.get()) is not None:
            if isinstance(item, threading.Event):
                item.set()
                continue
            work, tensor, what, peer = item
            try:
                work.wait()
            except Exception as why:  # pylint: disable=broad-except
                self._failed = self._failed or Failed(what, peer, why)
            del item, work, tensor

    def finish(self) -> None:
        """Waits until all is sent. Raises Failed."""
        if self._waits:
            done = threading.Event()
            self._works.put(done)
            done.wait()
        while self._held:
            self._held.popleft()[0].wait()
        if self._failed:
            raise self._failed

    def close(self) -> None:
        self._works.put(None)


class Wire:
    """The transfers of one rank. Raises Failed, with the tensor, from all that waits."""

    def __init__(
        self,
        group: Any,
        stage_rank: list[int],
        pool: Pool,
        protocol: str,
        timeout: float,
        places: Places,
    ) -> None:
        self.group, self.pool, self.protocol, self.places = group, pool, protocol, places
        self.rank = dist.get_rank(group)
        self.timeout = timedelta(seconds=timeout)
        self.gloo = dist.get_backend(group) == "gloo"
        self.sends = Sends(self.gloo)
        self.counts = dict.fromkeys(("tensors", "tensor_bytes", "messages", "message_bytes", "reads"), 0)
        self._tells = protocol in ("message", "cached")
        self._pads = protocol in ("padded", "padded-wire")
        self._channels = {} if self.gloo else self._make_channels(stage_rank)

    def _make_channels(self, stage_rank: list[int]) -> dict[tuple[int, int, bool], Any]:
        edges = {(a, b) for a, b in zip(stage_rank, stage_rank[1:]) if a != b}
        channels = {}
        for edge in sorted(edges | {(b, a) for a, b in edges}):
            for size in (False, True) if self._tells else (False,):
                pair = [dist.get_global_rank(self.group, rank) for rank in edge]
                if self.rank in edge:
                    channels[(*edge, size)] = dist.new_group(pair, use_local_synchronization=True)
        return channels

    def begin(self, lengths: list[Any]) -> None:
        """Begins a step. lengths: of the sequences of each microbatch."""
        self._lengths = lengths
        self.tokens = [sum(map(int, of)) for of in lengths]
        self.longest = max(self.tokens)
        self._known: set[int] = set()  # microbatches whose size a message or the first stage has told
        self._last: dict[tuple[int, int], int] = {}  # (sender, stage): the tokens of the tensor before
        self._late: dict[int, collections.deque[Row]] = collections.defaultdict(collections.deque)
        self._messages: dict[Row, Any] = {}  # the receive of the size of the tensor of a row
        self._posted: dict[Row, tuple[Any, torch.Tensor, torch.Tensor]] = {}
        self._held: dict[tuple[str, int, int], torch.Tensor] = {}
        for key in self.counts:
            self.counts[key] = 0
        self.pool.peak_bytes = 0

    def rows(self, microbatch: int) -> int:
        """Tokens of a tensor on the wire."""
        return self.longest if self._pads else self.tokens[microbatch]

    def _start(self, function: Callable[..., Any], tensor: torch.Tensor, row: Row, size: bool) -> Any:
        sends = function is dist.isend
        edge = (self.rank, row.peer) if sends else (row.peer, self.rank)
        group = self.group if self.gloo else self._channels[(*edge, size)]
        peer = dist.get_group_rank(group, dist.get_global_rank(self.group, row.peer))
        end: dict[str, Any] = {"group_dst" if sends else "group_src": peer}
        try:
            return function(tensor, group=group, tag=int(size), **end)
        except Exception as why:
            raise Failed(self._name(row, tensor), row.peer, why) from why

    def _name(self, row: Row, tensor: torch.Tensor) -> str:
        way = "to" if row.action.startswith("SEND") else "from"
        kind = str(tensor.dtype).replace("torch.", "")
        return f"{row.token} {way} rank {row.peer} (tensor {list(tensor.shape)} {kind})"

    def _wait(self, work: Any, row: Row, tensor: torch.Tensor) -> None:
        self.places.waiting(row.token, row.peer)
        try:
            work.wait(self.timeout) if self.gloo else work.wait()
        except Exception as why:
            raise Failed(self._name(row, tensor), row.peer, why) from why

    # ---- Sizes. ----

    def _told(self, row: Row, sender: int) -> bool:
        """Whether a message about the size goes before the tensor; both ends see that in the plan."""
        if not self._tells or not row.action.endswith("F"):
            return False
        boundary = row.stage if row.action.startswith("RECV") else row.stage + 1
        tokens = self.tokens[row.microbatch]
        changed = self._last.get((sender, boundary)) != tokens
        self._last[(sender, boundary)] = tokens
        return changed or self.protocol == "message"

    def _read_size(self, row: Row) -> None:
        """Waits for the message about the size of a tensor, reads and checks it."""
        work, message = self._messages.pop(row)
        self._wait(work, row, message)
        tokens, sequences = message.tolist()
        self.counts["reads"] += 1
        expected = (self.tokens[row.microbatch], len(self._lengths[row.microbatch]))
        if (tokens, sequences) != expected:
            raise ValueError(
                f"{row.token} from rank {row.peer} has {tokens} tokens in {sequences} sequences; the plan "
                f"has {expected[0]} in {expected[1]}"
            )

    # ---- Receives. ----

    def post(self, row: Row) -> None:
        """Posts a receive at its place in the program. If sizes travel in messages, the message's."""
        if not self._tells:
            self._post_tensor(row)
            return
        if self._told(row, row.peer):
            message = torch.empty(2, dtype=torch.int64, device=self.pool.device)
            self._messages[row] = (self._start(dist.irecv, message, row, True), message)
        late = self._late[row.peer]
        late.append(row)
        while late and self._is_known(late[0]):
            self._post_tensor(late.popleft())

    def _is_known(self, row: Row) -> bool:
        if row.action == "RECV_B":
            return row.stage == 0 or row.microbatch in self._known
        return row not in self._messages

    def _post_tensor(self, row: Row) -> None:
        tokens = self.rows(row.microbatch)
        if self.protocol == "local":
            tokens = int(torch.as_tensor(self._lengths[row.microbatch]).sum())
            self.counts["reads"] += 1
        buffer = self.pool.take(tokens)
        tensor = buffer[:tokens]
        self.pool.wait(tensor.nbytes)
        self._known.add(row.microbatch)
        self._posted[row] = (self._start(dist.irecv, tensor, row, False), tensor, buffer)

    def receive(self, row: Row) -> torch.Tensor:
        """Waits for a tensor, and returns it without padding of the wire. Its buffer is kept until
        `release`."""
        late = self._late[row.peer]
        while row not in self._posted:
            ahead = late.popleft()
            if ahead in self._messages:
                self._read_size(ahead)
            self._post_tensor(ahead)
        work, tensor, buffer = self._posted.pop(row)
        self._wait(work, row, tensor)
        self._held[(row.action, row.stage, row.microbatch)] = buffer
        if row.action == "RECV_F":
            self.pool.wait(-tensor.nbytes)
        return tensor[: self.tokens[row.microbatch]] if self.protocol == "padded-wire" else tensor

    def consumed(self, stage: int, microbatch: int) -> None:
        """Counts a gradient no longer as waiting: its op has ended."""
        if ("RECV_B", stage, microbatch) in self._held:
            size = torch.empty(0, dtype=self.pool.dtype).element_size()
            self.pool.wait(-self.rows(microbatch) * self.pool.hidden * size)

    def release(self, action: str, stage: int, microbatch: int) -> None:
        """Gives the buffer of a tensor back, if it came from another rank."""
        buffer = self._held.pop((action, stage, microbatch), None)
        if buffer is not None:
            self.pool.give_back(buffer)

    # ---- Sends. ----

    def send(self, row: Row, tensor: torch.Tensor) -> None:
        """Posts a send, after the message about its size."""
        if self._told(row, self.rank):
            sizes = [self.tokens[row.microbatch], len(self._lengths[row.microbatch])]
            message = torch.tensor(sizes, dtype=torch.int64, device=self.pool.device)
            work = self._start(dist.isend, message, row, True)
            self.sends.add(work, message, self._name(row, message), row.peer)
            self.counts["messages"] += 1
            self.counts["message_bytes"] += message.nbytes
        if self.protocol == "padded-wire":
            padded = tensor.new_zeros(self.longest, *tensor.shape[1:])
            padded[: len(tensor)] = tensor
            tensor = padded
        tensor = tensor.contiguous()
        expected = (self.rows(row.microbatch), self.pool.hidden)
        if tuple(tensor.shape) != expected or tensor.dtype != self.pool.dtype:
            raise ValueError(
                f"{self._name(row, tensor)} must have shape {list(expected)} and dtype {self.pool.dtype}"
            )
        self._known.add(row.microbatch)
        work = self._start(dist.isend, tensor, row, False)
        self.sends.add(work, tensor, self._name(row, tensor), row.peer)
        self.counts["tensors"] += 1
        self.counts["tensor_bytes"] += tensor.nbytes

    def finish(self) -> None:
        """Waits until all sends of the step are done."""
        self.sends.finish()
