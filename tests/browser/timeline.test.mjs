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
    const drawn = await page.evaluate(() => {
        const {timeline} = window.gpuprofPage, seen = [], c = timeline.context, plain = c.fillRect;
        c.fillRect = function (...box) { seen.push([c.fillStyle, box[2]]); plain.apply(c, box); };
        for (const line of timeline.lines.filter(l => l.track)) timeline.drawLine(c, line);
        delete c.fillRect;
        return {pale: seen.filter(([color]) => timeline.pale.includes(color)).length, matches: seen.filter(([color]) => timeline.colors.includes(color))};
    });
    assert.ok(drawn.pale > 10 && drawn.matches.length > 0, JSON.stringify(drawn));
    assert.ok(drawn.matches.every(([, width]) => width >= 2), 'a match can be seen');
    await page.locator('#canvas').focus();
    await page.keyboard.press('n');
    const counted = await page.evaluate(() => window.gpuprofPage.timeline.match + 1);
    assert.equal(await page.locator('#found').textContent(), counted + ' of 10');
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
    assert.match(await page.locator('#where').textContent(), /^The whole run, 10 steps; in view 5\d\d ms\./);
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

test('the scale tells its ticks apart, and moments have microseconds', async () => {
    const {page, bad, close} = await ready();
    const words = await page.evaluate(() => {
        const {timeline, data} = window.gpuprofPage, at = data.steps.start[3] + 3e6, out = [];
        window.gpuprofPage.wholeRun();
        for (const span of [3000, 40e3, 2e6, 3e8]) {
            const words = [], c = timeline.context, plain = c.fillText;
            timeline.setView(at, at + span);
            c.fillText = function (text, ...where) { words.push(text); plain.call(c, text, ...where); };
            timeline.drawScale(c, 100);
            delete c.fillText;
            out.push(words);
        }
        const row = data.rows.find(r => r.kind === 'gpu');
        out.push(window.gpuprofPage.facts({row, i: 5000}).map(f => f.join(' ')));
        window.gpuprofPage.choose(3);
        out.push(window.gpuprofPage.facts({row, i: 5000}).map(f => f.join(' ')));
        return out;
    });
    for (const labels of words.slice(0, 4)) {
        assert.ok(labels.length >= 3, labels.join());
        assert.equal(new Set(labels).size, labels.length, labels.join());
    }
    assert.match(words[4].join(), /starts at \d+\.\d{3} ms into the recording/);
    assert.match(words[5].join(), /starts at \d+\.\d{3} ms into step 4/);
    assert.deepEqual(bad, []);
    await close();
});

test('the view stays at the recording, the wheel zooms with Ctrl alone, Escape leaves', async () => {
    const {page, bad, close} = await ready();
    const view = () => page.evaluate(() => window.gpuprofPage.timeline.view);
    const [from, to] = await page.evaluate(() => [window.gpuprofPage.data.from, window.gpuprofPage.data.to]);
    await page.locator('#canvas').click({position: {x: 400, y: 60}});
    for (let k = 0; k < 60; k++) await page.keyboard.press('d');
    assert.ok((await view())[1] <= to + (to - from) * 0.0501);
    for (let k = 0; k < 30; k++) await page.keyboard.press('s');
    assert.ok((await view())[0] >= from - (to - from) * 0.0501);
    const before = await view(), scrolled = await page.evaluate(() => window.scrollY);
    await page.mouse.wheel(0, 200);
    await page.waitForFunction(y => window.scrollY !== y, scrolled);
    assert.deepEqual(await view(), before);
    await page.locator('#canvas').hover({position: {x: 400, y: 60}});
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -200);
    await page.keyboard.up('Control');
    await page.waitForFunction(span => window.gpuprofPage.timeline.view[1] - window.gpuprofPage.timeline.view[0] < span, before[1] - before[0]);
    await page.locator('#canvas').focus();
    await page.keyboard.press('Escape');
    assert.notEqual(await page.evaluate(() => document.activeElement.id), 'canvas');
    assert.deepEqual(bad, []);
    await close();
});
