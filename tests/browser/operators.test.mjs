/* What launched the work: nested names as boxes, and the same as a table. */
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

for (const [width, colorScheme] of [[390, 'dark'], [1280, 'light'], [1920, 'dark']])
    test(`operators have their kernels, at ${width}, ${colorScheme}`, async () => {
        const {page, bad, close} = await open(browser, files.at('rich.html'), {viewport: {width, height: 900}, colorScheme, javaScriptEnabled: false});
        const cells = await page.locator('#operatortable tbody tr').first().locator('th, td').allInnerTexts();
        assert.equal(cells[0], 'aten::linear');
        assert.equal(cells[1], '1,460');
        assert.equal(cells[3], '100.0 %');
        assert.match(cells[4], /ampere_sgemm_128x128_tn/);
        assert.match(cells[4], /vectorized_elementwise/);
        assert.equal(cells[5], '64 x 2048 float, 1000 x 2048 float, 1000 float');
        const boxes = await page.locator('.flame i').evaluateAll(all => all.map(e => ({name: e.title.split(':')[0], top: e.offsetTop, left: e.getBoundingClientRect().left, right: e.getBoundingClientRect().right})));
        assert.equal(boxes.length, 3);
        assert.equal(boxes[0].name, 'aten');
        for (const kernel of boxes.slice(1)) {
            assert.ok(kernel.top > boxes[0].top, 'a kernel is below its operator');
            assert.ok(kernel.left >= boxes[0].left - 1 && kernel.right <= boxes[0].right + 1);
        }
        assert.deepEqual(bad, []);
        await close();
    });
