"""Common functions of the scripts that measure. They put tables into a page of docs/, between two
comments of the page, and never anywhere else."""

import datetime
import os
import signal
import statistics
import subprocess
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("PPSIM_BUILD", os.path.join(ROOT, "build")))
BEGIN = "<!-- written by {}: begin -->\n"
END = "<!-- written by {}: end -->\n"


def fail(text):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {text}")


def put(page, writer, text):
    """Replaces what `writer` wrote into docs/`page` before."""
    path = os.path.join(ROOT, "docs", page)
    with open(path, encoding="utf-8") as file:
        whole = file.read()
    begin, end = BEGIN.format(writer), END.format(writer)
    if whole.count(begin) != 1 or whole.count(end) != 1 or whole.index(begin) > whole.index(end):
        fail(f"docs/{page} has no place for it: {begin.strip()} ... {end.strip()}")
    head = whole[: whole.index(begin) + len(begin)]
    tail = whole[whole.index(end) :]
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + "\n" + text.strip("\n") + "\n\n" + tail)


def machine():
    """Kind and date, in the words of the other tables."""
    model = "a processor"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        model = names[0] if names else model
    except OSError:
        pass
    today = datetime.datetime.now(datetime.timezone.utc).date()
    load = os.getloadavg()[0]
    return {"machine": f"{model}, {os.cpu_count()} cores", "date": str(today), "load": round(load, 1)}


def said(where):
    return (
        f"Measured {where['date']}, {where['machine']}, shared with other work (load average "
        f"{where['load']:.1f} before)"
    )


def environment():
    """Open MPI: more processes than cores; and root in a container."""
    own = dict(os.environ, PPSIM_MODULE_DIR=BUILD, OMPI_MCA_rmaps_base_oversubscribe="1")
    if os.getuid() == 0:
        own.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return own


def output(command, seconds, folder=None):
    """Returns the output of the command. folder: the one in which it runs. The command ends before
    this function: mpirun ends its processes when it is asked to end, but leaves them when killed."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment(), cwd=folder, text=True, **pipes) as child:
        try:
            out, errors = child.communicate(timeout=seconds)
        except BaseException:
            child.terminate()
            raise
    if child.returncode != 0:
        fail(f"{' '.join(command)}: exit status {child.returncode}\n{errors}")
    return out


signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


def mpirun(processes):
    """Lets the system place the processes, as it places threads."""
    return [os.environ.get("MPIEXEC", "mpirun"), "--bind-to", "none", "-n", str(processes)]


def spread(values, form):
    """Median (lowest to highest), each by the format `form`; the unit is in the table's header."""
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"


def table(head, rows):
    lines = ["| " + " | ".join(line) + " |\n" for line in [head] + rows]
    return lines[0] + "|---" * len(head) + "|\n" + "".join(lines[1:])


def prose(text):
    """The text with paragraphs of at most 100 columns; tables stay as they are."""
    parts = text.strip("\n").split("\n\n")
    wrap = textwrap.TextWrapper(100, break_long_words=False, break_on_hyphens=False)
    return "\n\n".join(part if part.startswith("|") else wrap.fill(part) for part in parts)
