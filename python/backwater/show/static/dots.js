// A dot plot: a row a variant, a column a measurement, each with its own axis. A dot is a mean over the seeds; the line through it
// its interval; a band or a diamond is what was published; the dashed line is where the reference stands.
// columns: [{ label, better, reference: { name, value }, values: Map of a row's name to { value, bounds, published: [] } }].
const ROW = 24, CHARACTER = 6.4, BOLD = 7.2, VALUE = 46;

// Pixels that the widest of some texts takes in a chart. System fonts differ by a fifth.
const ruler = document.createElement("canvas").getContext("2d");
const widest = (texts) => {
  ruler.font = "12.5px system-ui, sans-serif";
  return Math.max(...texts.map((text) => ruler.measureText(text).width));
};
// A text, or as much of its beginning as has room.
const fitted = (text, width) => {
  let [shown, most] = [text, text.length];
  while (most > 1 && widest([shown]) > width) shown = `${text.slice(0, --most)}…`;
  return shown;
};

const dotPlot = (id, rows, columns) => {
  const holder = el("div", { class: "dots", role: "img", "aria-label": `${columns.map((column) => column.label).join("; ")}: ${rows.length} rows` });
  const draw = () => holder.replaceChildren(dotsSvg(rows, columns, Math.max(280, holder.clientWidth)));
  redraws.push(draw);
  return el("div", { class: "plot" }, holder, files(id, () => ({ svg: () => dotsSvg(rows, columns, holder.clientWidth), rows: () => dotRows(rows, columns) })));
};

const dotRows = (rows, columns) => [["measurement", "variant", "value", "low", "high", "published"],
  ...columns.flatMap(({ label, values }) => rows.filter(({ name }) => values.has(name)).map(({ name }) => {
    const { value, bounds, published } = values.get(name);
    return [label, name, value, ...(bounds ?? [null, null]), published.join(" to ")];
  }))];

const dotsSvg = (rows, columns, width) => {
  const nameWidth = Math.min(0.36 * width, 14 + widest(rows.map(({ name }) => name)));
  const fit = Math.max(1, Math.min(columns.length, Math.floor((width - nameWidth) / 230)));
  const lines = Math.ceil(columns.length / fit), columnWidth = (width - nameWidth) / fit;
  const titles = columns.map((column) => wrapped(column.label, (columnWidth - 18) / BOLD));
  const head = (i) => titles[i].length * 17 + (columns[i].better ? 17 : 0) + 8;
  // Columns that stand beside one another begin at one height.
  const heads = Array.from({ length: lines }, (_, line) => Math.max(...titles.map((_, i) => i).filter((i) => Math.floor(i / fit) === line).map(head)));
  const tops = heads.map((_, line) => sum(heads.slice(0, line)) + line * (rows.length * ROW + 34));
  const height = tops.at(-1) + heads.at(-1) + rows.length * ROW + 24;
  return svgEl("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif", "font-size": 12.5 },
    ...columns.map((column, i) => {
      const [line, place] = [Math.floor(i / fit), i % fit];
      const box = { left: nameWidth + place * columnWidth, top: tops[line], width: columnWidth, head: heads[line] };
      return svgEl("g", {}, ...(place === 0 ? rowNames(rows, box) : []), ...dotColumn(rows, column, titles[i], box));
    }));
};

const wrapped = (text, most) => text.split(" ").reduce((lines, word) => {
  const longer = `${lines.at(-1)} ${word}`.trim();
  return longer.length <= most ? [...lines.slice(0, -1), longer] : [...lines, word];
}, [""]).filter(Boolean);

const rowNames = (rows, box) => rows.map((row, i) => {
  const shown = fitted(row.name, box.left - 6);
  return svgEl("text", { x: 0, y: box.top + box.head + i * ROW + ROW / 2 + 4, fill: style(row.faint ? "--soft" : "--ink") }, shown, svgEl("title", {}, row.title ?? row.name));
});

