/* Memory that PyTorch's allocator gave out, as its profiler lists it: a curve, and who holds the peak. */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import test, {after, before} from 'node:test';
import {launch, makeFiles, open} from './setup.mjs';

const STEPS = 4, STEP_US = 10000, BEFORE = 1000e6, LARGE = 700e6, SMALL = 100e6;

/* Four steps: a product keeps much for its backward pass, an addition little. */
const trace = () => {
    const events = [];
    let inUse = BEFORE;
    const span = (cat, name, ts, dur, args = {}) => events.push({ph: 'X', cat, name, pid: 7, tid: 7, ts, dur, args});
    const piece = (ts, Addr, Bytes) => events.push({ph: 'i', s: 't', cat: 'cpu_instant_event', name: '[memory]', pid: 7, tid: 7, ts,
        args: {'Device Type': 1, 'Device Id': 0, Addr, Bytes, 'Total Allocated': inUse += Bytes, 'Total Reserved': 2e9}});
    for (let i = 0; i < STEPS; i++) {
        const at = 1000 + i * STEP_US;
        span('user_annotation', `ProfilerStep#${i}`, at, STEP_US);
        span('cpu_op', 'aten::mm', at + 100, 100);
        piece(at + 120, 4096, LARGE);
        span('cuda_runtime', 'cudaLaunchKernel', at + 150, 10, {correlation: 2 * i + 1});
        span('kernel', 'gemm', at + 170, 4000, {device: 0, stream: 7, correlation: 2 * i + 1});
        span('cpu_op', 'aten::add', at + 300, 100);
        piece(at + 320, 8192, SMALL);
        span('cuda_runtime', 'cudaLaunchKernel', at + 350, 10, {correlation: 2 * i + 2});
        span('kernel', 'add', at + 4200, 4000, {device: 0, stream: 7, correlation: 2 * i + 2});
        piece(at + 8000, 8192, -SMALL);
        piece(at + 9000, 4096, -LARGE);
    }
    return {deviceProperties: [{id: 0, name: 'GPU'}], traceEvents: events};
};

let files, browser;
before(async () => {
    files = makeFiles();
    browser = await launch();
    writeFileSync(files.at('memory.json'), JSON.stringify(trace()));
    files.run('report', files.at('memory.json'), '-o', files.at('memory.html'));
});
after(async () => {
    await browser?.close();
    files?.remove();
});

for (const colorScheme of ['light', 'dark'])
    test('the curve rises with each step, and the peak has its holders, without JavaScript, ' + colorScheme, async () => {
        const {page, bad, close} = await open(browser, files.at('memory.html'), {colorScheme, javaScriptEnabled: false});
        assert.equal(await page.locator('#memory svg').getAttribute('aria-label'), 'memory in use: highest 1.80 GB');
        const path = await page.locator('#memory svg path').getAttribute('d');
        const heights = path.slice(1).split('L').map(point => Number(point.split(' ')[1]));
        const rises = heights.filter((y, i) => i > 0 && heights[i - 1] > y + 20).length;
        assert.equal(rises, STEPS, path);
        const rows = await page.locator('#holders tbody tr').allInnerTexts();
        assert.deepEqual(rows.map(row => row.split('\t').map(cell => cell.trim())), [['before the recording', '', '1.00 GB', '55.6', ''],
            ['aten::mm', '', '700 MB', '38.9', '1'], ['aten::add', '', '100 MB', '5.6', '1']]);
        assert.deepEqual(bad, []);
        await close();
    });

test('a recording without pieces has no such section', async () => {
    const {page, close} = await open(browser, files.at('example.html'));
    assert.equal(await page.locator('#memory').count(), 0);
    await close();
});

/* What the hook records in gpuprof's own recordings. */
const addMemory = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
top, = db.execute("select max(id) from string").fetchone()
said = "peak=40000000000, reserved=50000000000, available=80000000000, total=85000000000, weights=4000000000, gradients=4000000000," \\
    " optimizer=8000000000, forward=20000000000"
db.executemany("insert into string (id, text) values (?, ?)", ((top + 1, "torch.memory"), (top + 2, said)))
process, = db.execute("select id from process order by id limit 1").fetchone()
db.execute("insert into meta (id, process, key, value) values ((select max(id) + 1 from meta), ?, ?, ?)", (process, top + 1, top + 2))
db.commit()
`;

for (const [width, colorScheme] of [[390, 'light'], [1280, 'dark'], [1920, 'light']])
    test(`gpuprof's own recordings say what the memory is for, ${width}, ${colorScheme}`, async () => {
        files.run('import', '-f', files.at('trace.json'), '-o', files.at('own.gpuprof'));
        execFileSync('python3', ['-c', addMemory, files.at('own.gpuprof')]);
        files.run('report', '-f', files.at('own.gpuprof'), '-o', files.at('own.html'));
        const {page, bad, close} = await open(browser, files.at('own.html'), {viewport: {width, height: 900}, colorScheme});
        const rows = await page.locator('#kinds tr').evaluateAll(all => all.map(row => [...row.cells].slice(0, 3).map(cell => cell.textContent)));
        assert.deepEqual(rows, [['in use at the peak', '40.0 GB', '47.1 %'], ['weights', '4.00 GB', '4.7 %'], ['their gradients', '4.00 GB', '4.7 %'],
            ['optimizer', '8.00 GB', '9.4 %'], ['kept for backward', '20.0 GB', '23.5 %'], ['held by the allocator', '50.0 GB', '58.8 %'],
            ['what the process can get', '80.0 GB', '94.1 %']]);
        const said = await page.locator('#memory p').first().textContent();
        const text = String(files.run('analyze', files.at('own.gpuprof'))).replace(/\s+/g, ' ');
        assert.ok(text.includes('Memory ' + said.replace(/\.$/, '')), said + ' | ' + text);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
        assert.deepEqual(bad, []);
        await close();
    });
