#!/usr/bin/env node
// mochi-page: makes a page of a lesson from `mochi explain TOPIC --json`, for a screen of any width and for paper.
// KaTeX sets the formulas in MathML while the page is made, so that the page has no script and loads nothing.
//
//     mochi explain solve --json | mochi-page [--fold] > solve.html
//
// --fold hides each line of the adjoint below its question. KaTeX is Debian's (libjs-katex), or the one that KATEX
// names.
"use strict";
const {existsSync, readFileSync, realpathSync} = require("node:fs"), {dirname, join} = require("node:path");

function refuse(why) {
    console.error(`mochi-page: ${why}`);
    process.exit(1);
}

const KATEX = process.env.KATEX ?? "/usr/share/javascript/katex/katex.js";
if (!existsSync(KATEX))
    refuse(`${KATEX}: expected KaTeX, found nothing: apt-get install libjs-katex, or name its katex.js by KATEX`);
const katex = require(KATEX);
const fold = process.argv.includes("--fold");
// blocks.mjs and lesson.css are beside this file in the sources, and among the program's files once installed.
const here = dirname(realpathSync(__filename)), parts = existsSync(join(here, "blocks.mjs")) ? here : join(here, "../share/mochi/data");

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

const STYLE = `:root{--ink:#1a1a1a;--quiet:#595959;--line:#d0d0d0;--paper:#fff;--soft:#f5f5f3;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--ink:#e8e8e6;--quiet:#b0b0ae;--line:#4a4a4a;--paper:#161616;--soft:#222}}
body{margin:0 auto;max-width:60rem;padding:1rem;font:1rem/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;border-bottom:1px solid var(--line);margin:2rem 0 .5rem}
math{font-size:1.05em;font-family:"STIX Two Math","Cambria Math","Latin Modern Math","DejaVu Math TeX Gyre",math,"DejaVu Serif",serif}
mi:not([mathvariant]){text-transform:none;font-style:italic;font-family:"STIX Two Text",Cambria,"Latin Modern Roman","DejaVu Serif",serif}
.formula{overflow:auto hidden;padding:.25rem 0}.formula math{width:fit-content;margin:0}summary{cursor:pointer}
@media print{:root{--ink:#000;--quiet:#333;--paper:#fff;--soft:#fff}body{max-width:none;font-size:10.5pt}.scroll,.formula{overflow:visible}
.panel{border:1px solid var(--line)}}`;

const escaped = text => String(text).replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})[c]);
// Returns an element as text: {html}. Children are such elements, or texts, which are escaped.
function el(tag, attributes, ...children) {
    const inside = children.flat(2).filter(child => child != null).map(child => child.html ?? escaped(child)).join("");
    return {html: `<${tag}${Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`).join("")}>${inside}</${tag}>\n`};
}

// Sets a formula as MathML. Drops KaTeX's annotation with the source, which browsers without MathML would show as well.
// Chromium draws an accent through its letter if no font has a MATH table, so the bar is drawn by the style sheet. A letter
// is an italic of an ordinary font: browsers take U+1D6CC for an italic λ, which is a box where no font is for mathematics.
// Words such as "log" stay upright.
function tex(latex, displayMode = false) {
    let set;
    try {
        set = katex.renderToString(latex, {output: "mathml", displayMode, throwOnError: true, strict: "error"});
    } catch (error) {
        refuse(`${latex}: ${error.message}`);
    }
    const html = set.replace(/<span class="katex">|<\/span>|<semantics>|<\/semantics>|<annotation[^]*?<\/annotation>/g, "")
    .replace(/<mi>(?=[^<]{2})/g, '<mi mathvariant="normal">')
    .replace(/<mover accent="true">([^]*?)<mo stretchy="true">ˉ<\/mo><\/mover>|<mover accent="true">([^]*?)<mo>ˉ<\/mo><\/mover>/g,
        (_, a, b) => `<mover>${a ?? b}<mo stretchy="false">¯</mo></mover>`);
    return displayMode ? {html: `<div class="formula">${html}</div>\n`} : {html};
}

function line(block, answer) {
    if (!fold)
        return el("div", {class: "panel"}, el("p", {class: "quiet"}, `Line ${block.number}`), answer);
    return el("details", {class: "panel"}, el("summary", {}, `${block.number}. `, tex(`${block.latex.split(" =")[0]} = \\;?`)), answer);
}

(async () => {
    const {blocksOf} = await import(join(parts, "blocks.mjs"));
    const show = blocksOf({el, tex, top: 1, line});
    process.stdout.write(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>mochi explain ${escaped(lesson.topic)}</title>
<style>
${STYLE}
${readFileSync(join(parts, "lesson.css"), "utf8")}</style>
</head>
<body>
${lesson.blocks.flatMap(block => show[block.kind](block)).map(element => element.html).join("")}</body>
</html>
`);
})();
