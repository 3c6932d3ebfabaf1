/* The step after a change, under the recorded one. */
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

async function ready(name, options) {
    const opened = await open(browser, files.at(name), options);
    await opened.page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
    return opened;
}

for (const [name, width, colorScheme] of [['example.html', 390, 'dark'], ['example.html', 1280, 'light'], ['example.html', 1920, 'dark'],
                                          ['page.html', 390, 'light'], ['page.html', 1280, 'dark'], ['page.html', 1920, 'light']])
    test(`the step after the change lies under the recorded one, ${name}, ${width}, ${colorScheme}`, async () => {
        const {page, bad, close} = await ready(name, {colorScheme, bypassCSP: true, viewport: {width, height: 900}});
        const choices = await page.locator('#after option').allTextContents();
        assert.ok(choices.length > 1, choices.join());
        const height = () => page.evaluate(() => window.gpuprofPage.timeline.height);
        const before = await height();
        await page.locator('#after').selectOption('0');
        assert.ok(await height() > before);
        const text = await page.locator('#aftertext').innerText();
        const [, number, was, is] = text.match(/^Prediction for ".*": step (\d+) took ([\d.]+ m?s) as recorded, and takes ([\d.]+ m?s) after the change/);
        assert.match(await page.locator('#where').textContent(), new RegExp('^Step ' + number + ', ' + was));
        assert.ok(parseFloat(is) < parseFloat(was), text);
        const drawn = await page.evaluate(() => {
            const {timeline, data} = window.gpuprofPage, change = data.after[0], words = [], c = timeline.context, plain = c.fillText;
            c.fillText = function (text, ...at) { words.push(text); plain.call(c, text, ...at); };
            timeline.draw();
            delete c.fillText;
            const rows = [...new Set(timeline.lines.map(l => l.row))], gpu = rows.find(r => r.of && r.kind === 'gpu');
            return {words, before: rows.indexOf(gpu.of), at: rows.indexOf(gpu), first: gpu.start[0] - change.from, count: gpu.start.length,
                    last: Math.max(...gpu.start.map((s, i) => s + gpu.length[i])) - change.from, is: change.is, was: change.was,
                    view: [timeline.view[0] - change.from, timeline.view[1] - change.from]};
        });
        assert.equal(drawn.at, drawn.before + 1, 'right below the recorded lane');
        assert.ok(drawn.count > 0 && drawn.last <= drawn.is + 1 && drawn.last > 0.5 * drawn.is, JSON.stringify(drawn));
        assert.ok(drawn.view[0] <= 0 && drawn.view[1] >= drawn.was, 'both lengths are in view');
        const bars = drawn.words.join('\n');
        assert.match(bars, new RegExp('recorded: ' + was.replace('.', '\\.')));
        assert.match(bars, new RegExp('predicted: ' + is.replace('.', '\\.')));
        assert.deepEqual(await axe(page, {contrast: width < 1920}), []);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'nothing scrolls sideways');
        await page.locator('#next').click();
        assert.ok(!await page.locator('#aftertext').isVisible());
        assert.ok(await page.evaluate(() => !window.gpuprofPage.timeline.lines.some(l => l.row.of)));
        assert.deepEqual(bad, []);
        await close();
    });

test('a finding leads to its step after the change', async () => {
    const {page, bad, close} = await ready('example.html');
    const button = page.locator('.findings > li').first().locator('button.change');
    await button.click();
    assert.equal(await page.evaluate(() => document.activeElement.id), 'canvas');
    assert.equal(await page.locator('#after').inputValue(), '0');
    const title = await page.locator('.findings .title').first().textContent();
    assert.ok((await page.locator('#aftertext').innerText()).includes(title));
    assert.deepEqual(bad, []);
    await close();
});

test('a mark of a finding leads there, too', async () => {
    const {page, bad, close} = await ready('page.html');
    const at = await page.evaluate(() => {
        const {timeline, data} = window.gpuprofPage, f = data.findings.find(f => f.rank === data.after[0].rank);
        timeline.setHome(f.start - f.length, f.start + 2 * f.length, 0);
        return {x: timeline.x(f.start + f.length / 2), y: timeline.findingLine + 13};
    });
    await page.locator('#canvas').click({position: at});
    await page.locator('#details button.change').click();
    assert.ok(await page.locator('#aftertext').isVisible());
    assert.deepEqual(bad, []);
    await close();
});

test('the pointer on a predicted event shows what it was', async () => {
    const {page, bad, close} = await ready('page.html');
    await page.locator('#after').selectOption('0');
    await page.locator('#timeline').scrollIntoViewIfNeeded();
    const at = await page.evaluate(() => {
        const {timeline} = window.gpuprofPage, line = timeline.lines.find(l => l.track && l.row.of && l.row.kind === 'gpu');
        const box = timeline.canvas.getBoundingClientRect(), i = line.track.index[5];
        return [box.left + timeline.x(line.row.start[i] + line.row.length[i] / 2), box.top + timeline.top(line) + 6];
    });
    await page.mouse.move(...at);
    const tip = await page.locator('#tip').innerText();
    assert.match(tip, /after the change: GPU 0, stream 7/);
    assert.match(tip, /recorded: .* long, .* into the step/);
    assert.deepEqual(bad, []);
    await close();
});

test('a page without predictions offers none', async () => {
    const {page, bad, close} = await ready('rich.html');
    const offered = await page.evaluate(() => window.gpuprofPage.data.after.length);
    assert.equal(await page.locator('#after').isVisible(), offered > 0);
    assert.equal(await page.locator('button.change').count(), offered);
    assert.deepEqual(bad, []);
    await close();
});
