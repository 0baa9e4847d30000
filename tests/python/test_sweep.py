"""Sweeps have the same lines and the same answer on every executor, and go on where they stopped."""

import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
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
