"""ppsim check and simulate of small schedules with sends and receives, against an explorer.

Schedules for 2 or 3 ranks are drawn, and most of them are broken: cells exchanged, moved, doubled or
left out. Some are excerpts (--partial), whose missing ops and partners count as done. What is valid is decided here by the rules of docs/reference/formats.md, written again. Whether a
valid schedule can hang is found by visiting every state that any interleaving of ranks and transfers can
reach; its makespan by a second, plain simulation. Repairs that check suggests are carried out and explored.
"""

import json
import re

from harness import Wrong, main

STATES_MAX = 30000


# A schedule is a list of rows, one per rank, of cells: ("F", stage, microbatch), I, W, B, or
# ("SEND_F", stage, microbatch), RECV_F, SEND_B, RECV_B.
def is_transfer(cell):
    return "_" in cell[0]


def sends(cell):
    return cell[0].startswith("SEND")


def text_of(rows):
    return "".join(",".join(f"{c[1]}{c[0]}{c[2]}" for c in row) + "\n" for row in rows)


def draw_valid(rng):
    """Ops in an order that can be carried out; a send after each op whose result another rank needs, and
    the receive somewhere before the op that needs it."""
    ranks = rng.choice([2, 2, 2, 3])
    chunks = rng.choice([1, 1, 2]) if ranks == 2 else 1
    stages = ranks * chunks
    microbatches = rng.choice([1, 2, 2, 3]) if stages < 4 else rng.choice([1, 2])
    rank_of = [s % ranks for s in range(stages)]
    if chunks == 2 and rng.random() < 0.5:
        rank_of = [s if s < ranks else stages - 1 - s for s in range(stages)]
    split = rng.random() < 0.4
    backward = "I" if split else "B"
    rows = [[] for _ in range(ranks)]
    done = set()
    left = [(k, s, m) for s in range(stages) for m in range(microbatches)
            for k in (["F", "I", "W"] if split else ["F", "B"])]

    in_turn = rng.random() < 0.8

    def ready(op):
        kind, s, m = op
        if in_turn and m > 0 and (kind, s, m - 1) not in done:
            return False
        if kind == "F":
            return s == 0 or ("F", s - 1, m) in done
        if kind == "W":
            return ("I", s, m) in done
        return ("F", s, m) in done and (s == stages - 1 or (backward, s + 1, m) in done)

    while left:
        op = rng.choice([o for o in left if ready(o)])
        left.remove(op)
        done.add(op)
        kind, s, m = op
        rank = rank_of[s]
        if kind == "F" and s > 0 and rank_of[s - 1] != rank:
            rows[rank].append(("RECV_F", s, m))
        if kind == backward and s + 1 < stages and rank_of[s + 1] != rank:
            rows[rank].append(("RECV_B", s, m))
        rows[rank].append(op)
        if kind == "F" and s + 1 < stages and rank_of[s + 1] != rank:
            rows[rank].append(("SEND_F", s, m))
        if kind == backward and s > 0 and rank_of[s - 1] != rank:
            rows[rank].append(("SEND_B", s, m))
    for row in rows:  # receives come earlier, sends later, in most cases without overtaking each other
        for _ in range(rng.choice([0, 2, 4, 8])):
            i = rng.randrange(len(row))
            k = i + (-1 if row[i][0].startswith("RECV") else 1)
            if not is_transfer(row[i]) or not 0 <= k < len(row):
                continue
            if not is_transfer(row[k]) or sends(row[k]) != sends(row[i]) or rng.random() < 0.05:
                row[i], row[k] = row[k], row[i]
    return rows


def break_rows(rng, rows):
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        row = rng.choice(rows)
        if not row:
            continue
        i = rng.randrange(len(row))
        way = rng.randrange(7)
        if way == 0 and i + 1 < len(row):
            row[i], row[i + 1] = row[i + 1], row[i]
        elif way == 1:
            cell = row.pop(i)
            row.insert(rng.randrange(len(row) + 1), cell)
        elif way == 2:
            row.insert(rng.randrange(len(row) + 1), row[i])
        elif way == 3 and rng.random() < 0.5:
            row.pop(i)
        elif way in (4, 5) and is_transfer(row[i]):  # both ends: left out, or doubled
            cell = row[i]
            forward = cell[0].endswith("F")
            step = (1 if forward else -1) * (1 if sends(cell) else -1)
            other = (("RECV" if sends(cell) else "SEND") + cell[0][4:], cell[1] + step, cell[2])
            for r in rows:
                for end in (cell, other):
                    if end in r and way == 4:
                        r.remove(end)
                    elif end in r:
                        r.insert(r.index(end) + rng.randrange(2), end)
        elif way == 6 and sends(row[i]):  # in front of its op
            cell = row.pop(i)
            row.insert(rng.randrange(i + 1), cell)


