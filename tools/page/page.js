/* The page of `ppsim report`. C computes everything; this script unpacks the timelines and draws.
 *
 * The file is read from top to bottom: words and elements, charts, the timeline (its bytes, its
 * picture, its keys), then a function per section, and at the end the page itself. Whatever comes
 * from a file becomes a text node, never HTML. */
"use strict";
(() => {

// ---------------------------------------------------------------- words

/* Control characters and marks that change the direction of text, written so that they are seen. */
function shown(text) {
    return String(text).replace(
        /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
        (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

/* Four significant digits, as everywhere in ppsim. */
function scaled(value, unit) {
    const size = Math.abs(value);
    return value.toFixed(size >= 999.95 ? 0 :
                   size >= 99.995       ? 1 :
                   size >= 9.9995       ? 2 :
                                          3) +
        " " + unit;
}

function duration(ns) {
    const size = Math.abs(ns);
    return size < 1e3   ? Math.round(ns) + " ns" :
        size < 999.95e3 ? scaled(ns / 1e3, "us") :
        size < 999.95e6 ? scaled(ns / 1e6, "ms") :
                          scaled(ns / 1e9, "s");
}

function bytes(count) {
    const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if (Math.abs(count) < 1024)
        return count + " B";
    let value = count / 1024;
    let k = 0;
    for (; Math.abs(value) >= 1023.5 && k < 4; k++)
        value /= 1024;
    return scaled(value, units[k]);
}

function percent(share, digits = 1) {
    return (100 * share).toFixed(digits) + " %";
}

/* How much longer a time is than another one. */
function slower(share) {
    return share === 0 ? "the same" :
                         percent(Math.abs(share), 2) + (share > 0 ? " slower" : " faster");
}

function headroom(limit, used) {
    return used > limit ? bytes(used - limit) + " too much" : bytes(limit - used) + " left";
}

/* "1 rank", "2 ranks" */
function count(number, word) {
    return number + " " + word + (number === 1 ? "" : word.endsWith("ch") ? "es" : "s");
}

function known(value) {
    return value !== null && value !== undefined && value !== "";
}

const KINDS = ["F", "I", "W", "B"];
const KIND_WORDS = ["forward", "backward, input gradient", "weight gradient", "backward"];
const KIND_KEYS =
    ["F forward", "I backward, input gradient", "W backward, weight gradient", "B backward"];
const CAUSES = ["data", "buffer", "link", "host", "sync"];
const CAUSE_WORDS = [
    "idle", "idle: no receive buffer", "idle: transfer queued or running", "idle: host launches",
    "idle: device synchronises"
];
const CAUSE_REASONS = [
    "a tensor that has not been computed", "the receiver has not posted the receive",
    "the transfer is queued or running", "the host has not launched the next kernel",
    "the device synchronises"
];
const TOKENS = [
    "F", "I", "W", "B", "SEND_F", "RECV_F", "SEND_B", "RECV_B", "SEND_FS", "RECV_FS", "SEND_BS",
    "RECV_BS"
];

/* The colours of `ppsim plot`; components next to each other in a stack differ in shade. */
const KIND_COLOURS =
    [[0x2f, 0x62, 0xbd], [0x35, 0xa7, 0x9c], [0xa9, 0xcf, 0x46], [0x1c, 0x84, 0x48]];
const LINE_COLOURS = { 1: [0x0c, 0x4a, 0x44], 2: [0x4d, 0x66, 0x0f] }; // Of the lines in I and W.
const CAUSE_COLOURS = [null, "#8a5fb0", "#e39a2d", "#a58f7a", "#707070"];
const GATHER = "#7d8b1f";
const REDUCTION = "#b5507a";
const COMPONENTS = {
    parameters: "#2f4f80",
    gradients: "#b5cbe3",
    optimizer: "#6f94c4",
    activations: "#f6d08a",
    weight_stash: "#b07c1c",
    recompute: "#7a4f9a",
    recv_buffers: "#a5d3a5",
    send_buffers: "#3d7a3d",
    logits: "#c9a3dc",
    temporaries: "#d8d8d8",
    outputs: "#2fa09a",
    workspace: "#8c6d5a",
    comm_library: "#808080",
};
const COMPONENT_WORDS = {
    weight_stash: "weight stash",
    recompute: "recomputation",
    recv_buffers: "receive buffers",
    send_buffers: "send buffers",
    comm_library: "communication library",
};

/* The parts of a step in the words of `ppsim plan --why`, each with its colour. */
const PARTS = [
    ["compute_ns", "compute", "#2f62bd"],
    ["collectives_ns", "tp, cp, ep exchange in ops", "#9cbbe8"],
    ["warm_up_ns", "bubble: warm-up", "#b9b9b9"],
    ["cool_down_ns", "bubble: cool-down", "#8f8f8f"],
    ["imbalance_ns", "bubble: unequal ranks", "#c9a3dc"],
    ["data_ns", "bubble: order of ops", "#7a4f9a"],
    ["buffer_ns", "wait: receiver not ready", "#b5507a"],
    ["p2p_ns", "wait: transfer", "#e39a2d"],
    ["sharding_ns", "wait: sharded parameters", "#7d8b1f"],
    ["host_ns", "wait: host", "#a58f7a"],
    ["sync_ns", "wait: device sync", "#555555"],
    ["grad_sync_ns", "gradient sync (dp)", "#3d7a3d"],
    ["tied_ns", "tied embedding", "#a5d3a5"],
    ["optimizer_ns", "optimizer", "#6f94c4"],
    ["fixed_ns", "fixed", "#2fa09a"],
];

/* Reads the cells of a CSV text; a cell with quotes may have commas. Returns objects by column. */
function readCsv(text) {
    const rows = text.split(/\r?\n/)
                     .filter((line) => line && !line.startsWith("#"))
                     .map((line) => [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(,|$)/g)]
                                        .filter((cell, k, all) => k < all.length - 1 || cell[0])
                                        .map((cell) => cell[1].startsWith('"') ?
                                                cell[1].slice(1, -1).replaceAll('""', '"') :
                                                cell[1]));
    return rows.slice(1).map(
        (row) => Object.fromEntries(rows[0].map((column, k) => [column, row[k] ?? ""])));
}

/* Splits the command's text for people, "label        text", into a headline, pairs and a rest. */
function readAnswer(text) {
    const answer = { headline: "", rows: [], rest: "" };
    const lines = text.split("\n");
    let k = 0;
    if (!/^(?=.{13}\S)\S+( \S+)* {2,}\S/.test(lines[0]) || lines[0].search(/ {2,}\S/) > 11)
        answer.headline = lines[k++];
    for (; k < lines.length && lines[k]; k++) {
        if (/^\S.{11} \S/.test(lines[k]))
            answer.rows.push([lines[k].slice(0, 13).trim(), lines[k].slice(13)]);
        else if (/^ {13}\S/.test(lines[k]) && answer.rows.length)
            answer.rows.at(-1)[1] += " " + lines[k].trim();
        else
            break;
    }
    answer.rest = lines.slice(k).join("\n").trim();
    return answer;
}

// ---------------------------------------------------------------- elements

function append(node, children) {
    for (const child of children.flat(Infinity)) {
        if (child instanceof Node)
            node.append(child);
        else if (known(child) && child !== false)
            node.append(shown(child));
    }
    return node;
}

/* Makes an element. Attributes that begin with "on" are listeners. */
function el(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (name.startsWith("on"))
            node.addEventListener(name.slice(2), value);
        else if (name === "style")
            node.style.cssText = value;
        else if (known(value) && value !== false)
            node.setAttribute(name, value === true ? "" : shown(value));
    }
    return append(node, children);
}

function svg(tag, attributes = {}, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes))
        node.setAttribute(name, shown(value));
    return append(node, children);
}

/* A table. Columns are names, or [name, "number"] for those that are aligned to the right. Of long
 * tables the first rows are shown, and a button adds more. */
function table(caption, columns, rows, { first = 50, chosen = () => false } = {}) {
    const isNumber = columns.map((column) => Array.isArray(column) && column[1] === "number");
    const isWords = columns.map((column) => Array.isArray(column) && column[1] === "words");
    const body = el("tbody");
    let done = 0;
    const more = el("button", { type: "button", onclick: () => add(200) });
    const look = (k) => isNumber[k] ? "number" : isWords[k] ? "words" : null;
    function add(rowsToAdd) {
        for (const row of rows.slice(done, done + rowsToAdd))
            body.append(el("tr", { class: chosen(row) ? "chosen" : null },
                row.slice(0, columns.length).map((cell, k) => el("td", { class: look(k) }, cell))));
        done = Math.min(rows.length, done + rowsToAdd);
        more.hidden = done === rows.length;
        more.textContent = `show more (${done} of ${rows.length})`;
    }
    add(first);
    const head = columns.map(
        (column, k) => el("th", { scope: "col", class: look(k) === "number" ? "number" : null },
            Array.isArray(column) ? column[0] : column));
    return el("div", {},
        el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
            el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, head)), body)),
        more);
}

function folded(summary, ...children) {
    return el("details", {}, el("summary", {}, summary), children);
}

function swatch(style, words, line = false) {
    return el("li", {},
        el("span", { class: line ? "swatch line" : "swatch", style, "aria-hidden": "true" }),
        words);
}

/* A text to copy, with a button that does it. */
function copyable(text, label) {
    const said = el("span", { role: "status", class: "quiet" });
    const block = el("pre", { tabindex: 0, "aria-label": label });
    block.append(text.split("\n").map(shown).join("\n"));
    const copy = async () => {
        try {
            await navigator.clipboard.writeText(text);
            said.textContent = "copied";
        } catch {
            getSelection().selectAllChildren(block); // Without a clipboard the text is selected.
            said.textContent = "selected: copy it with Ctrl+C";
        }
    };
    return el("div", {}, block,
        el("div", { class: "controls" },
            el("button", { type: "button", onclick: copy }, "Copy " + label), said));
}

const contents = document.getElementById("contents");
const page = document.getElementById("page");

/* Adds a section and its link. Nothing is added without children. */
function section(id, title, ...children) {
    const content = children.flat(Infinity).filter(Boolean);
    if (!content.length)
        return;
    contents.append(el("a", { href: "#" + id }, title));
    page.append(el("section", { id, "aria-labelledby": id + "-title" },
        el("h2", { id: id + "-title" }, title), content));
}

/* Gives each of several subjects its heading. */
function perSubject(subjects, make) {
    return subjects.map((subject) => {
        const content = [make(subject)].flat(Infinity).filter(Boolean);
        if (!content.length)
            return [];
        return subjects.length > 1 ? el("div", {}, el("h3", {}, subject.label), content) : content;
    });
}

// ---------------------------------------------------------------- charts

/* Steps of 1, 2 or 5 times a power of ten, at most `most` of them. */
function ticks(low, high, most) {
    const rough = (high - low) / Math.max(1, most) || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++)
        found.push(k * step);
    return found;
}

/* Axes of times and bytes: round numbers of the unit that suits the largest value. */
function timeAxis(most) {
    const [name, unit] = most < 1e3 ? ["ns", 1] :
        most < 1e6                  ? ["us", 1e3] :
        most < 1e9                  ? ["ms", 1e6] :
                                      ["s", 1e9];
    return { unit, format: (ns) => Number((ns / unit).toPrecision(6)) + " " + name };
}

function byteAxis(most) {
    const k = Math.max(0, Math.min(4, Math.floor(Math.log2(most || 1) / 10)));
    return {
        unit: 1024 ** k,
        format: (size) =>
            Number((size / 1024 ** k).toPrecision(6)) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][k]
    };
}

function logTicks(low, high) {
    const found = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10)
        if (power >= low)
            found.push(power);
    return found;
}

const MARKS = [
    (x, y) => `M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0`,
    (x, y) => `M${x - 4} ${y - 4}h8v8h-8z`,
    (x, y) => `M${x} ${y - 5}l5 9h-10z`,
    (x, y) => `M${x} ${y - 5}l5 5l-5 5l-5 -5z`,
    (x, y) => `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`,
    (x, y) => `M${x} ${y + 5}l5 -9h-10z`,
    (x, y) => `M${x - 5} ${y}h10m-5 -5v10`,
];
const CROSS = 4; // It has no area to be filled.
const PLUS = 6;

function mark(kind = 0, hue, x, y, ...title) {
    return svg("path", {
        d: MARKS[kind](x, y),
        stroke: hue,
        "fill-opacity": 0.7,
        fill: kind === CROSS || kind === PLUS ? "none" : hue
    },
        ...title);
}

/* Draws a chart and draws it again whenever its width changes, so that text keeps its size.
 * parts: { points: [[x, y, title]...], mark, hue } or { line: [[x, y]...], hue, dash }
 * or { x: value, hue, dash } or { y: value, ... } for lines across, or { from, to } for a band;
 * `words` puts it into the key. */
function chart({ about, x, y, parts, height = 300 }) {
    const host = el("figure", { style: "margin:0" });
    const key = el("ul", { class: "key" });
    for (const part of parts.filter((p) => p.words)) {
        const hue = part.hue ?? "var(--text)";
        const sign = part.points ?
            mark(part.mark, hue, 9, 7) :
            part.from !== undefined ?
            svg("rect", { x: 0, y: 2, width: 18, height: 10, fill: hue, opacity: 0.2 }) :
            svg("path", {
                d: "M0 7h18",
                stroke: hue,
                "stroke-width": 2,
                "stroke-dasharray": part.dash ?? "none"
            });
        key.append(el("li", {}, svg("svg", { width: 18, height: 14, "aria-hidden": "true" }, sign),
            part.words));
    }
    const xs = parts.flatMap((p) => p.points ?? p.line ?? [])
                   .map((p) => p[0])
                   .concat(parts.flatMap((p) => [p.x, p.from, p.to]).filter(known));
    const ys = parts.flatMap((p) => p.points ?? p.line ?? [])
                   .map((p) => p[1])
                   .concat(parts.map((p) => p.y).filter(known));
    const range = (values, axis) => {
        const least = axis.least ?? values.reduce((a, b) => Math.min(a, b), Infinity);
        const most = axis.most ?? values.reduce((a, b) => Math.max(a, b), -Infinity);
        if (axis.log)
            return [least / 1.15, most * 1.15];
        const room = 0.05 * (most - least || Math.abs(most) || 1);
        return [axis.least ?? least - room, axis.most ?? most + room];
    };
    function draw(width) {
        const [x0, x1] = range(xs, x);
        const [y0, y1] = range(ys, y);
        const unitTicks = (low, high, most, { unit = 1 }) =>
            ticks(low / unit, high / unit, most).map((v) => v * unit);
        const yTicks = y.log ? logTicks(y0, y1) : unitTicks(y0, y1, height / 45, y);
        const labels = yTicks.map(y.format);
        const left = 12 + 7 * Math.max(...labels.map((label) => label.length), 2);
        const edges = { left, right: width - 14, top: 24, bottom: height - 40 };
        const place = (value, low, high, from, to, log) => from +
            (to - from) *
                (log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
        const px = (value) => +place(value, x0, x1, edges.left, edges.right, x.log).toFixed(1);
        const py = (value) => +place(value, y0, y1, edges.bottom, edges.top, y.log).toFixed(1);
        const room = 7 * Math.max(...[x0, x1].map((v) => x.format(v).length)) + 14;
        const xTicks = x.log ?
            logTicks(x0, x1) :
            unitTicks(x0, x1, (edges.right - edges.left) / Math.max(Math.min(room, 90), 60), x);
        const nodes = [];
        yTicks.forEach(
            (value, k) => nodes.push(
                svg("path", { class: "grid", d: `M${edges.left} ${py(value)}H${edges.right}` }),
                svg("text", { x: edges.left - 6, y: py(value) + 4, "text-anchor": "end" },
                    labels[k])));
        let end = -Infinity;
        for (const value of xTicks) {
            const words = x.format(value);
            const middle = Math.min(px(value), width - 3.5 * words.length - 2);
            if (middle - 3.5 * words.length < end + 6)
                continue;
            end = middle + 3.5 * words.length;
            nodes.push(svg("path", { class: "axis", d: `M${px(value)} ${edges.bottom}v4` }),
                svg("text", { x: middle, y: edges.bottom + 17, "text-anchor": "middle" }, words));
        }
        nodes.push(
            svg("path",
                { class: "axis", d: `M${edges.left} ${edges.top}V${edges.bottom}H${edges.right}` }),
            svg("text",
                { x: (edges.left + edges.right) / 2, y: height - 6, "text-anchor": "middle" },
                x.words),
            svg("text", { x: 0, y: 12 }, y.words));
        for (const part of parts) {
            const hue = part.hue ?? "var(--text)";
            const line = {
                stroke: hue,
                fill: "none",
                "stroke-width": part.wide ?? 1.5,
                "stroke-dasharray": part.dash ?? "none"
            };
            if (part.points && part.points.length > 400 && !part.points[0][2])
                nodes.push(svg("path", {
                    d: part.points.map((p) => `M${px(p[0]) - 1} ${py(p[1]) - 1}h2v2h-2z`).join(""),
                    fill: hue
                }));
            else if (part.points)
                nodes.push(part.points.map((p) => mark(part.mark, hue, px(p[0]), py(p[1]),
                                               p[2] ? svg("title", {}, p[2]) : [])));
            else if (part.line)
                nodes.push(svg("path", {
                    ...line,
                    d: part.line.map((p, k) => `${k ? "L" : "M"}${px(p[0])} ${py(p[1])}`).join("")
                }));
            else if (part.from !== undefined)
                nodes.push(svg("rect", {
                    x: px(part.from),
                    y: edges.top,
                    width: px(part.to) - px(part.from),
                    height: edges.bottom - edges.top,
                    fill: hue,
                    opacity: 0.15
                }));
            else if (known(part.x))
                nodes.push(
                    svg("path", {...line, d: `M${px(part.x)} ${edges.top}V${edges.bottom}` }));
            else if (known(part.y))
                nodes.push(
                    svg("path", {...line, d: `M${edges.left} ${py(part.y)}H${edges.right}` }));
        }
        host.replaceChildren(key,
            svg("svg", {
                class: "chart",
                height,
                viewBox: `0 0 ${width} ${height}`,
                role: "img",
                "aria-label": about
            },
                nodes));
    }
    whenSized(host, draw);
    return host;
}

/* Calls draw(width) once the element has a width, and when that changes. */
function whenSized(host, draw) {
    let last = 0;
    new ResizeObserver((entries) => {
        const width = Math.floor(entries[0].contentRect.width);
        if (width > 0 && width !== last)
            draw(last = width);
    }).observe(host);
}

// ---------------------------------------------------------------- the bytes of a timeline

function fromBase64(text) {
    const letters = atob(text);
    const data = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++)
        data[i] = letters.charCodeAt(i);
    return data;
}

