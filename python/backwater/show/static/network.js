// The network over time: nodes in layers, links by what they carried, paused or kept waiting, over a span that the reader picks.
// Axes of charts that share their time begin at one place.
const WIDE = 84;
// What the network does for flows.js: `follow` shows a flow's path.
const networkOfFlows = {};

const networkOverTime = () => {
  const recorded = bySeed(runs).filter((run) => run.network);
  if (recorded.length === 0) return null;
  const state = settings("network", { run: [recorded.map((run) => run.name), recorded[0].name], paint: [["use", "held", "queue"], "use"] });

  const unpackAs = async (text, kind) => new kind(await inflate(text));
  // Numbers in their units: share of the link, bytes, things held at a time.
  const unpack = async (net) => {
    const [use, queue, held] = await Promise.all([unpackAs(net.use, Uint8Array), unpackAs(net.queue, Uint16Array), unpackAs(net.held, Uint16Array)]);
    const scaled = (values, step) => Float32Array.from(values, (v) => v * step);
    return { use: scaled(use, 1 / 200), queue: scaled(queue, net.most.queue / 65535), held: scaled(held, net.most.held / 65535) };
  };

  const paints = {
    use: { name: "utilisation", format: percent, of: "mean utilisation of all links", colour: "--accent", gather: "mean" },
    held: { name: "pauses", format: (v) => brief(v, 2), of: "held by neighbours at a time, all links", colour: "--bad", gather: "mean" },
    queue: { name: "queues", format: bytes, of: "bytes queued, all ports", colour: "--c4", gather: "max" },
  };
  let run, net, values, spans, link = null, span = [0, 0], shown, playing = null;
  let followed = null, way = []; // A flow, its run and links of its way here.

  const canvas = el("canvas", { class: "network", role: "img", tabindex: "0", "aria-label": "Nodes in layers; links by what was picked above; the table below has the numbers" });
  const overview = el("div", { class: "chart short" });
  const detail = el("div", { class: "chart short" });
  const when = el("output", { class: "when" });
  const slider = el("input", { type: "range", min: 0, value: 0, step: 1, "aria-label": "Time" });
  const play = el("button", { type: "button" }, "Play");
  const rows = el("div", { id: "network-links" });
  const chooser = el("select", { onchange: (event) => { set("network", "run", event.target.value); open(); } },
    ...recorded.map((one) => el("option", { value: one.name, selected: one.name === state.run ? "" : undefined }, one.name)));
  const about = el("p", { class: "note", role: "status" });

  const name = (i) => net.nodes[net.links[i][0]].name + " to " + net.nodes[net.links[i][1]].name;
  const startOf = (s) => (s === 0 ? 0 : net.ends[s - 1]);
  // Of a link, over the span: the mean, or of queues the longest.
  const overOf = (what, i) => {
    const [from, to] = span, of = values[what];
    let sum = 0, max = 0;
    for (let s = i * spans + from; s <= i * spans + to; s++) { const v = of[s]; sum += v; if (v > max) max = v; }
    return paints[what].gather === "max" ? max : sum / (to - from + 1);
  };
  const over = (what) => Float32Array.from(net.links, (_, i) => overOf(what, i));
  const along = (what) => ((values.along ??= {})[what] ??= sumAlong(what));
  const sumAlong = (what) => {
    const total = new Float32Array(spans), of = values[what];
    for (let i = 0; i < net.links.length; i++) for (let s = 0; s < spans; s++) total[s] += of[i * spans + s];
    return Array.from(total, (v) => (what === "use" ? v / net.links.length : v));
  };

  // ---- the picture

  const layout = () => {
    const wide = canvas.clientWidth, layers = Math.max(...net.nodes.map((node) => node.layer));
    const tall = Math.max(150, Math.min(420, 120 * (layers + 1)));
    const ratio = devicePixelRatio;
    canvas.style.height = `${tall}px`;
    const size = [Math.round(wide * ratio), Math.round(tall * ratio)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    // Where switches hang on one another within a layer, every other one stands higher, so that their links are apart.
    const flat = net.links.some(([a, b]) => net.nodes[a].layer === net.nodes[b].layer);
    const rank = net.nodes.map(() => 0), seen = {};
    net.nodes.forEach((node, i) => { rank[i] = seen[node.layer] = (seen[node.layer] ?? -1) + 1; });
    const at = net.nodes.map((node, i) => [
      8 + node.x * (wide - 16),
      tall - 22 - (layers ? node.layer / layers : 0) * (tall - 60) + (flat && node.layer > 0 && rank[i] % 2 ? 26 : 0),
    ]);
    return { wide, tall, ratio, at };
  };
  const ends = (i) => {
    // The two directions of a link run beside each other.
    const [a, b] = net.links[i].map((node) => shown.at[node]);
    const length = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1, aside = shown.crowded ? 0.5 : 1.6;
    const [dx, dy] = [(-(b[1] - a[1]) / length) * aside, ((b[0] - a[0]) / length) * aside];
    return [a[0] + dx, a[1] + dy, b[0] + dx, b[1] + dy];
  };
  const paint = () => {
    shown = layout();
    shown.crowded = net.nodes.length > 200;
    const of = over(state.paint), most = state.paint === "use" ? 1 : Math.max(...of) || 1;
    const context = canvas.getContext("2d");
    context.setTransform(shown.ratio, 0, 0, shown.ratio, 0, 0);
    context.clearRect(0, 0, shown.wide, shown.tall);
    const order = Array.from(of.keys()).sort((i, j) => of[i] - of[j]);
    const lines = (some, colour, alpha, width) => {
      context.strokeStyle = colour; context.globalAlpha = alpha; context.lineWidth = width;
      context.beginPath();
      for (const i of some) { const [x0, y0, x1, y1] = ends(i); context.moveTo(x0, y0); context.lineTo(x1, y1); }
      context.stroke();
    };
    const line = (i, ...how) => lines([i], ...how);
    const rule = style("--rule"), strong = style(paints[state.paint].colour), hot = style("--bad");
    const thin = shown.crowded ? 0.6 : 1;
    const idle = order.findIndex((i) => of[i] / most >= 0.005), busy = idle < 0 ? order.length : idle;
    lines(order.slice(0, busy), rule, shown.crowded ? 0.5 : 1, thin);
    for (const i of order.slice(busy)) {
      const share = of[i] / most;
      line(i, state.paint === "use" && share > 0.95 ? hot : strong, 0.2 + 0.8 * share, thin + share * (shown.crowded ? 1.4 : 2.6));
    }
    for (const i of way) {
      line(i, style("--ink"), 1, 6);
      line(i, of[i] / most < 0.005 ? style("--paper") : strong, 1, 3);
    }
    context.globalAlpha = 1;
    if (link !== null) line(link, style("--ink"), 1, 4);
    const size = shown.crowded ? 2 : 4, ink = style("--ink"), soft = style("--soft");
    const layers = Math.max(...net.nodes.map((node) => node.layer));
    net.nodes.forEach((node, i) => {
      const [x, y] = shown.at[i];
      context.fillStyle = node.layer === 0 ? soft : ink;
      if (node.layer === 0) context.fillRect(x - size / 2, y - size / 2, size, size);
      else { context.beginPath(); context.arc(x, y, size + 1, 0, 7); context.fill(); }
    });
    // Names where they have room: of switches above them, of few hosts below.
    context.font = "11px system-ui"; context.textAlign = "center"; context.fillStyle = soft;
    context.strokeStyle = style("--paper"); context.lineWidth = 3; context.lineJoin = "round";
    for (let layer = 0; layer <= layers; layer++) {
      const members = net.nodes.map((node, i) => [node, i]).filter(([node]) => node.layer === layer);
      const room = shown.wide / Math.max(members.length, 1);
      if (room < 16 || Math.max(...members.map(([node]) => context.measureText(node.name).width), 0) + 4 > room) continue;
      for (const [node, i] of members) for (const draw of ["strokeText", "fillText"]) context[draw](node.name, shown.at[i][0], shown.at[i][1] + (layer === 0 ? 15 : -9));
    }
    for (const i of new Set(way.flatMap((one) => net.links[one]))) {
      const [x, y] = shown.at[i], { name: text, layer } = net.nodes[i], half = context.measureText(text).width / 2 + 2;
      const place = [Math.max(half, Math.min(shown.wide - half, x)), y + (layer === 0 ? 15 : -9)];
      context.fillStyle = ink;
      for (const draw of ["strokeText", "fillText"]) context[draw](text, ...place);
    }
    const told = `${span[0] === 0 ? "0" : seconds(startOf(span[0]))} to ${seconds(net.ends[span[1]])}`;
    when.textContent = told;
    numbers(of, told);
  };

  const numbers = (of, told) => {
    const busiest = Array.from(of.keys()).filter((i) => of[i] > 0).sort((i, j) => of[j] - of[i]).slice(0, 8)
      .filter((i) => !way.includes(i));
    busiest.unshift(...way);
    if (link !== null && !busiest.includes(link)) busiest.push(link);
    const lasts = net.ends[span[1]] - startOf(span[0]);
    rows.replaceChildren(busiest.length === 0 ? el("p", { class: "note" }, `No link has any of it from ${told}.`) : table(
      [{ name: "link", text: true }, { name: "rate" }, { name: "utilisation" }, { name: "longest queue" }, { name: "held at a time" }, { name: "held, in all" }],
      busiest.map((i) => [i, ...["use", "held", "queue"].map((what) => overOf(what, i))]).map(([i, use, held, queue]) => [
        { class: "whole", show: el("button", { type: "button", class: "link", "aria-pressed": String(i === link), onclick: () => pick(i) }, name(i) + (way.includes(i) ? ` (${followed.name})` : "")) },
        bits(net.rates[i]), percent(use), bytes(queue), brief(held, 2), held > 0 ? seconds(held * lasts) : "–"]), "Links of this span"));
  };

  // ---- over time

  const range = (u, low, high) => (way.length ? followed.range : low < high ? [low, high] : uPlot.rangeNum(low, high, 0.1, true));
  const chart = (id, holder, lines, label, format) => lineChart(id, holder, lines, { label: "time", format: seconds, range },
    { label, format, range: (u, low, high) => [0, (high || 1) * 1.05] }, { height: 190, wide: WIDE, onspan: (from, to) => setSpan(at(from), at(to)), band: () => [startOf(span[0]), net.ends[span[1]]] });
  const at = (time) => { const i = net.ends.findIndex((end) => time <= end); return i < 0 ? spans - 1 : i; };
  const times = () => net.ends.map((end, s) => (end + startOf(s)) / 2);
  let drawn = null; // The network that the chart is of.
  const drawOverview = () => {
    drawn = net;
    chart("network", overview, [{ name: paints[state.paint].of, index: 0, x: times(), y: along(state.paint) }],
      paints[state.paint].name, paints[state.paint].format);
  };
  const drawDetail = () => {
    detail.hidden = link === null;
    if (link === null) return;
    const [a, b] = net.links[link], back = net.links.findIndex(([c, d]) => c === b && d === a);
    const line = (i, index) => ({ name: name(i), index, x: times(), y: Array.from(values[state.paint].subarray(i * spans, (i + 1) * spans)) });
    chart("network-link", detail, [line(link, 0), ...(back >= 0 ? [line(back, 1)] : [])], paints[state.paint].name, paints[state.paint].format);
  };
  const marks = () => { charts.network?.redraw(false); charts["network-link"]?.redraw(false); };

  const setSpan = (from, to) => {
    span = [Math.min(from, to), Math.max(from, to)];
    slider.value = span[0];
    paint(); marks();
  };
  const pick = (i) => { link = i === link ? null : i; paint(); drawDetail(); };
  const stop = () => { clearInterval(playing); playing = null; play.textContent = "Play"; };
  slider.addEventListener("input", () => { stop(); const width = Math.min(span[1] - span[0], spans - 1 - Number(slider.value)); setSpan(Number(slider.value), Number(slider.value) + width); });
  play.addEventListener("click", () => {
    if (playing) return stop();
    play.textContent = "Stop";
    const width = span[1] - span[0] === spans - 1 ? 0 : span[1] - span[0];
    if (span[1] >= spans - 1) setSpan(0, width);
    playing = setInterval(() => { if (span[1] >= spans - 1 || !canvas.isConnected) stop(); else setSpan(span[0] + 1, span[1] + 1); }, 100);
  });
  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    let best = null, nearest = 9;
    net.links.forEach((_, i) => {
      const [x0, y0, x1, y1] = ends(i), [dx, dy] = [x1 - x0, y1 - y0];
      const t = Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1)));
      const distance = Math.hypot(x - x0 - t * dx, y - y0 - t * dy);
      if (distance < nearest) [best, nearest] = [i, distance];
    });
    if (best !== null) pick(best);
  });

  const open = async () => {
    stop();
    run = recorded.find((one) => one.name === state.run);
    const mine = (net = run.network);
    link = null; spans = net.ends.length; slider.max = spans - 1;
    about.textContent = "Unpacking …";
    net.values ??= await unpack(net);
    if (net !== mine || !canvas.isConnected) return;
    values = net.values;
    follow();
  };
  // Shows where a flow of this run went, and the span of time in which it did; all of the run again when there is none.
  const follow = () => {
    const mine = followed?.run === run.name ? followed : null;
    const number = (net.number ??= new Map(net.links.map((_, i) => [name(i), i])));
    way = (mine?.way ?? []).filter((one) => number.has(one)).map((one) => number.get(one));
    link = null;
    span = way.length ? [at(mine.from), at(mine.to)] : [0, spans - 1];
    const end = net.ends.at(-1);
    about.textContent = !mine || mine.to <= end ? "" : `Recorded until ${seconds(end)}: what ${mine.name} met later is not here.`;
    slider.value = span[0];
    if (drawn !== net || !charts.network) return draw();
    charts.network.setScale("x", { min: times()[0], max: times().at(-1) }); // Which `range` then says.
    paint();
    drawDetail();
  };
  networkOfFlows.follow = (flow) => {
    const before = followed;
    followed = flow;
    stop();
    if (!run || (!flow && !before)) return undefined;
    if (flow && flow.run !== run.name && recorded.some((one) => one.name === flow.run)) {
      state.run = chooser.value = flow.run;
      return open();
    }
    return net.values && values === net.values ? follow() : undefined;
  };
  const draw = () => { if (values && net?.values) { drawOverview(); paint(); drawDetail(); } };
  window.backwater.network = () => ({ span, way: way.map(name), link: link === null ? null : name(link), spans, run: run?.name, over: (what) => Object.fromEntries(net.links.map((_, i) => [name(i), over(what)[i]])) });

  redraws.push(() => (values ? draw() : open()));
  return section("network", "The network over time",
    { note: "What every link carried, how much of it its neighbour paused, and what waited for it. Drag over the upper chart to pick a span of time, or move the slider. Pick a link in the picture or the table to see it alone." },
    el("div", { class: "controls", id: "network-controls" },
      recorded.length > 1 ? el("label", { class: "select" }, "Run ", chooser) : null,
      choice("Show", Object.entries(paints).map(([id, { name }]) => [id, name]), state.paint, (v) => { set("network", "paint", v); draw(); })),
    about, overview, el("div", { class: "player" }, play, slider, when), canvas, rows, detail);
};
