"""Compiles all kernels with a CUDA's run-time compiler, where that CUDA's nvcc is not to be had: machine code for
each of sm_80, sm_90 and sm_100 that it knows, and PTX. usage, from the root of the repository: nvrtc.py LIBNVRTC"""
import ctypes
import re
import sys

# What its compiler has no headers of.
HEADERS = {
    "cuda_runtime_api.h": "typedef struct CUstream_st *cudaStream_t;",
    "math.h": "#define INFINITY __int_as_float(0x7f800000)",
    "stdbool.h": "",
    "stddef.h": "typedef unsigned long size_t;",
    "stdint.h": "".join(
        f"typedef {kind} int{bits}_t; typedef unsigned {kind} uint{bits}_t;"
        for kind, bits in (("char", 8), ("short", 16), ("int", 32), ("long", 64))
    ),
}
nvrtc = ctypes.CDLL(sys.argv[1])


def strings(all):
    return (ctypes.c_char_p * len(all))(*[s.encode() for s in all])


def output(program, what):
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, text)
    return text.raw


def compiled(source, architecture):
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", len(HEADERS),
                             strings(HEADERS.values()), strings(HEADERS))
    options = ["-std=c++17", "-default-device", "-I.", f"-arch={architecture}"]
    if nvrtc.nvrtcCompileProgram(program, len(options), strings(options)) != 0:
        sys.exit(f"{architecture}: {output(program, 'ProgramLog').decode()}")
    if architecture.startswith("sm"):
        return set(re.findall(rb"\.text\.(\w+)", output(program, "CUBIN")))
    return set(re.findall(rb"\.entry (\w+)", output(program, "PTX")))


count = ctypes.c_int()
nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count))
known = (ctypes.c_int * count.value)()
nvrtc.nvrtcGetSupportedArchs(known)
known = sorted({80, 90, 100}.intersection(known))
device, host = open("runtime/cuda/kernel/kernels.cu").read().split("template", 1)
device = device.replace("static __global__", 'extern "C" __global__')
wanted = 2 * len(re.findall(r"^    X\(", open("runtime/cuda/kernel/kernels.h").read(), re.M))
for architecture in [f"sm_{number}" for number in known] + [f"compute_{known[-1]}"]:
    names = compiled(device, architecture)
    if len(names) != wanted:
        sys.exit(f"{architecture}: {len(names)} kernels of {wanted}: {sorted(names)}")
    print(architecture, end=" ", flush=True)
print(f"({wanted} kernels each)")
