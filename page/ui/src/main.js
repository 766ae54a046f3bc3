import { fixes, hosts, places, quality, rankStage, rankStep, since } from './charts.js';
import { blamed, stageColours, theme } from './colour.js';
import { apart, arrivals, departures, latent, signs, walk } from './compare.js';
import { el, short } from './dom.js';
import { figure, tableOf } from './figure.js';
import { filters } from './filters.js';
import { brief, count, size, length } from './format.js';
import { drawnOrder, lanes } from './lanes.js';
import { chromeTrace, saveJSON, saveTrace, verdictJSON } from './save.js';
import { awaited, nounOf, selection } from './selection.js';
import { begin, change, onChange, read, state } from './state.js';
import { bands, exposed, last } from './steps.js';
import { bandwidth, sent, volumes, waits } from './traffic.js';

const page = JSON.parse(document.getElementById('page').textContent);
const charts = document.getElementById('charts');

let run, controls, figures, sel;

// of makes a figure whose drawing and table are those of what make returns now.
function of(title, note, make, fact) {
	let made;
	return figure(title, note, { draw: (into) => { made = make(run, sel); return made.draw(into); }, table: () => made.table() }, fact);
}

// listed is a figure that is a table with bars.
function listed(title, note, make) {
	return figure(title, note, {
		draw(into) {
			const t = make(run, sel);
			if (!t.rows.length) return false;
			into.replaceChildren(tableOf(t, title));
			return true;
		},
	});
}

// after says where a drawing begins that does not begin with the first stage of the step.
function after(run) {
	const [first] = drawnOrder(run, run.drawn[0]), point = run.stages.findIndex((s) => s.synchronises);
	return first > 0 && point >= 0 ? ` Drawn from one synchronisation point to the next: what follows ${brief(run.stages[point].name)} comes first.` : '';
}

const someRanks = (shown, all, noun = 'rank') => shown < all ? ` ${count(shown)} of ${count(all)} ${noun}s have a row: those that findings name and those that are late for longest in all.` : '';

function communication({ speeds, limits, left, sent: matrix, waits: ranks }) {
	const late = () => ranks.length && figures.push(listed('Who enters collectives last', 'Collectives of NCCL by the start of their kernels, over the whole recording. Own delay: how much later than the median rank it arrives by itself, without what it inherits.', waits));
	const fast = () => speeds.length && figures.push(of('Bandwidth', `Bus bandwidth once all ranks have arrived, as a share of ${limits ? 'the limit: the narrowest link that the log names' : 'the fastest: no topology was recorded'}. A dot is a communicator or a pair of ranks; a diamond is slower than its peers. Calls bound by latency are left out.`, bandwidth));
	for (const part of speeds[0]?.slow ? [fast, late] : [late, fast]) part();
	figures.push(of('Volumes', `Element count × size of the type as logged, over all ranks and the whole recording.${left ? ` ${count(left)} smaller ones are left out.` : ''}`, volumes));
	if (matrix) figures.push(of('Bytes between ranks', `From the rank of a row to the rank of a column: the stronger the colour, the more. Rings and trees are assumed in the order of ranks.${matrix.width > 1 ? ` A row has ${matrix.width} ranks.` : ''}${matrix.unplaced_bytes ? ` ${size(matrix.unplaced_bytes)} more go to ranks that left no log.` : ''}`, sent));
}

