"""ppsim plans and predicts pipeline-parallel training of large transformers.

    import ppsim

    plan = ppsim.plan(model="gpt175b", pp=16, hw="h100-80g")
    print(plan.step, plan.stages[0], plan.memory(0)["total"])
    plan.order(0), plan.timeline()      # numpy arrays
    plan.save("plan.json")              # for the command, too

Each function does what the command of its name does, with the same result. Keyword arguments are
the names of its options, with underscores: ``--global-batch-size 64`` is ``global_batch_size=64``.
Flags and ``on|off`` take True and False; lists become several values, dicts ``KEY=VALUE``; where an
option takes a file, a dict stands for its JSON; sizes may be ints in bytes, times numbers in seconds,
also in dicts. What has no file is named after its option: "model.json", or as ``_name_or_path`` says.
`options` lists the options of a command with their help.

Errors are exceptions with ``field`` (the option or the place in a file) and ``reason``; remarks of
the command become warnings (`PpsimWarning`). The library works without the GIL, and ^C ends it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ppsim._api import *  # noqa: F403

    __version__: str

__all__ = [
    "CancelledError",
    "Check",
    "Comparison",
    "FileError",
    "InfeasibleError",
    "InputError",
    "InternalError",
    "Interrupted",
    "Option",
    "OutOfMemoryError",
    "Packing",
    "Plan",
    "PpsimError",
    "PpsimWarning",
    "Replanned",
    "Replanner",
    "Result",
    "Simulation",
    "Stage",
    "Step",
    "Sweep",
    "Table",
    "UnavailableError",
    "UndecidedError",
    "UsageError",
    "check",
    "compare",
    "load",
    "names",
    "options",
    "pack",
    "plan",
    "shapes",
    "simulate",
    "sweep",
]


def __getattr__(name: str) -> Any:
    """Loads what is asked for. An import alone, as that of the command, takes a few milliseconds."""
    if name == "__version__":
        from ppsim._call import version

        return version()
    if name not in __all__:
        raise AttributeError(f"module 'ppsim' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module("ppsim._api"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Lists the public names, for completion."""
    return sorted([*__all__, "__version__"])
