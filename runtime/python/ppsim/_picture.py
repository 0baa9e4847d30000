"""Draws a step as SVG, for notebooks: the timeline of every rank, and its memory.

A path per kind of op holds all of its rectangles, and ops that are narrower than half a pixel are
joined with their neighbours, so that a picture has some hundred kilobytes at most. Nothing but text
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
_narrow = 0.5


def _spans(ops: _call.Ops, scale: float) -> Iterator[tuple[str, float, float]]:
    """Yields kind, begin and end in pixels of the rectangles of a rank, with those joined that would
    be too narrow to see."""
    count = len(ops.kind)
    begins = struct.unpack(f"={count}q", ops.start_ns)
    ends = struct.unpack(f"={count}q", ops.end_ns)
    kind, begin, end = "", 0.0, 0.0
    for index in range(count):
        letter = "FIWB"[ops.kind[index]]
        first, last = begins[index] * scale, ends[index] * scale
        if (
            kind
            and first - end < _narrow
            and (last - first < _narrow or (letter == kind and end - begin < _narrow))
        ):
            end = last
            continue
        if kind:
            yield kind, begin, end
        kind, begin, end = letter, first, last
    if kind:
        yield kind, begin, end


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
    for rank, ops in enumerate(answer.ops):
        top = 24 + rank * row
        if rank % every == 0:
            names.append(f'<text x="{_left - 6}" y="{top + row / 2 + 4:.1f}" text-anchor="end">{rank}</text>')
        for kind, begin, end in _spans(ops, scale):
            width = max(end - begin - (0.3 if end - begin > 2 else 0), 0.2)
            paths[kind].append(f"M{_left + begin:.1f} {top}h{width:.1f}v{row - 1}h-{width:.1f}z")
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
        f'<text x="{_left + part * longest * scale:.1f}" y="{bottom + 14}" text-anchor="middle">'
        f"{_duration(part * longest)}</text>"
        for part in (0, 0.25, 0.5, 0.75, 1)
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
    return f"{ns:.0f} ns"


def page(step: "Step") -> str:
    """Returns what a notebook shows of a step: the answer for people, its timeline and its memory."""
    return f"<pre>{html.escape(step.text)}</pre>{timeline(step)}<br>{memory(step)}"