function build() {
	run = page.runs[Math.min(Math.max(0, state.run), page.runs.length - 1)];
	for (const s of document.querySelectorAll('section[data-run]')) s.hidden = Number(s.dataset.run) !== page.runs.indexOf(run);
	controls = filters(run);
	figures = [];
	const { steps } = run, noun = nounOf(run);
	const drawn = () => figures.push(of(`One step, ${noun} by ${noun}`, `${run.operators ? `Operators of each ${noun}; the narrow strip below has what runs beside them. Hatched: waiting for ${awaited(run)}. Look for the lane that waits least.` : `Ranks that arrive early wait, hatched, for the last one: look for the lane that does not wait.${after(run)}${steps?.entered ? ' Waits for collectives inside a stage are drawn at its end.' : ''}`}`, lanes, `${run.all_drawn ? '' : ` ${run.drawn.length} of ${count(steps?.count ?? run.drawn.length)} steps can be drawn.`}${run.drawn[0].lanes.length < run.all_ranks ? ` ${run.drawn[0].lanes.length} of ${count(run.all_ranks)} ${noun}s have a lane.` : ''}`));
	const shows = () => figures.push(listed('What this recording shows', 'How large a delay of one rank in every step has to be to be found, by place. Filled: it would be found. Hatched: it may be there unseen.', places));
	if (run.places.length && !blamed(run)) shows();
	if (steps && run.since.length && blamed(run)) figures.push(of('Since when', 'What each finding costs over the run, step by step: how late its ranks are, or how much longer its stage takes. Red: the steps from the first that it struck to the last.', since));
	if (run.traffic?.leads) communication(run.traffic);
	if (run.drawn.length && !steps) drawn();
	if (steps && steps.first.length) {
		const put = steps.width > 1 ? ` A column is ${steps.width} steps: their mean.` : '';
		const largest = steps.width > 1 ? ` A column is ${steps.width} steps: the largest of them.` : '';
		if (run.drawn.length) drawn();
		if (run.all_ranks > 1) {
			figures.push(of('Who arrives last', steps.entered ? `By how much the last rank delays the collectives of a step by itself, step by step: from when each rank entered them. One rank in nearly all steps is a slow rank; many in turn are chance or work that varies.` : `By how much the last rank is behind the median rank where they synchronise, step by step. One rank in nearly all steps is a slow rank; many in turn are chance or work that varies.`, last, largest));
			figures.push(of('Ranks and steps', `${steps.entered ? 'By how much a rank delays the collectives of a step by itself' : 'How far a rank is behind the median rank in a step'}: the stronger the colour, the further${run.stages.length ? '; with a stage chosen, the time it takes there' : ''}. A strong row is a slow rank, a strong column a slow step.${run.drawn.length ? ' A click draws the step.' : ''}`, rankStep, `${steps.width > 1 ? ` A column is ${steps.width} steps: the largest lateness, the mean time.` : ''}${someRanks(steps.rows.length, run.all_ranks)}`));
			if (steps.bands) figures.push(of('Lateness of all ranks', `Quantiles over all ${count(run.all_ranks)} ranks of how far they are behind the median rank. Where only the largest stands out, it is one rank or a few.`, bands, largest));
		}
		if (run.stages.length) figures.push(of('Where the step goes', `Exposed time of each stage: by how much the last rank moves on in it, over all ranks. Look for a stage that grows, and for single tall steps. Drag to choose steps, click a stage to choose it.`, exposed, put));
	}
	if (run.ranks.length && run.stages.length) figures.push(of(`${run.workers ? 'Workers' : 'Ranks'} and ${run.operators ? 'operators' : 'stages'}`, `Time of a ${noun} in ${run.operators ? 'the operators of a name' : 'a stage'}, a step in the mean, without its waits for ${awaited(run)}, which have a column of their own. A cell stronger than its column is what that ${noun} takes longer in; the slow ${noun} waits least.`, rankStage, someRanks(Math.min(run.ranks.length, 128), run.all_ranks, noun)));
	if (run.arrivals) figures.push(of('Who enters calls last', `Own delay of each rank before it enters a call, in the median: what it inherits from another synchronisation point is not its own. A row that stands out is the rank that others wait for there. ${count(run.arrivals.calls)} calls${run.arrivals.lost ? `; ${count(run.arrivals.lost)} before them were not kept` : ''}.`, arrivals));
	if (run.traffic && !run.traffic.leads) communication(run.traffic);
	if (run.fixes.length) figures.push(listed('What fixing would save', 'Of the time of the run, each by itself: they do not add up.', fixes));
	if (run.places.length && blamed(run)) shows();
	if (run.latent) figures.push(listed('Who differs from its peers', `Ranks whose own work between synchronisation points is more than ${length(run.latent.margin_ns)} a step beyond the median of their peers', by its distribution (K-S). Most is too little to act on, and decides nothing.`, latent));
	if (run.latent) figures.push(of('How its distribution differs', `Lines: the share of steps in which its own work is longer than a time, less the margin of ${length(run.latent.margin_ns)}, beside the median of its peers; upright, where they depart the most, weighted (K-S).${run.latent.ranks.some((r) => r.quarters?.length) ? ' Bars: in how many steps of each quarter of the run it is last even less the margin.' : ''}`, departures));
	if (run.signs?.ranks.length) figures.push(listed('What other methods find', `Outliers, completion times (K-S) and walks back (blame) look at the operators of the trace by themselves, not at what the frontier charges. Family-wise error of the outliers: ${(100 * run.signs.alpha).toFixed(1)} %.`, signs));
	if (run.walk) figures.push(of('Where the delay began', 'Each operator was held up by the next; the last one is where the delay began.', walk));
	if (run.apart) figures.push(of('Completion times apart', `How far the completion times of every two ${noun}s are apart within their steps: 0 alike, 1 all of one before all of the other (Kolmogorov–Smirnov). A ${noun} that differs from the others has a strong row and column.`, apart));
	if (run.stages.length && new Set(run.ranks.map((r) => r.host)).size > 1) figures.push(listed('Hosts', 'Means over the ranks of a host, a step.', hosts));
	if (run.windows.length) figures.push(listed('Data quality', 'How each window was read.', quality));
	charts.replaceChildren(run.ranks.length ? controls.node : '', ...figures.map((f) => f.node));
	document.getElementById('save-trace').disabled = !run.drawn.length;
}

