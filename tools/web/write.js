// tools/web/write.js - the room Write: a program of formulas, its tape as a graph, forward and backward step by step.
import { barred, choice, editable, el, field, matrix, oncePerFrame, remember, remembered, short, svg } from './view.js';

const examples = {
    first: { title: 'A product, a sum, a square',
        inputs: [['a', [2], 0], ['b', [3], 0], ['c', [-1], 0]], text: 'p = a b\ns = p + c\ny = s^2\nloss = y' },
    solve: { title: 'A solve', inputs: [['A', [4, 1, -1, 2, 3, 1, -1, 1, 2], 3], ['B', [1, 2, 3], 1],
        ['T', [1, 0, 1], 1, true]], text: "X = solve(A, B)\nE = X - T\nloss = sum(E^2)" },
    ridge: { title: 'A readout fitted by a ridge', inputs: [['Z', [1, 0, 2, 1, -1, 0, -2, 1], 2],
        ['Y', [1, 0, 1, 0, 0, 1, 0, 1], 2, true], ['Zq', [1, 1, -1, 2], 2], ['y', [1, 0, 0, 1], 2, true],
        ['lambda', [0.5], 0]], text: "K = Z Z' + lambda I\nA = Z' solve_spd(K, Y)\nloss = ce(Zq A, y)" },
    line: { title: 'A line fitted by a ridge', inputs: [['X', [-2, 1, -1, 1, 0, 1, 1, 1, 2, 1], 2], ['Y', [-1.6, -1, 0.4, 0.6, 2.2], 1],
        ['Xq', [-1.5, 1, 1.5, 1], 2, true], ['y', [-1, 2], 1, true], ['lambda', [0.5], 0]],
    text: "K = X X' + lambda I\nA = X' solve_spd(K, Y)\nE = Xq A - y\nloss = sum(E^2)" },
    twice: { title: 'A value used twice', inputs: [['A', [2, 1, 0, 3], 2], ['B', [1, -1], 1]],
        text: "u = A B\nv = A u\nloss = <u, v>" },
};

const PROGRAM = 'mochi program'; // the reader's own, in the browser

/** The program that the reader wrote last, or null. */
function ownProgram() {
    const own = remembered(PROGRAM);
    return typeof own?.text === 'string' && Array.isArray(own.inputs) && own.inputs.every((input) => Array.isArray(input?.[1])) ? own : null;
}

