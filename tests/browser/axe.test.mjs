/* Screen readers: axe finds nothing in any page, in either theme, at three widths. The contrast of colours takes axe nine tenths
 * of its time, and hangs on the theme, not on the width: it is asked once in each theme, narrow in the dark one. */
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

const contrast = 'color-contrast';
const asked = [
    {width: 1280, colorScheme: 'light', rules: {}},
    {width: 390, colorScheme: 'light', rules: {[contrast]: {enabled: false}}},
    {width: 1920, colorScheme: 'light', rules: {[contrast]: {enabled: false}}},
    {width: 390, colorScheme: 'dark', rules: {}},
    {width: 1920, colorScheme: 'dark', rules: {[contrast]: {enabled: false}}},
];

for (const name of ['page', 'rich', 'samples', 'lines', 'empty'])
    test(`axe finds nothing to complain about in ${name}.html`, async () => {
        const {page, bad, close} = await open(browser, files.at(name + '.html'), {bypassCSP: true});
        await page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
        await page.evaluate(() => document.querySelectorAll('details').forEach(d => { d.open = true; }));
        await page.addScriptTag({content: readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8')});
        for (const {width, colorScheme, rules} of asked) {
            const where = `${name}.html, ${colorScheme}, ${width}: `;
            await page.emulateMedia({colorScheme});
            await page.setViewportSize({width, height: 900});
            const {violations} = await page.evaluate(rules => window.axe.run({resultTypes: ['violations'], rules}), rules);
            assert.deepEqual(violations.map(v => v.id + ': ' + v.nodes.map(n => n.target).slice(0, 3).join(' | ')), [], where + 'violations');
            const [wide, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
            assert.ok(wide <= inner, where + 'it scrolls sideways: ' + wide + ' > ' + inner);
        }
        assert.deepEqual(bad, []);
        await close();
    });
