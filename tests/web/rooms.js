#!/usr/bin/env node
// tests/web/rooms.js - clicks through every room of mochi.html as a reader does. Usage: rooms.js PAGE BROWSER [FOLDER].
// Pictures are saved to FOLDER; exit 77: the browser is not installed. Times are measured in Chromium only.
'use strict';
const assert = require('assert'), path = require('path'), { execFileSync } = require('child_process');
const { openChromium, openFirefox, pause } = require('./browser.js');

const [page, kind, folder] = process.argv.slice(2);
let program;
try {
    program = execFileSync('sh', ['-c', `command -v ${kind === 'firefox' ? 'firefox-esr' : 'chromium'}`]).toString().trim();
} catch {
    console.log(`skipped: no ${kind}`);
    process.exit(77);
}

const settle = 'await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))));';
const helpers = `
    const $ = (s) => document.querySelector(s), $$ = (s) => [...document.querySelectorAll(s)];
    const set = (e, value) => { e.value = value; e.dispatchEvent(new Event('input', { bubbles: true })); };
    const press = (text) => { const b = $$('main button').find((x) => x.textContent === text); if (!b) throw new Error('no button ' + text); b.click(); };
    const room = async (name) => { $('nav [data-room=' + name + ']').click(); await wait(); };
    const wait = async () => { ${settle} };`;

