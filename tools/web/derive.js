// tools/web/derive.js - the room Derive: the lessons of `mochi explain`; the reader writes each line of the adjoint.
import { choice, el, matrix, short, tex } from './view.js';

export function derive(place, ask) {
    const { topics } = ask('topics');
    let topic = 'solve', own = '', seed = -1, shown = new Set();
    const lesson = el('div');
    const numbers = el('textarea', { rows: 3, spellcheck: 'false', placeholder: '4 1 -1\n2 3 1\n-1 1 2', 'aria-label': 'Your numbers for the first matrix, a row a line' });
    const request = (line = 0, answer = '') => ask(`explain ${topic} -1 ${seed} ${line} ${answer}${own ? `\n${own}` : ''}`);
    const part = (p) => (typeof p === 'string' ? p : p.code ? el('code', {}, p.code) : p.latex ? tex(p.latex) : p.formula);
    const flat = (m) => matrix(m.rows.flat(), m.rows[0].length, m.latex ? tex(m.latex) : m.name);

    function line(block) {
        const answer = el('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', 'aria-label': `Line ${block.number}: your formula for ${block.text.split(' =')[0]}` });
        const verdict = el('div', { role: 'status' }), formula = el('div');
        const name = block.latex.split('=')[0], rows = block.matrices[0].rows;
        const reveal = () => {
            shown.add(block.number);
            formula.replaceChildren(tex(block.latex, true), el('div', { class: 'scroll' }, block.matrices.map((m) => matrix(m.rows.flat(), m.rows[0].length, m.name))),
                el('p', { class: 'quiet' }, `Largest difference from central differences: ${short(block.difference)}.`));
        };
        const check = () => {
            if (!answer.value.trim()) return;
            const said = request(block.number, answer.value).blocks.find((b) => b.number === block.number).verdict;
            const right = said === 'Right.';
            verdict.replaceChildren(el('p', { class: right ? 'right' : 'wrong' }, said));
            if (right) reveal();
        };
        const hint = () => verdict.replaceChildren(el('p', { class: 'quiet' }, `It has ${rows.length} row${rows.length > 1 ? 's' : ''} and ${rows[0].length} column${rows[0].length > 1 ? 's' : ''}. Use the values above it, and gradients already found. Products: A B; transposes: X^T, A^-T; an inner product: <A, B>. In the differential above, the factor beside the d of this value is its adjoint.`));
        if (shown.has(block.number)) reveal();
        return el('div', { class: 'panel' }, el('h3', {}, `Line ${block.number}: `, tex(`${name} = \\;?`)),
            el('form', { class: 'answer', onsubmit: (event) => (event.preventDefault(), check()) }, answer,
                el('button', { class: 'main' }, 'Check'), el('button', { type: 'button', onclick: hint }, 'Hint'), el('button', { type: 'button', onclick: reveal }, 'Show')), verdict, formula);
    }

    const kinds = {
        title: (b) => [el('h3', {}, b.summary), tex(b.latex, true)],
        section: (b) => el('h3', {}, b.text),
        prose: (b) => el('p', { style: 'max-width:46em' }, b.parts.map(part)),
        formula: (b) => (b.latex ? tex(b.latex, true) : el('p', {}, b.text)),
        matrices: (b) => el('div', { class: 'scroll' }, b.matrices.map(flat)),
        line,
        agree: (b) => el('div', {}, tex(b.latex, true), el('p', { class: 'quiet' }, `Both sides are computed: they differ by ${short(b.difference)}.`)),
        end: (b) => el('p', { class: 'quiet' }, b.parts.map(part)),
    };

    function tell() {
        const answer = request();
        lesson.replaceChildren(...(answer.error ? [el('p', { class: 'wrong' }, answer.error)] : answer.blocks.flatMap((block) => kinds[block.kind](block))));
    }
    const open = (name) => ((topic = name), (own = ''), (seed = -1), (numbers.value = ''), (shown = new Set()), tell());
    const take = () => ((own = numbers.value.trim()), tell());

    place.append(el('h2', {}, 'Derive'),
        el('p', { class: 'lead' }, 'Each lesson goes forward, states the differential, and asks for the adjoint line by line. Write a formula: it is computed on the numbers you see and judged by them.'),
        el('div', { class: 'two', style: 'grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr))' },
            el('p', {}, choice('Lesson', topics.map((t) => [t.name, t.name.replace(/_/g, ' ')]), topic, open)),
            el('details', {}, el('summary', {}, 'Your own numbers'), numbers, el('div', { class: 'answer' }, el('button', { onclick: take }, 'Use them'),
                el('button', { onclick: () => ((seed = Math.floor(Math.random() * 1e6)), (own = ''), tell()) }, 'Draw others'), el('button', { onclick: () => open(topic) }, 'The lesson’s own')))),
        lesson);
    tell();
}
