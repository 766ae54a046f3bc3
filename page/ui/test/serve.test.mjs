// What sfstat serve does in a browser. SFSTAT names the program.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch } from './browser.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const fixtures = here('../../../fixtures'), axe = readFileSync(here('../node_modules/axe-core/axe.min.js'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'sfstat-serve-'));
const put = (name) => copyFileSync(join(fixtures, 'ddp', name), join(folder, name));

// lines are the first n packets of a window, one for each rank.
const lines = (name, change) => readFileSync(join(fixtures, 'ddp', name), 'utf8').trim().split('\n').map((l) => JSON.stringify(change(JSON.parse(l)))).join('\n') + '\n';

let browser, server, address;
before(async () => {
	put('nofault-r8-s0.jsonl');
	server = spawn(process.env.SFSTAT ?? 'sfstat', ['serve', folder, '--listen', '127.0.0.1:0', '--every', '50ms'], { stdio: ['ignore', 'ignore', 'pipe'] });
	address = await new Promise((found, failed) => {
		server.stderr.on('data', (b) => { const m = /http:\S+/.exec(b); if (m) found(m[0]); });
		server.on('exit', failed);
	});
	browser = await launch();
});
after(async () => {
	await browser.close();
	server.kill();
	rmSync(folder, { recursive: true });
});

// visited opens a page of the server. What it asks of anything else, or complains of, is
// kept, and that it was not loaded twice.
async function visited(path) {
	const page = await browser.newPage(), errors = [], elsewhere = [];
	page.on('pageerror', (e) => errors.push(e.message));
	page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) errors.push(m.text()); });
	page.on('request', (r) => { if (!r.url().startsWith(address) && !/^(data|blob|about):/.test(r.url())) elsewhere.push(r.url()); });
	await page.goto(address + path, { waitUntil: 'domcontentloaded' });
	await page.waitForFunction(() => document.getElementById('live').textContent);
	await page.evaluate(() => { globalThis.loaded = 'once'; });
	return { page, done: async () => {
		assert.equal(await page.evaluate(() => globalThis.loaded), 'once');
		assert.deepEqual([errors, elsewhere], [[], []]);
		await page.close();
	} };
}

async function accessible(page) {
	await page.evaluate(axe);
	const found = await page.evaluate(async () => (await globalThis.axe.run({ resultTypes: ['violations'] })).violations
		.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' ').slice(0, 300)}`));
	assert.deepEqual(found, []);
}

const rows = (page) => page.$$eval('tbody tr', (all) => all.map((r) => r.cells[1].textContent));

describe('sfstat serve', { concurrency: false }, () => {
	test('the index follows runs that come and go', async () => {
		const { page, done } = await visited('');
		assert.deepEqual(await rows(page), ['nofault-r8-s0']);
		put('host-callback-r8-s0.jsonl');
		await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2);
		assert.deepEqual(await rows(page), ['host-callback-r8-s0', 'nofault-r8-s0']); // by what fixing saves
		await accessible(page);
		rmSync(join(folder, 'host-callback-r8-s0.jsonl'));
		await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
		await done();
	});

	test('it is searched and sorted without a script', async () => {
		put('host-callback-r8-s0.jsonl');
		const { page, done } = await visited('?q=straggler');
		await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
		assert.deepEqual(await rows(page), ['host-callback-r8-s0']);
		await done();
	});

	test('a narrow screen has a card for each run, of which all is a link', async () => {
		const { page, done } = await visited('');
		await page.setViewport({ width: 400, height: 900 });
		const { wide, cards } = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, cards: [...document.querySelectorAll('tbody tr')].map((r) => r.getBoundingClientRect()).map(({ left, right, height }) => ({ left, right, height })) }));
		assert.ok(wide <= 400 && cards.length === 2 && cards.every((c) => c.left >= 0 && c.right <= 400 && c.height < 245), JSON.stringify({ wide, cards }));
		const card = await page.$('tbody tr.straggler');
		assert.match(await card.evaluate((r) => r.innerText), /certainty|strong/);
		assert.match(await card.$eval('.why', (e) => e.innerText), /last to arrive/);
		assert.equal(await card.$$eval('polyline', (all) => all.length), 1);
		await accessible(page);
		const { x, y, height } = await card.boundingBox();
		await Promise.all([page.waitForNavigation({ waitUntil: 'domcontentloaded' }), page.mouse.click(x + 200, y + height - 30)]);
		assert.match(page.url(), /run\/host-callback-r8-s0$/);
		await page.evaluate(() => { globalThis.loaded = 'once'; });
		await done();
	});

	test('the page of a run follows it: verdict, charts and selection', async () => {
		const grow = join(folder, 'grows.jsonl'), window = (n, name) => lines(name, ({ side: _, ...p }) => ({ ...p, run: 'grows', window: n, first_step: 100 * n }));
		writeFileSync(grow, window(0, 'nofault-r8-s0.jsonl'));
		const index = await visited('');
		await index.page.waitForFunction(() => [...document.querySelectorAll('tbody td')].some((d) => d.textContent === 'grows'));
		await index.done();
		const { page, done } = await visited('run/grows');
		const frame = async () => {
			await page.waitForFunction(() => document.getElementById('page').contentDocument?.documentElement.dataset.ready === 'yes');
			return page.frames().find((f) => f.url().includes('/page/'));
		};
		let inside = await frame();
		assert.match(await inside.$eval('.headline', (h) => h.textContent), /^Nobody is late in /);
		await inside.evaluate(() => { location.hash = 'ranks=0-3'; });
		writeFileSync(grow, window(0, 'nofault-r8-s0.jsonl') + window(1, 'host-callback-r8-s0.jsonl'));
		await page.waitForFunction(() => document.querySelector('#now .status').textContent === 'straggler');
		await page.waitForFunction(() => /^Rank 2/.test(document.getElementById('page').contentDocument?.querySelector('.headline')?.textContent ?? ''));
		inside = await frame();
		assert.equal(await inside.evaluate(() => document.querySelectorAll('.figure canvas').length > 2 && location.hash), '#ranks=0-3');
		await accessible(page);
		// What is cut off or gone is said, and ends nothing.
		truncateSync(grow, 1000);
		await page.waitForFunction(() => !/updated/.test(document.getElementById('live').textContent) || document.querySelector('#now .status').textContent !== 'straggler');
		rmSync(grow);
		await page.waitForFunction(() => /gone/.test(document.getElementById('live').textContent));
		await page.close();
		assert.equal((await fetch(address)).status, 200);
	});

	test('hostile names stay text', async () => {
		const name = '</script><img src=x onerror=alert(1)>\u202e\u009b31m';
		writeFileSync(join(folder, 'hostile.jsonl'), lines('host-callback-r8-s0.jsonl', (p) => ({ ...p, run: name, host: name })));
		const { page, done } = await visited('');
		await page.waitForFunction(() => [...document.querySelectorAll('tbody td')].some((d) => d.textContent.includes('onerror')));
		assert.equal(await page.$$eval('img', (all) => all.length), 0);
		await done();
	});
});
