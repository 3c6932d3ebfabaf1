/* Screen readers: axe finds nothing in any page, in either theme, at three widths. */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
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

for (const name of ['page', 'rich', 'samples', 'lines', 'empty'])
    for (const colorScheme of ['light', 'dark'])
        for (const width of [390, 1280, 1920])
            test(`axe finds nothing to complain about in ${name}.html, ${colorScheme}, ${width}`, async () => {
                const {page, bad, close} = await open(browser, files.at(name + '.html'), {colorScheme, bypassCSP: true, viewport: {width, height: 900}});
                await page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
                await page.evaluate(() => document.querySelectorAll('details').forEach(d => { d.open = true; }));
                await page.addScriptTag({content: readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8')});
                const {violations} = await page.evaluate(() => window.axe.run({resultTypes: ['violations']}));
                assert.deepEqual(violations.map(v => v.id + ': ' + v.nodes.map(n => n.target).slice(0, 3).join(' | ')), []);
                const [wide, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
                assert.ok(wide <= inner, 'it scrolls sideways: ' + wide + ' > ' + inner);
                assert.deepEqual(bad, []);
                await close();
            });
