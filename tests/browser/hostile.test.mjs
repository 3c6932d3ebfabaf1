/* Names that try to become markup or script, in every place where the page shows one. */
import assert from 'node:assert/strict';
import {writeFileSync} from 'node:fs';
import test, {after, before} from 'node:test';
import {evilName, launch, makeFiles, open} from './setup.mjs';

const evil = what => what + ' ' + evilName + '"\'><svg onload="window.hurt=2">{{7*7}}\u202e\u001b[31m';
let files, browser;
before(async () => {
    files = makeFiles(evil('GPU'));
    browser = await launch();
});
after(async () => {
    await browser?.close();
    files?.remove();
});

function hostileTrace() {
    const host = {pid: 4242, tid: 4242}, events = [
        {ph: 'M', name: 'process_name', pid: 4242, args: {name: evil('process')}},
        {ph: 'M', name: 'thread_name', ...host, args: {name: evil('thread')}},
    ];
    for (let step = 0; step < 12; step++) {
        const t = 1000 + step * 20000;
        events.push({ph: 'X', cat: 'user_annotation', name: 'ProfilerStep#' + step, ...host, ts: t, dur: 19990},
            {ph: 'X', cat: 'cpu_op', name: evil('operator'), ...host, ts: t + 10, dur: 12000},
            {ph: 'X', cat: 'cuda_runtime', name: evil('cudaCall'), ...host, ts: t + 12500, dur: 5, args: {correlation: step + 1}},
            {ph: 'X', cat: 'kernel', name: evil('kernel'), pid: 0, tid: 7, ts: t + 13000, dur: 3000,
             args: {device: 0, stream: 7, correlation: step + 1, grid: [1, 1, 1], block: [32, 1, 1]}});
    }
    return {schemaVersion: 1, traceEvents: events, deviceProperties: [
        {id: 0, name: evil('GPU'), totalGlobalMem: 1, computeMajor: 9, computeMinor: 0, numSms: 132}]};
}

test('no name becomes markup or runs', async () => {
    writeFileSync(files.at('<img src=x onerror="window.hurt=3">.json'), JSON.stringify(hostileTrace()));
    files.run('report', files.at('<img src=x onerror="window.hurt=3">.json'), '-o', files.at('hostile.html'));
    const {page, bad, close} = await open(browser, files.at('hostile.html'));
    page.on('dialog', d => bad.push('dialog: ' + d.message()));
    await page.waitForFunction(() => !/Reading/.test(document.querySelector('#where').textContent));
    for (const name of ['kernel', 'operator', 'cudaCall']) {
        await page.fill('#find', name);
        await page.keyboard.press('Enter');
    }
    const box = await page.locator('#canvas').boundingBox();
    for (let y = 10; y < box.height; y += 12) { /* details of whatever lies there */
        await page.mouse.click(box.x + box.width * 0.7, box.y + y);
        await page.mouse.move(box.x + box.width * 0.3, box.y + y);
    }
    for (const header of await page.locator('th button:visible, th[aria-sort]:visible').all()) await header.click();
    await page.waitForTimeout(100);
    assert.equal(await page.evaluate(() => window.hurt), undefined);
    assert.equal(await page.locator('img, iframe, svg[onload]').count(), 0);
    const text = await page.locator('body').innerText();
    assert.match(text, /onerror="window\.hurt=1"/); /* it is shown, as text */
    assert.doesNotMatch(text, /[\u202e\u001b]/);
    assert.doesNotMatch(text, /49\}\}/);
    assert.deepEqual(bad, []);
    await close();
});
