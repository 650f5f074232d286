// tools/web/exercises.js - ten exercises, judged by the library's checker of gradients; progress stays in the browser.
import { el, field, remember, remembered, short, tex } from './view.js';

const KEY = 'mochi exercises';

/** What the checker says, in the words of the page. */
const plain = (why) => why.replace(/^sample "[^"]*"(, input \d+)?: /, '').replace('that the lesson has shown', 'of this exercise')
    .replace(/vjp (\S+), difference quotient (\S+)/, (_, mine, theirs) => `along a drawn direction it gives ${short(Number(mine))}, differences give ${short(Number(theirs))}`);

export function exercises(place, ask) {
    const list = ask('exercises').exercises, progress = { name: '', ...remembered(KEY) };
    progress.answers ??= {};
    const count = el('p', { role: 'status' });
    const tell = () => (count.textContent = `${Object.values(progress.answers).filter((a) => a.right).length} of ${list.length} solved.`);
    const name = field({ value: progress.name, autocapitalize: 'words', 'aria-label': 'Your name', placeholder: 'Your name', oninput: () => ((progress.name = name.value), remember(KEY, progress)) });

    function save() {
        const report = { format: 'mochi-exercises', version: 1, name: progress.name, date: new Date().toISOString(),
            exercises: list.map((e, i) => ({ title: e.title, right: false, tries: 0, answer: '', ...progress.answers[i] })) };
        const link = el('a', { download: 'exercises.json', href: URL.createObjectURL(new Blob([JSON.stringify(report, null, 2)], { type: 'application/json' })) });
        link.click();
    }

    function one(e, i) {
        const before = progress.answers[i];
        const answer = field({ value: before?.answer ?? '', 'aria-label': `Exercise ${i + 1}: your formula for ${e.asked}` });
        const verdict = el('div', { role: 'status' });
        const judge = () => {
            const result = ask(`judge ${i}\n${answer.value}`);
            const tries = (progress.answers[i]?.tries ?? 0) + 1, right = Boolean(result.pass);
            progress.answers[i] = { right: right || Boolean(progress.answers[i]?.right), tries, answer: answer.value };
            remember(KEY, progress);
            verdict.replaceChildren(el('p', { class: right ? 'right' : 'wrong' }, right ? 'Right, at orders one and two.'
                : `${result.first ? 'Right at order one, and not at order two' : 'No'}: ${plain(result.why ?? result.error)}.`));
            tell();
        };
        if (before?.right) verdict.append(el('p', { class: 'right' }, 'Solved.'));
        const letter = e.asked.slice(0, -4).replace('lambda', 'λ');
        const output = e.formula.split(' ')[0]; // of "Y = A B"
        const names = [...e.inputs.map((m) => `${m.name} ${m.rows ? `${m.rows}×${m.columns}` : 'a number'}`), output, `${output}_bar`].join(', ');
        return el('div', { class: 'panel' }, el('h3', {}, `${i + 1}. ${e.title}`), tex(e.latex, true),
            el('p', {}, 'The gradient of the loss in ', letter, ', ', el('span', { class: 'bar' }, letter), ' = ? ', el('span', { class: 'quiet names' }, `Names: ${names}.`)),
            el('form', { class: 'answer', onsubmit: (event) => (event.preventDefault(), judge()) }, answer, el('button', { class: 'main' }, 'Check'),
                el('button', { type: 'button', onclick: () => verdict.replaceChildren(el('p', { class: 'quiet' }, e.hint)) }, 'Hint')), verdict);
    }

    place.append(el('h2', {}, 'Exercises'),
        el('p', { class: 'lead' }, 'Write one line of an adjoint: A^T, A^-1, A^-T, A B, A o B, <A, B>, I, sum(A), row_sum(A), trace(A), diag(A), tril(A), solve(A, B), solve_spd(A, B), and Y_bar for the gradient that arrives. Your line becomes the rule of an op, and the library’s checker compares it with differences, at order one and at order two.'),
        el('div', { class: 'answer' }, name, el('button', { onclick: save }, 'Save for the teacher')), count, el('div', { class: 'cards' }, list.map(one)));
    tell();
}
