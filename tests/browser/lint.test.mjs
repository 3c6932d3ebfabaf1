/* gpuprof lint-trace: for each rule a trace that breaks it and nothing else. */
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import test, {after} from 'node:test';
import {here} from './setup.mjs';

const gpuprof = resolve(process.env.GPUPROF || join(here, '../../build/bin/gpuprof'));
const folder = mkdtempSync(join(tmpdir(), 'gpuprof-lint-'));
after(() => rmSync(folder, {recursive: true}));

const launch = '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4242, "tid": 4242, "ts": 1.000, "dur": 5.000, "args": {"correlation": 1}}';
const kernel = '{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 9.000, "dur": 20.000, "args": {"stream": 7, "correlation": 1}}';
const begin = '{"ph": "s", "id": 1, "pid": 4242, "tid": 4242, "cat": "ac2g", "name": "ac2g", "ts": 1.000}';
const end = '{"ph": "f", "bp": "e", "id": 1, "pid": 0, "tid": 7, "cat": "ac2g", "name": "ac2g", "ts": 9.000}';
const good = [launch, begin, kernel, end];

const document = events => '{"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": [\n' + events.join(',\n') + '\n]}\n';
const change = (from, to) => document(good.map(e => e.replaceAll(from, to)));

function lint(text, name = 'x.json') {
    const path = join(folder, name);
    writeFileSync(path, text);
    const {status, stdout, stderr} = spawnSync(gpuprof, ['lint-trace', path], {encoding: 'utf8'});
    return {status, rules: [...stdout.matchAll(/^([A-Z]\d) {2}/gm)].map(m => m[1]), stderr};
}

/* Two steps that touch to the nanosecond; 0.1 + 0.2 is more than 0.3 for a reader of doubles. */
const steps = (at, length, apart = 0) => [0, 1].map(i => '{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#' + i + '", "pid": 9, "tid": 9, "ts": ' +
    (at + i * (length + apart)).toFixed(3) + ', "dur": ' + length.toFixed(3) + '}');

const broken = {
    F1: document(good).replace('"rank": 0', '"rank":0'),
    F2: change('"name": "k"', '"name": "a\u0001b"'),
    T1: change('"ts": 9.000', '"ts": 9'),
    T2: document(good.map(e => e.replace(/"ts": (\d)/, '"ts": 166978368746418$1'))),
    T5: document([launch, '{"ph": "X", "cat": "x", "name": "n", "pid": 3, "tid": 3, "ts": 1.000}']),
    N1: document([...good, '{"ph": "B", "cat": "x", "name": "n", "pid": 3, "tid": 3, "ts": 1.000}']),
    N2: document([...good, kernel.replace('9.000', '2.000').replace('20.000', '3.000')]),
    N3: document([...good, kernel.replace('9.000', '15.000')]),
    N4: document([...good, ...steps(0.1, 0.2)]),
    I1: document([...good, launch.replace('"tid": 4242', '"tid": -3')]),
    I2: document([...good, launch.replace('"tid": 4242', '"tid": 0')]),
    I3: document([...good, launch.replace('"pid": 4242', '"pid": "Spans"')]),
    L1: document([launch, begin, kernel]),
    L2: change('"bp": "e", ', ''),
    L3: document([...good, begin, end]),
    C2: document([...good, '{"ph": "C", "name": "c", "pid": 3, "tid": 0, "ts": 1.000, "args": 4}']),
    C3: change('"cat": "cuda_runtime", ', ''),
    V1: change('"stream": 7, ', ''),
};

test('steps that are a nanosecond apart are apart for all readers', () => assert.deepEqual(lint(document([...good, ...steps(0.1, 0.199, 0.001)])).rules, []));
test('a good trace keeps all rules', () => assert.deepEqual(lint(document(good)), {status: 0, rules: [], stderr: ''}));
for (const [rule, text] of Object.entries(broken))
    test('finds what breaks ' + rule, () => assert.deepEqual(lint(text), {status: 1, rules: [rule], stderr: ''}));
test('finds a name that viewers do not know', () => assert.deepEqual(lint(document(good), 'x.trace').rules, ['F4']));
test('refuses what is cut off, in one line', () => {
    const {status, stderr} = lint(document(good).slice(0, -20));
    assert.equal(status, 2);
    assert.match(stderr, /^gpuprof: .*not a complete Chrome trace.*\n$/);
});
