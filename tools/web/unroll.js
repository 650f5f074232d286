// tools/web/unroll.js - the room Unroll: the gradient through K steps against that of the solution.
import { chart, el, oncePerFrame, short, slider } from './view.js';

export function unroll(place, ask) {
    const s = { n: 8, rho: 0.9, K: 80 };
    const charts = el('div', { class: 'charts' }), told = el('p', { role: 'status' });
    const redraw = oncePerFrame(draw);
    const control = (text, key, options) => slider(text, { ...options, value: s[key] }, (value) => ((s[key] = value), redraw()));

    function draw() {
        const { points, error } = ask(`unroll ${s.n} ${s.rho} ${s.K}`);
        if (error) return told.replaceChildren(error);
        const line = (key, of = (v) => v) => points.map((p) => [p.K, of(p[key])]), last = points.at(-1);
        charts.replaceChildren(
            chart({ title: 'Error of the gradient in A', x: 'steps K', y: 'relative', log: true, series: [
                { name: 'unrolled', points: line('unrolled') }, { name: 'implicit', accent: true, dash: '7 4', points: line('implicit') }, { name: 'K terms of a series', accent: true, points: line('neumann') }, { name: 'of w itself', dash: '2 4', points: line('w') }] }),
            chart({ title: 'Memory of the tape at its peak', x: 'steps K', y: 'KiB', series: [
                { name: 'unrolled', points: line('unrolled_bytes', (v) => v / 1024) }, { name: 'implicit', accent: true, dash: '7 4', points: line('implicit_bytes', (v) => v / 1024) }] }));
        told.textContent = `After ${last.K} steps: unrolled off by ${short(last.unrolled)} in ${short(last.unrolled_bytes / 1024)} KiB; implicit off by ${short(last.implicit)} in ${short(last.implicit_bytes / 1024)} KiB.`;
    }

    place.append(el('h2', {}, 'Unroll'),
        el('p', { class: 'lead' }, 'w ← w − (A w − b), K times from zero, is one way to solve A w = b. Its gradient can go back through every step, or jump: the implicit function theorem needs only where the steps ended.'),
        el('div', { class: 'two' }, el('div', {},
            control('Steps K', 'K', { low: 1, high: 200, step: 1 }), control('Spectral radius of I − A', 'rho', { low: 0.1, high: 0.99, step: 0.01 }), control('Unknowns n', 'n', { low: 2, high: 30, step: 1 })),
        el('div', {}, told, el('p', { class: 'quiet' }, 'Each step shrinks the error by the spectral radius. The unrolled gradient lags behind: both w and the sum of its adjoint are cut after K terms. The implicit one is off by as much as w itself, so their lines fall together; with K terms of a Neumann series in place of its solve it lags behind too. The tape of K steps grows with K; the implicit one does not.'))),
        charts);
    draw();
}
