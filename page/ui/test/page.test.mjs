// What the page of sfstat report does in a browser. SFSTAT names the program.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, open } from './browser.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const fixtures = here('../../../fixtures'), axe = readFileSync(here('../node_modules/axe-core/axe.min.js'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'sfstat-page-'));

const hostile = ['</script><script>alert(1)</script>', '<img src=x onerror=alert(2)>', 'x'.repeat(512), 'right\u202eleft', 'escape\u009b31m', '__proto__', '${1}`"\''];

// hostilePackets is a window of which every name is one that means harm.
function hostilePackets() {
	const path = join(folder, 'hostile.jsonl');
	writeFileSync(path, [0, 1, 2, 3].map((rank) => JSON.stringify({
		schema: 'sfstat.packet/1', run: hostile[0], window: 0, rank, world_size: 4, host: hostile[rank % 2], local_rank: rank, stages: hostile, first_step: 0,
		durations_ns: Array.from({ length: 12 }, () => hostile.map((_, s) => 1e6 + 1000 * s + (rank === 2 && s === 1 ? 4e6 : 0))),
		wall_ns: Array(12).fill(2e7),
	})).join('\n') + '\n');
	return path;
}

// hybridTrace is an operator trace of a job in which one worker computes longer.
function hybridTrace() {
	const out = join(folder, 'hybrid');
	execFileSync(process.env.SFSTAT ?? 'sfstat', ['simulate', '--operators', '--layout', '4x4x4', '--microbatches', '8', '--steps', '12', '--fault', 'slow-worker,dp=2,pp=1,factor=1.5', '-q', '-o', out]);
	return out;
}

// latentRun is a job in which one rank is 5 % slower in all that it works by itself.
function latentRun() {
	const spec = join(folder, 'latent.yaml'), out = join(folder, 'latent.jsonl'), program = process.env.SFSTAT ?? 'sfstat';
	const usual = execFileSync(program, ['simulate', '--print-spec'], { encoding: 'utf8' });
	writeFileSync(spec, `${usual}work: [{ranks: [3], factor: 1.05, stages: [data.next_wait, model.fwd_loss_cpu_wall, callbacks.cpu_wall, optim.step_cpu_wall]}]\n`);
	execFileSync(program, ['simulate', '--spec', spec, '-q', '-o', out]);
	return out;
}

// thirdStep is a table in which rank 1 takes 90 ms longer in data, where nobody waits yet, in every third step; a stage follows the point where ranks
// synchronise, or none.
function thirdStep(after) {
	const path = join(folder, after ? 'after.csv' : 'third.csv'), lines = [`rank,step,data_ms,forward_ms,backward_ms${after ? ',optim_ms' : ''}`];
	for (let step = 0; step < 90; step++) {
		for (let rank = 0; rank < 4; rank++) {
			const late = step % 3 === 1 ? 90 : 0, own = (k) => 0.3 * Math.sin(7 * step + 5 * rank + 3 * k);
			lines.push([rank, step, 15 + own(0) + (rank === 1 ? late : 0), 60 + own(1), 80 + (rank === 1 ? 0 : late), ...after ? [10 + own(4)] : []].join());
		}
	}
	writeFileSync(path, lines.join('\n') + '\n');
	return path;
}

const inputs = {
	third: [thirdStep(false)],
	after: [thirdStep(true)],
	callback: [join(fixtures, 'ddp/host-callback-r8-s0.jsonl')],
	latent: [latentRun()],
	runs: [join(fixtures, 'ddp')],
	hybrid: [hybridTrace()],
	operators: [join(fixtures, 'optrace/trace-slow-worker.csv')],
	hang: [join(fixtures, 'flightrecorder/hang')],
	hostile: [hostilePackets()],
	communication: [join(fixtures, 'comm/run')],
	captured: [join(fixtures, 'captured')],
};

function written(name) {
	const file = join(folder, `${name}.html`);
	try { statSync(file); } catch { execFileSync(process.env.SFSTAT ?? 'sfstat', ['report', ...inputs[name], '-q', '-o', file]); }
	return file;
}

let browser;
before(async () => { browser = await launch(); });
after(async () => {
	await browser.close();
	rmSync(folder, { recursive: true });
});