/** One visit to each room; it returns what the test then asserts. */
const visits = {
    write: [`await room('write'); const boxes = $$('.node').length, broken = [], first = $('main select').value, lines = [];
        for (const name of [...$$('main option').map((o) => o.value), first]) { $('main select').value = name; $('main select').dispatchEvent(new Event('change')); await wait(); if ($('.wrong')) broken.push(name + ': ' + $('.wrong').textContent); if (name === 'line') lines.push($$('.fit circle').length, $$('.fit .back').length, $('.fit').getAttribute('aria-label')); }
        set($('textarea'), 'p = a b\\ns = p + c\\ny = s^3\\nloss = y'); await wait();
        $$('.node').at(-1).dispatchEvent(new MouseEvent('click', { bubbles: true })); await wait();
        const last = $('.panel').textContent; for (let i = 0; i < 3; i++) $('button[aria-label="One step back"]').click();
        const step = $('[role=status]').textContent; set($('textarea'), 'loss = banana'); await wait();
        const wrong = $('.wrong')?.textContent; set($('textarea'), 'loss = ' + '('.repeat(50000)); await wait(); const deep = $('.wrong')?.textContent;
        set($('input[placeholder="W 2 3"]'), 'W 2 2'); press('Add a matrix'); set($('textarea'), 'loss = sum(W^2)'); await wait(); const added = $$('.node').length;
        const cell = $('table.numbers input'), marks = []; for (const text of ['one', '', '7']) { set(cell, text); await wait(); marks.push([cell.getAttribute('aria-invalid'), cell.closest('table').querySelector('caption').textContent]); }
        $('nav').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true })); await wait(); const next = location.hash;
        return { boxes, broken, lines, last, step, wrong, deep, added, marks, next };`, (r) => {
        assert(r.boxes >= 6, `boxes: ${r.boxes}`);
        assert.deepStrictEqual(r.broken, []);
        assert.deepStrictEqual(r.lines, [7, 5, 'The line 0.87619 x + 0.10909']); // Y on x and 1, with lambda 0.5: 9.2 / 10.5, 0.6 / 5.5
        assert.match(r.wrong, /banana/);
        assert.match(r.step, /Backward/);
        assert.match(r.deep, /started anew|expected/);
        assert.strictEqual(r.added, 3);
        assert.deepStrictEqual(r.marks, [['true', '“one” is no number: 2 is still used.'], ['true', '“” is no number: 2 is still used.'], ['false', '']]);
        assert.strictEqual(r.next, '#solve');
    }],
    solve: [`await room('solve'); const before = $('table.plain').textContent; set($('input[type=range]:nth-of-type(1)'), 3); await wait();
        const sliders = $$('input[type=range]'); set(sliders[1], 9); await wait(); return { before, after: $('table.plain').textContent, bars: $$('.katex .accent-body, .katex .overline-line').length };`, (r) => {
        assert.notStrictEqual(r.before, r.after);
        assert.match(r.after, /refused|e[+-]/);
        assert(r.bars >= 3, 'bars over letters');
    }],
    episode: [`await room('episode'); const loss = () => $('[role=status]').textContent; const first = loss(); press('Translate the cloud'); await wait(); const moved = loss();
        press('Start again'); await wait(); const again = loss(); press('A prototype in the hull'); await wait(); press('Norm and confidence'); await wait(); press('Start again'); await wait();
        const heads = []; for (const o of $$('option').map((x) => x.value)) { $('select').value = o; $('select').dispatchEvent(new Event('change')); await wait(); heads.push(loss()); }
        const p = $('.point'); p.focus(); p.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp', bubbles: true })); await wait(); const keyed = loss();
        return { first, moved, again, heads, keyed, points: $$('.point').length };`, (r) => {
        assert.match(r.first, /Loss \d/);
        assert.notStrictEqual(r.first, r.moved);
        assert.strictEqual(r.first, r.again);
        assert.strictEqual(new Set(r.heads).size, 4);
        assert.notStrictEqual(r.keyed, r.heads.at(-1));
        assert.strictEqual(r.points, 18);
    }],
    unroll: [`await room('unroll'); const a = $('[role=status]').textContent; set($$('input[type=range]')[1], 0.5); await wait(); return { a, b: $('[role=status]').textContent, charts: $$('svg[role=img]').length };`, (r) => {
        assert.match(r.a, /unrolled off by/);
        assert.notStrictEqual(r.a, r.b);
        assert.strictEqual(r.charts, 2);
    }],
    derive: [`await room('derive'); const judged = []; for (const f of ['A^-1 X_bar', 'A^-T X_bar']) { set($('form input'), f); $('form button').click(); await wait(); judged.push($('form ~ [role=status]').textContent); }
        const topics = $$('main select option').map((o) => o.value), empty = [];
        for (const t of topics) { $('main select').value = t; $('main select').dispatchEvent(new Event('change')); await wait(); if ($('main .wrong') || !$('form')) empty.push(t); }
        $('details').open = true; $('main select').value = 'solve'; $('main select').dispatchEvent(new Event('change')); set($('textarea'), '2 1\\n1 3'); press('Use them'); await wait();
        await document.fonts.ready; const fonts = ['KaTeX_Main', 'KaTeX_Math'].every((family) => [...document.fonts].some((f) => f.family.includes(family) && f.status === 'loaded'));
        return { judged, fonts, topics: topics.length, empty, own: $$('main .katex').length, errors: $$('.katex-error').length };`, (r) => {
        assert.match(r.judged[0], /^No/);
        assert.strictEqual(r.judged[1], 'Right.');
        assert.strictEqual(r.topics, 18);
        assert.deepStrictEqual(r.empty, []);
        assert.strictEqual(r.errors, 0);
        assert(r.fonts, 'the fonts of formulas');
    }],
    exercises: [`await room('exercises'); const answers = ['A^T Y_bar', 'Y_bar o B', '2 y_bar A', 'B Y_bar^T', 'A^-T X_bar', '-A^-T X_bar X^T', '-Y^T Y_bar Y^T', '2 y_bar (M M^T)^-1 M', 'Y o (Y_bar - row_sum(Y o Y_bar))', '-<(Z^T Z + lambda I)^-1 W_bar, W>'];
        const forms = $$('form'); set(forms[4].querySelector('input'), 'A^-1 X_bar'); forms[4].querySelector('button').click(); await wait(); const wrong = $$('form ~ [role=status]')[4].textContent;
        const lead = $('.lead').textContent, unnamed = answers.flatMap((answer, i) => answer.match(/[A-Za-z]\\w*/g).filter((name) => !(name.length > 1 || 'oTI'.includes(name) ? lead + $$('.names')[i].textContent : $$('.names')[i].textContent).match(new RegExp('\\\\b' + name + '\\\\b'))));
        for (let i = 0; i < answers.length; i++) { set(forms[i].querySelector('input'), answers[i]); forms[i].querySelector('button').click(); await wait(); }
        const make = URL.createObjectURL; let blob; URL.createObjectURL = (b) => ((blob = b), '#exercises'); HTMLAnchorElement.prototype.click = () => {}; press('Save for the teacher'); URL.createObjectURL = make;
        return { wrong, unnamed, solved: $('main > [role=status]').textContent, saved: JSON.parse(await blob.text()).exercises };`, (r) => {
        assert.match(r.wrong, /^No/);
        assert.deepStrictEqual(r.unnamed, [], 'names that the room does not list');
        assert.strictEqual(r.solved, '10 of 10 solved.');
        assert.strictEqual(r.saved.filter((e) => e.right && e.tries > 0 && e.answer).length, 10);
    }],
};

