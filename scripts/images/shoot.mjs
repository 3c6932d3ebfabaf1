/* The pictures of docs/images, of the inputs that inputs.py made: shoot.mjs INPUTS IMAGES TESTS, where TESTS is
 * tests/browser, whose packages it uses. The trace is shown in the viewer of chrome://tracing as Go's tools ship it (package
 * golang-src). */
import {existsSync, readFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const [inputs, images, tests] = process.argv.slice(2).map(path => resolve(path));
const {launch, traceViewer} = await import(pathToFileURL(join(tests, 'setup.mjs')));
const viewer = traceViewer();
const browser = await launch();

async function shot(name, {url, width = 1280, height = 800, colorScheme = 'light', ready, click, part, clip}) {
    const context = await browser.newContext({viewport: {width, height}, colorScheme, deviceScaleFactor: 1});
    const page = await context.newPage();
    await page.goto(url);
    await page.waitForFunction(ready || (() => window.gpuprofReady), null, {timeout: 60000});
    if (click) await page.mouse.click(...click);
    if (click) await page.waitForTimeout(500);
    const path = join(images, name + '.png');
    await (part ? page.locator(part) : page).screenshot({path, ...clip && {clip}});
    console.log(path);
    await context.close();
}

/* What a terminal shows of text with colours: black ground, one span for each. */
function terminalPage(text) {
    const colors = {1: 'font-weight:bold', 2: 'opacity:.6', 31: 'color:#ff7b72', 32: 'color:#56d382', 33: 'color:#e3b341', 36: 'color:#76e3ea'};
    const body = text.replace(/\r/g, '').replace(/[&<]/g, c => ({'&': '&amp;', '<': '&lt;'})[c])
        .split(/\x1b\[([0-9;]*)m/).map((part, i) => i % 2 ? '</span><span style="' + part.split(';').map(n => colors[n] || '').join(';') + '">' : part).join('');
    return 'data:text/html;charset=utf-8,' + encodeURIComponent(`<body style="margin:0;background:#0d1117"><pre style="margin:0;padding:16px 18px;width:80ch;height:${24 * 20}px;
        font:15px/20px 'DejaVu Sans Mono',monospace;color:#e6edf3">$ gpuprof analyze train.gpuprof\n<span>${body}</span></pre>`);
}

const viewerPage = `<!doctype html><style>html,body{margin:0;height:100%} tr-ui-timeline-view{position:absolute;inset:0}</style>
<script>window.onerror = (m, at, line) => { window.failure = m + at + line; };</script><script src="/webcomponents.min.js"></script><script>
addEventListener('WebComponentsReady', async () => {
    const model = new tr.Model(), importer = new tr.importer.Import(model, new tr.importer.ImportOptions());
    await importer.importTracesWithProgressDialog([await (await fetch('/trace.json')).text()]);
    const view = document.createElement('tr-ui-timeline-view'), tracks = document.createElement('track-view-container');
    tracks.id = 'track_view_container';
    view.track_view_container = tracks;
    Polymer.dom(view).appendChild(tracks);
    view.globalMode = true;
    Polymer.dom(document.body).appendChild(view);
    view.viewTitle = 'trace.json';
    view.model = model;
    setTimeout(() => { window.shown = true; }, 3000);
});
</script><link rel="import" href="/trace_viewer_full.html"><body></body>`;

async function traceInViewer() {
    const server = createServer((request, response) => {
        const name = request.url.slice(1), path = name === 'trace.json' ? join(inputs, name) : join(viewer, name);
        if (!name) response.setHeader('content-type', 'text/html').end(viewerPage);
        else if (existsSync(path)) response.setHeader('content-type', name.endsWith('.js') ? 'text/javascript' : 'text/html').end(readFileSync(path));
        else response.writeHead(404).end();
    });
    await new Promise(done => server.listen(0, '127.0.0.1', done));
    await shot('trace', {url: `http://127.0.0.1:${server.address().port}/`, height: 900, ready: () => window.shown || window.failure,
                         click: [1259, 42], /* hides a notice on old features of browsers */
                         clip: {x: 0, y: 0, width: 1280, height: 540}});
    server.close();
}

const page = pathToFileURL(join(inputs, 'page.html')).href, ranks = pathToFileURL(join(inputs, 'ranks.html')).href;
await shot('terminal', {url: terminalPage(readFileSync(join(inputs, 'terminal.txt'), 'utf8')), part: 'pre', ready: () => true});
for (const colorScheme of ['light', 'dark']) await shot('page-' + colorScheme, {url: page, colorScheme});
await shot('timeline', {url: page, part: '#timeline'});
await shot('ranks', {url: ranks, part: '#ranks'});
if (viewer) await traceInViewer();
else console.log('trace.png is not made: golang-src is not installed');
await browser.close();
