"""Finds the package, that of build/python/fresh, which tests/python/wheel.sh makes, and the Python of
build/torch-new-env, which has torchtitan and transformers. A test without them is skipped."""
import glob
import os
import socket
import subprocess
import sys

NEW = "build/torch-new-env"
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def find(*folders):
    """Makes the package importable. Its folder comes last, since it has other packages, too."""
    packages = glob.glob("build/python/fresh/lib/python3.*/site-packages")
    if not packages:
        skip("no wheel (python.wheel)")
    sys.path += [*folders, *packages]
    try:
        import _cffi_backend  # noqa: F401
        import ppsim  # noqa: F401
    except ImportError as why:
        skip(f"the wheel is for another Python: {why}")


def start_new(*words, **options):
    """A process of this script in the Python of build/torch-new-env."""
    if not os.path.exists(f"{NEW}/complete"):
        skip(f"no {NEW}; tools/dev/torch-env --new makes it")
    environment = dict(os.environ, GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")
    script = os.path.abspath(sys.argv[0])
    return subprocess.Popen([f"{NEW}/bin/python", "-B", script, *map(str, words)], env=environment, **options)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def be_rank(rank, ranks, port):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