/** What a room must offer on a phone of 390 by 844 pixels; each returns what is wrong. */
const onPhone = {
    write: `const tape = $('.seen svg'), box = tape.getBoundingClientRect(), wrong = [];
        if (box.bottom + scrollY > 844) wrong.push('the tape is below the first screen');
        if ($('details').open || $('details').getBoundingClientRect().top < box.bottom) wrong.push('matrices before the tape');
        for (const name of [...$$('main option').map((o) => o.value)]) { $('main select').value = name; $('main select').dispatchEvent(new Event('change')); await wait();
            const svg = $('.seen svg'); if (svg.getBoundingClientRect().width / svg.viewBox.baseVal.width < 0.85) wrong.push('small letters in the tape of ' + name); }
        $('details').open = true; return wrong;`,
    solve: `const plane = $('.seen svg'), wrong = [];
        for (const slider of $$('input[type=range]')) { slider.scrollIntoView({ block: 'end' }); await wait(); const at = plane.getBoundingClientRect(), under = slider.getBoundingClientRect();
            if (at.top < -1 || at.bottom > under.top + 1 || under.bottom > 845) wrong.push('the plane is out of sight of ' + slider.ariaLabel); }
        return wrong;`,
};
/** Every field: no keyboard corrects it, none zooms in on it, all have a minus; a field for an answer shows 35 characters. */
const fieldsOnPhone = `const wrong = [];
    for (const input of $$('main input[type=text], main textarea')) {
        const has = (name, value) => input.getAttribute(name) === value, style = getComputedStyle(input);
        if (!(has('autocapitalize', 'off') || input.ariaLabel === 'Your name') || !has('autocorrect', 'off') || !has('autocomplete', 'off') || !has('spellcheck', 'false')) wrong.push('corrected: ' + input.ariaLabel);
        if (input.inputMode) wrong.push('a keyboard without a minus: ' + input.ariaLabel);
        if (parseFloat(style.fontSize) < 16) wrong.push('zoomed: ' + input.ariaLabel);
        if (input.closest('.panel form')) { input.value = 'A'.repeat(35); if (input.scrollWidth > input.clientWidth) wrong.push('narrow: ' + input.ariaLabel); input.value = ''; }
    }
    return wrong;`;

async function ready(browser) {
    for (let tries = 0; tries < 200; tries++) {
        const at = await browser.evaluate('return document.documentElement.dataset.ready ?? "";').catch(() => '');
        if (at) return Number(at);
        await pause(50);
    }
    throw new Error('the engine did not open');
}

async function times(browser) {
    await browser.send('Emulation.setCPUThrottlingRate', { rate: 4 });
    await browser.open(`file://${path.resolve(page)}?throttled`);
    const engine = await ready(browser);
    const paint = await browser.evaluate(`return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1;`);
    const frames = {};
    await browser.send('Emulation.setCPUThrottlingRate', { rate: 1 });
    for (const name of ['solve', 'episode', 'unroll'])
        frames[name] = await browser.evaluate(`${helpers} await room('${name}'); const s = $$('input[type=range]').at(-1), all = []; const step = (Number(s.max) - Number(s.min)) / 20;
            // each from the frame's start until after it is drawn
            for (let i = 1; i < 20; i++) { set(s, Number(s.min) + i * step); await new Promise((d) => requestAnimationFrame((start) => setTimeout(() => { all.push(performance.now() - start); d(); }))); }
            return all.sort((a, b) => a - b)[Math.floor(all.length / 2)];`);
    console.log(`first paint ${paint.toFixed(0)} ms, engine ${engine} ms (processor throttled four times); a redraw, ms: ${JSON.stringify(frames)}`);
}

