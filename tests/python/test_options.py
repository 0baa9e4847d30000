"""Every option of plan, simulate, check and pack is reached: with a sample value, the function and the
command give the same JSON, or fail with the same words."""

import os
import re
import tempfile
import unittest
import warnings

import support

import ppsim

BASE = {
    "plan": ([], {"model": "gpt1.7b", "pp": 2, "schedule": "1f1b", "global_batch_size": 4}),
    "simulate": (["plan.json"], {}),
    "check": (["plan.json"], {}),
    "pack": (["lengths.txt"], {"model": "gpt1.7b", "pp": 2, "seq_length": 2048}),
    "compare": (["plan.json", "plan.json"], {}),
}
# Where the argument's name does not say what to give.
VALUES = {
    "budget": "20it",
    "costs": "F=1ms,B=2ms",
    "memory_costs": "F=1",
    "emit": "pytorch-csv=-",
    "trace": "chrome=-",
    "ranks": "0-1",
    "jitter": "compute=0.02",
    "host": "launch=5us",
    "profile_only": "links",
    "pp": 2,
    "gpus": 2,
    "recompute_modules": "core_attn",
    "cuda_graphs": "off",
    "shapes": "plan",
    "lanes": "single",
    "comm": "rendezvous",
    "executor": "torch",
    "target": "torchtitan",
    "schedule": "gpipe",
    "stack": "current",
    "hw": "a100-80g",
    "model": "gpt1.7b",
    "headroom": "10%",
    "tie": "2%",
    "tolerance": "step=1%",
    "rank_speed": "0=0.9",
    "rank_memory": "0=70GB",
    "rank_link": "0:1=10GB/s",
    "node_network": "100GB/s",
    "partition": "uniform",
    "overlap_slowdown": "compute=1.2",
    "recv_buffers": "stage",
    "microbatches": 4,
    "output": "-",
    "platform": "here",
    "markdown": "-",
    "junit": "-",
}


def sample(option):
    """A value that the option may have: a word, or True for a flag."""
    if option.argument is None:
        return True
    if option.keyword in VALUES:
        return VALUES[option.keyword]
    if re.fullmatch(r"[a-z0-9-]+(\|[A-Za-z0-9-]+)*(\|[A-Z].*)?", option.argument) and "|" in option.argument:
        return option.argument.split("|")[0]
    if "FILE" in option.argument or option.argument == "FOLDER":
        return "absent.json"
    return {"TIME": "1ms", "SIZE": "60GB", "RATE": "10GB/s"}.get(option.argument, "2")


