// tools/web/solve.js - the room Solve: A X = B in the plane, its adjoint, and what is left of both in float32.
import { chart, el, matrix, oncePerFrame, short, slider, svg, tex } from './view.js';

export function solve(place, ask) {
    const s = { top: 2, decades: 0.5, turn: 30, B: 60, bar: -40, lambda: 0 };
    const plane = el('div'), numbers = el('div'), digits = el('div'), curve = el('div');
    const names = [tex('A'), tex('X'), tex('\\bar{B}=A^{-\\top}\\bar{X}'), tex('\\bar{A}=-\\bar{B}X^{\\top}')]; // KaTeX takes longer than all else
    let later;
    const redraw = oncePerFrame(draw);
    const control = (text, key, options) => slider(text, { ...options, value: s[key] }, (value) => ((s[key] = value), redraw()));

    /** A = Q diag(w) Q^T; the exact X and adjoint by the same Q. */
    function system(decades = s.decades) {
        const a = (s.turn * Math.PI) / 180, c = Math.cos(a), n = Math.sin(a);
        const w = [s.top + s.lambda, s.top / 10 ** decades + s.lambda];
        const A = [c * c * w[0] + n * n * w[1], c * n * (w[0] - w[1]), c * n * (w[0] - w[1]), n * n * w[0] + c * c * w[1]];
        const unit = (angle) => [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
        const apply = ([x, y]) => {
            const p = (c * x + n * y) / w[0], q = (c * y - n * x) / w[1];
            return [c * p - n * q, n * p + c * q];
        };
        const B = unit(s.B), bar = unit(s.bar);
        return { A, B, bar, w, X: apply(B), B_bar: apply(bar) };
    }

    const request = (m) => ask(`solve\n${[...m.A, ...m.B, ...m.bar].join(' ')}`);
    const error = (x, exact) => Math.hypot(x[0] - exact[0], x[1] - exact[1]) / Math.hypot(...exact);

    function draw() {
        const m = system(), answer = request(m);
        const reach = Math.max(1.6, 1.25 * Math.max(Math.hypot(...m.X), Math.hypot(...m.B_bar)));
        const P = ([x, y]) => [260 + (x / reach) * 240, 260 - (y / reach) * 240];
        const ellipses = (at, colour, dash) => [0.25, 0.5, 0.75, 1].map((level) => svg('ellipse', { cx: 0, cy: 0,
            rx: (240 / reach) * level * Math.hypot(...at) * Math.min(1, Math.sqrt(m.w[1] / m.w[0])), ry: (240 / reach) * level * Math.hypot(...at),
            transform: `translate(${P(at)}) rotate(${-s.turn})`, fill: 'none', stroke: colour, 'stroke-dasharray': dash, opacity: 0.55 }));
        const arrow = (to, label, colour, dash) => {
            const [x, y] = P(to), angle = Math.atan2(y - 260, x - 260), tip = (d) => `${x - 11 * Math.cos(angle + d)} ${y - 11 * Math.sin(angle + d)}`;
            return [svg('path', { d: `M260 260L${x} ${y}`, stroke: colour, 'stroke-width': 2.6, 'stroke-dasharray': dash }),
                svg('path', { d: `M${tip(0.4)}L${x} ${y}L${tip(-0.4)}`, fill: 'none', stroke: colour, 'stroke-width': 2.6 }),
                svg('text', { x: x + 10 * Math.cos(angle) - 5, y: y + 16 * Math.sin(angle) + 5,
                    ...(label.length > 1 ? { 'text-decoration': 'overline' } : {}), style: `fill:${colour};font-style:italic;font-size:17px` }, label[0])];
        };
        const kappa = m.w[0] / m.w[1];
        clearTimeout(later);
        later = setTimeout(sweep, 120);
        plane.replaceChildren(svg('svg', { viewBox: '0 0 520 520', role: 'img', 'aria-label': `The plane. X is ${m.X.map(short).join(', ')}; its adjoint ${m.B_bar.map(short).join(', ')}. The ellipses are stretched by the root of the condition number, ${short(Math.sqrt(kappa))}.` },
                svg('path', { class: 'axis', d: 'M0 260H520M260 0V520' }),
                ellipses(m.X, 'var(--ink)'), ellipses(m.B_bar, 'var(--accent)', '5 4'),
                arrow(m.B, 'B', 'var(--quiet)', '2 4'), arrow(m.bar, 'X_', 'var(--accent)', '2 4'),
                arrow(m.X, 'X', 'var(--ink)'), arrow(m.B_bar, 'B_', 'var(--accent)')));
        const exact = answer.f64;
        numbers.replaceChildren(el('div', { class: 'scroll' }, matrix(m.A, 2, names[0]), exact ? [matrix(exact.X, 1, names[1]),
            matrix(exact.B_bar, 1, names[2]), matrix(exact.A_bar, 2, names[3])]
            : el('p', { class: 'wrong' }, 'In float64 too this matrix cannot be told from a singular one: the engine refuses.')));
        const row = (name, part) => el('tr', {}, el('td', {}, name),
            el('td', {}, part ? error(part.X, m.X).toExponential(1) : 'refused'), el('td', {}, part ? error(part.B_bar, m.B_bar).toExponential(1) : 'refused'));
        digits.replaceChildren(el('table', { class: 'plain' },
            el('thead', {}, el('tr', {}, el('th', {}, `κ = ${short(kappa)}`), el('th', {}, 'error of X'), el('th', {}, 'of ', el('span', { class: 'bar' }, 'B')))),
            el('tbody', {}, row('float64', answer.f64), row('float32', answer.f32), row('float32, refined', answer.refined))),
        el('p', { class: 'quiet' }, 'Relative errors. A digit is lost for each power of ten in κ. Refinement solves again for what is left over, the residual computed in float64; it helps while κ times float32’s 6e-8 stays below one.'));
    }

    /** The adjoint's error at every condition number; the other settings stay. */
    function sweep() {
        const kinds = { f64: [], f32: [], refined: [] };
        for (let decades = 0; decades <= 12; decades += 0.5) {
            const m = system(decades), answer = request(m);
            for (const [kind, points] of Object.entries(kinds))
                if (answer[kind]) points.push([decades, Math.max(error(answer[kind].B_bar, m.B_bar), 1e-17)]);
        }
        curve.replaceChildren(chart({ title: 'Error of the adjoint as A becomes singular', x: 'κ of A, powers of ten', y: 'relative', log: true,
            series: [{ name: 'float64', points: kinds.f64 }, { name: 'float32', dash: '2 4', points: kinds.f32 }, { name: 'float32, refined', accent: true, dash: '7 4', points: kinds.refined }] }),
        el('p', { class: 'quiet' }, 'A line ends where the engine refuses: there the matrix cannot be told from a singular one.'));
    }

    place.append(el('h2', {}, 'Solve'),
        el('p', { class: 'lead' }, 'The solution of A X = B and the adjoint of B are two solves with one matrix. Move the matrix and watch both; make it nearly singular and watch the digits go.'),
        el('div', { class: 'two' }, el('div', {},
            control('Larger eigenvalue of A', 'top', { low: 0.5, high: 4, step: 0.05 }),
            control('Condition number of A, before λ', 'decades', { low: 0, high: 12, step: 0.1, show: (x) => (10 ** x).toPrecision(2) }),
            control('Direction of its eigenvector', 'turn', { low: 0, high: 180, step: 1, show: (x) => `${x}°` }),
            control('Direction of B', 'B', { low: -180, high: 180, step: 1, show: (x) => `${x}°` }),
            control('Direction of the loss’s gradient in X', 'bar', { low: -180, high: 180, step: 1, show: (x) => `${x}°` }),
            control('λ, added to both eigenvalues', 'lambda', { low: 0, high: 2, step: 0.01 }), digits), el('div', { class: 'seen kept', style: 'max-width:620px' }, plane)),
        el('div', { class: 'charts' }, el('div', {}, el('p', { class: 'quiet prose' }, 'Solid: level sets of ½ xᵀA x − Bᵀx, whose lowest point is the solution X. Dashed, blue: the level sets with ', el('span', { class: 'bar' }, 'X'), ' in the place of B; its lowest point is the adjoint ', el('span', { class: 'bar' }, 'B'), '. One matrix, one factorization, two solves.'),
            numbers), curve));
    draw();
}
