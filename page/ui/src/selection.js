import { rankList } from './format.js';
import { state } from './state.js';

// selection is what of a run the filters leave.
export function selection(run) {
	const asked = rankList(state.ranks);
	const has = (r) => (!asked || asked.has(r.id)) && (!state.host || r.host === state.host);
	const shown = run.ranks.map(has);
	const steps = run.steps;
	const columns = [];
	if (steps) {
		steps.first.forEach((first, i) => {
			const last = first + steps.width - 1;
			if ((state.from === null || last >= state.from) && (state.to === null || first <= state.to)) columns.push(i);
		});
	}
	const stage = run.stages.findIndex((s) => s.name === state.stage);
	return { all: shown.every(Boolean), shown, columns, stage, rows: steps ? steps.rows.map((r, i) => [r, i]).filter(([r]) => shown[r]) : [] };
}

export function nameOf(run, position) {
	const r = run.ranks[position];
	return r.host ? `rank ${r.id} (${r.host})` : `rank ${r.id}`;
}

// stepsOf names the steps of a column.
export function stepsOf(steps, column) {
	const first = steps.first[column];
	return steps.width === 1 ? `step ${first}` : `steps ${first}–${first + steps.width - 1}`;
}
