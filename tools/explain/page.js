#!/usr/bin/env node
// mochi-page: makes a page of a lesson from `mochi explain TOPIC --json`, for a screen of any width and for paper.
// KaTeX sets the formulas in MathML while the page is made, so that the page has no script and loads nothing.
//
//     mochi explain solve --json | mochi-page [--fold] > solve.html
//
// --fold hides each line of the adjoint below its question. KaTeX is Debian's (libjs-katex), or the one that KATEX
// names.
"use strict";
const {existsSync, readFileSync} = require("node:fs");

function refuse(why) {
    console.error(`mochi-page: ${why}`);
    process.exit(1);
}

const KATEX = process.env.KATEX ?? "/usr/share/javascript/katex/katex.js";
if (!existsSync(KATEX))
    refuse(`${KATEX}: expected KaTeX, found nothing: apt-get install libjs-katex, or name its katex.js by KATEX`);
const katex = require(KATEX);
const fold = process.argv.includes("--fold");

// Reads the lesson that `mochi explain` printed.
function readLesson() {
    try {
        const lesson = JSON.parse(readFileSync(0, "utf8"));
        if (Array.isArray(lesson.blocks))
            return lesson;
    } catch {}
    refuse("expected what `mochi explain TOPIC --json` prints on standard input");
}
const lesson = readLesson();

const STYLE = `:root{--ink:#1a1a1a;--soft:#595959;--line:#d0d0d0;--paper:#fff;--box:#f5f5f3;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--ink:#e8e8e6;--soft:#b0b0ae;--line:#4a4a4a;--paper:#161616;--box:#222}}
body{margin:0 auto;max-width:60rem;padding:1rem;font:1rem/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;border-bottom:1px solid var(--line);margin:2rem 0 .5rem}
.source,figcaption{color:var(--soft);font-size:.875rem}.wide{overflow:auto hidden;padding:.25rem 0}
.beside{display:flex;flex-wrap:wrap;gap:1rem 2rem;align-items:flex-end}figure{margin:.5rem 0;max-width:100%}
math{font-size:1.05em;font-family:"STIX Two Math","Cambria Math","Latin Modern Math","DejaVu Math TeX Gyre",math}
mtd{padding:.1em .45em}summary{cursor:pointer}pre{overflow-x:auto;font-size:.8rem;line-height:1.35}
.adjoint{border:1px solid var(--line);border-radius:.4rem;padding:.5rem .75rem;margin:.75rem 0;background:var(--box);
break-inside:avoid}
@media print{:root{--ink:#000;--soft:#333;--paper:#fff;--box:#fff}body{max-width:none;font-size:10.5pt}.wide,pre{overflow:visible}
pre{white-space:pre-wrap}}`;

const escaped = text => text.replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})[c]);
// Sets a formula as MathML. Drops KaTeX's annotation with the source, which browsers without MathML would show as well.
// Chromium draws an accent through its letter if no font has a MATH table, so the bar is drawn by the style sheet.
function math(latex, displayMode = false) {
    let set;
    try {
        set = katex.renderToString(latex, {output: "mathml", displayMode, throwOnError: true, strict: "error"});
    } catch (error) {
        refuse(`${latex}: ${error.message}`);
    }
    return set.replace(/<span class="katex">|<\/span>|<semantics>|<\/semantics>|<annotation[^]*?<\/annotation>/g, "")
    .replace(/<mover accent="true">([^]*?)<mo stretchy="true">ˉ<\/mo><\/mover>|<mover accent="true">([^]*?)<mo>ˉ<\/mo><\/mover>/g,
        (_, a, b) => `<mover>${a ?? b}<mo stretchy="false">¯</mo></mover>`);
}
const number = (v, small) => (v === null ? "nan" : small ? (v ? v.toExponential(0) : "0") : Math.abs(v) < 5e-5 ? "0.0000"
    : Math.abs(v) < 1e3 ? v.toFixed(4) : v.toExponential(2)).replace("-", "−");
// Browsers centre the cells of a MathML table: invisible digits make all numbers equally wide, so that they align.
function table(rows, small) {
    const texts = rows.map(row => row.map(v => number(v, small))), width = Math.max(...texts.flat().map(text => text.length));
    const cell = text => `<mtd><mphantom><mn>${"0".repeat(width - text.length)}</mn></mphantom><mn>${text}</mn></mtd>`;
    return `<math><mrow><mo>[</mo><mtable>${texts.map(row => `<mtr>${row.map(cell).join("")}</mtr>`).join("")}</mtable>` +
        "<mo>]</mo></mrow></math>";
}
const figure = (caption, rows, small = false) =>
    `<figure><figcaption>${caption}</figcaption><div class="wide">${table(rows, small)}</div></figure>\n`;
const prose = parts => "<p>" + parts.map(part => typeof part === "string" ? escaped(part)
    : part.code ? `<code>${escaped(part.code)}</code>` : math(part.latex)).join("") + "</p>\n";

// Shows both sides of a line or an equation, and their differences.
function compared(block, left, right) {
    const [a, b] = block.matrices.map(m => m.rows);
    return `<div class="beside">\n${figure(left, a)}${figure(right, b)}${figure("difference", block.differences, true)}</div>\n`;
}

function line(block) {
    const sides = compared(block, "by the formula", "by central differences");
    if (!fold)
        return `<div class="adjoint"><div class="wide">${block.number}. ${math(block.latex)}</div>\n${sides}</div>\n`;
    return `<details class="adjoint"><summary>${block.number}. ${math(block.latex.split(" =")[0])} = ?</summary>\n` +
        `<div class="wide">${math(block.latex, true)}</div>\n${sides}</details>\n`;
}

const write = {
    title: b => `<h1>${escaped(b.topic)}</h1>\n<div class="wide">${math(b.latex, true)}</div>\n` +
        `<p class="source">${escaped(b.summary)} (${escaped(b.source)})</p>\n`,
    section: b => `<h2>${escaped(b.text)}</h2>\n`,
    prose: b => prose(b.parts),
    formula: b => `<div class="wide">${math(b.latex, true)}</div>\n`,
    matrices: b => `<div class="beside">\n${b.matrices.map(m => figure(math(m.latex), m.rows)).join("")}</div>\n`,
    line,
    agree: b => `<div class="adjoint"><div class="wide">${math(b.latex)}</div>\n${compared(b, "left side", "right side")}</div>\n`,
    end: b => `<h2>All lines</h2>\n${prose(b.parts)}`,
};

process.stdout.write(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>mochi explain ${escaped(lesson.topic)}</title>
<style>
${STYLE}
</style>
</head>
<body>
${lesson.blocks.map(block => write[block.kind](block)).join("")}</body>
</html>
`);
