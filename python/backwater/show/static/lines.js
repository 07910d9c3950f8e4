// Line charts, drawn by uPlot: with intervals, published points, places with a name, and dots that can be picked.
const charts = {};
let redraws = [];

// A logarithmic axis has its ticks at round numbers if it starts at one.
const roundDown = (x) => { const decade = 10 ** Math.floor(Math.log10(x)); return Math.floor(x / decade) * decade; };

// Dots over a chart: [{ colour, of: [{ x, y }] }], one of which may be picked. What is near the pointer is found by looking at all.
const DOT = 3.5, NEAR = 12, NEAR_TOUCH = 24;
const drawDots = (u, dots) => {
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  u.ctx.clip();
  u.ctx.globalAlpha = 0.4;
  for (const { colour: index, of } of dots) {
    u.ctx.fillStyle = colour(index);
    for (const { x, y } of of) {
      u.ctx.beginPath();
      u.ctx.arc(u.valToPos(x, "x", true), u.valToPos(y, "y", true), DOT * devicePixelRatio, 0, 7);
      u.ctx.fill();
    }
  }
  u.ctx.restore();
};
// Round the dot that is picked stands a ring, which goes elsewhere without the chart being drawn again.
const ringDot = (u, dots, isPicked) => {
  const ring = el("i", { class: "ring" });
  u.over.append(ring);
  return () => {
    const dot = dots.flatMap(({ of }) => of).find(isPicked);
    ring.hidden = !dot;
    if (dot) [ring.style.left, ring.style.top] = [`${u.valToPos(dot.x, "x")}px`, `${u.valToPos(dot.y, "y")}px`];
  };
};
const pickDots = (u, dots, ondot) => {
  const nearest = (event, within) => {
    const box = u.over.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    let best = null, least = within;
    for (const { of } of dots) for (const dot of of) {
      const away = Math.hypot(u.valToPos(dot.x, "x") - x, u.valToPos(dot.y, "y") - y);
      if (away < least) [best, least] = [dot, away];
    }
    return best;
  };
  let down = [0, 0];
  u.over.addEventListener("pointerdown", (event) => { down = [event.clientX, event.clientY]; });
  u.over.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse") u.over.style.cursor = nearest(event, NEAR) ? "pointer" : ""; });
  u.over.addEventListener("click", (event) => {
    if (Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4) return; // A drag.
    const dot = nearest(event, event.pointerType === "touch" ? NEAR_TOUCH : NEAR);
    if (dot) ondot(dot);
  });
};

// Between what each value of a line lies, where that is known.
const drawIntervals = (u, line) => {
  u.ctx.save();
  u.ctx.strokeStyle = colour(line.index);
  u.ctx.lineWidth = 1.2 * devicePixelRatio;
  line.bounds?.forEach((bounds, i) => {
    if (!bounds) return;
    const x = u.valToPos(line.x[i], "x", true), cap = 3 * devicePixelRatio;
    const ends = bounds.map((y) => u.valToPos(y, "y", true));
    const [low, high] = ends.map((y) => Math.max(u.bbox.top, Math.min(u.bbox.top + u.bbox.height, y)));
    u.ctx.beginPath();
    u.ctx.moveTo(x, low); u.ctx.lineTo(x, high);
    // One that is cut off does not end there.
    for (const y of ends.filter((end) => end === low || end === high)) { u.ctx.moveTo(x - cap, y); u.ctx.lineTo(x + cap, y); }
    u.ctx.stroke();
  });
  u.ctx.restore();
};

