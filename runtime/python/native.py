"""Writes the C source of ppsim._native, the extension that calls libppsim.

    python native.py HEADER OUTPUT.c

cffi reads the declarations of tools/library/ppsim.h themselves, so that the extension has what the
header has. Calls release the GIL; progress comes back through a function that takes it.
"""

import re
import sys

import cffi


def declarations(header):
    """Returns the declarations of the text of ppsim.h as cffi wants them: without comments, macros
    and what is for C++."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    text = re.sub(r'extern "C" \{|#ifdef __cplusplus\n\}', "", text)
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\bPPSIM_(PUBLIC|CHECKED)\b", "", text)
    return "typedef int... sig_atomic_t;\n" + text


def main(header, output):
    ffi = cffi.FFI()
    with open(header, encoding="utf-8") as file:
        ffi.cdef(declarations(file.read()))
    ffi.cdef('extern "Python" void ppsim_python_progress(void *context, const char *line);')
    ffi.set_source("ppsim._native", '#include "tools/library/ppsim.h"')
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main(*sys.argv[1:])
