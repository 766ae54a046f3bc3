import { named, stageColours, variable } from './colour.js';
import { el } from './dom.js';
import { brief, length, unitFor } from './format.js';
import { awaited, briefly, nameOf, nounOf } from './selection.js';
import { change, state } from './state.js';
import { stageKey } from './steps.js';
import { surface } from './surface.js';

const left = 84, right = 12, above = 24, below = 30;

const reasons = {
	suspect: 'in which the delay is largest',
	latest: 'in which a rank is latest of all',
	longest: 'the longest',
	usual: 'of usual length',
};

// chosen is the step to draw: the one asked for or the nearest to it, else that in
// which the delay of the finding is largest, else any rank.
export function chosen(run) {
	const all = run.drawn;
	if (!all.length) return null;
	if (state.step !== null) return all.reduce((a, b) => Math.abs(b.step - state.step) < Math.abs(a.step - state.step) ? b : a);
	return all.find((d) => d.why === 'suspect') ?? all.find((d) => d.why === 'latest' || d.why === 'longest') ?? all[0];
}

// stepPicker goes from one drawn step to the next.
function stepPicker(run, d) {
	const i = run.drawn.indexOf(d);
	const go = (to) => ({ type: 'button', disabled: to < 0 || to >= run.drawn.length, onclick: () => change({ step: run.drawn[to].step }) });
	const select = el('select', { onchange: (e) => change({ step: Number(e.target.value) }) },
		run.drawn.map((x) => el('option', { value: String(x.step), selected: x === d }, `step ${x.step}${x.why ? `, ${reasons[x.why]}` : ''}`)));
	return el('p', { className: 'picker' }, el('button', go(i - 1), '← earlier'), el('label', {}, el('span', { className: 'hidden' }, 'Step to draw '), select), el('button', go(i + 1), 'later →'));
}

// drawnOrder are the stages of a step as it is drawn: from where ranks synchronised last,
// and thus not always in the order in which a step records them.
export function drawnOrder(run, d) {
	const first = run.stages.map(() => Infinity);
	for (const l of d.lanes) for (const [s, from] of l.spans) first[s] = Math.min(first[s], from);
	return run.stages.map((_, s) => s).sort((a, b) => first[a] - first[b] || a - b);
}

// lanes draw one step: a lane for each rank, a colour for each stage, hatched where
// it waits for others.
export function lanes(run, sel) {
	const d = chosen(run);
	const rows = d.lanes.filter((l) => sel.shown[l.rank]);
	const ns = (v) => length(v * run.unit_ns);
	const words = (l, s) => {
		const lines = [nameOf(run, l.rank), `${run.stages[s[0]].name}: ${ns(s[3] - s[1])}`];
		if (s[2] > s[1]) lines.push(`of it ${ns(s[2] - s[1])} waiting for ${awaited(run)}`);
		if (l.late > 0 && !run.operators) lines.push(`${ns(l.late)} behind the median rank at the synchronisation point`);
		return lines;
	};
	return {
		draw(into) {
			into.replaceChildren(stepPicker(run, d));
			const colours = stageColours(run), tall = rows.length > 20 ? 16 : 22;
			const height = above + rows.length * tall + below;
			const end = Math.max(d.length, ...rows.flatMap((l) => l.spans.map((s) => s[3])), 1);
			let x = (v) => v;
			const spanAt = (row, px, low) => rows[row]?.spans.findIndex((s) => s[3] > s[1] && px >= x(s[1]) && px <= x(s[3]) && Boolean(s[4]) === low) ?? -1;
			const of = (row, i) => ({ row, i, lines: words(rows[row], rows[row].spans[i]) });
			surface(into, {
				height, label: `Step ${d.step}, a lane for each ${nounOf(run)}. Arrow keys move between ${nounOf(run)}s and ${run.operators ? 'operators' : 'stages'}; the table below has the numbers.`,
				at: (px, py) => {
					const row = Math.floor((py - above) / tall), low = run.operators && (py - above) % tall > tall * 0.75, i = spanAt(row, px, low);
					return row >= 0 && i >= 0 ? of(row, i) : null;
				},
				step: (key, at) => {
					if (!rows.length) return null;
					if (!at) return of(0, 0);
					const row = Math.min(Math.max(at.row + (key === 'ArrowDown') - (key === 'ArrowUp'), 0), rows.length - 1);
					const i = { ArrowRight: at.i + 1, ArrowLeft: at.i - 1, Home: 0, End: rows[row].spans.length - 1 }[key] ?? at.i;
					return of(row, Math.min(Math.max(i, 0), rows[row].spans.length - 1));
				},
				place: ({ row, i }) => ({ x: (x(rows[row].spans[i][1]) + x(rows[row].spans[i][3])) / 2, y: above + (row + 0.5) * tall }),
				draw: (c, width) => {
					x = (v) => left + v / end * (width - left - right);
					const hatch = hatching(c);
					rows.forEach((l, row) => {
						const y = above + row * tall;
						for (const s of l.spans) span(c, s, { x, y, tall, colour: colours[s[0]], hatch, faint: sel.stage >= 0 && s[0] !== sel.stage });
						const stands = run.named.includes(l.rank);
						c.fillStyle = stands ? named(run) : variable('--ink');
						c.font = `${stands ? 'bold ' : ''}12px system-ui, sans-serif`;
						c.textAlign = 'right';
						c.fillText(`${stands ? '▶ ' : ''}${briefly(run, l.rank)}`, left - 8, y + tall / 2);
					});
					c.font = '12px system-ui, sans-serif';
					axis(c, { x, end, width, height, run });
					points(c, { d, run, x, height, width });
				},
			});
			const key = stageKey(run, colours, drawnOrder(run, d));
			key.append(el('li', {}, el('span', { className: 'swatch hatched' }), `waiting for ${awaited(run)}`));
			into.append(key);
		},
		table: () => rows.length ? {
			columns: [{ head: nounOf(run), number: true }, { head: 'host' }, ...run.operators ? [] : [{ head: 'behind the median rank', number: true }], { head: 'waits', number: true }, ...run.stages.map((s) => ({ head: s.name, number: true }))],
			rows: rows.map((l) => [run.ranks[l.rank].id, run.ranks[l.rank].host, ...run.operators ? [] : [ns(l.late)], ns(l.spans.reduce((a, s) => a + s[2] - s[1], 0)),
				...run.stages.map((_, i) => ns(l.spans.filter((s) => s[0] === i).reduce((a, s) => a + s[3] - s[1], 0)))]),
		} : null,
	};
}

