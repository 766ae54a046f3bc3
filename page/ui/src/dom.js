// el makes an element. Text goes in as text nodes: nothing of the data is ever
// parsed as HTML.
export function el(tag, props = {}, ...children) {
	const node = document.createElement(tag);
	for (const [key, value] of Object.entries(props)) {
		if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
		else if (key in node && key !== 'list') node[key] = value;
		else node.setAttribute(key, value);
	}
	node.append(...children.flat().filter((c) => c !== null && c !== undefined));
	return node;
}

// short cuts a long name in its middle.
export function short(name, n = 40) {
	const points = [...name];
	if (points.length <= n) return name;
	const half = Math.floor((n - 1) / 2);
	return points.slice(0, half).join('') + '…' + points.slice(-half).join('');
}
