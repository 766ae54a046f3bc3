// Bundles src into ../web/dist: the page embeds what stands there, so that
// building sfstat needs no node. `node build.mjs --check` fails where it differs.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const licence = readFileSync(here('node_modules/uplot/LICENSE'), 'utf8').trim();
const shared = { bundle: true, minify: true, write: false, charset: 'utf8', legalComments: 'none', logLevel: 'warning' };

const script = await build({ ...shared, entryPoints: [here('src/main.js')], format: 'iife', target: 'es2022', banner: { js: `/* uPlot\n${licence}\n*/` } });
const style = await build({ ...shared, stdin: { contents: "@import 'uplot/dist/uPlot.min.css'; @import './src/page.css';", resolveDir: here('.'), loader: 'css' } });

let stale = 0;
for (const [name, built] of [['page.js', script], ['page.css', style]]) {
	const path = here(`../web/dist/${name}`), text = built.outputFiles[0].text;
	if (!process.argv.includes('--check')) writeFileSync(path, text);
	else if (readFileSync(path, 'utf8') !== text) {
		console.error(`page/web/dist/${name} is not what page/ui makes: run make page`);
		stale = 1;
	}
}
process.exit(stale);
