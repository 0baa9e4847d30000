"""A rank of a job that joins, begins a long message, and stands still: half_message.py PORT JOB RANK RANKS

Prints "talking" once it has begun; without a secret, as on one machine."""
import hashlib
import hmac
import os
import socket
import struct
import sys
import time

NONCE = 16
HELLO, GATHER = 0, 2
port, job, rank, ranks = int(sys.argv[1]), sys.argv[2].encode(), int(sys.argv[3]), int(sys.argv[4])


def head(word, size):
    return b"ppsim-3\0" + struct.pack("<IIQ", word, rank, size)


def read(s, size):
    found = b""
    while len(found) < size:
        found += s.recv(size - len(found)) or sys.exit("rank 0 has closed")
    return found


key = hmac.new(b"", job, hashlib.sha256).digest()
s = socket.create_connection(("127.0.0.1", port))
door, own = read(s, NONCE), os.urandom(NONCE)
proof = hmac.new(key, struct.pack("<8sII", b"hello", rank, ranks) + door + own, hashlib.sha256).digest()
s.sendall(head(HELLO, 4 + len(own) + len(proof)) + struct.pack("<I", ranks) + own + proof)
read(s, 24 + len(proof))  # the welcome
s.sendall(head(GATHER, 2**30) + b"part")
print("talking", flush=True)
time.sleep(1000)
