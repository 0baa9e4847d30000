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


class Values(unittest.TestCase):
    def test_python_values_are_words(self):
        from ppsim._arguments import Arguments

        cases = [
            ("plan", {"fsdp": True}, [("--fsdp", None)]),
            ("plan", {"fsdp": False, "tp": None}, []),
            ("plan", {"sequence_parallel": False}, [("--sequence-parallel", "off")]),
            ("plan", {"memory_limit": 80_000_000_000}, [("--memory-limit", "80000000000B")]),
            ("simulate", {"shape_message": 0.5}, [("--shape-message", "0.5s")]),
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
        self.assertTrue(raised.exception.field.startswith("config.json"), raised.exception.field)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ppsim.PpsimWarning)
    unittest.main()
