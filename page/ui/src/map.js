import { ramp, variable } from './colour.js';
import { gridStep, surface } from './surface.js';

const left = 84, right = 12, above = 6;
const ruler = document.createElement('canvas').getContext('2d');
ruler.font = '12px system-ui, sans-serif';

// standing is how names stand below columns, which may be too narrow for them: level,
// or turned by an angle; long is the most that one may take.
function standing(into, columns, columnName) {
	const wide = (Math.max(280, into.clientWidth) - left - right) / Math.max(columns, 1);
	const lengths = Array.from({ length: columns }, (_, k) => ruler.measureText(columnName(k)).width), widest = Math.max(0, ...lengths);
	if (widest <= wide - 6) return { angle: 0, long: wide, below: 36 };
	const flat = Math.PI / 6, inside = lengths.every((n, k) => n * Math.cos(flat) < left + (k + 0.5) * wide);
	const angle = wide > 26 && inside && widest < 200 ? flat : Math.PI / 3, long = Math.min(widest + 1, 200);
	return { angle, long, below: 40 + long * Math.sin(angle) };
}

// heat draws a map of rows and columns: value(row, column) is a number, or −1 for
// none. Rows that are marked have a pointer, which is red unless nobody is to blame; where names of columns are all
// wanted, those too long are turned; the darkest shade is the largest value, or least. words says in lines what a cell is.
export function heat(into, { rows, columns, value, rowName, columnName, marked, words, unit, pick, label, all, red, least = 1e-9 }) {
	const values = [];
	for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) values.push(value(r, c));
	const known = values.filter((v) => v >= 0).sort((a, b) => a - b);
	// A few stalls of seconds would leave all else in one shade: roots then tell both.
	const top = Math.max(known.at(-1) ?? 0, least), root = top > 4 * (known[Math.floor(0.99 * (known.length - 1))] ?? 0);
	const shade = ramp(), part = (v) => root ? Math.sqrt(v / top) : v / top;
	const tall = Math.max(4, Math.min(22, Math.floor(440 / Math.max(rows, 1))));
	const names = all && standing(into, columns, columnName), height = above + rows * tall + (names ? names.below : 36);
	let wide = 1;
	const cellAt = (x, y) => {
		const column = Math.floor((x - left) / wide), row = Math.floor((y - above) / tall);
		return row >= 0 && row < rows && column >= 0 && column < columns ? { row, column, lines: words(row, column) } : null;
	};
	surface(into, {
		height, label, pick,
		at: cellAt,
		step: (key, at) => {
			const to = gridStep(key, at, rows, columns);
			return to && { ...to, lines: words(to.row, to.column) };
		},
		place: ({ row, column }) => ({ x: left + (column + 0.5) * wide, y: above + (row + 0.5) * tall }),
		draw: (c, width) => {
			wide = (width - left - right) / Math.max(columns, 1);
			for (let r = 0; r < rows; r++) {
				for (let k = 0; k < columns; k++) {
					const v = values[r * columns + k];
					c.fillStyle = v < 0 ? variableOnce('--absent') : shade(part(v));
					c.fillRect(left + k * wide, above + r * tall, wide + (wide < 4 ? 0.5 : -1), tall > 6 ? tall - 1 : tall);
				}
			}
			rowNames(c, { rows, rowName, marked, tall, red });
			columnNames(c, { columns, columnName, wide, top: above + rows * tall, names });
			legend(c, { width, height, top, root, unit, shade });
		},
	});
	colours.clear();
}

const colours = new Map();

function variableOnce(name) {
	if (!colours.has(name)) colours.set(name, variable(name));
	return colours.get(name);
}

function rowNames(c, { rows, rowName, marked, tall, red }) {
	c.fillStyle = variableOnce('--ink');
	c.textAlign = 'right';
	const everyRow = Math.ceil(13 / tall);
	for (let r = 0; r < rows; r++) {
		const stands = marked(r);
		const y = above + (r + 0.5) * tall;
		if (stands) {
			c.fillStyle = red;
			c.beginPath();
			c.moveTo(left - 3, y);
			c.lineTo(left - 11, y - 4.5);
			c.lineTo(left - 11, y + 4.5);
			c.fill();
			c.font = 'bold 12px system-ui, sans-serif';
		}
		if (stands || (r % everyRow === 0 && !nearMarked(r, everyRow, marked))) c.fillText(rowName(r), left - 15, y);
		c.font = '12px system-ui, sans-serif';
		c.fillStyle = variableOnce('--ink');
	}
}

// columnNames writes the names that have room or, as names has it, all of them.
function columnNames(c, { columns, columnName, wide, top, names }) {
	c.textAlign = names?.angle ? 'right' : 'center';
	const widest = Math.max(...Array.from({ length: Math.min(columns, 50) }, (_, k) => c.measureText(columnName(k)).width), 20) + 12;
	const every = names ? 1 : Math.max(1, Math.ceil(widest / wide));
	for (let k = 0; k < columns; k += every) {
		c.save();
		c.translate(left + (k + 0.5) * wide, top + 10);
		if (names) c.rotate(-names.angle);
		c.fillText(names ? fit(c, columnName(k), names.long) : columnName(k), 0, 0);
		c.restore();
	}
	c.textAlign = 'left';
}

// fit cuts a name to a width.
function fit(c, name, wide) {
	if (c.measureText(name).width <= wide) return name;
	let n = name.length - 1;
	while (n > 1 && c.measureText(`${name.slice(0, n)}…`).width > wide) n--;
	return `${name.slice(0, n)}…`;
}

function nearMarked(r, every, marked) {
	for (let d = 1; d < every; d++) if (marked(r + d) || marked(r - d)) return true;
	return false;
}

function legend(c, { width, height, top, root, unit, shade }) {
	const w = 120, x = width - right - w - 70, y = height - 8;
	for (let i = 0; i < w; i++) {
		c.fillStyle = shade(i / (w - 1));
		c.fillRect(x + i, y - 5, 1.5, 9);
	}
	c.fillStyle = variableOnce('--ink');
	c.textAlign = 'right';
	c.fillText('0', x - 6, y);
	c.textAlign = 'left';
	c.fillText(unit(top), x + w + 6, y);
	if (!root) return;
	c.textAlign = 'right';
	c.fillText(`${unit(top / 4)} in the middle;`, x - 20, y);
	c.textAlign = 'left';
}
