import uPlot from 'uplot';
import { lateness } from './charts.js';
import { longest, named, stageColours, variable } from './colour.js';
import { el } from './dom.js';
import { bound, brief, counted, length, percent, unitFor } from './format.js';
import { nameOf, stepsOf } from './selection.js';
import { change, state } from './state.js';
import { tell } from './surface.js';

const sync = uPlot.sync('steps');

// overSteps draws series over the columns of a selection, in one chart of those
// that share the cursor; dragging chooses steps.
function overSteps(into, { run, sel, series, data, words, label, height = 220, draw }) {
	into.chart?.destroy();
	into.replaceChildren();
	const axis = { stroke: variable('--ink'), grid: { stroke: variable('--line'), width: 1 }, ticks: { stroke: variable('--line') }, font: '12px system-ui, sans-serif' };
	const unit = unitFor(Math.max(1, ...data.slice(1).map((s) => s.reduce((a, b) => Math.max(a, b ?? 0), 0))) * run.unit_ns);
	const scaled = [data[0], ...data.slice(1).map((s) => s.map((v) => v === null ? null : v * run.unit_ns / unit[1]))];
	const options = {
		width: Math.max(280, into.clientWidth), height,
		legend: { show: false },
		cursor: { sync: { key: sync.key, setSeries: false }, drag: { x: true, y: false, setScale: false }, points: { show: false } },
		scales: { x: { time: false, range: range(run, sel) }, y: { range: (u, min, max) => [0, Math.max(max, 1e-9) * 1.06] } },
		axes: [{ ...axis, label: 'step', labelSize: 16, labelGap: 0, size: 30, labelFont: axis.font, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6] },
			{ ...axis, label: unit[0], labelSize: 16, labelGap: 0, labelFont: axis.font, size: 56 }],
		series: [{}, ...series],
		hooks: {
			draw: draw ? [draw] : [],
			setCursor: [(u) => {
				if (!u.root.matches(':hover, :focus')) return;
				const i = u.cursor.idx;
				const r = u.over.getBoundingClientRect();
				if (i === null || i === undefined || u.cursor.left < 0) tell(null);
				else tell([stepsOf(run.steps, sel.columns[i]), ...words(i)], r.left + u.cursor.left, r.top + Math.max(0, u.cursor.top));
			}],
			setSelect: [(u) => {
				if (u.select.width < 4) return;
				const from = Math.round(u.posToVal(u.select.left, 'x')), to = Math.round(u.posToVal(u.select.left + u.select.width, 'x'));
				change({ from, to });
			}],
		},
	};
	const chart = new uPlot(options, scaled, into);
	into.chart = chart;
	chart.root.tabIndex = 0;
	chart.root.setAttribute('role', 'img');
	chart.root.setAttribute('aria-label', label);
	chart.root.addEventListener('mouseleave', () => tell(null));
	chart.root.addEventListener('blur', () => tell(null));
	chart.root.addEventListener('keydown', (e) => {
		const n = sel.columns.length, i = chart.cursor.idx ?? -1;
		const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: n - 1 }[e.key];
		if (to === undefined) return;
		e.preventDefault();
		const at = Math.min(Math.max(to, 0), n - 1);
		chart.setCursor({ left: chart.valToPos(data[0][at], 'x'), top: 20 });
	});
}

// range is what the axis of steps shows: whole columns.
function range(run, sel) {
	const first = run.steps.first[sel.columns[0]] ?? 0, last = run.steps.first[sel.columns.at(-1)] ?? 1;
	return [first - 0.5 * run.steps.width, last + run.steps.width - 0.5 * run.steps.width];
}

const middles = (run, sel) => sel.columns.map((c) => run.steps.first[c] + (run.steps.width - 1) / 2);

