import { blamed, longest, named, stageColours } from './colour.js';
import { brief, count, length, percent } from './format.js';
import { el } from './dom.js';
import { heat } from './map.js';
import { awaited, briefly, nameOf, nounOf, stepsOf } from './selection.js';
import { change } from './state.js';

// rankStep is what each rank does in each step: how late it is, or the time of the
// stage that is chosen.
export function rankStep(run, sel) {
	const { steps } = run;
	const of = sel.stage < 0 ? steps.late : steps.spent[sel.stage];
	const what = sel.stage < 0 ? lateness(steps) : `in ${run.stages[sel.stage].name}`;
	const ns = (v) => v < 0 ? null : length(v * run.unit_ns);
	return {
		draw(into) {
			heat(into, {
				rows: sel.rows.length, columns: sel.columns.length, unit: (v) => length(v * run.unit_ns),
				value: (r, c) => of[sel.rows[r][1]][sel.columns[c]],
				rowName: (r) => briefly(run, sel.rows[r][0]), columnName: (c) => String(steps.first[sel.columns[c]]),
				red: named(run), marked: (r) => r >= 0 && r < sel.rows.length && run.named.includes(sel.rows[r][0]),
				words: (r, c) => [nameOf(run, sel.rows[r][0]), stepsOf(steps, sel.columns[c]), `${ns(of[sel.rows[r][1]][sel.columns[c]]) ?? 'not recorded'} ${what}`],
				pick: ({ column }) => change({ step: steps.first[sel.columns[column]] }),
				label: `Map of ${nounOf(run)}s and steps: time ${what}. Arrow keys move, Enter draws the step; the table below has the numbers.`,
			});
		},
		table: () => sel.rows.length && sel.columns.length ? {
			columns: [{ head: 'step', number: true }, ...sel.rows.map(([r]) => ({ head: briefly(run, r), number: true }))],
			rows: sel.columns.map((c) => [steps.first[c], ...sel.rows.map(([, i]) => ns(of[i][c]))]),
		} : null,
	};
}

// lateness is what the lateness of a step is.
export const lateness = (steps) => steps.entered ? 'of its own before the collectives' : 'behind the median rank';

const mostRows = 128;

const waitOf = (r) => r.waits.reduce((a, b) => a + b, 0);

// rankStage is what each rank spends in each stage of a step without waiting, and
// what it waits.
export function rankStage(run, sel) {
	const ranks = run.ranks.map((_, i) => i).filter((i) => sel.shown[i]);
	const shown = ranks.length <= mostRows ? ranks : worst(run, ranks);
	const ns = (v) => v < 0 ? null : length(v * run.unit_ns);
	const own = (r, c) => c === run.stages.length ? waitOf(r) : r.spent[c] < 0 ? -1 : r.spent[c] - r.waits[c];
	return {
		draw(into) {
			const stages = run.operators ? longest(run).sort((a, b) => a - b) : run.stages.map((_, i) => i), columns = [...stages, run.stages.length];
			heat(into, {
				rows: shown.length, columns: columns.length, unit: (v) => length(v * run.unit_ns),
				value: (r, k) => own(run.ranks[shown[r]], columns[k]),
				rowName: (r) => briefly(run, shown[r]),
				columnName: (k) => columns[k] < run.stages.length ? brief(run.stages[columns[k]].name) : 'waits', all: true,
				red: named(run), marked: (r) => r >= 0 && r < shown.length && run.named.includes(shown[r]),
				words: (r, k) => {
					const c = columns[k], rank = run.ranks[shown[r]], waits = c < run.stages.length ? rank.waits[c] : 0;
					return [nameOf(run, shown[r]), c < run.stages.length ? `${ns(own(rank, c)) ?? 'not recorded'} a step in ${run.stages[c].name}` : `${ns(waitOf(rank))} a step waiting for ${awaited(run)}`,
						...waits > 0 ? [`${ns(rank.spent[c])} with the wait for ${awaited(run)}`] : []];
				},
				pick: ({ column }) => change({ stage: run.stages[columns[column]]?.name ?? '' }),
				label: `Map of ${nounOf(run)}s and stages: time a step. Arrow keys move, Enter chooses the stage; the table below has the numbers.`,
			});
		},
		table: () => ranks.length ? {
			columns: [{ head: nounOf(run), number: true }, { head: 'host' }, { head: 'role' }, ...run.stages.map((s) => ({ head: s.name, number: true })),
				{ head: 'waits', number: true }, ...run.operators ? [] : [{ head: 'behind the median rank', number: true }, { head: 'last in steps', number: true }]],
			rows: ranks.map((i) => {
				const r = run.ranks[i];
				return [r.id, r.host, r.role, ...r.spent.map(ns), ns(waitOf(r)), ...run.operators ? [] : [ns(r.late), count(r.last)]];
			}),
		} : null,
	};
}

