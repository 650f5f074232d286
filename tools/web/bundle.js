#!/usr/bin/env node
// tools/web/bundle.js - makes mochi.html: bundle.js WASM KATEX RULES OUT. KATEX: the folder of Debian's libjs-katex; RULES: what
// tools/python/binding/adjoints.py makes of ops/ADJOINTS.md. The modules beside this file are joined in the order of their imports; the
// fonts that formulas use go in as data.
'use strict';
const fs = require('fs'), path = require('path'), zlib = require('zlib');

const [wasm, katex, rules, out] = process.argv.slice(2);
const here = (name) => fs.readFileSync(path.join(__dirname, name), 'utf8');

const joined = new Set();
function join(name) {
    if (joined.has(name)) return '';
    joined.add(name);
    const text = here(name), imports = [...text.matchAll(/^import .* from '(\..*)';$/gm)].map((found) => found[1]);
    return imports.map(join).join('') + text.replace(/^import .*\n|^export \{.*\n/gm, '').replace(/^export /gm, '');
}

/** KaTeX's style with the fonts of ordinary formulas inside and the others left out. */
function style() {
    const fonts = /KaTeX_(Main-Regular|Main-Bold|Math-Italic|Size[1-4]-Regular|AMS-Regular)\b/;
    return fs.readFileSync(path.join(katex, 'katex.min.css'), 'utf8').replace(/@font-face\{[^}]*\}/g, (face) => {
        const file = face.match(/fonts\/([\w-]+)\.woff2/);
        if (!file || !fonts.test(file[1])) return '';
        const data = fs.readFileSync(path.join(katex, 'fonts', `${file[1]}.woff2`)).toString('base64');
        return face.replace(/src:[^}]*/, `src:url(data:font/woff2;base64,${data}) format("woff2")`);
    });
}

const parts = {
    '/*STYLE*/': style() + here('page.css'),
    '/*KATEX*/': fs.readFileSync(path.join(katex, 'katex.min.js'), 'utf8').replace(/<\/script/g, '<\\/script'),
    '/*WASM*/': zlib.gzipSync(fs.readFileSync(wasm), { level: 9 }).toString('base64'),
    '/*RULES*/': fs.readFileSync(rules, 'utf8').replace(/</g, '\\u003c'),
    '/*SCRIPT*/': join('main.js').replace(/<\/script/g, '<\\/script'),
};
let page = here('page.html');
for (const [mark, text] of Object.entries(parts)) page = page.split(mark).join(text);
fs.writeFileSync(out, page);
