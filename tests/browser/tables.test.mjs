/* The tables of the page: whole numbers, nothing cut, names that can be copied whole. */
import assert from 'node:assert/strict';
import test, {after, before} from 'node:test';
import {launch, longName, makeFiles, open} from './setup.mjs';

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

test('counts read as counts', async () => {
    const {page, bad, close} = await ready();
    const calls = await page.locator('#kerneltable tbody td:nth-child(3)').allTextContents();
    assert.deepEqual(calls, ['730', '730']);
    assert.equal(await page.locator('#host td').first().textContent(), '1,460');
    assert.equal(await page.locator('#kerneltable tbody td:nth-child(8)').first().textContent(), '512');
    assert.doesNotMatch(await page.locator('main').innerText(), /\d[eE]\+?\d\d/);
    assert.deepEqual(bad, []);
    await close();
});

for (const width of [1280, 1920])
    test('tables find room for all their columns at ' + width, async () => {
        const {page, bad, close} = await ready({viewport: {width, height: 900}});
        const scrolls = await page.locator('.scroll').evaluateAll(all => all.map(e => [e.scrollWidth, e.clientWidth]));
        assert.ok(scrolls.length > 2);
        for (const [needs, has] of scrolls) assert.ok(needs <= has, needs + ' in ' + has);
        const main = await page.locator('#kernels').boundingBox();
        assert.ok(main.width > 0.88 * width, 'the page uses ' + main.width + ' of ' + width);
        assert.deepEqual(bad, []);
        await close();
    });

test('the lengths below the histogram of gaps keep their units', async () => {
    for (const width of [390, 1280, 1920]) {
        const {page, bad, close} = await ready({viewport: {width, height: 900}});
        const shown = await page.locator('.bins span').evaluateAll(all => all.filter(e => getComputedStyle(e).visibility === 'visible').map(e => {
            const text = document.createRange();
            text.selectNodeContents(e);
            return [e.textContent, text.getBoundingClientRect().left, text.getBoundingClientRect().right,
                    getComputedStyle(e).overflowX === 'visible' ? Infinity : e.getBoundingClientRect().right];
        }));
        assert.ok(shown.length > 3);
        shown.forEach(([text, , right, end], i) => {
            assert.ok(right <= end, text + ' is cut at ' + width);
            assert.ok(i + 1 === shown.length || right < shown[i + 1][1], text + ' touches the next one at ' + width);
        });
        assert.deepEqual(bad, []);
        await close();
    }
});

test('a long name keeps both ends, and is copied whole', async () => {
    const {page, bad, close} = await ready({viewport: {width: 390, height: 800}});
    const name = page.locator('#kerneltable .mid', {hasText: 'vectorized'}).first();
    const [head, tail] = await name.locator('span').all();
    assert.ok(await head.evaluate(e => e.scrollWidth > e.clientWidth), 'it lacks room');
    assert.ok(await tail.evaluate(e => e.scrollWidth <= e.clientWidth), 'its end is whole');
    assert.match(await name.getAttribute('title'), /CUDAFunctor_add<float>, std::array<char\*, 3ul>\)$/);
    const copied = await name.evaluate(e => {
        document.getSelection().selectAllChildren(e);
        const data = new DataTransfer();
        e.dispatchEvent(new ClipboardEvent('copy', {clipboardData: data, bubbles: true, cancelable: true}));
        return data.getData('text/plain');
    });
    assert.equal(copied, longName);
    assert.deepEqual(bad, []);
    await close();
});
