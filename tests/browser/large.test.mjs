/* A trace of 216,000 events: the page stays small and answers soon. */
import assert from 'node:assert/strict';
import {statSync, writeFileSync} from 'node:fs';
import test, {after, before} from 'node:test';
import {launch, makeFiles, open, richTrace} from './setup.mjs';

const BYTES = 1e6, STEPS = 74; /* of 2,923 events */
const READY_MS = 500, SLOW_MACHINE = 3; /* half a second is the aim on a free core; a busy one gets three times as long */
let files, browser;
before(async () => {
    files = makeFiles();
    browser = await launch();
    const trace = richTrace(STEPS);
    assert.ok(trace.traceEvents.length > 216000);
    writeFileSync(files.at('large.json'), JSON.stringify(trace));
    files.run('report', files.at('large.json'), '-o', files.at('large.html'));
});
after(async () => {
    await browser?.close();
    files?.remove();
});

test('the page of a large trace has less than 1 MB', () => {
    assert.ok(statSync(files.at('large.html')).size < BYTES, statSync(files.at('large.html')).size + ' bytes');
});

test('it can be used soon', async t => {
    const times = [];
    for (let k = 0; k < 6 && !(times.at(-1) < READY_MS); k++) { /* the machine may have other work */
        const {page, bad, close} = await open(browser, files.at('large.html'));
        await page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
        times.push(await page.evaluate(() => window.gpuprofReady));
        assert.deepEqual(bad, []);
        await close();
    }
    t.diagnostic('usable after ' + times.map(ms => ms.toFixed(0)).join(', ') + ' ms');
    assert.ok(Math.min(...times) < READY_MS * SLOW_MACHINE, times.join(', ') + ' ms');
});

test('a find among all its events is answered soon', async () => {
    const {page, bad, close} = await open(browser, files.at('large.html'));
    await page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
    const ms = await page.evaluate(() => {
        const t = performance.now();
        window.gpuprofPage.timeline.search('kernel');
        window.gpuprofPage.match(1);
        return performance.now() - t;
    });
    assert.ok(ms < 1000 * SLOW_MACHINE, ms + ' ms');
    assert.deepEqual(bad, []);
    await close();
});
