// tools/web/view.js - pieces of the page: elements, formulas, matrices, sliders, charts.
import { matrixOf, short } from './blocks.js';

const NAMES = 'http://www.w3.org/2000/svg';

/** An element with attributes, handlers (on..: functions), and children: elements or texts. */
export function el(tag, attributes = {}, ...children) {
    return fill(document.createElement(tag), attributes, children);
}

/** A field for formulas or numbers: a phone's keyboard must not correct what is typed, and has to have a minus. */
export const field = (attributes, tag = 'input') => el(tag, { ...(tag === 'input' ? { type: 'text' } : {}),
    autocapitalize: 'off', autocorrect: 'off', autocomplete: 'off', spellcheck: 'false', ...attributes });

export function svg(tag, attributes = {}, ...children) {
    return fill(document.createElementNS(NAMES, tag), attributes, children);
}

function fill(node, attributes, children) {
    for (const [key, value] of Object.entries(attributes))
        if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
        else if (value !== false && value != null) node.setAttribute(key, value === true ? '' : value);
    node.append(...children.flat().filter((child) => child != null));
    return node;
}

/** A formula, set by KaTeX; the bar over a letter is drawn as a line of its own, in every browser. */
export function tex(latex, display = false) {
    const place = el(display ? 'div' : 'span', display ? { class: 'formula' } : {}); // an inline formula breaks at the
                                                                                     // edge of a phone's screen
    globalThis.katex.render(display ? `\\displaystyle ${latex}` : latex, place, { throwOnError: false, strict: false });
    return place;
}

export { short };

/** Numbers in rows between brackets. */
export const matrix = (values, columns, label) => matrixOf(el, values, columns, label);

/** A matrix to type into; a number is dragged sideways to change it. changed is called with the new values. A cell whose
 * text is no number is marked, and the caption says which value stays in its place. */
export function editable(name, values, columns, changed) {
    const caption = el('caption', { 'aria-live': 'polite' });
    const inputs = values.map((value, i) => {
        const input = field({ value: String(value),
            'aria-label': `${name}, row ${Math.floor(i / columns) + 1}, column ${(i % columns) + 1}` });
        let from = null;
        const take = () => {
            const number = Number(input.value.replace(',', '.')), read = input.value.trim() !== '' && Number.isFinite(number);
            input.setAttribute('aria-invalid', String(!read));
            caption.textContent = read ? '' : `“${input.value}” is no number: ${values[i]} is still used.`;
            if (!read) return;
            values[i] = number;
            changed(values);
        };
        input.addEventListener('input', take);
        input.addEventListener('keydown', (event) => {
            const step = { ArrowUp: 0.1, ArrowDown: -0.1 }[event.key];
            if (!step) return;
            event.preventDefault();
            input.value = String(Number((values[i] + step).toFixed(4)));
            take();
        });
        input.addEventListener('pointerdown', (event) => {
            from = { x: event.clientX, value: values[i] };
            input.setPointerCapture(event.pointerId);
        });
        input.addEventListener('pointermove', (event) => {
            if (!from || Math.abs(event.clientX - from.x) < 4) return;
            input.value = String(Number((from.value + Math.round((event.clientX - from.x) / 4) / 10).toFixed(4)));
            take();
        });
        input.addEventListener('pointerup', () => (from = null));
        input.addEventListener('pointercancel', () => (from = null));
        return input;
    });
    const rows = [];
    for (let i = 0; i < inputs.length; i += columns)
        rows.push(el('tr', {}, inputs.slice(i, i + columns).map((input) => el('td', {}, input))));
    return el('table', { class: 'numbers' }, caption, el('tbody', {}, rows));
}

/** show(value): the text for a value. */
export function slider(text, { low, high, step, value, show = (x) => short(x) }, changed) {
    const output = el('output', {}, show(value));
    const input = el('input', { type: 'range', min: low, max: high, step, value, 'aria-label': text,
        'aria-valuetext': show(value), oninput: () => {
            const now = Number(input.value);
            output.textContent = show(now);
            input.setAttribute('aria-valuetext', show(now));
            changed(now);
        } });
    return el('label', { class: 'slider' }, el('span', {}, text), output, input);
}

export function choice(text, options, value, changed) {
    const select = el('select', { onchange: () => changed(select.value) },
        options.map(([name, shown]) => el('option', { value: name, selected: name === value }, shown)));
    return el('label', {}, text, ' ', select);
}

