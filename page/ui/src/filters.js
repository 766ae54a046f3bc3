import { el, short } from './dom.js';
import { counted } from './format.js';
import { nounOf } from './selection.js';
import { change, reset, state } from './state.js';

// filters are the controls above the charts. They are made anew when the run
// changes, and follow what the charts change.
export function filters(run) {
	const hosts = [...new Set(run.ranks.map((r) => r.host).filter(Boolean))].sort();
	const first = run.steps?.first[0] ?? 0, last = run.steps ? run.steps.first.at(-1) + run.steps.width - 1 : 0;
	const ranks = el('input', { type: 'text', id: 'f-ranks', placeholder: 'all, or 0-3,8', autocomplete: 'off', spellcheck: false, onchange: (e) => change({ ranks: e.target.value.trim() }) });
	const host = choose('f-host', hosts, (v) => change({ host: v }));
	const stage = choose('f-stage', run.stages.map((s) => s.name), (v) => change({ stage: v }));
	const step = (id, placeholder, key) => el('input', { type: 'number', id, min: String(first), max: String(last), placeholder: String(placeholder), onchange: (e) => change({ [key]: e.target.value === '' ? null : Number(e.target.value) }) });
	const from = step('f-from', first, 'from'), to = step('f-to', last, 'to');
	const status = el('p', { className: 'selected', role: 'status' });
	let typing = null; // what stands in it is not chosen yet, and stays
	for (const input of [ranks, from, to]) {
		input.addEventListener('input', () => { typing = input; });
		input.addEventListener('change', () => { typing = null; });
	}
	const put = (input, value) => { if (input !== typing) input.value = value; };
	const node = el('form', { className: 'filters', onsubmit: (e) => e.preventDefault() },
		field(run.workers ? 'Workers' : 'Ranks', ranks), hosts.length > 1 ? field('Host', host) : null, run.stages.length ? field(run.operators ? 'Operator' : 'Stage', stage) : null,
		run.steps ? el('span', { className: 'field' }, el('label', { htmlFor: 'f-from' }, 'Steps'), el('span', { className: 'pair' }, from, el('label', { htmlFor: 'f-to' }, 'to'), to)) : null,
		el('button', { type: 'button', id: 'f-reset', onclick: reset }, 'Show all'), status);
	node.setAttribute('aria-label', 'What the charts show');
	return {
		node,
		render(sel) {
			put(ranks, state.ranks);
			host.value = state.host;
			stage.value = state.stage;
			put(from, state.from ?? '');
			put(to, state.to ?? '');
			const n = sel.shown.filter(Boolean).length;
			status.textContent = [`${counted(n, nounOf(run))}${n < run.all_ranks ? ` of ${run.all_ranks}` : ''}`, run.steps && (sel.columns.length < run.steps.first.length ? `${counted(sel.columns.length * run.steps.width, 'step')} of ${run.steps.count}` : counted(run.steps.count, 'step')),
				state.stage && short(state.stage)].filter(Boolean).join(' · ');
		},
	};
}

function field(name, control) {
	return el('span', { className: 'field' }, el('label', { htmlFor: control.id }, name), control);
}

function choose(id, values, onchange) {
	return el('select', { id, onchange: (e) => onchange(e.target.value) }, el('option', { value: '' }, 'all'), values.map((v) => el('option', { value: v }, short(v))));
}
