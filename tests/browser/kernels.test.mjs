/* The kernels as areas. */
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

for (const [width, colorScheme] of [[390, 'light'], [1280, 'dark'], [1920, 'light']])
    test(`areas are shares of the kernel time, at ${width}, ${colorScheme}`, async () => {
        const {page, bad, close} = await open(browser, files.at('example.html'), {viewport: {width, height: 900}, colorScheme, javaScriptEnabled: false});
        const all = await page.locator('.treemap').boundingBox();
        const label = await page.locator('.treemap').getAttribute('aria-label');
        const boxes = await page.locator('.kind').evaluateAll(kinds => kinds.map(e => [e.querySelector('b').textContent, e.getBoundingClientRect().width * e.getBoundingClientRect().height]));
        assert.ok(boxes.length >= 3);
        for (const [kind, area] of boxes) {
            const share = Number(label.match(kind + ' ([0-9.]+) %')[1]);
            assert.ok(Math.abs(100 * area / (all.width * all.height) - share) < 1, kind + ': ' + share + ' % has ' + 100 * area / (all.width * all.height));
        }
        for (const name of await page.locator('.leaf span:visible').all()) {
            const text = await name.boundingBox(), box = await name.locator('..').boundingBox();
            assert.ok(text.y + text.height <= box.y + box.height + 1, 'a label stays in its box');
        }
        assert.deepEqual(bad, []);
        await close();
    });
