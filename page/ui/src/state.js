// What the page shows: which run, and of it which ranks, host, stage and steps.
// It is kept in the address, so that a link shows the same.
const start = { run: 0, ranks: '', host: '', stage: '', from: null, to: null, step: null };
const listeners = [];

export const state = { ...start };

// begin says which run is shown where the address names none.
export function begin(run) { start.run = run; }

export function onChange(f) { listeners.push(f); }

let asked = false;

export function change(part) {
	Object.assign(state, part);
	history.replaceState(null, '', '#' + write());
	if (asked) return;
	asked = true;
	requestAnimationFrame(() => {
		asked = false;
		for (const f of listeners) f();
	});
}

export function reset() { change({ ...start, run: state.run }); }

function write() {
	const p = new URLSearchParams();
	for (const key of Object.keys(start)) {
		if (state[key] !== start[key] && state[key] !== null) p.set(key, state[key]);
	}
	return p.toString();
}

// read takes up what the address says.
export function read() {
	const p = new URLSearchParams(location.hash.slice(1));
	Object.assign(state, start);
	for (const key of ['ranks', 'host', 'stage']) if (p.has(key)) state[key] = p.get(key);
	for (const key of ['run', 'from', 'to', 'step']) {
		const n = p.has(key) ? Number(p.get(key)) : NaN;
		if (Number.isFinite(n)) state[key] = n;
	}
}
