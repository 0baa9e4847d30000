"""The extension that cffi makes of tools/library/ppsim.h (runtime/python/native.py)."""

from typing import Any

lib: Any
ffi: Any
