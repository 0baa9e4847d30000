"""The data in pages of `ppsim report`, `plan --report` and `run --report`, against what the commands print.
usage: report.py PPSIM FOLDER"""
import base64
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

from packed import unpack

ppsim, folder = sys.argv[1], Path(sys.argv[2])


def run(*words, **more):
    return subprocess.run([ppsim, *words], check=True, capture_output=True, text=True, **more).stdout


def read(path):
    """The data of a page, of which nothing but the data may depend on the inputs."""
    html = path.read_text()
    assert html.count('id="ppsim-data"') == 1
    before, data, after = re.fullmatch(r'(.*<script type="application/json" id="ppsim-data">)(.*?)(</script>.*)', html, re.S).groups()
    assert "<" not in data, "a name could end the element of the data"
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", before + after), "a remote address"
    page = json.loads(data)
    assert page["format"] == "ppsim.page" and page["version"] == 1
    return page, before + after


def timeline(subject):
    return unpack(gzip.decompress(base64.b64decode(subject["timeline"])))


def check_plan(subject, ops, file):
    """A subject of a plan is what `simulate` says of its file."""
    printed = json.loads(run("simulate", str(file), "--why", "--bound", "--worst", "20", "--json"))
    assert subject["report"] == printed, "another report than simulate prints"
    plan = json.loads(file.read_text())
    for key in ("schedule", "costs", "prediction", "microbatches", "memory_costs"):
        del plan[key]
    assert subject["plan"] == plan, "another plan than its file"
    busy = [0] * printed["ranks"]
    for rank, _, duration, _ in ops:
        busy[rank] += duration
    assert busy == [rank["busy_ns"] for rank in printed["per_rank"]], "other ops than the report sums up"


def check_plans():
    plan, page, template = folder / "plan.json", folder / "plan.html", None
    run("plan", "--model", "gpt1.7b", "--pp", "4", "--emit", f"plan={plan}", "--report", str(folder / "own.html"))
    own, _ = read(folder / "own.html")
    run("report", str(plan), "-o", str(page))
    data, template = read(page)
    (subject,) = data["subjects"]
    assert subject["kind"] == "plan" and subject["name"] == "plan.json"
    assert "gpt1.7b" in data["title"] and data["title"] == own["title"]
    check_plan(subject, timeline(subject)[1], plan)
    assert subject["answer"].startswith("gpt1.7b on ") and "\x01" not in subject["answer"]
    plan_data = json.loads(plan.read_text())
    assert len(subject["microbatches"]) == len(plan_data["microbatches"])
    assert [row[0] for row in subject["microbatches"]] == [m["tokens"] for m in plan_data["microbatches"]]
    # plan --report has the candidates, and the same step and timeline.
    (theirs,) = own["subjects"]
    assert theirs["candidates"].startswith("status,schedule,") and theirs["candidates"].count("\n") > 2
    assert theirs["timeline"] == subject["timeline"]
    assert theirs["report"]["step_ns"] == subject["report"]["step_ns"]
    assert sum(theirs["report"]["why"]["mean"].get(k) or 0 for k in theirs["report"]["why"]["mean"]) == theirs["report"]["step_ns"]
    # Names are text, whatever they hold, and nothing else of the page changes.
    plan_data["model"] = "</script><script>alert(1)</script>\x01\"'&"
    (folder / "hostile.json").write_text(json.dumps(plan_data))
    run("report", str(folder / "hostile.json"), "-o", str(page))
    data, again = read(page)
    assert again == template, "the page depends on its data outside of the element of the data"
    assert data["subjects"][0]["plan"]["model"] == plan_data["model"]
    # Two files, in their order, compressed.
    run("report", str(plan), str(folder / "hostile.json"), "-o", str(folder / "two.html.gz"))
    (folder / "two.html").write_bytes(gzip.decompress((folder / "two.html.gz").read_bytes()))
    assert [s["name"] for s in read(folder / "two.html")[0]["subjects"]] == ["plan.json", "hostile.json"]


def check_replicas():
    """Replicas with different data: times and microbatches are those of the slowest one."""
    plan, page, lengths = folder / "replicas.json", folder / "replicas.html", folder / "replicas.txt"
    lengths.write_text("\n".join(str(400 + 4001 * i * i % 7001) for i in range(200)))
    run(*"plan --model llama3-8b --pp 2 --tp 1 --dp 4 --schedule 1f1b --recompute none --seq-length 8192".split(),
        "--lengths", str(lengths), "--emit", f"plan={plan}", "--report", str(page))
    (own,) = read(page)[0]["subjects"]
    run("report", str(plan), "-o", str(page))
    (subject,) = read(page)[0]["subjects"]
    replicas = json.loads(plan.read_text())["microbatches"]
    assert len(replicas) == 4
    for shown in own, subject:
        tokens = [row[0] for row in shown["microbatches"]]
        assert tokens == [m["tokens"] for m in replicas[shown["replica"]]]
        forward = {name: duration for _, _, duration, name in timeline(shown)[1] if name.startswith("0F")}
        for j, less in enumerate(tokens):
            for k, more in enumerate(tokens):
                assert 1.1 * less > more or forward[f"0F{j}"] < forward[f"0F{k}"], "the timeline is of another replica"


