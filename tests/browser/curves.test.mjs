/* What was sampled, drawn over time. */
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
    test('utilisation, memory, clock and power are curves, without JavaScript, ' + colorScheme, async () => {
        const {page, bad, close} = await open(browser, files.at('samples.html'), {colorScheme, javaScriptEnabled: false});
        const labels = await page.locator('#curves svg').evaluateAll(all => all.map(e => e.getAttribute('aria-label')));
        assert.deepEqual(labels, ['GPU utilisation: mean 50.0 %, highest 100 %', 'memory used: mean 4.51 GB, highest 9.00 GB',
                                  'SM clock: mean 1410 MHz, highest 1410 MHz', 'power: mean 225 W, highest 300 W']);
        const heights = await page.locator('#curves svg path').evaluateAll(all => all.map(e => [e.getBBox().height, e.getTotalLength()]));
        assert.ok(heights[0][0] > 90, 'utilisation goes from bottom to top');
        assert.ok(heights[2][0] < 1, 'the clock is level');
        assert.deepEqual(bad, []);
        await close();
    });

test('a recording without samples has no curves', async () => {
    const {page, close} = await open(browser, files.at('example.html'));
    assert.equal(await page.locator('#curves').count(), 0);
    await close();
});
