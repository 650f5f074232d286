// tools/web/blocks.js - shows the blocks of a lesson (`mochi explain --json`, lesson_json.c) as elements.
// page.css has their style.

/** At most five digits, without an exponent where that is short. */
export function short(x) {
    if (x == null) return '–';
    if (x === 0) return '0';
    const size = Math.abs(x);
    return size >= 1e5 || size < 1e-3 ? x.toExponential(2) : String(Number(x.toPrecision(5)));
}

/** The texts of numbers that stand below each other: with the same number of decimals, at most four, unless that would
 * hide digits of a small number. What is smaller than 1e-9 of the largest is shown as 0. */
function column(all) {
    const largest = Math.max(...all.map(Math.abs)), values = all.map((x) => (Math.abs(x) < 1e-9 * largest && x != null ? 0 : x));
    const texts = values.map(short), decimals = Math.min(4, Math.max(...texts.map((text) => (text.split('.')[1] ?? '').length)));
    const even = values.every((x) => x != null && (x === 0 || (Math.abs(x) < 1e5 && Math.abs(x) >= 1e-3)));
    return (even ? values.map((x) => x.toFixed(decimals)) : texts).map((text) => text.replace(/-/g, '−'));
}

/** Numbers in rows between brackets, behind "label =". el(tag, attributes, ...children) makes an element. */
export function matrixOf(el, values, columns, label) {
    const texts = column(values), rows = [];
    for (let i = 0; i < texts.length; i += columns)
        rows.push(el('tr', {}, texts.slice(i, i + columns).map((text) => el('td', {}, text))));
    return el('div', { class: 'matrix' }, label ? el('span', {}, label, ' =') : null, el('table', { class: 'numbers' }, el('tbody', {}, rows)));
}

/** Returns a function for each kind of block, which makes an element or a list of them. tex(latex, display) sets a
 * formula; line(block, answer) makes a line of the adjoint, with its answer as a list of elements. */
export function blocksOf({ el, tex, line }) {
    const part = (p) => (typeof p === 'string' ? p : p.code ? el('code', {}, p.code) : tex(p.latex));
    const beside = (matrices, labels) => el('div', { class: 'scroll' }, matrices.map((m, i) => matrixOf(el, m.rows.flat(), m.rows[0].length, labels?.[i] ?? tex(m.latex))));
    const compared = (b, ...sides) => [tex(b.latex, true), beside(b.matrices, sides), el('p', { class: 'quiet' }, `Largest difference ${short(b.difference)}.`)];
    return {
        title: (b) => [el('h3', {}, b.summary), tex(b.latex, true), el('p', { class: 'quiet' }, b.source)],
        section: (b) => el('h4', {}, b.text),
        prose: (b) => el('p', { class: 'prose' }, b.parts.map(part)),
        formula: (b) => tex(b.latex, true),
        matrices: (b) => beside(b.matrices),
        line: (b) => line(b, compared(b, 'by the formula', 'by differences')),
        agree: (b) => el('div', { class: 'panel' }, compared(b, 'left side', 'right side')),
        end: (b) => el('p', { class: 'quiet' }, b.parts.map(part)),
    };
}
