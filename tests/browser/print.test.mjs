/* The page on paper. */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {after, before} from 'node:test';
import {executable, launch, makeFiles, open, switches} from './setup.mjs';

let files, browser;
before(async () => {
    files = makeFiles();
    browser = await launch();
});
after(async () => {
    await browser?.close();
    files?.remove();
});

async function ready(options, name = 'page') {
    const opened = await open(browser, files.at(name + '.html'), options);
    await opened.page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
    return opened;
}

for (const colorScheme of ['light', 'dark'])
    test('print shows what the screen shows, unfolded and in light colours, without the controls, ' + colorScheme, async () => {
        const {page, bad, close} = await ready({colorScheme});
        await page.locator('#kerneltable th button', {hasText: 'ms'}).click();
        const first = await page.locator('#kerneltable tbody th').first().textContent();
        const folded = await page.locator('details:not([open])').count();
        await page.emulateMedia({media: 'print'});
        await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
        assert.equal(await page.locator('details:not([open]):not(.lanes)').count(), 0);
        for (const part of ['#canvas', '#minimap', '#where', '.treemap', '#strip', '#kerneltable'])
            assert.ok(await page.locator(part).isVisible(), part);
        for (const control of ['#find', '#prev', 'nav', '#kernelfilter', 'button.zoom'])
            assert.ok(!await page.locator(control).first().isVisible(), control);
        assert.equal(await page.locator('#kerneltable tbody th').first().textContent(), first);
        assert.ok(await page.locator('#kerneltable thead th').first().innerText(), 'the heads are there');
        assert.deepEqual(await page.evaluate(() => [window.gpuprofPage.timeline.ink, getComputedStyle(document.body).color]), ['#1b2129', 'rgb(27, 33, 41)']);
        const [canvas, frame] = await page.evaluate(() => ['canvas', 'frame'].map(id => document.getElementById(id).getBoundingClientRect()).map(b => b.width));
        assert.ok(Math.abs(canvas - frame) < 4, 'the timeline is as wide as the paper');
        assert.deepEqual(await page.evaluate(() => [...new Set(window.gpuprofPage.timeline.lines.map(l => l.row.kind))]), ['gpu']);
        const sizes = await page.evaluate(() => ['.tiles dd', 'h2', '#breakdown .legend', 'body', '.data'].map(what => parseFloat(getComputedStyle(document.querySelector(what)).fontSize)));
        assert.ok(sizes[0] > sizes[1] && sizes[1] > sizes[3] && sizes[3] > sizes[2] && sizes[3] > sizes[4], 'type sizes ' + sizes);
        await page.emulateMedia({media: 'screen'});
        await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
        assert.equal(await page.locator('details:not([open])').count(), folded);
        assert.ok(await page.evaluate(() => window.gpuprofPage.timeline.lines.some(l => l.row.kind === 'host')));
        assert.deepEqual(bad, []);
        await close();
    });

/* Chromium prints a page of nothing but blank sheets where something is wider than the paper, 720 pixels of it. */
for (const name of ['page', 'rich', 'samples', 'example', 'empty'])
    test('nothing is wider than the paper: ' + name, async () => {
        const {page, close} = await ready({viewport: {width: 720, height: 1000}}, name);
        await page.emulateMedia({media: 'print'});
        await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
        const wide = await page.evaluate(() => [...document.querySelectorAll('body *')]
            .filter(e => e.getBoundingClientRect().right > 721).map(e => e.tagName + '#' + e.id + ' ' + e.textContent.slice(0, 40)));
        assert.deepEqual(wide, []);
        await close();
    });

/* How many text operators a PDF has: Chromium compresses each page's commands with zlib. */
const countTexts = `
import re, sys, zlib
total = 0
for part in re.findall(rb"stream\\r?\\n(.*?)endstream", open(sys.argv[1], "rb").read(), re.S):
    try:
        total += len(re.findall(rb"\\bT[jJ]\\b", zlib.decompressobj().decompress(part)))
    except zlib.error:
        pass
print(total)
`;

for (const name of ['page', 'rich', 'example'])
    test('a PDF made by the command line has its texts: ' + name, () => {
        const folder = mkdtempSync(join(tmpdir(), 'gpuprof-print-')), pdf = join(folder, 'page.pdf');
        try {
            execFileSync(executable, ['--headless', ...switches, '--user-data-dir=' + join(folder, 'profile'), '--no-pdf-header-footer',
                                      '--print-to-pdf=' + pdf, 'file://' + files.at(name + '.html')], {stdio: 'ignore', timeout: 60000});
            const texts = Number(execFileSync('python3', ['-c', countTexts, pdf], {encoding: 'utf8'}));
            assert.ok(texts > 200, `${texts} texts in ${readFileSync(pdf).length} bytes`);
        } finally {
            rmSync(folder, {recursive: true, maxRetries: 5});
        }
    });