// lines: [{ name, index, x: [], y: [] }]; `bounds` of each point, if known. Axis options: { label, format, log, range }.
const lineChart = (id, holder, lines, x, y, { stepped = false, points = false, height = 320, wide = 62, marks = [], onspan, band, dots = [], ondot, isPicked } = {}) => {
  charts[id]?.destroy();
  holder.replaceChildren();
  const shown = lines.filter((line) => line.x.length > 0);
  if (shown.length === 0) {
    delete charts[id];
    holder.append(el("p", { class: "note" }, "Nothing to draw: no samples."));
    return;
  }
  const joined = uPlot.join(shown.map((line) => [line.x, line.y]));
  const soft = style("--soft"), rule = style("--rule");
  const axis = (options, at) => ({
    label: options.label, stroke: soft, font: "12px system-ui", labelFont: "12px system-ui", labelSize: 22,
    grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1 },
    values: (u, splits) => splits.map((v) => (v === null ? "" : options.format(v))), ...at,
  });
  // Axes have room for the dots, unless the reader zooms in; and for intervals, up to twice what is highest.
  const spots = dots.flatMap(({ of }) => of);
  const reach = Math.max(...shown.flatMap((line) => (line.bounds ?? []).map((bounds) => bounds?.[1] ?? -Infinity)), -Infinity);
  const withIntervals = (key, most) => (key === "y" ? Math.max(most, Math.min(reach, 2 * most)) : most);
  const wider = (key, range) => (u, low, most) => {
    const zoomed = key === "x" && (low !== joined[0][0] || most !== joined[0].at(-1));
    const known = [low, withIntervals(key, most)];
    return range(u, ...(zoomed ? [] : spots).reduce(([least, most], dot) => [Math.min(least, dot[key]), Math.max(most, dot[key])], known));
  };
  const yRange = y.range ?? (spots.length ? (u, low, high) => uPlot.rangeLog(low, high, 10, true) : undefined);
  const paths = stepped ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear();
  charts[id] = new uPlot({
    width: Math.max(280, holder.clientWidth), height,
    cursor: { y: false, points: { size: 7 }, ...(onspan ? { drag: { x: true, y: false, setScale: false } } : {}) },
    scales: {
      x: { time: false, distr: x.log ? 3 : 1, ...(x.range ? { range: x.range } : x.log ? { range: wider("x", (u, low, high) => [roundDown(low / 1.2), high * 1.2]) } : {}) },
      y: { distr: y.log ? 3 : 1, ...(yRange ? { range: wider("y", yRange) } : {}) },
    },
    axes: [axis(x, {}), axis(y, { size: wide })],
    legend: { markers: { width: 0, fill: (u, i) => (i === 0 ? "none" : stripes(shown[i - 1].index)) } },
    series: [
      { label: x.label, value: (u, v) => (v === null ? "–" : (x.name ?? x.format)(v)) },
      ...shown.map((line) => ({
        label: line.name, stroke: colour(line.index), width: 2, dash: dash(line.index), spanGaps: true, paths,
        // What was published stands beside the lines: hollow, and joined by nothing.
        ...(line.published ? { paths: () => null, points: { show: true, size: 9, width: 2, fill: style("--paper") } }
          : { points: points ? { show: true, size: 6, fill: colour(line.index) } : { show: false } }),
        value: (u, v) => (v === null || v === undefined ? "–" : (y.name ?? y.format)(v)),
      })),
    ],
    hooks: {
      // A drag picks a span, a click a moment.
      setSelect: onspan ? [(u) => { if (u.select.width > 0) onspan(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")); }] : [],
      drawClear: band ? [(u) => {
        const [from, to] = band().map((v) => u.valToPos(v, "x", true));
        u.ctx.save();
        u.ctx.fillStyle = style("--panel");
        u.ctx.fillRect(from, u.bbox.top, Math.max(2, to - from), u.bbox.height);
        u.ctx.restore();
      }] : [],
      draw: [(u) => drawDots(u, dots), (u) => u.ring?.(), (u) => shown.forEach((line) => drawIntervals(u, line)), (u) => marks.forEach((mark) => {
        const at = Math.round(u.valToPos(mark.x, "x", true));
        if (at < u.bbox.left || at > u.bbox.left + u.bbox.width) return;
        u.ctx.save();
        u.ctx.strokeStyle = u.ctx.fillStyle = soft;
        u.ctx.setLineDash([4, 4]);
        u.ctx.beginPath(); u.ctx.moveTo(at, u.bbox.top); u.ctx.lineTo(at, u.bbox.top + u.bbox.height); u.ctx.stroke();
        u.ctx.font = `${12 * devicePixelRatio}px system-ui`;
        const left = at < u.bbox.left + u.bbox.width / 2;
        u.ctx.textAlign = left ? "left" : "right";
        u.ctx.fillText(mark.text, at + (left ? 5 : -5), u.bbox.top + u.bbox.height - 8 * devicePixelRatio);
        u.ctx.restore();
      })],
    },
  }, joined, holder);
  if (dots.length) {
    pickDots(charts[id], dots, ondot);
    Object.assign(charts[id], { dots, ring: ringDot(charts[id], dots, isPicked) });
    charts[id].ring();
  }
  charts[id].drawn = { lines: shown, x, y, stepped, points, marks, spots: dots };
  holder.querySelector("canvas").setAttribute("aria-hidden", "true");
};

// A chart with its links to files; `draw` is called with its holder now and whenever the page's width or colours change.
const plot = (id, label, draw) => {
  const holder = el("div", { class: "chart", role: "img", "aria-label": label });
  redraws.push(() => draw(holder));
  return el("div", { class: "plot" }, holder,
    files(id, () => ({ svg: () => lineSvg(charts[id], label), rows: () => lineRows(charts[id]) })));
};

// ---- as files

// What a chart shows as rows: a line, its point, and the bounds of the point where they are known.
const lineRows = ({ drawn: { lines, x, y } }) => [["line", x.label || "x", y.label || "y", "low", "high"],
  ...lines.flatMap((line) => line.x.map((at, i) => [line.name, at, line.y[i], ...(line.bounds?.[i] ?? [null, null])]))];

// The same chart as SVG: uPlot's places and ticks, and a legend below.
const lineSvg = (u, label) => {
  const { lines, x, stepped, points, marks, spots } = u.drawn, ratio = devicePixelRatio;
  const box = { left: u.bbox.left / ratio, top: u.bbox.top / ratio, width: u.bbox.width / ratio, height: u.bbox.height / ratio };
  const [right, bottom] = [box.left + box.width, box.top + box.height];
  const px = (v) => u.valToPos(v, "x") + box.left, py = (v) => u.valToPos(v, "y") + box.top;
  const [ink, soft, rule] = ["--ink", "--soft", "--rule"].map(style);
  const text = (at, y, words, more = {}) => svgEl("text", { x: at, y, fill: soft, "font-size": 12, ...more }, words);
  const ticks = (axis, draw) => u.axes[axis]._splits.map((v, i) => [v, u.axes[axis]._values[i]]).filter(([v]) => v !== null).map(([v, words]) => draw(v, words ?? ""));
  const inside = svgEl("g", { "clip-path": "url(#plot)" });
  const line = (x1, y1, x2, y2, stroke, more = {}) => svgEl("line", { x1, y1, x2, y2, stroke, ...more });
  lines.forEach((one) => {
    const stroke = colour(one.index), places = one.x.map((v, i) => [px(v), py(one.y[i])]);
    const path = places.map(([a, b], i) => (i === 0 ? `M${a} ${b}` : stepped ? `H${a}V${b}` : `L${a} ${b}`)).join("");
    if (!one.published) inside.append(svgEl("path", { d: path, fill: "none", stroke, "stroke-width": 2, "stroke-dasharray": dash(one.index).join(" ") || undefined }));
    if (points || one.published) inside.append(...places.map(([cx, cy]) => svgEl("circle", { cx, cy, r: one.published ? 4.5 : 3, stroke, "stroke-width": 2, fill: one.published ? style("--paper") : stroke })));
    one.bounds?.forEach((bounds, i) => bounds && inside.append(line(places[i][0], py(bounds[0]), places[i][0], py(bounds[1]), stroke)));
  });
  for (const { colour: index, of } of spots) inside.append(...of.map((dot) => svgEl("circle", { cx: px(dot.x), cy: py(dot.y), r: DOT, fill: colour(index), opacity: 0.4 })));
  for (const mark of marks) inside.append(line(px(mark.x), box.top, px(mark.x), bottom, soft, { "stroke-dasharray": "4 4" }), text(px(mark.x) + 5, bottom - 8, mark.text));
  let at = box.left, row = bottom + 62;
  const legend = lines.flatMap((one) => {
    const wide = 40 + 7.8 * one.name.length;
    if (at + wide > u.width && at > box.left) [at, row] = [box.left, row + 20];
    const made = [line(at, row - 4, at + 18, row - 4, colour(one.index), { "stroke-width": 3, "stroke-dasharray": dash(one.index).join(" ") || undefined }), text(at + 24, row, one.name, { fill: ink })];
    at += wide;
    return made;
  });
  const height = row + 14;
  return svgEl("svg", { width: u.width, height, viewBox: `0 0 ${u.width} ${height}`, "font-family": "system-ui, sans-serif", "aria-label": label },
    svgEl("clipPath", { id: "plot" }, svgEl("rect", { x: box.left, y: box.top, width: box.width, height: box.height })),
    ...ticks(0, (v, words) => svgEl("g", {}, line(px(v), box.top, px(v), bottom, rule), text(px(v), bottom + 18, words, { "text-anchor": "middle" }))),
    ...ticks(1, (v, words) => svgEl("g", {}, line(box.left, py(v), right, py(v), rule), text(box.left - 8, py(v) + 4, words, { "text-anchor": "end" }))),
    inside, text(box.left + box.width / 2, bottom + 38, x.label ?? "", { "text-anchor": "middle" }),
    svgEl("text", { fill: soft, "font-size": 12, "text-anchor": "middle", transform: `translate(14 ${box.top + box.height / 2}) rotate(-90)` }, u.drawn.y.label ?? ""), ...legend);
};
