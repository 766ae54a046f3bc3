// Pictures of pages: node gallery.mjs FOLDER PAGE.html… writes each in both
// themes, whole (png); with --top only what is seen first (webp).
import { basename, join } from 'node:path';
import { launch, open } from './test/browser.mjs';

const [folder, ...files] = process.argv.slice(2).filter((a) => a !== '--top');
const top = process.argv.includes('--top');
const browser = await launch();
for (const file of files) {
	for (const theme of ['light', 'dark']) {
		const { page, errors, opened } = await open(browser, file, { theme });
		const path = join(folder, `${basename(file, '.html')}-${theme}`);
		if (top) await page.screenshot({ path: `${path}.webp`, quality: 45, clip: { x: 0, y: 0, width: 1280, height: 1180 } });
		else await page.screenshot({ path: `${path}.png`, fullPage: true });
		console.log(basename(file), theme, `${opened.toFixed(0)} ms`, ...errors);
		await page.close();
	}
}
await browser.close();