def leave_out(rng, rows):
    """An excerpt: most cells, or all but those of some microbatches or stages."""
    share = rng.choice([0.02, 0.1, 0.3])
    without = [rng.randrange(3) if rng.random() < 0.3 else None for _ in range(2)]
    for row in rows:
        kept = [c for c in row if rng.random() >= share and c[1] != without[0] and c[2] != without[1]]
        row[:] = kept or row


class Invalid(Exception):
    pass


def prepare(rows, partial):
    """Checks the rules and pairs sends with receives. Returns the partner of each transfer, named by
    (rank, index), and the receive that each op needs. In an excerpt some have none."""
    home = {}
    where = {}
    for r, row in enumerate(rows):
        for i, cell in enumerate(row):
            if home.setdefault(cell[1], r) != r:
                raise Invalid(f"stage {cell[1]} on two ranks")
            if cell in where:
                raise Invalid(f"{cell} twice")
            where[cell] = (r, i)
    stages = max(home) + 1
    microbatches = max(c[2] for c in where) + 1
    if len(home) != stages and not partial:
        raise Invalid("a stage is missing")
    for s in range(stages):
        for m in range(microbatches):
            at = {k: where[(k, s, m)][1] for k in "FIWB" if (k, s, m) in where}
            if set(at) not in ({"F", "B"}, {"F", "I", "W"}) and not partial:
                if not (set(at) == {"F"} and not any(c[0] in "IWB" for c in where)):
                    raise Invalid(f"stage {s} microbatch {m} has {sorted(at)}")
            for first, then in (("F", "B"), ("F", "I"), ("F", "W"), ("I", "W")):
                if first in at and then in at and at[first] > at[then]:
                    raise Invalid(f"{then} before {first}")
            made = {"SEND_F": at.get("F"), "SEND_B": at.get("B", at.get("I"))}
            for kind, index in made.items():
                if (kind, s, m) in where and index is not None and where[(kind, s, m)][1] < index:
                    raise Invalid(f"{kind} before its op")
    queues = {}
    for r, row in enumerate(rows):
        for i, cell in enumerate(row):
            if not is_transfer(cell):
                continue
            step = (1 if cell[0].endswith("F") else -1) * (1 if sends(cell) else -1)
            if cell[1] + step not in home and (not partial or cell[1] + step < 0):
                raise Invalid(f"{cell} has no other end")
            peer = home.get(cell[1] + step)  # None: all that is outside of the excerpt
            edge = (r, peer) if sends(cell) else (peer, r)
            queues.setdefault(edge, ([], []))[0 if sends(cell) else 1].append((r, i))
    partner = {}
    for (a, b), (out, into) in queues.items():
        if len(out) != len(into) and not partial:
            raise Invalid(f"{len(out)} sends from {a} to {b}, {len(into)} receives")
        for x, y in zip(out, into):
            s, t = rows[x[0]][x[1]], rows[y[0]][y[1]]
            step = 1 if s[0].endswith("F") else -1
            if s[0][-1] != t[0][-1] or s[1] + step != t[1] or s[2] != t[2]:
                raise Invalid(f"{s} meets {t}")
            partner[x], partner[y] = y, x
        for t, peer in [(t, b) for t in out[len(into):]] + [(t, a) for t in into[len(out):]]:
            partner[t] = (peer, None)
    needs = {}
    for cell, at in where.items():
        kind, s, m = cell
        if kind == "F" and s > 0 and home.get(s - 1) != home[s]:
            needs[at] = where.get(("RECV_F", s, m))
        elif kind in "IB" and (s + 1 < stages or partial) and home.get(s + 1) != home[s]:
            needs[at] = where.get(("RECV_B", s, m))
        else:
            continue
        if needs[at] is None and not partial:
            raise Invalid(f"{cell} never receives its input")
    local = {}  # results of the same rank, which the order of the row must respect
    for cell, at in where.items():
        kind, s, m = cell
        source = None
        if kind == "F" and s > 0 and home.get(s - 1) == home[s]:
            source = where.get(("F", s - 1, m))
        elif kind in ("I", "B") and s + 1 < stages and home.get(s + 1) == home[s]:
            source = where.get(("B", s + 1, m)) or where.get(("I", s + 1, m))
        if source:
            local[at] = source
    return partner, needs, local