async function unzip(zipped) {
    const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

const LITERAL = 100;
const BINS = 4096; // Of a rank, at most; see sumBins.

/* Decodes the format "packed" (docs/reference/formats.md) into columns. Ops, gaps, transfers and
 * sharding spans are sorted by rank; opFirst[r] is the first op of rank r, opFirst[r + 1] is behind
 * its last one, and so on. Times are nanoseconds. */
function decodeTimeline(data) {
    let at = 8;
    function u() {
        let byte = data[at++];
        let value = byte & 127;
        for (let factor = 128; byte > 127; factor *= 128) {
            byte = data[at++];
            value += (byte & 127) * factor;
        }
        return value;
    }
    function z() {
        const value = u();
        return value % 2 ? -(value + 1) / 2 : value / 2;
    }
    if (String.fromCharCode(...data.subarray(0, 8)) !== "ppsimtl1")
        throw new Error("this is no timeline of ppsim");
    const ranks = u();
    const stages = u();
    const most = Math.ceil(data.length / 5); // An op, the shortest entry, has five bytes or more.
    const columns = {
        op: {
            kind: Uint8Array,
            second: Uint8Array,
            critical: Uint8Array,
            stage: Int32Array,
            microbatch: Int32Array,
            start: Float64Array,
            end: Float64Array
        },
        gap: {
            next: Int32Array,
            cause: Uint8Array,
            start: Float64Array,
            end: Float64Array,
            blockedCode: Uint8Array,
            blockedStage: Int32Array,
            blockedMicrobatch: Int32Array,
            byCode: Uint8Array,
            byStage: Int32Array,
            byMicrobatch: Int32Array,
            byRank: Int32Array
        },
        sent: {
            activation: Uint8Array,
            stage: Int32Array,
            microbatch: Int32Array,
            start: Float64Array,
            end: Float64Array,
            to: Int32Array
        },
        span: { stage: Int32Array, reduces: Uint8Array, start: Float64Array, end: Float64Array },
    };
    const t = { ranks, stages, measured: (u() & 1) === 1, texts: new Map(), end: 0 };
    const used = { op: 0, gap: 0, sent: 0, span: 0 };
    for (const [table, list] of Object.entries(columns)) {
        t[table] =
            Object.fromEntries(Object.entries(list).map(([name, Type]) => [name, new Type(most)]));
        t[table + "First"] = new Int32Array(ranks + 1);
    }
    const { op, gap, sent, span } = t;

    /* Reads a token into columns `prefix...` of gap i; returns the reference of the next one. */
    function token(prefix, i, stage, microbatch) {
        const code = u();
        gap[prefix + "Code"][i] = code;
        if (code === LITERAL) {
            const length = u();
            t.texts.set(prefix + i, new TextDecoder().decode(data.subarray(at, at + length)));
            at += length;
        } else if (code > 0) {
            stage += z();
            microbatch += z();
        }
        gap[prefix + "Stage"][i] = stage;
        gap[prefix + "Microbatch"][i] = microbatch;
        return [stage, microbatch];
    }

    for (let rank = 0; rank < ranks; rank++) {
        const first = used.op;
        const ops = u();
        const last = [0, 0, 0, 0];
        let stage = 0;
        let end = 0;
        for (let i = first; i < first + ops; i++) {
            const head = u();
            op.kind[i] = head & 3;
            op.second[i] = head >> 2 & 1;
            op.critical[i] = head >> 3 & 1;
            op.stage[i] = stage += z();
            op.microbatch[i] = last[head & 3] += z();
            op.start[i] = end + z();
            op.end[i] = end = op.start[i] + u();
        }
        used.op += ops;
        t.end = Math.max(t.end, end);
        let next = 0;
        for (let left = u(); left > 0; left--) {
            const i = used.gap++;
            next += u();
            const follows = next < ops ? first + next : -1;
            gap.next[i] = follows;
            gap.cause[i] = u();
            gap.start[i] = (next > 0 ? op.end[first + next - 1] : 0) + z();
            gap.end[i] = (follows >= 0 ? op.start[follows] : 0) - z();
            const own = token("blocked", i, follows >= 0 ? op.stage[follows] : 0,
                follows >= 0 ? op.microbatch[follows] : 0);
            token("by", i, ...own);
            gap.byRank[i] = rank + z();
        }
        const lastSent = [0, 0];
        let sentStage = 0;
        let start = 0;
        for (let left = u(); left > 0; left--) {
            const i = used.sent++;
            sent.activation[i] = u();
            sent.stage[i] = sentStage += z();
            sent.microbatch[i] = lastSent[sent.activation[i]] += z();
            sent.start[i] = start += z();
            sent.end[i] = start + u();
            sent.to[i] = rank + z();
        }
        start = 0;
        for (let left = u(); left > 0; left--) {
            const i = used.span++;
            const head = u();
            span.stage[i] = head >> 1;
            span.reduces[i] = head & 1;
            span.start[i] = start += z();
            span.end[i] = start + u();
        }
        for (const table of Object.keys(columns))
            t[table + "First"][rank + 1] = used[table];
    }
    for (const table of Object.keys(columns))
        for (const name of Object.keys(t[table]))
            t[table][name] = t[table][name].slice(0, used[table]);
    addShades(t);
    sumBins(t);
    return t;
}

/* The stages of a rank are shades, as in `ppsim plot`: 0 is the full colour, 7 the lightest. */
function addShades(t) {
    t.op.shade = new Uint8Array(t.op.kind.length);
    for (let rank = 0; rank < t.ranks; rank++) {
        const own = t.op.stage.subarray(t.opFirst[rank], t.opFirst[rank + 1]);
        const stages = [...new Set(own)].sort((a, b) => a - b);
        const shade = new Map(stages.map(
            (stage,
                k) => [stage, stages.length < 2 ? 0 : Math.floor(7 * k / (stages.length - 1))]));
        own.forEach((stage, k) => t.op.shade[t.opFirst[rank] + k] = shade.get(stage));
    }
}

/* For pictures in which ops are narrower than a pixel: per rank the time that F, I, W, B and the
 * critical path have had up to the end of each of many equal bins. A picture then costs as much as
 * it has columns, however many ops there are. */
function sumBins(t) {
    const bins = Math.max(64, Math.min(BINS, Math.floor(2 ** 20 / t.ranks)));
    const width = t.end / bins || 1;
    const sums = new Float64Array(t.ranks * (bins + 1) * 5);
    for (let rank = 0; rank < t.ranks; rank++) {
        const base = rank * (bins + 1) * 5;
        for (let i = t.opFirst[rank]; i < t.opFirst[rank + 1]; i++) {
            const end = t.op.end[i];
            let from = t.op.start[i];
            for (let bin = Math.min(bins - 1, Math.floor(from / width)); from < end; bin++) {
                const to = bin >= bins - 1 ? end : Math.min(end, (bin + 1) * width);
                const slot = base + (Math.min(bin, bins - 1) + 1) * 5;
                sums[slot + t.op.kind[i]] += Math.max(0, to - from);
                if (t.op.critical[i])
                    sums[slot + 4] += Math.max(0, to - from);
                from = Math.max(from, to);
            }
        }
        for (let k = base + 5; k < base + (bins + 1) * 5; k++)
            sums[k] += sums[k - 5];
    }
    t.bins = { count: bins, width, sums };
}

/* The first index in [from, to) whose value is above `limit`; `to` if there is none. The values
 * are sorted. */
function firstAbove(values, from, to, limit) {
    while (from < to) {
        const middle = (from + to) >> 1;
        if (values[middle] > limit)
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

function rankOf(first, i) {
    return firstAbove(first, 0, first.length, i) - 1;
}

function opName(t, i) {
    return t.op.stage[i] + KINDS[t.op.kind[i]] + t.op.microbatch[i];
}

/* The second half of the pair that op i begins; -1 if it runs alone. */
function partner(t, i) {
    return t.op.second[i + 1] && i + 1 < t.opFirst[rankOf(t.opFirst, i) + 1] ? i + 1 : -1;
}

function tokenOf(t, prefix, i) {
    const code = t.gap[prefix + "Code"][i];
    if (code === 0)
        return "";
    if (code === LITERAL)
        return t.texts.get(prefix + i);
    return t.gap[prefix + "Stage"][i] + TOKENS[code - 1] + t.gap[prefix + "Microbatch"][i];
}

/* What gap i waited for and why. */
function waitWords(t, i) {
    const by = tokenOf(t, "by", i);
    const cause = t.gap.cause[i];
    return `${duration(t.gap.end[i] - t.gap.start[i])}${
               by ? ` for ${by} of rank ${t.gap.byRank[i]}` : ""}` +
        ` (${CAUSES[cause]}: ${CAUSE_REASONS[cause]})`;
}

/* The waits that end where op i begins. */
function waitsOf(t, i) {
    const rank = rankOf(t.opFirst, i);
    const found = [];
    const before = i > t.opFirst[rank] ? t.op.end[i - 1] : 0;
    let k = firstAbove(t.gap.end, t.gapFirst[rank], t.gapFirst[rank + 1], before);
    for (; k < t.gapFirst[rank + 1] && t.gap.start[k] < t.op.start[i]; k++)
        if (t.gap.next[k] === i)
            found.push(k);
    return found;
}

/* The lines about an op, which hover, keyboard and screen readers share. */
function describeOp(t, i) {
    const rank = rankOf(t.opFirst, i);
    const pair = partner(t, i);
    const start = t.op.start[i];
    const end = t.op.end[i];
    const waits = waitsOf(t, i);
    return [
        `${opName(t, i)}${pair >= 0 ? " and " + opName(t, pair) : ""} on rank ${rank}: ` +
            `${KIND_WORDS[t.op.kind[i]]}, stage ${t.op.stage[i]}, microbatch ${t.op.microbatch[i]}`,
        `${duration(start)} to ${duration(end)}, takes ${duration(end - start)}`,
        waits.length ? "waited " + waits.map((k) => waitWords(t, k)).join(", then ") :
                       "did not wait",
        t.op.critical[i] ? "on the critical path" : "",
        `exactly ${start} to ${end} ns`,
    ].filter(Boolean);
}

function describeGap(t, i) {
    const blocked = tokenOf(t, "blocked", i);
    return [
        `rank ${rankOf(t.gapFirst, i)} is idle${blocked ? ": " + blocked + " cannot run" : ""}`,
        `waits ${waitWords(t, i)}`,
        `exactly ${t.gap.start[i]} to ${t.gap.end[i]} ns`,
    ];
}

/* The lines about what a rank does at a time, and the op if it is one. */
function describeTime(t, rank, time) {
    const i = firstAbove(t.op.end, t.opFirst[rank], t.opFirst[rank + 1], time);
    if (i < t.opFirst[rank + 1] && t.op.start[i] <= time)
        return { op: i, lines: describeOp(t, i) };
    const k = firstAbove(t.gap.end, t.gapFirst[rank], t.gapFirst[rank + 1], time);
    if (k < t.gapFirst[rank + 1] && t.gap.start[k] <= time)
        return { op: -1, lines: describeGap(t, k) };
    return { op: -1, lines: [`rank ${rank} is idle`, `at ${duration(time)}`] };
}

// ---------------------------------------------------------------- the picture of a timeline

const GUTTER = 42; // For the numbers of the ranks, in CSS pixels, like all that follow.
const AXIS = 22;
const DENSE = 3;   // Ops that are narrower than this on average are drawn as shares of columns.
const PATTERN = 8; // Patterns are for boxes of at least this width.
const SHADES = 8;
const LIGHTEST = 0.5;

const little = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/* A colour as the number that an ImageData holds. */
function pixel([r, g, b]) {
    return (little ? 255 << 24 | b << 16 | g << 8 | r : r << 24 | g << 16 | b << 8 | 255) >>> 0;
}

function mix(colour, other, share) {
    return colour.map((part, k) => Math.round(part + share * (other[k] - part)));
}

/* The colours of the page as the theme has them. A canvas knows no CSS variables. */
function themeColour(name) {
    const probe = el("span", { style: `color: ${name.startsWith("#") ? name : `var(${name})`}` });
    document.body.append(probe);
    const found = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
    probe.remove();
    return found;
}

const views = [];

/* The timeline as a picture in which one can move. Lanes are timelines of the same ranks that are
 * drawn over each other: { words, t }. All drawing goes into one array of pixels, by columns where
 * ops are narrow; only lines and letters are the canvas's own. */
class View {
    constructor(lanes) {
        this.lanes = lanes;
        this.ranks = Math.max(...lanes.map((lane) => lane.t.ranks));
        this.end = Math.max(...lanes.map((lane) => lane.t.end)) || 1;
        this.from = 0;
        this.to = this.end;
        this.fold = 1;
        while (this.ranks / this.fold > 128)
            this.fold *= 2;
        this.show = { path: true, transfers: true, causes: true };
        this.chosen = null; // { lane, op }
        this.found = [];
        this.canvas = el("canvas", {
            tabindex: 0,
            role: "application",
            "aria-roledescription": "timeline",
            "aria-label": `Timeline of ${count(this.ranks, "rank")} over ${duration(this.end)}. ` +
                "Left and right move, up and down zoom, comma and full stop choose the op " +
                "before and after, brackets another rank, W goes to what an op waited for, " +
                "Escape ends.",
        });
        this.context = this.canvas.getContext("2d", { alpha: false });
        this.tip = el("div", { class: "tip", hidden: true });
        this.said = el("div", { class: "chosen-op quiet", role: "status", "aria-live": "polite" });
        this.range = el("span", { class: "quiet" });
        this.host = el("div", { class: "timeline" }, this.canvas, this.tip);
        this.node = el("div", {}, this.controls(), this.host,
            el("div", { class: "beside" }, this.said, this.key()));
        this.say([]);
        this.listen();
        whenSized(this.host, () => this.resize());
        views.push(this);
    }

    get rows() {
        return Math.ceil(this.ranks / this.fold);
    }

    controls() {
        const button = (words, label, act) =>
            el("button", { type: "button", "aria-label": label, onclick: act }, words);
        const box = (name, words) => el("label", {}, el("input", {
            type: "checkbox",
            checked: this.show[name],
            onchange: (event) => {
                this.show[name] = event.target.checked;
                this.draw();
            }
        }),
            words);
        const folds = [...Array(17).keys()].map((k) => 2 ** k).filter(
            (n) => n === 1 || n < this.ranks && n <= Math.max(32, this.fold));
        this.search = el("input", {
            type: "text",
            size: 9,
            placeholder: "3F7",
            "aria-label": "Find an op, such as 3F7 or F7",
            onkeydown: (event) => {
                if (event.key === "Enter")
                    this.find(this.search.value);
            }
        });
        this.searchSaid = el("span", { class: "quiet", role: "status" });
        return el("div", { class: "controls" }, button("+", "Zoom in", () => this.zoom(0.5)),
            button("\u2212", "Zoom out", () => this.zoom(2)),
            button("all", "Show the whole step", () => this.set(0, this.end)), this.range,
            box("path", "critical path"), box("transfers", "transfers"),
            box("causes", "causes of idle time"),
            folds.length > 1 &&
                el("label", {}, "a row is",
                    el("select", {
                        "aria-label": "Ranks of a row",
                        onchange: (event) => {
                            this.fold = Number(event.target.value);
                            this.resize();
                        }
                    },
                        folds.map((n) => el("option", { value: n, selected: n === this.fold },
                                      count(n, "rank"))))),
            el("label", {}, "find", this.search),
            button("find", "Find this op", () => this.find(this.search.value)), this.searchSaid);
    }

    key() {
        const has =
            [0, 1, 2, 3].map((kind) => this.lanes.some(({ t }) => t.op.kind.includes(kind)));
        const items = [0, 3, 1, 2].filter((kind) => has[kind]).map((kind) => {
            const colour = `rgb(${KIND_COLOURS[kind]})`;
            const line = LINE_COLOURS[kind];
            return swatch("background:" +
                    (line ? `repeating-linear-gradient(${kind === 1 ? 135 : 45}deg, ${
                                colour} 0 4px, rgb(${line}) 4px 5px)` :
                            colour),
                KIND_KEYS[kind]);
        });
        items.push(swatch("background:var(--idle)", "idle"));
        CAUSE_COLOURS.forEach((colour, cause) => {
            if (colour && this.lanes.some(({ t }) => t.gap.cause.includes(cause)))
                items.push(swatch("background:" + colour, CAUSE_WORDS[cause]));
        });
        if (this.lanes.some(({ t }) => t.span.stage.length))
            items.push(swatch("background:" + GATHER, "gather of parameters"),
                swatch("background:" + REDUCTION, "reduction of gradients"));
        if (this.lanes.some(({ t }) => t.op.critical.includes(1)))
            items.push(swatch("border-color:var(--path)", "critical path", true));
        if (this.lanes.some(({ t }) => t.sent.to.length))
            items.push(swatch("border-color:var(--transfer)", "transfer", true));
        const shades = this.lanes.some(({ t }) => t.stages > t.ranks) ?
            "A rank's later stages have lighter shades. " :
            "";
        const two = this.lanes.length > 1 ?
            `Of each rank the upper row is ${this.lanes[0].words}, the lower one ${
                this.lanes[1].words}. ` :
            "";
        return el("div", {}, el("ul", { class: "key" }, items),
            el("p", { class: "quiet" },
                two + shades +
                    "Where ops are too narrow to be drawn one by one, each column shows as " +
                    "shares of its height how a rank spent that time."),
            folded("How to move",
                el("p", {},
                    "Drag to move; Ctrl and the wheel, two fingers or the buttons zoom; click an " +
                        "op to keep its text. " +
                        "Keys, once the picture has the focus: left and right move, up and down " +
                        "zoom, comma and full stop choose the op before and after, [ and ] " +
                        "another rank, W what the op waited for, Home shows everything, " +
                        "Escape ends.")));
    }

    // ---- layout, in device pixels

    resize() {
        const width = this.host.clientWidth;
        const lanes = this.lanes.length;
        if (!width)
            return;
        this.scale = Math.min(2, Math.max(1, window.devicePixelRatio || 1));
        const rows = this.rows;
        this.rowHeight = Math.round((rows <= 8          ? 36 :
                                            rows <= 24  ? 26 :
                                            rows <= 128 ? 15 :
                                                          8) *
            (lanes > 1 ? 1.6 : 1) * this.scale);
        this.left = Math.round(GUTTER * this.scale);
        this.top = Math.round(AXIS * this.scale);
        this.width = Math.round(width * this.scale) - this.left;
        this.height = rows * this.rowHeight + 2;
        this.canvas.width = this.left + this.width;
        this.canvas.height = this.top + this.height;
        this.canvas.style.height = this.canvas.height / this.scale + "px";
        this.image = this.context.createImageData(this.width, this.height);
        this.pixels = new Uint32Array(this.image.data.buffer);
        this.shares = new Float64Array(this.width * 5);
        this.recolour();
        this.paint();
    }

    recolour() {
        const back = themeColour("--back");
        this.colours = {
            back: pixel(back),
            idle: pixel(themeColour("--idle")),
            path: pixel(themeColour("--path")),
            gather: pixel(themeColour(GATHER)),
            reduction: pixel(themeColour(REDUCTION)),
            causes: CAUSE_COLOURS.map((colour) => colour ? pixel(themeColour(colour)) : 0),
            behind: `rgb(${back})`,
            text: `rgb(${themeColour("--text")})`,
            quiet: `rgb(${themeColour("--quiet")})`,
            transfer: `rgb(${themeColour("--transfer")})`,
            pathLine: `rgb(${themeColour("--path")})`,
            ops: [],
            lines: [],
            light: [],
        };
        KIND_COLOURS.forEach((colour, kind) => {
            for (let shade = 0; shade < SHADES; shade++) {
                const own = mix(colour, [255, 255, 255], LIGHTEST * shade / (SHADES - 1));
                this.colours.ops.push(pixel(own));
                this.colours.lines.push(pixel(mix(own, LINE_COLOURS[kind] ?? own, 0.6)));
                this.colours.light.push(0.3 * own[0] + 0.59 * own[1] + 0.11 * own[2] < 125);
            }
        });
    }

    /* The upper and the lower edge of a lane's boxes in a row. */
    edges(row, lane) {
        const lanes = this.lanes.length;
        const share = 0.8 / lanes;
        const top = row * this.rowHeight +
            (0.1 + lane * share + (lanes > 1 ? lane * 0.03 : 0)) * this.rowHeight;
        return [
            Math.round(top),
            Math.max(
                Math.round(top) + 2, Math.round(top + share * this.rowHeight) - (lanes > 1 ? 1 : 0))
        ];
    }

    x(time) {
        return (time - this.from) / (this.to - this.from) * this.width;
    }

    time(x) {
        return this.from + x / this.width * (this.to - this.from);
    }

    /* Fills a box, cut to the picture. */
    fill(x0, x1, y0, y1, colour) {
        x0 = Math.max(0, x0);
        x1 = Math.min(this.width, x1);
        for (let y = Math.max(0, y0); y < Math.min(this.height, y1) && x0 < x1; y++)
            this.pixels.fill(colour, y * this.width + x0, y * this.width + x1);
    }

    /* Lines within a box: rising ones for I, falling ones for W. */
    hatch(x0, x1, y0, y1, kind, colour) {
        const step = Math.round(6 * this.scale);
        const from = Math.max(0, x0);
        const to = Math.min(this.width, x1);
        for (let y = y0; y < y1; y++) {
            const shift = kind === 1 ? y : step - y % step;
            for (let x = from + (step - (from - x0 + shift) % step) % step; x < to; x += step)
                this.pixels[y * this.width + x] = colour;
        }
    }

    draw() {
        if (!this.waiting)
            this.waiting = requestAnimationFrame(() => this.paint());
    }

    paint() {
        cancelAnimationFrame(this.waiting);
        this.waiting = 0;
        if (!this.image)
            return;
        const c = this.context;
        this.pixels.fill(this.colours.back);
        this.labels = [];
        for (let row = 0; row < this.rows; row++)
            this.lanes.forEach((lane, k) => this.paintRow(lane.t, row, k));
        c.fillStyle = this.colours.behind;
        c.fillRect(0, 0, this.canvas.width, this.canvas.height);
        c.putImageData(this.image, this.left, this.top);
        c.save();
        c.beginPath();
        c.rect(this.left, this.top, this.width, this.height);
        c.clip();
        c.translate(this.left, this.top);
        if (this.show.transfers && this.fold === 1)
            this.lanes.forEach((lane, k) => this.paintTransfers(lane.t, k));
        if (this.show.path && this.fold === 1)
            this.lanes.forEach((lane, k) => this.paintPath(lane.t, k));
        this.paintLabels();
        this.paintChosen();
        c.restore();
        this.paintAxis();
        this.range.textContent = `${duration(this.from)} to ${duration(this.to)}`;
        if (!this.tip.hidden)
            this.hover(this.pointer); // The picture has moved under a pointer that has not.
    }

    paintRow(t, row, lane) {
        const [y0, y1] = this.edges(row, lane);
        this.fill(Math.floor(this.x(0)), Math.ceil(this.x(this.end)), y0, y1, this.colours.idle);
        const first = row * this.fold;
        const last = Math.min(first + this.fold, t.ranks);
        if (first >= last)
            return;
        const from = t.opFirst[first];
        const seen = firstAbove(t.op.end, from, t.opFirst[first + 1], this.from);
        const behind = firstAbove(t.op.start, seen, t.opFirst[first + 1], this.to);
        if (this.fold > 1 || (behind - seen) * DENSE * this.scale > this.width)
            this.paintShares(t, first, last, y0, y1);
        else
            this.paintOps(t, first, seen, behind, y0, y1);
    }

    /* Draws per column how the ranks spent its time. */
    paintShares(t, first, last, y0, y1) {
        const { shares, width, pixels } = this;
        const perColumn = (this.to - this.from) / width;
        shares.fill(0);
        for (let rank = first; rank < last; rank++) {
            if (perColumn >= t.bins.width)
                this.addBins(t, rank);
            else
                this.addOps(t, rank);
        }
        const unit = (y1 - y0) / (perColumn * (last - first));
        for (let x = 0; x < width; x++) {
            let sum = 0;
            let y = y0;
            for (const kind of [0, 3, 1, 2]) {
                sum += shares[x * 5 + kind] * unit;
                const colour = this.colours.ops[kind * SHADES];
                for (const end = Math.min(y1, y0 + Math.round(sum)); y < end; y++)
                    pixels[y * width + x] = colour;
            }
            if (this.show.path && shares[x * 5 + 4] > 0)
                for (y = y1 - Math.ceil(2 * this.scale); y < y1; y++)
                    pixels[y * width + x] = this.colours.path;
        }
    }

    addBins(t, rank) {
        const { count: bins, width: binWidth, sums } = t.bins;
        const base = rank * (bins + 1) * 5;
        const before = [0, 0, 0, 0, 0];
        for (let x = -1; x < this.width; x++) {
            const at = Math.min(bins, Math.max(0, this.time(x + 1) / binWidth));
            const bin = Math.min(bins - 1, Math.floor(at));
            const slot = base + bin * 5;
            for (let kind = 0; kind < 5; kind++) {
                const sum =
                    sums[slot + kind] + (at - bin) * (sums[slot + 5 + kind] - sums[slot + kind]);
                if (x >= 0)
                    this.shares[x * 5 + kind] += sum - before[kind];
                before[kind] = sum;
            }
        }
    }

    addOps(t, rank) {
        const perColumn = (this.to - this.from) / this.width;
        const { start, end, kind, critical } = t.op;
        let i = firstAbove(end, t.opFirst[rank], t.opFirst[rank + 1], this.from);
        for (; i < t.opFirst[rank + 1] && start[i] < this.to; i++) {
            let from = Math.max(start[i], this.from);
            const until = Math.min(end[i], this.to);
            for (let x = Math.floor((from - this.from) / perColumn); from < until && x < this.width;
                 x++) {
                const to = Math.min(until, this.from + (x + 1) * perColumn);
                if (to > from) {
                    this.shares[x * 5 + kind[i]] += to - from;
                    if (critical[i])
                        this.shares[x * 5 + 4] += to - from;
                    from = to;
                }
            }
        }
    }

    /* Draws the ops of a rank one by one, and what its idle time is for. */
    paintOps(t, rank, from, behind, y0, y1) {
        const { op } = t;
        const border = 5 * this.scale;
        const hatched = PATTERN * this.scale;
        const high = y1 - y0 >= 7 * this.scale;
        if (this.show.causes)
            this.paintCauses(t, rank, y0, y1);
        this.paintSpans(t, rank, y1);
        for (let i = from; i < behind; i++) {
            const x0 = Math.round(this.x(op.start[i]));
            let x1 = Math.round(this.x(op.end[i]));
            if (x1 - x0 > border)
                x1 -= Math.round(this.scale);
            else if (x1 === x0)
                x1++;
            const kind = op.kind[i];
            const look = kind * SHADES + op.shade[i];
            this.fill(x0, x1, y0, y1, this.colours.ops[look]);
            if (x1 - x0 >= hatched && (kind === 1 || kind === 2))
                this.hatch(x0, x1, y0, y1, kind, this.colours.lines[look]);
            if (this.show.path && op.critical[i] && op.end[i] > op.start[i]) {
                const thick = Math.ceil(this.scale * 2);
                this.fill(x0, x1, y0 - 1, y0 - 1 + thick, this.colours.path);
                this.fill(x0, x1, y1 + 1 - thick, y1 + 1, this.colours.path);
            }
            if (high && x1 - x0 > 9 * this.scale)
                this.labels.push(
                    t, i, Math.max(0, x0), Math.min(this.width, x1), (y0 + y1) / 2, look);
        }
    }

    paintCauses(t, rank, y0, y1) {
        const third = Math.round((y1 - y0) / 3);
        let i = firstAbove(t.gap.end, t.gapFirst[rank], t.gapFirst[rank + 1], this.from);
        for (; i < t.gapFirst[rank + 1] && t.gap.start[i] < this.to; i++) {
            const colour = this.colours.causes[t.gap.cause[i]];
            const x0 = this.x(t.gap.start[i]);
            const x1 = this.x(t.gap.end[i]);
            if (colour && x1 - x0 >= 0.3)
                this.fill(Math.round(x0), Math.max(Math.round(x0) + 1, Math.round(x1)), y0 + third,
                    y1 - third, colour);
        }
    }

    paintSpans(t, rank, y1) {
        const { span, spanFirst } = t;
        const high = Math.max(1, Math.round(0.1 * this.rowHeight));
        for (let i = spanFirst[rank]; i < spanFirst[rank + 1] && span.start[i] < this.to; i++)
            if (span.end[i] > this.from)
                this.fill(Math.round(this.x(span.start[i])), Math.ceil(this.x(span.end[i])), y1,
                    y1 + high, span.reduces[i] ? this.colours.reduction : this.colours.gather);
    }

    /* Draws transfers as lines, if they are far enough from each other to be told apart. */
    paintTransfers(t, lane) {
        const c = this.context;
        const { sent, sentFirst } = t;
        const most = this.width * this.rows / (4 * this.scale);
        let number = 0;
        if (this.rowHeight < 12 * this.scale)
            return;
        c.beginPath();
        for (let rank = 0; rank < t.ranks; rank++) {
            const [top, bottom] = this.edges(rank, lane);
            let longest = 0;
            const from = sentFirst[rank];
            const behind = firstAbove(sent.start, from, sentFirst[rank + 1], this.to);
            let i = firstAbove(sent.start, from, behind, this.from);
            while (i > from && longest++ < 64 && sent.end[i - 1] > this.from)
                i--; // Those under way when the picture begins.
            if ((number += behind - i) > most)
                return;
            for (; i < behind; i++) {
                const [toTop, toBottom] = this.edges(sent.to[i], lane);
                c.moveTo(this.x(sent.start[i]), sent.to[i] > rank ? bottom : top);
                c.lineTo(this.x(sent.end[i]), sent.to[i] > rank ? toTop : toBottom);
            }
        }
        c.strokeStyle = this.colours.transfer;
        c.lineWidth = 0.8 * this.scale;
        c.stroke();
    }

    /* Connects the ops of the critical path that follow each other on different ranks. */
    paintPath(t, lane) {
        t.path ??= Array.from(t.op.critical.keys())
                       .filter((i) => t.op.critical[i])
                       .sort((a, b) => t.op.start[a] - t.op.start[b] || t.op.end[a] - t.op.end[b]);
        const c = this.context;
        c.beginPath();
        for (let k = 1; k < t.path.length; k++) {
            const [a, b] = [t.path[k - 1], t.path[k]];
            const [rankA, rankB] = [rankOf(t.opFirst, a), rankOf(t.opFirst, b)];
            if (rankA === rankB || t.op.start[b] < this.from || t.op.end[a] > this.to)
                continue;
            const [topA, bottomA] = this.edges(rankA, lane);
            const [topB, bottomB] = this.edges(rankB, lane);
            c.moveTo(this.x(t.op.end[a]), rankB > rankA ? bottomA : topA);
            c.lineTo(this.x(t.op.start[b]), rankB > rankA ? topB : bottomB);
        }
        c.strokeStyle = this.colours.pathLine;
        c.lineWidth = 1.4 * this.scale;
        c.stroke();
    }

    /* Writes the longest of "3F7", "F7" and "7" for which a box has room. */
    paintLabels() {
        const c = this.context;
        const font = Math.round(11 * this.scale);
        const digit = 0.62 * font;
        const { labels } = this;
        c.font = `${font}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace`;
        c.textAlign = "center";
        c.textBaseline = "middle";
        for (let k = 0; k < labels.length; k += 6) {
            const [t, i, x0, x1, y, look] = labels.slice(k, k + 6);
            const pair = partner(t, i);
            const short = KINDS[t.op.kind[i]] + t.op.microbatch[i] +
                (pair >= 0 ? "&" + KINDS[t.op.kind[pair]] + t.op.microbatch[pair] : "");
            const names = [t.op.stage[i] + short, short, String(t.op.microbatch[i])];
            const name = names.find((text) => text.length * digit + 3 * this.scale <= x1 - x0);
            if (!name)
                continue;
            if (look >= SHADES && look < 3 * SHADES) { // Lines behind letters would hide them.
                c.fillStyle = `rgb(${
                    mix(KIND_COLOURS[look >> 3], [255, 255, 255],
                        LIGHTEST * (look % SHADES) / (SHADES - 1))})`;
                c.fillRect((x0 + x1 - name.length * digit) / 2 - 2, y - font / 2,
                    name.length * digit + 4, font);
            }
            c.fillStyle = this.colours.light[look] ? "#ffffff" : "#000000";
            c.fillText(name, (x0 + x1) / 2, y + this.scale);
        }
    }

    outline(lane, i, thick) {
        const c = this.context;
        const { t } = this.lanes[lane];
        const [y0, y1] = this.edges(Math.floor(rankOf(t.opFirst, i) / this.fold), lane);
        const x0 = this.x(t.op.start[i]);
        const x1 = Math.max(x0 + 2, this.x(t.op.end[i]));
        c.lineWidth = (thick + 2) * this.scale;
        c.strokeStyle = this.colours.behind;
        c.strokeRect(x0, y0, x1 - x0, y1 - y0);
        c.lineWidth = thick * this.scale;
        c.strokeStyle = this.colours.text;
        c.strokeRect(x0, y0, x1 - x0, y1 - y0);
    }

    paintChosen() {
        for (const { lane, op } of this.found.slice(0, 1000))
            this.outline(lane, op, 1);
        if (this.chosen)
            this.outline(this.chosen.lane, this.chosen.op, 2.5);
    }

    paintAxis() {
        const c = this.context;
        const font = Math.round(11 * this.scale);
        c.font = `${font}px system-ui, sans-serif`;
        c.fillStyle = this.colours.quiet;
        c.strokeStyle = this.colours.quiet;
        c.lineWidth = this.scale;
        c.textBaseline = "middle";
        c.textAlign = "right";
        const every = Math.max(1, Math.ceil(13 * this.scale / this.rowHeight));
        for (let row = 0; row < this.rows; row += every)
            c.fillText((row === 0 ? "rank " : "") + row * this.fold, this.left - 5 * this.scale,
                this.top + (row + 0.5) * this.rowHeight);
        c.textAlign = "center";
        c.beginPath();
        let end = 0;
        for (const time of ticks(this.from, this.to, this.width / (110 * this.scale))) {
            const x = this.left + this.x(time);
            const words = this.tickWords(time);
            const half = c.measureText(words).width / 2;
            const middle = Math.min(Math.max(x, half), this.canvas.width - half - 2);
            if (middle - half < end)
                continue;
            end = middle + half + 8 * this.scale;
            c.fillText(words, middle, this.top * 0.4);
            c.moveTo(x, this.top * 0.78);
            c.lineTo(x, this.top);
        }
        c.stroke();
    }

    /* A time with as many digits as tell it from the next one on the axis. */
    tickWords(time) {
        const [unit, size] = this.to < 1e3 ? ["ns", 1] :
            this.to < 1e6                  ? ["us", 1e3] :
            this.to < 1e9                  ? ["ms", 1e6] :
                                             ["s", 1e9];
        const step = (this.to - this.from) / 20 / size;
        return (time / size)
                   .toFixed(Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)))) +
            " " + unit;
    }

    // ---- moving

    set(from, to) {
        const least = Math.max(10, this.end / 2 ** 22);
        const length = Math.min(this.end * 1.02, Math.max(least, to - from));
        const middle = (from + to) / 2;
        this.from =
            Math.max(-0.01 * this.end, Math.min(middle - length / 2, this.end * 1.01 - length));
        this.to = this.from + length;
        if (length >= this.end)
            [this.from, this.to] = [0, this.end];
        this.draw();
    }

    /* Makes the visible time `factor` times as long; the time at `share` of the width stays. */
    zoom(factor, share) {
        const length = this.to - this.from;
        let fixed = share === undefined ? this.from + length / 2 : this.from + share * length;
        if (share === undefined && this.chosen) {
            const { t } = this.lanes[this.chosen.lane];
            const middle = (t.op.start[this.chosen.op] + t.op.end[this.chosen.op]) / 2;
            if (middle > this.from && middle < this.to)
                fixed = middle;
        }
        this.set(fixed - (fixed - this.from) * factor, fixed + (this.to - fixed) * factor);
    }

    pan(share) {
        const step = share * (this.to - this.from);
        this.set(this.from + step, this.to + step);
    }

    /* Chooses an op, says what it is, and moves so that it is seen. */
    choose(lane, i, reveal = true) {
        const { t } = this.lanes[lane];
        this.chosen = { lane, op: i };
        const length = this.to - this.from;
        if (reveal && (t.op.start[i] < this.from || t.op.end[i] > this.to)) {
            const middle = (t.op.start[i] + t.op.end[i]) / 2;
            this.set(middle - length / 2, middle + length / 2);
        }
        this.say([...(this.lanes.length > 1 ? [this.lanes[lane].words] : []), ...describeOp(t, i)]);
        this.draw();
    }

    say(lines) {
        this.said.replaceChildren(
            ...(lines.length ? lines : ["No op is chosen."]).map((line) => el("div", {}, line)));
    }

    /* The op that runs on the rank at the middle of the picture, or the next one. */
    middleOp(lane, rank) {
        const { t } = this.lanes[lane];
        const i =
            firstAbove(t.op.end, t.opFirst[rank], t.opFirst[rank + 1], (this.from + this.to) / 2);
        return Math.min(i, t.opFirst[rank + 1] - 1);
    }

    step(by) {
        const { lane, op } = this.chosen ?? { lane: 0, op: this.middleOp(0, 0) - by };
        const { t } = this.lanes[lane];
        const rank = rankOf(t.opFirst, Math.max(0, op));
        let next = op + by;
        if (t.op.second[next])
            next += by;
        if (next >= t.opFirst[rank] && next < t.opFirst[rank + 1])
            this.choose(lane, next);
    }

    stepRank(by) {
        if (!this.chosen)
            return this.step(1);
        const { lane, op } = this.chosen;
        const { t } = this.lanes[lane];
        const rank = rankOf(t.opFirst, op) + by;
        if (rank < 0 || rank >= t.ranks)
            return;
        const i = firstAbove(t.op.end, t.opFirst[rank], t.opFirst[rank + 1], t.op.start[op]);
        if (t.opFirst[rank + 1] > t.opFirst[rank])
            this.choose(lane, Math.min(i, t.opFirst[rank + 1] - 1));
    }

    /* Goes to the op that the chosen one waited for. */
    follow() {
        if (!this.chosen)
            return;
        const { t } = this.lanes[this.chosen.lane];
        const waits = waitsOf(t, this.chosen.op);
        const k = waits.at(-1);
        const found = k === undefined ? -1 : this.indexOf(t, tokenOf(t, "by", k), t.gap.byRank[k]);
        if (found >= 0)
            this.choose(this.chosen.lane, found);
    }

    /* The op of a token such as 3F7, or of the tensor that 3SEND_F7 carries; -1: there is none. */
    indexOf(t, token, rank) {
        const parts = /^(\d+)(?:SEND_|RECV_)?([FIWB])S?(\d+)$/.exec(token);
        if (!parts || rank < 0 || rank >= t.ranks)
            return -1;
        for (let i = t.opFirst[rank]; i < t.opFirst[rank + 1]; i++)
            if (t.op.stage[i] === Number(parts[1]) && t.op.microbatch[i] === Number(parts[3]) &&
                KINDS[t.op.kind[i]] === parts[2])
                return i;
        return -1;
    }

    /* Finds ops by name. Repeated, it goes on to the next one. */
    find(text) {
        const parts = /^\s*(\d*)\s*([FIWB])\s*(\d+)\s*$/i.exec(text);
        this.found = [];
        if (!parts) {
            this.searchSaid.textContent = text.trim() ?
                "an op is written like 3F7: stage, letter F, I, W or B, microbatch" :
                "";
            return this.draw();
        }
        const kind = KINDS.indexOf(parts[2].toUpperCase());
        this.lanes.forEach(({ t }, lane) => {
            for (let i = 0; i < t.op.kind.length; i++)
                if (t.op.kind[i] === kind && t.op.microbatch[i] === Number(parts[3]) &&
                    (!parts[1] || t.op.stage[i] === Number(parts[1])))
                    this.found.push({ lane, op: i });
        });
        this.foundAt = text === this.foundText ? (this.foundAt + 1) % (this.found.length || 1) : 0;
        this.foundText = text;
        this.searchSaid.textContent =
            this.found.length ? `${this.foundAt + 1} of ${this.found.length}` : "no such op";
        if (!this.found.length)
            return this.draw();
        const { lane, op } = this.found[this.foundAt];
        const { t } = this.lanes[lane];
        const near = 30 * (t.op.end[op] - t.op.start[op]);
        if (this.to - this.from > near && near > 0)
            this.set(t.op.start[op] - near / 2, t.op.start[op] + near / 2);
        this.choose(lane, op);
    }

    // ---- pointer and keys

    /* What is drawn at a place of the window: { lane, rank, time }. */
    placeAt(clientX, clientY) {
        const box = this.canvas.getBoundingClientRect();
        const x = (clientX - box.left) * this.scale - this.left;
        const y = (clientY - box.top) * this.scale - this.top;
        const row = Math.floor(y / this.rowHeight);
        if (x < 0 || x >= this.width || row < 0 || row >= this.rows)
            return null;
        const lane = this.lanes.length > 1 && y - row * this.rowHeight > this.rowHeight / 2 ? 1 : 0;
        const rank = row * this.fold;
        return rank < this.lanes[lane].t.ranks ? { lane, rank, time: this.time(x) } : null;
    }

    /* Where the middle of an op is in the window. */
    placeOf(lane, i) {
        const { t } = this.lanes[lane];
        const box = this.canvas.getBoundingClientRect();
        const [y0, y1] = this.edges(Math.floor(rankOf(t.opFirst, i) / this.fold), lane);
        const x =
            (Math.max(0, this.x(t.op.start[i])) + Math.min(this.width, this.x(t.op.end[i]))) / 2;
        return {
            x: box.left + (this.left + x) / this.scale,
            y: box.top + (this.top + (y0 + y1) / 2) / this.scale
        };
    }

    foldedWords(lane, rank, time) {
        const { t } = this.lanes[lane];
        const last = Math.min(rank + this.fold, t.ranks) - 1;
        const now = [];
        for (let r = rank; r <= last; r++) {
            const i = describeTime(t, r, time).op;
            if (i >= 0)
                now.push(i);
        }
        const each = KINDS.map((name, kind) => [name, now.filter((i) => t.op.kind[i] === kind)])
                         .filter(([, ops]) => ops.length);
        const named = now.slice(0, 6).map((i) => `${opName(t, i)} on ${rankOf(t.opFirst, i)}`);
        return [
            `ranks ${rank} to ${last} at ${duration(time)}`,
            `${now.length} of ${count(last - rank + 1, "rank")} compute` +
                (each.length ? ": " +
                            each.map(([name, ops]) => `${ops.length} ${name}`).join(", ") :
                               ""),
            named.join(", ") + (now.length > named.length ? ", ..." : ""),
            `"a row is 1 rank" shows rank ${rank} by itself`
        ].filter(Boolean);
    }

    hover(event) {
        this.pointer = { clientX: event.clientX, clientY: event.clientY };
        const place = this.placeAt(event.clientX, event.clientY);
        this.tip.hidden = !place;
        if (!place)
            return null;
        const about = this.fold > 1 ?
            { op: -1, lines: this.foldedWords(place.lane, place.rank, place.time) } :
            describeTime(this.lanes[place.lane].t, place.rank, place.time);
        const lines =
            this.lanes.length > 1 ? [this.lanes[place.lane].words, ...about.lines] : about.lines;
        this.tip.replaceChildren(...lines.map((line) => el("div", {}, line)));
        const box = this.tip.getBoundingClientRect();
        const left = event.clientX + 14 + box.width > innerWidth ?
            Math.max(4, event.clientX - 14 - box.width) :
            event.clientX + 14;
        const top = event.clientY + 14 + box.height > innerHeight ?
            event.clientY - 14 - box.height :
            event.clientY + 14;
        this.tip.style.left = left + "px";
        this.tip.style.top = top + "px";
        return {...place, op: about.op };
    }

    listen() {
        const { canvas } = this;
        const down = new Map(); // The pointers that are down: one drags, two zoom.
        let moved = 0;
        canvas.addEventListener("pointerdown", (event) => {
            down.set(event.pointerId, event.clientX);
            canvas.setPointerCapture(event.pointerId);
            moved = 0;
        });
        canvas.addEventListener("pointermove", (event) => {
            const before = down.get(event.pointerId);
            if (before === undefined)
                return void this.hover(event);
            const others = [...down].filter(([id]) => id !== event.pointerId).map(([, x]) => x);
            const width = this.width / this.scale;
            if (others.length) {
                const left = canvas.getBoundingClientRect().left + GUTTER;
                const ratio =
                    Math.abs(before - others[0]) / Math.max(1, Math.abs(event.clientX - others[0]));
                this.zoom(Math.min(4, Math.max(0.25, ratio)), (others[0] - left) / width);
            } else
                this.pan((before - event.clientX) / width);
            moved += Math.abs(event.clientX - before);
            down.set(event.pointerId, event.clientX);
            this.tip.hidden = true;
        });
        const up = (event) => {
            const was = down.delete(event.pointerId);
            if (!was || moved > 4 || event.type === "pointercancel")
                return;
            const place = this.hover(event);
            if (place && place.op >= 0)
                this.choose(place.lane, place.op, false);
        };
        canvas.addEventListener("pointerup", up);
        canvas.addEventListener("pointercancel", up);
        canvas.addEventListener("pointerleave", () => this.tip.hidden = true);
        canvas.addEventListener("wheel", (event) => {
            const box = canvas.getBoundingClientRect();
            if (event.ctrlKey || event.metaKey)
                this.zoom(1.0015 ** (event.deltaY * (event.deltaMode ? 30 : 1)),
                    (event.clientX - box.left - GUTTER) * this.scale / this.width);
            else if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
                this.pan(event.deltaX / 800);
            else
                return;
            event.preventDefault();
        }, { passive: false });
        canvas.addEventListener("keydown", (event) => this.press(event));
    }

    press(event) {
        const acts = {
            ArrowLeft: () => this.pan(-0.2),
            ArrowRight: () => this.pan(0.2),
            ArrowUp: () => this.zoom(0.7),
            ArrowDown: () => this.zoom(1 / 0.7),
            "+": () => this.zoom(0.7),
            "=": () => this.zoom(0.7),
            "-": () => this.zoom(1 / 0.7),
            Home: () => this.set(0, this.end),
            End: () => this.set(this.end - (this.to - this.from), this.end),
            ",": () => this.step(-1),
            ".": () => this.step(1),
            "[": () => this.stepRank(-1),
            "]": () => this.stepRank(1),
            w: () => this.follow(),
            W: () => this.follow(),
            Escape: () => {
                this.chosen = null;
                this.found = [];
                this.tip.hidden = true;
                this.say([]);
                this.set(0, this.end);
            },
        };
        if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey)
            return;
        acts[event.key]();
        event.preventDefault();
    }

    /* Zooms in and out again, a picture per frame, and measures how many are drawn in a second. */
    async measureZoom(frames = 90) {
        let longest = 0;
        let before = await new Promise(requestAnimationFrame);
        const begin = before;
        for (let k = 0; k < frames; k++) {
            const depth =
                11 * (k < frames / 2 ? k : frames - k) / (frames / 2); // Up to 2048 times.
            const length = this.end / 2 ** depth;
            this.from = 0.4 * (this.end - length);
            this.to = this.from + length;
            this.paint();
            const now = await new Promise(requestAnimationFrame);
            longest = Math.max(longest, now - before);
            before = now;
        }
        this.set(0, this.end);
        return { frames, frames_per_s: 1000 * frames / (before - begin), longest_ms: longest };
    }
}

