const units = [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]];

// unitFor is the largest unit in which a length, rounded to three digits, is at least 1.
export function unitFor(ns) {
	let best = units[0];
	for (const u of units) if (Math.abs(ns) >= 0.9995 * u[1]) best = u;
	return best;
}

function digits(v) {
	const a = Math.abs(v);
	return v.toFixed(a >= 99.95 ? 0 : a >= 9.995 ? 1 : 2);
}

// length is a length of time with three significant digits and its unit: as the
// text reports write it.
export function length(ns) {
	if (!Number.isFinite(ns)) return '–';
	const [name, scale] = unitFor(ns);
	const text = scale === 1 ? String(Math.round(ns)) : digits(ns / scale);
	return `${text} ${name}`;
}

export function percent(f) {
	return f === null || !Number.isFinite(f) ? '–' : `${(100 * f).toFixed(1)} %`;
}

function scaled(n, base, units) {
	let v = n, u = 0;
	for (; v >= base * 0.9995 && u < units.length - 1; u++) v /= base;
	return `${u ? Number(v.toPrecision(3)) : v} ${units[u]}`;
}

// size is an amount of data with three significant digits.
export const size = (bytes) => scaled(bytes, 1000, ['B', 'kB', 'MB', 'GB', 'TB', 'PB']);

// binary is a power of two of bytes.
export const binary = (bytes) => scaled(bytes, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);

export function count(n) {
	return String(n).replace(/\B(?=(\d{3})+$)/g, ',');
}

export function counted(n, what) {
	return `${count(n)} ${what}${n === 1 ? '' : 's'}`;
}

// brief is a stage's name without what most have.
export function brief(stage) {
	const at = stage.indexOf('@');
	let base = (at < 0 ? stage : stage.slice(0, at)).replace(/^model\./, '');
	base = base.replace(/([._]cpu_wall|_device)$/, '');
	return (base || stage) + (at < 0 ? '' : stage.slice(at));
}

// rankList reads "0-3,8": the numbers, or null for all.
export function rankList(text) {
	const out = new Set();
	for (const part of text.split(',')) {
		const m = /^\s*(\d{1,7})\s*(?:[-–]\s*(\d{1,7}))?\s*$/.exec(part);
		if (!m) continue;
		const last = Math.min(Number(m[2] ?? m[1]), Number(m[1]) + 65535);
		for (let r = Number(m[1]); r <= last; r++) out.add(r);
	}
	return out.size ? out : null;
}

// bound is text in which no line ends between a number and its unit.
export const bound = (text) => text.replace(/(\d) (?=%|(?:ns|µs|ms|s|[kKMGTP]?i?B(?:\/s)?)\b)/g, '$1\u00a0');
