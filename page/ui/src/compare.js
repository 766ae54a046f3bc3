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
	const rows = shownDifferences(run, sel);
	const top = Math.max(1, ...rows.map((r) => Math.abs(r.level_ns)));
	return {
		columns: [{ head: 'rank' }, { head: 'beyond its peers, a step', number: true }, { head: '', bar: true }, { head: 'of a step', number: true }, { head: 'in' }, { head: 'K-S: D', number: true }, { head: 'p', number: true }, { head: 'is waited for' }],
		rows: rows.map((r) => [`rank ${r.rank}`, length(r.level_ns), { bar: Math.max(0, r.level_ns) / top, strong: r.waits }, percent(r.level_ns / l.step_ns), `${r.sum ? 'the sum of ' : ''}${r.stages.map(brief).join(', ')}`,
			r.d.toFixed(2), r.p < 1e-6 ? '< 1e-6' : r.p.toPrecision(1), r.waits ? 'yes' : 'not shown']),
	};
}

// shownDifferences are the ranks that differ and are selected.
const shownDifferences = (run, sel) => run.latent.ranks.filter((r) => run.ranks.every((x, i) => x.id !== r.rank || sel.shown[i]));

const svg = 'http://www.w3.org/2000/svg';

function node(tag, attributes, ...children) {
	const n = document.createElementNS(svg, tag);
	for (const [k, v] of Object.entries(attributes)) n.setAttribute(k, String(v));
	n.append(...children);
	return n;
}

const mostDrawn = 8; // ranks whose distributions are drawn

// departures are, for each rank that differs, its distribution beside its peers' and how
// often it is last in each quarter of the run.
export function departures(run, sel) {
	const rows = shownDifferences(run, sel).filter((r) => r.places?.length).slice(0, mostDrawn);
	const deciding = (r) => r.places.reduce((best, p) => p.d > best.d ? p : best);
	const where = (r) => r.together ? run.operators ? 'all its work together' : 'all stages before the synchronisation point together' : brief(r.stages[0]);
	return {
		draw(into) {
			if (!rows.length) return false;
			const width = Math.max(280, into.clientWidth), beside = width >= 640;
			into.replaceChildren(...rows.map((r) => {
				const late = run.named.some((i) => run.ranks[i]?.id === r.rank), colour = late ? named(run) : variable('--ink');
				const walked = r.quarters?.length > 0, left = beside && walked ? Math.round(width * 0.6) : width;
				return el('div', {}, el('h3', {}, `rank ${r.rank}, ${where(r)}`), distributions(r, deciding(r), left, colour), walked ? byQuarters(r, beside ? width - left : width, late ? colour : variable('--stage-other')) : '');
			}));
			return true;
		},
		table: () => rows.length ? {
			columns: [{ head: 'rank' }, { head: 'longer than the usual by' }, { head: 'its peers', number: true }, { head: 'the rank, less the margin', number: true }, { head: 'D', number: true }, { head: 'last', number: true }],
			rows: rows.flatMap((r) => [...r.places.map((p) => [`rank ${r.rank}`, length(p.beyond_ns), percent(p.peers), percent(p.rank), p.d.toFixed(2), null]),
				...(r.quarters ?? []).map((q, i) => [`rank ${r.rank}`, `quarter ${i + 1} of the run`, null, null, null, `${count(q.last)} of ${count(q.of)}`])]),
		} : null,
	};
}

const text = (x, y, anchor, words, colour = variable('--dim')) => node('text', { x, y, 'text-anchor': anchor, fill: colour, 'font-size': 12 }, words);

// distributions draws the shares of steps that take longer than each place.
function distributions(r, at, width, colour) {
	const height = 190, left = 46, right = width - 24, top = 26, bottom = height - 40;
	const begin = r.places[0].beyond_ns, end = Math.max(r.places.at(-1).beyond_ns, begin + 1);
	const x = (p) => left + (p.beyond_ns - begin) / (end - begin) * (right - left), y = (share) => bottom - share * (bottom - top);
	const picture = node('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': `Rank ${r.rank}: where its peers take ${length(at.beyond_ns)} more than usual in ${percent(at.peers)} of steps, it does so, less the margin, in ${percent(at.rank)}; the table below has the numbers.` });
	for (const share of [0, 0.5, 1]) picture.append(node('path', { d: `M${left} ${y(share)}H${right}`, stroke: variable('--line'), fill: 'none' }), text(left - 6, y(share) + 4, 'end', `${100 * share} %`));
	picture.append(node('path', { d: `M${x(at)} ${y(at.peers)}V${y(at.rank)}`, stroke: variable('--ink'), 'stroke-width': 2, fill: 'none', class: 'deciding' }));
	for (const [of, stroke, dash] of [['peers', variable('--stage-other'), '5 3'], ['rank', colour, 'none']]) {
		picture.append(node('path', { d: `M${r.places.map((p) => `${x(p).toFixed(1)} ${y(p[of]).toFixed(1)}`).join('L')}`, stroke, 'stroke-width': 1.5, 'stroke-dasharray': dash, fill: 'none' }),
			...r.places.map((p) => node('circle', { cx: x(p), cy: y(p[of]), r: p === at ? 4 : 2.5, fill: stroke }, node('title', {}, `${of === 'peers' ? 'its peers' : `rank ${r.rank}, less the margin`}: ${percent(p[of])} of steps beyond ${length(p.beyond_ns)}`))));
	}
	const signed = (p) => `${p.beyond_ns > 0 ? '+' : p.beyond_ns < 0 ? '−' : ''}${length(Math.abs(p.beyond_ns))}`;
	picture.append(text(left, bottom + 16, 'start', signed(r.places[0])), text(right, bottom + 16, 'end', signed(r.places.at(-1))), text((left + right) / 2, bottom + 32, 'middle', 'own work beyond the usual, a step'));
	picture.append(node('path', { d: `M${left} 10h22`, stroke: colour, 'stroke-width': 1.5 }), text(left + 28, 14, 'start', `rank ${r.rank}, less the margin`), node('path', { d: `M${left + 200} 10h22`, stroke: variable('--stage-other'), 'stroke-width': 1.5, 'stroke-dasharray': '5 3' }), text(left + 228, 14, 'start', 'its peers'));
	return picture;
}

// byQuarters draws in which part of each quarter of the run the rank is last.
function byQuarters(r, width, colour) {
	const height = 190, left = 46, right = width - 10, top = 26, bottom = height - 40, room = (right - left) / r.quarters.length;
	const y = (share) => bottom - share * (bottom - top);
	const picture = node('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': `Rank ${r.rank}, last by quarters of the run: ${r.quarters.map((q) => `${count(q.last)} of ${count(q.of)} steps`).join(', ')}.` });
	for (const share of [0, 0.5, 1]) picture.append(node('path', { d: `M${left} ${y(share)}H${right}`, stroke: variable('--line'), fill: 'none' }), text(left - 6, y(share) + 4, 'end', `${100 * share} %`));
	r.quarters.forEach((q, i) => {
		const share = q.of ? q.last / q.of : 0, middle = left + room * (i + 0.5);
		picture.append(node('rect', { x: middle - room * 0.3, y: y(share), width: room * 0.6, height: bottom - y(share), fill: colour, class: 'quarter' }), text(middle, y(share) - 5, 'middle', count(q.last), variable('--ink')), text(middle, bottom + 16, 'middle', `of ${count(q.of)}`));
	});
	picture.append(text((left + right) / 2, bottom + 32, 'middle', 'quarters of the run: steps in which it is last'));
	return picture;
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