// ---------------------------------------------------------------- sections

function tile(name, value, note, look) {
    return el("div", { class: "tile" }, el("span", { class: "quiet" }, name),
        el("b", { class: look }, value), note && el("span", { class: "quiet" }, note));
}

/* The rank with the least memory left, how much, and what it holds most of. */
function tightest(report) {
    const own = report.per_rank.filter((r) => known(r.peak_memory_bytes))
                    .map((r) => ({ r, limit: r.memory_limit_bytes ?? report.memory_limit_bytes }));
    const left = ({ r, limit }) =>
        known(limit) ? limit - r.peak_memory_bytes : -r.peak_memory_bytes;
    return own.reduce((best, one) => !best || left(one) < left(best) ? one : best, null);
}

function componentWords(name) {
    return COMPONENT_WORDS[name] ?? name;
}

function mostOf(rank) {
    return Object.entries(rank.memory_at_peak ?? {}).sort((a, b) => b[1] - a[1]).filter(([,
        size]) => size > 0);
}

/* "95I15 (stage 95, backward, input gradient, of microbatch 15)" */
function opWords(token) {
    const parts = /^(\d+)([FIWB])(\d+)$/.exec(token);
    return parts ? `${token} (stage ${parts[1]}, ${KIND_WORDS[KINDS.indexOf(parts[2])]} of microbatch ${
                       parts[3]})` :
                   token;
}

