// Slowdown: along the swept key, and against flow size with the numbers below. Under it stands why a tail is slow, or how to find out.
const statistics = { mean: "average", p50: "median", p95: "p95", p99: "p99" };

const sweep = () => {
  if (!inSweep || computed) return null;
  const key = swept.find((k) => unique(data.runs.map((run) => run.point[k])).length > 1);
  const others = swept.filter((k) => k !== key);
  const along = unique(data.runs.map((run) => run.point[key]));
  const axis = axisAlong(key);
  const at = (run) => (axis ? axis.at(run) : along.indexOf(run.point[key]));
  const bins = new Map([["all", "all sizes"]]);
  for (const run of data.runs) for (const rows of Object.values(run.slowdown)) for (const row of rows) bins.set(String(row.size_low_bytes), binName(row));
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
  const state = settings("sweep", { metric: [Object.keys(metrics), "slowdown"], statistic: [Object.keys(statistics), "p50"], flows: [classes, classes[0]],
    size: [[...bins.keys()], "all"], scale: [["linear", "log"], "linear"] });
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
      { label: state.metric === "slowdown" ? `${label}, ${statistics[state.statistic]}` : label, format, log: state.scale === "log",
        range: state.scale === "log" ? undefined : (u, low, high) => [0, (high || 1) * 1.05] },
      { points: true, height: 340 });
  };
  const chart = plot("sweep", "One number a run along the sweep, a line per variant", draw);
  const choose = (what) => (value) => { set("sweep", what, value); draw(chart.firstChild); };
  const fold = foldedSection("sweep", `More along ${shortKey(key)}`, "slowdown by size and class, buffers, pauses, drops",
    el("div", { class: "controls", id: "sweep-controls" },
      select("Show", Object.entries(metrics).map(([id, [text]]) => [id, text]), state.metric, choose("metric")),
      choice("Statistic", Object.entries(statistics), state.statistic, choose("statistic")),
      classes.length > 1 ? choice("Flows", classes.map((c) => [c, c]), state.flows, choose("flows")) : null,
      select("Size", [...bins], state.size, choose("size")),
      choice("Scale", [["linear", "linear"], ["log", "log"]], state.scale, choose("scale"))),
    chart);
  // Folded it has no width to draw in.
  fold.firstChild.addEventListener("toggle", () => draw(chart.firstChild));
  return fold;
};

const slowdown = (explained) => {
  if (classes.length === 0) return null;
  const state = settings("slowdown", { statistic: [Object.keys(statistics), "p99"], scale: [["log", "linear"], "log"], flows: [classes, classes[0]] });
  const numbers = el("div");
  const rowsOf = (run) => run.slowdown[state.flows] ?? [];
  const bins = () => {
    const all = new Map(runs.flatMap((run) => rowsOf(run).map((row) => [row.size_low_bytes, row])));
    return [...all.values()].sort((a, b) => a.size_low_bytes - b.size_low_bytes);
  };
  const draw = (holder) => {
    const lines = drawn(runs).map((run) => {
      const rows = rowsOf(run).filter((row) => row[state.statistic] !== null);
      return { name: nameOf(run), index: lineOf(run), x: rows.map((row) => row.at), y: rows.map((row) => row[state.statistic]), bounds: rows.map((row) => interval(row[`${state.statistic}_bounds`])) };
    });
    const named = new Map(bins().map((row) => [row.at, binName(row)]));
    lineChart("slowdown", holder, lines,
      { label: "flow size", format: bytes, name: (v) => named.get(v) ?? bytes(v), log: true },
      { label: `FCT slowdown, ${statistics[state.statistic]}`, format: (v) => brief(v), log: state.scale === "log",
        range: state.scale === "log" ? undefined : (u, low, high) => [0, high * 1.05] },
      { points: true, height: 360, ...(explained ? { dots: explained.dots(state.flows), ondot: explained.pick, isPicked: explained.isPicked } : {}) });
    const cell = (run, row) => rowsOf(run).find((r) => r.size_low_bytes === row.size_low_bytes);
    numbers.replaceChildren(table(
      [{ name: "size", text: true }, { name: "flows" }, ...runs.map((run) => ({ name: nameOf(run) }))],
      [...bins().map((row) => [binName(row), whole(Math.max(...runs.map((run) => cell(run, row)?.flows ?? 0))), ...marked(runs.map((run) => cell(run, row)), state.statistic)]),
        ["all", "", ...marked(runs.map((run) => run.slowdown_all[state.flows]), state.statistic)]],
      `Slowdown, ${statistics[state.statistic]}`));
  };
  const chart = plot("slowdown", "FCT slowdown against flow size, a line per run; the numbers are in the table below", draw);
  const choose = (key) => (value) => { set("slowdown", key, value); draw(chart.firstChild); };
  return section("slowdown", "Slowdown by flow size",
    { better: LOWER, note: "Flow completion time over that of the same flow in an idle network. 1 is as fast as possible. A point stands in the middle of its size bin." },
    el("div", { class: "controls", id: "slowdown-controls" },
      choice("Statistic", Object.entries(statistics), state.statistic, choose("statistic")),
      choice("Scale", [["log", "log"], ["linear", "linear"]], state.scale, choose("scale")),
      classes.length > 1 ? choice("Flows", classes.map((c) => [c, c]), state.flows, choose("flows")) : null),
    chart,
    el("details", {}, el("summary", {}, "Numbers"),
      el("p", { class: "note" }, "Bold is the lowest of the schemes that can be built. = marks those whose intervals overlap with it."), numbers),
    explained ? null : whySlow());
};

// Cells of a row: the lowest of the schemes that can be built stands out, and with it those that equal it within the intervals.
const marked = (rows, statistic) => {
  const known = rows.map((row, i) => ({ value: row?.[statistic] ?? null, bounds: interval(row?.[`${statistic}_bounds`]), canWin: canWin(runs[i]) }));
  const contenders = known.filter(({ value, canWin: can }) => can && value !== null);
  const best = contenders.length > 1 ? contenders.reduce((a, b) => (b.value < a.value ? b : a)) : null;
  const equals = (one) => best?.bounds && one.bounds && Math.max(one.bounds[0], best.bounds[0]) <= Math.min(one.bounds[1], best.bounds[1]);
  return known.map((one) => {
    const title = one.bounds ? `95 % interval: ${one.bounds.map(fixed).join(" to ")}` : undefined;
    if (one.canWin && one.value !== null && one.value === best?.value) return { show: fixed(one.value), class: "best", title };
    return { show: (one.canWin && equals(one) ? "= " : "") + fixed(one.value), class: "", title };
  });
};

// The command that explains a tail: of the runs that are not explained, that with the longest.
const unexplained = () => drawn(runs).filter((run) => run.explain && !bySeed([run]).some((one) => one.explained))
  .sort((a, b) => canWin(b) - canWin(a) || (b.explain.value ?? 0) - (a.explain.value ?? 0))[0];
const whySlow = () => {
  const run = unexplained();
  return run ? el("div", { id: "why" },
    el("p", { class: "note" }, `Why is the tail slow? This command runs ${run.explain.label} again, follows its slowest flows and adds to this page where their time went.`),
    copyable(run.explain.command)) : null;
};