def check_run():
    page = folder / "run.html"
    chrome = folder / "run.chrome.json"
    words = "run --schedule zbv --pp 3 --microbatches 6 --costs F=2ms,I=2ms,W=1ms,comm=0.1ms --iterations 2".split()
    printed = json.loads(run(*words, "--json", "--report", str(page), "--trace", f"chrome={chrome}"))
    data, _ = read(page)
    assert [s["kind"] for s in data["subjects"]] == ["plan", "report", "timeline"]
    prediction, measured, executed = data["subjects"]
    assert measured["report"] == printed and prediction["report"] == printed["execution"]["prediction"]
    flags, ops, *_ = timeline(executed)
    assert flags == 1, "the timeline is not marked as measured"
    assert max(start + duration for _, start, duration, _ in ops) == printed["makespan_ns"]
    # The trace of the run gives the same timeline.
    run("report", str(chrome), "-o", str(page))
    (subject,) = read(page)[0]["subjects"]
    assert subject["kind"] == "timeline" and timeline(subject)[0] == flags and timeline(subject)[1] == ops


def check_others():
    sweep, front, report, table, page = (folder / name for name in ("sweep.jsonl", "front.json", "report.json", "table.csv", "others.html"))
    sweep.unlink(missing_ok=True)
    run(*"sweep --model gpt1.7b --pp 2,4 --tp 1,2".split(), "-o", str(sweep))
    front.write_text(run(*"plan --model gpt1.7b --pp 2 --tp 1 --schedule 1f1b --pareto --json".split()))
    study = "simulate --schedule 1f1b --pp 4 --microbatches 8 --costs F=1ms,B=2ms,comm=0.1ms --jitter compute=0.1 --seed 1 --json".split()
    report.write_text(run(*study))
    run(*"plan --model gpt1.7b --pp 2 --candidates".split(), str(table))
    run("report", *(str(f) for f in (sweep, front, report, table)), "-o", str(page))
    subjects = read(page)[0]["subjects"]
    assert [s["kind"] for s in subjects] == ["sweep", "pareto", "report", "candidates"]
    assert subjects[0]["points"] == [json.loads(line) for line in sweep.read_text().splitlines()]
    assert subjects[1]["pareto"] == json.loads(front.read_text())
    assert subjects[2]["report"] == json.loads(report.read_text()) and "jitter" in subjects[2]["report"]
    assert subjects[3]["csv"] == [table.read_text()]


def check_profile():
    """The points of a curve are the samples of its class, each with what the fitted form says of it."""
    samples, profile, page = folder / "samples.csv", folder / "profile.json", folder / "profile.html"
    rows = [(1 << k, 1e-5 + (1 << k) / 25e9) for k in range(10, 26)]
    samples.write_text("# ppsim.samples 1\nclass,link,bytes,seconds\n" + "".join(f"send_recv,1,{size},{time!r}\n" for size, time in rows))
    run("calibrate", "--import", f"samples-csv={samples}", "-o", str(profile))
    run("report", str(profile), "-o", str(page))
    (subject,) = read(page)[0]["subjects"]
    (curve,) = subject["profile"]["curves"]
    assert curve["axis"] == "bytes" and [(p[0], p[1]) for p in curve["points"]] == rows
    # The samples follow the form exactly, so the line goes through them.
    assert all(abs(fitted / measured - 1) < 1e-6 for _, measured, fitted in curve["points"])


def check_sizes():
    """What a page may weigh, also if no two ops take equally long."""
    page = folder / "large.html"
    lengths = folder / "lengths.txt"
    lengths.write_text("\n".join(str(300 + 7919 * i % 3700) for i in range(600)))
    run("report", *"--schedule 1f1b --pp 64 --microbatches 512 --costs F=20ms,B=40ms,comm=1ms --executor torch".split(), "-o", str(page))
    assert page.stat().st_size < 1_500_000, page.stat().st_size
    run(*"plan --model llama3-8b --pp 8 --tp 1 --schedule 1f1b --recompute none --dp 1 --seq-length 8192 --lengths".split(), str(lengths), "--report", str(page))
    data = read(page)[0]
    ops = sum(1 for _ in timeline(data["subjects"][0])[1])
    assert page.stat().st_size < 900_000 + 10 * ops, f"{page.stat().st_size} B for {ops} ops"


def check_try():
    """docs/try.html is the page without inputs, as this ppsim writes it."""
    (folder / "docs").mkdir(exist_ok=True)
    run("report", "-o", "docs/try.html", cwd=folder)
    kept = Path(__file__).resolve().parents[2] / "docs/try.html"
    assert read(kept)[0]["subjects"] == []
    assert kept.read_bytes() == (folder / "docs/try.html").read_bytes(), "docs/try.html is old: ppsim report -o docs/try.html"


folder.mkdir(parents=True, exist_ok=True)
ppsim = str(Path(ppsim).resolve())
check_try()
check_plans()
check_replicas()
check_run()
check_others()
check_profile()
check_sizes()