/* What a rank holds, what it holds more of than the rank that holds least, and when. */
function tightestWords(rank, report) {
    const words = ([name, size]) => `${componentWords(name)} ${bytes(size)}`;
    const parts = mostOf(rank).slice(0, 2).map(words);
    const others = report.per_rank.filter((r) => r.memory_at_peak && r !== rank)
                       .sort((a, b) => b.peak_memory_bytes - a.peak_memory_bytes);
    const [next, least] = [others[0], others.at(-1)];
    const more = Object.entries(rank.memory_at_peak ?? {})
                     .map(([name, size]) => [name, size - (least?.memory_at_peak[name] ?? 0)])
                     .sort((a, b) => b[1] - a[1])
                     .filter(([, size]) => size > 0.002 * rank.peak_memory_bytes);
    const held = (r) => known(r.peak_live_activations) ? ` with ${
        count(r.peak_live_activations, "forward")} kept` : "";
    return `it peaks in ${opWords(rank.peak_op)}${held(rank)}, at ${duration(rank.peak_at_ns)}` +
        (parts.length ? `; its largest parts are ${parts.join(" and ")}` : "") +
        (next ? `. Next is rank ${next.rank} with ${bytes(next.peak_memory_bytes)}` : "") +
        (least && least.peak_memory_bytes < rank.peak_memory_bytes && more.length ?
                `. More than on rank ${least.rank}, which holds least (${
                    bytes(least.peak_memory_bytes)}${
                    held(least) === held(rank) ? "" : held(least)}): ${
                    more.slice(0, 3).map(words).join(", ")}` :
                "");
}

