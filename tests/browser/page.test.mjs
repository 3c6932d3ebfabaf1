/* The page in a real browser, from file://, with the network off. */
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

async function ready(options) {
    const opened = await open(browser, files.at('page.html'), options);
    await opened.page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
    return opened;
}

/* How many pixels of the canvas are not empty. */
function drawnPixels() {
    const c = document.getElementById('canvas');
    const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
    let n = 0;
    for (let i = 3; i < data.length; i += 4) n += data[i] > 0;
    return n;
}

for (const colorScheme of ['light', 'dark'])
    test('works from a file without network, ' + colorScheme, async () => {
        const {page, bad, close} = await ready({colorScheme});
        assert.ok(await page.evaluate(drawnPixels) > 10000);
        assert.equal(await page.evaluate(() => window.hurt), undefined);
        assert.equal(await page.locator('img').count(), 0);
        assert.deepEqual(bad, []);
        await close();
    });

test('verdict, findings and tables are readable without JavaScript', async () => {
    const {page, bad, close} = await open(browser, files.at('page.html'), {javaScriptEnabled: false});
    assert.ok(await page.locator('#verdict .verdict').isVisible());
    assert.ok((await page.locator('#verdict .verdict').textContent()).length > 20);
    assert.ok(await page.locator('#breakdown .bar').first().isVisible());
    assert.ok(await page.locator('#kerneltable tbody tr').count() >= 4);
    assert.ok(await page.locator('noscript').count() > 0);
    for (const button of await page.locator('button').all()) assert.ok(!await button.isVisible());
    assert.deepEqual(bad, []);
    await close();
});

test('the keyboard chooses a step and moves the timeline', async () => {
    const {page, bad, close} = await ready();
    const view = () => page.evaluate(() => window.gpuprofPage.timeline.view);
    const step = () => page.evaluate(() => window.gpuprofPage.step);
    await page.locator('#strip').focus();
    const first = await step();
    await page.keyboard.press('Home');
    assert.equal(await step(), 0);
    await page.keyboard.press('ArrowRight');
    assert.equal(await step(), 1);
    await page.keyboard.press('End');
    assert.equal(await step(), 23);
    assert.equal(await page.locator('#strip').getAttribute('aria-valuenow'), '23');
    assert.ok(first > 0);
    await page.locator('#canvas').focus();
    const [from, to] = await view();
    await page.keyboard.press('w');
    const zoomed = await view();
    assert.ok(zoomed[1] - zoomed[0] < to - from);
    await page.keyboard.press('d');
    assert.ok((await view())[0] > zoomed[0]);
    await page.keyboard.press('f');
    assert.deepEqual(await view(), [from, to]);
    assert.deepEqual(bad, []);
    await close();
});

test('the parts of each step fill its bar', async () => {
    const {page, bad, close} = await ready();
    const sums = await page.evaluate(() => {
        const {steps, partTitles} = window.gpuprofPage.data, n = partTitles.length;
        return steps.length.map((ns, i) => steps.parts.slice(i * n, i * n + n).reduce((a, b) => a + b, 0) / ns);
    });
    assert.ok(sums.length > 1);
    for (const share of sums) assert.ok(Math.abs(share - 1) < 0.001, 'the parts are ' + share + ' of a step');
    assert.deepEqual(bad, []);
    await close();
});

test('a row of evidence shows its place on the timeline', async () => {
    const {page, bad, close} = await ready();
    await page.locator('#idle button.zoom').first().click();
    const [from, to] = await page.evaluate(() => window.gpuprofPage.timeline.selection);
    assert.ok(to - from > 5e6 && to - from < 20e6);
    assert.match(await page.locator('#details').textContent(), /selected.*ms/);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'canvas');
    assert.deepEqual(bad, []);
    await close();
});

test('a click on the timeline names the kernel and its launch', async () => {
    const {page, bad, close} = await ready();
    const at = await page.evaluate(() => {
        const t = window.gpuprofPage.timeline, line = t.lines.find(l => l.track && l.row.kind === 'gpu');
        const i = line.row.start.findIndex(s => s > t.view[0] + 14e6);
        return {x: t.x(line.row.start[i] + line.row.length[i] / 2), y: line.y + 7};
    });
    await page.locator('#canvas').click({position: at});
    assert.match(await page.locator('#details').textContent(), /GPU 0, stream 7.*launched.*cudaLaunchKernel/);
    assert.deepEqual(bad, []);
    await close();
});

test('tables sort by number and filter by name', async () => {
    const {page, close} = await ready();
    const shares = () => page.locator('#kerneltable tbody tr:visible td:nth-child(4)').allTextContents();
    await page.locator('#kerneltable th button', {hasText: 'ms'}).click();
    const falling = (await shares()).map(Number);
    assert.deepEqual(falling, [...falling].sort((a, b) => b - a));
    assert.equal(await page.locator('#kerneltable th[aria-sort=descending]').count(), 1);
    await page.locator('#kernelfilter').fill('GEMM');
    assert.equal((await shares()).length, 1);
    await close();
});

test('steps are counted as the command line counts them', async () => {
    const {page, bad, close} = await ready();
    await page.locator('#strip').focus();
    await page.keyboard.press('Home');
    assert.match(await page.locator('#where').textContent(), /^Step 1\b/);
    await page.keyboard.press('End');
    assert.match(await page.locator('#where').textContent(), /^Step 24\b/);
    assert.equal(await page.locator('.xfrom').textContent(), 'step 1');
    assert.equal(await page.locator('.xto').textContent(), 'step 24');
    assert.deepEqual(bad, []);
    await close();
});

test('the step gets shorter with one change after the other', async () => {
    const {page, bad, close} = await open(browser, files.at('example.html'));
    await page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
    const left = await page.locator('.after .left i').evaluateAll(bars => bars.map(b => b.getBoundingClientRect().width));
    assert.ok(left.length >= 2);
    assert.deepEqual(left, [...left].sort((a, b) => b - a));
    assert.ok(left.at(-1) < left[0]);
    assert.deepEqual(bad, []);
    await close();
});

test('a page without events has no empty sections, and no links to what it has not', async () => {
    for (const name of ['empty.html', 'page.html']) {
        const {page, bad, close} = await open(browser, files.at(name));
        await page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
        for (const link of await page.locator('nav a').all())
            assert.equal(await page.locator(await link.getAttribute('href')).count(), 1);
        for (const section of await page.locator('section').all())
            assert.ok((await section.innerText()).length > (await section.locator('h2').allInnerTexts()).join('').length + 10);
        assert.deepEqual(bad, []);
        await close();
    }
});

test('nothing scrolls sideways on a phone', async () => {
    const {page, bad, close} = await ready({viewport: {width: 400, height: 800}});
    const [wide, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    assert.ok(wide <= inner, wide + ' > ' + inner);
    assert.deepEqual(bad, []);
    await close();
});

test('the virtual GPU is named on top', async () => {
    const other = makeFiles('Virtual NVIDIA H200');
    const {page, close} = await open(browser, other.at('page.html'), {javaScriptEnabled: false});
    assert.match(await page.locator('.virtual').textContent(), /Virtual GPU.*no real device was measured/);
    const box = await page.locator('.virtual').boundingBox();
    assert.equal(box.y, 0);
    await close();
    other.remove();
});
