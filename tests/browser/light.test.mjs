/* A run that was not recorded as a whole: what was not recorded is hatched and says so, and never looks idle. */
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

async function ready(options) {
    const opened = await open(browser, files.at('light.html'), options);
    await opened.page.waitForFunction(() => window.gpuprofReady, null, {timeout: 20000});
    return opened;
}

/* The share of pixels that hatching changes, in each third of a canvas: the second one was not recorded. */
const hatched = name => {
    const {timeline, minimap} = window.gpuprofPage, drawer = name === 'minimap' ? minimap : timeline, {canvas} = drawer;
    const {width, height} = canvas, copy = Object.assign(document.createElement('canvas'), {width, height}).getContext('2d', {willReadFrequently: true});
    const look = () => {
        drawer.draw();
        copy.clearRect(0, 0, width, height);
        copy.drawImage(canvas, 0, 0);
        return [0, 1, 2].map(k => copy.getImageData(Math.ceil(width * k / 3) + 4, 16, Math.floor(width / 3) - 8, height - 16).data);
    };
    const {unrecorded} = timeline, real = unrecorded.from, with_ = look();
    unrecorded.from = [];
    const without = look();
    unrecorded.from = real;
    drawer.draw();
    return with_.map((data, k) => data.filter((v, i) => v !== without[k][i]).length / data.length);
};

for (const colorScheme of ['light', 'dark'])
    for (const width of [390, 1280, 1920])
        test(`what was not recorded is hatched, ${width}, ${colorScheme}`, async () => {
            const {page, bad, close} = await ready({viewport: {width, height: 900}, colorScheme});
            await page.locator('#run').click();
            for (const name of ['minimap', 'timeline']) {
                const shares = await page.evaluate(hatched, name);
                assert.ok(shares[1] > 0.02 && (name === 'timeline' || shares[0] + shares[2] === 0), name + ': ' + shares);
            }
            assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'no wider than the screen');
            assert.deepEqual(bad, []);
            await close();
        });

test('it says so at every zoom', async () => {
    const {page, bad, close} = await ready();
    const seen = await page.evaluate(() => {
        const {timeline} = window.gpuprofPage, c = timeline.context, [from, to] = [timeline.unrecorded.from[0], timeline.unrecorded.to[0]];
        const written = (a, b) => {
            const out = [], plain = c.fillText;
            timeline.reach(a, b);
            c.fillText = (text, ...at) => { out.push(text); plain.call(c, text, ...at); };
            timeline.setView(a, b);
            delete c.fillText;
            return out;
        };
        return {whole: written(timeline.data.from, timeline.data.to), inside: written(from + 1e6, from + 1.1e6), step: written(from, from + 2e7)};
    });
    for (const texts of Object.values(seen)) assert.ok(texts.includes('not recorded: steps 9 to 16; step times only'), texts.join('|'));
    assert.ok(seen.inside.includes('steps 9 to 12: 20.0 ms each'), seen.inside.join('|'));
    assert.ok(seen.whole.some(text => /^step 2(: 20|\u2026)/.test(text) || text.startsWith('steps 9')), seen.whole.join('|'));
    assert.deepEqual(bad, []);
    await close();
});

test('steps are turned past it, and any number can be asked for', async () => {
    const {page, bad, close} = await ready();
    const where = () => page.locator('#where').textContent();
    await page.evaluate(() => window.gpuprofPage.choose(7));
    assert.match(await where(), /^Step 8, 20\.0 ms/);
    await page.locator('#next').click();
    assert.match(await where(), /^Steps 9 to 16 were not recorded: only step times are known; steps 9 to 16 took 20\.0 ms each on average \(20\.0 ms to 60\.0 ms\); in view .*not recorded/);
    assert.match(await page.locator('#strip').getAttribute('aria-valuetext'), /^Steps 9 to 16 were not recorded/);
    await page.locator('#next').click();
    assert.match(await where(), /^Step 17 \(not used\), /);
    await page.locator('#canvas').focus();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    assert.match(await where(), /^Step 8, /);
    for (const [number, nearest] of [[11, 8], [15, 17]]) {
        await page.locator('#goto').fill(String(number));
        await page.keyboard.press('Enter');
        assert.match(await where(), new RegExp(`^Step ${number} was not recorded: only step times are known; steps \\d+ to \\d+ took`));
        assert.equal(await page.locator('#nearest').textContent(), `go to step ${nearest}, the nearest recorded one`);
        const box = await page.locator('#strip').boundingBox(), mark = await page.locator('#mark').boundingBox();
        const share = await page.evaluate(n => n, (mark.x - box.x) / box.width);
        assert.ok(share > 1 / 3 - 0.02 && share < 2 / 3 + 0.02, 'the mark stands among the hatched ones: ' + share);
        await page.locator('#nearest button').click();
        assert.match(await where(), new RegExp(`^Step ${nearest}\\b`));
    }
    await page.locator('#goto').fill('20');
    await page.keyboard.press('Enter');
    assert.match(await where(), /^Step 20, 20\.0 ms/);
    assert.deepEqual(bad, []);
    await close();
});

