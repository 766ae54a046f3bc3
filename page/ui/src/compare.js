import { blamed, named, over, stageColours, variable } from './colour.js';
import { el } from './dom.js';
import { brief, count, length, percent } from './format.js';
import { heat } from './map.js';
import { briefly, nameOf, nounOf } from './selection.js';

// apart is how far the completion times of every two ranks are apart.
export function apart(run, sel) {
	const { ranks, d } = run.apart;
	const shown = ranks.map((_, i) => i).filter((i) => sel.shown[ranks[i]]);
	const at = (a, b) => d[shown[a]][shown[b]];
	const said = (v) => v < 0 ? null : v.toFixed(3);
	return {
		draw(into) {
			heat(into, {
				rows: shown.length, columns: shown.length, value: at, unit: (v) => v.toFixed(2), least: 0.5,
				rowName: (r) => briefly(run, ranks[shown[r]]), columnName: (c) => String(run.ranks[ranks[shown[c]]].id),
				red: named(run), marked: (r) => r >= 0 && r < shown.length && run.named.includes(ranks[shown[r]]),
				words: (a, b) => [`${nameOf(run, ranks[shown[a]])} and ${nameOf(run, ranks[shown[b]])}`, `D ${said(at(a, b)) ?? 'not known'}`],
				label: `Map of ${nounOf(run)}s and ${nounOf(run)}s: how far their completion times are apart. Arrow keys move; the table below has the numbers.`,
			});
		},
		table: () => shown.length ? {
			columns: [{ head: nounOf(run), number: true }, ...shown.map((i) => ({ head: String(run.ranks[ranks[i]].id), number: true }))],
			rows: shown.map((i, a) => [run.ranks[ranks[i]].id, ...shown.map((_, b) => said(at(a, b)))]),
		} : null,
	};
}

// signs are what methods find that do not look at what the frontier charges.
export function signs(run, sel) {
	const { signs: s } = run;
	const rows = s.ranks.filter((r) => sel.shown[r.rank]);
	const top = Math.max(1, ...rows.map((r) => r.excess_ns));
	return {
		columns: [{ head: nounOf(run) }, { head: 'outliers: longer than its peers by', number: true }, { head: '', bar: true }, { head: 'operators, every step', number: true }, { head: 'in single steps', number: true },
			{ head: 'K-S: completion times depart, S', number: true }, { head: 'later', number: true }, { head: 'blame: walks that end here', number: true }, { head: 'in' }],
		rows: rows.map((r) => [nameOf(run, r.rank), length(r.excess_ns), { bar: r.excess_ns / top, strong: blamed(run) && run.named.includes(r.rank) }, count(r.whole), count(r.steps),
			r.departs ? r.s.toFixed(2) : 'no', r.departs ? length(r.later_ns) : '', `${count(r.walks)} of ${count(s.symptoms)}`, r.op ? brief(r.op) : '']),
	};
}

// latent is who differs from the peers by more than a margin, however little that costs.
export function latent(run, sel) {
	const { latent: l } = run;
	const rows = l.ranks.filter((r) => run.ranks.every((x, i) => x.id !== r.rank || sel.shown[i]));
	const top = Math.max(1, ...rows.map((r) => Math.abs(r.level_ns)));
	return {
		columns: [{ head: 'rank' }, { head: 'beyond its peers, a step', number: true }, { head: '', bar: true }, { head: 'of a step', number: true }, { head: 'in' }, { head: 'K-S: D', number: true }, { head: 'p', number: true }, { head: 'is waited for' }],
		rows: rows.map((r) => [`rank ${r.rank}`, length(r.level_ns), { bar: Math.max(0, r.level_ns) / top, strong: r.waits }, percent(r.level_ns / l.step_ns), `${r.sum ? 'the sum of ' : ''}${r.stages.map(brief).join(', ')}`,
			r.d.toFixed(2), r.p < 1e-6 ? '< 1e-6' : r.p.toPrecision(1), r.waits ? 'yes' : 'not shown']),
	};
}

const svg = 'http://www.w3.org/2000/svg';

function node(tag, attributes, ...children) {
	const n = document.createElementNS(svg, tag);
	for (const [k, v] of Object.entries(attributes)) n.setAttribute(k, String(v));
	n.append(...children);
	return n;
}

