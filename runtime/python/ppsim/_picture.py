"""Draws a step as SVG, for notebooks: the timeline of every rank, and its memory.

A path per kind of op holds all of its rectangles. Where ops would be too narrow to be seen, columns
show the part of each kind instead, so that a picture has some hundred kilobytes at most. Nothing but text
is made here: no other package is needed. Colours are those of Okabe and Ito (2008), which people
with colour-blindness tell apart.
"""

from __future__ import annotations

import html
import struct
from typing import TYPE_CHECKING, Iterator

from ppsim import _call

if TYPE_CHECKING:
    from ppsim._results import Step

_colours = {"F": "#56B4E9", "I": "#E69F00", "W": "#009E73", "B": "#D55E00"}
_words = {"F": "forward", "I": "backward for input", "W": "backward for weight", "B": "backward"}
_width = 900  # of the picture, in pixels
_left = 60  # of the time axis


def _times(ops: _call.Ops) -> Iterator[tuple[str, int, int]]:
    """Yields kind, start and end in nanoseconds of the ops of a rank."""
    count = len(ops.kind)
    starts = struct.unpack(f"={count}q", ops.start_ns)
    ends = struct.unpack(f"={count}q", ops.end_ns)
    for index in range(count):
        yield "FIWB"[ops.kind[index]], starts[index], ends[index]


def _each(ops: _call.Ops, scale: float, row: int) -> Iterator[tuple[str, float, float, float, float]]:
    """Yields kind, left, top, width and height of a rectangle for each op of a rank."""
    for kind, start, end in _times(ops):
        width = (end - start) * scale
        yield kind, start * scale, 0, width - (0.3 if width > 2 else 0), row - 1


def _shares(
    ops: _call.Ops, scale: float, row: int, column: float
) -> Iterator[tuple[str, float, float, float, float]]:
    """Yields rectangles as _each does, but of columns, in which each kind has the height of its part of
    the column's time: for ops that are too narrow to be seen."""
    busy: dict[tuple[int, str], float] = {}
    for kind, start, end in _times(ops):
        left, right = start * scale / column, end * scale / column
        for at in range(int(left), int(right) + 1):
            part = min(right, at + 1) - max(left, at)
            busy[at, kind] = busy.get((at, kind), 0) + max(part, 0)
    bottom: dict[int, float] = {}
    for kind in _colours:
        for at in sorted(at for at, other in busy if other == kind):
            height = busy[at, kind] * (row - 1)
            top = bottom.get(at, row - 1.0) - height
            bottom[at] = top
            if height >= 0.05:
                yield kind, at * column, top, column, height


def _height(ranks: int) -> int:
    return max(4, min(22, 640 // max(ranks, 1)))


def timeline(step: "Step") -> str:
    """Returns the timeline of a step as an SVG element."""
    answer = step._answer
    row = _height(step.ranks)
    longest = max((struct.unpack("=q", ops.end_ns[-8:])[0] for ops in answer.ops if ops.end_ns), default=0)
    longest = max(longest, answer.step_ns, 1)
    scale = (_width - _left - 10) / longest
    paths: dict[str, list[str]] = {kind: [] for kind in _colours}
    names = []
    every = max(1, (14 + row - 1) // row)
    count = sum(len(ops.kind) for ops in answer.ops)
    column = max(2.0, 3 * (_width - _left) * step.ranks / 15000)
    for rank, ops in enumerate(answer.ops):
        top = 24 + rank * row
        if rank % every == 0:
            names.append(f'<text x="{_left - 6}" y="{top + row / 2 + 4:.1f}" text-anchor="end">{rank}</text>')
        wide = answer.step_ns * scale * step.ranks > 1.5 * count
        for kind, x, y, w, h in _each(ops, scale, row) if wide else _shares(ops, scale, row, column):
            paths[kind].append(
                f"M{_left + x:.1f} {top + y:.4g}h{max(w, 0.2):.3g}v{h:.3g}h-{max(w, 0.2):.3g}z"
            )
    bottom = 24 + step.ranks * row
    drawn = "".join(
        f'<path fill="{_colours[kind]}" d="{"".join(path)}"/>' for kind, path in paths.items() if path
    )
    legend = "".join(
        f'<tspan fill="{_colours[kind]}">&#9632;</tspan> {_words[kind]}&#160;&#160; '
        for kind, path in paths.items()
        if path
    )
    ticks = "".join(
        f'<text x="{_left + part / 4 * longest * scale:.1f}" y="{bottom + 14}" text-anchor="{anchor}">'
        f"{_duration(part / 4 * longest)}</text>"
        for part, anchor in enumerate(("start", "middle", "middle", "middle", "end"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_width} {bottom + 22}" width="{_width}" '
        f'style="max-width:100%" font-family="sans-serif" font-size="11" fill="currentColor" role="img" '
        f'aria-label="timeline of {step.ranks} ranks"><text x="4" y="14">rank</text>'
        f'<text x="{_left}" y="14">{legend}</text>{"".join(names)}{drawn}{ticks}</svg>'
    )


def memory(step: "Step") -> str:
    """Returns the peak memory of every rank as an SVG element, or "" where it is not known."""
    held = [(sum(row[:-1]), row[-1]) for row in step._answer.memory]
    most = max((max(total, limit) for total, limit in held), default=0)
    if not most:
        return ""
    row = _height(step.ranks)
    scale = (_width - _left - 90) / most
    every = max(1, (14 + row - 1) // row)
    bars = []
    for rank, (total, limit) in enumerate(held):
        top = 24 + rank * row
        colour = "#D55E00" if limit and total > limit else "#0072B2"
        bars.append(
            f'<rect x="{_left}" y="{top}" width="{total * scale:.1f}" height="{row - 1}" fill="{colour}"/>'
        )
        if limit:
            at = _left + limit * scale
            bars.append(f'<path stroke="currentColor" d="M{at:.1f} {top}v{row}"/>')
        if rank % every == 0:
            middle = f"{top + row / 2 + 4:.1f}"
            bars.append(f'<text x="{_left - 6}" y="{middle}" text-anchor="end">{rank}</text>')
            bars.append(f'<text x="{_width - 84}" y="{middle}">{total / 2**30:.1f} GiB</text>')
    bottom = 24 + step.ranks * row
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_width} {bottom + 6}" width="{_width}" '
        f'style="max-width:100%" font-family="sans-serif" font-size="11" fill="currentColor" role="img" '
        f'aria-label="peak memory of {step.ranks} ranks"><text x="4" y="14">rank</text>'
        f'<text x="{_left}" y="14">peak memory; the line is the limit</text>{"".join(bars)}</svg>'
    )


def _duration(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.0f} ns" if ns else "0"


def page(step: "Step") -> str:
    """Returns what a notebook shows of a step: the answer for people, its timeline and its memory."""
    return f"<pre>{html.escape(step.text)}</pre>{timeline(step)}<br>{memory(step)}"
