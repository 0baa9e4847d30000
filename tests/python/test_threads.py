"""Threads, processes, interrupts and progress; nothing but exceptions comes out, whatever goes in."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import support

import ppsim

LONG = {"model": "gpt175b", "pp": 16}


def plan_json(seed):
    """The JSON of a small plan, for a worker."""
    return ppsim.plan(**support.SMALL, seed=seed).json


class Concurrency(unittest.TestCase):
    def test_threads(self):
        alone = [plan_json(seed) for seed in range(4)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual(list(pool.map(plan_json, range(4))), alone)

    def test_processes(self):
        alone = [plan_json(seed) for seed in range(2)]
        for method in ("fork", "spawn"):
            context = multiprocessing.get_context(method)
            with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
                self.assertEqual(list(pool.map(plan_json, range(2))), alone, method)
                self.assertEqual(
                    pool.submit(ppsim.plan, **support.SMALL).result(), ppsim.plan(**support.SMALL)
                )

    def test_the_gil_is_released(self):
        """Another thread counts while the library searches, in a thread and in the main one."""
        count, done = 0, threading.Event()

        def search():
            ppsim.plan(**LONG)
            done.set()

        thread = threading.Thread(target=search)
        thread.start()
        while not done.is_set():
            count += 1
            time.sleep(0.001)
        thread.join()
        self.assertGreater(count, 20)

    def test_errors_are_pickled(self):
        with concurrent.futures.ProcessPoolExecutor(1) as pool:
            with self.assertRaises(ppsim.UsageError) as raised:
                pool.submit(ppsim.plan, model="gpt175c", pp=1).result()
        self.assertEqual(raised.exception.field, "--model")


class Progress(unittest.TestCase):
    def test_lines(self):
        lines = []
        ppsim.plan(**LONG, progress=lines.append)
        self.assertTrue(lines and all("step" in line for line in lines), lines)

    def test_what_it_raises_ends_the_search(self):
        class Enough(Exception):
            pass

        lines = 0

        def stop(line):
            nonlocal lines
            lines += 1
            raise Enough(line)

        self.assertRaises(Enough, ppsim.plan, **LONG, progress=stop)
        self.assertEqual(lines, 1)

    def interrupted(self, program):
        """What a program prints that ^C ends after its first line, "runs"."""
        begin = "import ppsim, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        words = [sys.executable, "-W", "ignore", "-c", begin + program]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(words, **pipes) as child, contextlib.ExitStack() as stack:
            stack.callback(child.kill)
            self.assertEqual(child.stdout.readline(), "runs\n")
            child.send_signal(signal.SIGINT)
            return child.communicate(timeout=100)

    def test_interrupt(self):
        """^C raises KeyboardInterrupt, and the next plan works."""
        search = f"ppsim.plan(**{LONG!r}, budget='9000000it', progress=lambda _: print('runs', flush=True))"
        printed, _ = self.interrupted(
            "try:\n"
            f"    {search}\n"
            "except KeyboardInterrupt as interrupt:\n"
            f"    print('ended', type(interrupt).__name__, ppsim.plan(**{support.SMALL!r}).ranks)\n"
        )
        self.assertIn("ended KeyboardInterrupt 2", printed)

    def test_interrupt_with_a_budget_of_time(self):
        """It has the best plan so far, as the command prints it."""
        search = f"ppsim.plan(**{LONG!r}, budget='600s', progress=lambda line: print('runs', flush=True))\n"
        printed, _ = self.interrupted(
            "try:\n"
            f"    {search}"
            "except KeyboardInterrupt as interrupt:\n"
            "    plan = interrupt.answer\n"
            "    print(type(plan).__name__, len(plan.stages) >= 16, bool(ppsim.check(plan)))\n"
            "    print(ppsim.simulate(plan).step_ns == plan.step_ns)\n"
        )
        self.assertEqual(printed.replace("runs\n", ""), "Plan True True\nTrue\n")
        _, said = self.interrupted(search)
        self.assertRegex(said, r"Interrupted: answer is the best so far: <ppsim.Plan of 16 ranks, step \d")

    def test_signals_are_left_alone(self):
        before = signal.getsignal(signal.SIGINT)
        ppsim.plan(**support.SMALL, budget="1s")
        self.assertIs(signal.getsignal(signal.SIGINT), before)


class Silence(unittest.TestCase):
    def test_nothing_is_printed(self):
        program = (
            "import ppsim, warnings\nwarnings.simplefilter('ignore')\n"
            "ppsim.plan(model='gpt1.7b', pp=3, seq_length=100000, emit='text=-', verbose=True)\n"
            "try: ppsim.plan(model='gpt175b', pp=1)\nexcept ppsim.InfeasibleError: pass\n"
        )
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=300)
        self.assertEqual((ran.stdout, ran.stderr), (b"", b""))

    def test_remarks_are_warnings(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ppsim.plan(model="gpt1.7b", pp=2, seq_length=100000, schedule="1f1b")
        self.assertIn("--seq-length 100000 exceeds", str(caught[0].message))
        self.assertEqual(caught[0].filename, __file__)

    def test_descriptors_are_closed(self):
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            ppsim.simulate(ppsim.plan(**support.SMALL))
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    def test_import_is_quick_and_without_numpy(self):
        program = (
            "import sys, time\nbegin = time.process_time()\nimport ppsim\n"
            "print(time.process_time() - begin)\n"
            "assert 'numpy' not in sys.modules and 'ppsim._native' not in sys.modules\n"
        )
        seconds = [
            float(
                subprocess.run(
                    [sys.executable, "-c", program], capture_output=True, check=True, text=True
                ).stdout
            )
            for _ in range(5)
        ]
        self.assertLess(min(seconds), 0.05)


class Anything(unittest.TestCase):
    """Drawn options and values: an exception of ppsim or a result, never a crash."""

    def draw(self, rng, table):
        values = [
            "",
            "0",
            "-1",
            "2",
            "1e999",
            "nan",
            "on",
            "off",
            "auto",
            "all",
            "none",
            "x" * 3000,
            "\u00e9\u4e2d",
            "a=b",
            "=-",
            "csv=-",
            ",",
            "1ms",
            "80GB",
            "--pp",
            "-",
            "/dev/null",
            "/nonexistent/file.json",
            0,
            -1,
            2,
            10**30,
            1.5,
            float("nan"),
            float("inf"),
            True,
            False,
            None,
            [],
            [1, 2],
            {},
            {"F": "1ms"},
            b"\xff\xfe",
            [None],
            "\0",
            "\udc80",
            object(),
            (1,),
        ]
        return {rng.choice(list(table)): rng.choice(values) for _ in range(rng.randint(1, 4))}

    def test_options(self):
        seed = int(os.environ.get("PPSIM_TEST_SEED", "1"))
        rng = random.Random(seed)
        os.chdir(tempfile.mkdtemp())
        plan = ppsim.plan(**support.SMALL)
        bases = {
            "plan": lambda o: ppsim.plan(**{**support.SMALL, "budget": "5it", **o}),
            "simulate": lambda o: ppsim.simulate(plan, **o),
            "check": lambda o: ppsim.check(plan, **o),
            "pack": lambda o: ppsim.pack([100, 200], **{"model": "gpt1.7b", "pp": 2, **o}),
            "compare": lambda o: ppsim.compare(plan, plan, **o),
        }
        seconds = "30" if os.environ.get("PPSIM_TEST_LONG") else "4"
        end = time.monotonic() + float(os.environ.get("PPSIM_FUZZ_SECONDS", seconds))
        outcomes = {}
        while time.monotonic() < end:
            command = rng.choice(list(bases))
            options = self.draw(rng, ppsim.options(command))
            try:
                kind = type(bases[command](options)).__name__
            except ppsim.PpsimError as error:
                kind = type(error).__name__
                self.assertTrue(error.reason, (seed, command, options))
            self.assertNotEqual(kind, "InternalError", (seed, command, options))
            outcomes[kind] = outcomes.get(kind, 0) + 1
        self.assertGreater(outcomes.get("UsageError", 0), 10, outcomes)

    def test_sources(self):
        for source in (
            b"",
            b"{}",
            b"\xff" * 100,
            b"0F0\n1F0",
            b'{"format":"ppsim.plan","version":1}',
            {},
            {"a": [1]},
            7,
            None,
        ):
            with self.assertRaises((ppsim.PpsimError, TypeError), msg=str(source)):
                ppsim.simulate(source)
        for path in ("", "\0", "-x", "/", "."):
            with self.assertRaises(ppsim.PpsimError, msg=path):
                ppsim.simulate(path)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ppsim.PpsimWarning)
    unittest.main()
