#!/usr/bin/env node
// tests/web/digits.js - the WebAssembly build answers requests as the native build does, with digits equal to 1e-12.
// Errors of central differences and error estimates are only rounding, and not compared. Usage: digits.js ENGINE WASM
// NATIVE
'use strict';
const fs = require('fs'), { execFileSync } = require('child_process');

const [engine, wasm, native] = process.argv.slice(2);
const noise = new Set(['difference', 'differences', 'error', 'worst', 'why', 'unrolled_bytes', 'implicit_bytes']);

/** The largest difference of the numbers in two answers, relative for numbers above 1; infinite if their words differ. */
function apart(a, b) {
    if (typeof a === 'number' && typeof b === 'number') return Math.abs(a - b) / Math.max(1, Math.abs(b));
    if (a === null || b === null || typeof a !== 'object') return a === b ? 0 : Infinity;
    if (a.kind === 'end' || a.name === 'by differences') return 0;
    const keys = Object.keys(a).filter((key) => !noise.has(key));
    return keys.length === Object.keys(b).filter((key) => !noise.has(key)).length ? Math.max(0, ...keys.map((key) => apart(a[key], b[key]))) : Infinity;
}

function requests(topics) {
    const points = Array.from({ length: 15 }, (_, i) => `${2 * Math.cos(i * i)} ${2 * Math.sin(i)} ${i % 3}`).join('\n');
    const inputs = '    input A definite 3 3: 4 1 0 1 3 1 0 1 2\n    input B free 3 2: 1 2 -1 0.5 0 1\n    input lambda free: 0.3\n';
    const programs = ['forward X = solve(A, B)\n    loss sum(X^2)', 'forward K = A + lambda I\n    forward X = solve_spd(K, B)\n    loss <X, B>',
        'forward X = A B\n    forward P = softmax(X)\n    loss sum(P^2)', 'forward G = gradient(logdet(A), A)\n    loss sum(G^2)',
        'forward X = solve(A, B)\n    forward G = gradient(sum(X^2), B)\n    loss sum(G^3)', 'forward Q, R = qr(B)\n    loss sum(Q^3) + sum(R)',
        'forward X = A^-1 B\n    forward H = tangent(gradient(sum(X^3), A), A, A)\n    loss sum(H)', 'forward u = A (A B)\n    loss log(sum(exp(u)))',
        'forward w, V = eigh(A)\n    loss sum(w^3) + sum(V^3)'];
    const answers = ['A^T Y_bar', 'Y_bar o B', '2 y_bar A', 'B Y_bar^T', 'A^-T X_bar', '-A^-T X_bar X^T', '-Y^T Y_bar Y^T', '2 y_bar (M M^T)^-1 M', 'Y o (Y_bar - row_sum(Y o Y_bar))', '-<(Z^T Z + lambda I)^-1 W_bar, W>', '.'];
    return [...topics.map((name) => `explain ${name} -1 -1 0`), ...topics.map((name) => `explain ${name} -1 5 0`), ...topics.map((name) => `explain ${name} 4 -1 0`),
        ...programs.map((text) => `write\n${inputs}    ${text}`), ...['prototype_euclidean', 'ridge', 'logistic', 'svm'].map((head) => `episode ${head} 0.5 9 6 3 4 0\n${points}\n0 0 1 1 -1 2 0 3`),
        'solve\n4 1 1 3 1 2 1 -1', 'solve\n1 1 1 1.01 1 2 1 -1', 'unroll 6 0.8 40', 'unroll 12 0.99 100', ...answers.map((text, i) => `judge ${i % 10}\n${text}`)];
}

(async () => {
    const { openEngine } = await import(`data:text/javascript,${encodeURIComponent(fs.readFileSync(engine, 'utf8'))}`);
    const ask = await openEngine(fs.readFileSync(wasm));
    let failed = 0;
    const large = (await openEngine(fs.readFileSync(wasm)))(`topics\n${' '.repeat(1 << 24)}`); // for which the memory grows
    if (large.error) failed++, console.log('not ok: a large request:', large.error);
    const all = requests(ask('topics').topics.map((topic) => topic.name));
    const told = execFileSync(native, { input: all.map((text) => text.replace(/\n/g, '\t') + '\n').join(''), maxBuffer: 1 << 28 }).toString().trim().split('\n').map((line) => JSON.parse(line));
    let largest = 0;
    all.forEach((text, i) => {
        const answer = ask(text), off = answer.error && !told[i].error ? Infinity : apart(answer, told[i]);
        if (Number.isFinite(off)) largest = Math.max(largest, off);
        if (!(off <= 1e-12)) failed++, console.log(`not ok ${text.split('\n').slice(0, 1)} ${text.startsWith('write') ? text.split('\n').at(-1) : ''}: ${off} apart; ${JSON.stringify(answer).slice(0, 120)} and ${JSON.stringify(told[i]).slice(0, 120)}`);
    });
    console.log(`${all.length} requests, largest difference ${largest.toExponential(1)}, ${failed} failed`);
    process.exit(failed ? 1 : 0);
})();