/** Keeps a value in the browser, for the next visit. */
export function remember(key, value) {
    try {
        localStorage.setItem(key, JSON.stringify(value));
    } catch { /* without storage in the browser the page still works */ }
}

/** The value kept under a key, or null. */
export function remembered(key) {
    try {
        return JSON.parse(localStorage.getItem(key));
    } catch {
        return null;
    }
}

/** Calls work at the next frame, once, however often it is asked for. */
export function oncePerFrame(work) {
    let asked = false;
    return () => {
        if (asked) return;
        asked = true;
        requestAnimationFrame(() => {
            asked = false;
            work();
        });
    };
}

/** A text with "X_bar" as a barred letter. */
export function barred(text) {
    return text.split(/([A-Za-z]+_bar)/).map((part) =>
        part.endsWith('_bar') ? el('span', { class: 'bar' }, part.slice(0, -4)) : part);
}

/** Lines over x, y by powers of ten where log is set. series: [{name, dash, accent, points: [[x, y]]}]; ticks: the x that have
 * a label, and it: [[x, label]]. */
export function chart({ title, x, y, log, series, ticks }) {
    const W = Math.max(330, Math.min(560, innerWidth - 40)), each = W < 420 ? 2 : 3, keys = Math.ceil(series.length / each);
    const left = 66, right = 16, top = 20, bottom = 42 + 20 * keys, H = 254 + bottom;
    const all = series.flatMap((s) => s.points).filter(([, v]) => v > 0 || !log);
    const value = (v) => (log ? Math.log10(v) : v);
    const xs = ticks?.map(([a]) => a) ?? all.map(([a]) => a), ys = all.map(([, b]) => value(b));
    let [y0, y1] = [Math.min(...ys), Math.max(...ys)];
    if (log) [y0, y1] = [Math.floor(y0), Math.ceil(y1)];
    else y0 = 0;
    if (y1 === y0) y1 += 1;
    const x1 = Math.max(...xs), x0 = Math.min(...xs);
    const X = (a) => left + ((a - x0) / (x1 - x0 || 1)) * (W - left - right);
    const Y = (b) => H - bottom - ((value(b) - y0) / (y1 - y0)) * (H - top - bottom);
    const marks = [], key_width = (W - left) / each, key_row = (i) => H - 4 - 20 * (keys - 1 - Math.floor(i / each));
    const every = log ? Math.max(1, Math.ceil((y1 - y0) / 6)) : (y1 - y0) / 4;
    for (let v = y0; v <= y1 + 1e-9; v += every) {
        const at = H - bottom - ((v - y0) / (y1 - y0)) * (H - top - bottom);
        marks.push(svg('path', { class: 'axis', d: `M${left} ${at}H${W - right}` }),
            svg('text', { class: 'quiet', x: left - 8, y: at + 4, 'text-anchor': 'end' },
                log ? `1e${v}` : String(Math.round(v))));
    }
    for (const [a, label] of ticks ?? [x0, Math.round((x0 + x1) / 2), x1].map((a) => [a, String(a)]))
        marks.push(svg('text', { class: 'quiet', x: X(a), y: H - bottom + 20, 'text-anchor': 'middle' }, label));
    const lines = series.map((s) => svg('path', { fill: 'none', 'stroke-width': 2.6, 'stroke-dasharray': s.dash,
        stroke: s.accent ? 'var(--accent)' : 'var(--ink)',
        d: s.points.filter(([, v]) => v > 0 || !log).map(([a, b], i) => `${i ? 'L' : 'M'}${X(a)} ${Y(b)}`).join('') }));
    const key = series.map((s, i) => [
        svg('path', { stroke: s.accent ? 'var(--accent)' : 'var(--ink)', 'stroke-width': 2.6,
            'stroke-dasharray': s.dash, d: `M${left + (i % each) * key_width} ${key_row(i) - 4}h26` }),
        svg('text', { class: 'quiet', x: left + 32 + (i % each) * key_width, y: key_row(i) }, s.name)]).flat();
    const said = series.map((s) => `${s.name}: from ${short(s.points[0]?.[1])} to ${short(s.points.at(-1)?.[1])}`);
    return el('figure', {},
        el('h3', {}, title),
        svg('svg', { viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': `${title}, over ${x}. ${said.join('; ')}.` },
            marks, lines, key, svg('text', { class: 'quiet', x: W - right, y: H - bottom + 36,
                'text-anchor': 'end' }, x), svg('text', { class: 'quiet', x: left, y: 11 }, y)));
}
