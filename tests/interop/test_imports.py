"""What PyTorch writes is imported: the samples of tools/dev/measure_torch.py, and a recording of the profiler
with the names that torch.distributed.pipelining gives its actions.

usage: test_imports.py PPSIM
"""
import os
import subprocess
import sys
import tempfile

import torch
from torch.distributed.pipelining import schedules
from torch.profiler import ProfilerActivity, profile, record_function

import common


def tell(program, path):
    """Class -> number of samples, as tests/unit/calib/import/test_import_read.c reads the file."""
    reader = os.path.join(os.path.dirname(program), "tests", "test_unit_import_read")
    done = subprocess.run([reader, "tell", path], capture_output=True, text=True, timeout=60, check=False)
    common.demand(done.returncode == 0, f"{path}: {done.stderr}")
    return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in done.stdout.splitlines()}


def measured(program, folder):
    path = f"{folder}/samples.csv"
    with open(path, "w", encoding="ascii") as out:
        subprocess.run([sys.executable, "-B", "tools/dev/measure_torch.py", "--device", "cpu", "--dtype", "float32",
                        "--hidden", "64", "--ffn", "128", "--heads", "2", "--tokens", "16,32", "--lengths",
                        "64,32+32,16+48", "--seconds", "0.02"], stdout=out, stderr=subprocess.DEVNULL,
                       timeout=120, check=True)
    found = tell(program, path)
    common.demand(found == {"linear_fwd": 2, "linear_bwd": 2, "mlp_fwd": 2, "mlp_bwd": 2, "attn_fwd": 3,
                            "attn_bwd": 3}, f"measure_torch: {found}")


def recorded(program, folder):
    path = f"{folder}/trace.json.gz"
    x = torch.randn(64, 64, requires_grad=True)
    action = schedules._Action.from_str
    with profile(activities=[ProfilerActivity.CPU]) as recording:
        for microbatch in range(3):
            with record_function(schedules._get_profiler_function_name(action(f"3F{microbatch}"))):
                y = (x @ x).sum()
            with record_function(schedules._get_profiler_function_name(action(f"3SEND_F{microbatch}"))):
                pass
            with record_function(f"ppsim:3B{microbatch} tokens={64 + microbatch}"):
                y.backward()
    recording.export_chrome_trace(path)
    found = tell(program, path)
    common.demand(found == {"stage_f 3": 1, "stage_b 3": 3}, f"recording: {found}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        measured(sys.argv[1], folder)
        recorded(sys.argv[1], folder)


if __name__ == "__main__":
    try:
        main()
    except common.Failure as failure:
        sys.exit(str(failure))
