/* What can be done on the timeline. */
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
    const opened = await open(browser, files.at('rich.html'), options);
    await opened.page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
    return opened;
}

/* Where on the screen the n-th event of the first row of a kind lies, once it can be seen. */
function place(kind) {
    const {timeline} = window.gpuprofPage, row = timeline.data.rows.find(r => r.kind === kind);
    const i = kind === 'gpu' ? row.start.findIndex(s => s > timeline.home[0] + 1e7) : row.launch.findIndex((n, k) => n && row.start[k] > timeline.home[0] + 1e7);
    timeline.showEvent({row, i});
    const line = timeline.lineOf({row, i}), box = timeline.canvas.getBoundingClientRect();
    window.gpuprofPage.timeline.picked = null;
    return [box.left + timeline.x(row.start[i] + row.length[i] / 2), box.top + timeline.top(line) + 6];
}

for (const colorScheme of ['light', 'dark'])
    test('the pointer on a kernel shows its size, its operator and its launch, ' + colorScheme, async () => {
        const {page, bad, close} = await ready({colorScheme});
        await page.locator('#timeline').scrollIntoViewIfNeeded();
        await page.mouse.move(...await page.evaluate(place, 'gpu'));
        const tip = await page.locator('#tip').innerText();
        assert.match(tip, /4 x 16 x 8 blocks of 64 x 1 x 1 threads/);
        assert.match(tip, /operator: aten::linear/);
        assert.match(tip, /shape: 64 x 2048 float, 1000 x 2048 float, 1000 float/);
        assert.match(tip, /launched: .* before, by cudaLaunchKernel/);
        await page.mouse.move(5, 5);
        assert.ok(!await page.locator('#tip').isVisible());
        assert.deepEqual(bad, []);
        await close();
    });

test('a launch leads to its kernel, and back', async () => {
    const {page, bad, close} = await ready();
    await page.locator('#timeline').scrollIntoViewIfNeeded();
    await page.mouse.click(...await page.evaluate(place, 'host'));
    assert.match(await page.locator('#details').innerText(), /launches\s+ampere_sgemm|launches\s+.*vectorized/);
    const pair = () => page.evaluate(() => {
        const {picked} = window.gpuprofPage.timeline;
        return [picked.row.kind, picked.row.launch[picked.i]];
    });
    const [, number] = await pair();
    await page.getByText('go to its work on the GPU').click();
    assert.deepEqual(await pair(), ['gpu', number]);
    await page.locator('#canvas').focus();
    await page.keyboard.press('l');
    assert.deepEqual(await pair(), ['host', number]);
    assert.deepEqual(bad, []);
    await close();
});

test('find goes from match to match through the run, and pales the rest', async () => {
    const {page, bad, close} = await ready();
    await page.locator('#find').fill('DataLoader');
    assert.match(await page.locator('#found').textContent(), /^10 on this page$/);
    const seen = [], steps = new Set();
    for (let k = 0; k < 10; k++) {
        await page.keyboard.press('Enter');
        const {at, from, to, step} = await page.evaluate(() => {
            const {picked, view} = window.gpuprofPage.timeline;
            return {at: picked.row.start[picked.i], from: view[0], to: view[1], step: window.gpuprofPage.step};
        });
        assert.ok(at >= from && at <= to, 'the match is in view');
        seen.push(at);
        steps.add(step);
    }
    assert.equal(new Set(seen).size, 10);
    assert.ok(steps.size >= 4, 'it leaves the step');
    assert.match(await page.locator('#found').textContent(), /^\d+ of 10$/);
    const alphas = await page.evaluate(() => {
        const {timeline} = window.gpuprofPage, seen = new Set(), c = timeline.context, plain = c.fillRect;
        c.fillRect = function (...box) { seen.add(c.globalAlpha.toFixed(2)); plain.apply(c, box); };
        timeline.draw();
        delete c.fillRect;
        return [...seen].sort();
    });
    assert.deepEqual(alphas, ['0.25', '1.00']);
    assert.deepEqual(bad, []);
    await close();
});

test('the minimap shows the run and moves the view', async () => {
    const {page, bad, close} = await ready();
    const map = page.locator('#minimap');
    await map.scrollIntoViewIfNeeded();
    const box = await map.boundingBox();
    await page.mouse.click(box.x + box.width * 0.02, box.y + 20);
    assert.equal(await page.evaluate(() => window.gpuprofPage.step), 0);
    await page.mouse.click(box.x + box.width * 0.97, box.y + 20);
    assert.equal(await page.evaluate(() => window.gpuprofPage.step), 9);
    await page.locator('#run').click();
    const {view, data} = await page.evaluate(() => ({view: window.gpuprofPage.timeline.view, data: [window.gpuprofPage.data.from, window.gpuprofPage.data.to]}));
    assert.deepEqual(view, data);
    await page.locator('#fit').click();
    assert.ok(await page.evaluate(() => window.gpuprofPage.timeline.view[1] - window.gpuprofPage.timeline.view[0]) < 1e8);
    assert.deepEqual(bad, []);
    await close();
});

test('lanes fold, and stay on top when pinned', async () => {
    const {page, bad, close} = await ready();
    const height = () => page.evaluate(() => window.gpuprofPage.timeline.height);
    const first = () => page.evaluate(() => window.gpuprofPage.timeline.lines[0].row.kind);
    const before = await height();
    assert.equal(await first(), 'gpu');
    await page.locator('.lanes summary').click();
    const host = page.locator('#lanelist li', {hasText: 'thread'}).first();
    await host.getByLabel('unfolded').uncheck();
    assert.ok(await height() < before);
    await host.getByLabel('pinned').check();
    assert.equal(await first(), 'host');
    await host.getByLabel('unfolded').check();
    await page.evaluate(() => { document.getElementById('frame').style.maxHeight = '100px'; document.getElementById('frame').scrollTop = 60; });
    const [top, scrolled] = await page.evaluate(() => [window.gpuprofPage.timeline.top(window.gpuprofPage.timeline.lines[0]) - window.gpuprofPage.timeline.lines[0].y, window.gpuprofPage.timeline.scrolled()]);
    assert.equal(top, scrolled);
    assert.deepEqual(bad, []);
    await close();
});

test('findings are marked where they happened', async () => {
    const {page, bad, close} = await ready();
    const finding = await page.evaluate(() => {
        const {timeline, data} = window.gpuprofPage, f = data.findings[0];
        timeline.setHome(f.start - f.length, f.start + 2 * f.length, 0);
        const box = timeline.canvas.getBoundingClientRect();
        return {title: f.title, x: timeline.x(f.start + f.length / 2), y: timeline.findingLine + 13, rank: f.rank};
    });
    await page.locator('#canvas').click({position: {x: finding.x, y: finding.y}});
    const text = await page.locator('#details').innerText();
    assert.match(text, new RegExp('finding ' + finding.rank));
    assert.ok(text.includes(finding.title));
    assert.deepEqual(bad, []);
    await close();
});
