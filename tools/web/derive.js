// tools/web/derive.js - the room Derive: the lessons of `mochi explain`; the reader writes each line of the adjoint.
import { blocksOf } from './blocks.js';
import { choice, el, field, tex } from './view.js';

export function derive(place, ask) {
    const { topics } = ask('topics');
    let topic = 'solve', own = '', seed = -1, shown = new Set();
    const lesson = el('div');
    const numbers = field({ rows: 3, placeholder: '4 1 -1\n2 3 1\n-1 1 2', 'aria-label': 'Your numbers for the first matrix, a row a line' }, 'textarea');
    const request = (line = 0, answer = '') => ask(`explain ${topic} -1 ${seed} ${line} ${answer}${own ? `\n${own}` : ''}`);
    function line(block, found) {
        const answer = field({ 'aria-label': `Line ${block.number}: your formula for ${block.text.split(' =')[0]}` });
        const verdict = el('div', { role: 'status' }), formula = el('div');
        const name = block.latex.split('=')[0];
        const reveal = () => {
            shown.add(block.number);
            formula.replaceChildren(...found);
        };
        const check = () => {
            if (!answer.value.trim()) return;
            const said = request(block.number, answer.value).blocks.find((b) => b.number === block.number).verdict;
            const right = said === 'Right.';
            verdict.replaceChildren(el('p', { class: right ? 'right' : 'wrong' }, said));
            if (right) reveal();
        };
        const hint = () => verdict.replaceChildren(el('p', { class: 'quiet' }, block.hint));
        if (shown.has(block.number)) reveal();
        return el('div', { class: 'panel' }, el('h4', {}, `Line ${block.number}: `, tex(`${name} = \\;?`)),
            el('form', { class: 'answer', onsubmit: (event) => (event.preventDefault(), check()) }, answer,
                el('button', { class: 'main' }, 'Check'), el('button', { type: 'button', onclick: hint }, 'Hint'), el('button', { type: 'button', onclick: reveal }, 'Show')), verdict, formula);
    }

    const kinds = blocksOf({ el, tex, line });

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