class Program:
    """Steps of each rank, with groups of transfers, and the lanes they wait in."""

    def __init__(self, rows, eager, lanes, groups, partial):
        self.rows = rows
        self.eager = eager
        self.partner, self.needs, self.local = prepare(rows, partial)
        self.group_of = {}
        for r, row in enumerate(rows):
            for i, cell in enumerate(row):
                if is_transfer(cell):
                    self.group_of[(r, i)] = groups.get((r, i), (r, i))
        self.members = {}
        for t, g in self.group_of.items():
            self.members.setdefault(g, []).append(t)
        queues = {}
        for r, row in enumerate(rows):  # groups are posted as a whole, at their first cell
            for i, cell in enumerate(row):
                if is_transfer(cell) and self.group_of[(r, i)] == (r, i):
                    for t in sorted(self.members[(r, i)]):
                        peer = self.partner[t][0]
                        way = sends(rows[t[0]][t[1]])
                        lane = {"single": (r,), "per-direction": (r, way),
                                "per-peer": (r, peer, way), "per-edge": (r, peer)}[lanes]
                        queues.setdefault(lane, []).append(t)
        self.ahead = {}  # the group in front, in its lane
        for queue in queues.values():
            for a, b in zip(queue, queue[1:]):
                if self.group_of[a] != self.group_of[b]:
                    self.ahead[b] = self.group_of[a]
                elif a in self.ahead:
                    self.ahead[b] = self.ahead[a]

    def whole(self, group, done):
        return all(t in done for t in self.members[group])

    def active(self, t, pcs, done):
        group = self.group_of[t]
        return pcs[group[0]] > group[1] and (t not in self.ahead or self.whole(self.ahead[t], done))

    def moves(self, state):
        """All states that one step of a rank or one transfer leads to."""
        pcs, done = state
        for r, row in enumerate(self.rows):
            if pcs[r] == len(row):
                continue
            at = (r, pcs[r])
            if not is_transfer(row[pcs[r]]):
                need = self.needs.get(at)
                if need and not (pcs[r] > self.group_of[need][1]
                                 and self.whole(self.group_of[need], done)):
                    continue
                source = self.local.get(at)
                if source and source[1] > at[1]:
                    continue
            yield pcs[:r] + (pcs[r] + 1,) + pcs[r + 1:], done
        for t in self.group_of:
            other = self.partner[t]
            send = sends(self.rows[t[0]][t[1]])
            if t in done or not self.active(t, pcs, done):
                continue
            if other[1] is None or (self.eager and (send or other in done)):
                yield pcs, done | {t}
            elif send and not self.eager and self.active(other, pcs, done):
                yield pcs, done | {t, other}

    def hangs(self):
        """Whether any interleaving ends before the ranks do; None: there are too many states."""
        end = tuple(len(row) for row in self.rows)
        first = ((0,) * len(self.rows), frozenset())
        seen = {first}
        stack = [first]
        while stack:
            state = stack.pop()
            stuck = True
            for then in self.moves(state):
                stuck = False
                if then not in seen:
                    seen.add(then)
                    stack.append(then)
            if stuck and state[0] != end:
                return True
            if len(seen) > STATES_MAX:
                return None
        return False

    def makespan(self, f, b, comm):
        """Times of the one result that all interleavings have: repeated until nothing changes."""
        takes = {"F": f, "B": b, "I": b / 2, "W": b / 2}
        ready, end, clock = {}, {}, [0.0] * len(self.rows)
        pcs = [0] * len(self.rows)
        issued = {}
        moved = True
        while moved:
            moved = False
            for r, row in enumerate(self.rows):
                while pcs[r] < len(row):
                    cell, at = row[pcs[r]], (r, pcs[r])
                    if is_transfer(cell):
                        if self.group_of[at] == at:
                            issued[at] = clock[r]
                    else:
                        need = self.needs.get(at)
                        group = self.group_of[need] if need else None
                        if group and not (group in issued and all(t in end for t in self.members[group])):
                            break
                        start = max([clock[r]] + [end[t] for t in self.members.get(group, [])])
                        clock[r] = start + takes[cell[0]]
                    pcs[r] += 1
                    moved = True
            for t, group in self.group_of.items():
                if t not in ready and group in issued:
                    ahead = self.ahead.get(t)
                    if ahead is None:
                        ready[t] = issued[group]
                    elif all(m in end for m in self.members[ahead]):
                        ready[t] = max([issued[group]] + [end[m] for m in self.members[ahead]])
                    moved = moved or t in ready
            for t in self.group_of:
                if not sends(self.rows[t[0]][t[1]]) or t not in ready:
                    continue
                other = self.partner[t]
                if self.eager:
                    if t not in end:
                        end[t] = ready[t]
                        moved = True
                    if other in ready and other not in end:
                        end[other] = max(ready[other], ready[t] + comm)
                        moved = True
                elif other in ready and t not in end:
                    end[t] = end[other] = max(ready[t], ready[other]) + comm
                    moved = True
        return max(clock)


