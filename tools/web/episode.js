// tools/web/episode.js - the room Episode: a readout fitted to a few points, and the gradient that an encoder would get
// through the fit.
import { choice, el, oncePerFrame, short, slider, svg } from './view.js';

const SIZE = 520, REACH = 4, CELLS = 44, PIXELS = 176, CLASSES = 3;
const heads = [['prototype_euclidean', 'prototypes'], ['ridge', 'ridge'], ['logistic', 'logistic regression'], ['svm', 'SVM (Crammer, Singer)']];
const within = (v) => Math.max(-REACH, Math.min(REACH, v));
const colours = ['var(--accent)', 'var(--ink)', 'var(--quiet)'];

function cloud() {
    const at = [[-1.8, 1.2], [1.7, 1.5], [0.1, -1.7]], spread = [[0.5, 0.3], [-0.4, 0.5], [0.3, -0.6], [-0.5, -0.3], [0.9, -0.2], [-0.2, 0.8]];
    return at.flatMap(([x, y], c) => spread.map(([dx, dy], i) => ({ x: x + dx * 1.1, y: y + dy * 1.1, c, query: i > 3 })));
}

export function episode(place, ask) {
    let points = cloud(), head = 'ridge', lambda = 0.1, shift = 0, focus = -1, story = '', later;
    const canvas = el('canvas', { width: PIXELS, height: PIXELS, 'aria-hidden': 'true', style: 'image-rendering:auto' });
    const plane = svg('svg', { viewBox: `0 0 ${SIZE} ${SIZE}`, role: 'group', 'aria-label': 'Points of three classes in the plane' });
    const told = el('div', { role: 'status' }), table = el('div');
    const redraw = oncePerFrame(draw);
    const P = ({ x, y }) => [((x + REACH) / (2 * REACH)) * SIZE, ((REACH - y) / (2 * REACH)) * SIZE];

    function request(name, cells) {
        const list = [...points.filter((p) => !p.query), ...points.filter((p) => p.query)];
        const grid = [];
        for (let i = 0; i < cells * cells; i++) {
            const x = ((i % cells) + 0.5) / cells, y = (Math.floor(i / cells) + 0.5) / cells;
            grid.push(`${(2 * x - 1) * REACH} ${(1 - 2 * y) * REACH}`);
        }
        const answer = ask(`episode ${name} ${lambda} ${list.filter((p) => !p.query).length} ${list.filter((p) => p.query).length} ${CLASSES} ${cells * cells} ${shift}\n${list.map((p) => `${p.x} ${p.y} ${p.c}`).join('\n')}\n${grid.join('\n')}`);
        return { ...answer, list };
    }

    const softmax = (z) => {
        const top = Math.max(...z), e = z.map((x) => Math.exp(x - top)), sum = e.reduce((a, b) => a + b);
        return e.map((x) => x / sum);
    };
    const row = (flat, i) => flat.slice(i * CLASSES, (i + 1) * CLASSES);

    /** Colours each pixel by its most likely class, from logits interpolated between the four nearest cells. */
    function paint(grid) {
        const style = getComputedStyle(document.documentElement), context = canvas.getContext('2d');
        const image = context.createImageData(PIXELS, PIXELS), z = [0, 0, 0];
        const rgb = ['--accent', '--ink', '--quiet'].map((name) => style.getPropertyValue(name).trim().match(/[0-9a-f]{2}/gi).map((h) => parseInt(h, 16)));
        const between = Array.from({ length: PIXELS }, (_, x) => Math.max(0, Math.min(CELLS - 1.001, ((x + 0.5) / PIXELS) * CELLS - 0.5)));
        for (let k = 0; k < PIXELS * PIXELS; k++) {
            const x = between[k % PIXELS], y = between[Math.floor(k / PIXELS)], i = Math.floor(x), j = Math.floor(y), p = x - i, q = y - j;
            for (let c = 0, at = (j * CELLS + i) * CLASSES; c < CLASSES; c++, at++)
                z[c] = (1 - q) * ((1 - p) * grid[at] + p * grid[at + CLASSES]) + q * ((1 - p) * grid[at + CELLS * CLASSES] + p * grid[at + (CELLS + 1) * CLASSES]);
            const best = z[1] > z[0] ? (z[2] > z[1] ? 2 : 1) : z[2] > z[0] ? 2 : 0, top = z[best];
            const sure = 1 / (Math.exp(z[0] - top) + Math.exp(z[1] - top) + Math.exp(z[2] - top)) - 1 / CLASSES;
            for (let c = 0; c < 3; c++) image.data[4 * k + c] = rgb[best][c];
            image.data[4 * k + 3] = best === 2 ? 12 + 18 * sure : 46 + 60 * sure;
        }
        context.putImageData(image, 0, 0);
    }

    function shape(p, i) {
        const [x, y] = P(p), r = 8, colour = colours[p.c];
        const common = { class: 'shape', fill: p.query ? 'var(--paper)' : colour, stroke: colour, 'stroke-width': 2.4 };
        const mark = p.c === 0 ? svg('circle', { cx: x, cy: y, r, ...common })
            : p.c === 1 ? svg('rect', { x: x - r, y: y - r, width: 2 * r, height: 2 * r, ...common })
                : svg('path', { d: `M${x} ${y - r - 2}L${x + r + 2} ${y + r}H${x - r - 2}Z`, ...common });
        const move = (dx, dy) => ((p.x = within(p.x + dx)), (p.y = within(p.y + dy)), redraw());
        return svg('g', { class: 'point', tabindex: 0, role: 'button', 'data-point': i,
            'aria-label': `${p.query ? 'query' : 'support'} point of class ${p.c + 1} at ${p.x.toFixed(1)}, ${p.y.toFixed(1)}; arrow keys move it`,
            onfocus: () => (focus = i), onblur: () => (focus = -1),
            onkeydown: (event) => {
                const by = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
                if (by) (event.preventDefault(), move(...by));
            },
            onpointerdown: (event) => {
                event.preventDefault();
                const box = plane.getBoundingClientRect();
                const drag = (e) => ((p.x = within(((e.clientX - box.left) / box.width) * 2 * REACH - REACH)),
                    (p.y = within(REACH - ((e.clientY - box.top) / box.height) * 2 * REACH)), redraw());
                const end = () => (removeEventListener('pointermove', drag), removeEventListener('pointerup', end));
                addEventListener('pointermove', drag);
                addEventListener('pointerup', end);
            } }, mark);
    }

    /** Arrows against the gradient, which lower the loss; the longest has 60 pixels. */
    function arrows(list, bars) {
        const size = Math.max(...bars.map(Math.abs), 1e-12);
        return list.map((p, i) => {
            const [x, y] = P(p), dx = (-bars[2 * i] / size) * 60, dy = (bars[2 * i + 1] / size) * 60;
            if (Math.hypot(dx, dy) < 3) return null;
            const angle = Math.atan2(dy, dx), tip = (d) => `${x + dx - 8 * Math.cos(angle + d)} ${y + dy - 8 * Math.sin(angle + d)}`;
            return svg('path', { d: `M${x} ${y}l${dx} ${dy}M${tip(0.45)}L${x + dx} ${y + dy}L${tip(-0.45)}`, fill: 'none', stroke: 'var(--ink)', 'stroke-width': 2, 'pointer-events': 'none' });
        });
    }

    function draw() {
        const answer = request(head, CELLS);
        if (answer.error) {
            told.replaceChildren(el('p', { class: 'wrong' }, answer.error));
            return;
        }
        paint(answer.grid);
        const kept = focus;
        plane.replaceChildren(...answer.list.map((p, i) => shape(p, i)), ...arrows(answer.list, [...answer.support_bar, ...answer.query_bar]).filter(Boolean));
        if (kept >= 0) plane.querySelector(`[data-point="${kept}"]`)?.focus();
        const queries = answer.list.filter((p) => p.query);
        const right = queries.filter((p, i) => { const z = row(answer.logits, i); return z.indexOf(Math.max(...z)) === p.c; }).length;
        const sure = queries.map((_, i) => Math.max(...softmax(row(answer.logits, i))));
        told.replaceChildren(el('p', {}, `Loss ${short(answer.loss)}; ${right} of ${queries.length} queries right; surest ${(100 * Math.max(...sure)).toFixed(0)}%.`), story ? el('p', { class: 'quiet' }, story) : '');
        clearTimeout(later);
        later = setTimeout(() => compare(answer.loss), 120); // compares the other readouts once the pointer rests
    }

    function compare(loss) {
        table.replaceChildren(el('table', { class: 'plain' }, el('thead', {}, el('tr', {}, el('th', {}, 'the same points'), el('th', {}, 'loss'))),
            el('tbody', {}, heads.map(([name, shown]) => el('tr', {}, el('td', {}, shown), el('td', {}, short(name === head ? loss : request(name, 0).loss)))))));
    }

    const moveCloud = () => {
        shift = shift ? 0 : 6;
        story = shift ? 'Every point has moved by (6, 6); the window moved along. Prototypes and logistic regression do not notice. The ridge, whose intercept is penalised, and the SVM do: boundaries and loss change, though nothing about the classes did.' : '';
        redraw();
    };
    const hull = () => {
        points = cloud();
        points.forEach((p) => p.c === 2 && ((p.y += 3.05), (p.x *= 0.5)));
        story = 'The third class now lies between the two others: its mean is in their hull. The ridge, which fits labels of 0 and 1 by least squares, leaves it a sliver away from its points and finds none of its queries at λ = 0.1; the other readouts find most.';
        redraw();
    };
    const norm = () => {
        points.filter((p) => p.query).forEach((p) => ((p.x = Math.max(-3.8, Math.min(3.8, p.x * 1.7))), (p.y = Math.max(-3.8, Math.min(3.8, p.y * 1.7)))));
        story = 'The queries have moved outwards along their own directions. Under a linear readout the logits grow with the norm of a point, and with them its confidence: being far away is read as being sure.';
        redraw();
    };
    const reset = () => ((points = cloud()), (shift = 0), (story = ''), redraw());

    place.append(el('h2', {}, 'Episode'),
        el('p', { class: 'lead' }, 'A readout is fitted to the filled points and judged on the hollow ones. Drag any point. An arrow is the step that lowers the loss: for filled points it reaches them through the fit itself.'),
        el('div', { class: 'two' }, el('div', {},
            el('p', {}, choice('Readout', heads, head, (value) => ((head = value), redraw()))),
            slider('λ (prototypes have none)', { low: -3, high: 2, step: 0.1, value: -1, show: (x) => short(Number((10 ** x).toPrecision(2))) }, (x) => ((lambda = 10 ** x), redraw())),
            told, el('h3', {}, 'Three pitfalls'),
            el('div', { class: 'answer' }, el('button', { onclick: moveCloud }, 'Translate the cloud'), el('button', { onclick: hull }, 'A prototype in the hull'),
                el('button', { onclick: norm }, 'Norm and confidence'), el('button', { onclick: reset }, 'Start again')), table),
        el('figure', { class: 'seen' }, el('div', { class: 'plane' }, canvas, plane), el('figcaption', {}, 'Circle, square, triangle: the three classes. Filled: support, fitted to. Hollow: queries, judged. Shading: the class of each place, stronger where it is surer.'))));
    draw();
}