/* Of the report of a run: how it differs from its prediction and why. */
function runWords({ execution, step_ns: step, makespan_ns: makespan }) {
    const c = execution.comparison;
    const most = Object.entries(c?.op_error ?? {})
                     .filter(([, error]) => known(error))
                     .reduce((a, b) => a && Math.abs(a[1]) >= Math.abs(b[1]) ? a : b, null);
    const sign = (share) => `${share >= 0 ? "+" : "\u2212"}${percent(Math.abs(share), 2)}`;
    const predicted = execution.prediction?.makespan_ns;
    return `${duration(step)} with transport ${execution.transport}, compute ${
               execution.compute}` +
        (predicted ? `, makespan ${sign(makespan / predicted - 1)} against the prediction` : "") +
        (c && known(c.duration_error) && known(c.structure_error) ?
                `: ${sign(c.duration_error)} from the durations of ops, ${
                    sign(c.structure_error)} from everything else` :
                "") +
        (most ? `. The median ${most[0]} differs most from its cost, ${sign(most[1])}` +
                    (Math.abs(c.duration_error ?? 0) > 3 * Math.abs(most[1]) + 0.005 ?
                            ", so a few ops were much slower than the others" :
                            "") :
                "");
}

function verdict(subject) {
    const { report, plan, answer, executed, replica } = subject;
    const said = answer ? readAnswer(answer) : { rows: [], headline: "", rest: "" };
    const faster = said.rows.some(([name]) => name === "faster"); // The answer names it itself.
    const next = nextBest(subject, !faster);
    const candidates = subject.rows?.all.length;
    const undecided = subject.rows?.all.filter((r) => stateOf(r) === "undecided").length;
    const ran = executed ?? (report.execution ? report : null);
    const run = said.rows.find(([name]) => name === "run");
    const tiles = [];
    const interval = plan?.interval;
    const sure = interval &&
        `${percent(interval.probability, 0)} interval ${duration(interval.step_low_ns)} to ${
            duration(interval.step_high_ns)}`;
    const gpus = plan ? ["pp", "tp", "cp", "dp"].reduce(
                            (product, name) => product * (plan.parallel?.[name] ?? 1), 1) :
                        null;
    if (executed)
        tiles.push(tile("executed step", duration(executed.step_ns),
            slower(executed.step_ns / report.step_ns - 1) + " than predicted"));
    tiles.push(tile(executed ? "predicted step" : "step", duration(report.step_ns),
        report.execution ? "measured" : "predicted"));
    if (known(report.tokens_per_s))
        tiles.push(tile("tokens/s", Math.round(report.tokens_per_s).toLocaleString("en"),
            gpus && `${scaled(report.tokens_per_s / gpus, "per GPU")}, ${count(gpus, "GPU")}`));
    if (known(report.model_flops_utilization))
        tiles.push(tile("MFU", percent(report.model_flops_utilization)));
    tiles.push(tile("idle", percent((executed ?? report).bubble_fraction),
        executed ? `executed; predicted ${percent(report.bubble_fraction)}` :
                   "of the ranks' time, waits for transfers included"));
    const tight = tightest(report);
    let over = "";
    if (tight && known(tight.limit)) {
        const left = tight.limit - tight.r.peak_memory_bytes;
        if (left < 0)
            over = `This does not fit: rank ${tight.r.rank} needs ${
                bytes(-left)} more than its limit.`;
        tiles.push(tile("headroom", left < 0 ? "\u2212" + bytes(-left) : bytes(left),
            `rank ${tight.r.rank}, the tightest, of ${bytes(tight.limit)}`,
            left < 0 ? "bad" : null));
    }
    if (interval)
        tiles.push(tile("how sure", `\u00b1 ${percent(interval.half)}`, sure));
    if (known(report.step_low_ns))
        tiles.push(tile("how sure", "95 % interval",
            `${duration(report.step_low_ns)} to ${duration(report.step_high_ns)}`));
    // What people ask comes first. What the tiles and the page itself say is left out; the whole
    // answer is below as text.
    const rows = [];
    const sureWords = said.rows.find(([name]) => name === "how sure");
    if (ran)
        rows.push(["executed", runWords(ran)]);
    if (tight)
        rows.push(["tightest rank", `rank ${tight.r.rank} uses ${bytes(tight.r.peak_memory_bytes)}` +
                (known(tight.limit) ?
                        ` of ${bytes(tight.limit)} (${
                            headroom(tight.limit, tight.r.peak_memory_bytes)}, ${
                            percent(Math.abs(1 - tight.r.peak_memory_bytes / tight.limit))})` :
                        "") +
                `: ${tightestWords(tight.r, report)}`]);
    const bubble = report.why ? bubbleWords(report) : idleWords(ran ?? report);
    if (bubble)
        rows.push(["bubble", bubble]);
    if (next)
        rows.push(["next best", next]);
    if (sureWords)
        rows.push(["is it sure?", sureWords[1]]);
    if (undecided)
        rows.push(["search", `the budget ended first: ${undecided} of ${
                                 count(candidates, "candidate")} were not simulated, and one of ` +
                "them may be faster"]);
    const names = { elsewhere: "other executors" };
    rows.push(...said.rows
                  .filter(([name]) => !["run", "step", "memory", "next", "bubble", "longest wait",
                              "how sure", "executed", "makespan"].includes(name))
                  .map(([name, text]) => [names[name] ?? name, text]));
    if (known(replica))
        rows.push([
            "replica", `times and microbatches are those of replica ${replica}, the slowest` +
                (known(report.memory_replica) && report.memory_replica !== replica ?
                        `; memory is that of replica ${report.memory_replica}, which needs most` :
                        "")
        ]);
    const words = run ? run[1] :
                        `Schedule ${report.schedule}, ${count(report.ranks, "rank")}, ` +
            `${count(report.stages, "stage")}, ${
                count(report.microbatches, "microbatch")}; executor ${report.executor}`;
    return [
        said.headline && el("p", {}, said.headline), over && el("p", { class: "bad" }, over),
        el("dl", { class: "answer" },
            el("dt", {}, ran ? "what ran" : plan ? "what to run" : "simulated"),
            el("dd", { class: "run" }, `${words}: ${duration(ran?.step_ns ?? report.step_ns)} per step`),
            rows.map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])),
        el("div", { class: "tiles" }, tiles),
        answer && folded("The answer as text", copyable(answer, "the answer"))
    ];
}

/* The configuration as pairs, in the order in which one reads it. */
function configuration({ plan, report, microbatches }) {
    const p = plan.parallel ?? {};
    const sequences = microbatches?.reduce((sum, one) => sum + one[1], 0);
    const packed = sequences && sequences !== microbatches.length * p.micro_batch_size;
    const pairs = [
        ["model", plan.model], ["hardware", plan.hardware], ["pp", p.pp], ["tp", p.tp],
        ["cp", p.cp], ["dp", p.dp], ["ep", p.ep], ["vpp", p.vpp], ["zero", p.zero],
        ["sequence parallel", p.sequence_parallel], ["global batch size", p.global_batch_size],
        ["micro-batch size", p.micro_batch_size], ["sequence length", p.seq_length],
        [
            "microbatches",
            report?.microbatches +
                (packed ? `, into which ${sequences} sequences${
                              p.dp > 1 ? " of a replica" : ""} are packed` : "")
        ],
        ["schedule", report?.schedule],
        ["placement", plan.placement], ["recompute", plan.recompute],
        ["layers per stage", layerWords(plan.partition?.layers)],
        ["layout", plan.partition?.layout], ["executor", plan.executor], ["comm", plan.comm],
        ["lanes", plan.lanes], ["shapes", plan.shapes], ["step sync", plan.step_sync],
        ["stack", plan.stack?.stands_for ?? plan.stack?.name],
        ["memory limit", known(plan.memory_limit_bytes) ? bytes(plan.memory_limit_bytes) : null],
        ["command", plan.provenance?.command]
    ];
    return pairs.filter(([, value]) => known(value))
        .map(([name, value]) => [name,
                 value === true                ? "on" :
                     value === false           ? "off" :
                     typeof value === "object" ? JSON.stringify(value) :
                                                 String(value)]);
}

/* [5, 5, 5, 4] as "3 x 5, 4" */
function layerWords(layers) {
    const runs = [];
    for (const layer of layers ?? []) {
        if (runs.length && runs.at(-1)[1] === layer)
            runs.at(-1)[0]++;
        else
            runs.push([1, layer]);
    }
    return runs.map(([times, layer]) => times > 1 ? `${times} x ${layer}` : layer).join(", ");
}

function pairsAsText(pairs) {
    return pairs.map(([name, value]) => `${name}: ${value}`).join("\n");
}

const SAME = "no difference";

/* The pairs that differ, as lines that begin with - and +. */
function difference(before, after) {
    const names = [...new Set([...before, ...after].map(([name]) => name))].filter(
        (name) => name !== "command");
    const value = (pairs, name) => pairs.find((pair) => pair[0] === name)?.[1];
    const lines = names.filter((name) => value(before, name) !== value(after, name))
                      .flatMap((name) => [[before, "-"], [after, "+"]]
                                             .filter(([pairs]) => known(value(pairs, name)))
                                             .map(([pairs, sign]) =>
                                                      `${sign} ${name}: ${value(pairs, name)}`));
    return lines.length ? lines.join("\n") : SAME;
}

/* The settings of a candidate, in the names of the configuration. */
const SETTINGS = {
    schedule: "schedule",
    pp: "pp",
    vpp: "vpp",
    tp: "tp",
    cp: "cp",
    dp: "dp",
    dp_replicate: "copies",
    ep: "ep",
    etp: "etp",
    micro_batch_size: "micro-batch size",
    microbatches: "microbatches",
    recompute: "recompute",
    partition: "partition",
    unshard_lookahead: "unshard lookahead"
};

function candidatePairs(row) {
    return Object.entries(SETTINGS)
        .filter(([column]) => known(row[column]))
        .map(([column, name]) => [name, String(row[column])]);
}

function configurationSection(subject, plans) {
    const own = configuration(subject);
    const others =
        plans.filter((other) => other !== subject)
            .map((other) => ["plan " + other.label, configuration(other), own])
            .sort((a, b) => (difference(a[2], a[1]) === SAME) - (difference(b[2], b[1]) === SAME))
            .map(([words, ...both]) =>
                     [words + (difference(both[1], both[0]) === SAME ? ", equal" : ""), ...both]);
    const chosen = subject.chosenRow && candidatePairs(subject.chosenRow);
    for (const row of subject.rows?.ok.filter((r) => r !== subject.chosenRow).slice(0, 20) ?? []) {
        const other = candidatePairs(row);
        const names = other.map(([name]) => name);
        others.push(
            [candidateWords(row, subject.rows), other, chosen ?? own.filter(([name]) => names.includes(name))]);
    }
    const place = el("div");
    const pick = (k) =>
        place.replaceChildren(copyable(difference(others[k][2], others[k][1]), "the difference"));
    if (others.length)
        pick(0);
    return el("div", { class: "beside" }, copyable(pairsAsText(own), "the configuration"),
        others.length > 0 &&
            el("div", {},
                el("div", { class: "controls" },
                    el("label", {}, "Difference to ",
                        el("select", { onchange: (event) => pick(Number(event.target.value)) },
                            others.map(([words], k) => el("option", { value: k }, words))))),
                place));
}

/* What differs between reports: the values of each, and the change against the first. Shares differ
 * by points, everything else by a percentage. */
function comparison(subjects) {
    const rows = [];
    const change = (x, y, format, lessIsBetter, isShare) => {
        if (x === y)
            return el("div", { class: "quiet" }, "the same");
        const sign = y > x ? "+" : "\u2212";
        const size = isShare ? `${(100 * Math.abs(y - x)).toFixed(2)} points` :
            x > 0            ? percent(Math.abs(y / x - 1), 2) :
                               format(y);
        const better = y < x === lessIsBetter;
        return el("div", { class: better ? "good" : "bad" },
            `${sign}${size} (${better ? "better" : "worse"})`);
    };
    const add = (name, get, format, { lessIsBetter = true, isShare = false } = {}) => {
        const values = subjects.map(({ report }) => get(report));
        if (!values.every(known) || values.every((value) => value === 0))
            return;
        rows.push([
            name,
            ...values.map(
                (value, k) => [format(value),
                    k > 0 && change(values[0], value, format, lessIsBetter, isShare)])
        ]);
    };
    const whole = (value) => Math.round(value).toLocaleString("en");
    const share = (value) => percent(value, 2);
    add("step", (r) => r.step_ns, duration);
    add("makespan", (r) => r.makespan_ns, duration);
    add("tokens/s", (r) => r.tokens_per_s, whole, { lessIsBetter: false });
    add("MFU", (r) => r.model_flops_utilization, share, { lessIsBetter: false, isShare: true });
    add("bubble fraction", (r) => r.bubble_fraction, share, { isShare: true });
    add("peak memory", (r) => r.peak_memory_bytes, bytes);
    for (const [key, name] of PARTS)
        add(name, (r) => r.why ? r.why.mean[key] ?? 0 : null, duration);
    const labels = subjects.map((subject) => subject.label);
    const configured = subjects.filter((subject) => subject.plan);
    const pairs = configured.map((subject) => new Map(configuration(subject)));
    const differing = [...new Set(pairs.flatMap((own) => [...own.keys()]))].filter(
        (name) => name !== "command" && pairs.some((own) => own.get(name) !== pairs[0].get(name)));
    return [
        table(subjects.length > 2 ? "Changes are those against " + labels[0] : labels.join(" and "),
            ["", ...labels.map((label) => [label, "number"])], rows),
        configured.length > 1 && differing.length > 0 &&
            table("Settings that differ", ["", ...configured.map((subject) => subject.label)],
                differing.map((name) => [name, ...pairs.map((own) => own.get(name) ?? "")]))
    ];
}

/* The same of timelines that have no report. */
function timelineComparison(timelines) {
    const place = el("div");
    Promise.all(timelines.map((subject) => subject.decoded)).then((all) => {
        const sums = all.map((t) => t.op.kind.reduce((sum, kind, i) => {
            sum[kind] += t.op.second[i] ? 0 : t.op.end[i] - t.op.start[i];
            return sum;
        }, [0, 0, 0, 0]));
        const rows = [
            ["makespan", (t) => t.end, duration],
            ["idle", (t, k) => 1 - sums[k].reduce((a, b) => a + b) / (t.end * t.ranks || 1), percent],
            ...[0, 3, 1, 2].filter((kind) => sums.some((sum) => sum[kind] > 0)).map((kind) => [
                KIND_WORDS[kind] + ", mean of the ranks", (t, k) => sums[k][kind] / t.ranks, duration
            ])
        ];
        place.append(table("Changes are those against " + timelines[0].label,
            ["", ...timelines.map((subject) => [subject.label, "number"])],
            rows.map(([name, get, format]) => {
                const values = all.map(get);
                return [name, ...values.map((value, k) => [format(value), k > 0 && values[0] > 0 &&
                    el("div", { class: "quiet" }, `${value >= values[0] ? "+" : "\u2212"}${
                        percent(Math.abs(value / values[0] - 1), 2)}`)])];
            })));
    }, () => {}); // What is wrong with a timeline is said where it is drawn.
    return place;
}

// ---- memory

