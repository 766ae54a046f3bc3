import { el } from './dom.js';

// One box shows what is under the pointer or the keyboard's cursor, on the screen
// and to a screen reader.
let box;

function tooltip() {
	if (!box) {
		box = el('div', { className: 'tooltip', role: 'status', hidden: true });
		document.body.append(box);
	}
	return box;
}

export function tell(lines, x, y) {
	const t = tooltip();
	if (!lines) {
		t.hidden = true;
		return;
	}
	t.replaceChildren(...lines.map((l, i) => el('div', { className: i ? '' : 'first' }, l)));
	t.hidden = false;
	const w = t.offsetWidth, h = t.offsetHeight;
	t.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - w - 4))}px`;
	t.style.top = `${y + 14 + h > innerHeight ? Math.max(4, y - h - 10) : y + 14}px`;
}

// surface is a canvas that is as wide as its place, with a cursor: of what is
// drawn, at(x, y) is what lies there and says lines of text, step(key, at) where an
// arrow key goes from there, and place(at) where that is.
export function surface(into, { height, label, draw, at, step, place, pick }) {
	let canvas = into.querySelector('canvas.surface');
	if (!canvas) {
		canvas = el('canvas', { className: 'surface', tabIndex: 0 });
		canvas.setAttribute('role', 'img');
		into.append(canvas);
		listen(canvas);
	}
	canvas.setAttribute('aria-label', label);
	const width = Math.max(280, into.clientWidth), scale = devicePixelRatio || 1;
	canvas.width = Math.round(width * scale);
	canvas.height = Math.round(height * scale);
	canvas.style.height = `${height}px`;
	const c = canvas.getContext('2d');
	c.scale(scale, scale);
	c.font = '12px system-ui, sans-serif';
	c.textBaseline = 'middle';
	canvas.handlers = { at, step, place, pick };
	canvas.cursor = null;
	draw(c, width, height);
	return canvas;
}

function listen(canvas) {
	const show = (what, x, y) => {
		canvas.cursor = what;
		tell(what ? what.lines : null, x, y);
	};
	const under = (e) => {
		const r = canvas.getBoundingClientRect();
		return canvas.handlers.at(e.clientX - r.left, e.clientY - r.top);
	};
	canvas.addEventListener('pointermove', (e) => show(under(e), e.clientX, e.clientY));
	canvas.addEventListener('pointerleave', () => tell(null));
	canvas.addEventListener('blur', () => tell(null));
	canvas.addEventListener('click', (e) => {
		const what = under(e);
		if (what) canvas.handlers.pick?.(what);
	});
	canvas.addEventListener('keydown', (e) => {
		const { step, place, pick } = canvas.handlers;
		if (e.key === 'Escape') return show(null);
		if ((e.key === 'Enter' || e.key === ' ') && canvas.cursor) {
			e.preventDefault();
			return pick?.(canvas.cursor);
		}
		if (!/^(Arrow(Up|Down|Left|Right)|Home|End)$/.test(e.key)) return;
		e.preventDefault();
		const what = step(e.key, canvas.cursor);
		if (!what) return;
		const r = canvas.getBoundingClientRect(), p = place(what);
		show(what, r.left + p.x, r.top + p.y);
	});
}

// grid moves over rows and columns.
export function gridStep(key, at, rows, columns) {
	if (!rows || !columns) return null;
	if (!at) return { row: 0, column: 0 };
	const to = { row: at.row, column: at.column };
	if (key === 'ArrowUp') to.row--;
	if (key === 'ArrowDown') to.row++;
	if (key === 'ArrowLeft') to.column--;
	if (key === 'ArrowRight') to.column++;
	if (key === 'Home') to.column = 0;
	if (key === 'End') to.column = columns - 1;
	to.row = Math.min(Math.max(to.row, 0), rows - 1);
	to.column = Math.min(Math.max(to.column, 0), columns - 1);
	return to;
}
