"""A result is what the command prints, byte for byte, and its numbers are those of its JSON."""

import json
import os
import pickle
import re
import tempfile
import unittest
import warnings

import support

import ppsim


class SameAsCommand(unittest.TestCase):
    def same(self, function, name, words, **options):
        result = function(*words, **options)
        status, printed, _ = support.command(name, *words, *support.typed(options), "--json")
        self.assertEqual(status, 0)
        self.assertEqual(result.json, printed)
        return result

    def test_plans(self):
        for options in (
            {"model": "gpt1.7b", "pp": 4},
            {"model": "llama3-8b", "pp": 4, "target": "torchtitan", "tp": 1},
            {
                "model": "gpt1.7b",
                "pp": 2,
                "budget": "50it",
                "seed": 3,
                "jitter": "compute=0.02",
                "why": True,
            },
            {"model": "gpt1.7b", "pp": 2, "schedule": "1f1b", "pareto": True},
        ):
            with self.subTest(options):
                self.same(ppsim.plan, "plan", [], **options)

    def test_text_is_what_people_read(self):
        plan = ppsim.plan(**support.SMALL)
        _, printed, _ = support.command("plan", *support.typed(support.SMALL))
        self.assertEqual(plan.text, printed)
        self.assertEqual(str(plan), printed)

    def test_other_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            plan = ppsim.plan(**support.SMALL)
            plan.save("plan.json")
            other = ppsim.plan(**{**support.SMALL, "schedule": "gpipe"})
            other.save("other.json")
            with open("lengths.txt", "w", encoding="utf-8") as file:
                file.write("1000\n24\n512\n512\n")
            self.same(ppsim.simulate, "simulate", ["plan.json"], why=True)
            self.same(ppsim.check, "check", ["plan.json"])
            self.same(ppsim.pack, "pack", ["lengths.txt"], model="gpt1.7b", pp=2, seq_length=1024)
            self.same(ppsim.shapes, "shapes", ["plan.json"])
            _, printed, _ = support.command("compare", "plan.json", "other.json", "--json")
            self.assertEqual(ppsim.compare("plan.json", "other.json").json, printed)

    def test_saved_plans(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            plan = ppsim.plan(**support.SMALL)
            for name in (path, path + ".gz"):
                plan.save(name)
                again = ppsim.load(name)
                self.assertEqual(again.json, plan.json)
                self.assertEqual(again.step_ns, plan.step_ns)
                self.assertEqual(again.order(1).tolist(), plan.order(1).tolist())
            status, printed, _ = support.command("simulate", path, "--json")
            self.assertEqual((status, printed), (0, ppsim.simulate(plan).json))


class Numbers(unittest.TestCase):
    def test_numbers_are_those_of_the_json(self):
        plan = ppsim.plan(model="gpt1.7b", pp=4)
        data = json.loads(plan.json)
        report = data["prediction"]
        self.assertEqual(plan.step_ns, report["step_ns"])
        self.assertAlmostEqual(plan.step, report["step_ns"] / 1e9)
        self.assertEqual([stage.layers for stage in plan.stages], data["partition"]["layers"])
        self.assertEqual(plan.microbatches, report["microbatches"])
        for rank in range(plan.ranks):
            tokens = [f"{op['stage']}{op['kind']}{op['microbatch']}" for op in plan.order(rank)]
            self.assertEqual(tokens, data["schedule"]["ranks"][rank])
            memory = plan.memory(rank)
            self.assertEqual(memory["limit"], data["memory_limit_bytes"])
            self.assertEqual(
                memory["total"], sum(v for k, v in memory.items() if k not in ("total", "limit"))
            )
        self.assertEqual(max(plan.memory(r)["total"] for r in range(4)), report["peak_memory_bytes"])
        timeline = plan.timeline()
        self.assertEqual(timeline["end_ns"].max(), report["makespan_ns"])
        self.assertEqual(sorted(set(timeline["rank"].tolist())), [0, 1, 2, 3])

    def test_closed_form(self):
        """Huang 2019: with equal stages and free links, a step takes (m + p - 1)(f + b)."""
        for ranks, microbatches in ((2, 4), (4, 8), (8, 5)):
            step = ppsim.simulate(
                schedule="gpipe",
                pp=ranks,
                microbatches=microbatches,
                costs={"F": "1ms", "B": "2ms"},
                executor="ideal",
            )
            self.assertEqual(step.step_ns, (microbatches + ranks - 1) * 3_000_000)

    def test_all_executors(self):
        every = ppsim.simulate(schedule="gpipe", pp=2, microbatches=2, costs="F=1ms,B=2ms", executor="all")
        self.assertEqual(repr(every), "<ppsim.Simulation without a step, a ppsim.executors>")
        self.assertEqual(every.step_ns, 0)

    def test_errors_have_an_answer_or_none(self):
        for call in (
            lambda: ppsim.names("things"),
            lambda: ppsim.plan(model="gpt175b", pp=1),
            lambda: ppsim.sweep(model="gpt175b", pp="x").result(),
            lambda: ppsim.load("/nonexistent/plan.json"),
            lambda: ppsim.plan(**support.SMALL).emit("nothing", "x"),
        ):
            with self.assertRaises(ppsim.PpsimError) as raised:
                call()
            self.assertIsNone(raised.exception.answer)
        with self.assertRaises(ppsim.InfeasibleError) as raised:
            ppsim.plan(model="gpt175b", pp=1, explain=True)
        self.assertIsInstance(raised.exception.answer, ppsim.Table)

    def test_ranks_that_are_not_there(self):
        plan = ppsim.plan(**support.SMALL)
        for rank in (-1, 2, 10**9):
            self.assertRaises(IndexError, plan.order, rank)
            self.assertRaises(IndexError, plan.memory, rank)

    def test_results_are_values(self):
        plan = ppsim.plan(**support.SMALL)
        copy = pickle.loads(pickle.dumps(plan))
        self.assertEqual(copy, plan)
        self.assertEqual(copy.timeline().tolist(), plan.timeline().tolist())
        self.assertEqual(len({copy, plan}), 1)

    def test_verdicts(self):
        plan = ppsim.plan(**support.SMALL)
        self.assertTrue(ppsim.check(plan))
        worse = ppsim.simulate(plan, rank_speed="0=0.5")
        verdict = ppsim.compare(ppsim.simulate(plan), worse)
        self.assertFalse(verdict)
        self.assertIn("fail", verdict.reason)
        self.assertTrue(ppsim.compare(plan, plan))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hangs.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n")
            verdict = ppsim.check(path)
            self.assertFalse(verdict)
            self.assertIs(verdict.data["hang_free"], False)
            self.assertIn("can hang", verdict.reason)


class Files(unittest.TestCase):
    def test_targets(self):
        """Emitted from a plan in memory: the files that `plan --emit` writes."""
        for target, name in (
            ("torchtitan", "run.py"),
            ("automodel", "run.yaml"),
            ("megatron", "arguments.txt"),
        ):
            with self.subTest(target), tempfile.TemporaryDirectory() as folder:
                options = {"model": "llama3-8b", "pp": 4, "target": target, "schedule": "1f1b"}
                plan = ppsim.plan(**options)
                paths = getattr(plan, f"to_{target}")(os.path.join(folder, "run"))
                self.assertIn(os.path.join(folder, "run", name), paths)
                os.mkdir(os.path.join(folder, "typed"))
                support.command("plan", *support.typed(options), "--emit", f"{target}={folder}/typed/{name}")
                for path in paths:
                    with (
                        open(path, "rb") as ours,
                        open(path.replace("/run/", "/typed/"), "rb") as theirs,
                    ):
                        # but for the line that names the command
                        lines = [
                            [
                                line.replace(b"/run/", b"/typed/")
                                for line in file
                                if b"ppsim plan " not in line
                            ]
                            for file in (ours, theirs)
                        ]
                        self.assertEqual(lines[0], lines[1], os.path.basename(path))
                        self.assertTrue(lines[0])

    def test_a_failure_leaves_nothing(self):
        plan = ppsim.plan(model="gpt1.7b", pp=2, schedule="zbv", global_batch_size=8)
        with tempfile.TemporaryDirectory() as folder:
            self.assertRaises(ppsim.PpsimError, plan.to_megatron, os.path.join(folder, "run"))
            self.assertEqual(os.listdir(folder), [])

    def test_traces(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.json.gz")
            self.assertEqual(ppsim.plan(**support.SMALL).trace("chrome", path), [path])
            with open(path, "rb") as file:
                self.assertEqual(file.read(2), b"\x1f\x8b")

    def test_files_of_options_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.csv")
            ppsim.plan(**support.SMALL, emit=[f"pytorch-csv={path}"])
            self.assertTrue(os.path.getsize(path) > 0)

    def test_standard_output_is_kept(self):
        plan = ppsim.plan(**support.SMALL, emit="pytorch-csv=-")
        self.assertTrue(plan.files["-"].startswith(b"0F0,"))

    def test_lengths(self):
        import numpy as np

        lengths = [1000, 24, 512, 512, 700, 300, 800, 200]
        packing = ppsim.pack(np.array(lengths), model="gpt1.7b", pp=2, seq_length=1024)
        self.assertEqual(sorted(n for row in packing.lengths for n in row), sorted(lengths))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "packed.json")
            written = ppsim.pack(lengths, model="gpt1.7b", pp=2, seq_length=1024, output=path)
            self.assertEqual(written.lengths, packing.lengths)
            self.assertEqual(written.json, packing.json)
        plan = ppsim.plan(model="gpt1.7b", pp=2, seq_length=1024, lengths=packing.lengths, packing="given")
        planned = [row["sequences"] for row in plan.data["microbatches"]]
        self.assertEqual(sorted(planned), sorted(packing.lengths))


class Pictures(unittest.TestCase):
    def test_notebooks(self):
        import xml.etree.ElementTree as xml

        step = ppsim.simulate(schedule="zb-h1", pp=4, microbatches=8, costs="F=1ms,I=1ms,W=1ms")
        shown = step._repr_html_()
        picture = xml.fromstring(shown[shown.index("<svg") : shown.index("</svg>") + 6])
        self.assertEqual(
            sum(path.get("d").count("M") for path in picture.iter("{http://www.w3.org/2000/svg}path")),
            96,
        )
        # Narrow ops are columns, whose area is the busy time.
        large = ppsim.simulate(schedule="1f1b", pp=64, microbatches=2048, costs="F=1ms,B=2ms")
        shown = large._repr_html_()
        self.assertLess(len(shown), 1_000_000)
        rectangles = re.findall(r"h([\d.e-]+)v([\d.e-]+)h-", shown[: shown.index("</svg>")])
        area = sum(float(width) * float(height) for width, height in rectangles)
        whole = 830 * 64 * (640 // 64 - 1)  # of the axis, in pixels
        timeline = large.timeline()
        busy = int((timeline["end_ns"] - timeline["start_ns"]).sum()) / (64 * large.step_ns)
        self.assertAlmostEqual(area / whole, busy, delta=0.02)

    def test_many_ops_keep_their_colours(self):
        """12,288 ops, as gpt175b on 16 ranks has: each kind has the area of its part of the time."""
        step = ppsim.simulate(schedule="1f1b", pp=16, microbatches=384, costs="F=1ms,B=2ms")
        self.assertEqual(len(step.timeline()), 12288)
        picture = step._repr_html_().split("</svg>")[0]
        areas = [
            sum(float(w) * float(h) for w, h in re.findall(r"h([\d.e-]+)v([\d.e-]+)h-", path))
            for path in re.findall(r'<path fill="#\w+" d="([^"]+)"', picture)
        ]
        self.assertEqual(len(areas), 2)
        self.assertAlmostEqual(areas[1] / areas[0], 2, delta=0.05)

    def test_names(self):
        self.assertIn("gpt175b", [row["name"] for row in ppsim.names("models")])
        self.assertIn("1f1b", [row["name"] for row in ppsim.names("schedules")])
        self.assertRaises(ppsim.UsageError, ppsim.names, "things")


if __name__ == "__main__":
    warnings.simplefilter("ignore", ppsim.PpsimWarning)
    unittest.main()
