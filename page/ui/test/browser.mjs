// What the tests and the gallery share: a browser, and a page in it.
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import puppeteer from 'puppeteer-core';

export const chromium = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => p && existsSync(p));

export function launch() {
	return puppeteer.launch({ executablePath: chromium, headless: true, args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb'] });
}

// open shows a file and waits until its charts are drawn. It notes what the
// console says of errors, and every request that is not for the file itself.
export async function open(browser, file, { theme = 'light', width = 1280, height = 900 } = {}) {
	const page = await browser.newPage();
	const url = pathToFileURL(file).href, errors = [], requests = [];
	page.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warn') errors.push(m.text()); });
	page.on('pageerror', (e) => errors.push(String(e)));
	page.on('request', (r) => { if (r.url().split('#')[0] !== url && !r.url().startsWith('blob:')) requests.push(r.url()); });
	await page.setViewport({ width, height });
	await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
	const begin = performance.now();
	await page.goto(url);
	await page.waitForFunction(() => document.documentElement.dataset.ready === 'yes', { timeout: 60_000 });
	return { page, errors, requests, opened: performance.now() - begin };
}