// exposed is the exposed time of each stage over the steps, one upon the other.
export function exposed(run, sel) {
	const stages = run.stages.map((_, s) => s).filter((s) => sel.stage < 0 || s === sel.stage);
	const at = (s, i) => run.steps.exposed[s][sel.columns[i]];
	return {
		draw(into) {
			const colours = stageColours(run);
			const sums = [];
			stages.forEach((s, k) => sums.push(sel.columns.map((_, i) => at(s, i) + (k ? sums[k - 1][i] : 0))));
			const bars = uPlot.paths.bars({ size: [0.92, 60], align: 0, radius: 0 });
			overSteps(into, {
				run, sel, label: 'Exposed time of each stage over the steps. Arrow keys move from step to step; the table below has the numbers.',
				// The highest first: what is lower covers it.
				series: stages.map((s) => ({ label: run.stages[s].name, fill: colours[s], stroke: colours[s], width: 0, points: { show: false }, paths: bars })).reverse(),
				data: [middles(run, sel), ...sums.reverse()],
				words: (i) => {
					const whole = run.stages.reduce((sum, _, s) => sum + at(s, i), 0);
					return [`${length(whole * run.unit_ns)} in all`, ...stages.map((s) => `${brief(run.stages[s].name)} ${length(at(s, i) * run.unit_ns)}, ${percent(whole ? at(s, i) / whole : null)}`)];
				},
			});
			into.append(stageKey(run, colours));
		},
		table: () => sel.columns.length ? {
			columns: [{ head: 'step', number: true }, ...stages.map((s) => ({ head: run.stages[s].name, number: true }))],
			rows: sel.columns.map((c, i) => [run.steps.first[c], ...stages.map((s) => length(at(s, i) * run.unit_ns))]),
		} : null,
	};
}

const worth = 0.0005; // of the step: less is 0.0 %

// stageKey names the colours, by default in the order of the step; a click chooses a stage.
export function stageKey(run, colours, order = run.stages.map((_, i) => i)) {
	const coloured = longest(run), more = run.stages.length - coloured.length;
	const whole = run.windows.length > 1 && run.stages.some((s) => s.share !== null);
	return el('ul', { className: 'key' }, order.filter((i) => coloured.includes(i) && (run.stages[i].share ?? worth) >= worth).map((i) => {
		const s = run.stages[i];
		const b = el('button', { type: 'button', title: s.name, onclick: () => change({ stage: state.stage === s.name ? '' : s.name }) },
			swatch(colours[i]), brief(s.name), s.share === null ? '' : bound(` ${percent(s.share)}`), s.synchronises ? ' · ranks synchronise' : '');
		b.setAttribute('aria-pressed', String(state.stage === s.name));
		return el('li', {}, b);
	}), more ? el('li', {}, swatch(variable('--stage-other')), `${more} other${more === 1 ? '' : 's'}`) : null,
	whole ? el('li', {}, `Shares are of all windows of this page; those in the table of the verdict, of the one window that it shows.`) : null);
}

export function swatch(colour, opacity = 1) {
	const s = el('span', { className: 'swatch' });
	s.style.background = colour;
	s.style.opacity = String(opacity);
	return s;
}

// glyph is a mark in a key.
function glyph(shape, colour) {
	const s = el('span', { className: 'glyph' }, shape);
	s.style.color = colour;
	s.setAttribute('aria-hidden', 'true');
	return s;
}

const marks = ['●', '■', '▲', '◆']; // of the ranks that are last at most cost; others have a pale dot

// mark draws one of the marks at a place.
function mark(c, shape, x, y, r) {
	c.beginPath();
	if (shape === '●') c.arc(x, y, r, 0, 2 * Math.PI);
	else if (shape === '■') c.rect(x - r, y - r, 2 * r, 2 * r);
	else {
		c.moveTo(x, y - 1.3 * r);
		for (const [dx, dy] of shape === '▲' ? [[1.3, 1], [-1.3, 1]] : [[1.3, 0], [0, 1.3], [-1.3, 0]]) c.lineTo(x + dx * r, y + dy * r);
	}
	c.fill();
}

