// tests/web/browser.js - drives a browser without a window, Chromium over a pipe or Firefox over a socket; needs no
// other package.
'use strict';
const { spawn } = require('child_process'), fs = require('fs'), net = require('net'), os = require('os'), path = require('path');

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Speaks Chromium's DevTools protocol: JSON messages, each ended by a zero byte, on file descriptors 3 and 4. */
async function openChromium(program) {
    const home = fs.mkdtempSync(path.join(os.tmpdir(), 'web-'));
    const child = spawn(program, ['--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', `--user-data-dir=${home}`,
        '--no-first-run', '--disable-background-networking', '--hide-scrollbars', 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    const waiting = new Map(), listeners = [];
    let number = 0, text = '';
    child.stdio[4].on('data', (piece) => {
        text += piece;
        for (let end; (end = text.indexOf('\0')) >= 0; text = text.slice(end + 1)) {
            const message = JSON.parse(text.slice(0, end));
            if (message.id) waiting.get(message.id)(message);
            else listeners.forEach((listen) => listen(message));
        }
    });
    let session;
    const send = (method, params = {}) => new Promise((done, fail) => {
        waiting.set(++number, (answer) => (answer.error ? fail(new Error(`${method}: ${answer.error.message}`)) : done(answer.result)));
        child.stdio[3].write(`${JSON.stringify({ id: number, method, params, sessionId: session })}\0`);
    });
    const { targetInfos } = await send('Target.getTargets');
    session = (await send('Target.attachToTarget', { targetId: targetInfos.find((t) => t.type === 'page').targetId, flatten: true })).sessionId;
    const said = [], requests = [];
    listeners.push(({ method, params }) => {
        if (method === 'Runtime.consoleAPICalled') said.push(params.args.map((a) => a.value ?? a.description).join(' '));
        if (method === 'Runtime.exceptionThrown') said.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
        if (method === 'Log.entryAdded') said.push(params.entry.text);
        if (method === 'Network.requestWillBeSent' && !/^(data|blob|about):/.test(params.request.url)) requests.push(params.request.url);
    });
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await send(`${domain}.enable`);
    return {
        name: 'chromium', said, requests, send, listen: () => {},
        async evaluate(code) {
            const { result, exceptionDetails } = await send('Runtime.evaluate', { expression: `(async () => { ${code} })()`, awaitPromise: true, returnByValue: true });
            if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
            return result.value;
        },
        open: (url) => send('Page.navigate', { url }),
        size: (width, height = 900) => send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 }),
        prefer: (features) => send('Emulation.setEmulatedMedia', { features: Object.entries(features).map(([name, value]) => ({ name, value })) }),
        async picture(file) {
            fs.writeFileSync(file, Buffer.from((await send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true })).data, 'base64'));
        },
        async close() {
            child.kill();
            await pause(300);
            fs.rmSync(home, { recursive: true, force: true, maxRetries: 3 });
        },
    };
}

/** Speaks Firefox's Marionette protocol: messages "LENGTH:[type, number, ..]" on a socket. The page's console is read from standard
 * output; its errors and its requests from the browser's own window. */
async function openFirefox(program) {
    const home = fs.mkdtempSync(path.join(os.tmpdir(), 'web-'));
    const port = 20000 + (process.pid % 20000);
    const settings = { 'marionette.port': port, 'app.update.enabled': false,
        'devtools.console.stdout.content': true, 'devtools.console.stdout.chrome': false }; // the page's console, and no other voice
    fs.writeFileSync(path.join(home, 'user.js'), Object.entries(settings).map(([name, value]) => `user_pref("${name}", ${value});\n`).join(''));
    const child = spawn(program, ['--headless', '--marionette', '--remote-allow-system-access', '--profile', home, '--no-remote'],
        { stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, HOME: home } });
    const said = [];
    child.stdout.on('data', (text) => said.push(...String(text).split('\n').filter((line) => /^console\.\w+: (?!RSLoader)/.test(line)))); // RSLoader: the browser's own
    let socket;
    for (let tries = 0; !socket && tries < 120; tries++) {
        socket = await new Promise((done) => {
            const s = net.connect(port, '127.0.0.1', () => done(s));
            s.on('error', () => done(null));
        });
        if (!socket) await pause(250);
    }
    const waiting = new Map();
    let buffer = Buffer.alloc(0), number = 0;
    socket.on('data', (piece) => {
        buffer = Buffer.concat([buffer, piece]);
        for (;;) {
            const colon = buffer.indexOf(':'), length = Number(buffer.subarray(0, colon));
            if (colon < 0 || buffer.length < colon + 1 + length) break;
            const message = JSON.parse(buffer.subarray(colon + 1, colon + 1 + length));
            buffer = buffer.subarray(colon + 1 + length);
            if (Array.isArray(message)) waiting.get(message[1])(message);
        }
    });
    const send = (name, params = {}) => new Promise((done, fail) => {
        waiting.set(++number, ([, , error, result]) => (error ? fail(new Error(error.message)) : done(result)));
        const text = JSON.stringify([0, number, name, params]);
        socket.write(`${Buffer.byteLength(text)}:${text}`);
    });
    await send('WebDriver:NewSession', { capabilities: {} });
    /** In the browser's own window, whose scripts see every page. */
    async function inBrowser(script) {
        await send('Marionette:SetContext', { value: 'chrome' });
        const { value } = await send('WebDriver:ExecuteScript', { script, args: [] });
        await send('Marionette:SetContext', { value: 'content' });
        return value;
    }
    await inBrowser(`window.askedFor = [];
        Services.obs.addObserver((channel) => { channel.QueryInterface(Ci.nsIHttpChannel);
            if (!channel.loadInfo.triggeringPrincipal.isSystemPrincipal) window.askedFor.push(channel.URI.spec); }, 'http-on-opening-request');`);
    return {
        name: 'firefox', said, requests: [],
        async listen() {
            const [errors, asked] = await inBrowser(`return [Services.console.getMessageArray().filter((m) => m instanceof Ci.nsIScriptError && /^(file|data|blob|about:blank)/.test(m.sourceName))
                .map((m) => m.errorMessage), window.askedFor];`);
            said.push(...errors);
            this.requests.push(...asked);
        },
        evaluate: async (code) => (await send('WebDriver:ExecuteAsyncScript', { script: `const done = arguments[0]; (async () => { ${code} })().then(done, (e) => done('error: ' + e));`, args: [] })).value,
        open: (url) => send('WebDriver:Navigate', { url }),
        size: (width, height = 900) => send('WebDriver:SetWindowRect', { width, height }),
        picture: async (file) => fs.writeFileSync(file, Buffer.from((await send('WebDriver:TakeScreenshot', { full: true })).value, 'base64')),
        async close() {
            await send('Marionette:Quit', { flags: ['eForceQuit'] }).catch(() => {});
            child.kill();
            await pause(500);
            fs.rmSync(home, { recursive: true, force: true, maxRetries: 3 });
        },
    };
}

module.exports = { openChromium, openFirefox, pause };
