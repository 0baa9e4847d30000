"""The architectures that a shared object has kernels for, as sm_90 (machine code) and compute_90 (PTX).
usage: fatbin.py FILE. Header and entries: of each its kind (1 PTX, 2 code), size and architecture."""
import struct
import sys

HEADER = struct.Struct("<IHHQ")  # magic, version, bytes of itself, bytes of all entries
ENTRY = struct.Struct("<HHIQ12xI")  # kind, version, bytes of itself, bytes, architecture
MAGIC = 0xBA55ED50

data = open(sys.argv[1], "rb").read()
found = set()
end = 0
while (start := data.find(MAGIC.to_bytes(4, "little"), end)) >= 0:
    _, _, own, size = HEADER.unpack_from(data, start)
    at = start + own
    end = at + max(size, 1)
    while at + ENTRY.size <= end <= len(data):
        kind, _, own, size, architecture = ENTRY.unpack_from(data, at)
        found.add(f"{ {1: 'compute', 2: 'sm'}.get(kind, 'unknown') }_{architecture}")
        at += max(own + size, 1)
print(*sorted(found))
