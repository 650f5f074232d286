// tools/web/lab.js - the room Lab: experiments on gradients, measured cell by cell in this browser.
import { chart, choice, el, short } from './view.js';

const problems = [['1', 'logistic regression, a penalty a feature'], ['0', 'ridge regression, a penalty a feature'], ['2', 'the root x of A x + x³ = θ']];
const titles = { adjoint: 'adjoint: one gradient, four ways', conditioning: 'conditioning: a solve as A becomes singular', truncation: 'truncation: gradients of K steps' };
const leads = {
    adjoint: 'The gradient of a loss in the parameters of an inner problem, which is solved by gradient steps. Analytic: the solution’s own formula. Unrolled: through every step. Implicit: by the theorem, where the steps ended. Neumann: the same with a truncated series.',
    conditioning: 'A solve of 24 unknowns and its gradient in A, in float64, in float32 and with TF32’s 11 bits, plain and refined.',
    truncation: 'K steps towards A w = b, and three gradients: through the steps, by the theorem at w_K, and with K terms of a Neumann series.' };
const columns = { error: ['Error of the gradient', 'relative'], 'tape KiB': ['Memory of the tape at its peak', 'KiB'], ms: ['Time', 'ms'], value: ['Error of the solution', 'relative'], gradient: ['Error of its gradient in A', 'relative'],
    w_K: ['Error of w after K steps', 'relative'], unrolled: ['Gradient through the steps', 'relative error'], implicit: ['Gradient by the theorem', 'relative error'], neumann: ['Gradient by a series of K terms', 'relative error'] };
const reading = 'Implicit and Neumann keep no step: their memory does not grow. The error falls until the inner problem is solved; where it stops is what the differences themselves can tell. Times are this browser’s, whose clock may be coarse.';
const lines = [{}, { dash: '7 4' }, { accent: true }, { accent: true, dash: '7 4' }, { dash: '2 4' }];

export function lab(place, ask) {
    const { labs } = ask('labs');
    let experiment = labs[0], problem = '1', run = 0;
    const lead = el('p', { class: 'lead' }), told = el('p', { role: 'status', class: 'quiet' }), charts = el('div', { class: 'charts' }), table = el('tbody'), heads = el('thead'), read = el('p');
    const which = el('p', {}, choice('Problem', problems, problem, (value) => ((problem = value), measure())));

    const xs = () => (experiment.x.length ? experiment.x : [10, 30, 100, 300]);

    function draw(rows) {
        charts.replaceChildren(...experiment.columns.map((column) => chart({ title: columns[column][0], x: experiment.x_name === 'kappa' ? 'κ of A' : experiment.x_name, y: columns[column][1], log: true,
            ticks: xs().map((x) => [Math.log10(x), x < 1e4 ? String(x) : x.toExponential(0).replace('+', '')]),
            series: experiment.series.map((name, i) => ({ name, ...lines[i], points: rows.filter((r) => r.name === name).map((r) => [Math.log10(r.x), r.row[column]]) })) })));
        table.replaceChildren(...rows.map((r) => el('tr', {}, el('td', {}, r.name), el('td', {}, short(r.x)), experiment.columns.map((column) => el('td', {}, short(r.row[column]))))));
    }

    /** Measures all cells. The browser draws and reacts between two of them; another choice ends the loop. */
    async function measure() {
        const mine = ++run, rows = [];
        lead.textContent = leads[experiment.name];
        which.hidden = experiment.name !== 'adjoint';
        read.textContent = experiment.reading || reading;
        heads.replaceChildren(el('tr', {}, [experiment.series_name, experiment.x_name, ...experiment.columns].map((head) => el('th', {}, head))));
        for (let i = 0; i < experiment.series.length; i++)
            for (const x of xs()) {
                await new Promise((done) => setTimeout(done));
                if (mine !== run || !told.isConnected) return;
                const answer = ask(`lab ${experiment.name} ${experiment.name === 'adjoint' ? problem : 0} ${i} ${x}`);
                if (answer.error) return told.replaceChildren(el('span', { class: 'wrong' }, answer.error));
                rows.push({ name: experiment.series[i], x, row: answer.row });
                told.textContent = `${rows.length} of ${experiment.series.length * xs().length} measured.`;
                draw(rows);
            }
    }

    place.append(el('h2', {}, 'Lab'), lead, el('div', { class: 'flow' },
        el('p', {}, choice('Experiment', labs.map((e) => [e.name, titles[e.name]]), experiment.name, (name) => ((experiment = labs.find((e) => e.name === name)), measure()))), which),
    told, charts, read, el('details', {}, el('summary', {}, 'The numbers'), el('div', { class: 'scroll' }, el('table', { class: 'plain' }, heads, table))));
    measure();
}