function memorySection({ report }) {
    const ranks = report.per_rank.filter((r) => r.memory_at_peak);
    if (!ranks.length)
        return [];
    const limitOf = (r) => r.memory_limit_bytes ?? report.memory_limit_bytes;
    const most =
        1.04 * Math.max(...ranks.map((r) => Math.max(r.peak_memory_bytes, limitOf(r) ?? 0)));
    const names =
        Object.keys(COMPONENTS).filter((name) => ranks.some((r) => r.memory_at_peak[name] > 0));
    const tight = tightest(report);
    const at = (size) => (100 * size / most).toFixed(3) + "%";
    const bars = el("div", {
        class: "bars",
        role: "img",
        "aria-label": "Memory of every rank at its peak; the table below has the same numbers"
    });
    const shownRanks = ranks.length <= 64 ?
        ranks :
        [...ranks].sort((a, b) => b.peak_memory_bytes - a.peak_memory_bytes).slice(0, 64);
    for (const r of shownRanks) {
        const limit = limitOf(r);
        const track = el("div", { class: "track" });
        let from = 0;
        for (const name of names) {
            const size = r.memory_at_peak[name];
            if (size > 0)
                track.append(el("div", {
                    class: "part",
                    title: `rank ${r.rank}: ${componentWords(name)} ${bytes(size)}`,
                    style: `left:${at(from)};width:${at(size)};background:${COMPONENTS[name]}`
                }));
            from += size;
        }
        if (known(limit) && r.peak_memory_bytes > limit)
            track.append(el("div", {
                class: "part over",
                title: `${bytes(r.peak_memory_bytes - limit)} too much`,
                style: `left:${at(limit)};width:${at(r.peak_memory_bytes - limit)}`
            }));
        if (known(limit))
            track.append(el("div", { class: "limit", style: `left:${at(limit)}` }));
        const over = known(limit) && r.peak_memory_bytes > limit;
        bars.append(el("div", { class: "name" }, `rank ${r.rank}`), track,
            el("div", { class: over ? "said bad" : "said" },
                `${bytes(r.peak_memory_bytes)} in ${r.peak_op} at ${duration(r.peak_at_ns)}` +
                    (over ? `: ${bytes(r.peak_memory_bytes - limit)} too much, from ${
                                r.over_limit_op ?? r.peak_op} on` :
                            "") +
                    (tight?.r === r ? ", the tightest" : "")));
    }
    const key = el("ul", { class: "key" },
        names.map((name) => swatch("background:" + COMPONENTS[name], componentWords(name))),
        known(report.memory_limit_bytes) &&
            el("li", {}, el("span", {
                class: "limit",
                "aria-hidden": "true",
                style: "border-left:2px dashed;height:1em"
            }),
                `limit ${bytes(report.memory_limit_bytes)}`),
        ranks.some((r) => r.peak_memory_bytes > (limitOf(r) ?? Infinity)) &&
            swatch("background:repeating-linear-gradient(45deg,#d62728 0 5px,#7a0d0e 5px 8px)",
                "over the limit"));
    const cell = (size) => size === 0 ? "0" : (size / 2 ** 30).toFixed(2);
    return [
        tight &&
            el("p", {},
                `Rank ${tight.r.rank} is the tightest` +
                    (known(tight.limit) ?
                            `, ${headroom(tight.limit, tight.r.peak_memory_bytes)} of ${
                                bytes(tight.limit)}` :
                            "") +
                    `: ${tightestWords(tight.r, report)}.`),
        shownRanks.length<ranks.length>0 &&
            el("p", { class: "quiet" }, `The 64 fullest of ${ranks.length} ranks.`),
        key, bars,
        folded("Memory at the peak as a table",
            table("GiB at the peak of each rank",
                [
                    "rank", ["total", "number"],
                    ...names.map((name) => [componentWords(name), "number"]), "in op",
                    ["at", "number"]
                ],
                ranks.map((r) => [r.rank, cell(r.peak_memory_bytes),
                              ...names.map((name) => cell(r.memory_at_peak[name])), r.peak_op,
                              duration(r.peak_at_ns)]),
                { first: 128 }))
    ];
}

// ---- where the time goes

function stack(rows, parts, total, words) {
    const bars = el("div", { class: "bars", role: "img", "aria-label": words });
    for (const [name, values, said] of rows) {
        const track = el("div", { class: "track" });
        let from = 0;
        for (const [key, label, colour] of parts) {
            const value = values[key] ?? 0;
            if (value > 0)
                track.append(el("div", {
                    class: "part",
                    title: `${name}: ${label} ${duration(value)}`,
                    style: `left:${(100 * from / total).toFixed(3)}%;width:${
                        (100 * value / total).toFixed(3)}%;background:${colour}`
                }));
            from += value;
        }
        bars.append(el("div", { class: "name" }, name), track, el("div", { class: "said" }, said));
    }
    return bars;
}

/* How large the bubble is, and the largest of its parts. */
function bubbleWords({ why, step_ns: step }) {
    const parts = PARTS.filter(([, name]) => name.startsWith("bubble: "))
                      .map(([key, name]) => [why.mean[key] ?? 0, name.slice(8)])
                      .sort((a, b) => b[0] - a[0]);
    const sum = parts.reduce((total, [ns]) => total + ns, 0);
    const [ns, name] = parts[0];
    const means = {
        "unequal ranks": `rank ${why.slowest_rank} computes longest, and the others wait for it`,
        "order of ops": "waits between ops, which the order of the ops costs",
        "warm-up": "waits before the first op of a rank",
        "cool-down": "waits after the last op of a rank"
    };
    if (!step)
        return "none, because the step takes no time";
    return `${percent(sum / step)} of the step, mean of the ranks, without waits for transfers` +
        (ns > 0 ?
                `; most of it is ${name}, ${duration(ns)} (${percent(ns / step)}): ${means[name]}` :
                "");
}

function idleOf(rank) {
    return CAUSES.reduce((sum, cause) => sum + rank.idle_ns[cause], 0);
}

/* "rank 3 is idle longest, 22.12 ms", or how many are. */
function longestIdle(ranks) {
    const worst = ranks.reduce((a, b) => idleOf(b) > idleOf(a) ? b : a);
    const alike = ranks.filter((r) => idleOf(r) > 0.999 * idleOf(worst));
    return (alike.length === ranks.length && ranks.length > 1 ? "all are idle equally long" :
               alike.length > 1 ? `${alike.length} ranks are idle longest, such as rank ${worst.rank}` :
                                  `rank ${worst.rank} is idle longest`) +
        `: ${duration(idleOf(worst))}`;
}

/* The same for a report without the parts of the step, such as that of a run. */
function idleWords({ per_rank: ranks, makespan_ns: makespan }) {
    const known = ranks?.filter((r) => r.idle_ns) ?? [];
    if (!known.length || !(makespan > 0))
        return "";
    const sum = (get) => known.reduce((total, r) => total + get(r), 0);
    const all = sum(idleOf);
    const causes = CAUSES.map((cause, k) => [sum((r) => r.idle_ns[cause]), CAUSE_REASONS[k]]).sort(
        (a, b) => b[0] - a[0]);
    return `${percent(all / known.length / makespan)} of the makespan, mean of the ranks; ${
               longestIdle(known)}` +
        (all > 0 ? `. Over all ranks, ${percent(causes[0][0] / all, 0)} of the idle time is for ` +
                    `this reason: ${causes[0][1]}` :
                   "");
}

function timeSection({ report, view }) {
    const nodes = [];
    const { why } = report;
    if (why) {
        const parts = PARTS.filter(([key]) => why.mean[key] > 0 || why.slowest[key] > 0);
        nodes.push(el("p", {}, `The bubble: ${bubbleWords(report)}.`));
        nodes.push(el("ul", { class: "key" },
                       parts.map(([, name, colour]) => swatch("background:" + colour, name))),
            stack(
                [
                    ["mean", why.mean, duration(report.step_ns)],
                    [`rank ${why.slowest_rank}`, why.slowest, "the busiest"]
                ],
                parts, report.step_ns, "Where the step goes; the table below has the same numbers"),
            table("Where the step goes",
                [
                    "", ["mean over the ranks", "number"], ["", "number"],
                    [`rank ${why.slowest_rank}, the busiest`, "number"], ["", "number"]
                ],
                parts.map(([key, name]) => [name, duration(why.mean[key] ?? 0),
                              percent((why.mean[key] ?? 0) / report.step_ns, 2),
                              duration(why.slowest[key] ?? 0),
                              percent((why.slowest[key] ?? 0) / report.step_ns, 2)])));
    }
    const ranks = report.per_rank.filter((r) => r.idle_ns);
    if (ranks.length && report.makespan_ns > 0) {
        const causes = CAUSES.filter((cause) => ranks.some((r) => r.idle_ns[cause] > 0));
        const colours = ["#b9b9b9", ...CAUSE_COLOURS.slice(1)];
        const parts = [
            ["busy", "ops", "#2f62bd"],
            ...causes.map(
                (cause) => [cause,
                    cause === "data" ? "idle: waits for data" : CAUSE_WORDS[CAUSES.indexOf(cause)],
                    colours[CAUSES.indexOf(cause)]])
        ];
        const worst = ranks.reduce((a, b) => idleOf(b) > idleOf(a) ? b : a);
        const listed =
            ranks.length <= 64 ? ranks : [...ranks].sort((a, b) => idleOf(b) - idleOf(a)).slice(0, 64);
        nodes.push(el("h3", {}, "Idle time by rank"),
            el("p", {},
                `Of ${count(ranks.length, "rank")}, ${longestIdle(ranks)}, ${
                    percent(idleOf(worst) / report.makespan_ns)} of the makespan` +
                    (listed.length < ranks.length ? `. The 64 most idle of ${ranks.length} ranks:` :
                                                    ".")),
            el("ul", { class: "key" },
                parts.map(([, name, colour]) => swatch("background:" + colour, name))),
            stack(listed.map((r) => [`rank ${r.rank}`, { busy: r.busy_ns, ...r.idle_ns },
                                 `${percent(idleOf(r) / report.makespan_ns)} idle`]),
                parts, report.makespan_ns,
                "Idle time of every rank by cause; the table below has the same numbers"),
            folded("Idle time as a table",
                table("Idle time of each rank by cause",
                    [
                        "rank", ["busy", "number"], ["idle", "number"],
                        ...causes.map((c) => [c, "number"])
                    ],
                    ranks.map((r) => [r.rank, duration(r.busy_ns), duration(idleOf(r)),
                                  ...causes.map((c) => duration(r.idle_ns[c]))]),
                    { first: 128 })));
    }
    if (report.worst_blocked?.length)
        nodes
            .push(el("h3", {}, "Longest waits"),
                table("The longest waits of one op for another",
                    ["rank", "op", ["waits", "number"], ["from", "number"], "for", "cause", ""],
                    report.worst_blocked
                        .map((w) => [w.rank, w.op, duration(w.waits_ns), duration(w.at_ns),
                                 `${w.blocked_by} of rank ${w.blocked_by_rank}`, w.cause,
                                 view.promise &&
                                     el("button", {
                                         type: "button",
                                         "aria-label": `Show the wait of ${w.op} in the timeline`,
                                         onclick: async () => {
                                             const shownView = await view.promise;
                                             const end = w.at_ns + w.waits_ns;
                                             shownView?.set(w.at_ns - w.waits_ns, end + w.waits_ns);
                                             const op = shownView ?
                                                 shownView.indexOf(
                                                     shownView.lanes[0].t, w.op, w.rank) :
                                                 -1;
                                             if (op >= 0)
                                                 shownView.choose(0, op, false);
                                             shownView?.canvas.scrollIntoView({ block: "center" });
                                             shownView?.canvas.focus({ preventScroll: true });
                                         }
                                     },
                                         "show")]),
                    { first: 10 }));
    return nodes;
}

// ---- alternatives

const NUMBERS = [
    "pp", "vpp", "tp", "cp", "dp", "ep", "gpus", "micro_batch_size", "microbatches",
    "least_step_ns", "step_ns", "tokens_per_s", "peak_memory_bytes", "peak_memory_rank", "p95_ns"
];

/* Reads the candidates. `cost` compares those of different numbers of GPUs and batches: GPU time of
 * the step or, if they do not all train as many tokens, of a sequence. */
function readCandidates(text, ofPlan) {
    const all = readCsv(text).map((row) => {
        for (const name of NUMBERS)
            row[name] = row[name] === "" || row[name] === undefined ? null : Number(row[name]);
        return row;
    });
    const batch = (row) => row.microbatches * row.micro_batch_size * row.dp;
    const simulated = all.filter((row) => row.step_ns && row.tokens_per_s);
    const tokens = (row) => row.step_ns * row.tokens_per_s;
    const one = simulated.every((row) => Math.abs(tokens(row) / tokens(simulated[0]) - 1) < 1e-3);
    for (const row of all) {
        const work = one ? 1 : batch(row) || 1;
        row.cost = known(row.step_ns) ? row.step_ns * row.gpus / work : null;
        row.least = row.least_step_ns > 0 ? row.least_step_ns * row.gpus / work : null;
    }
    const by = (name) => (a, b) => (a[name] ?? Infinity) - (b[name] ?? Infinity);
    const rows = {
        all,
        ok: all.filter((r) => r.status === "ok").sort(by("cost")),
        rest: all.filter((r) => r.status !== "ok").sort(by("least"))
    };
    rows.chosen = ofPlan ? all[0] : undefined; // `plan` writes its own first.
    // Of candidates with the same settings, which differ in what is recomputed of which microbatch,
    // the fastest is listed.
    const seen = new Set();
    const key = (r) => JSON.stringify(candidatePairs(r));
    if (rows.chosen)
        seen.add(key(rows.chosen));
    rows.ok = rows.ok.filter((r) => r === rows.chosen || !seen.has(key(r)) && seen.add(key(r)));
    // What tells them apart; the number of microbatches follows from their size.
    rows.differing = Object.keys(SETTINGS).filter(
        (name) => name !== "schedule" && name !== "microbatches" &&
            all.some((r) => r[name] !== all[0][name]) &&
            (name !== "etp" || all.some((r) => Number(r.etp) !== r.tp)));
    return rows;
}

/* "zbv, tp 4, micro-batch size 2": the schedule and settings, those in which candidates differ. */
function candidateWords(row, { differing }, chosen) {
    return [row.schedule,
        ...differing.filter((name) => !chosen || row[name] !== chosen[name]).filter((name) => known(row[name])).map((name) => `${SETTINGS[name]} ${
                                                                     row[name]}`)]
        .join(", ");
}

/* What the next best costs: the fastest one that is slower than the plan, the same of the other
 * schedules, and what is faster. */
function nextBest({ rows, chosenRow: chosen, report }, withFaster = true) {
    if (!rows || !chosen)
        return null;
    const others = rows.ok.filter((r) => r !== chosen);
    const after = (list) =>
        list.find((r) => r.cost > chosen.cost) ?? list.find((r) => r.cost === chosen.cost);
    const next = after(others);
    const other = after(others.filter((r) => r.schedule !== chosen.schedule));
    const words = (r) => `${candidateWords(r, rows, chosen)}: ${duration(r.step_ns)}, ${
                             slower(r.cost / chosen.cost - 1)}${perGpu(r, chosen)}` +
        (known(report.memory_limit_bytes) && known(r.peak_memory_bytes) ?
                `, ${headroom(report.memory_limit_bytes, r.peak_memory_bytes)}` :
                "");
    const faster = others.filter((r) => r.cost < chosen.cost);
    return [
        next && words(next),
        other && other !== next && `the best of another schedule, ${words(other)}`,
        withFaster && faster.length > 0 &&
            `${faster.length} faster ${
                faster.length === 1 ? "one was" :
                                      "ones were"} not taken, the fastest ${words(faster[0])}`
    ].filter(Boolean)
        .join("; ");
}

function perGpu(row, chosen) {
    return row.gpus !== chosen.gpus ? ` per GPU, on ${count(row.gpus, "GPU")}` : "";
}

function whyNot(row, chosen, limit) {
    if (row === chosen)
        return "the plan";
    if (row.status !== "ok")
        return row.reason;
    return [
        chosen && slower(row.cost / chosen.cost - 1) + perGpu(row, chosen),
        known(limit) && known(row.peak_memory_bytes) && headroom(limit, row.peak_memory_bytes),
        row.reason
    ].filter(Boolean)
        .join("; ");
}

function stateOf(row) {
    return row.status === "pruned" && row.reason.startsWith("the budget ended") ? "undecided" :
                                                                                  row.status;
}

function alternatives(subject) {
    const { rows, chosenRow: chosen, report } = subject;
    if (!rows)
        return [];
    const limit = report?.memory_limit_bytes;
    const counts = Object.entries(Object.groupBy ? Object.groupBy(rows.all, stateOf) : {});
    const words = {
        ok: "simulated and fit",
        pruned: "cannot be faster (lower bound)",
        undecided: "not simulated, because the budget ended first",
        infeasible: "do not fit or are not legal"
    };
    const place = el("div");
    const filter = el("select", { "aria-label": "Which candidates" }, [
        ["best", "the best of each schedule"], ["ok", "all that fit"],
        ["rest", "all others"]
    ].map(([value, text]) => el("option", { value }, text)));
    function list() {
        let chosenRows = rows[filter.value];
        if (filter.value === "best") {
            const seen = new Set();
            chosenRows = [...rows.ok, ...rows.rest].filter((r) => r === chosen ||
                    r.schedule !== chosen?.schedule && !seen.has(r.schedule) &&
                        seen.add(r.schedule));
        }
        place.replaceChildren(
            table("Candidates, the fastest first",
                [
                    "schedule", ["step", "number"], ["why not", "words"],
                    ["peak memory", "number"], ["pp", "number"], ["vpp", "number"],
                    ["tp", "number"], ["dp", "number"], ["micro-batch", "number"], "recompute"
                ],
                chosenRows.map(
                    (r) =>
                        Object.assign(
                            [
                                r.schedule,
                                known(r.step_ns)       ? duration(r.step_ns) :
                                    r.least_step_ns > 0 ? "\u2265 " + duration(r.least_step_ns) :
                                                          "not tried",
                                whyNot(r, chosen, limit),
                                known(r.peak_memory_bytes) ? bytes(r.peak_memory_bytes) : "", r.pp,
                                r.vpp, r.tp, r.dp, r.micro_batch_size, r.recompute
                            ],
                            { chosen: r === chosen })),
                { first: 25, chosen: (row) => row.chosen }));
    }
    filter.addEventListener("change", list);
    list();
    const next = nextBest(subject);
    return [
        el("p", {},
            `${count(rows.all.length, "candidate")}` +
                (counts.length ? ": " +
                            counts
                                .map(([status, own]) => `${own.length} ${words[status] ?? status}`)
                                .join(", ") :
                                 "") +
                "."),
        next && el("p", {}, "Next best: " + next + "."),
        el("div", { class: "controls" }, el("label", {}, "Show ", filter)), place
    ];
}

