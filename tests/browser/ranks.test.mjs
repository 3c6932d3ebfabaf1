/* The page of a job of many ranks: a late node is a band of the heat map, few ranks are drawn one by one, and all are in the table. */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {copyFileSync, readdirSync, statSync} from 'node:fs';
import {join} from 'node:path';
import test, {after, before} from 'node:test';
import {axe, here, launch, makeFiles, open} from './setup.mjs';

const RANKS = 64, STEPS = 8, EXCHANGES = 4, LATE_US = 1500;
const late = rank => rank >= 16 && rank < 32;
const makeJob = `
import sys
sys.path.insert(0, sys.argv[1])
from many_ranks import Job
Job(${RANKS}, late=lambda rank, step: ${LATE_US} if 16 <= rank < 32 else 0).write(sys.argv[2])
`;
let files, browser, page, bad, close;
before(async () => {
    files = makeFiles();
    browser = await launch();
    execFileSync('python3', ['-c', makeJob, join(here, '../golden'), files.at('job')]);
    files.run('report', files.at('job'), '-o', files.at('job.html'));
    ({page, bad, close} = await open(browser, files.at('job.html')));
    await page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
});
after(async () => {
    assert.deepEqual(bad, []);
    await close?.();
    await browser?.close();
    files?.remove();
});

/* The levels of a picture, 0 to 255, by rank and column. */
const levels = which => page.evaluate(async n => {
    const image = document.querySelectorAll('.heatmap')[n];
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), {width: image.naturalWidth, height: image.naturalHeight});
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
    return Array.from({length: canvas.height}, (_, y) => Array.from({length: canvas.width}, (_, x) => pixels[4 * (y * canvas.width + x) + 3]));
}, which);

test('the late ranks are a band, in every step and every collective', async () => {
    for (const [which, columns] of [[0, STEPS], [1, EXCHANGES]]) {
        const rows = await levels(which);
        assert.equal(rows.length, RANKS);
        rows.forEach((row, rank) => {
            assert.equal(row.length, columns);
            const counted = which === 0 ? row.slice(1) : row; // nobody recorded where the first step begins: it does not count
            for (const level of counted)
                assert.ok(late(rank) ? level > 180 : level < 90, `rank ${rank}: ${row}`);
        });
    }
});

test('the pointer tells rank, step and time', async () => {
    const image = page.locator('.heatmap').first();
    await image.scrollIntoViewIfNeeded();
    const box = await image.boundingBox();
    await page.mouse.move(box.x + box.width * 2.5 / STEPS, box.y + box.height * 20.5 / RANKS);
    const said = await page.locator('.heat output').first().textContent();
    const [, ms] = said.match(/^rank 20, step 3: ([\d.]+) ms late$/) || [];
    assert.ok(Math.abs(Number(ms) - LATE_US / 1000) < 0.1, said);
    await page.mouse.move(0, 0);
    assert.equal(await image.getAttribute('data-numbers'), '0:1');
    assert.deepEqual(await page.evaluate(() => [0, 7, 8, 9].map(i => heatNumber({numbers: '0:1 8:17'}, i))), [1, 8, 17, 18], 'behind steps that were not recorded');
});

test('few ranks are drawn one by one, the late ones among them', async () => {
    const labels = await page.locator('#ranks .barlabel').allTextContents();
    assert.ok(labels.length > 4 && labels.length <= 16, labels.join('; '));
    assert.ok(labels.some(label => /^rank 0 analysed$/.test(label)), labels.join('; '));
    assert.ok(labels.some(label => late(Number(label.match(/\d+/)[0]))), labels.join('; '));
    const lanes = await page.evaluate(() => new Set(window.gpuprofPage.timeline.data.rows.map(r => (r.name.match(/^rank \d+/) || [''])[0])).size);
    assert.equal(lanes, labels.length);
});

test('the page says how many ranks there are, and whose its numbers and gaps are', async () => {
    assert.match(await page.locator('header .sub').innerText(), /64 ranks; the numbers are of rank 0 unless they name another/);
    assert.match(await page.evaluate(() => window.gpuprofPage.data.gaps.gpu), /^rank 0: GPU/);
});

test('a page of several files names them all, as a shell takes them', async () => {
    const [first, second] = [0, 1].map(rank => files.at(`rank ${rank}.json.gz`));
    for (const [rank, path] of [first, second].entries())
        copyFileSync(files.at('job/' + readdirSync(files.at('job')).find(name => name.includes(`rank${rank}.`))), path);
    files.run('report', second, first, '-o', files.at('two.html'));
    const other = await open(browser, files.at('two.html'), {javaScriptEnabled: false});
    assert.equal(await other.page.locator('h1').innerText(), 'rank 1.json.gz and 1 more file');
    const about = await other.page.locator('#about').innerText();
    assert.ok(about.includes(`made this page from ${second}, ${first}.`), about);
    assert.ok(about.includes(`gpuprof export '${second}' '${first}' -o trace.json.gz`), about);
    await other.close();
});

test('the table has all ranks', async () => {
    assert.equal(await page.locator('#ranks .tall tbody tr').count(), RANKS);
});

test('the late rank stands beside one in time, and its own page can be had', async () => {
    const rows = await page.locator('#beside tr').allInnerTexts();
    const [late, inTime] = /rank (\d+), late\s+rank (\d+)/.exec(rows[0]).slice(1).map(Number);
    assert.ok(late >= 16 && late < 32 && !(inTime >= 16 && inTime < 32), rows[0]);
    const longer = Number(/^kernels.*\+(\d\.\d+)$/s.exec(rows[1])[1]);
    assert.ok(Math.abs(longer - LATE_US / 1e3) < 0.1, rows.join('; '));
    assert.match(rows[2], /^GPU idle.*\s0$/s);
    const asked = /report --rank (\d+)/.exec(await page.locator('#ranks').innerText())[1];
    files.run('report', '--rank', asked, files.at('job'), '-o', files.at('rank.html'));
    const other = await open(browser, files.at('rank.html'), {javaScriptEnabled: false});
    assert.ok((await other.page.locator('header .sub').innerText()).includes(`the numbers are of rank ${asked} unless`));
    await other.close();
});

test('the page is small, and fits 1280 pixels', async () => {
    assert.ok(statSync(files.at('job.html')).size < 600e3, statSync(files.at('job.html')).size + ' bytes');
    await page.setViewportSize({width: 1280, height: 800});
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 1280));
    for (const image of await page.locator('.heatmap').all()) {
        const box = await image.boundingBox();
        assert.ok(box.width > 300 && box.x + box.width <= 1280, JSON.stringify(box));
    }
});

for (const colorScheme of ['light', 'dark'])
    for (const width of [390, 1280])
        test(`axe finds nothing to complain about, ${colorScheme}, ${width}`, async () => {
            const other = await open(browser, files.at('job.html'), {colorScheme, bypassCSP: true, viewport: {width, height: 900}});
            await other.page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
            assert.deepEqual(await axe(other.page, {contrast: width > 390}), []);
            assert.ok(await other.page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'it scrolls sideways');
            assert.deepEqual(other.bad, []);
            await other.close();
        });
