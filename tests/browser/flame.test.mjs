/* Graphs of nested names: of operators, of the lines that launch the GPU's work, of the host's frames. */
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

async function opened(options) {
    const it = await open(browser, files.at('lines.html'), options);
    await it.page.waitForFunction(() => window.gpuprofReady);
    const flame = it.page.locator('#lines .flame').first();
    return {...it, flame, box: name => flame.locator(`i[title^="${name}: "]`)};
}

const width = locator => locator.evaluate(e => e.getBoundingClientRect().width / e.parentElement.getBoundingClientRect().width);

test('a click makes a box as wide as the graph, Escape undoes it', async () => {
    const {page, bad, box, close} = await opened();
    const line = box('train.py:12'), before = await width(line);
    assert.ok(before > 0.1 && before < 0.9, 'before: ' + before);
    await line.click();
    assert.ok(await width(line) > 0.99);
    assert.ok(await width(box('Net.forward train.py')) > 0.99, 'what is around it is as wide');
    assert.equal(await box('train.py:9').isVisible(), false);
    await page.keyboard.press('Escape');
    assert.ok(Math.abs(await width(line) - before) < 0.001);
    assert.equal(await box('train.py:9').isVisible(), true);
    assert.deepEqual(bad, []);
    await close();
});

test('arrow keys go from box to box, and tell what each is', async () => {
    const {page, bad, flame, close} = await opened({colorScheme: 'dark'});
    const focused = () => page.evaluate(() => document.activeElement.title.split(': ')[0]);
    await flame.locator('i[tabindex="0"]').focus();
    assert.equal(await focused(), 'Net.forward train.py');
    for (const [key, name] of [['ArrowDown', 'train.py:9'], ['ArrowRight', 'train.py:12'], ['ArrowUp', 'Net.forward train.py']]) {
        await page.keyboard.press(key);
        assert.equal(await focused(), name);
    }
    assert.match(await flame.locator('+ p').textContent(), /^Net\.forward train\.py: .* per step, /);
    assert.deepEqual(bad, []);
    await close();
});

test('a search marks boxes and sums what is in them', async () => {
    const {bad, page, flame, box, close} = await opened();
    await page.locator('#lines .tools input').first().fill('TRAIN.PY:12');
    assert.equal(await flame.locator('.hit').count(), 1);
    const share = Number((await box('train.py:12').getAttribute('title')).match(/([\d.]+) %$/)[1]);
    assert.match(await page.locator('#lines .tools output').first().textContent(), new RegExp('^1 box, ' + share.toFixed(1).replace('.', '\\.') + ' %'));
    assert.deepEqual(bad, []);
    await close();
});

test('a box leads to the findings that name its line', async () => {
    const {page, bad, close} = await opened();
    const box = page.locator('#lines [data-findings]').first();
    await box.click();
    const link = page.locator('#lines .flame + p a').first();
    const id = (await link.getAttribute('href')).slice(1);
    await link.click();
    assert.equal(await page.locator('#' + id).evaluate(e => e.open), true);
    assert.deepEqual(bad, []);
    await close();
});

test('without script the graphs are there', async () => {
    const {page, bad, close} = await open(browser, files.at('lines.html'), {javaScriptEnabled: false, viewport: {width: 640, height: 900}});
    assert.equal(await page.locator('#lines .flame').count(), 2);
    assert.ok(await page.locator('#lines .flame i').count() > 5);
    assert.deepEqual(bad, []);
    await close();
});
