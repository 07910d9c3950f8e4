"use strict";
// Draws the page from the data inside it. `window.backwater` holds data and charts, for tests and for the curious.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const page = document.getElementById("page");
  const charts = {};
  const redraws = [];
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
          const attributes = { class: [headings[j].text ? "text" : "", cell?.class ?? ""].join(" ").trim() || undefined };
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

  // ---- line charts

  // lines: [{ name, index, x: [], y: [] }]. Axis options: { label, format, log }.
  const lineChart = (id, holder, lines, x, y, { stepped = false, points = false, height = 320, marks = [] } = {}) => {
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
    const paths = stepped ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear();
    charts[id] = new uPlot({
      width: Math.max(280, holder.clientWidth), height,
      cursor: { y: false, points: { size: 7 } },
      scales: {
        x: { time: false, distr: x.log ? 3 : 1, ...(x.range ? { range: x.range } : {}) },
        y: { distr: y.log ? 3 : 1, ...(y.range ? { range: y.range } : {}) },
      },
      axes: [axis(x, {}), axis(y, { size: 62 })],
      series: [
        { label: x.label, value: (u, v) => (v === null ? "–" : (x.name ?? x.format)(v)) },
        ...shown.map((line) => ({
          label: line.name, stroke: colour(line.index), width: 2, dash: dash(line.index), spanGaps: true, paths,
          points: points ? { show: true, size: 6, fill: colour(line.index) } : { show: false },
          value: (u, v) => (v === null || v === undefined ? "–" : (y.name ?? y.format)(v)),
        })),
      ],
      hooks: {
        draw: [(u) => marks.forEach((mark) => {
          const at = Math.round(u.valToPos(mark.x, "x", true));
          if (at < u.bbox.left || at > u.bbox.left + u.bbox.width) return;
          u.ctx.save();
          u.ctx.strokeStyle = u.ctx.fillStyle = soft;
          u.ctx.setLineDash([4, 4]);
          u.ctx.beginPath(); u.ctx.moveTo(at, u.bbox.top); u.ctx.lineTo(at, u.bbox.top + u.bbox.height); u.ctx.stroke();
          u.ctx.font = `${12 * devicePixelRatio}px system-ui`;
          u.ctx.textAlign = "right";
          u.ctx.fillText(mark.text, at - 5, u.bbox.top + u.bbox.height - 8 * devicePixelRatio);
          u.ctx.restore();
        })],
      },
    }, joined, holder);
    holder.querySelector("canvas").setAttribute("aria-hidden", "true");
  };

  const plot = (id, label, draw) => {
    const holder = el("div", { class: "chart", role: "img", "aria-label": label });
    redraws.push(() => draw(holder));
    return holder;
  };

  const runs = data.runs;
  const classes = unique(runs.flatMap((run) => Object.keys(run.slowdown)));

  // ---- sections

  const header = () => el("header", {},
    el("h1", {}, data.name),
    data.description ? el("p", { class: "lead" }, data.description) : null,
    data.complete ? null : el("p", { class: "banner", role: "status" }, "Interrupted: some runs are partial or missing."));

  const strip = () => {
    const flows = (key) => sum(runs.map((run) => run.summary.flows[key]));
    const finished = flows("finished"), counted = flows("counted");
    const dropped = sum(runs.map((run) => sum(Object.values(run.summary.drops))));
    const experiments = data.experiments;
    const each = (key, show = String) => unique(experiments.map((e) => show(e[key]))).join(", ");
    const verdicts = (verdict) => data.claims.filter((row) => row.verdict === verdict).length;
    const tile = (name, value, under, kind) =>
      el("div", { class: "tile" }, el("dt", {}, name), el("dd", { class: kind }, value, under ? el("small", {}, under) : null));
    const wall = sum(experiments.map((e) => e.wall_s ?? 0));
    return el("dl", { class: "strip", id: "verdict" },
      tile("Finished", percent(counted ? finished / counted : 1), `${whole(finished)} of ${whole(counted)} counted flows`,
        finished === counted ? "good" : "warn"),
      tile("Dropped", `${whole(dropped)}`, `packets, ${runs.length} ${runs.length === 1 ? "run" : "runs"}`, dropped === 0 ? "good" : "warn"),
      data.claims.length
        ? tile("Claims", verdicts("fail") ? `${verdicts("fail")} failed` : `${verdicts("pass")} hold`,
            ["pass", "direction", "fail", "fact", "not-run"].filter(verdicts).map((v) => `${verdicts(v)} ${v}`).join(", "),
            verdicts("fail") ? "bad" : "good")
        : null,
      tile("Digest", el("span", { class: "mono" }, each("digest", (d) => d.slice(0, 12)))),
      tile("Seed", each("seed"), `scale ${each("scale")}`),
      tile("Version", each("version"), "Backwater"),
      tile("Speed", `${many(sum(experiments.map((e) => e.packet_hops ?? 0)) / wall)}/s`,
        `${many(sum(experiments.map((e) => e.packet_hops ?? 0)))} packet-hops in ${seconds(wall)}`));
  };

  const overview = () => section("Runs", "",
    table(
      [{ name: "run", text: true }, { name: "scheme", text: true }, { name: "finished" }, { name: "unfinished" }, { name: "dropped" },
        { name: "retransmitted" }, { name: "packet-hops" }, { name: "packet-hops/s" }, { name: "digest" }],
      runs.map((run, i) => [
        { show: [swatch(i), run.name + (run.complete ? "" : " (partial)")] }, run.scheme,
        whole(run.summary.flows.finished), whole(run.summary.flows.unfinished), whole(sum(Object.values(run.summary.drops))),
        whole(run.summary.flows.retransmitted_packets), many(run.summary.packet_hops), many(run.packet_hops_per_s),
        { show: run.digest.slice(0, 12), class: "mono" },
      ]), "Runs"));

  const claims = () => data.claims.length === 0 ? null : section("Claims",
    "What the publication says beside what was measured here. direction: the ordering holds, the size does not. fact: no measurement could contradict it.",
    table(
      [{ name: "claim", text: true }, { name: "what", text: true }, { name: "expected", text: true }, { name: "measured", text: true }, { name: "verdict", text: true }],
      data.claims.map((row) => [row.claim, row.metric ?? "", row.expected, row.measured,
        { show: row.verdict, class: `verdict ${{ pass: "good", fail: "bad", direction: "warn" }[row.verdict] ?? ""}` }]), "Claims"));

  const slowdown = () => {
    if (classes.length === 0) return null;
    const state = { statistic: "p99", scale: "log", flows: classes[0] };
    const names = { mean: "average", p50: "median", p95: "p95", p99: "p99" };
    const numbers = el("div");
    const bins = () => {
      const all = new Map();
      for (const run of runs) for (const row of run.slowdown[state.flows] ?? []) all.set(row.size_low_bytes, row);
      return [...all.values()].sort((a, b) => a.size_low_bytes - b.size_low_bytes);
    };
    const draw = (holder) => {
      const lines = runs.map((run, index) => {
        const rows = (run.slowdown[state.flows] ?? []).filter((row) => row[state.statistic] !== null);
        return { name: run.name, index, x: rows.map((row) => row.at), y: rows.map((row) => row[state.statistic]) };
      });
      const named = new Map(bins().map((row) => [row.at, binName(row)]));
      lineChart("slowdown", holder, lines,
        { label: "flow size", format: bytes, name: (v) => named.get(v) ?? bytes(v), log: true },
        { label: `FCT slowdown, ${names[state.statistic]}`, format: (v) => brief(v), log: state.scale === "log",
          range: state.scale === "log" ? undefined : (u, low, high) => [0, high * 1.05] },
        { points: true, height: 380 });
      const cell = (run, row) => (run.slowdown[state.flows] ?? []).find((r) => r.size_low_bytes === row.size_low_bytes);
      const overall = (run) => run.slowdown_all[state.flows]?.[state.statistic];
      const marked = (values) => {
        const known = values.filter((v) => v !== null && v !== undefined);
        const least = known.length > 1 ? Math.min(...known) : null;
        return values.map((v) => ({ show: brief(v), class: v === least ? "best" : "" }));
      };
      numbers.replaceChildren(table(
        [{ name: "size", text: true }, { name: "flows" }, ...runs.map((run) => ({ name: run.name }))],
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
      holder, el("details", { open: runs.length <= 8 ? "" : undefined }, el("summary", {}, "Numbers"), numbers));
  };

  const cdf = (id, key, title, note, x, marks) => {
    const present = runs.some((run) => run[key]?.value.length);
    if (!present) return null;
    const state = { scale: "linear", part: "all" };
    const draw = (holder) => {
      const log = state.scale === "log";
      const lines = runs.map((run, index) => {
        const keep = (run[key]?.value ?? []).map((v, i) => [v, run[key].share[i]]).filter(([v]) => !log || v > 0);
        return { name: run.name, index, x: keep.map(([v]) => v), y: keep.map(([, s]) => s) };
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

  const bars = (values, format) => {
    const most = Math.max(...values.map((v) => v.value), 0);
    return el("div", { class: "bars" }, ...values.flatMap(({ name, value, index }) => [
      el("span", {}, name),
      el("span", { class: "track" }, el("i", { style: `width: ${most ? (100 * value) / most : 0}%; background: var(--c${index % 8})` })),
      el("span", { class: "value" }, format(value))]));
  };

  const pauses = () => {
    if (!runs.some((run) => run.ports.length)) return null;
    const rows = runs.flatMap((run, i) => run.ports.map((row) => [
      { show: [swatch(i), run.name] }, row.ports, percent(row.pfc_paused_mean), percent(row.pfc_paused_max), whole(row.pfc_pauses),
      brief(row.bfc_paused_queues_mean), whole(row.bfc_pauses), whole(row.bfc_resumes), whole(row.bfc_bitmaps)]));
    return section("Pause time",
      "Share of the time that an egress port was held by its peer's PFC, averaged over all ports. BFC holds single queues instead: the table has how many a port had held on average.",
      el("div", { id: "pauses" }, bars(runs.map((run, index) => ({ name: run.name, index, value: run.summary.pause.pfc_paused_fraction })), percent)),
      el("details", {}, el("summary", {}, "By kind of port"), table(
        [{ name: "run", text: true }, { name: "ports", text: true }, { name: "PFC, mean" }, { name: "PFC, worst" }, { name: "PFC pauses" },
          { name: "BFC queues held" }, { name: "BFC pauses" }, { name: "BFC resumes" }, { name: "BFC bitmaps" }], rows, "Pauses by kind of port")));
  };

  const utilisation = () => {
    const loads = runs.flatMap((run, i) => run.summary.load.map((row) => [
      { show: [swatch(i), run.name] }, row.class, row.asked === null ? "–" : percent(row.asked), bits(row.offered_bps), bits(row.realised_bps),
      bits(run.summary.throughput.find((t) => t.class === row.class)?.goodput_bps)]));
    const rows = runs.flatMap((run, i) => run.ports.map((row) => [
      { show: [swatch(i), run.name] }, row.ports, whole(row.number), percent(row.utilisation_mean), percent(row.utilisation_max)]));
    return section("Utilisation", "Share of the time that core links carried frames, all of them together.",
      el("div", { id: "utilisation" }, bars(runs.map((run, index) => ({ name: run.name, index, value: run.summary.core_utilisation ?? 0 })), percent)),
      el("details", {}, el("summary", {}, "Load asked and realised, and links by kind"),
        table([{ name: "run", text: true }, { name: "flows", text: true }, { name: "asked" }, { name: "offered" }, { name: "realised" }, { name: "goodput" }], loads, "Load"),
        table([{ name: "run", text: true }, { name: "ports", text: true }, { name: "number" }, { name: "mean" }, { name: "busiest" }], rows, "Utilisation by kind of port")));
  };

  const drops = () => {
    const reasons = unique(runs.flatMap((run) => Object.keys(run.summary.drops)));
    const retries = (run) => run.summary.flows.retransmitted_packets;
    return section("Drops and queue sharing", "Packets lost by reason, packets sent again, and flows that had to share a queue.",
      table([{ name: "run", text: true }, ...reasons.map((name) => ({ name })), { name: "dropped" }, { name: "retransmitted" }, { name: "queue assignments" }, { name: "shared" }],
        runs.map((run, i) => {
          const { assignments, collisions } = run.summary.collisions;
          return [{ show: [swatch(i), run.name] }, ...reasons.map((reason) => whole(run.summary.drops[reason] ?? 0)),
            whole(sum(Object.values(run.summary.drops))), whole(retries(run)), assignments ? whole(assignments) : "–",
            assignments ? percent(collisions / assignments) : "–"];
        }), "Drops"));
  };

  const configuration = () => {
    const keys = unique(runs.flatMap((run) => Object.keys(run.config)));
    const differs = (key) => new Set(runs.map((run) => run.config[key])).size > 1;
    const holder = el("div", { id: "configuration" });
    const show = (what) => {
      const chosen = what === "differences" ? keys.filter(differs) : keys;
      const shared = runs.length > 1 && what === "all" ? null : undefined;
      holder.replaceChildren(chosen.length === 0 ? el("p", { class: "note" }, "The runs do not differ.") : table(
        [{ name: "key", text: true }, ...runs.map((run) => ({ name: run.name, text: true }))],
        chosen.map((key) => [{ show: key, class: "mono" }, ...runs.map((run) => ({ show: run.config[key] ?? "–", class: `mono ${differs(key) ? "best" : ""}` }))]),
        "Configuration"), shared ?? "");
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

  const queues = unique(runs.map((run) => Number(run.config["switch.queues"])).filter(Boolean));
  page.replaceChildren(...[
    header(), strip(), claims(), slowdown(),
    el("div", { class: "pair" }, ...[
      cdf("buffer", "buffer", "Buffer occupancy", "Bytes in each switch at each sample; distribution over all switches and samples.", { label: "bytes in a switch", format: bytes }),
      cdf("active_flows", "active_flows", "Active flows", "Flows with data in an egress port; distribution over all ports and samples.",
        { label: "flows at a port", format: brief }, queues.length === 1 ? [{ x: queues[0], text: `${queues[0]} queues` }] : []),
      cdf("queueing_delay", "queueing_delay", "Queueing delay", "Time of data packets in egress queues.", { label: "delay", format: (ns) => seconds(ns * 1e-9) }),
      pauses(), utilisation()].filter(Boolean)),
    drops(), overview(), rerun(), configuration(), footer()].filter(Boolean));

  const redraw = () => redraws.forEach((draw) => draw());
  redraw();
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
})();
