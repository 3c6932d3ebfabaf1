/* The strip of steps: bars in the colours of the legend, and why a long step is long. */
import assert from 'node:assert/strict';
import {writeFileSync} from 'node:fs';
import test, {after, before} from 'node:test';
import {launch, makeFiles, open, richTrace} from './setup.mjs';

let files, browser;
before(async () => {
    files = makeFiles();
    browser = await launch();
});
after(async () => {
    await browser?.close();
    files?.remove();
});

for (const colorScheme of ['light', 'dark'])
    test('step bars have the colours of the legend, ' + colorScheme, async () => {
        const {page, bad, close} = await open(browser, files.at('rich.html'), {colorScheme});
        const legend = await page.locator('#breakdown .swatch').evaluateAll(all => all.map(e => getComputedStyle(e).backgroundColor));
        const bars = await page.locator('#strip path').evaluateAll(all => all.map(e => getComputedStyle(e).fill));
        assert.ok(bars.length >= 2 && new Set(bars).size >= 2, bars.join(' '));
        for (const color of await page.locator('#strip .used path').evaluateAll(all => all.map(e => getComputedStyle(e).fill)))
            assert.ok(legend.includes(color), color + ' is not in the legend');
        assert.deepEqual(bad, []);
        await close();
    });

test('the step that waits for its data is explained', async () => {
    const {page, bad, close} = await open(browser, files.at('rich.html'));
    await page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
    const why = page.locator('.outliers li').first();
    assert.match(await why.innerText(), /^Step 5: 10\d ms, 2\.\d times the median.*5\d\.\d ms more.*waiting for input data.*longest gap/);
    await why.locator('button').click();
    assert.equal(await page.evaluate(() => window.gpuprofPage.step), 4);
    assert.deepEqual(bad, []);
    await close();
});

test('a bar that is cut has a gap and its length, and no label covers a bar', async () => {
    const long = richTrace(12), by = 800000; /* the first step starts so much earlier */
    for (const event of long.traceEvents)
        if (event.name === 'ProfilerStep#0') event.dur += by;
        else event.ts += by;
    writeFileSync(files.at('long.json'), JSON.stringify(long));
    files.run('report', files.at('long.json'), '-o', files.at('long.html'));
    for (const width of [390, 1280]) {
        const {page, bad, close} = await open(browser, files.at('long.html'), {viewport: {width, height: 900}});
        assert.equal(await page.locator('#strip .cut').count(), 1);
        const [label, ...others] = await page.locator('#steps .top:visible').all();
        assert.match(await label.innerText(), /^step 1: 8\d\d ms$/);
        const plot = await page.locator('#strip').boundingBox(), top = await page.locator('#steps .ytop').boundingBox();
        let last = top;
        for (const span of [label, ...others]) {
            const box = await span.boundingBox();
            assert.ok(box.x >= last.x + last.width && box.x + box.width <= width && box.y + box.height <= plot.y + 1, JSON.stringify([box, last, plot]));
            last = box;
        }
        assert.deepEqual(bad, []);
        await close();
    }
});