class EveryOption(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.chdir(cls.folder.name)
        ppsim.plan(**support.SMALL).save("plan.json")
        with open("lengths.txt", "w", encoding="utf-8") as file:
            file.write("1000\n24\n512\n512\n")

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def outcome(self, command, words, options):
        """What the function gives: its JSON, or its error as the command words it."""
        try:
            return getattr(ppsim, command)(*words, **options).json, ""
        except ppsim.PpsimError as error:
            return (error.answer.json if error.answer else ""), f"ppsim: {error}"

    def compare_with_command(self, command, option):
        words, options = BASE[command]
        options = {**options, option.keyword: sample(option)}
        ours, why = self.outcome(command, words, options)
        status, printed, said = support.command(command, *words, *support.typed(options), "--json")
        case = f"{command} {option.name}"
        if option.keyword in (
            "emit",
            "trace",
            "output",
            "markdown",
            "junit",
        ):  # there it goes to standard output
            self.assertEqual(status == 0, why == "", case)
            return
        self.assertEqual(ours, printed, case)
        if command not in ("check", "compare") or status != 1:  # of which that is an answer
            self.assertEqual(status != 0, why != "", case)
            self.assertIn(why.splitlines()[0] if why else "", said, case)

    def every(self, command):
        table = ppsim.options(command)
        for option in table.values():
            with self.subTest(option.name):
                self.compare_with_command(command, option)
        return table

    def test_plan(self):
        self.assertGreater(len(self.every("plan")), 90)

    def test_simulate(self):
        self.assertGreater(len(self.every("simulate")), 50)

    def test_check(self):
        self.every("check")

    def test_pack(self):
        self.every("pack")

    def test_compare(self):
        self.every("compare")

    def test_tables_are_those_of_the_help(self):
        for command in BASE:
            text = (
                support.command("help", command, "all")[1] + support.command("help", command, "megatron")[1]
            )
            shown = {
                name
                for line in re.findall(r"^  (-[^ ].*?)(?:  |$)", text, re.M)
                for name in re.findall(r"(?<![\w-])--?[a-z][\w-]*", line)
            }
            known = {name for o in ppsim.options(command).values() for name in (o.name, o.alias) if name}
            self.assertEqual(shown - known - {"--json", "--help", "-h"}, set(), command)

    def test_keywords_do_not_collide(self):
        for command in (*BASE, "sweep", "shapes", "list"):
            for keyword, option in ppsim.options(command).items():
                self.assertTrue(keyword.isidentifier(), option.name)
        self.assertRaises(ppsim.UsageError, ppsim.options, "plot")


class Scalar:
    """A number or bool as numpy and torch have it."""

    shape = ()

    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


class Values(unittest.TestCase):
    def test_python_values_are_words(self):
        from ppsim._arguments import Arguments

        cases = [
            ("plan", {"fsdp": True}, [("--fsdp", None)]),
            ("plan", {"fsdp": False, "tp": None}, []),
            ("plan", {"sequence_parallel": False}, [("--sequence-parallel", "off")]),
            ("plan", {"memory_limit": 80_000_000_000}, [("--memory-limit", "80000000000B")]),
            ("simulate", {"shape_message": 0.5}, [("--shape-message", "500ms")]),
            ("simulate", {"shape_message": 30e-6}, [("--shape-message", "30us")]),
            ("simulate", {"shape_message": 3.5e-8}, [("--shape-message", "35ns")]),
            ("plan", {"budget": 5}, [("--budget", "5s")]),
            ("plan", {"budget": "20it"}, [("--budget", "20it")]),
            ("plan", {"memory_limit": 8e10}, [("--memory-limit", "80000000000B")]),
            ("plan", {"rank_memory": {3: 40 << 30}}, [("--rank-memory", f"3={40 << 30}B")]),
            ("plan", {"rank_speed": {3: 0.00001}}, [("--rank-speed", "3=0.00001")]),
            ("plan", {"rank_link": {(2, 3): "25GB/s"}}, [("--rank-link", "2:3=25GB/s")]),
            ("plan", {"host": {"launch": 5e-6, "sync": 1}}, [("--host", "launch=5us,sync=1s")]),
            ("simulate", {"costs": {"F": 1e-3, "comm": 0}}, [("--costs", "F=1ms,comm=0s")]),
            (
                "simulate",
                {"emit": {"plan": "a", "report": "b"}},
                [("--emit", "plan=a"), ("--emit", "report=b")],
            ),
            (
                "compare",
                {"tolerance": {"step": "1%", "all": "any"}},
                [("--tolerance", "step=1%"), ("--tolerance", "all=any")],
            ),
            ("plan", {"moe_imbalance": 1e-5}, [("--moe-imbalance", "0.00001")]),
            ("plan", {"fsdp": Scalar(True)}, [("--fsdp", None)]),
            ("plan", {"pp": Scalar(4)}, [("--pp", "4")]),
            ("simulate", {"costs": {"F": "1ms", "B": "2ms"}}, [("--costs", "F=1ms,B=2ms")]),
            (
                "simulate",
                {"emit": ["plan=a", "report=b"]},
                [("--emit", "plan=a"), ("--emit", "report=b")],
            ),
            ("plan", {"recompute_modules": ["mlp", "moe"]}, [("--recompute-modules", "mlp,moe")]),
            ("plan", {"output": "x"}, [("-o", "x")]),
            ("sweep", {"pp": [2, 4]}, [("--pp", "2"), ("--pp", "4")]),
        ]
        for command, options, expected in cases:
            arguments = Arguments(command)
            arguments.add_options(options)
            self.assertEqual(arguments.settings, expected)

    def test_wrong_values(self):
        for options in (
            {"fsdp": "yes"},
            {"pp": True},
            {"pp": object()},
            {"modle": "x"},
            {"lengths": object()},
        ):
            with self.assertRaises((ppsim.UsageError, TypeError), msg=str(options)):
                ppsim.plan(model="gpt1.7b", **options)

    def test_names_of_files_in_memory(self):
        lengths = [512] * 8
        plan = ppsim.plan(model="gpt1.7b", pp=2, schedule="1f1b", seq_length=1024, lengths=lengths)
        self.assertIn("--lengths lengths.json", plan.data["provenance"]["command"])
        with self.assertRaises(ppsim.InputError) as raised:
            ppsim.plan(model={"format": "ppsim.model", "version": 1, "layers": -1}, pp=2)
        self.assertTrue(raised.exception.field.startswith("model.json"), raised.exception.field)
        with self.assertRaises(ppsim.InputError) as raised:
            ppsim.plan(model="gpt1.7b", pp=2, stack={"format": "ppsim.stack"})
        self.assertTrue(raised.exception.field.startswith("stack.json"), raised.exception.field)
        with self.assertRaises(ppsim.UsageError) as raised:
            ppsim.plan(model="no-such-model", pp=2, lengths=lengths)
        self.assertEqual(raised.exception.field, "--model")
        with tempfile.TemporaryDirectory() as folder:  # an output of the name is another file
            os.chdir(folder)
            ppsim.pack([100, 200], model="gpt1.7b", pp=2, seq_length=1024, output="lengths.json")
            again = ppsim.pack([100, 200], model="gpt1.7b", pp=2, seq_length=1024, output="lengths.json")
            os.chdir("/")
        self.assertEqual(again.lengths, [[100, 200]])

    def test_arrays_are_lengths(self):
        import numpy as np

        options = {"model": "gpt1.7b", "pp": 2, "schedule": "1f1b", "seq_length": 1024}
        lengths = [[512, 100], [300, 200]] * 4
        for given in (np.array(lengths), [np.array(row) for row in lengths]):
            self.assertEqual(
                ppsim.plan(**options, lengths=given).json, ppsim.plan(**options, lengths=lengths).json
            )

    def test_several_outputs(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = {"plan": f"{folder}/plan.json", "pytorch-csv": f"{folder}/order.csv"}
            ppsim.plan(**support.SMALL, emit=paths)
            self.assertEqual(sorted(os.listdir(folder)), ["order.csv", "order.csv.json", "plan.json"])

    def test_numbers_have_no_exponents(self):
        step = ppsim.simulate(
            schedule="gpipe", pp=2, microbatches=2, costs={"F": 30e-6, "B": 60e-6}, executor="ideal"
        )
        self.assertEqual(step.step_ns, 3 * 90_000)
        plan = ppsim.plan(**support.SMALL, shape_message=30e-6, host={"launch": 5e-6}, budget=0.5)
        self.assertIn("--shape-message 30us --host launch=5us", plan.data["provenance"]["command"])

    def test_refused_values_name_their_field(self):
        plan = ppsim.plan(**support.SMALL)
        cases = [
            (lambda: ppsim.names(None), "kind"),
            (lambda: ppsim.options(None), "command"),
            (lambda: ppsim.sweep(model="gpt1.7b", pp=2, executor=5), "executor"),
            (lambda: ppsim.sweep(model="gpt1.7b", pp=2, progress=5), "progress"),
            (lambda: ppsim.plan(**support.SMALL, progress=5), "progress"),
            (lambda: plan.order(None), "rank"),
            (lambda: plan.memory("1"), "rank"),
            (lambda: ppsim.plan(model="gpt1.7b", pp="4\0"), "--pp"),
            (lambda: ppsim.plan(model="gpt1.7b", pp="\ud800"), "--pp"),
            (lambda: ppsim.plan(model="gpt1.7b", pp=2, shape_message=float("nan")), "--shape-message"),
            (lambda: ppsim.load("/nonexistent/plan.json"), "/nonexistent/plan.json"),
            (lambda: ppsim.load(None), "path"),
            (lambda: plan.save(None), "path"),
            (lambda: plan.emit("plan", None), "path"),
            (lambda: plan.to_torchtitan(None), "folder"),
        ]
        for number, (call, field) in enumerate(cases):
            with self.subTest(number), self.assertRaises(ppsim.PpsimError) as raised:
                call()
            self.assertEqual(raised.exception.field, field)
            self.assertTrue(raised.exception.reason)
        with self.assertRaises(ppsim.UsageError) as raised:
            ppsim.options("plot")
        for command in ("plan", "pack", "sweep", "shapes", "list"):
            self.assertIn(command, raised.exception.reason)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ppsim.PpsimWarning)
    unittest.main()
