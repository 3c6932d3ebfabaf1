/* What the tests share: a small trace of a slow run, the files made of it, and the browser.
 *
 *   GPUPROF=build/bin/gpuprof node --test tests/browser
 *
 * Needs Chromium (CHROMIUM, else /usr/bin/chromium) and `npm ci` in this folder. */
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {gunzipSync} from 'node:zlib';
import {chromium} from 'playwright-core';

export const here = dirname(fileURLToPath(import.meta.url));
export const evilName = '</script><img src=x onerror="window.hurt=1">';
const gpuprof = resolve(process.env.GPUPROF || join(here, '../../build/bin/gpuprof'));

/* 24 steps of 20 ms: 12 ms without work, then a copy and 40 kernels, each with its launch. */
function trace(device) {
    const events = [], add = event => events.push(event);
    const names = ['sm90_xmma_gemm_bf16', 'bn_fw_tr_1C11_kernel_NCHW', evilName, 'vectorized_elementwise_kernel'];
    let correlation = 1;
    for (let step = 0; step < 24; step++) {
        const t = 1000 + step * 20000;
        const host = {pid: 4242, tid: 4242}, gpu = {pid: 0, tid: 7};
        add({ph: 'X', cat: 'user_annotation', name: 'ProfilerStep#' + step, ...host, ts: t, dur: 19990});
        add({ph: 'X', cat: 'cpu_op', name: 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__', ...host, ts: t + 10, dur: 12000});
        const work = (name, cat, call, at, k, args) => {
            add({ph: 'X', cat: 'cuda_runtime', name: call, ...host, ts: at, dur: 5, args: {correlation}});
            add({ph: 'X', cat, name, ...gpu, ts: at + 20 + k, dur: 150, args: {device: 0, stream: 7, correlation, ...args}});
            correlation++;
        };
        work('Memcpy HtoD (Pageable -> Device)', 'gpu_memcpy', 'cudaMemcpyAsync', t + 12100, 0, {bytes: 19267584});
        for (let k = 0; k < 40; k++)
            work(names[k % 4], 'kernel', 'cudaLaunchKernel', t + 12120 + 8 * k, 200 + 152 * k, {grid: [64, 1, 1], block: [256, 1, 1]});
    }
    return {schemaVersion: 1, deviceProperties: [{id: 0, name: device, totalGlobalMem: 1, computeMajor: 9, computeMinor: 0, numSms: 132}],
            baseTimeNanoseconds: 0, traceEvents: events};
}

export const longName = 'void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)';

/* Ten steps of 50 ms: an operator with two kernels inside it, 1,460 launches a step, the fifth step twice as long
 * because its data comes late, memory that grows. */
export function richTrace(steps = 10) {
    const events = [], host = {pid: 4242, tid: 4242}, gpu = {pid: 0, tid: 7};
    let t = 1000, correlation = 1;
    for (let step = 0; step < steps; step++) {
        const wait = step === 4 ? 60000 : 5000, length = 45000 + wait;
        events.push({ph: 'X', cat: 'user_annotation', name: 'ProfilerStep#' + step, ...host, ts: t, dur: length},
            {ph: 'X', cat: 'cpu_op', name: 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__', ...host, ts: t + 1, dur: wait},
            {ph: 'X', cat: 'cpu_op', name: 'aten::linear', ...host, ts: t + wait + 10, dur: 30000,
             args: {'External id': step + 1, 'Input Dims': [[64, 2048], [1000, 2048], [1000]], 'Input type': ['float', 'float', 'float']}});
        for (let k = 0; k < 1460; k++) {
            const at = t + wait + 20 + 20 * k;
            events.push({ph: 'X', cat: 'cuda_runtime', name: 'cudaLaunchKernel', ...host, ts: at, dur: 5, args: {correlation}},
                {ph: 'X', cat: 'kernel', name: k % 2 ? longName : 'ampere_sgemm_128x128_tn', ...gpu, ts: at + 15, dur: 12,
                 args: {device: 0, stream: 7, correlation, grid: [4, 16, 8], block: [64, 1, 1]}});
            correlation++;
        }
        t += length;
    }
    return {schemaVersion: 1, deviceProperties: [{id: 0, name: 'NVIDIA A100', totalGlobalMem: 85e9, computeMajor: 8, computeMinor: 0, numSms: 108}],
            baseTimeNanoseconds: 0, traceEvents: events};
}

/* A copy of a profile with 300 samples of its first GPU: it works half of the time, its memory grows to 9 GB. */
const addSamples = `
import shutil, sqlite3, sys
shutil.copy(sys.argv[1], sys.argv[2])
db = sqlite3.connect(sys.argv[2])
device, = db.execute("select min(id) from device").fetchone()
start, end = db.execute("select min(start_ns), max(end_ns) from kernel").fetchone()
for i in range(300):
    db.execute("insert into gpu_sample (id, device, time_ns, util_pct, memory_used_bytes, sm_clock_mhz, memory_clock_mhz,"
               " power_mw, temperature_c, throttle_reasons, pcie_tx_bytes_per_s, pcie_rx_bytes_per_s)"
               " values (?, ?, ?, ?, ?, 1410, 1215, ?, 50, 0, 0, 0)",
               (10 ** 6 + i, device, start + (end - start) * i // 300, 100 if i % 2 else 0, 30_000_000 * (i + 1), 150_000 + 500 * i))
db.commit()
`;

/* Into a profile: two lines of a function made its launches, in turn, and its first thread waits in a third line. */
const addLines = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
def text(s):
    db.execute("insert into string (id, text) values ((select max(id) + 1 from string), ?)", (s,))
    return db.execute("select max(id) from string").fetchone()[0]
file, library = text("/home/me/train.py"), text("/usr/lib/python3.11/selectors.py")
for row in ((1, 0, file, text("Net.forward"), 9), (2, 0, file, 0, 12), (3, 0, file, text("main"), 40), (4, 3, library, text("select"), 415)):
    db.execute("insert into stack (id, caller, file, function, line) values (?, ?, ?, ?, ?)", row)
db.execute("update stack set function = (select function from stack where id = 1) where id = 2")
launches = db.execute("select process, thread, start_ns from api where correlation > 0 order by start_ns").fetchall()
for i, (process, thread, start) in enumerate(launches):
    db.execute("insert into launch_line values (?, ?, ?, ?, -1, 1, 1, ?)", (i + 2, process, thread, start - 1, 1 + (i % 3 == 0)))
process, thread, first = launches[0]
last = launches[-1][2]
db.execute("insert into launch_line values (1, ?, -1, ?, ?, 1, 0, 0)", (process, first - 9, last + 9))
for i in range(2000):
    at = first + (last - first) * i // 2000
    db.execute("insert into stack_sample values (?, ?, ?, ?, ?, 1, 0, 0, 4)", (i + 1, process, thread, at, at))
db.commit()
`;

/* Of a profile of 24 steps: steps 9 to 16 were not recorded, only their times, in blocks of four; in step 11 lies a long one. */
const addWindows = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
name, = db.execute("select id from string where text like 'ProfilerStep#%' order by id limit 1").fetchone()
steps = [s for s, in db.execute("select r.start_ns from range r join string s on s.id = r.name where s.text like 'ProfilerStep#%' order by 1")]
end, = db.execute("select max(end_ns) from range").fetchone()
for table in ("kernel", "copy", "api", "range"):
    db.execute(f"delete from {table} where start_ns >= ? and start_ns < ?", (steps[8], steps[16]))
db.execute("update process set start_ns = ?, end_ns = ?", (steps[0], end + 1))
process, = db.execute("select id from process order by id limit 1").fetchone()
for i, (first, last) in enumerate(((0, 8), (16, 24))):
    stop = steps[last] if last < 24 else end
    db.execute("insert into recorded values (?, ?, ?, ?, ?, ?, ?)", (i + 1, process, steps[first], stop, steps[first] if not i else -1, stop, first + 1 if i else 0))
bounds = [*steps, end]
for i in range(6):
    each = [b - a for a, b in zip(bounds[4 * i:], bounds[4 * i + 1:4 * i + 5])]
    longest = 3 * max(each) if i == 2 else max(each)
    db.execute("insert into step_block values (?, ?, ?, 4, ?, ?, ?, ?)", (i + 1, process, 4 * i + 1, bounds[4 * i], bounds[4 * i + 4], min(each), longest))
top, = db.execute("select max(id) from string").fetchone()
db.executemany("insert into string (id, text) values (?, ?)", ((top + 1, "windows.way"), (top + 2, "enough")))
db.execute("insert into meta (id, process, key, value) values ((select max(id) + 1 from meta), ?, ?, ?)", (process, top + 1, top + 2))
db.commit()
`;

/* The folder with trace.json (ours), page.html, chrome.json and speedscope.json. */
export function makeFiles(device = 'NVIDIA H200') {
    const folder = mkdtempSync(join(tmpdir(), 'gpuprof-browser-')), at = name => join(folder, name);
    writeFileSync(at('trace.json'), JSON.stringify(trace(device)));
    const run = (...args) => execFileSync(gpuprof, [...args, '--quiet'], {stdio: ['ignore', 'pipe', 'inherit']});
    writeFileSync(at('empty.json'), '{"traceEvents": []}');
    run('report', at('trace.json'), '-o', at('page.html'));
    writeFileSync(at('rich.json'), JSON.stringify(richTrace()));
    run('report', at('rich.json'), '-o', at('rich.html'));
    run('report', at('empty.json'), '-o', at('empty.html'));
    const example = readFileSync(join(here, '../../docs/examples/train_conv-workers0.gpuprof.gz'));
    writeFileSync(at('example.gpuprof'), gunzipSync(example));
    run('report', at('example.gpuprof'), '-o', at('example.html'));
    execFileSync('python3', ['-c', addSamples, at('example.gpuprof'), at('samples.gpuprof')]);
    run('report', at('samples.gpuprof'), '-o', at('samples.html'));
    run('import', at('trace.json'), '-o', at('lines.gpuprof'));
    execFileSync('python3', ['-c', addLines, at('lines.gpuprof')]);
    run('report', at('lines.gpuprof'), '-o', at('lines.html'));
    run('import', at('trace.json'), '-o', at('light.gpuprof'));
    execFileSync('python3', ['-c', addWindows, at('light.gpuprof')]);
    run('report', at('light.gpuprof'), '-o', at('light.html'));
    run('export', at('trace.json'), '-o', at('chrome.json'));
    run('export', at('trace.json'), '-o', at('trace.pftrace'));
    run('export', '--format', 'speedscope', at('trace.json'), '-o', at('flame.speedscope.json'));
    return {at, run, remove: () => rmSync(folder, {recursive: true})};
}

/* The folder with the viewer of chrome://tracing, of whichever version of Go's sources is there (package golang-src). */
export function traceViewer() {
    const all = existsSync('/usr/share') ? readdirSync('/usr/share').filter(name => name.startsWith('go-')) : [];
    return all.flatMap(name => ['cmd/trace/static', 'internal/trace/traceviewer/static'].map(at => join('/usr/share', name, 'src', at)))
        .find(path => existsSync(join(path, 'trace_viewer_full.html')));
}

export const executable = process.env.CHROMIUM || '/usr/bin/chromium';
export const switches = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
                         '--disable-component-update', '--disable-sync', '--force-prefers-reduced-motion'];

export function launch() {
    return chromium.launch({executablePath: executable, args: switches});
}

/* A page that collects what it should not do: errors, console warnings, requests. */
export async function open(browser, path, options = {}) {
    const context = await browser.newContext({offline: true, viewport: {width: 1280, height: 900}, ...options});
    const page = await context.newPage(), bad = [];
    page.on('pageerror', e => bad.push('error: ' + e.message));
    page.on('console', m => ['error', 'warning'].includes(m.type()) && bad.push('console: ' + m.text()));
    page.on('request', r => r.url().startsWith('file:') || r.url().startsWith('blob:') || r.url().startsWith('data:') || bad.push('request: ' + r.url()));
    await page.goto('file://' + path);
    return {page, bad, close: () => context.close()};
}

/** What axe finds wrong in the page. The contrast of colours takes nine tenths of its time, and hangs on the theme, not on the
 * width or on what was chosen before: a test asks for it once in each theme. The page is opened with bypassCSP. */
export async function axe(page, {contrast = true} = {}) {
    await page.addScriptTag({content: readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8')});
    const {violations} = await page.evaluate(rules => window.axe.run({resultTypes: ['violations'], rules}), {'color-contrast': {enabled: contrast}});
    return violations.map(v => v.id + ': ' + v.nodes.map(n => n.target).slice(0, 3).join(' | '));
}
