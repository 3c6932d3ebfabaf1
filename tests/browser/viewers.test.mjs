/* Our traces in other people's viewers: speedscope as its package ships it, and the viewer of
 * chrome://tracing as Go's tools ship it, where that is installed (package golang-src). */
import assert from 'node:assert/strict';
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {join} from 'node:path';
import test, {after, before} from 'node:test';
import {here, launch, makeFiles, traceViewer} from './setup.mjs';

let files, browser;
before(async () => {
    files = makeFiles();
    browser = await launch();
});
after(async () => {
    await browser?.close();
    files?.remove();
});

/* Opens a file in speedscope; returns what it complained of and its title. */
async function speedscope(path, name) {
    const script = files.at(name + '.js');
    writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(name)}, ${JSON.stringify(readFileSync(path).toString('base64'))})`);
    const page = await browser.newPage(), bad = [];
    page.on('pageerror', e => bad.push(e.message));
    page.on('console', m => ['warning', 'error'].includes(m.type()) && !/WebGL|GPU stall|swiftshader/i.test(m.text()) && bad.push(m.text()));
    await page.goto('file://' + join(here, 'node_modules/speedscope/dist/release/index.html') + '#localProfilePath=' + script);
    await page.waitForFunction(n => document.title.includes(n), name, {timeout: 30000});
    const text = await page.locator('body').innerText();
    await page.close();
    return {bad, text};
}

test('speedscope opens the Chrome trace', async () => {
    const {bad, text} = await speedscope(files.at('chrome.json'), 'chrome.json');
    assert.deepEqual(bad, []);
    assert.doesNotMatch(text, /Something went wrong/);
});

test('speedscope opens its own format', async () => {
    const {bad, text} = await speedscope(files.at('flame.speedscope.json'), 'trace.json');
    assert.deepEqual(bad, []);
    assert.doesNotMatch(text, /Something went wrong/);
});

test('the speedscope file keeps its schema', () => {
    const file = JSON.parse(readFileSync(files.at('flame.speedscope.json')));
    assert.equal(file.$schema, 'https://www.speedscope.app/file-format-schema.json');
    for (const profile of file.profiles) {
        const open = [];
        let last = profile.startValue;
        for (const e of profile.events) {
            assert.ok(e.at >= last && e.frame < file.shared.frames.length);
            last = e.at;
            if (e.type === 'O') open.push(e.frame);
            else assert.equal(open.pop(), e.frame);
        }
        assert.deepEqual(open, []);
    }
});

const viewer = traceViewer();
const harness = `<!doctype html><script>window.onerror = m => { window.failure = m; };</script>
<script src="/webcomponents.min.js"></script><script>
addEventListener('WebComponentsReady', async () => {
    try {
        const text = await (await fetch('/trace.json')).text();
        const model = new tr.Model(), options = new tr.importer.ImportOptions();
        options.trackDetailedModelStats = false;
        const importer = new tr.importer.Import(model, options);
        await importer.importTracesWithProgressDialog([text]);
        let slices = 0;
        for (const p of Object.values(model.processes))
            for (const t of Object.values(p.threads)) slices += t.sliceGroup.slices.length;
        window.result = {warnings: model.importWarnings.map(w => w.message || String(w)), flows: model.flowEvents.length, slices};
    } catch (e) {
        window.failure = String(e && e.stack || e);
    }
});
</script><link rel="import" href="/trace_viewer_full.html">`;

test('the chrome://tracing viewer imports the trace without a warning', {skip: !viewer && 'golang-src is not installed'}, async () => {
    const server = createServer((request, response) => {
        const name = request.url.slice(1);
        if (request.url === '/') response.setHeader('content-type', 'text/html').end(harness);
        else if (name === 'trace.json') response.end(readFileSync(files.at('chrome.json')));
        else if (existsSync(join(viewer, name)))
            response.setHeader('content-type', name.endsWith('.js') ? 'text/javascript' : 'text/html').end(readFileSync(join(viewer, name)));
        else response.writeHead(404).end();
    });
    await new Promise(done => server.listen(0, '127.0.0.1', done));
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.waitForFunction(() => window.result || window.failure, null, {timeout: 60000});
    assert.equal(await page.evaluate(() => window.failure), undefined);
    const result = await page.evaluate(() => window.result);
    assert.deepEqual(result.warnings, []);
    assert.equal(result.flows, 24 * 41);
    assert.ok(result.slices > 24 * 82);
    await page.close();
    server.close();
});

test('our own checker agrees', () => {
    assert.match(files.run('lint-trace', files.at('chrome.json')).toString(), /it meets all rules/);
});