// last is which rank was last to arrive in each step, and by how much.
export function last(run, sel) {
	const { steps } = run;
	const columns = sel.columns.filter((c) => steps.last[c] >= 0);
	const times = new Map();
	for (const c of columns) times.set(steps.last[c], (times.get(steps.last[c]) ?? 0) + 1);
	const cost = (r) => columns.reduce((sum, c) => sum + (steps.last[c] === r ? steps.behind[c] : 0), 0);
	const order = [...times.keys()].sort((a, b) => cost(b) - cost(a));
	return {
		draw(into) {
			const shape = (r) => marks[order.indexOf(r)] ?? '●';
			const colour = (r) => !sel.shown[r] || order.indexOf(r) >= marks.length ? variable('--faint') : run.named.includes(r) ? named(run) : variable('--dim');
			const size = sel.columns.length > 300 ? 2 : 3.5;
			overSteps(into, {
				run, sel, label: 'By how much the last rank is late, over the steps. Arrow keys move from step to step; the table below has the numbers.',
				series: [{ label: 'last', width: 0, points: { show: false } }],
				data: [middles(run, sel), sel.columns.map((c) => steps.behind[c] < 0 ? null : steps.behind[c])],
				words: (i) => {
					const c = sel.columns[i];
					if (steps.behind[c] < 0) return ['no entries were recorded'];
					return steps.last[c] < 0 ? ['nobody is late'] : [`${nameOf(run, steps.last[c])} is last, ${length(steps.behind[c] * run.unit_ns)} ${lateness(steps)}`];
				},
				draw: (u) => {
					sel.columns.forEach((c, i) => {
						if (steps.last[c] < 0) return;
						const x = u.valToPos(u.data[0][i], 'x', true), y = u.valToPos(u.data[1][i], 'y', true);
						u.ctx.fillStyle = colour(steps.last[c]);
						u.ctx.fillRect(x - 0.5 * devicePixelRatio, y, devicePixelRatio, u.valToPos(0, 'y', true) - y);
						mark(u.ctx, shape(steps.last[c]), x, y, size * devicePixelRatio);
					});
				},
			});
			into.append(el('ul', { className: 'key' }, order.slice(0, marks.length).map((r) => el('li', {},
				el('button', { type: 'button', onclick: () => change({ ranks: state.ranks === String(run.ranks[r].id) ? '' : String(run.ranks[r].id) }) },
					glyph(shape(r), colour(r)), `${nameOf(run, r)}: last in ${times.get(r)} of ${columns.length} ${steps.width > 1 ? 'columns' : 'steps'}`))),
			order.length > marks.length ? el('li', {}, glyph('●', variable('--faint')), counted(order.length - marks.length, 'other')) : null));
		},
		table: () => columns.length ? {
			columns: [{ head: 'step', number: true }, { head: 'last to arrive', number: true }, { head: 'host' }, { head: lateness(steps), number: true }],
			rows: columns.map((c) => [steps.first[c], run.ranks[steps.last[c]].id, run.ranks[steps.last[c]].host, length(steps.behind[c] * run.unit_ns)]),
		} : null,
	};
}

// bands are quantiles of the lateness over all ranks, of a run that has too many.
export function bands(run, sel) {
	const { bands: b } = run.steps;
	const names = b.of.map((q) => q === 1 ? 'largest' : q === 0.5 ? 'median' : `${Math.round(100 * q)} %`);
	const at = (q, i) => b.at[q][sel.columns[i]], shade = (q) => (q + 1) / names.length;
	return {
		draw(into) {
			overSteps(into, {
				run, sel, height: 160, label: 'Quantiles of the lateness over all ranks, over the steps.',
				series: names.map((label, q) => ({ label, stroke: variable('--ink'), alpha: shade(q), width: 1.5, points: { show: false } })),
				data: [middles(run, sel), ...names.map((_, q) => sel.columns.map((_, i) => at(q, i)))],
				words: (i) => names.map((n, q) => `${n} ${length(at(q, i) * run.unit_ns)}`),
			});
			into.append(el('ul', { className: 'key' }, names.map((n, q) => el('li', {}, swatch(variable('--ink'), shade(q)), n))));
		},
		table: () => ({ columns: [{ head: 'step', number: true }, ...names.map((head) => ({ head, number: true }))],
			rows: sel.columns.map((c, i) => [run.steps.first[c], ...names.map((_, q) => length(at(q, i) * run.unit_ns))]) }),
	};
}