/* Memory against step, of all candidates of which both are known, with the bound. */
function tradeSection({ rows, chosenRow: chosen, report }) {
    if (!rows)
        return [];
    const ok = rows.ok.filter((r) => known(r.peak_memory_bytes) && known(r.step_ns));
    if (ok.length < 2)
        return [];
    const even = rows.all.every((r) => r.gpus === rows.all[0].gpus &&
            r.microbatches * r.micro_batch_size * r.dp ===
                rows.all[0].microbatches * rows.all[0].micro_batch_size * rows.all[0].dp);
    const base = chosen ?? ok[0];
    const y = (cost) => even ? cost / base.cost * base.step_ns : cost / base.cost;
    const format = even ? timeAxis(base.step_ns) : { format: (v) => v.toFixed(2) };
    const top = y(ok[Math.min(ok.length - 1, Math.floor(0.95 * ok.length))].cost);
    const point = (r, cost) => [r.peak_memory_bytes, y(cost),
        `${candidateWords(r, rows)}: ${bytes(r.peak_memory_bytes)}, ${
            known(r.step_ns) ? duration(r.step_ns) : "\u2265 " + duration(r.least_step_ns)}`];
    const misses =
        rows.rest
            .filter((r) => known(r.peak_memory_bytes) && known(r.least) && y(r.least) <= top &&
                    r.peak_memory_bytes < 2.5 * (report.memory_limit_bytes ?? Infinity))
            .slice(0, 300);
    const bound = rows.all.reduce((least, r) => r.status !== "infeasible" && known(r.least) ?
            Math.min(least, r.least) :
            least,
        Infinity);
    return [
        el("p", {},
            "Each mark is a candidate: further left needs less memory, lower is faster. " +
                "No order of ops in any setup that may fit is faster than the bound."),
        chart({
            about: "Memory against step of the candidates, as in the table of alternatives",
            x: { words: "peak memory of the fullest rank", ...byteAxis(base.peak_memory_bytes) },
            y: { words: even ? "step" : "GPU time per sequence, relative to the plan", ...format },
            parts: [
                {
                    points: misses.map((r) => point(r, r.least)),
                    mark: CROSS,
                    hue: "#b0404a",
                    words: misses.length > 0 && "does not fit (at its bound)"
                },
                {
                    points: ok.filter((r) => r !== chosen).map((r) => point(r, r.cost)),
                    mark: 0,
                    hue: "#2f62bd",
                    words: "fits"
                },
                chosen && {
                    points: [point(chosen, chosen.cost)],
                    mark: 3,
                    hue: "#c9421a",
                    words: "the plan"
                },
                known(report.memory_limit_bytes) && {
                    x: report.memory_limit_bytes,
                    dash: "6 4",
                    words: `limit ${bytes(report.memory_limit_bytes)}`
                },
                bound < Infinity && { y: y(bound), dash: "2 3", words: "bound" },
            ].filter(Boolean)
        })
    ];
}

// ---- microbatches

function microbatchSection({ microbatches }) {
    if (!microbatches?.length)
        return [];
    const tokens = microbatches.map((m) => m[0]);
    const sorted = [...tokens].sort((a, b) => a - b);
    const [least, median, most] = [sorted[0], sorted[sorted.length >> 1], sorted.at(-1)];
    const words = `${microbatches.length} microbatches`;
    const sequences = new Set(microbatches.map((m) => m[1]));
    if (least === most) {
        const each = sequences.size === 1 ? ` in ${count([...sequences][0], "sequence")}` : "";
        return [el("p", {}, `All ${words} have ${least} tokens${each}.`)];
    }
    const whole = (v) => String(Math.round(v));
    const steps = (column) => microbatches.flatMap((m, k) => [[k, m[column]], [k + 1, m[column]]]);
    const parts = [{ line: steps(0), hue: "#2f62bd", words: "tokens" }];
    if (microbatches.some((m) => m[2]))
        parts.push({ line: steps(2), hue: "#c9421a", dash: "3 2", words: "longest sequence" });
    const columns =
        ["microbatch", ["tokens", "number"], ["sequences", "number"], ["longest", "number"]];
    const order = "in the order in which they run";
    return [
        el("p", {}, `${words} of ${least} to ${most} tokens, median ${median}, ${order}.`), chart({
            about: `Tokens of ${words}; the table below has the same numbers`,
            height: 240,
            x: { words: "microbatch", format: whole, least: 0, most: microbatches.length },
            y: { words: "tokens", format: whole, least: 0 },
            parts
        }),
        folded("Microbatches as a table",
            table(`Microbatches ${order}`, columns, microbatches.map((m, k) => [k, ...m])))
    ];
}

// ---- runs

function executedSection(plan, run, lanes) {
    const { report } = run;
    const predicted = report.execution?.prediction ?? plan?.report;
    const nodes = [];
    if (predicted) {
        const row = (name, get, format) => {
            const [p, e] = [get(predicted), get(report)];
            return known(p) && known(e) ?
                [
                    name, format(p), format(e),
                    p ? `${e >= p ? "+" : "\u2212"}${percent(Math.abs(e / p - 1), 2)}` : ""
                ] :
                        null;
        };
        const points = (p, e) => [
            "bubble fraction", percent(p, 2), percent(e, 2),
            `${e >= p ? "+" : "\u2212"}${(100 * Math.abs(e - p)).toFixed(2)} points`
        ];
        nodes.push(table("Predicted and executed",
            ["", ["predicted", "number"], ["executed", "number"], ["difference", "number"]], [
                row("step", (r) => r.step_ns, duration),
                row("makespan", (r) => r.makespan_ns, duration),
                points(predicted.bubble_fraction, report.bubble_fraction),
                row("peak memory", (r) => r.peak_memory_bytes, bytes)
            ].filter(Boolean)));
    }
    const c = report.execution?.comparison;
    const sign = (share) =>
        known(share) ? `${share >= 0 ? "+" : "\u2212"}${percent(Math.abs(share), 2)}` : "not known";
    if (c) {
        nodes.push(el("dl", { class: "answer" }, [
            ["error of the step", sign(c.step_error)],
            ["from durations of ops", sign(c.duration_error)],
            ["from elsewhere", sign(c.structure_error)],
            [
                "replay",
                `${sign(c.replay_error)}: executed against the simulator with measured durations`
            ],
            [
                "ops",
                Object.entries(c.op_error ?? {})
                        .filter(([, v]) => known(v))
                        .map(([k, v]) => `${k} ${sign(v)}`)
                        .join(", ") +
                    " against expected (median)"
            ]
        ].map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])));
        if (report.execution.iterations?.length)
            nodes.push(el("p", { class: "quiet" },
                `Measured over ${
                    count(report.execution.iterations.length, "step")} with transport ${
                    report.execution.transport}, compute ${report.execution.compute}; medians.`));
    }
    if (lanes)
        nodes.push(el("h3", {}, "How much later than predicted each op ended"), delays(lanes));
    return nodes;
}

/* The delay of each op that both timelines have. */
function delays([predicted, executed]) {
    const place = el("div");
    Promise.all([predicted.decoded, executed.decoded])
        .then(([p, e]) => {
            const key = (t, i) => (t.op.stage[i] * 2 ** 25 + t.op.microbatch[i]) * 4 + t.op.kind[i];
            const ends = new Map();
            for (let i = 0; i < p.op.kind.length; i++)
                ends.set(key(p, i), p.op.end[i]);
            const points = [[], [], [], []];
            const every = Math.max(1, Math.floor(e.op.kind.length / 4000));
            for (let i = 0; i < e.op.kind.length; i += every) {
                const end = ends.get(key(e, i));
                if (end !== undefined)
                    points[e.op.kind[i]].push([e.op.end[i], e.op.end[i] - end]);
            }
            const sameSize = p.op.kind.length === e.op.kind.length;
            if (!sameSize || !points.some((list) => list.length)) {
                const words = "The two timelines have different ops: they are not of one plan.";
                return place.append(el("p", { class: "quiet" }, words));
            }
            place.append(
                every > 1 ? el("p", { class: "quiet" }, `Every ${every}th op.`) : "", chart({
                    about: "Delay of each op against the time at which it ended",
                    x: { words: "executed end of the op", ...timeAxis(e.end) },
                    y: {
                        words: "later than predicted",
                        ...timeAxis(
                            points.flat().reduce((most, q) => Math.max(most, Math.abs(q[1])), 0))
                    },
                    parts: [
                        { y: 0, dash: "2 3" },
                        ...[0, 3, 1, 2].filter((k) => points[k].length).map((k) => ({
                            points: points[k],
                            mark: [0, 3, 2, 1][k],
                            hue: `rgb(${KIND_COLOURS[k]})`,
                            words: KIND_KEYS[k]
                        }))
                    ]
                }));
            const all = points.flat().map((q) => q[1]).sort((a, b) => a - b);
            place.append(el("p", {},
                `Median ${duration(all[all.length >> 1])} later, at most ${
                    duration(all.at(-1))}, at least ${duration(all[0])}.`));
        })
        .catch(() => {}); // The timeline itself says why it cannot be shown.
    return place;
}

// ---- jitter and sensitivity

function jitterSection({ report }) {
    const j = report?.jitter;
    if (!j)
        return [];
    const points = [[j.min_ns, 100 / (j.scenarios || 1000)]];
    (j.twentieths_ns ?? []).forEach((ns, k) => points.push([ns, 5 * (k + 1)]));
    points.push([j.p99_ns, 99], [j.max_ns, 100]);
    points.sort((a, b) => a[1] - b[1]);
    const rows = [
        ["least", j.min_ns], ["p50, the median", j.p50_ns], ["mean", j.mean_ns], ["p95", j.p95_ns],
        ["p99", j.p99_ns], ["most", j.max_ns]
    ].filter(([, ns]) => known(ns));
    const low = j.twentieths_ns?.[0] ?? j.min_ns;
    return [
        el("p", {},
            `Over ${j.scenarios} scenarios the median of the step is ${duration(j.p50_ns)}, ${
                slower(j.p50_ns / report.step_ns -
                    1)} than without jitter; 95 % take at most ${duration(j.p95_ns)}.`),
        chart({
            about: "Distribution of the step under jitter; the table below has the same numbers",
            x: { words: "step", ...timeAxis(j.max_ns) },
            y: { words: "scenarios", format: (v) => v + " %", least: 0, most: 100 },
            parts: [
                {
                    from: low,
                    to: j.p95_ns,
                    hue: "#2f62bd",
                    words: j.twentieths_ns ? "p5 to p95" : "least to p95"
                },
                { line: points, hue: "#2f62bd" }, {
                    points: points.map(([x, y]) => [x, y, `${y} %: ${duration(x)}`]),
                    hue: "#2f62bd",
                    words: "at most so long"
                },
                { x: report.step_ns, words: `without jitter ${duration(report.step_ns)}` },
                { x: j.p50_ns, dash: "6 3", hue: "#c9421a", words: `p50 ${duration(j.p50_ns)}` },
                known(j.mean_ns) && {
                    x: j.mean_ns,
                    dash: "2 3",
                    hue: "#7a4f9a",
                    words: `mean ${duration(j.mean_ns)}`
                }
            ].filter(Boolean)
        }),
        table("Step under jitter", ["", ["step", "number"], ["against no jitter", "number"]],
            rows.map(([name, ns]) => [name, duration(ns), slower(ns / report.step_ns - 1)]))
    ];
}

function sensitivitySection({ report }) {
    const rows = report?.sensitivity?.rows ?? [];
    const path = rows.some((r) => known(r.path_ns));
    return rows.length > 0 &&
        table("By how many ns the step grows when every op of a stage, or transfer of a link, " +
                "takes 1 ns longer",
            ["what", ["growth", "number"], ...(path ? [["on the critical path", "number"]] : [])],
            rows.map(
                (r) => [known(r.stage) ? `stage ${r.stage}` : `link ${r.link[0]} to ${r.link[1]}`,
                    known(r.growth) ? Number(r.growth.toFixed(3)) : "",
                    known(r.path_ns) ? `${duration(r.path_ns)} in ${r.path_count}` : ""]),
            { first: 12 });
}

// ---- sweeps

const METRICS = [
    ["tokens_per_s_per_gpu", "tokens/s per GPU", (v) => v.toFixed(1), true],
    ["step_ns", "step", duration, false],
    ["model_flops_utilization", "MFU", (v) => percent(v), true],
    ["bubble_fraction", "bubble fraction", (v) => percent(v), false],
    ["peak_memory_bytes", "peak memory", bytes, false],
    ["tokens_per_s", "tokens/s", (v) => v.toFixed(0), true]
];
const STATES = {
    infeasible: "does not fit or run",
    illegal: "not allowed",
    undecided: "budget ended"
};

function sweepSection({ points }) {
    const header = points.find((p) => p.grid) ?? {};
    const own = points.filter((p) => p.point);
    const options = Object.keys(header.grid ?? own[0]?.point ?? {})
                        .filter((name) => new Set(own.map((p) => p.point[name])).size > 1);
    const metrics = METRICS.filter(([key]) => own.some((p) => known(p[key])));
    const best = (list, [key, , , larger]) =>
        list.filter((p) => known(p[key]))
            .sort((a, b) => larger ? b[key] - a[key] : a[key] - b[key]);
    if (!metrics.length)
        return [
            el("p", {}, "No point of this sweep has a result."),
            table("Points", ["point", ["reason", "words"]], own.map((p) => [p.key, p.reason]))
        ];
    const first = metrics[0];
    const sorted = [...best(own, first), ...own.filter((p) => !known(p[first[0]]))];
    const place = el("div");
    const settings = el("div", { class: "controls" });
    const valuesOf = (name) => header.grid?.[name] ?? [...new Set(own.map((p) => p.point[name]))];
    const axes = { across: options.at(-1), down: options.at(-2), metric: metrics[0][1] };
    const only = Object.fromEntries(
        options.map((name) => [name, name === "model" ? valuesOf(name)[0] : "any"]));
    const choose = (label, list, chosen, by) => el("label", {}, label,
        el("select", {
            onchange: (event) => {
                by(list[event.target.selectedIndex]);
                heat();
            }
        },
            list.map((name) => el("option", { selected: String(name) === String(chosen) }, name))));
    /* The best point of every cell; options that are no axis are held at a value, or free. */
    function heat() {
        const [x, y, m] =
            [axes.across, axes.down, metrics.find((metric) => metric[1] === axes.metric)];
        const others = options.filter((name) => name !== x && name !== y);
        settings.replaceChildren(choose("across", options, x, (name) => axes.across = name),
            choose("down", options, y, (name) => axes.down = name),
            ...others.map((name) => choose(name, ["any", ...valuesOf(name)], only[name],
                              (value) => only[name] = value)),
            choose(
                "value", metrics.map((metric) => metric[1]), m[1], (name) => axes.metric = name));
        const kept = own.filter((p) => others.every((name) => only[name] === "any" ||
                                        String(p.point[name]) === String(only[name])));
        const cells = valuesOf(y).map(
            (v) => valuesOf(x).map((u) => kept.filter((p) => String(p.point[x]) === String(u) &&
                                           String(p.point[y]) === String(v))));
        const tops = cells.map((row) => row.map((list) => best(list, m)[0]));
        const values = tops.flat().filter(Boolean).map((p) => p[m[0]]);
        const [low, high] = [Math.min(...values), Math.max(...values)];
        const cell = (p, list) => {
            if (!p)
                return el("td", { class: "none", title: list[0]?.reason ?? "" },
                    list.length > 0 ? STATES[list[0].status] ?? list[0].status : "no such point");
            const share = high > low ? (p[m[0]] - low) / (high - low) : 1;
            const good = m[3] ? share : 1 - share;
            return el("td", {
                class: p[m[0]] === (m[3] ? high : low) ? "best" : null,
                title: `${p.key}: ${p.schedule ?? ""}`,
                style: `background:rgb(${mix([234, 241, 249], [31, 78, 140], good)});color:${
                    good > 0.5 ? "#fff" : "#000"}`
            },
                m[2](p[m[0]]));
        };
        place.replaceChildren(el("div",
            { class: "scroll", tabindex: 0, role: "region", "aria-label": "Heat map" },
            el("table", { class: "heat" },
                el("caption", {},
                    `${m[1]}: the best point of every cell, the best of all in a frame`),
                el("thead", {},
                    el("tr", {}, el("td"),
                        valuesOf(x).map((u) => el("th", { scope: "col" }, `${x} ${u}`)))),
                el("tbody", {},
                    valuesOf(y).map((v, r) => el("tr", {}, el("th", { scope: "row" }, `${y} ${v}`),
                                        tops[r].map((p, c) => cell(p, cells[r][c]))))))));
    }
    if (options.length > 1)
        heat();
    const models = [...new Set(own.map((p) => p.point.model))];
    const tops = models.map((model) => best(own.filter((p) => p.point.model === model), first)[0])
                     .filter(Boolean);
    const reasons = own.some((p) => p.reason);
    return [
        tops.map((p) => el("p", {},
                     `Best by ${first[1]}${known(p.point.model) ? ` for ${p.point.model}` : ""}: ` +
                         [
                             ...options.filter((name) => name !== "model")
                                 .map((name) => `${name} ${p.point[name]}`),
                             p.schedule && `schedule ${p.schedule}`
                         ].filter(Boolean)
                             .join(", ") +
                         `, with ${first[2](p[first[0]])}.`)),
        options.length > 1 && [settings, place],
        table("Points, the best first",
            [
                ...options, "schedule", ...metrics.map((m) => [m[1], "number"]),
                ...(reasons ? [["why not", "words"]] : [])
            ],
            sorted.map((p) => [...options.map((name) => p.point[name]), p.schedule ?? "",
                           ...metrics.map(([key, , format]) => known(p[key]) ? format(p[key]) : ""),
                           p.reason ?? ""]),
            { first: 25 })
    ];
}

