// A colour is one thing on all of a page. Red is the culprit's: the rank and the stage
// that the first finding names. Other stages have the colours of Okabe and Ito, which
// people tell apart however they see colours; the longest are given theirs first, and
// what has none is grey. Other ranks have marks, in grey.
const hues = 6;

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
	const length = (s) => s === run.culprit ? Infinity : run.stages[s].advance_ns;
	return run.stages.map((_, i) => i).sort((a, b) => length(b) - length(a)).slice(0, run.culprit < 0 ? hues : hues + 1);
}

// blamed reports whether anything is to blame for the time of a run.
export const blamed = (run) => !['no_straggler', 'unseen', 'too_little_data'].includes(run.status);

// named is the colour of what findings name.
export const named = (run) => variable(blamed(run) ? '--alarm' : '--ink');

// over is the colour of text upon a colour.
export function over(colour) {
	const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
	return 0.3 * r + 0.59 * g + 0.11 * b > 120 ? '#14171b' : '#fff';
}

// stageColours is a colour for each of the stages of a run.
export function stageColours(run) {
	const out = run.stages.map(() => variable('--stage-other'));
	longest(run).filter((s) => s !== run.culprit).forEach((s, i) => { out[s] = variable(`--stage-${i}`); });
	if (run.culprit >= 0) out[run.culprit] = variable('--alarm');
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
