import { el } from './dom.js';
import { nameOf } from './selection.js';

// save offers bytes as a file.
function save(name, blob) {
	const url = URL.createObjectURL(blob);
	const a = el('a', { href: url, download: name, hidden: true });
	document.body.append(a);
	a.click();
	a.remove();
	setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// verdictJSON is the JSON of sfstat diagnose, which the page holds packed.
export async function verdictJSON() {
	const packed = document.getElementById('verdict').textContent.trim();
	if (!packed) return null;
	const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
	return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

export async function saveJSON() {
	save('verdict.json', new Blob([await verdictJSON()], { type: 'application/json' }));
}

// chromeTrace is the drawn steps of a run as Trace Event Format, for Perfetto: a
// process for each rank, one step after the other, waits apart from work.
export function chromeTrace(run) {
	const us = (v) => v * run.unit_ns / 1000;
	const events = [];
	run.ranks.forEach((r, i) => events.push({ ph: 'M', name: 'process_name', pid: r.id, tid: 0, args: { name: nameOf(run, i) } },
		{ ph: 'M', name: 'process_sort_index', pid: r.id, tid: 0, args: { sort_index: r.id } }));
	let begin = 0;
	for (const d of run.drawn) {
		let end = d.length;
		for (const l of d.lanes) {
			const pid = run.ranks[l.rank].id;
			for (const [series, from, busy, to] of l.spans) {
				const event = { ph: 'X', pid, tid: 0, cat: 'stage', args: { step: d.step } };
				if (busy > from) events.push({ ...event, name: `wait in ${run.stages[series].name}`, cat: 'wait', ts: us(begin + from), dur: us(busy - from) });
				if (to > busy) events.push({ ...event, name: run.stages[series].name, ts: us(begin + busy), dur: us(to - busy) });
				end = Math.max(end, to);
			}
		}
		begin += end;
	}
	return { displayTimeUnit: 'ms', otherData: { format: 'sfstat timeline' }, traceEvents: events };
}

export function saveTrace(run) {
	save('steps.trace.json', new Blob([JSON.stringify(chromeTrace(run))], { type: 'application/json' }));
}
