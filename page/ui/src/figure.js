import { el } from './dom.js';
import { bound } from './format.js';

const mostRows = 2000; // of a table on the page; more are in the JSON

let ids = 0;

// figure is a frame: title, behind (?) what is to be seen, what else there is to know of
// this one, a place for the drawing and, behind a summary, the numbers as a table, which is made when it is opened; a drawing that is
// a table has no other.
export function figure(title, note, { draw, table }, fact = '') {
	const id = `figure-${++ids}`;
	const body = el('div', { className: 'drawing' });
	const about = el('details', { className: 'about' }, el('summary', {}, el('h2', { id }, title), el('span', { className: 'ask', title: 'What is to be seen here' }, '?')), el('p', { className: 'note' }, bound(note)));
	const remark = el('p', { className: 'note fact', hidden: !fact }, bound(fact.trim()));
	const details = el('details', { className: 'numbers' }, el('summary', {}, 'Table', el('span', { className: 'hidden' }, `: ${title}`)));
	const node = el('section', { className: 'figure' }, about, remark, body, table ? details : '');
	node.setAttribute('aria-labelledby', id);
	const fill = () => {
		if (!details.open) return;
		const t = table();
		details.querySelector('.scroll, p')?.remove();
		details.append(t ? tableOf(t, title) : el('p', {}, 'Nothing is selected.'));
	};
	details.addEventListener('toggle', fill);
	return {
		node,
		render() {
			const said = draw(body);
			node.hidden = said === false;
			if (typeof said === 'string') {
				remark.textContent = bound(said);
				remark.hidden = false;
			}
			fill();
		},
	};
}

// tableOf is a table of columns {head, number} and rows of values; a value of
// {bar} is drawn as that part of the column.
export function tableOf({ columns, rows }, label) {
	const head = el('tr', {}, columns.map((c) => c.bar ? el('td', { className: 'bar' }) : el('th', { scope: 'col', className: c.number ? 'number' : 'name' }, c.head)));
	const body = rows.slice(0, mostRows).map((row) => el('tr', {}, row.map((value, i) => cell(columns[i], value))));
	const more = rows.length > mostRows ? el('caption', {}, `The first ${mostRows} of ${rows.length} rows.`) : null;
	const frame = el('div', { className: 'scroll', tabIndex: 0 }, el('table', {}, more, el('thead', {}, head), el('tbody', {}, body)));
	frame.setAttribute('role', 'region');
	frame.setAttribute('aria-label', label);
	return frame;
}

const svg = 'http://www.w3.org/2000/svg';

function cell(column, value) {
	if (!column.bar) return el('td', { className: column.number ? 'number' : 'name' }, value === null ? '–' : String(value));
	if (value.node) return el('td', { className: 'bar' }, value.node);
	const picture = document.createElementNS(svg, 'svg');
	picture.setAttribute('viewBox', '0 0 100 1');
	picture.setAttribute('preserveAspectRatio', 'none');
	picture.setAttribute('aria-hidden', 'true');
	const rect = document.createElementNS(svg, 'rect');
	rect.setAttribute('width', String(100 * Math.min(1, Math.max(0, value.bar))));
	rect.setAttribute('height', '1');
	if (value.colour) rect.style.fill = value.colour;
	picture.append(rect);
	return el('td', { className: value.strong ? 'bar strong' : 'bar' }, picture);
}
