"use strict";
// The network over time: nodes in layers, links by what they carried, held or kept waiting, over a span that the reader picks.
// `kit` is what report.js draws everything with.
window.networkOverTime = (kit) => {
  const { el, choice, section, style, lineChart, charts, table, swatch, brief, bytes, seconds, bits, percent, state } = kit;
  const runs = kit.runs.filter((run) => run.network);
  if (runs.length === 0) return null;

  const inflate = async (text, kind) => {
    const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new kind(await new Response(stream).arrayBuffer());
  };
  // Numbers in their units: share of the link, bytes, things held at a time.
  const unpack = async (net) => {
    const [use, queue, held] = await Promise.all([inflate(net.use, Uint8Array), inflate(net.queue, Uint16Array), inflate(net.held, Uint16Array)]);
    const scaled = (values, step) => Float32Array.from(values, (v) => v * step);
    return { use: scaled(use, 1 / 200), queue: scaled(queue, net.most.queue / 65535), held: scaled(held, net.most.held / 65535) };
  };

  const paints = {
    use: { name: "utilisation", format: percent, of: "mean utilisation of all links", colour: "--accent", gather: "mean" },
    held: { name: "pauses", format: (v) => brief(v, 2), of: "held by neighbours at a time, all links", colour: "--bad", gather: "mean" },
    queue: { name: "queues", format: bytes, of: "bytes queued, all ports", colour: "--c4", gather: "max" },
  };
  state.run = runs.some((run) => run.name === state.run) ? state.run : runs[0].name;
  state.paint ??= "use";
  let run, net, values, spans, link = null, span = [0, 0], shown, playing = null;

  const canvas = el("canvas", { class: "network", role: "img", tabindex: "0", "aria-label": "Nodes in layers; links by what was picked above; the table below has the numbers" });
  const overview = el("div", { class: "chart short" });
  const detail = el("div", { class: "chart short" });
  const when = el("output", { class: "when" });
  const slider = el("input", { type: "range", min: 0, value: 0, step: 1, "aria-label": "Time" });
  const play = el("button", { type: "button" }, "Play");
  const rows = el("div", { id: "network-links" });
  const about = el("p", { class: "note", role: "status" });

  const name = (i) => net.nodes[net.links[i][0]].name + " to " + net.nodes[net.links[i][1]].name;
  const startOf = (s) => (s === 0 ? 0 : net.ends[s - 1]);
  // Of each link, over the span: the mean, or of queues the longest.
  const over = (what) => {
    const [from, to] = span, of = values[what], most = paints[what].gather === "max";
    const out = new Float32Array(net.links.length);
    for (let i = 0; i < out.length; i++) {
      let sum = 0, max = 0;
      for (let s = from; s <= to; s++) { const v = of[i * spans + s]; sum += v; if (v > max) max = v; }
      out[i] = most ? max : sum / (to - from + 1);
    }
    return out;
  };
  const along = (what) => {
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
    [canvas.width, canvas.height] = [Math.round(wide * ratio), Math.round(tall * ratio)];
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
    const line = (i, colour, alpha, width) => {
      const [x0, y0, x1, y1] = ends(i);
      context.strokeStyle = colour; context.globalAlpha = alpha; context.lineWidth = width;
      context.beginPath(); context.moveTo(x0, y0); context.lineTo(x1, y1); context.stroke();
    };
    const rule = style("--rule"), strong = style(paints[state.paint].colour), hot = style("--bad");
    const thin = shown.crowded ? 0.6 : 1;
    for (const i of order) {
      const share = of[i] / most;
      if (share < 0.005) line(i, rule, shown.crowded ? 0.5 : 1, thin);
      else line(i, state.paint === "use" && share > 0.95 ? hot : strong, 0.2 + 0.8 * share, thin + share * (shown.crowded ? 1.4 : 2.6));
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
      if (Math.max(...members.map(([node]) => context.measureText(node.name).width), 0) + 4 > room) continue;
      for (const [node, i] of members) for (const draw of ["strokeText", "fillText"]) context[draw](node.name, shown.at[i][0], shown.at[i][1] + (layer === 0 ? 15 : -9));
    }
    const told = `${span[0] === 0 ? "0" : seconds(startOf(span[0]))} to ${seconds(net.ends[span[1]])}`;
    when.textContent = told;
    numbers(of, told);
  };

  const numbers = (of, told) => {
    const [use, held, queue] = ["use", "held", "queue"].map((what) => (what === state.paint ? of : over(what)));
    const busiest = Array.from(of.keys()).filter((i) => of[i] > 0).sort((i, j) => of[j] - of[i]).slice(0, 8);
    if (link !== null && !busiest.includes(link)) busiest.push(link);
    const lasts = net.ends[span[1]] - startOf(span[0]);
    rows.replaceChildren(busiest.length === 0 ? el("p", { class: "note" }, `No link has any of it from ${told}.`) : table(
      [{ name: "link", text: true }, { name: "rate" }, { name: "utilisation" }, { name: "longest queue" }, { name: "held at a time" }, { name: "held, in all" }],
      busiest.map((i) => [
        { class: "whole", show: el("button", { type: "button", class: "link", "aria-pressed": String(i === link), onclick: () => pick(i) }, name(i)) },
        bits(net.rates[i]), percent(use[i]), bytes(queue[i]), brief(held[i], 2), held[i] > 0 ? seconds(held[i] * lasts) : "–"]), "Links of this span"));
  };

  // ---- over time

  const chart = (id, holder, lines, label, format) => lineChart(id, holder, lines, { label: "time", format: seconds },
    { label, format, range: (u, low, high) => [0, (high || 1) * 1.05] }, { height: 190, onspan: (from, to) => setSpan(at(from), at(to)), band: () => [startOf(span[0]), net.ends[span[1]]] });
  const at = (time) => { const i = net.ends.findIndex((end) => time <= end); return i < 0 ? spans - 1 : i; };
  const times = () => net.ends.map((end, s) => (end + startOf(s)) / 2);
  const drawOverview = () => chart("network", overview, [{ name: paints[state.paint].of, index: 0, x: times(), y: along(state.paint) }],
    paints[state.paint].name, paints[state.paint].format);
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
    run = runs.find((one) => one.name === state.run);
    const mine = (net = run.network);
    link = null; spans = net.ends.length; slider.max = spans - 1;
    about.textContent = "Unpacking …";
    net.values ??= await unpack(net);
    if (net !== mine || !canvas.isConnected) return;
    values = net.values;
    about.textContent = "";
    draw();
    setSpan(0, spans - 1);
  };
  const draw = () => { if (values && net?.values) { drawOverview(); paint(); drawDetail(); } };
  window.backwater.network = () => ({ span, link: link === null ? null : name(link), spans, run: run?.name, over: (what) => Object.fromEntries(net.links.map((_, i) => [name(i), over(what)[i]])) });

  kit.redraw(() => (values ? draw() : open()));
  return section("The network over time",
    "What every link carried, what its neighbour held of it, and what waited for it. Drag over the upper chart to pick a span of time, or move the slider; pick a link in the picture or the table to see it alone.",
    el("div", { class: "controls", id: "network-controls" },
      runs.length > 1 ? el("label", { class: "select" }, "Run ", el("select", { onchange: (event) => { state.run = event.target.value; open(); } },
        ...runs.map((one) => el("option", { value: one.name, selected: one.name === state.run ? "" : undefined }, one.name)))) : null,
      choice("Show", Object.entries(paints).map(([id, { name }]) => [id, name]), state.paint, (v) => { state.paint = v; draw(); })),
    about, overview, el("div", { class: "player" }, play, slider, when), canvas, rows, detail);
};
