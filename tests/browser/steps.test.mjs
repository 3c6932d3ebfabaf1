/* The strip of steps: bars in the colours of the legend, and why a long step is long. */
import assert from 'node:assert/strict';
import test, {after, before} from 'node:test';
import {launch, makeFiles, open} from './setup.mjs';

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
