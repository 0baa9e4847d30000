"""Sweeps have the same lines and the same answer on every executor, and go on where they stopped."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

import support

import ppsim

OPTIONS = {"model": "gpt1.7b", "pp": [2, 4], "tp": [1, 2, 4], "schedule": ["1f1b", "gpipe"]}
WORDS = ["--model", "gpt1.7b", "--pp", "2,4", "--tp", "1,2,4", "--schedule", "1f1b,gpipe"]


class Ends(concurrent.futures.Executor):
    """An executor whose worker dies at the third point."""

    def __init__(self):
        self.pool = concurrent.futures.ProcessPoolExecutor(1)
        self.count = 0

    def submit(self, function, *arguments):
        self.count += 1
        return self.pool.submit(os._exit, 1) if self.count == 3 else self.pool.submit(function, *arguments)


class Sweeps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.chdir(cls.folder.name)
        status, cls.printed, said = support.command("sweep", *WORDS, "-o", "typed.jsonl", "--json")
        assert status == 0, said
        cls.typed = cls.lines("typed.jsonl")

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    @staticmethod
    def lines(path):
        """The header of a file, and its other lines sorted: they stand in the order of completion."""
        with open(path, "rb") as file:
            header, *rest = file.read().splitlines(keepends=True)
        return [header, *sorted(rest)]

    def check(self, path, sweep):
        self.assertEqual(self.lines(path), self.typed)
        self.assertEqual(sweep.result().json, self.printed)

    def test_executors(self):
        pools = {
            "own": None,
            "threads": concurrent.futures.ThreadPoolExecutor(3),
            "fork": concurrent.futures.ProcessPoolExecutor(2),
            "spawn": concurrent.futures.ProcessPoolExecutor(
                2, mp_context=multiprocessing.get_context("spawn")
            ),
        }
        for name, pool in pools.items():
            with self.subTest(name):
                told = []
                sweep = ppsim.sweep(
                    **OPTIONS, output=f"{name}.jsonl", executor=pool, progress=lambda *n: told.append(n)
                )
                rows = list(sweep)
                self.assertEqual(len(rows), 12)
                self.assertEqual(told, [(done, 12) for done in range(13)])
                self.check(f"{name}.jsonl", sweep)
                if pool:
                    pool.shutdown()

    def test_a_sweep_goes_on(self):
        """After an end at any byte, begun by the command or here."""
        with open("typed.jsonl", "rb") as file:
            whole = file.read()
        for size in (0, 40, len(whole) // 3, len(whole) - 1):
            with open("part.jsonl", "wb") as file:
                file.write(whole[:size])
            self.check("part.jsonl", ppsim_run("part.jsonl"))
            os.remove("part.jsonl")
        for row in ppsim.sweep(**OPTIONS, output="left.jsonl"):
            self.assertEqual(row["status"], "ok")
            break
        self.assertEqual(support.command("sweep", *WORDS, "-o", "left.jsonl", "--json")[1], self.printed)

    def test_a_lost_worker_loses_its_point_only(self):
        sweep = ppsim.sweep(**OPTIONS, output="lost.jsonl", executor=Ends())
        self.assertRaises(concurrent.futures.process.BrokenProcessPool, list, sweep)
        kept = self.lines("lost.jsonl")
        self.assertTrue(set(kept) <= set(self.typed))
        self.check("lost.jsonl", ppsim_run("lost.jsonl"))

    def test_a_killed_sweep_keeps_its_points(self):
        program = (
            "import ppsim\n"
            f"for n, row in enumerate(ppsim.sweep(**{OPTIONS!r}, output='killed.jsonl')):\n"
            "    print(n, flush=True)\n"
        )
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as child:
            for _ in range(3):
                child.stdout.readline()
            child.send_signal(signal.SIGKILL)
        self.assertGreaterEqual(len(self.lines("killed.jsonl")), 4)
        self.check("killed.jsonl", ppsim_run("killed.jsonl"))

    def test_dask_with_a_worker_killed(self):
        try:
            import distributed
        except ImportError:
            self.skipTest("Dask is not installed")
        cluster = distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None)
        with cluster, distributed.Client(cluster) as client:
            sweep = ppsim.sweep(**OPTIONS, output="dask.jsonl", executor=client.get_executor())
            for number, _ in enumerate(sweep):
                if number == 2:
                    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
            self.check("dask.jsonl", sweep)

    def test_ray(self):
        """By the executor that docs/how-to/sweep.md shows."""
        try:
            import ray
        except ImportError:
            self.skipTest("Ray is not installed")

        class RayExecutor(concurrent.futures.Executor):
            def submit(self, function, /, *args, **kwargs):
                return ray.remote(function).remote(*args, **kwargs).future()

        ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
        self.addCleanup(ray.shutdown)
        sweep = ppsim.sweep(**OPTIONS, output="ray.jsonl", executor=RayExecutor())
        self.assertEqual(len(list(sweep)), len(set(self.lines("ray.jsonl"))) - 1)  # and the header
        self.check("ray.jsonl", sweep)

    def test_mpi(self):
        program = (
            "import ppsim\nfrom mpi4py.futures import MPIPoolExecutor\n"
            "if __name__ == '__main__':\n"
            "    with MPIPoolExecutor() as pool:\n"
            f"        list(ppsim.sweep(**{OPTIONS!r}, output='mpi.jsonl', executor=pool))\n"
        )
        try:
            import mpi4py.futures  # noqa: F401
        except (ImportError, RuntimeError):
            self.skipTest("mpi4py or MPI is not installed")
        with open("mpi.py", "w", encoding="utf-8") as file:
            file.write(program)
        allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        words = ["mpirun", "--oversubscribe", "-n", "3", sys.executable, "-m", "mpi4py.futures", "mpi.py"]
        subprocess.run(words, check=True, timeout=300, env={**os.environ, **allowed})
        self.check("mpi.jsonl", ppsim_run("mpi.jsonl"))

    def test_other_sweeps_are_refused(self):
        first = iter(ppsim.sweep(**OPTIONS, output="busy.jsonl"))
        next(first)
        self.assertRaises(ppsim.FileError, list, ppsim.sweep(**OPTIONS, output="busy.jsonl"))
        self.assertRaises(ppsim.PpsimError, list, ppsim.sweep(model="gpt1.7b", pp=2, output="typed.jsonl"))
        self.assertRaises(ppsim.UsageError, ppsim.sweep, model="gpt1.7b", pp=2, shard="0/2")
        self.assertRaises(ppsim.UsageError, list, ppsim.sweep(model="gpt1.7b", pp=[2, "x"]))
        first.close()

    def test_objects_are_fixed_inputs(self):
        """A dict or a list of lengths is one input, of which a file is written beside the output."""
        sizes = {"hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 8}
        heads = {"num_attention_heads": 16, "num_key_value_heads": 4, "rms_norm_eps": 1e-5}
        model = {"model_type": "llama", "vocab_size": 32000, "max_position_embeddings": 2048}
        options = {"model": {**sizes, **heads, **model}, "pp": [2, 4], "schedule": "1f1b"}
        for lengths in ([800, 100] * 20, [[800, 100]] * 20):
            rows = list(ppsim.sweep(**options, lengths=lengths, seq_length=1024))
            self.assertEqual([row["status"] for row in rows], ["ok", "ok"])
            point = {"lengths": "lengths.json", "model": "model.json", "schedule": "1f1b", "seq-length": 1024}
            for pp, row in zip((2, 4), sorted(rows, key=lambda row: row["point"]["pp"])):
                self.assertEqual(row["point"], {**point, "pp": pp})
        results = [ppsim.sweep(**options).result() for _ in range(2)]
        self.assertEqual(results[0], results[1])
        sweep = ppsim.sweep(**options, output="object.jsonl")
        expected = sweep.result().json
        words = ["--model", "object.jsonl.inputs/model.json", "--pp", "2,4", "--schedule", "1f1b"]
        status, printed, _ = support.command("sweep", *words, "-o", "object.jsonl", "--json")
        self.assertEqual((status, printed), (0, expected))
        with self.assertRaises(ppsim.FileError):
            list(ppsim.sweep(**{**options, "model": {**options["model"], "a": 1}}, output="object.jsonl"))
        with self.assertRaises(ppsim.UsageError) as raised:
            ppsim.sweep(model=[options["model"]] * 2, pp=2)
        self.assertEqual(raised.exception.field, "--model")

    def test_points_have_what_was_given(self):
        point = next(iter(ppsim.sweep(model="gpt1.7b", pp=[2], tp=1, schedule="1f1b", why=True)))["point"]
        self.assertEqual(point, {"model": "gpt1.7b", "pp": 2, "tp": 1, "schedule": "1f1b", "why": True})

    def test_an_interrupt_ends_the_points(self):
        """In threads and processes, and what is done is said."""
        for pool in ("None", "concurrent.futures.ProcessPoolExecutor(2)"):
            path = f"interrupt{len(pool)}.jsonl"
            program = (
                "import concurrent.futures, ppsim, signal\n"
                "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                "if __name__ == '__main__':\n"
                f"    pool = {pool}\n"
                f"    for row in ppsim.sweep(model='gpt1.7b', pp=2, tp=[1, 2], output='{path}.1'): break\n"
                "    print('runs', flush=True)\n"
                "    list(ppsim.sweep(model='gpt175b', pp=16, budget=['900000it', '900001it', '900002it'],\n"
                f"                     output='{path}', executor=pool))\n"
            )
            words = [sys.executable, "-c", program]
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            with (
                self.subTest(pool),
                subprocess.Popen(words, **pipes) as child,
                contextlib.ExitStack() as stack,
            ):
                stack.callback(child.kill)
                child.stdout.readline()
                time.sleep(2)
                begin = time.monotonic()
                child.send_signal(signal.SIGINT)
                _, said = child.communicate(timeout=60)
                self.assertLess(time.monotonic() - begin, 3)
                self.assertIn("0 of 3 points are done and saved in " + path, said)
                self.assertIn("KeyboardInterrupt", said)
            self.assertFalse(os.path.exists(path + ".stop"))

    def test_simulations_and_points_that_do_not_fit(self):
        rows = list(
            ppsim.sweep(
                study="simulate", schedule=["1f1b", "zb-h1"], pp=[2, 4], microbatches=8, costs="F=1ms,B=2ms"
            )
        )
        self.assertEqual(sorted(row["step_ns"] for row in rows)[0] > 0, True)
        rows = list(ppsim.sweep(model="gpt175b", pp=[2, 16], tp=8, schedule="1f1b"))
        self.assertEqual(sorted(row["status"] for row in rows), ["infeasible", "ok"])


def ppsim_run(path):
    """Goes on with a sweep, and returns it."""
    sweep = ppsim.sweep(**OPTIONS, output=path)
    list(sweep)
    return sweep


if __name__ == "__main__":
    warnings.simplefilter("ignore", ppsim.PpsimWarning)
    unittest.main()
