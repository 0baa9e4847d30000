/* The simulator for a web page: what `ppsim simulate OPTIONS --json` answers, byte for byte, without
 * a server and also from file://.
 *
 *     const simulator = await ppsim.load();
 *     const json = simulator.simulate({ schedule: "1f1b", pp: 4, microbatches: 8,
 *                                       costs: "F=10ms,B=20ms", "rank-speed": "2=0.8" });
 *
 * simulate(options, files) returns the JSON, as text. Where the command would fail it throws a
 * ppsim.Error, whose `exit` is the exit status (1: the answer is no, such as a rank that exceeds
 * its limit; 2: wrong options; 3: a bad file), `field` the option or place, and `reason` the
 * sentence.
 * simulator.run("simulate", options, files) throws nothing for that, and returns
 *     { exit, field, reason, json, text, remarks, files }
 * with text: the answer for people, remarks: warnings, a line each, and files: what --emit and
 * --trace wrote, by name, as text (those that end in .gz as Uint8Array).
 *
 * options: an object of names without dashes and values, or an array of [name, value]. The value
 * true gives a flag ({ why: true }), and null, undefined and false leave an option out; an array
 * of values gives an option that may be repeated several times. The name "" gives a word, such as
 * the plan: { "": "plan.json" }. Names and meanings: ppsim-simulate(1).
 * files: an object of names and contents (text or Uint8Array) that options and words name.
 *     simulator.simulate({ "": "plan.json", jitter: "compute=0.02" }, { "plan.json": text });
 *
 * Calls are synchronous. Where they may take long, load this script in a Worker made from a Blob.
 * If a call throws anything but a ppsim.Error, the simulator is in an unknown state; load another.
 *
 * Needs WebAssembly and DecompressionStream: Chromium 80, Firefox 113, Safari 16.4, Node 18. */
const ppsim = (() => {
"use strict";
/* tools/dev/build-wasm puts Emscripten's loader (ppsimModule) and the compiled simulator (ppsimWasm,
 * gzip in base64) here, and writes simulator.js. */

/* An answer that is no: what the command prints to standard error, and its exit status. */
class SimulatorError extends Error {
    constructor(result) {
        super(result.field ? `${result.field}: ${result.reason}` : result.reason);
        this.name = "ppsim.Error";
        this.result = result;
        this.field = result.field;
        this.reason = result.reason;
        this.exit = result.exit;
    }
}

async function load() {
    /* ppsim_error: an int, and two texts of these sizes. */
    const FIELD_BYTES = 256;
    const REASON_BYTES = 1024;
    const FIELD_AT = 4;
    const REASON_AT = FIELD_AT + FIELD_BYTES;
    const ERROR_BYTES = REASON_AT + REASON_BYTES;

    const packed = Uint8Array.from(atob(ppsimWasm), character => character.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const wasmBinary = new Uint8Array(await new Response(stream).arrayBuffer());
    const c = await ppsimModule({ wasmBinary });
    const decoder = new TextDecoder();

    const text = at => {
        let end = at;
        while (c.HEAPU8[end])
            end++;
        return decoder.decode(c.HEAPU8.slice(at, end));
    };

    /* Calls use() with the addresses of these texts; null stays 0. */
    const withTexts = (texts, use) => {
        const places = texts.map(value => {
            if (value === null)
                return 0;
            const bytes = new TextEncoder().encode(value);
            if (bytes.includes(0))
                throw new TypeError("a text has a NUL");
            const at = c._malloc(bytes.length + 1);
            if (!at)
                throw new RangeError("no memory");
            c.HEAPU8.set(bytes, at);
            c.HEAPU8[at + bytes.length] = 0;
            return at;
        });
        try {
            return use(...places);
        } finally {
            places.forEach(at => c._free(at));
        }
    };

    /* Options as pairs of a name and a value, or null for a flag. */
    const pairs = options => {
        const given = Array.isArray(options) ? options : Object.entries(options);
        return given.flatMap(entry => {
            const [name, value] = Array.isArray(entry) ? entry : [entry, true];
            const values = Array.isArray(value) ? value : [value];
            return values.filter(one => one !== undefined && one !== null && one !== false)
                .map(one => [name, one === true ? null : String(one)]);
        });
    };

    /* Puts the options into a request. Returns the status. */
    const fill = (request, options, error) => {
        for (const [name, value] of pairs(options)) {
            const status = name === ""
                ? withTexts([value], at => c._ppsim_request_word(request, at, error))
                : withTexts([name, value], (at, to) => c._ppsim_request_set(request, at, to, error));
            if (status)
                return status;
        }
        return 0;
    };

    const read = (pointer, bytes) => decoder.decode(c.HEAPU8.slice(pointer, pointer + bytes));

    /* Returns a text of a result, whose length the function writes to `size`. */
    const part = (get, size, ...at) => {
        const pointer = get(...at, size);
        return [pointer, c.HEAPU32[size >> 2]];
    };

    const answer = (result, size) => {
        const files = {};
        for (let i = 0; result && c._ppsim_result_file_name(result, i); i++) {
            const name = text(c._ppsim_result_file_name(result, i));
            const [pointer, bytes] = part(c._ppsim_result_file, size, result, i);
            files[name] = name.endsWith(".gz") ? c.HEAPU8.slice(pointer, pointer + bytes)
                                               : read(pointer, bytes);
        }
        return {
            json: read(...part(c._ppsim_result_json, size, result)),
            text: read(...part(c._ppsim_result_text, size, result)),
            remarks: read(...part(c._ppsim_result_remarks, size, result)),
            files,
        };
    };

    /* Runs a command with its options and files. */
    const run = (command, options, files = {}) => {
        const stack = c.stackSave();
        const error = c.stackAlloc(ERROR_BYTES);
        const out = c.stackAlloc(8);
        const names = Object.keys(files);
        let request = 0;
        let result = 0;
        try {
            names.forEach(name => c.FS.writeFile(name, files[name]));
            let status = withTexts([command], at => c._ppsim_request_new(at, out, error));
            request = c.HEAPU32[out >> 2];
            if (!status)
                status = fill(request, options, error);
            if (!status) {
                c._ppsim_request_keep_files(request, 1);
                status = c._ppsim_run(request, out, error);
                result = c.HEAPU32[out >> 2];
            }
            return {
                exit: status, /* the statuses of the library are the exit statuses of the command */
                field: status ? text(error + FIELD_AT) : "",
                reason: status ? text(error + REASON_AT) || text(c._ppsim_status_text(status)) : "",
                ...answer(result, out + 4),
            };
        } finally {
            c._ppsim_result_free(result);
            c._ppsim_request_free(request);
            names.filter(name => c.FS.analyzePath(name).exists).forEach(name => c.FS.unlink(name));
            c.stackRestore(stack);
        }
    };

    const simulate = (options, files) => {
        const result = run("simulate", options, files);
        if (result.exit)
            throw new SimulatorError(result);
        return result.json;
    };

    return { run, simulate, version: text(c._ppsim_version()) };
}

return { load, Error: SimulatorError };
})();
if (typeof module === "object" && module.exports)
    module.exports = ppsim;