// shown opens a page, hands it to a check, and holds that nothing was asked of the
// network and nothing was complained of.
async function shown(name, check, options) {
	const opened = await open(browser, written(name), options);
	await check(opened.page, opened);
	assert.deepEqual(opened.errors, []);
	assert.deepEqual(opened.requests, []);
	await opened.page.close();
}

const json = (page) => page.evaluate(async () => JSON.parse(await globalThis.sfstat.verdictJSON()));

// rows are the cells of the table below the chart of a title, or that is the chart.
const rows = (page, title) => page.evaluate(async (title) => {
	const section = [...document.querySelectorAll('#charts section')].find((s) => s.querySelector('h2').textContent === title);
	const details = section.querySelector('details.numbers') ?? section;
	details.open = true;
	await new Promise((done) => setTimeout(done, 50));
	return [...details.querySelectorAll('tr')].map((tr) => [...tr.cells].map((c) => c.textContent));
}, title);

const status = (page) => page.$eval('.selected', (e) => e.textContent);
const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const tooltip = (page) => page.evaluate(() => { const t = document.querySelector('.tooltip'); return !t || t.hidden ? null : t.textContent; });

describe('every page', () => {
	for (const name of Object.keys(inputs)) {
		for (const theme of ['light', 'dark']) {
			test(`${name}, ${theme}: no error, no request, no serious fault of accessibility`, () => shown(name, async (page) => {
				await page.evaluate(axe);
				const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
				const serious = found.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical');
				assert.deepEqual(serious.map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 200)} ${v.nodes[0].failureSummary}`), []);
			}, { theme }));
		}
	}
});

describe('values', () => {
	test('the headline is that of the JSON', () => shown('callback', async (page) => {
		const { headline } = await json(page);
		const said = await page.$$eval('.answer:not([hidden]) .headline', (list) => list.map((e) => {
			const sentence = e.cloneNode(true);
			sentence.querySelector('.badge')?.remove();
			return sentence.textContent.trim().replaceAll('\u00a0', ' ');
		}).join(' '));
		assert.equal(said, headline);
		assert.equal(await page.title(), headline);
	}));

	test('the strip of a finding has its steps, and each limit stands on the scale', () => shown('callback', async (page) => {
		const { findings: [first], coverage } = await json(page);
		const [, since] = await rows(page, 'Since when');
		assert.deepEqual(since.slice(2), [first.steps_struck.first, first.steps_struck.last, first.steps_struck.count, first.steps_struck.of].map(String));
		const drawn = await page.$$eval('.since:first-child .strip path', (list) => list.map((p) => (p.getAttribute('d').match(/M/g) ?? []).length));
		const struck = await page.evaluate(({ first, last }) => {
			const [{ steps, named }] = globalThis.sfstat.page.runs, late = steps.late[steps.rows.indexOf(named[0])];
			return [true, false].map((of) => steps.first.filter((s, i) => late[i] > 0 && (s >= first && s <= last) === of).length);
		}, first.steps_struck);
		assert.deepEqual(drawn, struck);
		const limits = await page.$$eval('.zones', (list) => list.map((z) => ['found', 'hatched'].map((c) => Boolean(z.querySelector(`.${c}`)))));
		assert.deepEqual(limits, coverage.map((c) => [c.least_ns > 0, c.hides_ns > 0]));
	}));

	for (const name of ['third', 'after']) test(`the bars of struck steps are the tall ones, ${name}`, () => shown(name, async (page) => {
		const { findings: [first] } = await json(page);
		assert.deepEqual([first.rank, first.steps_struck.pattern, first.steps_struck.first], [1, 'periodic', 1]);
		const heights = await page.$$eval('.strip path', (list) => list.slice(0, 2).map((p) => [...p.getAttribute('d').matchAll(/ 1V([\d.]+)/g)].map((m) => 1 - Number(m[1]))));
		assert.ok(heights[0].length >= 29 && Math.min(...heights[0]) > 0.8, heights[0].join());
		assert.ok(heights[1].every((h) => h < 0.2), heights[1].join());
	}));

	test('behind (?) stands what is to be seen, for a keyboard too', () => shown('callback', async (page) => {
		const note = () => page.$eval('.about .note', (e) => e.checkVisibility());
		assert.equal(await note(), false);
		await page.focus('.about summary');
		await page.keyboard.press('Enter');
		assert.equal(await note(), true);
	}));

	test('a narrow screen cuts nothing of the table of the verdict, and no unit leaves its number', () => shown('callback', async (page) => {
		const [table, frame] = await page.$eval('.answer .scroll', (e) => [e.scrollWidth, e.clientWidth]);
		assert.ok(table <= frame, `${table} in ${frame}`);
		const bars = await page.$$eval('.answer td.bar', (list) => list.map((e) => e.clientWidth));
		assert.ok(Math.min(...bars) >= 60, bars.join());
		const said = await page.$eval('.answer', (e) => e.innerText);
		assert.doesNotMatch(said.replace(/\n/g, '|'), /\d (?:ms|%)(?!\w)/);
	}, { width: 400 }));

	test('exposed times add up to those of the JSON', () => shown('callback', async (page) => {
		const { windows } = await json(page);
		const { unit, stages } = await page.evaluate(() => {
			const [run] = globalThis.sfstat.page.runs;
			return { unit: run.unit_ns, stages: run.stages.map((s, i) => ({ ...s, sum: run.steps.exposed[i].reduce((a, b) => a + b, 0) * run.unit_ns })) };
		});
		assert.equal(stages.length, windows[0].stages.length);
		for (const s of stages) {
			const told = windows[0].stages.find((w) => w.name === s.name);
			assert.equal(s.advance_ns, told.advance_ns);
			assert.ok(Math.abs(s.share - told.share) < 1e-9);
			assert.ok(Math.abs(s.sum - told.advance_ns) <= unit / 2 * windows[0].steps, `${s.name}: ${s.sum} and ${told.advance_ns}`);
		}
	}));

	test('what fixing saves is what the findings of the JSON say', () => shown('callback', async (page) => {
		const { findings } = await json(page);
		const table = await rows(page, 'What fixing would save');
		assert.deepEqual(table[1], ['rank 2', 'callbacks.cpu_wall', '', `${(100 * findings[0].run_gain).toFixed(1)} %`]);
	}));

	test('the line of a finding stands beside what fixing it saves', () => shown('captured', async (page) => {
		const { source_line: line } = (await json(page)).findings[0];
		const table = await rows(page, 'What fixing would save');
		assert.deepEqual([table[0][2], table[1][2]], ['line', `${line.file.split('/').at(-1)}:${line.line}`]);
	}));

	test('outliers of an operator trace are listed, those of the suspect first', () => shown('hybrid', async (page) => {
		const { findings } = await json(page);
		const table = await rows(page, 'What other methods find');
		assert.ok(table[1][0].startsWith(`worker ${findings[0].rank}`), table[1][0]); // it stands for four ranks
		assert.ok(Number(table[1][3]) + Number(table[1][4]) > 0);
	}));

	for (const width of [400, 1280]) {
		test(`the distribution of a rank that differs is drawn beside its peers', ${width} px wide`, () => shown('latent', async (page) => {
			const { latent: [one] } = await json(page);
			assert.equal(one.rank, 3);
			const drawn = await page.evaluate(() => {
				const section = [...document.querySelectorAll('#charts section')].find((s) => s.querySelector('h2').textContent === 'How its distribution differs');
				const [lines, bars] = section.querySelectorAll('svg'), big = [...lines.querySelectorAll('circle[r="4"]')];
				return {
					circles: lines.querySelectorAll('circle').length, big: big.map((c) => c.textContent), line: lines.querySelector('.deciding').getAttribute('d'), at: big[0].getAttribute('cx'),
					bars: [...bars.querySelectorAll('rect')].map((r) => Number(r.getAttribute('height'))), wide: document.documentElement.scrollWidth, beside: lines.getBoundingClientRect().top === bars.getBoundingClientRect().top,
				};
			});
			const most = one.places.reduce((a, b) => b.d > a.d ? b : a);
			assert.ok(Math.abs(most.d - one.d) < 1e-9); // the place that is marked is that of D
			assert.equal(drawn.circles, 2 * one.places.length);
			assert.ok(drawn.big[0].includes(`${(100 * most.peers).toFixed(1)} %`) && drawn.big[1].includes(`${(100 * most.rank).toFixed(1)} %`), drawn.big.join());
			assert.ok(drawn.line.startsWith(`M${drawn.at} `));
			one.quarters.forEach((q, i) => assert.ok(Math.abs(drawn.bars[i] / drawn.bars[0] - q.last / q.of / (one.quarters[0].last / one.quarters[0].of)) < 1e-6));
			assert.deepEqual([one.quarters.reduce((n, q) => n + q.last, 0), one.quarters.reduce((n, q) => n + q.of, 0)], [one.last, one.of]);
			assert.deepEqual([drawn.wide, drawn.beside], [width, width > 700]);
			const table = await rows(page, 'How its distribution differs');
			assert.deepEqual([table.length, table.at(-1).at(-1)], [1 + one.places.length + 4, `${one.quarters[3].last} of ${one.quarters[3].of}`]);
		}, { width }));
	}

	test('the key of an operator trace names its operators', () => shown('operators', async (page) => {
		const key = await page.$eval('.figure .key', (e) => e.textContent);
		for (const name of ['forward-compute', 'backward-compute', 'others']) assert.ok(key.includes(name), `${name} in ${key}`);
	}));

	test('a narrow screen shows who is late, and how sure', () => shown('runs', async (page) => {
		const past = await page.$$eval('.answer:not([hidden]) td, #runs td', (cells) => cells.filter((c) => c.textContent && c.getBoundingClientRect().right > c.closest('.scroll').getBoundingClientRect().right + 0.5).map((c) => c.textContent));
		assert.deepEqual(past, []);
	}, { width: 400 }));

	test('tables show what the charts draw', () => shown('callback', async (page) => {
		const step = await rows(page, 'One step, rank by rank');
		assert.equal(step.length, 9);
		assert.deepEqual(step[3].slice(0, 2), ['2', 'node0']);
		assert.match(step[3][2], /^1[12]\d ms$/);
		const last = await rows(page, 'Who arrives last');
		assert.ok(last.slice(1).every((r) => r[1] === '2'));
		assert.equal((await rows(page, 'Ranks and steps')).length, 40);
	}));

	test('bandwidths, volumes and waits are those of sfstat comm', () => shown('communication', async (page) => {
		const told = JSON.parse(execFileSync(process.env.SFSTAT ?? 'sfstat', ['comm', ...inputs.communication, '-q', '--format', 'json']));
		const { traffic } = await page.evaluate(() => globalThis.sfstat.page.runs[0]);
		const speeds = await rows(page, 'Bandwidth');
		assert.equal(speeds.length, 5);
		for (const s of traffic.speeds) {
			const b = told.bandwidth.find((x) => x.communicator === s.name && x.from_bytes === s.from_bytes);
			assert.ok(Math.abs(s.bus_gbps / b.bus_gbps - 1) < 1e-4 && s.limit_gbps === b.limit_gbps);
		}
		assert.deepEqual(speeds[1].slice(0, 4), ['TP AllReduce', '0-1', '0x5f3a11c0de4402', '2 MiB']);
		assert.deepEqual((await rows(page, 'Volumes'))[1].slice(1), ['DP', '0,2', 'AllReduce', '12', '277 MB']);
		assert.deepEqual((await rows(page, 'Bytes between ranks'))[1], ['rank 0', '', '50.3 MB', '138 MB', '', '189 MB']);
		assert.deepEqual((await rows(page, 'Who enters collectives last'))[1].slice(0, 2), ['rank 2 (node1)', '31 of 33']);
		assert.equal(await page.$eval('#charts section h2', (e) => e.textContent), 'Who enters collectives last');
	}));

	test('red is the culprit alone, and the verdict has the colours of the charts', () => shown('runs', async (page) => {
		const swatch = (title) => page.evaluate((title) => {
			const section = [...document.querySelectorAll('#charts section')].find((s) => s.querySelector('h2').textContent === title);
			return [...section.querySelectorAll('.key button')].map((b) => [b.title, b.querySelector('.swatch').style.background]);
		}, title);
		const bars = () => page.$$eval('.answer:not([hidden]) tbody tr', (all) => all.map((r) => [r.cells[0].textContent, r.querySelector('rect').style.fill]));
		const red = 'rgb(179, 38, 30)';
		const step = await swatch('One step, rank by rank');
		assert.equal(step[0][0], 'callbacks.cpu_wall'); // where the drawing begins
		assert.deepEqual(step.filter(([, colour]) => colour === red).map(([name]) => name), ['callbacks.cpu_wall']);
		assert.deepEqual(new Map(await swatch('Where the step goes')), new Map(step));
		assert.deepEqual(new Map(await bars()), new Map(step));
		await page.evaluate(() => { [...document.querySelectorAll('#runs a')].find((a) => a.textContent.startsWith('nofault')).click(); });
		await settled(page);
		assert.ok((await bars()).length > 4 && !(await bars()).some(([, colour]) => colour === red));
		assert.equal((await page.$$eval('#charts h2', (all) => all.map((h) => h.textContent))).includes('Where the delay began'), false);
	}));

	test('a trace of the drawn steps has every stage of every rank', () => shown('callback', async (page) => {
		const trace = await page.evaluate(() => globalThis.sfstat.chromeTrace());
		const spans = trace.traceEvents.filter((e) => e.ph === 'X');
		assert.ok(spans.every((e) => e.dur > 0 && e.ts >= 0));
		assert.equal(new Set(spans.map((e) => e.pid)).size, 8);
		assert.equal(new Set(spans.map((e) => e.args.step)).size, 39);
		assert.ok(spans.some((e) => e.cat === 'wait' && e.dur > 100_000));
	}));
});

