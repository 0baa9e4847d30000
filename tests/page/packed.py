"""Decodes packed timelines and compares them with the Chrome traces of the same steps.
usage: packed.py PPSIM FOLDER"""
import json
import subprocess
import sys
from pathlib import Path

WORDS = "F I W B SEND_F RECV_F SEND_B RECV_B SEND_FS RECV_FS SEND_BS RECV_BS".split()
CAUSES = "data buffer link host sync".split()


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def u(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def z(self):
        value = self.u()
        return value >> 1 ^ -(value & 1)

    def token(self, stage, microbatch):
        code = self.u()
        if code == 0:
            return "", stage, microbatch
        if code == 100:
            count = self.u()
            self.at += count
            return self.data[self.at - count : self.at].decode(), stage, microbatch
        stage += self.z()
        microbatch += self.z()
        return f"{stage}{WORDS[code - 1]}{microbatch}", stage, microbatch


def unpack(data):
    """Lists of ops, waits, transfers and spans: (rank, start, duration, name, ...)."""
    ops, waits, transfers, spans, critical = [], [], [], [], []
    assert data[:8] == b"ppsimtl1"
    b = Bytes(data)
    b.at = 8
    ranks, stages, flags = b.u(), b.u(), b.u()
    for rank in range(ranks):
        stage = end = 0
        last = [0] * 4
        own = []
        for _ in range(b.u()):
            head = b.u()
            stage += b.z()
            last[head & 3] += b.z()
            start = end + b.z()
            duration = b.u()
            end = start + duration
            own.append((start, end, stage, last[head & 3]))
            ops.append((rank, start, duration, f"{stage}{'FIWB'[head & 3]}{last[head & 3]}"))
            if head & 8:
                critical.append(ops[-1])
        following = 0
        for _ in range(b.u()):
            following += b.u()
            cause = CAUSES[b.u()]
            start = b.z() + (own[following - 1][1] if following else 0)
            inside = following < len(own)
            end = (own[following][0] if inside else 0) - b.z()
            op, stage, microbatch = b.token(*(own[following][2:] if inside else (0, 0)))
            by = b.token(stage, microbatch)[0]
            assert 0 <= rank + b.z() < ranks
            waits.append((rank, start, end - start, cause, op, by))
        stage = start = 0
        last = [0, 0]
        for _ in range(b.u()):
            forward = b.u()
            stage += b.z()
            last[forward] += b.z()
            start += b.z()
            duration = b.u()
            name = f"{stage}SEND_{'BF'[forward]}{last[forward]}"
            transfers.append((rank, start, duration, name, rank + b.z()))
        start = 0
        for _ in range(b.u()):
            head = b.u()
            start += b.z()
            name = f"{head >> 1}{['UNSHARD', 'REDUCE_GRAD'][head & 1]}"
            spans.append((rank, start, b.u(), name))
    assert b.at == len(data), "bytes are left"
    assert {op[3].split("F")[0] for op in ops if "F" in op[3]} == {str(s) for s in range(stages)}
    return flags, ops, waits, transfers, spans, critical


def nanoseconds(text):
    whole, part = text.split(".")
    return 1000 * int(whole) + int(part[:3])


def read_chrome(path):
    """The same lists, of a Chrome trace; times are read as text, so that none is rounded."""
    ops, waits, transfers, spans = [], [], [], []
    for event in json.loads(path.read_text(), parse_float=str)["traceEvents"]:
        if event["ph"] != "X":
            continue
        place = (event["pid"], nanoseconds(event["ts"]), nanoseconds(event["dur"]))
        args, name = event["args"], event["name"]
        if event["cat"] == "compute":
            ops.append((*place, name))
        elif event["cat"] == "idle":
            waits.append((*place, name, args["op"], args["waits_for"]))
        elif event["cat"] == "send":
            transfers.append((*place, name, args["peer"]))
        elif event["cat"] == "sharding":
            spans.append((*place, name))
    return ops, waits, transfers, spans


def main():
    ppsim, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    plan = folder / "plan.json"
    subprocess.run(
        [ppsim, *"plan --model llama3-8b --pp 4 --tp 1 --dp 8 --global-batch-size 64 --fsdp".split(), "--emit", f"plan={plan}"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    costs = "F=18.5ms,I=18.1ms,W=9.3ms,comm=0.6ms"
    cases = [
        [str(plan)],
        f"--schedule zbv --pp 4 --microbatches 16 --costs {costs} --executor torch".split(),
        f"--schedule interleaved --vpp 3 --pp 4 --microbatches 12 --costs {costs} --executor megatron".split(),
        f"--schedule 1f1b --pp 5 --microbatches 7 --costs {costs} --executor ideal".split(),
        f"--schedule dualpipev --pp 4 --microbatches 16 --costs {costs},FB=30ms --executor dualpipe".split(),
        f"--schedule gpipe --pp 1 --microbatches 1 --costs {costs}".split(),
    ]
    seen = dict.fromkeys(("waits", "transfers", "spans"), 0)
    for case in cases:
        packed, chrome = folder / "packed", folder / "chrome.json"
        subprocess.run(
            [ppsim, "simulate", *case, "--trace", f"packed={packed}", "--trace", f"chrome={chrome}"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        flags, *ours, critical = unpack(packed.read_bytes())
        theirs = read_chrome(chrome)
        assert flags == 0, f"{case}: flags {flags}"
        for what, got, wanted in zip(("ops", "waits", "transfers", "spans"), ours, theirs):
            assert sorted(got) == sorted(wanted), f"{case}: other {what} than in the Chrome trace"
            assert what == "ops" or got == sorted(got, key=lambda x: x[:2]) or what == "spans", f"{case}: {what} are not sorted"
            if what in seen:
                seen[what] += len(got)
        ends = max(start + duration for _, start, duration, _ in ours[0])
        assert critical and max(op[1] + op[2] for op in critical) == ends, f"{case}: the path does not end with the step"
    assert all(seen.values()), f"the cases have none of {seen}"


if __name__ == "__main__":
    main()