/** Turns the reader's program into the engine's text. */
function engineText({ inputs, text }) {
    const heads = inputs.map(([name, values, columns, fixed]) =>
        `    input ${name} ${fixed ? 'fixed' : 'free'}${columns ? ` ${values.length / columns} ${columns}` : ''}: ${values.join(' ')}`);
    const lines = text.split(/[\n;]/).map((line) => line.trim()).filter(Boolean).map((line) => {
        const formula = line.replace(/\bce\(/g, 'cross_entropy(');
        const loss = formula.match(/^loss\s*=\s*(.*)$/);
        return loss ? `    loss ${loss[1]}` : `    forward ${formula.replace(/\s*=\s*/, ' = ')}`;
    });
    return `write\n${[...heads, ...lines].join('\n')}`;
}

export function write(place, ask, rules) {
    let program, tape, step = 0, chosen = 0;
    const state = el('div'), tables = el('div', { class: 'flow' }), graph = el('div', { class: 'scroll' });
    const details = el('div', { class: 'panel', 'aria-live': 'polite' });
    const text = field({ rows: 5, 'aria-label': 'The program, a formula a line', oninput: () => ((program.text = text.value), changed()) }, 'textarea');
    const at = el('input', { type: 'range', min: 0, step: 1, 'aria-label': 'Step of forward and backward',
        oninput: () => ((step = Number(at.value)), draw()) });
    const said = el('span', { class: 'quiet', role: 'status' });
    const added = field({ placeholder: 'W 2 3', 'aria-label': 'A new matrix: name, rows, columns' });
    const move = (by) => {
        step = Math.max(0, Math.min(Number(at.max), step + by));
        draw();
    };
    const back = el('button', { onclick: () => move(-1), 'aria-label': 'One step back' }, '←');
    const on = el('button', { onclick: () => move(1), 'aria-label': 'One step on' }, '→');

    function load(name) {
        program = structuredClone(examples[name] ?? ownProgram() ?? examples.first);
        text.value = program.text;
        step = Infinity;
        show();
    }
    function show() {
        tables.replaceChildren(...program.inputs.map(([label, values, columns, fixed]) => el('div', {},
            el('div', {}, label, el('span', { class: 'quiet' }, fixed ? ' data' : ' needs a gradient')),
            editable(label, values, columns || 1, changed))));
        again();
    }
    /** Runs what the reader has changed, and keeps it for the next visit. */
    function changed() {
        remember(PROGRAM, program);
        start.querySelector('select').value = 'own';
        again();
    }
    /** Adds a matrix: "W 2 3" is W with two rows and three columns; it replaces one of the same name. */
    function add(event) {
        event.preventDefault();
        const [, name, rows, columns] = added.value.match(/^\s*([A-Za-z]\w*)\s+([1-8])\s+([1-8])\s*$/) ?? [];
        if (!name) return void state.replaceChildren(el('p', { class: 'wrong' }, 'A name, its rows and its columns, at most 8: W 2 3'));
        const others = program.inputs.filter(([other]) => other !== name);
        if (others.length === 5) return void state.replaceChildren(el('p', { class: 'wrong' }, 'At most five inputs.'));
        program.inputs = [...others, [name, Array.from({ length: rows * columns }, (_, i) => Number(rows === columns && i % (Number(columns) + 1) === 0)), Number(columns)]];
        added.value = '';
        show();
        changed();
    }
    const again = oncePerFrame(run);

    function run() {
        const answer = ask(engineText(program));
        if (answer.error) {
            state.replaceChildren(el('p', { class: 'wrong' }, answer.error));
            return;
        }
        state.replaceChildren();
        if (!answer.freed || !answer.nodes.length) {
            state.replaceChildren(el('p', { class: 'wrong' }, answer.freed ? 'The loss is an input: there is no operation to go back through.' : 'The last line names the loss: loss = …'));
            return;
        }
        if (tape && step >= 2 * tape.nodes.length) step = Infinity; // at the end, stay at the end
        tape = answer;
        at.max = 2 * tape.nodes.length;
        if (step > at.max) step = 2 * tape.nodes.length;
        chosen = Math.min(chosen, tape.values.length - 1);
        draw();
    }

    const narrow = () => innerWidth < 600, wide = () => (narrow() ? 88 : 120), between = () => (narrow() ? 18 : 28); // boxes
    const madeBy = (i) => tape.nodes.findIndex((node) => node.out.includes(i));

    /** Places each value; its column is the longest path from an input. */
    function layout() {
        const depth = tape.values.map(() => 0);
        for (const node of tape.nodes)
            for (const out of node.out) depth[out] = 1 + Math.max(...node.in.map((i) => depth[i]), 0);
        for (let i = 0; i < depth.length; i++)
            if (tape.values[i].leaf) {
                const users = tape.nodes.filter((node) => node.in.includes(i));
                depth[i] = Math.max(0, Math.min(...users.map((node) => depth[node.out[0]])) - 1);
            }
        const used = [];
        return depth.map((column) => ({ x: 4 + column * (wide() + between()), y: 14 + 74 * (used[column] = (used[column] ?? -1) + 1) }));
    }

    function draw() {
        if (!tape) return; // the reader's own program can be wrong from the start
        at.value = step;
        const n = tape.nodes.length, backward = step > n, visited = (k) => step >= 2 * n - k;
        const places = layout(), inside = narrow() ? 6 : 10; // a box, left of its text
        const W = Math.max(...places.map((p) => p.x)) + wide() + 6, H = Math.max(...places.map((p) => p.y)) + 66;
        const edges = tape.nodes.flatMap((node, k) => node.in.flatMap((i) => node.out.map((o) => svg('path', {
            class: `edge${backward && step - n === n - k && tape.values[i].grad ? ' back' : ''}`,
            d: `M${places[i].x + wide()} ${places[i].y + 24}C${places[i].x + wide() + 16} ${places[i].y + 24} ${places[o].x - 18} ${places[o].y + 24} ${places[o].x} ${places[o].y + 24}` }))));
        const boxes = tape.values.map((value, i) => {
            const k = madeBy(i), users = tape.nodes.map((node, j) => (node.in.includes(i) ? j : -1)).filter((j) => j >= 0);
            const later = k >= 0 && step <= k;
            const reached = backward && value.grad && (value.loss || users.every(visited)); // all of its contributions
                                                                                            // have arrived
            const freed = backward && tape.freed[i] && k >= 0 && visited(k);
            const op = k < 0 ? (value.grad ? 'input' : 'data') : tape.nodes[k].op;
            const choose = () => ((chosen = i), draw(), graph.querySelector(`[data-value="${i}"]`)?.focus());
            return svg('g', { class: `node${k < 0 ? ' leaf' : ''}${later ? ' later' : ''}${reached ? ' reached' : ''}${freed ? ' freed' : ''}${i === chosen ? ' chosen' : ''}`,
                transform: `translate(${places[i].x} ${places[i].y})`, tabindex: 0, role: 'button', 'data-value': i,
                'aria-label': `${value.name || op}, ${value.rows} by ${value.columns}, by ${op}${reached ? ', its gradient is known' : ''}${freed ? ', freed' : ''}`,
                onclick: choose, onkeydown: (event) => ['Enter', ' '].includes(event.key) && (event.preventDefault(), choose()) },
            svg('rect', { width: wide(), height: 48, rx: 6 }),
            svg('text', { x: inside, y: 20 }, value.name || op),
            svg('text', { class: 'quiet', x: inside, y: 38 }, value.value?.length === 1 && !later ? short(value.value[0])
                : `${k < 0 || !value.name ? '' : op + ' '}${value.rows}×${value.columns}`));
        });
        graph.replaceChildren(svg('svg', { viewBox: `0 0 ${W} ${H}`, style: `width:${W}px;max-width:max(100%,${Math.round((narrow() ? 0.88 : 0.72) * W)}px)`, role: 'group',
            'aria-label': 'The tape as a graph' }, edges, boxes));
        back.disabled = step === 0;
        on.disabled = step === 2 * n;
        const node = step === 0 ? null : backward ? tape.nodes[2 * n - step] : tape.nodes[step - 1];
        said.textContent = step === 0 ? 'Nothing is computed yet.'
            : backward ? `Backward ${step - n} of ${n}: the rule of ${node.op} sends gradients to its inputs.`
                : `Forward ${step} of ${n}: ${node.op} is computed and recorded.`;
        describe();
        if (node) { // a long tape: what this step touches stays in sight
            const x = (places[backward ? node.in[0] : node.out[0]].x * graph.firstChild.getBoundingClientRect().width) / W;
            if (x < graph.scrollLeft || x + wide() > graph.scrollLeft + graph.clientWidth) graph.scrollLeft = x - graph.clientWidth / 2;
        }
    }

    /** The points [x, 1] and targets that a line A is fitted to, the line, its queries, and where the loss falls by moving each
     * point: minus its gradient. Nothing for a program that has not these matrices. */
    function fitted() {
        const [X, Y, A, Xq, y] = ['X', 'Y', 'A', 'Xq', 'y'].map((name) => tape.values.find((value) => value.name === name));
        const rows = ({ value }) => value.flatMap((x, i) => (i % 2 ? [] : [x]));
        if (![X, Y, A, Xq, y].every((value) => value?.value) || X.columns !== 2 || A.value.length !== 2 || Y.columns !== 1) return [];
        const xs = [...rows(X), ...rows(Xq)], ys = [...Y.value, ...y.value], W = 330, H = 200;
        const place = (all, low, high) => (v) => low + ((v - Math.min(...all) + 0.5) / (Math.max(...all) - Math.min(...all) + 1)) * (high - low);
        const px = place(xs, 0, W), py = place(ys, H, 0), ends = [Math.min(...xs) - 0.5, Math.max(...xs) + 0.5];
        const at = (x) => A.value[0] * x + A.value[1], n = Y.value.length, known = X.grad && Y.grad;
        const line = (x1, y1, x2, y2, style) => svg('line', { x1: px(x1), y1: py(y1), x2: px(x2), y2: py(y2), stroke: 'currentColor', ...style });
        const arrows = known ? Y.value.map((v, i) => line(xs[i], v, xs[i] - X.grad[2 * i], v - Y.grad[i], { 'stroke-width': 2, class: 'back' })) : [];
        return [svg('svg', { viewBox: `0 0 ${W} ${H}`, style: `max-width:${W}px`, class: 'fit', role: 'img',
            'aria-label': `The line ${short(A.value[0])} x + ${short(A.value[1])}` }, line(ends[0], at(ends[0]), ends[1], at(ends[1])), arrows,
        ys.map((v, i) => svg('circle', { cx: px(xs[i]), cy: py(v), r: 5, fill: i < n ? 'currentColor' : 'none', stroke: 'currentColor' }))),
        el('p', { class: 'quiet' }, 'Filled points are fitted, hollow ones make the loss. A stroke is minus the gradient by its point: move it so, and the loss falls.')];
    }

    function describe() {
        const value = tape.values[chosen], k = madeBy(chosen), node = tape.nodes[k], rule = node && rules[node.op];
        const name = value.name || node?.op || 'data';
        const off = value.differences && Math.max(...value.differences.map((d, i) => Math.abs(d - value.grad[i])));
        details.replaceChildren(...fitted(),
            el('h3', {}, name, el('span', { class: 'quiet' }, node ? `   made by ${node.op}` : '   an input')),
            el('div', { class: 'flow' },
                value.value ? el('div', {}, el('div', { class: 'quiet' }, 'value'), el('div', { class: 'scroll' }, matrix(value.value, value.columns))) : null,
                value.grad ? el('div', {}, el('div', { class: 'quiet' }, 'gradient of the loss'), el('div', { class: 'scroll' }, matrix(value.grad, value.columns))) : null,
                value.differences ? el('div', {}, el('div', { class: 'quiet' }, 'the same by differences'), el('div', { class: 'scroll' }, matrix(value.differences, value.columns))) : null),
            off != null ? el('p', { class: 'quiet' }, Number.isFinite(off) && value.grad.every(Number.isFinite) ? `Largest difference ${off.toExponential(0)}.` : 'Too large for a difference: a number overflows.') : '',
            !value.grad ? el('p', { class: 'quiet' }, 'Data: no gradient is asked for.') : '',
            rule ? el('p', {}, `${rule.name}. Differential: `, barred(rule.differential), '. Adjoint: ', barred(rule.adjoint),
                el('span', { class: 'quiet' }, `  (ops/${rule.file})`)) : '',
            node ? el('p', { class: 'quiet' }, tape.freed[chosen] ? `Backward frees this value once the rule of ${node.op} has run.` : 'Backward keeps this value.') : '');
    }

    const first = ownProgram() ? 'own' : 'first';
    const start = choice('Start from', [['own', 'Your own program'], ...Object.entries(examples).map(([key, e]) => [key, e.title])], first, load);
    place.append(
        el('h2', {}, 'Write'),
        el('p', { class: 'lead' }, 'Write a loss, a formula a line. Every operation that runs leaves a node on the tape; backward walks the tape from its end. Choose a box to see its value, its gradient and the rule that sent it.'),
        el('p', {}, start),
        el('div', { class: 'two' },
            el('div', {}, el('details', { open: !narrow() }, el('summary', {}, 'Matrices'), tables,
                el('form', { class: 'answer', onsubmit: add }, added, el('button', {}, 'Add a matrix'))),
                el('h3', {}, 'Program'), text, state,
                el('details', {}, el('summary', {}, 'The language'), el('p', { class: 'quiet' },
                    "A B is a product of matrices, o is entry by entry, / divides, X' or X^T transposes, A^-1 inverts, X^2 squares, <A, B> is an inner product, I the identity with as many rows as the first matrix. Functions: solve solve_spd cholesky logdet sum trace sym exp log softmax ce(X, T) diag tril."))),
            el('div', { class: 'seen' }, el('div', { class: 'answer' }, back, on, at, said), graph, details)));
    load(first);
}