// worst are the ranks that are late for longest, by number.
function worst(run, ranks) {
	const key = (i) => run.named.includes(i) ? Infinity : run.ranks[i].late;
	return [...ranks].sort((a, b) => key(b) - key(a)).slice(0, mostRows).sort((a, b) => a - b);
}

// hosts are the ranks of each host together.
export function hosts(run, sel) {
	const all = new Map();
	run.ranks.forEach((r, i) => {
		if (!sel.shown[i]) return;
		const h = all.get(r.host) ?? { ranks: 0, late: 0, wait: 0, last: 0 };
		h.ranks++;
		h.late += r.late;
		h.wait += waitOf(r);
		h.last += r.last;
		all.set(r.host, h);
	});
	const rows = [...all].sort((a, b) => b[1].late / b[1].ranks - a[1].late / a[1].ranks);
	const top = Math.max(1, ...rows.map(([, h]) => h.late / h.ranks));
	const ns = (v) => length(v * run.unit_ns);
	return {
		count: all.size,
		columns: [{ head: 'host' }, { head: 'ranks', number: true }, { head: 'behind the median rank', number: true }, { head: '', bar: true }, { head: 'waits', number: true }, { head: 'last in steps', number: true }],
		rows: rows.map(([name, h]) => [name || 'not recorded', count(h.ranks), ns(h.late / h.ranks), { bar: h.late / h.ranks / top }, ns(h.wait / h.ranks), count(h.last)]),
	};
}

const worth = 0.0005; // of the run: less is 0.0 %

// fixes are what fixing one thing would save of the run, findings first.
export function fixes(run, sel) {
	const rows = run.fixes.filter((f) => (sel.stage < 0 || f.kind === 'ranks' || f.stage === run.stages[sel.stage].name))
		.filter((f) => f.gain >= worth).sort((a, b) => (b.kind === 'finding') - (a.kind === 'finding') || b.gain - a.gain);
	const colours = stageColours(run), colour = (f) => f.kind === 'stage' ? colours[run.stages.findIndex((s) => s.name === f.stage)] : null;
	const top = Math.max(1e-9, ...rows.map((f) => f.gain)), lines = rows.some((f) => f.line);
	const who = { finding: (f) => f.who, ranks: () => `no ${nounOf(run)} late`, stage: () => 'the stage at its usual time' };
	return {
		columns: [{ head: 'fixed' }, { head: 'where' }, ...lines ? [{ head: 'line' }] : [], { head: '', bar: true }, { head: 'of the run', number: true }],
		rows: rows.map((f) => [who[f.kind](f), f.stage, ...lines ? [f.line] : [], { bar: f.gain / top, colour: colour(f), strong: f.kind === 'finding' && blamed(run) }, percent(f.gain)]),
	};
}

// quality is how each window was read.
export function quality(run) {
	return {
		columns: [{ head: 'window', number: true }, { head: 'first step', number: true }, { head: 'steps', number: true }, { head: 'ranks', number: true }, { head: 'missing', number: true },
			{ head: 'cut' }, { head: 'a step', number: true }, { head: 'in no stage', number: true }, { head: 'counted twice', number: true }, { head: 'gathered' }],
		rows: run.windows.map((w) => [w.window, w.first, count(w.steps), count(w.ranks), count(w.missing), w.cut, length(w.makespan_ns / Math.max(1, w.steps)),
			percent(w.closure_residual_share), percent(w.overlap_error_share), w.gather_ok ? 'yes' : 'no']),
	};
}

const svg = 'http://www.w3.org/2000/svg';

// strip draws a bar for each column of the steps, those that were struck in the colour of what findings name.
function strip(values, struck, label) {
	const picture = document.createElementNS(svg, 'svg'), top = Math.max(1e-9, ...values);
	picture.setAttribute('viewBox', `0 0 ${values.length} 1`);
	picture.setAttribute('preserveAspectRatio', 'none');
	picture.setAttribute('class', 'strip');
	picture.setAttribute('role', 'img');
	picture.setAttribute('aria-label', label);
	for (const of of [true, false]) {
		const path = document.createElementNS(svg, 'path');
		path.setAttribute('class', of ? 'struck' : 'other');
		path.setAttribute('d', values.map((v, i) => struck[i] === of && v > 0 ? `M${i} 1V${(1 - v / top).toFixed(3)}h1V1z` : '').join(''));
		picture.append(path);
	}
	return picture;
}

