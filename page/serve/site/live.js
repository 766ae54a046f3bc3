'use strict';
// What is open fetches itself again when the version is another.
const root = document.documentElement, live = document.getElementById('live'), frame = document.getElementById('page');
const path = frame && frame.getAttribute('src');
let wanted = root.dataset.version, busy = false;

async function renew() {
	if (busy) return;
	busy = true;
	try {
		while (wanted !== root.dataset.version) {
			const version = wanted, answer = await fetch(location.href);
			if (!answer.ok) {
				live.textContent = answer.status === 404 ? 'this run is gone' : 'cannot be read now';
				return;
			}
			const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
			document.getElementById('now').replaceWith(fresh.getElementById('now'));
			document.title = fresh.title;
			root.dataset.version = version;
			if (frame && fresh.getElementById('page').dataset.version !== frame.dataset.version) {
				frame.dataset.version = fresh.getElementById('page').dataset.version;
				reload(frame.dataset.version);
			}
			live.textContent = 'updated ' + new Date().toLocaleTimeString();
		}
	} finally {
		busy = false;
	}
}

// reload shows the new page where the old one was, with what was selected in it.
function reload(version) {
	const inside = frame.contentWindow, y = inside.scrollY;
	frame.onload = () => inside.scrollTo(0, y);
	inside.location.replace(path + '?v=' + version + inside.location.hash);
}

const events = new EventSource('/events');
events.onopen = () => { live.textContent = 'live'; };
events.onerror = () => { live.textContent = 'not connected'; };
events.onmessage = (e) => {
	wanted = e.data;
	renew().catch(() => { live.textContent = 'not connected'; });
};