function render() {
	if (page.runs[state.run] && page.runs[state.run] !== run) build();
	sel = selection(run);
	controls.render(sel);
	paint();
	for (const f of figures) f.render();
}

// link makes the rows of All runs lead to their runs.
function link() {
	for (const { cells: [cell] } of document.querySelectorAll('#runs tbody tr')) {
		const i = page.runs.findIndex((r) => r.name === cell.textContent);
		if (i >= 0) cell.replaceChildren(el('a', { href: `#run=${i}` }, cell.textContent));
	}
}

// paint gives the table of the verdict, and the list of all runs, what the charts have: the
// colours of the stages, and which run is shown.
function paint() {
	const colours = stageColours(run), shown = page.runs.indexOf(run);
	for (const row of document.querySelectorAll(`.answer[data-run="${shown}"] tbody tr`)) {
		const bar = row.querySelector('rect'), s = run.stages.findIndex((x) => x.name === row.cells[0].textContent);
		if (bar && s >= 0) bar.style.fill = colours[s];
	}
	for (const a of document.querySelectorAll('#runs a')) a.setAttribute('aria-current', String(a.hash === `#run=${shown}`));
	const chosen = document.getElementById('run');
	if (chosen) chosen.value = String(shown);
}

function header() {
	const tools = document.getElementById('tools');
	if (page.runs.length > 1) {
		tools.prepend(el('label', { htmlFor: 'run' }, 'Run'), el('select', { id: 'run', onchange: (e) => change({ run: Number(e.target.value), ranks: '', host: '', stage: '', from: null, to: null, step: null }) },
			page.runs.map((r, i) => el('option', { value: String(i), selected: i === state.run }, short(r.name, 60)))));
	}
	const turn = el('button', { type: 'button', id: 'theme', onclick: () => {
		document.documentElement.dataset.theme = theme() === 'dark' ? 'light' : 'dark';
		label();
		render();
	} });
	const label = () => { turn.textContent = theme() === 'dark' ? 'Light' : 'Dark'; };
	label();
	tools.append(el('button', { type: 'button', id: 'save-json', onclick: saveJSON, disabled: !document.getElementById('verdict').textContent.trim() }, 'Save JSON'),
		el('button', { type: 'button', id: 'save-trace', title: 'The drawn steps, for ui.perfetto.dev', onclick: () => saveTrace(run) }, 'Save trace'), turn);
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { label(); render(); });
}

// On paper everything is light.
function printing() {
	let before;
	addEventListener('beforeprint', () => { before = document.documentElement.dataset.theme; document.documentElement.dataset.theme = 'light'; render(); });
	addEventListener('afterprint', () => {
		if (before) document.documentElement.dataset.theme = before;
		else delete document.documentElement.dataset.theme;
		render();
	});
}

begin(page.lead);
read();
if (!page.runs[state.run]) state.run = page.lead;
link();
header();
build();
render();
printing();
onChange(render);
addEventListener('hashchange', () => { read(); render(); });
let width = innerWidth;
addEventListener('resize', () => { if (innerWidth !== width) { width = innerWidth; render(); } });
document.documentElement.dataset.ready = 'yes';
globalThis.sfstat = { page, verdictJSON, chromeTrace: () => chromeTrace(run) };
