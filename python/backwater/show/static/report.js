"use strict";
// Draws the page from the data inside it. `window.backwater` holds data and charts, for tests and for the curious.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const page = document.getElementById("page");
  const charts = {};
  const chosen = {}; // What the reader picked, by section: kept when the page is drawn again.
  let redraws = [];
  window.backwater = { data, charts };

  // ---- elements and numbers

  const el = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
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

  const whole = (n) => (n === null || n === undefined ? "–" : Math.round(n).toLocaleString("en-US"));
  const brief = (n, digits = 3) => {
    if (n === null || n === undefined || Number.isNaN(n)) return "–";
    if (n === 0) return "0";
    return Math.abs(n) >= 1000 ? Math.round(n).toLocaleString("en-US") : String(Number(n.toPrecision(digits)));
  };
  const fixed = (n) => (n === null || n === undefined ? "–" : n.toFixed(2));
  const scaled = (units) => (n, digits = 3) => {
    if (n === null || n === undefined) return "–";
    const [scale, unit] = units.find(([at]) => Math.abs(n) >= at) ?? units.at(-1);
    return `${brief(n / scale, digits)} ${unit}`.trim();
  };
  const bytes = scaled([[1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]]);
  const seconds = (s) => (s >= 120 ? `${brief(s / 60)} min` : scaled([[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]])(s));
  const many = scaled([[1e9, "G"], [1e6, "M"], [1, ""]]);
  const bits = scaled([[1e12, "Tb/s"], [1e9, "Gb/s"], [1e6, "Mb/s"], [1, "b/s"]]);
  const percent = (share) => {
    if (share === null || share === undefined) return "–";
    if (share === 0 || share === 1) return `${share * 100} %`;
    // 99.99 % must not read as 100 %.
    const shown = share > 0.99 ? Math.floor(share * 1e6) / 1e4 : Number((share * 100).toPrecision(3));
    return shown === 0 ? "< 0.01 %" : `${shown} %`;
  };
  const binName = (row) =>
    row.size_high_bytes === null ? `> ${bytes(row.size_low_bytes)}` :
    row.size_low_bytes === 0 ? `≤ ${bytes(row.size_high_bytes)}` : `${bytes(row.size_low_bytes)} – ${bytes(row.size_high_bytes)}`;
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const unique = (values) => [...new Set(values)];

  // ---- pieces

  const swatch = (i) => el("span", { class: "swatch", style: `color: var(--c${i % 8})`, "aria-hidden": "true" });

  const table = (headings, rows, caption) =>
    el("div", { class: "scroll" },
      el("table", { class: "data", "aria-label": caption },
        el("thead", {}, el("tr", {}, ...headings.map((h) => el("th", { scope: "col", class: h.text ? "text" : undefined }, h.name)))),
        el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell, j) => {
          const attributes = { title: cell?.title, class: [headings[j].text ? "text" : "", cell?.class ?? ""].join(" ").trim() || undefined, "data-name": headings[j].name };
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

  const section = (title, note, ...children) =>
    el("section", {}, el("h2", {}, title), note ? el("p", { class: "note" }, note) : null, ...children);

  // What Python packed.
  const inflate = async (text) => {
    const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new Response(new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
  };

  // ---- line charts

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

  // Of bounds that are known, and say more than the value.
  const interval = (bounds) => (bounds && bounds[0] !== null && bounds[1] !== null && bounds[0] < bounds[1] ? bounds : null);

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
    holder.querySelector("canvas").setAttribute("aria-hidden", "true");
  };

  const plot = (id, label, draw) => {
    const holder = el("div", { class: "chart", role: "img", "aria-label": label });
    redraws.push(() => draw(holder));
    return holder;
  };

  // A variant keeps its colour at every point of a sweep, and has that of its scheme.
  const slots = new Map(data.runs.map((run) => [run.variant, run.slot]));
  const lineOf = (run) => slots.get(run.variant);
  // Of lines along a swept key: each has its variant's, unless a variant has several.
  const slotsOf = (runs, lineName) => {
    const names = new Map(runs.map((run) => [lineName(run), run.slot]));
    const alone = names.size === unique(runs.map((run) => run.variant)).length;
    return alone ? names : new Map([...names.keys()].map((name, i) => [name, i]));
  };
  // The seed comes last: what is drawn along a swept key is drawn along another where there is one.
  const swept = unique(data.runs.flatMap((run) => Object.keys(run.point))).sort((a, b) => (a === "seed") - (b === "seed"));
  const pointName = (point) => swept.map((key) => `${shortKey(key)} ${point[key]}`).join(", ");
  const shortKey = (key) => key.split(".").slice(-1)[0];
  const points = unique(data.runs.map((run) => pointName(run.point)));
  const inSweep = swept.length > 0 && points.length > 1;
  const nameOf = (run) => (inSweep ? run.variant : run.name) + run.mark;
  const classes = unique(data.runs.flatMap((run) => Object.keys(run.slowdown)));

  // The axis of a swept key whose values are numbers, or quantities of one unit; null where there is none.
  const axisAlong = (key) => {
    const parse = (v) => (typeof v === "number" ? [v, ""] : (/^([\d.]+)\s*([A-Za-z]+)$/.exec(v) ?? []).slice(1));
    const parsed = new Map(data.runs.map((run) => [run.point[key], parse(run.point[key])]));
    const units = unique([...parsed.values()].map(([, unit]) => unit));
    if (units.length !== 1 || units[0] === undefined) return null;
    const values = [...parsed.values()].map(([value]) => Number(value));
    return {
      at: (run) => Number(parsed.get(run.point[key])[0]),
      // A value written as those of the runs are.
      place: (v) => { const [value, unit] = parse(v); return unit === units[0] ? Number(value) : null; },
      label: units[0] ? `${key} (${units[0]})` : key,
      wide: Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) >= 16,
    };
  };

  // What the sections below show: all runs, or those at the chosen point of a sweep.
  let runs = inSweep ? data.runs.filter((run) => pointName(run.point) === points[0]) : data.runs;

  // Variants that only show what claims come to without what they credit would take the scale of a chart.
  const drawn = (some) => some.filter((run) => !run.left_out);
  // Packets that were lost: surplus credits are dropped by design.
  const lost = (run) => sum(Object.entries(run.summary.drops).map(([reason, packets]) => (reason === "credit" ? 0 : packets)));
  // Each seed by itself, with the flows that were explained of it and its network.
  const bySeed = (some) => some.flatMap((run) => run.members?.map((one) => ({ ...run, ...one, summary: { ...run.summary, ...one.summary } })) ?? [run]);

  // ---- sections

  const header = () => el("header", {},
    el("h1", {}, data.name),
    data.description ? el("p", { class: "lead" }, data.description) : null,
    data.answer.length ? el("p", { class: "answer", id: "answer" }, data.answer.join(" ")) : null,
    data.runs.some((run) => run.seeds) ? el("p", { class: "note" },
      `Runs that differ only in their seed are one: numbers are means over the seeds, slowdowns with 95 % intervals; flows, drops and packet-hops are added up; distributions, curves over time and the network are those of seed ${data.runs.find((run) => run.seeds).seeds[0]}.`) : null,
    data.undrawn.length ? el("p", { class: "note" },
      `No chart draws ${data.undrawn.join(", ")}: it only shows what the claims come to without what they credit. The tables have it.`) : null,
    ...data.left.map((line) => el("p", { class: "banner", role: "status" }, line)));

  // Runs that were computed in place of simulated have results, and nothing of a network.
  const computed = data.runs.some((run) => run.summary.results);

  const strip = () => {
    const runs = drawn(data.runs), { packets, credits } = data.dropped;
    const seeds = Math.max(...runs.map((run) => run.seeds?.length ?? 1));
    const made = sum(runs.map((run) => run.seeds?.length ?? 1));
    const flows = (key) => sum(runs.map((run) => run.summary.flows[key]));
    const [finished, counted] = computed ? [0, 0] : [flows("finished"), flows("counted")];
    const experiments = data.experiments;
    const each = (key, show = String) => unique(experiments.map((e) => show(e[key]))).join(", ");
    const verdicts = (verdict) => data.claims.filter((row) => row.verdict === verdict).length;
    const tile = (name, value, under, kind) =>
      el("div", { class: "tile" }, el("dt", {}, name), el("dd", { class: kind }, value, under ? el("small", {}, under) : null));
    const hops = sum(experiments.map((e) => e.packet_hops ?? 0));
    const wall = sum(experiments.map((e) => e.wall_s ?? 0));
    return el("dl", { class: "strip", id: "verdict" },
      ...(computed ? [tile("Computed", whole(runs.length), unique(runs.map((run) => run.scheme)).join(", "))] : [
        tile("Finished", percent(counted ? finished / counted : 1), `${whole(finished)} of ${whole(counted)} counted flows`,
          finished === counted ? "good" : "warn"),
        tile("Dropped", whole(packets), `packets, ${made} ${made === 1 ? "run" : "runs"}${credits ? `; ${whole(credits)} credits by design` : ""}`,
          packets === 0 ? "good" : "warn")]),
      data.claims.length
        ? tile("Claims", verdicts("fail") ? `${verdicts("fail")} failed` : verdicts("pass") ? `${verdicts("pass")} hold` : "–",
            ["pass", "part", "direction", "fail", "undecided", "vacuous", "fact", "refers", "not-run"].filter(verdicts).map((v) => `${verdicts(v)} ${v}`).join(", "),
            verdicts("fail") ? "bad" : verdicts("pass") ? "good" : undefined)
        : null,
      tile("Digest", el("span", { class: "mono digest" }, each("digest", (d) => d.slice(0, 12))), "of all tables"),
      tile(seeds > 1 ? "Seeds" : "Seed", seeds > 1 ? whole(seeds) : each("seed"), each("scale") && `scale ${each("scale")}`),
      tile("Version", each("version"), "Backwater"),
      computed ? tile("Time", seconds(wall)) : tile("Packet-hops/s", wall ? many(hops / wall) : "–", `${many(hops)} in ${seconds(wall)}`));
  };

  const overview = () => section("Runs", "",
    table(
      [{ name: "run", text: true }, { name: "scheme", text: true }, { name: "finished" }, { name: "unfinished" }, { name: "dropped" },
        { name: "retransmitted" }, { name: "packet-hops" }, { name: "packet-hops/s" }, { name: "digest" }],
      runs.flatMap((run) => (run.members ?? [run]).map((member) => ({ ...run, ...member, name: run.members ? member.name + member.mark : nameOf(run) }))).map((run) => [
        { show: [swatch(lineOf(run)), run.name] }, run.scheme,
        whole(run.summary.flows.finished), whole(run.summary.flows.unfinished), whole(lost(run)),
        whole(run.summary.flows.retransmitted_packets), many(run.summary.packet_hops), many(run.packet_hops_per_s),
        { show: run.digest.slice(0, 12), class: "mono" },
      ]), "Runs"));

  const results = () => {
    const names = unique(data.runs.flatMap((run) => Object.keys(run.summary.results ?? {})));
    return section("Results", "What each run came to.",
      el("div", { id: "results" }, table([{ name: "run", text: true }, ...names.map((name) => ({ name }))],
        data.runs.map((run) => [{ show: [swatch(lineOf(run)), run.name + run.mark] }, ...names.map((name) => brief(run.summary.results?.[name], 4))]), "Results")));
  };

  const claims = () => {
    if (data.claims.length === 0) return null;
    const judged = (row) => !["fact", "refers", "not-run"].includes(row.verdict);
    const kinds = { pass: "good", fail: "bad", direction: "warn", part: "warn", undecided: "warn", vacuous: "warn" };
    const more = (text) => (text ? el("small", { class: "more" }, text) : null);
    const list = (rows) => table(
      [{ name: "claim", text: true }, { name: "what", text: true }, { name: "expected", text: true }, { name: "measured", text: true }, { name: "verdict", text: true }],
      rows.map((row) => [{ show: row.claim, class: "whole" }, { show: [row.metric, more(row.says)] },
        { show: [row.expected, ...(row.amended ?? []).map((why) => more(`amended: ${why}`))] }, { show: [row.measured, more(row.without), more(row.note)] },
        { show: [row.verdict + (row.amended?.length ? "*" : ""), more(row.coverage)], class: `whole verdict ${kinds[row.verdict] ?? ""}` }]), "Claims");
    const rest = data.claims.filter((row) => !judged(row));
    return section("Claims",
      "What the publication says beside what was measured here, with 95 % intervals over the seeds. part: what could be judged holds, and not all could. direction: at least half of the effect is there. undecided: the interval allows it, and allows it not. vacuous: it holds without what it credits, too. fact: follows from the set-up, so no measurement could contradict it. *: the expectation was changed after a result was seen.",
      el("div", { id: "claims" },
        data.claims.some(judged) ? list(data.claims.filter(judged)) : el("p", { class: "note" }, "None could be judged."),
        rest.length ? el("details", {}, el("summary", {}, `Facts, claims of other figures, and those that were not run (${rest.length})`), list(rest)) : null));
  };

  const names = { mean: "average", p50: "median", p95: "p95", p99: "p99" };

  const sweep = () => {
    if (!inSweep || computed) return null;
    const key = swept.find((k) => unique(data.runs.map((run) => run.point[k])).length > 1);
    const others = swept.filter((k) => k !== key);
    const along = unique(data.runs.map((run) => run.point[key]));
    const axis = axisAlong(key);
    const at = (run) => (axis ? axis.at(run) : along.indexOf(run.point[key]));
    const bins = new Map([["all", "all sizes"]]);
    for (const run of data.runs) for (const rows of Object.values(run.slowdown)) for (const row of rows) bins.set(String(row.size_low_bytes), binName(row));
    const state = (chosen.sweep ??= { metric: "slowdown", statistic: "p50", flows: classes[0], size: "all", scale: "linear" });
    const rowOf = (run) => (state.size === "all" ? run.slowdown_all[state.flows]
      : (run.slowdown[state.flows] ?? []).find((row) => String(row.size_low_bytes) === state.size));
    const slowdownOf = (run) => rowOf(run)?.[state.statistic];
    const metrics = {
      slowdown: ["FCT slowdown", slowdownOf, brief],
      buffer: ["buffer of a switch, p99", (run) => run.summary.buffer?.p99_bytes, bytes],
      ...(data.runs.some((run) => run.summary.active_flows) ? { active: ["active flows at a port, p99", (run) => run.summary.active_flows?.p99, brief] } : {}),
      ...(data.runs.some((run) => run.summary.core_utilisation !== null) ? { use: ["core utilisation", (run) => run.summary.core_utilisation, percent] } : {}),
      pfc: ["time paused by PFC", (run) => run.summary.pause.pfc_paused_fraction, percent],
      drops: ["packets dropped", lost, whole],
      ...(data.runs.some((run) => run.summary.loss) ? { loss: ["share of data packets lost", (run) => run.summary.loss?.share, percent] } : {}),
      ...(data.runs.some((run) => run.summary.timeouts) ? { timeouts: ["timeouts", (run) => run.summary.timeouts?.total, whole] } : {}),
    };
    const lineName = (run) => [run.variant, ...others.map((k) => `${shortKey(k)} ${run.point[k]}`)].join(", ");
    const lineSlots = slotsOf(drawn(data.runs), lineName);
    const draw = (holder) => {
      const [label, read, format] = metrics[state.metric];
      const lines = [...lineSlots].map(([name, index]) => {
        const boundsAt = (run) => (state.metric === "slowdown" ? interval(rowOf(run)?.[`${state.statistic}_bounds`]) : null);
        const known = data.runs.filter((run) => lineName(run) === name).map((run) => [at(run), read(run), boundsAt(run)])
          .filter(([, value]) => value !== null && value !== undefined && (state.scale === "linear" || value > 0)).sort((a, b) => a[0] - b[0]);
        return { name, index, x: known.map(([v]) => v), y: known.map(([, v]) => v), bounds: known.map(([, , bounds]) => bounds) };
      });
      lineChart("sweep", holder, lines,
        { label: axis?.label ?? key, format: (v) => (axis ? brief(v) : along[v] ?? ""), log: axis?.wide ?? false },
        { label: state.metric === "slowdown" ? `${label}, ${names[state.statistic]}` : label, format, log: state.scale === "log",
          range: state.scale === "log" ? undefined : (u, low, high) => [0, (high || 1) * 1.05] },
        { points: true, height: 380 });
    };
    const holder = plot("sweep", "One number a run along the sweep, a line per variant", draw);
    const choose = (what) => (value) => { state[what] = value; draw(holder); };
    const select = (name, options, what) => el("label", { class: "select" }, name + " ",
      el("select", { onchange: (event) => choose(what)(event.target.value) },
        ...options.map(([value, text]) => el("option", { value, selected: state[what] === value ? "" : undefined }, text))));
    return section(`Along ${key}`, "One number a run; every point is a run.",
      el("div", { class: "controls", id: "sweep-controls" },
        select("Show", Object.entries(metrics).map(([id, [text]]) => [id, text]), "metric"),
        choice("Statistic", Object.entries(names), state.statistic, choose("statistic")),
        classes.length > 1 ? choice("Flows", classes.map((c) => [c, c]), state.flows, choose("flows")) : null,
        select("Size", [...bins], "size"),
        choice("Scale", [["linear", "linear"], ["log", "log"]], state.scale, choose("scale"))),
      holder);
  };

  const pointChoice = () => inSweep ? section("At one point", "Everything below is about the runs at this point of the sweep.",
    el("label", { class: "select" }, "Point ", el("select", { id: "point", onchange: (event) => {
      runs = data.runs.filter((run) => pointName(run.point) === event.target.value);
      showPoint();
    } }, ...points.map((name) => el("option", { value: name, selected: pointName(runs[0].point) === name ? "" : undefined }, name))))) : null;

  const slowdown = (explained) => {
    if (classes.length === 0) return null;
    const state = (chosen.slowdown ??= { statistic: "p99", scale: "log", flows: classes[0] });
    const numbers = el("div");
    const bins = () => {
      const all = new Map();
      for (const run of runs) for (const row of run.slowdown[state.flows] ?? []) all.set(row.size_low_bytes, row);
      return [...all.values()].sort((a, b) => a.size_low_bytes - b.size_low_bytes);
    };
    const draw = (holder) => {
      const lines = drawn(runs).map((run) => {
        const index = lineOf(run);
        const rows = (run.slowdown[state.flows] ?? []).filter((row) => row[state.statistic] !== null);
        return { name: nameOf(run), index, x: rows.map((row) => row.at), y: rows.map((row) => row[state.statistic]), bounds: rows.map((row) => interval(row[`${state.statistic}_bounds`])) };
      });
      const named = new Map(bins().map((row) => [row.at, binName(row)]));
      lineChart("slowdown", holder, lines,
        { label: "flow size", format: bytes, name: (v) => named.get(v) ?? bytes(v), log: true },
        { label: `FCT slowdown, ${names[state.statistic]}`, format: (v) => brief(v), log: state.scale === "log",
          range: state.scale === "log" ? undefined : (u, low, high) => [0, high * 1.05] },
        { points: true, height: 380, ...(explained ? { dots: explained.dots(state.flows), ondot: explained.pick, isPicked: explained.isPicked } : {}) });
      const cell = (run, row) => (run.slowdown[state.flows] ?? []).find((r) => r.size_low_bytes === row.size_low_bytes);
      const overall = (run) => run.slowdown_all[state.flows]?.[state.statistic];
      const marked = (values) => {
        const known = values.filter((v) => v !== null && v !== undefined);
        const least = known.length > 1 ? Math.min(...known) : null;
        return values.map((v) => ({ show: fixed(v), class: v === least ? "best" : "" }));
      };
      numbers.replaceChildren(table(
        [{ name: "size", text: true }, { name: "flows" }, ...runs.map((run) => ({ name: nameOf(run) }))],
        [...bins().map((row) => [binName(row), whole(Math.max(...runs.map((run) => cell(run, row)?.flows ?? 0))),
            ...marked(runs.map((run) => cell(run, row)?.[state.statistic]))]),
          ["all", "", ...marked(runs.map(overall))]],
        `Slowdown, ${names[state.statistic]}`));
    };
    const holder = plot("slowdown", "FCT slowdown against flow size, a line per run; the numbers are in the table below", draw);
    const choose = (key) => (value) => { state[key] = value; draw(holder); };
    return section("Slowdown against flow size",
      "Flow completion time over that of the same flow in an idle network: 1 is as fast as possible. A point stands in the middle of its size bin.",
      el("div", { class: "controls", id: "slowdown-controls" },
        choice("Statistic", Object.entries(names), state.statistic, choose("statistic")),
        choice("Scale", [["log", "log"], ["linear", "linear"]], state.scale, choose("scale")),
        classes.length > 1 ? choice("Flows", classes.map((c) => [c, c]), state.flows, choose("flows")) : null),
      holder, el("details", { open: runs.length <= 8 && !explained ? "" : undefined }, el("summary", {}, "Numbers"), numbers));
  };

  // One line a run: its distribution under `key`; or as many as `linesOf` finds in a run.
  const cdf = (id, key, title, note, x, { marks = [], scale = "linear", linesOf } = {}) => {
    const found = linesOf ? drawn(runs).flatMap(linesOf).map((line, index) => ({ ...line, index }))
      : drawn(runs).map((run) => ({ name: nameOf(run), index: lineOf(run), value: run[key]?.value ?? [], share: run[key]?.share ?? [] }));
    if (!found.some((line) => line.value.length)) return null;
    const state = (chosen[id] ??= { scale, part: "all" });
    const draw = (holder) => {
      const log = state.scale === "log";
      const lines = found.map(({ name, index, value, share }) => {
        const keep = value.map((v, i) => [v, share[i]]).filter(([v]) => !log || v > 0);
        return { name, index, x: keep.map(([v]) => v), y: keep.map(([, s]) => s) };
      });
      const low = state.part === "tail" ? 0.9 : 0;
      lineChart(id, holder, lines, { ...x, log },
        { label: "share of samples", format: (v) => brief(v, 4), name: percent, range: () => [low, 1] }, { stepped: true, marks });
    };
    const holder = plot(id, `${title}: cumulative distribution, a line per run`, draw);
    return section(title, note,
      el("div", { class: "controls", id: `${id}-controls` },
        choice("Scale", [["linear", "linear"], ["log", "log"]], state.scale, (v) => { state.scale = v; draw(holder); }),
        choice("Show", [["all", "all"], ["tail", "top tenth"]], state.part, (v) => { state.part = v; draw(holder); })),
      holder);
  };

  const isolated = () => {
    if (!drawn(runs).some((run) => run.isolated)) return null;
    const draw = (holder) => lineChart("isolated", holder,
      drawn(runs).filter((run) => run.isolated).map((run) => ({ name: nameOf(run), index: lineOf(run), x: run.isolated.time, y: run.isolated.flows })),
      { label: "time", format: seconds },
      { label: "isolated flows", format: (v) => brief(v, 4), range: (u, low, high) => [0, (high || 1) * 1.05] });
    return section("Isolated flows", "Flows that some switch keeps in an isolation queue because a neighbour paused them; all switches together, over time.",
      plot("isolated", "Flows isolated over time, a line per run", draw));
  };

  // A line per run and sampled port.
  const queueName = (run, queue) => (unique(runs.flatMap((r) => r.queues.map((q) => q.port))).length > 1 ? `${nameOf(run)}, ${queue.port}` : nameOf(run));
  const queuesOverTime = () => {
    if (!drawn(runs).some((run) => run.queues.length)) return null;
    const draw = (holder) => lineChart("queues", holder,
      drawn(runs).flatMap((run) => run.queues.map((queue) => ({ name: queueName(run, queue), x: queue.time, y: queue.bytes })))
        .map((line, index) => ({ ...line, index })),
      { label: "time", format: seconds },
      { label: "bytes queued", format: bytes, range: (u, low, high) => [0, (high || 1) * 1.05] });
    return section("Queues over time", "Bytes queued at the egress ports that the scenario asks to sample.",
      plot("queues", "Queue length over time, a line per run and port", draw));
  };

  // The panels that the experiment asks for: lines along a swept number, bars where nothing was swept; means over seeds. Beside them
  // stands what was published.
  const panels = () => {
    if (data.panels.length === 0) return null;
    const keys = swept.filter((k) => k !== "seed");
    const key = keys.find((k) => unique(data.runs.map((run) => run.point[k])).length > 1);
    const axis = key === undefined ? null : axisAlong(key);
    const others = keys.filter((k) => k !== key && data.panels.some((panel) => panel.runs.some((run) => k in run.point)));
    const lineName = (run) => [run.variant, ...others.map((k) => `${shortKey(k)} ${run.point[k]}`)].join(", ");
    const boundsOf = (run) => interval([run.low, run.high]);
    const one = (panel, i) => {
      const known = panel.runs.filter((run) => run.value !== null);
      const published = panel.published ?? [];
      const belongs = (point, run) => run.variant === point.variant && Object.entries(point.where).every(([k, v]) => run.point[k] === v);
      if (!axis) return section(panel.label, "", bars(known.flatMap((run) => {
        const bar = { index: run.slot, value: run.value, bounds: boundsOf(run), name: [run.variant, ...Object.values(run.point)].join(", ") };
        const beside = published.filter((point) => belongs(point, run) && (point.at === null || Object.values(run.point).includes(point.at)));
        return [bar, ...beside.map((point) => ({ ...bar, value: point.value, bounds: null, name: `${bar.name}, published`, hollow: true }))];
      }), (v) => brief(v)));
      const lineSlots = slotsOf(panel.runs, lineName), names = unique(known.map(lineName));
      // Of several lines of a variant the first carries its points.
      const lineOfPoint = (point) => names.findIndex((name) => known.some((run) => lineName(run) === name && belongs(point, run)));
      const placed = published.filter((point) => axis.place(point.at) !== null).sort((a, b) => axis.place(a.at) - axis.place(b.at));
      const draw = (holder) => lineChart(`panel${i}`, holder, names.flatMap((name, n) => {
        const index = lineSlots.get(name);
        const at = known.filter((run) => lineName(run) === name).sort((a, b) => axis.at(a) - axis.at(b));
        const beside = placed.filter((point) => lineOfPoint(point) === n);
        return [{ name, index, x: at.map(axis.at), y: at.map((run) => run.value), bounds: at.map(boundsOf) },
          { name: `${name}, published`, index, x: beside.map((point) => axis.place(point.at)), y: beside.map((point) => point.value), published: true }];
      }), { label: axis.label, format: brief, log: axis.wide },
      // Lines that would be one on an axis from zero get one of their own.
      { label: "", format: brief, range: (u, low, high) => (low > 0.5 * high && low < high ? [low - 0.1 * (high - low), high + 0.1 * (high - low)] : [0, (high || 1) * 1.05]) },
      { points: true, marks: Object.entries(panel.marks ?? {}).map(([text, at]) => ({ text, x: axis.place(at) })).filter(({ x }) => x !== null) });
      return section(panel.label, "", plot(`panel${i}`, `${panel.label}, a line per variant`, draw));
    };
    return el("div", {}, el("div", { class: "pair", id: "panels" }, ...data.panels.map(one)));
  };

  const bars = (values, format, most = Math.max(...values.map((v) => v.bounds?.[1] ?? v.value), 0)) => {
    const share = (value) => (most ? Math.max(0, Math.min(100, (100 * value) / most)) : 0);
    const whisker = ([low, high]) => el("b", { style: `left: ${share(low)}%; width: ${share(high) - share(low)}%` });
    return el("div", { class: "bars" }, ...values.flatMap(({ name, value, index, hollow, bounds }) => [
      el("span", {}, name),
      el("span", { class: "track" },
        el("i", { class: hollow ? "hollow" : "", style: `width: ${share(value)}%; ${hollow ? "border-color" : "background"}: var(--c${index % 8})` }),
        bounds ? whisker(bounds) : null),
      el("span", { class: "value" }, format(value), bounds ? el("small", {}, ` ${bounds.map(format).join(" to ")}`) : null)]));
  };

  const pauses = () => {
    if (!runs.some((run) => run.ports.length)) return null;
    const rows = runs.flatMap((run) => run.ports.map((row) => [
      { show: [swatch(lineOf(run)), nameOf(run)] }, row.ports, percent(row.pfc_paused_mean), percent(row.pfc_paused_max), whole(row.pfc_pauses),
      brief(row.bfc_paused_queues_mean), whole(row.bfc_pauses), whole(row.bfc_resumes), whole(row.bfc_bitmaps)]));
    // PFC holds ports and BFC single queues; both stand on one scale.
    const single = (run) => sum(run.ports.map((row) => row.number * row.bfc_paused_share)) / sum(run.ports.map((row) => row.number));
    const shares = [["of the time that PFC held a port", (run) => run.summary.pause.pfc_paused_fraction], ["of the time that BFC held a queue", single]]
      .filter(([, read], i) => i === 0 || runs.some((run) => read(run) > 0));
    const most = Math.max(0, ...shares.flatMap(([, read]) => drawn(runs).map(read)));
    return section("Pause time",
      "Share of the time that an egress port, or a single queue of one, was held by its peer, averaged over all ports.",
      el("div", { id: "pauses", class: "pair" }, ...shares.map(([name, read]) => el("div", {}, el("p", { class: "note" }, name),
        bars(drawn(runs).map((run) => ({ name: nameOf(run), index: lineOf(run), value: read(run) })), percent, most)))),
      el("details", {}, el("summary", {}, "By kind of port"), table(
        [{ name: "run", text: true }, { name: "ports", text: true }, { name: "PFC, mean" }, { name: "PFC, worst" }, { name: "PFC pauses" },
          { name: "BFC queues held" }, { name: "BFC pauses" }, { name: "BFC resumes" }, { name: "BFC bitmaps" }], rows, "Pauses by kind of port")));
  };

  const utilisation = () => {
    // How far chance alone takes the load; a difference beyond it fails the claims of the run.
    const chance = (row) => (row.sampling_error === null ? "–" : `${percent(row.sampling_error)}${row.as_asked ? "" : ", not chance"}`);
    const loads = runs.flatMap((run) => run.summary.load.map((row) => [
      { show: [swatch(lineOf(run)), nameOf(run)] }, row.class, row.asked === null ? "–" : percent(row.asked), percent(row.realised), chance(row), bits(row.offered_bps),
      bits(run.summary.throughput.find((t) => t.class === row.class)?.goodput_bps)]));
    const rows = runs.flatMap((run) => run.ports.map((row) => [
      { show: [swatch(lineOf(run)), nameOf(run)] }, row.ports, whole(row.number), percent(row.utilisation_mean), percent(row.utilisation_max)]));
    const core = runs.some((run) => run.summary.core_utilisation !== null);
    const use = (run) => (core ? run.summary.core_utilisation : Math.max(...run.ports.map((row) => row.utilisation_max)));
    return section("Utilisation", core ? "Share of the time that core links carried frames, all of them together." : "Share of the time that the busiest link carried frames.",
      el("div", { id: "utilisation" }, bars(drawn(runs).map((run) => ({ name: nameOf(run), index: lineOf(run), value: use(run) ?? 0 })), percent, 1)),
      el("details", {}, el("summary", {}, "Load asked and realised, and links by kind"),
        table([{ name: "run", text: true }, { name: "flows", text: true }, { name: "asked" }, { name: "realised" }, { name: "standard error" }, { name: "offered" }, { name: "goodput" }], loads, "Load"),
        table([{ name: "run", text: true }, { name: "ports", text: true }, { name: "number" }, { name: "mean" }, { name: "busiest" }], rows, "Utilisation by kind of port")));
  };

  // By kind of switch, where the runs have memory management units.
  const pools = () => {
    const rows = runs.flatMap((run) => run.mmus.map((row) => [
      { show: [swatch(lineOf(run)), nameOf(run)] }, row.switch, whole(row.number), bytes(row.capacity_bytes), bytes(row.peak_bytes),
      whole(row.dropped_full), whole(row.dropped_threshold), whole(row.marked_queue), whole(row.marked_pool)]));
    const refused = runs.some((run) => run.mmus.some((row) => row.dropped_full + row.dropped_threshold > 0));
    return rows.length === 0 ? null : el("details", { open: refused ? "" : undefined }, el("summary", {}, "By memory management unit"), table(
      [{ name: "run", text: true }, { name: "switches", text: true }, { name: "MMUs" }, { name: "pool" }, { name: "fullest" }, { name: "dropped, pool full" },
        { name: "dropped, above threshold" }, { name: "marked by queue" }, { name: "marked by pool alone" }], rows, "Memory management units"));
  };

  const drops = () => {
    const reasons = unique(runs.flatMap((run) => Object.keys(run.summary.drops).filter((reason) => run.summary.drops[reason] > 0)));
    const retries = (run) => run.summary.flows.retransmitted_packets;
    // Columns that only some transports have.
    const extra = [
      ["share of data lost", (run) => run.summary.loss?.share, percent],
      ["timeouts", (run) => run.summary.timeouts?.total, whole],
      ["flows that timed out", (run) => run.summary.timeouts?.flows, whole],
    ].filter(([, read]) => runs.some((run) => read(run) !== undefined && read(run) !== null));
    return section("Drops and queue sharing", "Packets lost by reason, packets sent again, and flows that had to share a queue.",
      table([{ name: "run", text: true }, ...reasons.filter((name) => name !== "credit").map((name) => ({ name })), { name: "dropped" }, ...(reasons.includes("credit") ? [{ name: "credits dropped by design" }] : []), ...extra.map(([name]) => ({ name })), { name: "retransmitted" },
        { name: "queue assignments" }, { name: "shared" }],
        runs.map((run) => {
          const { assignments, collisions } = run.summary.collisions;
          return [{ show: [swatch(lineOf(run)), nameOf(run)] }, ...reasons.filter((name) => name !== "credit").map((reason) => whole(run.summary.drops[reason] ?? 0)),
            whole(lost(run)), ...(reasons.includes("credit") ? [whole(run.summary.drops.credit ?? 0)] : []), ...extra.map(([, read, format]) => format(read(run))), whole(retries(run)), assignments ? whole(assignments) : "–",
            assignments ? percent(collisions / assignments) : "–"];
        }), "Drops"), pools());
  };

  const configuration = () => {
    const keys = unique(runs.flatMap((run) => Object.keys(run.config)));
    const differs = (key) => new Set(runs.map((run) => run.config[key])).size > 1;
    const holder = el("div", { id: "configuration" });
    const show = (what) => {
      const chosen = what === "differences" ? keys.filter(differs) : keys;
      holder.replaceChildren(chosen.length === 0 ? el("p", { class: "note" }, "The runs do not differ.") : table(
        [{ name: "key", text: true }, ...runs.map((run) => ({ name: nameOf(run), text: true }))],
        chosen.map((key) => [{ show: key, class: "mono" }, ...runs.map((run) => ({ show: run.config[key] ?? "–", class: `mono ${differs(key) ? "best" : ""}` }))]),
        "Configuration"));
    };
    show("all");
    return section("Configuration", "Every value the runs had, defaults included.",
      runs.length > 1 ? el("div", { class: "controls" }, choice("Show", [["all", "everything"], ["differences", "what differs"]], "all", show)) : null,
      el("details", { open: "" }, el("summary", {}, "All keys"), holder));
  };

  const rerun = () => section("Run it again", "",
    ...data.experiments.map((experiment) => {
      const copy = el("button", { type: "button", onclick: async () => {
        try { await navigator.clipboard.writeText(experiment.command); copy.textContent = "Copied"; }
        catch { getSelection().selectAllChildren(pre); }
      } }, "Copy");
      const pre = el("pre", { class: "mono" }, experiment.command);
      return el("div", { class: "command" }, pre, copy);
    }));

  const footer = () => el("footer", {},
    `Backwater ${unique(data.experiments.map((e) => e.version)).join(", ")}. Digest ${unique(data.experiments.map((e) => e.digest)).join(", ")}. ` +
    "Wall-clock figures are not part of the digest. The tables behind this page are Parquet files beside it.");

  const atPoint = el("div");
  const showPoint = () => {
    for (const id of Object.keys(charts)) if (id !== "sweep" && !id.startsWith("panel")) { charts[id].destroy(); delete charts[id]; }
    redraws = redraws.filter((draw) => draw.fixed);
    if (computed) {
      atPoint.replaceChildren(results(), rerun(), configuration());
      redraw();
      return;
    }
    const most = Math.max(...runs.flatMap((run) => run.active_flows?.value.slice(-1) ?? []), 0);
    const queues = unique(runs.map((run) => Number(run.config["switch.queues"])).filter(Boolean));
    // What is drawn in files of their own; `net` is what the network over time does for others.
    const WIDE = 84; // Axes that share their time begin at one place.
    const kit = (name) => ({ WIDE, el, choice, section, style, lineChart, charts, table, swatch, brief, bytes, seconds, bits, percent, inflate, lineOf, runs: bySeed(runs), net,
      state: (chosen[name] ??= {}), redraw: (draw) => redraws.push(draw) });
    const net = {};
    const explained = window.explainedFlows(kit("explained"));
    atPoint.replaceChildren(...[
      slowdown(explained), explained?.node, window.networkOverTime(kit("network")),
      el("div", { class: "pair" }, ...[
        cdf("buffer", "buffer", "Buffer occupancy", "Bytes in each switch at each sample; distribution over all switches and samples.",
          { label: "bytes in a switch", format: bytes }),
        cdf("active_flows", "active_flows", "Active flows", "Flows with data in an egress port; distribution over all samples of the ports that ever held data.",
          { label: "flows at a port", format: brief },
          { scale: most > 100 ? "log" : "linear", marks: queues.length === 1 ? [{ x: queues[0], text: `${queues[0]} queues` }] : [] }),
        isolated(),
        queuesOverTime(),
        cdf("queue", null, "Queue length", "Bytes queued at the sampled egress ports; distribution over all samples, a line per run and port.",
          { label: "bytes queued", format: bytes },
          { linesOf: (run) => run.queues.map((queue) => ({ name: queueName(run, queue), ...queue.cdf })) }),
        cdf("pool", "pool", "Shared pool", "Bytes in a shared pool; distribution over all samples of the pools that ever held any.",
          { label: "bytes in a pool", format: bytes }),
        cdf("queueing_delay", "queueing_delay", "Queueing delay", "Time of data packets in egress queues.", { label: "delay", format: (ns) => seconds(ns * 1e-9) }),
        pauses(), utilisation()].filter(Boolean)),
      drops(), overview(), rerun(), configuration()].filter(Boolean));
    redraw();
  };
  const redraw = () => redraws.forEach((draw) => draw());

  page.replaceChildren(...[header(), strip(), panels(), claims(), sweep(), pointChoice(), atPoint, footer()].filter(Boolean));
  redraws.forEach((draw) => { draw.fixed = true; });
  showPoint();
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
})();
