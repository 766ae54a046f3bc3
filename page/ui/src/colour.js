// Stages have the colours of Okabe and Ito, which people tell apart however they
// see colours; the longest stages are given theirs first, and what has none is grey.
const hues = 7;

export function theme() {
	const chosen = document.documentElement.dataset.theme;
	if (chosen) return chosen;
	return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

export function variable(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// longest are the stages of a run that have a colour of their own.
export function longest(run) {
	return run.stages.map((_, i) => i).sort((a, b) => run.stages[b].advance_ns - run.stages[a].advance_ns).slice(0, hues);
}

// stageColours is a colour for each of the stages of a run.
export function stageColours(run) {
	const out = run.stages.map(() => variable('--stage-other'));
	longest(run).forEach((s, i) => { out[s] = variable(`--stage-${i}`); });
	return out;
}

// The ramps of maps, by theme: lightness goes one way all along, so equal
// differences look equal, and a copy in grey says the same.
const ramps = {
	light: [[250, 250, 247], [199, 225, 224], [110, 180, 200], [40, 110, 168], [12, 36, 84]],
	dark: [[24, 30, 40], [20, 66, 104], [38, 122, 150], [126, 190, 140], [250, 236, 140]],
};

const shades = 256;

// ramp gives the colour of a part from 0 to 1.
export function ramp() {
	const stops = ramps[theme()];
	const table = Array.from({ length: shades }, (_, n) => {
		const x = n / (shades - 1) * (stops.length - 1), i = Math.min(Math.floor(x), stops.length - 2);
		return `rgb(${stops[i].map((v, k) => Math.round(v + (stops[i + 1][k] - v) * (x - i)))})`;
	});
	return (part) => table[Math.round(Math.min(Math.max(part, 0), 1) * (shades - 1))];
}