// struckWords says in which steps of a run a finding struck.
export function struckWords(s, steps) {
	const of = `${count(s.count)} of ${count(s.of)} steps`, end = steps.first.at(-1) + steps.width - 1;
	if (s.count === 1) return `step ${s.first} alone`;
	if (s.pattern === 'periodic' && s.period) return `every ${s.period} steps, from step ${s.first} to ${s.last}: ${of}`;
	if (s.pattern === 'constant') return s.count < s.of ? `the whole run: ${of}` : 'every step';
	if (s.pattern === 'window') return s.last >= end ? `since step ${s.first}: ${of}` : `steps ${s.first}–${s.last}: ${of}`;
	return `${of}, the first ${s.first}, the last ${s.last}`;
}

// reached is what a finding is about in each column: how late its ranks are, or what its stage takes beyond the usual.
function reached(run, s) {
	const { steps } = run, rows = s.ranks.map((r) => steps.rows.indexOf(r)).filter((r) => r >= 0);
	if (rows.length) return steps.first.map((_, c) => Math.max(0, ...rows.map((r) => steps.late[r][c])));
	const taken = steps.first.map((_, c) => s.in >= 0 ? steps.exposed[s.in][c] : steps.exposed.reduce((sum, of) => sum + of[c], 0));
	const usual = [...taken].sort((a, b) => a - b)[Math.floor(taken.length / 2)];
	return s.pattern === 'constant' ? taken : taken.map((v) => Math.max(0, v - usual));
}

// since is when each finding struck, as a strip over the run.
export function since(run) {
	const { steps } = run, end = steps.first.at(-1) + steps.width - 1;
	// Where anything follows the point at which ranks synchronise, a column goes from there to the same point of the next step: what a
	// step has before its point is in the column before.
	const point = run.stages.findIndex((s) => s.synchronises), whole = run.windows.every((w) => w.cut === 'step');
	const before = (s) => !whole && point < run.stages.length - 1 && s.in >= 0 && s.in < point ? 1 : 0;
	const within = (s) => {
		const from = s.first - before(s), to = s.last - before(s);
		return steps.first.map((first) => first + steps.width > from && first <= to &&
			(!(s.pattern === 'periodic' && s.period) || ((from - first) % s.period + s.period) % s.period < steps.width));
	};
	return {
		draw(into) {
			into.replaceChildren(...run.since.map((s) => el('div', { className: 'since' },
				el('p', {}, el('b', {}, s.who), s.stage ? ` in ${s.stage}` : '', ` · ${struckWords(s, steps)} `,
					s.pattern === 'window' || s.count === 1 ? el('button', { type: 'button', onclick: () => change({ from: s.first - before(s), to: s.last - before(s) }) }, 'Show them') : null),
				strip(reached(run, s), within(s), `${s.who}: ${struckWords(s, steps)}`),
				el('p', { className: 'ends' }, el('span', {}, `step ${steps.first[0]}`), el('span', {}, `step ${end}`)))));
		},
		table: () => ({ columns: [{ head: 'who' }, { head: 'where' }, { head: 'first step', number: true }, { head: 'last step', number: true }, { head: 'struck', number: true }, { head: 'of', number: true }],
			rows: run.since.map((s) => [s.who, s.stage, s.first, s.last, count(s.count), count(s.of)]) }),
	};
}

// places is what the recording shows of each place of a step, on one scale of delays.
export function places(run, sel) {
	const shown = run.places.filter((p) => sel.stage < 0 || p.stage === run.stages[sel.stage].name);
	const top = 1.25 * Math.max(1, ...run.places.map((p) => Math.max(p.found_ns, p.hides_ns)));
	const zone = (className, from, to) => {
		const z = el('span', { className });
		z.style.left = `${100 * from / top}%`;
		z.style.width = `${100 * (to - from) / top}%`;
		return z;
	};
	const scale = (p) => el('div', { className: 'zones' }, p.hides_ns ? zone('hatched', 0, p.hides_ns) : null, p.found_ns ? zone('found', p.found_ns, top) : null);
	return {
		columns: [{ head: 'in' }, { head: '', bar: true }, { head: 'found from', number: true }, { head: 'hidden up to', number: true }, { head: 'why' }],
		rows: shown.map((p) => [p.stage ? brief(p.stage) : 'anywhere', { node: scale(p) }, p.found_ns ? length(p.found_ns) : null, p.hides_ns ? length(p.hides_ns) : null, p.why]),
	};
}