describe('filters', () => {
	test('ranks, steps and stages are chosen, kept in the address and given up', () => shown('callback', async (page) => {
		await page.type('#f-ranks', '2, 4-5');
		await page.keyboard.press('Enter');
		await page.select('#f-stage', 'callbacks.cpu_wall');
		await page.type('#f-from', '10');
		await page.type('#f-to', '19');
		await page.keyboard.press('Tab');
		await settled(page);
		assert.equal(await status(page), '3 ranks of 8 · 10 steps of 39 · callbacks.cpu_wall');
		const map = await rows(page, 'Ranks and steps');
		assert.deepEqual(map[0], ['step', 'rank 2', 'rank 4', 'rank 5']);
		assert.deepEqual([map.length, map[1][0], map[10][0]], [11, '10', '19']);
		assert.equal((await rows(page, 'One step, rank by rank')).length, 4);
		const address = await page.evaluate(() => location.hash);
		await page.click('#f-reset');
		await settled(page);
		assert.equal(await status(page), '8 ranks · 39 steps');
		await page.evaluate((to) => { location.hash = to; }, address);
		await settled(page);
		assert.equal(await status(page), '3 ranks of 8 · 10 steps of 39 · callbacks.cpu_wall');
	}));

	test('a chart that is drawn anew leaves what is being typed', () => shown('callback', async (page) => {
		await page.type('#f-from', '1');
		await page.evaluate(() => { const stage = document.querySelector('#f-stage'); stage.value = 'callbacks.cpu_wall'; stage.dispatchEvent(new Event('change')); });
		await settled(page);
		await page.type('#f-from', '2');
		await page.keyboard.press('Enter');
		await settled(page);
		assert.equal(await page.$eval('#f-from', (e) => e.value), '12');
		assert.ok((await status(page)).includes(' steps of 39 · callbacks.cpu_wall'), await status(page));
	}));

	test('another run brings its own verdict and charts', () => shown('runs', async (page) => {
		const names = await page.$$eval('#run option', (list) => list.map((o) => o.textContent));
		const healthy = names.findIndex((n) => n.startsWith('nofault'));
		await page.select('#run', String(healthy));
		await settled(page);
		assert.match(await page.$eval('.answer:not([hidden]) .headline', (e) => e.textContent), /^Nobody is late in /);
		assert.equal((await page.$$('.answer:not([hidden])')).length, 1);
	}));

	test('a row of all runs leads to its run', () => shown('runs', async (page) => {
		const row = (name) => page.$$eval('#runs a', (all, name) => all.findIndex((a) => a.textContent.startsWith(name)), name);
		for (const [name, says] of [['nofault', /^Nobody is late in /], ['host-callback', /callbacks/]]) {
			await (await page.$$('#runs a'))[await row(name)].click();
			await settled(page);
			assert.match(await page.$eval('.answer:not([hidden]) .headline', (e) => e.textContent), says);
			assert.ok((await page.$eval('#runs [aria-current=true]', (e) => e.textContent)).startsWith(name));
			assert.ok((await page.$eval('#run option:checked', (e) => e.textContent)).startsWith(name));
		}
	}));

	test('a drag over the steps chooses them', () => shown('callback', async (page) => {
		const over = await page.$('.u-over');
		await over.scrollIntoView();
		const box = await over.boundingBox();
		await page.mouse.move(box.x + box.width * 0.3, box.y + 50);
		await page.mouse.down();
		await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 4 });
		await page.mouse.up();
		await settled(page);
		assert.match(await status(page), /^8 ranks · 1\d steps of 39$/);
	}));
});