// walk is one walk from a late operator back to where its delay began: time to the
// right, a row for each rank.
export function walk(run) {
	const { walk: w } = run;
	const ranks = [...new Set(w.stops.map((s) => s.rank))].sort((a, b) => a - b);
	const ns = (v) => length(v * run.unit_ns), colours = stageColours(run);
	const colour = (s) => colours[run.stages.findIndex((x) => x.name === s.op)] ?? variable('--stage-other');
	return {
		draw(into) {
			const width = Math.max(320, into.clientWidth), left = 84, row = 46, height = ranks.length * row + 8;
			const begin = Math.min(...w.stops.map((s) => s.start)), end = Math.max(...w.stops.map((s) => s.start + s.length), begin + 1);
			const x = (t) => left + (t - begin) / (end - begin) * (width - left - 16), y = (rank) => ranks.indexOf(rank) * row + 12;
			const picture = node('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': `Step ${w.step}: from an operator that was late back to where the delay began; the table below has the stops in order.` });
			picture.append(node('defs', {}, node('marker', { id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' }, node('path', { d: 'M0 0L8 4L0 8z', fill: variable('--ink') }))));
			ranks.forEach((r) => picture.append(node('text', { x: left - 10, y: y(r) + 16, 'text-anchor': 'end', fill: variable('--ink'), 'font-size': 12 }, `${nounOf(run)} ${r}`)));
			w.stops.forEach((s, i) => {
				const last = i === w.stops.length - 1, wide = Math.max(3, x(s.start + s.length) - x(s.start));
				picture.append(node('rect', { x: x(s.start), y: y(s.rank), width: wide, height: 22, rx: 3, fill: colour(s), stroke: variable(last ? '--ink' : '--card'), 'stroke-width': last ? 2 : 1 },
					node('title', {}, `${nounOf(run)} ${s.rank}, ${s.op}: ${ns(s.length)}${last ? ', where the delay began' : ''}`)));
				if (wide > 7 * brief(s.op).length + 10) picture.append(node('text', { x: x(s.start) + 8, y: y(s.rank) + 15, 'font-size': 12, fill: over(colour(s)), 'pointer-events': 'none' }, brief(s.op)));
				if (i > 0) {
					const a = w.stops[i - 1];
					picture.append(node('path', { d: `M${x(a.start)} ${y(a.rank) + 11}L${Math.min(x(s.start) + wide, width - 17)} ${y(s.rank) + 11}`, stroke: variable('--ink'), fill: 'none', 'marker-end': 'url(#arrow)' }));
				}
			});
			const [first, origin] = [w.stops[0], w.stops.at(-1)];
			into.replaceChildren(picture, el('p', { className: 'note' }, `From ${brief(first.op)} on ${nounOf(run)} ${first.rank} back to ${brief(origin.op)} on ${nounOf(run)} ${origin.rank}, in step ${w.step}; ${w.symptoms} of ${w.all} walks end there.${w.left ? ` ${w.left} stops in the middle are left out.` : ''}`));
		},
		table: () => ({ columns: [{ head: nounOf(run), number: true }, { head: 'operator' }, { head: 'starts at', number: true }, { head: 'lasts', number: true }], rows: w.stops.map((s) => [s.rank, s.op, ns(s.start), ns(s.length)]) }),
	};
}

// arrivals are ranks and the calls that they enter: by how much each arrives late of
// its own.
export function arrivals(run) {
	const { places, ranks, named: late } = run.arrivals;
	const said = (v) => v < 0 ? null : length(v);
	const called = (p) => `${p.op.replace(/^[^:]*:/, '')}${p.line ? ` at ${p.line}` : ''}`;
	const rows = ranks.length <= 128 ? ranks.map((_, i) => i) : ranks.map((_, i) => i).sort((a, b) => most(b) - most(a)).slice(0, 128).sort((a, b) => a - b);
	function most(i) { return late.includes(ranks[i]) ? Infinity : Math.max(...places.map((p) => p.own_ns[i])); }
	return {
		draw(into) {
			heat(into, {
				rows: rows.length, columns: places.length, all: true, value: (r, c) => places[c].own_ns[rows[r]], unit: length,
				rowName: (r) => `rank ${ranks[rows[r]]}`, columnName: (c) => called(places[c]), red: named(run), marked: (r) => r >= 0 && r < rows.length && late.includes(ranks[rows[r]]),
				words: (r, c) => {
					const p = places[c], own = p.own_ns[rows[r]];
					return [`rank ${ranks[rows[r]]}`, `${called(p)}, ${p.group}${p.stage ? `, in ${p.stage}` : ''}`, own < 0 ? 'no member' : `own delay ${length(own)} in the median; last to enter ${p.last[rows[r]]} of ${p.points}`];
				},
				label: 'Map of ranks and calls: own delay before entering. Arrow keys move; the table below has the numbers.',
			});
		},
		table: () => ({
			columns: [{ head: 'call' }, { head: 'group' }, { head: 'stage' }, { head: 'points', number: true }, { head: 'skew', number: true }, ...rows.map((i) => ({ head: `rank ${ranks[i]}`, number: true }))],
			rows: places.map((p) => [called(p), p.group, p.stage, count(p.points), length(p.skew_ns), ...rows.map((i) => said(p.own_ns[i]))]),
		}),
	};
}
