"""ppsim plan --instance of tiny problems, against all orders.

Problems of at most 12 ops are drawn: 1 to 3 ranks, several stages per rank, memory that just fits or
does not. All orders are tried here by dynamic programming over sets of ops that have run (of states with
the same set only those that no other one dominates are kept), by the rules of docs/reference/formats.md,
"ppsim.instance", written again. ppsim must say the same about whether anything fits, its makespan must be the
best one if it says that it is proved, and its orders must give that makespan within the memory.
"""

import json

from harness import Wrong, main


def draw(rng):
    p, v, m = rng.choice([(1, 1, 2), (1, 1, 3), (1, 2, 1), (1, 2, 2), (1, 3, 1), (1, 4, 1), (2, 1, 1), (2, 1, 2),
                          (2, 2, 1), (3, 1, 1), (1, 1, 4)])
    stages = p * v
    rank_of = [s % p for s in range(stages)]
    if rng.random() < 0.4:
        rank_of = [s % p if s // p % 2 == 0 else p - 1 - s % p for s in range(stages)]

    def ticks():
        return [rng.choice([0, 1, 1, 2, 5]), rng.choice([0, 0, 1 << 20, 1 << 19]), rng.choice([0, 0, 1 << 18])]

    large = rng.choice([3, 10])
    listed = [{"f": ticks(), "b": ticks(), "w": ticks(),
               "act": [rng.randrange(large), rng.randrange(3)],
               "whold": [rng.randrange(large), rng.randrange(2)],
               "transient": [rng.choice([0, 0, 1, 4, large]) for _ in range(3)]} for _ in range(stages)]
    tokens = [rng.choice([0, 1, 1, 2, 3]) for _ in range(m)]
    return {"name": "drawn", "p": p, "v": v, "m": m, "rank_of": rank_of, "stages": listed,
            "microbatches": {"tokens": tokens, "sumsq": [t * t for t in tokens]},
            "link": {"lat": rng.choice([0, 0, 1, 3]), "per_token_q20": rng.choice([0, 0, 1 << 20])},
            "cap": [rng.choice([rng.randrange(1, 3 * large), rng.randrange(1, 2 * large * (1 + v)), 1000])
                    for _ in range(p)]}


class Problem:
    def __init__(self, x):
        self.ranks = x["p"]
        self.cap = x["cap"]
        stages = x["p"] * x["v"]
        self.ops = {}  # name: (rank, ticks, [(op before, lag)], need, delta)
        for m in range(x["m"]):
            t, q = x["microbatches"]["tokens"][m], x["microbatches"]["sumsq"][m]
            lag = x["link"]["lat"] + ((x["link"]["per_token_q20"] * t + (1 << 19)) >> 20)
            for s, c in enumerate(x["stages"]):
                act = c["act"][0] + c["act"][1] * t
                hold = c["whold"][0] + c["whold"][1] * t
                extra = [k * t for k in c["transient"]]
                before = {"F": [("F", s - 1)] if s else [],
                          "B": [("B", s + 1)] if s + 1 < stages else [("F", s)],
                          "W": [("B", s)]}
                for k, (kind, need, delta) in enumerate((("F", act + extra[0], act),
                                                         ("B", extra[1], hold - act),
                                                         ("W", extra[2], -hold))):
                    c0, c1, c2 = c[kind.lower()]
                    ticks = ((c0 << 20) + c1 * t + c2 * q + (1 << 19)) >> 20
                    rank = x["rank_of"][s]
                    inputs = [(f"{a}{b}.{m}", lag if x["rank_of"][b] != rank else 0)
                              for a, b in before[kind]]
                    self.ops[f"{kind}{s}.{m}"] = (rank, ticks, inputs, need, delta)
        self.after = {name: [n for n, o in self.ops.items() if name in [i for i, _ in o[2]]]
                      for name in self.ops}

    def best(self):
        """The least makespan of all orders that fit; None: none does."""
        level = {frozenset(): {((0,) * self.ranks, ())}}
        for _ in self.ops:
            then = {}
            for done, states in level.items():
                held = [0] * self.ranks
                for name in done:
                    held[self.ops[name][0]] += self.ops[name][4]
                for name, (rank, ticks, inputs, need, _) in self.ops.items():
                    if name in done or any(i not in done for i, _ in inputs) or \
                            held[rank] + need > self.cap[rank]:
                        continue
                    grown = done | {name}
                    live = sorted(n for n in grown if any(a not in grown for a in self.after[n]))
                    for free, ends in states:
                        end = dict(ends)
                        begin = max([free[rank]] + [end[i] + lag for i, lag in inputs])
                        end[name] = begin + ticks
                        moved = free[:rank] + (begin + ticks,) + free[rank + 1:]
                        then.setdefault(grown, set()).add((moved, tuple((n, end[n]) for n in live)))
            level = {done: undominated(states) for done, states in then.items()}
        return min((max(free) for states in level.values() for free, _ in states), default=None)

    def replay(self, orders):
        """The makespan of the orders, which must be complete and fit."""
        rows = [line.split() if isinstance(line, str) else line for line in orders]
        if sorted(n for row in rows for n in row) != sorted(self.ops):
            raise Wrong(f"these orders are not of all ops: {orders}")
        end, clock, at = {}, [0] * self.ranks, [0] * self.ranks
        held = [0] * self.ranks
        moved = True
        while moved:
            moved = False
            for r, row in enumerate(rows):
                while at[r] < len(row) and all(i in end for i, _ in self.ops[row[at[r]]][2]):
                    rank, ticks, inputs, need, delta = self.ops[row[at[r]]]
                    if rank != r or held[r] + need > self.cap[r]:
                        raise Wrong(f"{row[at[r]]} is on the wrong rank or does not fit: {orders}")
                    held[r] += delta
                    end[row[at[r]]] = clock[r] = max([clock[r]] + [end[i] + lag for i, lag in inputs]) + ticks
                    at[r] += 1
                    moved = True
        if len(end) != len(self.ops):
            raise Wrong(f"these orders wait for each other: {orders}")
        return max(clock)


def undominated(states):
    """States whose times are not all as late as those of another."""
    kept = []
    for state in sorted(states, key=lambda s: sum(s[0]) + sum(e for _, e in s[1])):
        times = state[0] + tuple(e for _, e in state[1])
        if not any(all(a <= b for a, b in zip(k, times)) for k, _ in kept):
            kept.append((times, state))
    return {state for _, state in kept}


def attack(rng, ppsim):
    x = draw(rng)
    ppsim.write("i.json", json.dumps(x))
    problem = Problem(x)
    best = problem.best()
    budget = f"{rng.choice([1, 50, 5000])}it"
    status, out, err = ppsim("plan", "--instance", "i.json", "--budget", budget, "--seed",
                             str(rng.randrange(3)), "--json")
    if best is None:
        if status != 1 or "even alone" not in err:
            raise Wrong(f"nothing fits, but plan says: {status} {err} {out}")
        return "without an order"
    if status:
        raise Wrong(f"an order of {best} ticks fits, but plan says: {status} {err}")
    result = json.loads(out)
    if problem.replay(result["orders"]) != result["makespan"]:
        raise Wrong(f"replayed {problem.replay(result['orders'])}, but plan says {result['makespan']}")
    if result["makespan"] < best or result["lower_bound"] > best:
        raise Wrong(f"the best order has {best} ticks: {out}")
    if result["makespan"] > best and (result["lower_bound"] == result["makespan"] or budget == "5000it"):
        raise Wrong(f"the best order has {best} ticks, with {budget} plan found {result['makespan']}")
    return "solved" if result["makespan"] == best else "ended early"


if __name__ == "__main__":
    main(attack, __doc__.splitlines()[0])