describe('keyboard', () => {
	test('arrow keys read a map, Enter draws the step, Escape ends', () => shown('callback', async (page) => {
		const maps = await page.$$('canvas.surface');
		await maps[1].focus();
		for (const key of ['ArrowRight', 'ArrowDown', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
		assert.match(await tooltip(page), /^rank 2 \(node0\)step 51\d\d ms behind the median rank$/);
		await page.keyboard.press('Enter');
		await settled(page);
		assert.equal(await page.$eval('.picker select', (e) => e.value), '5');
		await maps[1].focus();
		await page.keyboard.press('ArrowRight');
		await page.keyboard.press('Escape');
		assert.equal(await tooltip(page), null);
	}));

	test('lanes and charts over steps are read too', () => shown('callback', async (page) => {
		const [lanes] = await page.$$('canvas.surface');
		await lanes.focus();
		await page.keyboard.press('ArrowRight');
		assert.match(await tooltip(page), /^rank 0 \(node0\)callbacks.cpu_wall: /);
		const chart = await page.$('.uplot');
		await chart.focus();
		await page.keyboard.press('ArrowRight');
		assert.match(await tooltip(page), /^step 4rank 2 \(node0\) is last, 1\d\d ms behind the median rank$/);
	}));

	test('bandwidths are read strip by strip, and follow the filter', () => shown('communication', async (page) => {
		const strips = (await page.$$('canvas.surface'))[0];
		await strips.focus();
		for (const key of ['ArrowDown', 'ArrowDown', 'End']) await page.keyboard.press(key);
		assert.match(await tooltip(page), /^DP AllReduce from 16 MiB, ranks 1,30x5f3a11c0de440521.7 GB\/s, 90.6 % of NET 24 GB\/s/);
		await page.type('#f-ranks', '0');
		await page.keyboard.press('Enter');
		await settled(page);
		assert.deepEqual((await rows(page, 'Bandwidth')).slice(1).map((r) => r[1]), ['0-1', '0,2']);
		assert.deepEqual((await rows(page, 'Bytes between ranks')).slice(1), [['rank 0', '', '50.3 MB', '138 MB', '', '189 MB']]);
	}));

	test('everything that can be chosen is reached by Tab', () => shown('callback', async (page) => {
		const reached = new Set();
		for (let i = 0; i < 80; i++) {
			await page.keyboard.press('Tab');
			reached.add(await page.evaluate(() => { const e = document.activeElement; return e.id || e.className.split(' ')[0] || e.tagName; }));
		}
		for (const want of ['save-json', 'save-trace', 'theme', 'f-ranks', 'f-stage', 'f-from', 'f-to', 'f-reset', 'surface', 'uplot', 'SUMMARY']) assert.ok(reached.has(want), `${want} of ${[...reached]}`);
	}));
});

test('hostile names stay text', () => shown('hostile', async (page) => {
	let asked = 0;
	page.on('dialog', (d) => { asked++; d.dismiss(); });
	await page.$$eval('details', (list) => list.forEach((d) => { d.open = true; }));
	await settled(page);
	assert.equal(asked, 0);
	assert.equal((await page.$$('script')).length, 3);
	assert.equal((await page.$$('img')).length, 0);
	const text = await page.evaluate(() => document.body.innerText);
	assert.ok(text.includes(hostile[0]) && text.includes('\\u202e') && text.includes('\\u009b'));
	assert.ok(!/[\u202e\u009b]/.test(text));
	assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'a long name makes the page wider than the screen');
}));

test('the theme can be turned, and paper is light', () => shown('callback', async (page) => {
	const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
	const dark = await paper();
	await page.click('#theme');
	assert.notEqual(await paper(), dark);
	await page.click('#theme');
	assert.equal(await paper(), dark);
	assert.ok((await page.pdf({ format: 'A4' })).length > 10_000);
}, { theme: 'dark' }));

test('a page of 8 ranks is below 1 MB', () => {
	const size = statSync(written('callback')).size;
	assert.ok(size < 1_000_000, `${size} bytes`);
});
