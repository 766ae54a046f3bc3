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

// nounOf is what a run's timelines are of: in an operator trace, of workers that stand for
// several ranks.
export const nounOf = (run) => run.workers ? 'worker' : 'rank';

export const briefly = (run, position) => `${nounOf(run)} ${run.ranks[position].id}`;

export function nameOf(run, position) {
	const { host } = run.ranks[position];
	return briefly(run, position) + (host && ` (${host})`);
}

// awaited is whom others wait for.
export const awaited = (run) => run.operators ? `another ${nounOf(run)}` : 'the last rank to arrive';

// stepsOf names the steps of a column.
export function stepsOf(steps, column) {
	const first = steps.first[column];
	return steps.width === 1 ? `step ${first}` : `steps ${first}–${first + steps.width - 1}`;
}
