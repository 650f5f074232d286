#!/usr/bin/env node
// tests/web/ops.js - runs the gradient checker, up to second derivatives, on every op of the WebAssembly build. Usage:
// ops.js ENGINE WASM
'use strict';
const fs = require('fs');

(async () => {
    const [engine, wasm] = process.argv.slice(2);
    const { openEngine } = await import(`data:text/javascript,${encodeURIComponent(fs.readFileSync(engine, 'utf8'))}`);
    const ask = await openEngine(fs.readFileSync(wasm));
    const n = ask('suite -1 2').ops;
    let failed = 0, samples = 0;
    for (let i = 0; i < n; i++) {
        const told = ask(`suite ${i} 2`);
        samples += told.samples ?? 0;
        if (!told.pass) failed++, console.log(`not ok ${told.op}: ${told.worst ?? told.error}`);
    }
    console.log(`${n} ops, ${samples} samples, ${failed} failed`);
    process.exit(failed || n < 85 ? 1 : 0);
})();
