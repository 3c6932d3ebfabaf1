/* What is said of a selected span, and where the buttons lead: two streams and two GPUs at work at once, more events than fit. */
import assert from 'node:assert/strict';
import {writeFileSync} from 'node:fs';
import test, {after, before} from 'node:test';
import {launch, makeFiles, open, richTrace} from './setup.mjs';

/* Six steps of 10 ms: a copy of 6 ms, beside it a kernel of 4 ms, both on GPU 0; on GPU 1 a kernel that never ends. The GPUs
 * work so many microseconds behind the host. */
function busyTrace(behind) {
    const events = [], host = {pid: 4242, tid: 4242};
    let correlation = 1;
    const work = (call, cat, name, launched, device, stream, ts, dur, args) => {
        events.push({ph: 'X', cat: 'cuda_runtime', name: call, ...host, ts: launched, dur: 5, args: {correlation}},
            {ph: 'X', cat, name, pid: device, tid: stream, ts: ts + behind, dur, args: {device, stream, correlation, ...args}});
        correlation++;
    };
    const launch = {grid: [64, 1, 1], block: [256, 1, 1]};
    for (let step = 0; step < 6; step++) {
        const t = 1000 + 10000 * step;
        events.push({ph: 'X', cat: 'user_annotation', name: 'ProfilerStep#' + step, ...host, ts: t, dur: 9990});
        work('cudaMemcpyAsync', 'gpu_memcpy', 'Memcpy HtoD (Pinned -> Device)', t + 10, 0, 7, t + 1000, 6000, {bytes: 1e6});
        work('cudaLaunchKernel', 'kernel', 'sgemm', t + 20, 0, 8, t + 2000, 4000, launch);
        work('cudaLaunchKernel', 'kernel', 'other_gemm', t + 30, 1, 7, t + 50, 9900, launch);
    }
    const device = id => ({id, name: 'NVIDIA A100', totalGlobalMem: 85e9, computeMajor: 8, computeMinor: 0, numSms: 108});
    return {schemaVersion: 1, deviceProperties: [device(0), device(1)], baseTimeNanoseconds: 0, traceEvents: events};
}

let files, browser;
before(async () => {
    files = makeFiles();
    browser = await launch();
    const make = (name, trace) => {
        writeFileSync(files.at(name + '.json'), JSON.stringify(trace));
        files.run('report', files.at(name + '.json'), '-o', files.at(name + '.html'));
    };
    make('busy', busyTrace(0));
    make('ahead', busyTrace(40000));
    make('many', richTrace(74));
});
after(async () => {
    await browser?.close();
    files?.remove();
});

async function ready(name, options) {
    const opened = await open(browser, files.at(name + '.html'), options);
    await opened.page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
    return opened;
}

test('the parts of a selection are those of one GPU, and add up to it', async () => {
    const {page, bad, close} = await ready('busy');
    const {gpu, sums} = await page.evaluate(() => {
        const {timeline, data} = window.gpuprofPage, row = data.rows.find(r => r.gpu === data.gaps.gpu && r.start.length);
        const at = row.start[2] - 1e5;
        window.gpuprofPage.select([at, at + 1e7]);
        return {gpu: data.gaps.gpu, sums: timeline.sums(at, at + 1e7)};
    });
    assert.match(gpu, /^GPU [01]$/);
    const whole = sums.parts.reduce((a, b) => a + b, 0);
    assert.ok(Math.abs(whole - 1e7) < 1e4, JSON.stringify(sums));
    const text = await page.locator('#details').innerText();
    assert.ok(text.includes('10.0 ms, ') && text.includes(' of ' + gpu), text);
    if (gpu === 'GPU 0') assert.match(text, /40\.0 %[^]*20\.0 %[^]*40\.0 %/);
    assert.deepEqual(bad, []);
    await close();
});

test('what buttons lead to is on the page', async () => {
    const {page, bad, close} = await ready('many');
    assert.equal(await page.evaluate(() => window.gpuprofPage.data.all), false);
    const buttons = page.locator('button.zoom');
    assert.ok(await buttons.count() > 20);
    for (const button of await buttons.all()) {
        await button.evaluate(e => e.click());
        const [text, events] = await page.evaluate(() => {
            const {timeline} = window.gpuprofPage;
            const events = timeline.data.rows.flatMap(r => r.start.filter((s, i) => s < timeline.view[1] && s + r.length[i] > timeline.view[0]));
            return [document.getElementById('details').innerText, events.length];
        });
        assert.ok(events > 0, text);
        assert.doesNotMatch(text, /not on this page/);
    }
    const gap = await page.evaluate(() => {
        const {data: {steps}} = window.gpuprofPage, k = steps.detail.indexOf(0), at = steps.start[k] + steps.until[k] / 2;
        window.gpuprofPage.select([at, at + 1e6]);
        return document.getElementById('details').innerText;
    });
    assert.match(gap, /1\.00 ms; its events are not on this page/);
    assert.deepEqual(bad, []);
    await close();
});

test('a step leads to its work on the GPU where the host runs ahead', async () => {
    const {page, bad, close} = await ready('ahead');
    await page.evaluate(() => window.gpuprofPage.choose(2));
    assert.match(await page.locator('#where').textContent(), /The GPU does its work 37\.0 ms to 47\.0 ms after its start\./);
    await page.locator('#gpuwork').click();
    const seen = await page.evaluate(() => {
        const {timeline} = window.gpuprofPage, [from, to] = window.gpuprofPage.gpuSpan(2), row = timeline.lines.find(l => l.row.kind === 'gpu')?.row;
        return {in: timeline.view[0] <= from && timeline.view[1] >= to, row: Boolean(row)};
    });
    assert.deepEqual(seen, {in: true, row: true});
    assert.deepEqual(bad, []);
    await close();
    const other = await ready('busy');
    assert.ok(!await other.page.locator('#gpuwork').isVisible());
    await other.close();
});

test('without steps no button chooses one, and without a GPU nothing is green', async () => {
    const host = {pid: 4242, tid: 4242, ph: 'X', cat: 'cpu_op'};
    writeFileSync(files.at('host.json'), JSON.stringify({schemaVersion: 1, baseTimeNanoseconds: 0, traceEvents: [
        {...host, name: 'aten::mm', ts: 1000, dur: 800}, {...host, name: 'aten::add', ts: 2000, dur: 300}]}));
    files.run('report', files.at('host.json'), '-o', files.at('host.html'));
    const {page, bad, close} = await ready('host');
    assert.equal(await page.evaluate(() => window.gpuprofPage.stepCount()), 0);
    for (const id of ['prev', 'next', 'run', 'gpuwork']) assert.ok(!await page.locator('#' + id).isVisible(), id);
    assert.equal(await page.locator('#fit').innerText(), 'whole recording');
    const green = await page.evaluate(() => {
        const {timeline, minimap} = window.gpuprofPage, c = minimap.canvas.getContext('2d'), wanted = parseInt(timeline.partColor[0].slice(1), 16);
        const {data} = c.getImageData(minimap.canvas.width / 2, minimap.canvas.height / 2, 1, 1);
        return (data[0] << 16 | data[1] << 8 | data[2]) === wanted;
    });
    assert.ok(!green);
    assert.deepEqual(bad, []);
    await close();
});