const dotColumn = (rows, { label, better, reference, values }, title, box) => {
  const [ink, soft, rule] = ["--ink", "--soft", "--rule"].map(style);
  const top = box.top + box.head, bottom = top + rows.length * ROW;
  const left = box.left + 8, right = box.left + box.width - VALUE - 10;
  const scale = dotScale(rows.map(({ name }) => values.get(name)).filter(Boolean), reference, left, right);
  const nodes = title.map((words, i) => svgEl("text", { x: left, y: box.top + 14 + 17 * i, fill: ink, "font-weight": 600 }, words));
  if (better) nodes.push(svgEl("text", { x: left, y: box.top + 14 + 17 * title.length, fill: soft }, BETTER[better]));
  const line = (x1, y1, x2, y2, stroke, more = {}) => svgEl("line", { x1, y1, x2, y2, stroke, ...more });
  if (!scale) return [...nodes, svgEl("text", { x: left, y: top + 16, fill: soft }, "no numbers")];
  const digits = digitsOf(scale.ticks);
  for (const tick of scale.ticks) nodes.push(line(scale.at(tick), top, scale.at(tick), bottom, rule), svgEl("text", { x: scale.at(tick), y: bottom + 16, fill: soft, "text-anchor": "middle", "font-size": 11.5 }, brief(tick, digits)));
  nodes.push(line(left, bottom, right, bottom, rule));
  if (reference) nodes.push(line(scale.at(reference.value), top - 2, scale.at(reference.value), bottom, soft, { "stroke-dasharray": "3 3" }));
  rows.forEach(({ name, index, faint }, i) => {
    const known = values.get(name), y = top + i * ROW + ROW / 2;
    if (!known || known.value === null) {
      nodes.push(svgEl("text", { x: right + 10, y: y + 4, fill: soft }, "–"));
      return;
    }
    const { value, bounds, published } = known, x = scale.at(value), tint = colour(index);
    const ends = published.map(scale.at);
    if (published.length > 1) nodes.push(svgEl("rect", { class: "published", x: Math.min(...ends), y: y - 8, width: Math.max(...ends) - Math.min(...ends), height: 16, rx: 3, fill: tint, opacity: 0.22 }));
    else for (const end of ends) nodes.push(svgEl("path", { class: "published", d: `M${end} ${y - 6}l6 6l-6 6l-6 -6z`, fill: "none", stroke: tint, "stroke-width": 1.6 }));
    if (bounds) {
      const [low, high] = bounds.map(scale.clip);
      nodes.push(line(low.at, y, high.at, y, tint, { "stroke-width": 1.6 }));
      for (const end of [low, high]) if (!end.cut) nodes.push(line(end.at, y - 4, end.at, y + 4, tint, { "stroke-width": 1.6 }));
    }
    const words = `${name}: ${brief(value, digits)}${bounds ? ` (${bounds.map((v) => brief(v, digits)).join(" to ")})` : ""}${published.length ? `; published ${published.map((v) => brief(v, digits)).join(" to ")}` : ""}`;
    nodes.push(
      svgEl("circle", { class: "dot", cx: x, cy: y, r: 5, fill: faint ? style("--paper") : tint, stroke: tint, "stroke-width": 2 }, svgEl("title", {}, `${label}, ${words}`)),
      svgEl("text", { x: right + 10, y: y + 4, fill: ink }, brief(value, digits), svgEl("title", {}, words)));
  });
  return nodes;
};

// A logarithmic axis wherever values allow it and differ by a factor of two; intervals that are far longer are cut off.
const dotScale = (all, reference, left, right) => {
  const values = [...all.flatMap(({ value, published }) => [value, ...published]), reference?.value].filter((v) => v !== null && v !== undefined);
  if (values.length === 0) return null;
  const ends = all.flatMap(({ bounds }) => bounds ?? []);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const log = least > 0 && most / least >= 2;
  const reach = log ? [least / 2.5, most * 2.5] : [least - 0.5 * (most - least || Math.abs(most) || 1), most + 0.5 * (most - least || Math.abs(most) || 1)];
  const [low, high] = [Math.max(Math.min(least, ...ends.filter((v) => !log || v > 0)), reach[0]), Math.min(Math.max(most, ...ends), reach[1])];
  const [f, back] = log ? [Math.log10, (v) => 10 ** v] : [(v) => v, (v) => v];
  const pad = 0.04 * (f(high) - f(low)) || 0.5;
  const [from, to] = [f(low) - pad, f(high) + pad];
  const at = (v) => left + ((f(v) - from) / (to - from)) * (right - left);
  const clip = (v) => (log && v <= 0) || f(v) < from ? { at: left, cut: true } : f(v) > to ? { at: right, cut: true } : { at: at(v), cut: false };
  return { at, clip, ticks: log ? logTicks(back(from), back(to)) : linearTicks(from, to) };
};
// Digits by which all ticks differ: three, or more on an axis that is short and far from 0.
const digitsOf = (ticks) => [3, 4, 5, 6, 7].find((digits) => new Set(ticks.map((tick) => brief(tick, digits))).size === ticks.length) ?? 8;
const logTicks = (low, high) => {
  const decades = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) decades.push(10 ** e);
  const within = (steps) => decades.flatMap((decade) => steps.map((step) => step * decade)).filter((v) => v >= low && v <= high);
  const found = [[1], [1, 3], [1, 2, 5], [1, 2, 3, 4, 6, 8]].map(within);
  const ticks = found.find((one) => one.length >= 3) ?? found.at(-1);
  return ticks.length <= 6 ? ticks : ticks.filter((_, i) => i % Math.ceil(ticks.length / 6) === 0);
};
const linearTicks = (low, high, about = 4) => {
  const rough = (high - low) / about, decade = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * decade).find((s) => s >= rough);
  const ticks = [];
  for (let v = Math.ceil(low / step) * step; v <= high + 1e-9 * step; v += step) ticks.push(Number(v.toPrecision(12)));
  return ticks;
};
