// tools/web/main.js - opens the engine and the rooms.
import { openEngine } from './engine.js';
import { derive } from './derive.js';
import { el } from './view.js';
import { episode } from './episode.js';
import { exercises } from './exercises.js';
import { solve } from './solve.js';
import { unroll } from './unroll.js';
import { write } from './write.js';

const rooms = { write: ['Write', write], solve: ['Solve', solve], episode: ['Episode', episode], unroll: ['Unroll', unroll], derive: ['Derive', derive], exercises: ['Exercises', exercises] };
const place = document.getElementById('room'), nav = document.querySelector('nav');
let ask;

function enter(name) {
    for (const tab of nav.children) {
        const here = tab.dataset.room === name;
        tab.setAttribute('aria-selected', String(here));
        tab.tabIndex = here ? 0 : -1;
    }
    if (!ask) return;
    place.replaceChildren();
    rooms[name][1](place, ask, rules);
    document.title = `${rooms[name][0]} · Differentiable solvers`;
}

const wanted = () => (location.hash.slice(1) in rooms ? location.hash.slice(1) : 'write');
const names = Object.keys(rooms);
nav.append(...names.map((name) => el('button', { role: 'tab', 'data-room': name, 'aria-controls': 'room', onclick: () => (location.hash = name) }, rooms[name][0])));
nav.addEventListener('keydown', (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = names[(names.indexOf(wanted()) + by + names.length) % names.length];
    location.hash = next;
    nav.querySelector(`[data-room="${next}"]`).focus();
});
addEventListener('hashchange', () => enter(wanted()));
enter(wanted());

const rules = JSON.parse(document.getElementById('rules').textContent);
// The module waits until the page has been drawn once.
await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
const packed = Uint8Array.from(atob(document.getElementById('wasm').textContent), (c) => c.charCodeAt(0));
const bytes = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
ask = await openEngine(bytes);
enter(wanted());
document.documentElement.dataset.ready = performance.now().toFixed(0);