// ---- profiles

function profileSection({ profile }) {
    const entries = [...(profile.kernels ?? []), ...(profile.links ?? [])];
    const nodes = [
        profile.device && el("p", {}, `Measured on ${profile.device}.`),
        table("Fitted classes",
            [
                "class", "form", ["samples", "number"], ["mean error", "number"],
                ["largest error", "number"], ["error of sizes left out", "number"],
                ["why not", "words"]
            ],
            entries.map(
                (e) => [e.class, e.form ?? "none", e.samples,
                    ...[e.mape, e.max_ape, e.cv_mape].map((v) => known(v) ? percent(v, 2) : ""),
                    e.reason ?? ""]))
    ];
    const charts = el("div", { class: "beside" });
    nodes.push(charts);
    for (const curve of profile.curves) {
        const line = curve.points.filter((p) => known(p[2]))
                         .map((p) => [p[0], p[2]])
                         .sort((a, b) => a[0] - b[0]);
        const seconds = (v) => duration(v * 1e9);
        charts.append(el("div", {}, el("h3", {}, curve.name), chart({
            about: `Measured and fitted times of ${curve.name}`,
            height: 240,
            x: {
                words: curve.axis,
                format: (v) => v >= 1e9 ? v / 1e9 + "G" :
                    v >= 1e6            ? v / 1e6 + "M" :
                    v >= 1e3            ? v / 1e3 + "k" :
                                          String(v),
                log: curve.points.every((p) => p[0] > 0)
            },
            y: { words: "time", format: seconds, log: true },
            parts: [
                {
                    points: curve.points.map(
                        (p) => [p[0], p[1], `${p[0]} ${curve.axis}: ${seconds(p[1])}`]),
                    hue: "#2f62bd",
                    words: "measured"
                },
                line.length > 0 && { line, hue: "#c9421a", words: "fitted" }
            ].filter(Boolean)
        })));
    }
    return nodes;
}

// ---- pareto

function paretoSection({ pareto }) {
    const points = pareto.points ?? [];
    const even = new Set(points.map((p) => p.gpus)).size === 1;
    const cost = (ns, p) => even ? ns : ns * p.gpus;
    const stairs = (key) => points.slice().reverse().flatMap(
        (p) => [[p.peak_memory_bytes, cost(p[key], p)], [p.limit_bytes, cost(p[key], p)]]);
    const words = (p) => `${p.schedule}, vpp ${p.vpp}, tp ${p.tp}, recompute ${p.recompute}: ` +
        `${duration(p.step_ns)} in ${bytes(p.peak_memory_bytes)}`;
    const marks = points.map((p) => [p.peak_memory_bytes, cost(p.step_ns, p), words(p)]);
    const most = Math.max(...points.map((p) => cost(p.step_ns, p)));
    const number = (name) => [name, "number"];
    const columns = [
        "schedule", ...["vpp", "tp", "GPUs"].map(number), "recompute",
        ...["peak memory", "up to a limit of", "step", "bound", "tokens/s"].map(number)
    ];
    const rows =
        points.map((p) => [p.schedule, p.vpp, p.tp, p.gpus, p.recompute, bytes(p.peak_memory_bytes),
                       bytes(p.limit_bytes), duration(p.step_ns), duration(p.least_step_ns),
                       Math.round(p.tokens_per_s).toLocaleString("en")]);
    const about = `${pareto.model}, pp ${pareto.pp}, ${pareto.hardware}`;
    return [
        el("p", {}, `${about}: the fastest step found for every memory limit.`), chart({
            about: "Memory against step with the bound; the table below has the same numbers",
            x: { words: "memory limit per GPU", ...byteAxis(points[0]?.limit_bytes) },
            y: { words: even ? "step" : "step x GPUs", ...timeAxis(most) },
            parts: [
                { line: stairs("step_ns"), hue: "#2f62bd", wide: 2, words: "fastest step" },
                { line: stairs("least_step_ns"), dash: "4 3", words: "bound" },
                { points: marks, hue: "#2f62bd", words: "setup" }
            ]
        }),
        table("The fastest step at every memory limit", columns, rows)
    ];
}

function assumptionsSection({ plan, report }) {
    const list = Object.entries(plan?.assumptions ?? report?.assumptions ?? {});
    return list.length ?
        [
            el("p", {}, "Defaults on which the answer depends, because they were not given."),
            el("dl", { class: "answer" },
                list.map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]))
        ] :
        [];
}

// ---- the simulator

/* The median durations of a timeline as --costs has them: those of one stage, with its ops. */
function medianCosts(t) {
    const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
    const lists = [[], [], [], []];
    for (let i = 0; i < t.op.kind.length; i++)
        lists[t.op.kind[i]].push(t.op.end[i] - t.op.start[i]);
    const sent = Array.from(t.sent.start, (start, i) => t.sent.end[i] - start);
    const [f, i, w, b] = lists.map(median);
    const costs =
        [["F", f], ...(i && w ? [["I", i], ["W", w]] : [["B", b]]), ["comm", median(sent)]];
    return costs.filter(([, ns]) => ns > 0).map(([name, ns]) => `${name}=${ns}ns`).join(",");
}

/* What the fragment of the address says of the simulator: "#simulator?pp=8&schedule=zbv". */
function fragmentOptions() {
    const [name, options] = location.hash.slice(1).split("?");
    return name === "simulator" && options ? new URLSearchParams(options) : null;
}

/* A named schedule with the stages of a plan whose order is custom. */
function namedLike(plan) {
    const vpp = plan?.parallel?.vpp ?? 1;
    if (vpp === 1)
        return "1f1b";
    return vpp === 2 && plan.placement === "v" ? "zbv" : "interleaved";
}

/* Runs ppsim simulate in the page, with named schedules, and draws what it answers, also while the
 * options are typed once it has run. The options are in the address, so that it is a link to them. */
function simulatorSection(subject) {
    const { report, plan } = subject ?? {};
    const named = report?.schedule && report.schedule !== "planned";
    const fields = {
        schedule: named ? report.schedule : namedLike(plan),
        pp: report?.ranks ?? 4,
        vpp: plan?.parallel?.vpp > 1 ? plan.parallel.vpp : "",
        microbatches: report?.microbatches ?? 8,
        costs: "F=1ms,B=2ms",
        "memory-costs": "",
        "memory-limit": "",
        "rank-speed": "",
        executor: "",
        jitter: "",
        seed: "",
    };
    const examples = {
        costs: "F=20ms,I=21ms,W=18ms,comm=1ms",
        "memory-costs": "F=2GB,I=-1GB,W=-1GB",
        "memory-limit": "40GiB",
        "rank-speed": "2=0.8",
        executor: "torch-2.15",
        jitter: "compute=0.02",
    };
    const linked = fragmentOptions();
    const inputs = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name,
        el("input", {
            type: "text",
            size: name === "costs" ? 44 : name in examples ? 22 : 10,
            value: linked ? linked.get(name) ?? "" : value,
            placeholder: examples[name] ?? "",
            "aria-label": name
        })]));
    if (!linked)
        subject?.decoded.then((t) => inputs.costs.value = medianCosts(t), () => {});
    const place = el("div");
    let loading = null;
    let view = null;
    let typed = 0;
    function given() {
        return Object.entries(inputs)
            .map(([name, input]) => [name, input.value.trim()])
            .filter(([, value]) => value);
    }
    async function simulate() {
        clearTimeout(typed);
        if (!view)
            place.replaceChildren(el("p", { class: "quiet", role: "status" }, "Simulating."));
        await new Promise((resolve) => setTimeout(resolve, 20)); // So that the words are seen.
        try {
            const simulator = await (loading ??= ppsim.load());
            const options = { trace: "packed=timeline.gz", ...Object.fromEntries(given()) };
            const result = simulator.run("simulate", options);
            history.replaceState(null, "", "#simulator?" + new URLSearchParams(given()));
            if (result.exit && !result.text)
                throw new Error(result.field ? `${result.field}: ${result.reason}` : result.reason);
            const t = decodeTimeline(await unzip(result.files["timeline.gz"]));
            if (view)
                views.splice(views.indexOf(view), 1);
            view = new View([{ words: "tried", t }]);
            place.replaceChildren(copyable(result.text.trim(), "the answer"), view.node);
        } catch (error) {
            if (error instanceof WebAssembly.RuntimeError)
                loading = null; // It may be in any state.
            view = null;
            place.replaceChildren(el("p", { class: "bad", role: "status" }, error.message));
        }
    }
    const labels = Object.entries(inputs).map(([name, input]) => el("label", {}, name, input));
    const keydown = (event) => {
        if (event.key === "Enter")
            simulate();
    };
    const input = () => {
        clearTimeout(typed);
        if (loading)
            typed = setTimeout(simulate, 400);
    };
    if (linked || !subject)
        setTimeout(simulate);
    return [
        el("p", {},
            "This runs ppsim simulate here, without a server. Costs are those of one stage: " +
                "with twice as many stages per rank (vpp), halve them. The address of this page " +
                "keeps what you typed, so that it is a link to this case." +
                (report && plan ?
                        " What is filled in is simpler than the plan above: all stages and " +
                            "microbatches cost as the median one, and communication as executor " +
                            "ideal has it. So the step is another one, too short as a rule; " +
                            "compare it with other answers of this form only." :
                        "")),
        el("div", { class: "controls", onkeydown: keydown, oninput: input }, labels,
            el("button", { type: "button", onclick: simulate }, "Simulate")),
        place
    ];
}

// ---------------------------------------------------------------- the page

/* Adds a timeline, which appears when it is unpacked. Several lanes are drawn over each other. */
function timelineNode(lanes, holder) {
    const place = el("div", {}, el("p", { class: "quiet" }, "Unpacking the timeline."));
    holder.promise =
        Promise.all(lanes.map((lane) => lane.subject.decoded))
            .then((decoded) => {
                const all = decoded.map((t, k) => ({
                    words: t.measured || k === 0 ? lanes[k].words : lanes[k].subject.label,
                    t
                }));
                if (all.every((lane) => lane.t.ranks === all[0].t.ranks)) {
                    const view = new View(all);
                    place.replaceChildren(view.node);
                    return view;
                }
                const each = all.map((lane) => new View([lane])); // They cannot share rows.
                place.replaceChildren(
                    ...each.flatMap((view, k) => [el("h3", {}, all[k].words), view.node]));
                return each[0];
            })
            .catch((error) => {
                const words = `The timeline cannot be shown: ${error.message}.`;
                place.replaceChildren(el("p", { class: "bad" }, words));
                return null;
            });
    return place;
}

function build(data) {
    const subjects = data.subjects.map((subject, k, all) => ({
        ...subject,
        view: {},
        label: all.some((other, n) =>
                            n !== k && other.name === subject.name && other.kind === subject.kind) ?
            `${subject.name} (${k + 1})` :
            subject.name
    }));
    const of = (kind) => subjects.filter((subject) => subject.kind === kind);
    for (const subject of subjects) {
        if (subject.timeline)
            subject.decoded = unzip(fromBase64(subject.timeline)).then(decodeTimeline);
        const csv = subject.candidates ?? subject.csv?.[0];
        if (csv) {
            subject.rows = readCandidates(csv, subject.kind === "plan");
            subject.chosenRow = subject.rows.chosen;
        }
    }
    const plans = of("plan");
    const reports = of("report");
    const timelines = of("timeline");
    const reported = subjects.filter((subject) => subject.report);
    const run = reports.find((subject) => subject.report.execution);
    const executed = timelines[0];
    // A plan and the timeline of its run are drawn over each other.
    const ofPlan = (report) => plans.length === 1 && ["schedule", "ranks", "stages", "microbatches"].every(
        (key) => report[key] === plans[0].report?.[key]);
    const runOfPlan = run && ofPlan(run.report);
    const title = data.title ||
        (run && `${run.report.schedule} on ${count(run.report.ranks, "rank")}, executed`) ||
        subjects.map((subject) => subject.label)
            .filter((name, k, all) => all.indexOf(name) === k)
            .join(", ") ||
        "Try a schedule";
    document.title = `${shown(title)} - ppsim`;
    document.getElementById("top").append(el("h1", {}, title), themeButton());
    const over = plans.length === 1 && timelines.length === 1 && (!run || runOfPlan) ? [plans[0], executed] : null;

    section("verdict", "Verdict",
        perSubject(runOfPlan ? plans : reported,
            (s) => verdict({
                ...s,
                answer: s.answer ?? (runOfPlan ? run.answer : null),
                executed: runOfPlan ? run.report : null
            })));
    section("configuration", "Configuration",
        perSubject(plans.filter((s) => s.plan), (s) => configurationSection(s, plans)));
    if (run || over)
        section("executed", "Prediction against run", run && executedSection(runOfPlan ? plans[0] : null, run, over),
            !run && over && delays(over));
    else if (reported.length > 1)
        section("comparison", "Comparison", comparison(reported));
    else if (!reported.length && timelines.length > 1)
        section("comparison", "Comparison", timelineComparison(timelines));
    section(
        "memory", "Memory", perSubject(reported.filter((s) => s.report.per_rank), memorySection));
    section("timeline", "Timeline",
        over ?
            timelineNode(
                [{ subject: over[0], words: "predicted" }, { subject: over[1], words: "executed" }],
                over[0].view) :
            perSubject([...plans, ...timelines].filter((s) => s.timeline),
                (s) => timelineNode([{ subject: s, words: s.label }], s.view)));
    section("time", "Where the time goes",
        perSubject(reported.filter((s) => s.report.per_rank), timeSection));
    section(
        "alternatives", "Alternatives", perSubject(subjects.filter((s) => s.rows), alternatives));
    section("trade", "Memory against step",
        perSubject(
            subjects.filter((s) => s.rows), (s) => tradeSection({...s, report: s.report ?? {} })));
    section("microbatches", "Microbatches",
        perSubject(plans.filter((s) => s.microbatches), microbatchSection));
    section("jitter", "Jitter", perSubject(reported.filter((s) => s.report.jitter), jitterSection));
    section("sensitivity", "Sensitivity",
        perSubject(reported.filter((s) => s.report.sensitivity), sensitivitySection));
    section("sweep", "Sweep", perSubject(of("sweep"), sweepSection));
    section("pareto", "Memory against step", perSubject(of("pareto"), paretoSection));
    section("profile", "Profile", perSubject(of("profile"), profileSection));
    section("assumptions", "Assumptions", perSubject(plans, assumptionsSection));

    // The simulator, if the page carries one (tools/page/simulator.js, at the mark SIMULATOR).
    if (typeof ppsim !== "undefined")
        section(
            "simulator", subjects.length ? "Try another schedule" : "Schedule", simulatorSection(plans.find((s) => s.timeline)));
    document.getElementById("end").append(
        el("p", {}, `Made by ppsim ${shown(data.version_of_ppsim)} with `,
            el("code", {}, data.command), ". This page needs no network."));
    return subjects.map((subject) => subject.view.promise);
}

/* Switches between the theme of the system, light and dark. */
function themeButton() {
    const names = ["system", "light", "dark"];
    let now = 0;
    const button = el("button", {
        type: "button",
        "aria-label": "Colours: as the system",
        onclick: () => {
            now = (now + 1) % names.length;
            document.documentElement.dataset.theme = names[now];
            button.textContent = "colours: " + names[now];
            button.setAttribute("aria-label", `Colours: ${now ? names[now] : "as the system"}`);
            repaint();
        }
    },
        "colours: system");
    return button;
}

function repaint() {
    for (const view of views)
        if (view.image) {
            view.recolour();
            view.paint();
        }
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
matchMedia("print").addEventListener("change", repaint);

let drawn = Promise.reject(new Error("the page was not built"));
drawn.catch(() => {}); // The reason was thrown already.
try {
    const waiting = build(JSON.parse(document.getElementById("ppsim-data").textContent));
    drawn = Promise.all(waiting)
                .then(() => new Promise(requestAnimationFrame))
                .then(() => performance.now());
} catch (error) {
    page.append(el("p", { class: "bad" }, `This page cannot be shown: ${error.message}.`));
    throw error;
}

// For tests (tests/page/browser.py).
window.ppsimPage = {
    views,
    /* The milliseconds from the start of loading until everything was drawn. */
    ready: () => drawn,
    measureZoom: (frames) => views[0].measureZoom(frames),
};
})();
