"""Random compute orders: any interleaving that the dependencies allow, not only what a generator
would make."""


def place(draw, ranks, per_rank, placement):
    """Stage to rank."""
    stages = ranks * per_rank
    if placement == "loop":
        return [s % ranks for s in range(stages)]
    if placement == "v":
        return [s % ranks if s // ranks % 2 == 0 else ranks - 1 - s % ranks for s in range(stages)]
    home = list(range(ranks)) + [draw.randrange(ranks) for _ in range(stages - ranks)]
    draw.shuffle(home)
    return home


class Walk:
    """A random walk over what may run next."""

    def __init__(self, draw, home, microbatches, split, pairs):
        self.draw, self.home, self.pairs = draw, home, pairs
        self.stages, self.microbatches = len(home), microbatches
        self.split = {
            (s, j): draw.random() < split for s in range(self.stages) for j in range(microbatches)
        }
        self.done = set()
        self.rows = [[] for _ in range(max(home) + 1)]
        # Ranks and kinds that are often chosen and seldom chosen, so that orders differ in depth.
        self.eager = {kind: draw.choice((0.05, 0.3, 1.0)) for kind in "FBIW"}
        self.nimble = [draw.choice((0.1, 0.5, 1.0)) for _ in self.rows]

    def ready(self, rank):
        found = []
        for s in range(self.stages):
            if self.home[s] != rank:
                continue
            for j in range(self.microbatches):
                if (s, j, "F") not in self.done:
                    if s == 0 or (s - 1, j, "F") in self.done:
                        found.append((s, j, "F"))
                elif (s, j, "back") not in self.done:
                    if s == self.stages - 1 or (s + 1, j, "back") in self.done:
                        found.append((s, j, "I" if self.split[s, j] else "B"))
                elif self.split[s, j] and (s, j, "W") not in self.done:
                    found.append((s, j, "W"))
        return found

    def finish(self, op):
        s, j, kind = op
        self.done.add((s, j, "back" if kind in "BI" else kind))

    def partner(self, op, found):
        """What may overlap with `op`: a backward with a forward. Rarely, the last stage's backward of
        the very microbatch whose forward is the first half."""
        s, j, kind = op
        wanted = "BI" if kind == "F" else "F" if kind in "BI" else ""
        choice = [o for o in found if o[2] in wanted] if wanted else []
        if kind == "F" and s == self.stages - 1 and self.draw.random() < 0.2:
            choice.append((s, j, "I" if self.split[s, j] else "B"))
        return self.draw.choice(choice) if choice else None

    def step(self):
        choice = [(r, found) for r in range(len(self.rows)) if (found := self.ready(r))]
        if not choice:
            return False
        weights = [self.nimble[r] for r, _ in choice]
        rank, found = self.draw.choices(choice, weights)[0]
        op = self.draw.choices(found, [self.eager[o[2]] for o in found])[0]
        cell = f"{op[0]}{op[2]}{op[1]}"
        if self.draw.random() < self.pairs and (other := self.partner(op, found)):
            cell = f"({cell};{other[0]}{other[2]}{other[1]})OVERLAP_F_B"
            self.finish(other)
        self.finish(op)
        self.rows[rank].append(cell)
        return True


def draw_order(draw):
    """(rows, stage to rank, microbatches, placement) of an order that can run."""
    ranks = draw.randint(1, 5)
    per_rank = draw.randint(1, 4)
    placement = draw.choice(("loop", "loop", "v", "v", "any"))
    home = place(draw, ranks, per_rank, placement)
    microbatches = draw.randint(1, 8)
    walk = Walk(draw, home, microbatches, draw.choice((0, 0.5, 1)), draw.choice((0, 0, 0.3, 0.9)))
    while walk.step():
        pass
    return walk.rows, home, microbatches, placement


def disturb(draw, rows):
    """The same cells, a few of them elsewhere in their row: it may be invalid, or unable to finish."""
    rows = [list(row) for row in rows]
    for _ in range(draw.randint(1, 3)):
        row = draw.choice(rows)
        cell = row.pop(draw.randrange(len(row)))
        row.insert(draw.randint(0, len(row)), cell)
    return rows


def with_blanks(draw, rows):
    """Idle slots, as PyTorch's own generators leave them."""
    out = []
    for row in rows:
        cells = []
        for cell in row:
            cells += [""] * (draw.random() < 0.1) + [cell]
        out.append(cells)
    return out
