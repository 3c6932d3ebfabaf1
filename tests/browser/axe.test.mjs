/* Screen readers: axe finds nothing in any page, in either theme, at three widths. */
import assert from 'node:assert/strict';
import test, {after, before} from 'node:test';
import {axe, launch, makeFiles, open} from './setup.mjs';

let files, browser;
before(async () => {
    files = makeFiles();
    browser = await launch();
});
after(async () => {
    await browser?.close();
    files?.remove();
});

const asked = [
    {width: 1280, colorScheme: 'light', contrast: true},
    {width: 390, colorScheme: 'light', contrast: false},
    {width: 1920, colorScheme: 'light', contrast: false},
    {width: 390, colorScheme: 'dark', contrast: true},
    {width: 1920, colorScheme: 'dark', contrast: false},
];

for (const name of ['page', 'rich', 'samples', 'lines', 'empty'])
    test(`axe finds nothing to complain about in ${name}.html`, async () => {
        const {page, bad, close} = await open(browser, files.at(name + '.html'), {bypassCSP: true});
        await page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
        await page.evaluate(() => document.querySelectorAll('details').forEach(d => { d.open = true; }));
        for (const {width, colorScheme, contrast} of asked) {
            const where = `${name}.html, ${colorScheme}, ${width}: `;
            await page.emulateMedia({colorScheme});
            await page.setViewportSize({width, height: 900});
            assert.deepEqual(await axe(page, {contrast}), [], where + 'violations');
            const [wide, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
            assert.ok(wide <= inner, where + 'it scrolls sideways: ' + wide + ' > ' + inner);
        }
        assert.deepEqual(bad, []);
        await close();
    });
