import { blamed, named, variable } from './colour.js';
import { tableOf } from './figure.js';
import { binary, count, length, percent, rankList, size } from './format.js';
import { heat } from './map.js';
import { gridStep, surface } from './surface.js';

// among reports whether any rank of a list, such as 0-3,8, is left by the filters.
// Ranks that have no stage times cannot be filtered.
function among(run, sel) {
	const hidden = new Set(run.ranks.filter((_, i) => !sel.shown[i]).map((r) => r.id));
	return (list) => !hidden.size || [...rankList(list) ?? []].some((id) => !hidden.has(id));
}

const gigabytes = (v) => `${Number(v.toPrecision(3))} GB/s`;
const called = (s) => s.kind ? `${s.kind} ${s.op}` : s.op;
const most = 40; // strips of the drawing

// strips are the speeds of one kind of communicator, operation and size: those that
// compare. Those of which one is slow come first.
function strips(speeds) {
	const all = new Map();
	for (const s of speeds) {
		const key = `${called(s)}\n${s.from_bytes}`;
		if (!all.has(key)) all.set(key, []);
		all.get(key).push(s);
	}
	return [...all.values()];
}

// bandwidth is how fast each communicator moves data, as a part of what its narrowest
// link allows or, where that is not known, of the fastest of the strip.
export function bandwidth(run, sel) {
	const shown = among(run, sel), speeds = run.traffic.speeds.filter((s) => shown(s.ranks));
	const rows = strips(speeds).slice(0, most);
	const fastest = rows.map((row) => Math.max(...row.map((s) => s.bus_gbps)));
	const part = (s, r) => s.bus_gbps / (s.limit_gbps || fastest[r] || 1);
	const end = Math.max(1.02, ...rows.flatMap((row, r) => row.map((s) => part(s, r)))) * 1.02;
	const words = (s) => [`${called(s)} from ${binary(s.from_bytes)}, ${s.ranks.includes(',') || s.ranks.includes('-') ? 'ranks' : 'rank'} ${s.ranks}`, ...s.name ? [s.name] : [],
		`${gigabytes(s.bus_gbps)}${s.limit_gbps ? `, ${percent(s.efficiency)} of ${s.limit_link} ${gigabytes(s.limit_gbps)}` : ''}`,
		`${length(s.transfer_ns)} in the median of ${count(s.calls)} calls`, ...s.slow ? [`slower than its peers: ${percent(s.bus_gbps / s.peers_bus_gbps)} of ${gigabytes(s.peers_bus_gbps)}`] : []];
	return {
		draw(into) {
			if (!rows.length) return false;
			const left = 190, right = 120, above = 6, tall = 30, height = above + rows.length * tall + 24;
			let wide = 1;
			const x = (s, r) => left + part(s, r) / end * wide;
			const y = (r, i) => above + (r + 0.5) * tall + (rows[r].length > 1 ? (i % 3 - 1) * 5 : 0);
			const cell = (row, column) => ({ row, column, lines: words(rows[row][column]) });
			surface(into, {
				height, label: 'Bandwidth of each communicator as a part of its limit, one strip for each operation and size. Arrow keys move; the table below has the numbers.',
				at: (px, py) => {
					const row = Math.floor((py - above) / tall);
					if (row < 0 || row >= rows.length) return null;
					const apart = rows[row].map((s, i) => Math.hypot(x(s, row) - px, y(row, i) - py));
					const near = apart.indexOf(Math.min(...apart));
					return apart[near] < 12 ? cell(row, near) : null;
				},
				step: (key, at) => {
					const to = gridStep(key, at, rows.length, most * rows.length + speeds.length);
					if (to) to.column = key === 'End' ? rows[to.row].length - 1 : Math.min(to.column, rows[to.row].length - 1);
					return to && cell(to.row, to.column);
				},
				place: ({ row, column }) => ({ x: x(rows[row][column], row), y: y(row, column) }),
				draw: (c, width) => {
					wide = width - left - right;
					rows.forEach((row, r) => strip(c, { row, r, x, y, middle: above + (r + 0.5) * tall, left, wide, end, fastest: fastest[r] }));
					c.fillStyle = variable('--dim');
					c.textAlign = 'center';
					for (let p = 0; p <= end; p += end > 2 ? 1 : wide < 240 ? 0.5 : 0.25) c.fillText(`${100 * p} %`, left + p / end * wide, height - 10);
				},
			});
		},
		table: () => speeds.length ? {
			columns: [{ head: 'operation' }, { head: 'ranks' }, { head: 'communicator' }, { head: 'from', number: true }, { head: 'calls', number: true }, { head: 'transfer', number: true }, { head: 'bus bandwidth', number: true },
				{ head: 'limit' }, { head: 'of it', number: true }, { head: 'beside peers' }],
			rows: speeds.map((s) => [called(s), s.ranks, s.name, binary(s.from_bytes), count(s.calls), length(s.transfer_ns), gigabytes(s.bus_gbps), s.limit_gbps ? `${s.limit_link} ${gigabytes(s.limit_gbps)}` : '–',
				s.limit_gbps ? percent(s.efficiency) : null, s.slow ? `${percent(s.bus_gbps / s.peers_bus_gbps)} of ${gigabytes(s.peers_bus_gbps)}` : s.beside_peers]),
		} : null,
	};
}

