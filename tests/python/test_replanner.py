"""Plans of a replanner are valid, never slower than first fit with the schedule of the pipeline, and the
same wherever they are made."""

import multiprocessing
import os
import pickle
import random
import threading
import unittest

import support

import ppsim

PIPELINE = {
    "model": "llama3-8b",
    "pp": 4,
    "tp": 1,
    "hw": "h100-80g",
    "seq_length": 8192,
    "micro_batch_size": 1,
}
SMALL = {**PIPELINE, "model": "gpt1.7b", "schedule": "1f1b", "seq_length": 2048}


def batch(draw, count, longest=8192):
    return [max(16, min(longest, int(draw.lognormvariate(6.8, 1.1)))) for _ in range(count)]


def plan_there(replanner, lengths, answers):
    answers.put(pickle.dumps(replanner.step(lengths, budget="40it")))


class Replanning(unittest.TestCase):
    def check_plan(self, replanner, lengths, budget):
        """Checks one batch in all its numbers. Returns the step."""
        step = replanner.step(lengths, budget=budget)
        plan = replanner.plan(lengths, budget=budget)
        verdict = ppsim.check(plan)
        self.assertTrue(verdict, verdict.reason)
        self.assertEqual(step.step_ns, plan.step_ns)
        self.assertEqual(step.step_ns, ppsim.simulate(plan).step_ns)
        dealt = [index for replica in step.packing for one in replica for index in one]
        self.assertEqual(sorted(dealt), list(range(len(lengths))))
        for replica in step.lengths:
            self.assertEqual(len(replica), step.microbatches)
            for one in replica:
                self.assertTrue(0 < sum(one) <= 8192, one)
        for rank in range(step.ranks):
            memory = step.memory(rank)
            self.assertLessEqual(memory["total"], memory["limit"])
            self.assertEqual(step.order(rank).tolist(), plan.order(rank).tolist())
        if step.first_fit_ns:
            self.assertLessEqual(step.step_ns, step.first_fit_ns)
        return step

    def test_plans_are_valid(self):
        draw = random.Random(1)
        for given in (
            {"schedule": "1f1b"},
            {"schedule": "zbv"},
            {"schedule": "interleaved", "vpp": 2},
            {"schedule": "1f1b", "dp": 2},
            {"schedule": "1f1b", "executor": "megatron"},
            {"schedule": "1f1b", "executor": "torch-2.15"},
        ):
            with self.subTest(given):
                replanner = ppsim.Replanner(lengths=batch(draw, 80), **{**PIPELINE, **given})
                gained = []
                for _ in range(3):
                    step = self.check_plan(replanner, batch(draw, 80), "40it")
                    gained.append(step.step_ns / step.first_fit_ns)
                self.assertLess(min(gained), 1)

    def test_equal_sequences(self):
        """With one iteration, what is found is slower than first fit with these schedules, by 4 %."""
        for schedule, count in ("zbv", 16), ("zb-h1", 5):
            with self.subTest(schedule):
                typical = batch(random.Random(3), 40)
                replanner = ppsim.Replanner(lengths=typical, **PIPELINE, schedule=schedule)
                step = self.check_plan(replanner, [8192] * count, "1it")
                self.assertGreater(step.first_fit_ns, 0)

    def test_first_fit_is_what_plan_predicts(self):
        lengths = batch(random.Random(2), 60, 2048)
        plan = ppsim.plan(lengths=lengths, packing="first-fit", recompute="none", **SMALL)
        layout = plan.data["partition"]["layout"]
        replanner = ppsim.Replanner(lengths=lengths, recompute="none", partition=layout, **SMALL)
        self.assertEqual(replanner.step(lengths, budget="10it").first_fit_ns, plan.step_ns)

    def test_random_batches(self):
        """More than a thousand batches with PPSIM_TEST_LONG, of pipelines that are drawn, too."""
        draw = random.Random(3)
        pipelines, batches = (50, 200) if os.environ.get("PPSIM_TEST_LONG") else (4, 6)
        for _ in range(pipelines):
            given = {
                **PIPELINE,
                "pp": draw.choice([2, 4, 8]),
                "dp": draw.choice([1, 1, 2]),
                "schedule": draw.choice(["1f1b", "zb-h1", "zbv", "interleaved"]),
                "memory_limit": draw.choice(["80GB", "60GB"]),
            }
            if given["schedule"] == "interleaved":
                given["vpp"] = 2
            with self.subTest(given):
                try:
                    replanner = ppsim.Replanner(lengths=batch(draw, 60), **given)
                except ppsim.InfeasibleError:
                    continue
                for _ in range(batches):
                    lengths = batch(draw, draw.randint(40, 80))
                    try:
                        self.check_plan(replanner, lengths, f"{draw.randint(1, 60)}it")
                    except ppsim.InfeasibleError as error:
                        self.assertIn("no packing of this batch fits", str(error))

    def test_equal_everywhere(self):
        draw = random.Random(4)
        replanner = ppsim.Replanner(lengths=batch(draw, 60, 2048), **SMALL)
        lengths = batch(draw, 60, 2048)
        here = replanner.step(lengths, budget="40it")
        replanner.step(batch(draw, 60, 2048), budget="40it")  # what came before does not matter
        self.assertEqual(replanner.step(lengths, budget="40it"), here)
        for method in ("fork", "spawn"):
            context = multiprocessing.get_context(method)
            answers = context.Queue()
            process = context.Process(target=plan_there, args=(replanner, lengths, answers))
            process.start()
            there = pickle.loads(answers.get(timeout=300))
            process.join()
            self.assertEqual(there, here)
            self.assertEqual(there.packing, here.packing)
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(replanner.step(lengths, budget="40it")))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [here] * 3)

    def test_of_a_plan(self):
        draw = random.Random(5)
        lengths = batch(draw, 60, 2048)
        plan = ppsim.plan(lengths=lengths, budget="30it", **{**SMALL, "schedule": "zbv"})
        replanner = ppsim.Replanner(plan)
        again = self.check_plan(replanner, batch(draw, 60, 2048), "30it")
        self.assertEqual([stage.rank for stage in again.stages], [stage.rank for stage in plan.stages])
        whole = replanner.plan(lengths, budget="30it")
        for key in ("model", "hardware", "partition", "executor", "recompute"):
            self.assertEqual(whole.data[key], plan.data[key], key)
        with self.assertRaises(ppsim.UsageError):
            ppsim.Replanner(ppsim.simulate(schedule="1f1b", pp=2, microbatches=4, costs="F=1ms,B=2ms"))

    def test_settings_of_a_plan(self):
        lengths = batch(random.Random(6), 40, 2048)
        for given in (
            {"precision": "fp8"},
            {"stack": "megatron-2022"},
            {"tp": 2, "sequence_parallel": False},
            {"shapes": "padded"},
            {"step_sync": False},
            {"zero": 3, "dp": 2},
        ):
            with self.subTest(given):
                options = {"packing": "first-fit", "recompute": "none", **SMALL, **given}
                plan = ppsim.plan(lengths=lengths, **options)
                step = ppsim.Replanner(plan).step(lengths, budget="5it")
                self.assertEqual(step.first_fit_ns, plan.step_ns)
        plan = ppsim.plan(lengths=lengths, attention="unfused", **SMALL)
        with self.assertRaises(ppsim.UsageError) as raised:
            ppsim.Replanner(plan)
        self.assertIn("flash_attention", raised.exception.reason)
        ppsim.Replanner(plan, attention="unfused")

    def test_bad_input(self):
        replanner = ppsim.Replanner(lengths=[700] * 40, **SMALL)
        for lengths, kind in (
            ([], ppsim.UsageError),
            ([0], ppsim.InputError),
            ([-5], ppsim.InputError),
            ([3000], ppsim.InputError),
            ([1.5], ppsim.UsageError),
            ([[1, 2]], ppsim.UsageError),
            (["x"], ppsim.UsageError),
            (None, ppsim.UsageError),
            ([2**70], ppsim.UsageError),
        ):
            with self.assertRaises(kind, msg=repr(lengths)) as raised:
                replanner.step(lengths, budget="5it")
            self.assertIn("lengths", raised.exception.field)
        for budget in (0, -1, "0it", "1h", "it", float("nan"), None, 1e30):
            with self.assertRaises(ppsim.UsageError, msg=repr(budget)) as raised:
                replanner.step([700] * 40, budget=budget)
            self.assertEqual(raised.exception.field, "budget")
        for given in (
            {"gpus": 8},
            {"budget": "1s"},
            {"emit": "plan=x"},
            {"executor": "auto"},
            {"lengths": None},
        ):
            with self.assertRaises(ppsim.UsageError, msg=repr(given)) as raised:
                ppsim.Replanner(**{"lengths": [700] * 40, **SMALL, **given})
            self.assertEqual(raised.exception.field, "--" + next(iter(given)))


if __name__ == "__main__":
    unittest.main()
