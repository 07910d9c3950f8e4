// What the page is made of: its data, elements, numbers in words, tables, choices and sections.
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");

const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svgEl = (tag, attributes = {}, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const fill = (node, attributes, children) => {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = (i) => style(`--c${i % 8}`);
const dash = (i) => [[], [8, 4], [2, 3], [10, 3, 2, 3]][Math.floor(i / 8) % 4];

// ---- numbers

const whole = (n) => (n === null || n === undefined ? "–" : Math.round(n).toLocaleString("en-US"));
const brief = (n, digits = 3) => {
  if (n === null || n === undefined || Number.isNaN(n)) return "–";
  if (n === 0) return "0";
  // From 1,000 on whole numbers, unless more digits are asked for.
  const decimals = Math.max(0, digits - String(Math.trunc(Math.abs(n))).length);
  return Math.abs(n) >= 1000 ? n.toLocaleString("en-US", { maximumFractionDigits: decimals }) : String(Number(n.toPrecision(digits)));
};
const fixed = (n) => (n === null || n === undefined ? "–" : n.toFixed(2));
const scaled = (units) => (n, digits = 3) => {
  if (n === null || n === undefined) return "–";
  const [scale, unit] = units.find(([at]) => Math.abs(n) >= at) ?? units.at(-1);
  return `${brief(n / scale, digits)} ${unit}`.trim();
};
const bytes = scaled([[1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]]);
const seconds = (s) => (s >= 120 ? `${brief(s / 60)} min` : scaled([[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]])(s));
const many = scaled([[1e9, "G"], [1e6, "M"], [1, ""]]);
const bits = scaled([[1e12, "Tb/s"], [1e9, "Gb/s"], [1e6, "Mb/s"], [1, "b/s"]]);
// 99.99 % must not read as 100 %.
const percent = (share) => {
  if (share === null || share === undefined) return "–";
  if (share === 0 || share === 1) return `${share * 100} %`;
  const shown = share > 0.99 && share < 1 ? Number((100 - Number((100 - share * 100).toPrecision(2))).toPrecision(8)) : Number((share * 100).toPrecision(3));
  return shown < 0.01 ? "< 0.01 %" : `${shown} %`;
};
// To a tenth of a percent.
const tenths = (share) => {
  if (share === null || share === undefined) return "–";
  if (share === 0 || share === 1) return `${share * 100} %`;
  if (share < 0.0005) return "< 0.1 %";
  return share > 0.9995 && share < 1 ? "> 99.9 %" : `${(share * 100).toFixed(1)} %`;
};
const binName = (row) =>
  row.size_high_bytes === null ? `> ${bytes(row.size_low_bytes)}` :
  row.size_low_bytes === 0 ? `≤ ${bytes(row.size_high_bytes)}` : `${bytes(row.size_low_bytes)} – ${bytes(row.size_high_bytes)}`;
const sum = (values) => values.reduce((a, b) => a + b, 0);
const unique = (values) => [...new Set(values)];
// Bounds that are known, and say more than the value.
const interval = (bounds) => (bounds && bounds[0] !== null && bounds[1] !== null && bounds[0] < bounds[1] ? bounds : null);

// ---- pieces

// The background of a line's marker in a legend: dashed as the line is.
const stripes = (i) => {
  const [on, off] = dash(i), tint = `var(--c${i % 8})`;
  return on ? `repeating-linear-gradient(90deg, ${tint} 0 ${on}px, transparent ${on}px ${on + off}px)` : tint;
};
const swatch = (i) => el("span", { class: "swatch", style: `background: ${stripes(i)}`, "aria-hidden": "true" });

const table = (headings, rows, caption) =>
  el("div", { class: "scroll" },
    el("table", { class: "data", "aria-label": caption },
      el("thead", {}, el("tr", {}, ...headings.map((h) => el("th", { scope: "col", class: h.text ? "text" : undefined }, h.name)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell, j) => {
        const attributes = { title: cell?.title, class: [headings[j].text ? "text" : "", cell?.class ?? "", cell === "–" ? "none" : ""].join(" ").trim() || undefined, "data-name": headings[j].name };
        const inner = cell?.show ?? cell;
        const content = Array.isArray(inner) ? inner : [inner];
        return j === 0 ? el("th", { scope: "row", ...attributes }, ...content) : el("td", attributes, ...content);
      }))))));

let groups = 0;
const choice = (name, options, chosen, onchange) => {
  const group = `choice-${groups++}`;
  return el("fieldset", {}, el("legend", {}, name), ...options.map(([value, text]) =>
    el("label", {},
      el("input", { type: "radio", name: group, value, checked: value === chosen ? "" : undefined, onchange: () => onchange(value) }),
      el("span", {}, text))));
};
const select = (name, options, chosen, onchange, attributes = {}) => el("label", { class: "select" }, `${name} `,
  el("select", { ...attributes, onchange: (event) => onchange(event.target.value) },
    ...options.map(([value, text]) => el("option", { value, selected: value === chosen ? "" : undefined }, text))));

// A section has an anchor, by which the contents name it. `better` says which end of a chart to prefer.
const LOWER = "lower is better", HIGHER = "higher is better", LEFT = "further left is better";
const BETTER = { lower: LOWER, higher: HIGHER };
const betterNote = (better) => (better ? el("small", { class: "better" }, better) : null);
const section = (id, title, { note, better } = {}, ...children) =>
  el("section", { id }, el("h2", {}, title, betterNote(better), anchor(id, title)), note ? el("p", { class: "note" }, note) : null, ...children);
const anchor = (id, title) => el("a", { class: "anchor", href: `#${id}`, "aria-label": `Link to ${title}` }, "#");
// The same, folded.
const foldedSection = (id, title, hint, ...children) =>
  el("section", { id }, el("details", { class: "fold" },
    el("summary", {}, el("h2", {}, title), hint ? el("small", {}, hint) : null), ...children));

// Opens what folds a section, inside it or around it.
const openFold = (node) => { for (const fold of [node?.querySelector("details.fold"), node?.closest("details.fold")]) fold?.setAttribute("open", ""); };

const copyable = (command) => {
  const pre = el("pre", { class: "mono" }, command);
  const copy = el("button", { type: "button", onclick: async () => {
    try { await navigator.clipboard.writeText(command); copy.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(pre); }
  } }, "Copy");
  return el("div", { class: "command" }, pre, copy);
};

const bars = (values, format, most = Math.max(...values.map((v) => v.value), 0)) => {
  const share = (value) => (most ? Math.max(0, Math.min(100, (100 * value) / most)) : 0);
  return el("div", { class: "bars" }, ...values.flatMap(({ name, value, index }) => [
    el("span", {}, name),
    el("span", { class: "track" }, el("i", { style: `width: ${share(value)}%; background: var(--c${index % 8})` })),
    el("span", { class: "value" }, format(value))]));
};

// Undoes `packed` in network.py.
const inflate = async (text) => {
  const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
};