// strip draws the speeds of one row: a dot each, a diamond where it is slower than
// its peers, and the limit.
function strip(c, { row, r, x, y, middle, left, wide, end, fastest }) {
	const [first] = row, limits = [...new Set(row.filter((s) => s.limit_gbps).map((s) => `${s.limit_link} ${gigabytes(s.limit_gbps)}`))];
	c.textAlign = 'right';
	c.fillStyle = variable('--ink');
	c.fillText(called(first), left - 14, middle - 7);
	c.fillStyle = variable('--dim');
	c.fillText(`from ${binary(first.from_bytes)}, ${count(row.length)} ${row.length === 1 ? 'group' : 'groups'}`, left - 14, middle + 7);
	c.fillStyle = variable('--wait');
	c.fillRect(left, middle - 9, wide / end, 18);
	c.fillStyle = variable('--ink');
	if (limits.length) c.fillRect(left + wide / end - 1, middle - 12, 2, 24);
	c.textAlign = 'left';
	c.fillText(limits.length > 1 ? `${limits.length} limits` : limits[0] ?? `fastest ${gigabytes(fastest)}`, left + wide + 6, middle);
	row.forEach((s, i) => {
		const [px, py] = [x(s, r), y(r, i)];
		c.beginPath();
		if (s.slow) {
			c.moveTo(px, py - 7);
			for (const [dx, dy] of [[7, 0], [0, 7], [-7, 0]]) c.lineTo(px + dx, py + dy);
		} else c.arc(px, py, 4.5, 0, 2 * Math.PI);
		c.fillStyle = variable(s.slow ? '--alarm' : '--dim');
		c.globalAlpha = s.slow ? 1 : 0.8;
		c.fill();
		c.globalAlpha = 1;
	});
}

// volumes are the bytes of each kind of communicator and operation; the table has
// every communicator.
export function volumes(run, sel) {
	const shown = among(run, sel), list = run.traffic.volumes.filter((v) => shown(v.ranks));
	const sums = new Map();
	for (const v of list) {
		const key = `${v.kind}\n${v.op}`, s = sums.get(key) ?? { kind: v.kind, op: v.op, groups: 0, calls: 0, bytes: 0 };
		s.groups++;
		s.calls += v.calls;
		s.bytes += v.bytes;
		sums.set(key, s);
	}
	const rows = [...sums.values()].sort((a, b) => b.bytes - a.bytes), top = Math.max(1, ...rows.map((s) => s.bytes));
	const kind = (s) => s.kind || 'unknown';
	return {
		draw(into) {
			if (!rows.length) return false;
			into.replaceChildren(tableOf({
				columns: [{ head: 'kind' }, { head: 'operation' }, { head: 'communicators', number: true }, { head: 'calls', number: true }, { head: '', bar: true }, { head: 'volume', number: true }],
				rows: rows.map((s) => [kind(s), s.op, count(s.groups), count(s.calls), { bar: s.bytes / top }, size(s.bytes)]),
			}, 'Volumes'));
		},
		table: () => list.length ? {
			columns: [{ head: 'communicator' }, { head: 'kind' }, { head: 'ranks' }, { head: 'operation' }, { head: 'calls', number: true }, { head: 'volume', number: true }],
			rows: list.map((v) => [v.name, kind(v), v.ranks, v.op, count(v.calls), size(v.bytes)]),
		} : null,
	};
}

// sent is how many bytes the ranks that are chosen send each rank.
export function sent(run, sel) {
	const { ranks, width, last, bytes } = run.traffic.sent, { named: late } = run.traffic, shown = among(run, sel);
	const block = (i) => width === 1 ? String(ranks[i]) : `${ranks[i]}-${i + 1 < ranks.length ? ranks[i + 1] - 1 : last}`;
	const rows = ranks.map((_, i) => i).filter((i) => shown(block(i)));
	const name = (i) => `${width === 1 ? 'rank' : 'ranks'} ${block(i)}`;
	const has = (i) => rankList(block(i));
	return {
		draw(into) {
			if (!rows.length) return false;
			heat(into, {
				rows: rows.length, columns: ranks.length, value: (r, c) => bytes[rows[r]][c], unit: size, least: 1,
				rowName: (r) => name(rows[r]), columnName: block, red: named(run), marked: (r) => r >= 0 && r < rows.length && late.some((id) => has(rows[r]).has(id)),
				words: (r, c) => [`${name(rows[r])} to ${name(c)}`, bytes[rows[r]][c] ? size(bytes[rows[r]][c]) : 'nothing'],
				label: 'Map of bytes from each rank, down, to each other, across. Arrow keys move; the table below has the numbers.',
			});
		},
		table: () => rows.length ? {
			columns: [{ head: 'from' }, ...ranks.map((_, i) => ({ head: `to ${block(i)}`, number: true })), { head: 'all', number: true }],
			rows: rows.map((i) => [name(i), ...bytes[i].map((b) => b ? size(b) : ''), size(bytes[i].reduce((a, b) => a + b, 0))]),
		} : null,
	};
}

// waits are how ranks arrive at collectives.
export function waits(run, sel) {
	// Where ranks wait for something else, own delays are short beside the waits.
	const shown = among(run, sel), rows = run.traffic.waits.filter((w) => shown(String(w.rank)));
	const top = Math.max(1, ...rows.map((w) => Math.max(w.own_ns, w.waited_ns)));
	return {
		columns: [{ head: 'rank' }, { head: 'last to enter', number: true }, { head: 'own delay', number: true }, { head: '', bar: true }, { head: 'makes others wait, alone', number: true },
			{ head: 'waits', number: true }, { head: 'transfer', number: true }],
		rows: rows.map((w) => [w.host ? `rank ${w.rank} (${w.host})` : `rank ${w.rank}`, `${count(w.last)} of ${count(w.of)}`, length(w.own_ns), { bar: w.own_ns / top, strong: blamed(run) && run.traffic.named.includes(w.rank) },
			length(w.caused_ns), length(w.waited_ns), length(w.transfer_ns)]),
	};
}
