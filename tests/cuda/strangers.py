"""Strangers at the port where the processes of a job meet: strangers.py PORT

One says nothing, one a byte per 50 ms, one a message to stop, one a greeting with a wrong proof, one comes and
goes, and a crowd that takes all places says nothing. None may hear more than the 16 bytes of a nonce. Prints
"talking" once all have connected; SIGTERM ends it, with 1 if one was told something."""
import os
import signal
import socket
import struct
import sys
import time

NONCE = 16


def frame(word, sender, content=b""):
    return b"ppsim-3\0" + struct.pack("<IIQ", word, sender, len(content)) + content


def end(*_):
    told = [len(h) for h in heard.values() if len(h) > NONCE]
    if told:
        print("told:", told, flush=True)
    os._exit(1 if told else 0)


says = [
    b"",
    frame(0, 1, struct.pack("<I", 3) + bytes(48)),
    frame(5, 1) * 4,
    frame(0, 1, struct.pack("<I", 3) + os.urandom(48)),
    b"GET / HTTP/1.0\r\n\r\n" * 40,
    *[b""] * 100,
]
slow = [i == 1 for i in range(len(says))]
heard = {}
left = {}
signal.signal(signal.SIGTERM, end)
began = time.monotonic()


def connect(i):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.setblocking(False)
    heard[s] = b""
    left[s] = says[i]
    return s


guests = [connect(i) for i in range(len(says))]
while True:
    for i, s in enumerate(guests):
        try:
            bytes_out = left[s][:1] if slow[i] else left[s]
            if bytes_out:
                left[s] = left[s][s.send(bytes_out):]
            heard[s] += s.recv(4096)
        except BlockingIOError:
            pass
        except OSError:
            left[s] = b""
    if time.monotonic() - began > 0.3:
        print("talking", flush=True)
        began = float("inf")
    time.sleep(0.05)
