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
    assert.equal(await page.locator('#kerneltable tbody td:nth-child(9)').first().textContent(), '512');
    assert.equal(await page.locator('#kerneltable tbody td:nth-child(8)').first().textContent(), '-'); // no sizes
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
    const {page, bad, close} = await ready({viewport: {width: 1280, height: 800}});
    const name = page.locator('#kerneltable .mid', {hasText: 'vectorized'}).first();
    assert.ok(await name.evaluate(e => e.scrollHeight > e.clientHeight), 'it lacks room');
    assert.match(await name.evaluate(e => getComputedStyle(e, '::after').content), /3ul> >"$/);
    assert.ok(await name.evaluate(e => e.clientHeight < 30), 'one line is seen');
    await page.setViewportSize({width: 390, height: 800});
    assert.equal(await name.evaluate(e => getComputedStyle(e, '::after').content), 'none');
    assert.ok(await name.evaluate(e => e.clientHeight > 30), 'more lines are seen');
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

test('products and convolutions have their share of the peak', async () => {
    const {page, bad, close} = await open(browser, files.at('example.html'));
    const kinds = await page.locator('#kerneltable tbody tr').evaluateAll(rows => rows.map(r => [r.cells[1].textContent, r.cells[7].textContent]));
    const shares = kinds.filter(([kind]) => /^(convolution|matrix multiply)/.test(kind)).map(([, share]) => share);
    assert.ok(shares.filter(share => /^[1-9]\d? %$/.test(share)).length > shares.length / 2, JSON.stringify(kinds));
    assert.ok(kinds.filter(([kind]) => /^element-wise/.test(kind)).every(([, share]) => share === '-'), JSON.stringify(kinds));
    assert.match(await page.locator('#breakdown').innerText(), /Hardware: .* % of the peak of A100/);
    assert.deepEqual(bad, []);
    await close();
});

test('a browser finds a long name, and rows are copied as rows', async () => {
    const {page, bad, close} = await ready();
    const shown = await page.locator('#kerneltable .mid', {hasText: 'vectorized'}).first().textContent();
    assert.ok(shown.length > 50, shown);
    assert.ok(await page.evaluate(text => window.find(text, false, false, true), shown.slice(4, -4)), shown);
    const rows = await page.locator('#kerneltable tbody').evaluate(body => {
        document.getSelection().selectAllChildren(body);
        const data = new DataTransfer();
        body.dispatchEvent(new ClipboardEvent('copy', {clipboardData: data, bubbles: true, cancelable: true}));
        return data.getData('text/plain').split('\n').map(row => row.split('\t'));
    });
    assert.deepEqual(rows.map(row => row.length), [11, 11]);
    assert.deepEqual(rows.map(row => row[2]), ['730', '730']);
    assert.deepEqual(rows.map(row => row[0]).sort(), ['ampere_sgemm_128x128_tn', longName]);
    assert.deepEqual(bad, []);
    await close();
});

test('the heads of a table stand over their columns', async () => {
    const {page, bad, close} = await ready({viewport: {width: 700, height: 900}});
    const ends = await page.locator('#kerneltable').evaluate(table => [...table.tHead.rows[0].cells].slice(2, 10).map((th, k) => {
        const end = node => {
            const range = document.createRange();
            range.selectNodeContents(node);
            return range.getBoundingClientRect();
        };
        return [end(th.querySelector('button')).right - end(table.tBodies[0].rows[0].cells[k + 2]).right, end(th.querySelector('button')).bottom];
    }));
    for (const [off, bottom] of ends) assert.ok(Math.abs(off) < 1 && Math.abs(bottom - ends[0][1]) < 2, JSON.stringify(ends));
    assert.deepEqual(bad, []);
    await close();
});