(async () => {
    const browser = await (kind === 'firefox' ? openFirefox : openChromium)(program);
    let failed = 0;
    try {
        await browser.size(1280);
        await browser.open(`file://${path.resolve(page)}`);
        await ready(browser);
        for (const [name, [code, judge]] of Object.entries(visits)) {
            try {
                const found = await browser.evaluate(helpers + code);
                judge(found);
                console.log(`ok ${name}`);
            } catch (error) {
                failed++;
                console.log(`not ok ${name}: ${error.message}`);
            }
        }
        await browser.open(`file://${path.resolve(page)}?again`);
        await ready(browser);
        const kept = await browser.evaluate(`${helpers} await room('write'); const program = $('textarea').value, from = $('main select').value, boxes = $$('.node').length, cell = $('table.numbers input').value; await room('exercises');
            return { program, from, boxes, cell, solved: $('main > [role=status]').textContent };`);
        if (JSON.stringify(kept) === JSON.stringify({ program: 'loss = sum(W^2)', from: 'own', boxes: 3, cell: '7', solved: '10 of 10 solved.' })) console.log('ok a reload keeps the program and the answers');
        else console.log('not ok: after a reload', kept), failed++;
        for (const width of [390, 1280, 1920]) {
            await browser.size(width);
            for (const name of Object.keys(visits)) {
                const wide = await browser.evaluate(`${helpers} await room('${name}'); return document.documentElement.scrollWidth - document.documentElement.clientWidth;`); // innerWidth grows with what is too wide
                if (width === 390 && browser.prefer) { // Chromium has the size that is asked for
                    await browser.size(390, 844);
                    const wrong = [...await browser.evaluate(`${helpers} scrollTo(0, 0); ${onPhone[name] ?? 'return [];'}`), ...await browser.evaluate(helpers + fieldsOnPhone)];
                    if (wrong.length) console.log(`not ok ${name}, on a phone: ${wrong.join('; ')}`), failed++;
                    await browser.size(390);
                }
                if (wide > 0) console.log(`not ok ${name}: ${wide} pixels too wide at ${width}`), failed++;
                if (folder) await browser.picture(path.join(folder, `${kind}-${name}-${width}.png`));
            }
        }
        if (browser.prefer) {
            await browser.size(1280);
            await browser.prefer({ 'prefers-color-scheme': 'dark', 'prefers-reduced-motion': 'reduce' });
            for (const name of Object.keys(visits)) {
                await browser.evaluate(`${helpers} await room('${name}');`);
                if (folder) await browser.picture(path.join(folder, `${kind}-${name}-dark.png`));
            }
            await times(browser);
        }
        await browser.listen();
        const asked = browser.requests.filter((url) => !url.startsWith('file://') || !url.split('?')[0].endsWith(path.basename(page)));
        if (browser.said.length || asked.length) console.log('not ok: said', browser.said, 'asked for', asked), failed++;
        const before = browser.said.length;
        await browser.evaluate(`console.error('seen'); setTimeout(() => { throw new Error('thrown'); }); fetch('http://127.0.0.1:9/').catch(() => {}); await new Promise((done) => setTimeout(done, 300));`);
        await browser.listen();
        const noticed = browser.said.slice(before).join('\n');
        if (!/seen/.test(noticed) || !/thrown/.test(noticed) || !/Content.Security.Policy/i.test(noticed)) console.log('not ok: this test is deaf:', noticed), failed++;
    } finally {
        await browser.close();
    }
    console.log(`${Object.keys(visits).length} rooms, ${failed} failed`);
    process.exitCode = failed ? 1 : 0;
})();