test('the strip has a place for every step of the run', async () => {
    const {page, bad, close} = await ready();
    assert.equal(await page.locator('#strip path.unrecorded').count(), 2);
    assert.match(await page.locator('#steps').innerText(), /Hatched, and narrower: 8 steps of the run/);
    const numbers = await page.evaluate(() => [...Array(24).keys()].map(i => {
        const p = window.gpuprofPage, {width, narrow} = document.getElementById('strip').dataset, k = p.data.steps.number.indexOf(i + 1);
        const at = k >= 0 ? p.place(k) + width / 2 : p.place(7) + Number(width) + (i - 8 + 0.5) * narrow;
        return p.numberAt(at);
    }));
    assert.deepEqual(numbers, [...Array(24).keys()].map(i => i + 1));
    await page.locator('#strip').scrollIntoViewIfNeeded();
    const box = await page.locator('#strip').boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    assert.match(await page.locator('#where').textContent(), /^Step 1[23] was not recorded/);
    assert.deepEqual(bad, []);
    await close();
});

test('shares of a span are of the recorded part', async () => {
    const {page, bad, close} = await ready();
    const details = await page.evaluate(() => {
        const p = window.gpuprofPage, {steps} = p.data, {from, to} = p.timeline.unrecorded, out = [];
        for (const span of [[steps.start[6], from[0] + 1e8], [from[0] + 1e6, from[0] + 5e7], [p.data.from, p.data.to]]) {
            p.select(span);
            out.push(document.getElementById('details').innerText.replace(/\s+/g, ' '));
        }
        return [...out, to[0] - from[0]];
    });
    assert.match(details[0], /recorded.?40\.0 ms of it: the shares below are of this time/);
    const sum = text => [...text.matchAll(/([\d.]+) %/g)].reduce((s, m) => s + Number(m[1]), 0);
    assert.ok(Math.abs(sum(details[0]) - 100) < 1, details[0]);
    assert.match(details[1], /not recorded: step times only/);
    assert.doesNotMatch(details[1], /%/);
    assert.match(details[2], /recorded.?3\d\d ms of it/);
    assert.deepEqual(bad, []);
    await close();
});

test('the pointer is told what is known', async () => {
    const {page, bad, close} = await ready();
    await page.locator('#run').click();
    const canvas = page.locator('#canvas');
    await canvas.scrollIntoViewIfNeeded();
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height - 10);
    const tip = await page.locator('#tip').innerText();
    assert.match(tip, /not recorded: steps 9 to 16; step times only/);
    assert.match(tip, /here: steps (9 to 12|13 to 16) took 20\.0 ms each on average/);
    await page.mouse.click(box.x + box.width / 2, box.y + box.height - 10);
    assert.match(await page.locator('#details').innerText(), /go to step (8|17), the nearest recorded one/);
    assert.match(await page.locator('#where').textContent(), /^The whole run, 24 steps, 16 of them recorded; in view 4\d\d ms, of which 16\d ms not recorded/);
    assert.deepEqual(bad, []);
    await close();
});

test('axe finds nothing to complain about beside a step that was not recorded', async () => {
    const {page, bad, close} = await ready({bypassCSP: true});
    await page.evaluate(() => window.gpuprofPage.openNumber(11));
    assert.deepEqual(await axe(page, {contrast: true}), []);
    assert.deepEqual(bad, []);
    await close();
});