def batches(rows):
    """--comm batched: the transfers between two ops of a rank are one group."""
    groups = {}
    for r, row in enumerate(rows):
        first = None
        for i, cell in enumerate(row):
            first = (i if first is None else first) if is_transfer(cell) else None
            if first is not None:
                groups[(r, i)] = (r, first)
    return groups


def find(rows, rank, token):
    for i, cell in enumerate(rows[rank]):
        if f"{cell[1]}{cell[0]}{cell[2]}" == token:
            return i
    raise Wrong(f"the repair names {token}, which rank {rank} does not have")


def repaired(rows, repair, eager, lanes, groups, partial):
    if repair["kind"] == "lanes":
        return Program(rows, eager, repair["lanes"], groups, partial)
    if repair["kind"] == "swap" and not groups:
        i, k = (find(rows, repair["rank"], repair[key]) for key in ("first", "second"))
        changed = [list(row) for row in rows]
        row = changed[repair["rank"]]
        row[i], row[k] = row[k], row[i]
        return Program(changed, eager, lanes, groups, partial)
    return None


def attack(rng, ppsim):
    rows = draw_valid(rng)
    break_rows(rng, rows)
    partial = rng.random() < 0.3
    if partial:
        leave_out(rng, rows)
    mode = rng.choice(["rendezvous", "rendezvous", "eager:1B", "batched"])
    lanes = rng.choice(["single", "single", "per-direction", "per-peer", "per-edge"])
    groups = batches(rows) if mode == "batched" else {}
    settings = ["--comm", mode, "--lanes", lanes] + ["--partial"] * partial
    ppsim.write("rows.csv", text_of(rows))
    if not re.search("_", text_of(rows)) or all(is_transfer(cell) for row in rows for cell in row):
        return "without transfers, or ops"
    status, out, err = ppsim("check", "rows.csv", "--json", *settings)
    try:
        program = Program(rows, mode == "eager:1B", lanes, groups, partial)
    except (Invalid, ValueError) as why:
        if status == 0 or status == 1 and json.loads(out)["hang_free"]:
            raise Wrong(f"check {settings}: takes what is not valid ({why})")
        return "not valid"
    hangs = program.hangs()
    if hangs is None:
        return "too large"
    if status not in (0, 1):
        raise Wrong(f"check {settings}: status {status}: {err}")
    verdict = json.loads(out)
    if not verdict["valid"]:
        raise Wrong(f"check {settings}: is valid, but refused: {verdict['reason']}")
    if verdict["hang_free"] == hangs or (status == 1) != hangs:
        raise Wrong(f"check {settings}: hangs {hangs}, but: {verdict}")
    if hangs:
        better = verdict["repair"] and repaired(rows, verdict["repair"], mode == "eager:1B", lanes, groups, partial)
        if better and better.hangs():
            raise Wrong(f"check {settings}: this is no repair: {verdict['repair']}")
        return "hangs"
    if partial:
        return "valid excerpts"
    f, b, comm = (rng.choice([0, 1, 2, 3, 7]) for _ in range(3))
    costs = f"F={f}ms,B={2 * b}ms,comm={comm}ms"
    status, out, err = ppsim("simulate", "rows.csv", "--json", "--bound", "--costs", costs, *settings)
    if status:
        raise Wrong(f"simulate {costs} {settings}: status {status}: {err}")
    expected = round(1e6 * program.makespan(f, 2 * b, comm))
    report = json.loads(out)
    if report["makespan_ns"] != expected:
        raise Wrong(f"simulate {costs} {settings}: {report['makespan_ns']} ns, not {expected}")
    if report["lower_bound_ns"] and report["lower_bound_ns"] > expected:
        raise Wrong(f"simulate {costs} {settings}: bound {report['lower_bound_ns']} ns above {expected}")
    return "valid"


if __name__ == "__main__":
    main(attack, __doc__.splitlines()[0])
