// tools/web/engine.js - the engine: a WebAssembly module that takes one request of text and answers with an object
// (tools/web/page.c lists them). It asks its host for the time and nothing else.
export async function openEngine(bytes) {
    let memory;
    const zero = (...at) => at.forEach((place) => new DataView(memory.buffer).setUint32(place, 0, true));
    const host = {
        clock_time_get: (_clock, _precision, at) => {
            const now = BigInt(Math.round(performance.now() * 1e6));
            new DataView(memory.buffer).setBigUint64(at, now, true);
            return 0;
        },
        environ_sizes_get: (count, size) => (zero(count, size), 0),
        fd_write: () => 8, // EBADF: there are no files
        fd_fdstat_get: () => 8,
    };
    const imports = { get: (_, name) => host[name] ?? (() => 0) };
    const module = await WebAssembly.compile(bytes);
    let engine;
    const start = () => {
        engine = new WebAssembly.Instance(module, { wasi_snapshot_preview1: new Proxy({}, imports) }).exports;
        memory = engine.memory;
        engine._initialize();
    };
    start();
    return (request) => {
        const text = new TextEncoder().encode(request);
        try {
            const at = engine.page_request(text.length); // may grow the memory, which then has another buffer
            new Uint8Array(memory.buffer).set(text, at);
            const from = engine.page_answer();
            const all = new Uint8Array(memory.buffer);
            return JSON.parse(new TextDecoder().decode(all.subarray(from, all.indexOf(0, from))));
        } catch (error) {
            start(); // after a failure deep in a nested formula, for example, its memory cannot be used again
            return { error: `The engine stopped (${error.message}) and was started anew.` };
        }
    };
}