function span(c, [, from, busy, to, queue], { x, y, tall, colour, hatch, faint }) {
	const main = tall > 16 ? 4 : 3;
	const top = queue ? y + tall - main - 1 : y + 1, h = queue ? main : tall - main - 3;
	c.globalAlpha = faint ? 0.18 : 1;
	if (busy > from) {
		c.fillStyle = variable('--wait');
		c.fillRect(x(from), top, x(busy) - x(from), h);
		c.fillStyle = hatch;
		c.fillRect(x(from), top, x(busy) - x(from), h);
	}
	c.fillStyle = colour;
	const w = x(to) - x(busy);
	c.fillRect(x(busy), top, w > 2 ? w - 0.75 : Math.max(w, 0), h);
	c.globalAlpha = 1;
}

function hatching(c) {
	const tile = document.createElement('canvas');
	tile.width = tile.height = 6;
	const t = tile.getContext('2d');
	t.strokeStyle = variable('--hatch');
	t.lineWidth = 1.2;
	for (const from of [-6, 0, 6]) {
		t.beginPath();
		t.moveTo(from, 6);
		t.lineTo(from + 6, 0);
		t.stroke();
	}
	return c.createPattern(tile, 'repeat');
}

function axis(c, { x, end, width, height, run }) {
	const [name, scale] = unitFor(end * run.unit_ns);
	const whole = end * run.unit_ns / scale;
	const rough = whole / Math.max(3, width / 110), power = 10 ** Math.floor(Math.log10(rough));
	const tick = power * [1, 2, 5, 10].find((m) => m * power >= rough);
	c.fillStyle = variable('--ink');
	c.textAlign = 'center';
	for (let i = 0; i * tick <= whole * 1.0001; i++) {
		const at = x(i * tick * scale / run.unit_ns);
		c.fillText(`${Number((i * tick).toPrecision(6))}${i ? '' : ' ' + name}`, at, height - 12);
		c.fillRect(at, height - below + 2, 1, 5);
	}
}

function points(c, { d, run, x, height, width }) {
	c.strokeStyle = c.fillStyle = variable('--ink');
	for (const p of d.points) {
		c.setLineDash([5, 3]);
		c.lineWidth = 1.5;
		c.beginPath();
		c.moveTo(x(p.at), above - 6);
		c.lineTo(x(p.at), height - below + 2);
		c.stroke();
		c.setLineDash([]);
	}
	const p = d.points.at(-1);
	if (!p) return;
	const who = p.rank >= 0 ? briefly(run, p.rank) : 'the last rank';
	const whole = `${who} arrives last: ranks synchronise in ${brief(run.stages[p.series].name)}`;
	const text = c.measureText(whole).width < width ? whole : `${who} arrives last`;
	const long = c.measureText(text).width;
	c.textAlign = 'left';
	c.fillText(text, Math.max(0, Math.min(x(p.at) > width / 2 ? x(p.at) - 4 - long : x(p.at) + 4, width - long)), 10);
}
