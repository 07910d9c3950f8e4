// Distributions, and curves over time.
// One line a run: its distribution under `key`; or as many as `linesOf` finds in a run.
const cdf = (id, key, title, note, x, { marks = [], scale = "linear", linesOf, better } = {}) => {
  const found = linesOf ? drawn(runs).flatMap(linesOf).map((line, index) => ({ ...line, index }))
    : drawn(runs).map((run) => ({ name: nameOf(run), index: lineOf(run), value: run[key]?.value ?? [], share: run[key]?.share ?? [] }));
  if (!found.some((line) => line.value.length)) return null;
  const state = settings(id, { scale: [["linear", "log"], scale], part: [["all", "tail"], "all"] });
  const draw = (holder) => {
    const log = state.scale === "log";
    const lines = found.map(({ name, index, value, share }) => {
      const keep = value.map((v, i) => [v, share[i]]).filter(([v]) => !log || v > 0);
      return { name, index, x: keep.map(([v]) => v), y: keep.map(([, s]) => s) };
    });
    const low = state.part === "tail" ? 0.9 : 0;
    lineChart(id, holder, lines, { ...x, log },
      { label: "share of samples", format: (v) => brief(v, 4), name: percent, range: () => [low, 1] }, { stepped: true, height: 260, marks });
  };
  const chart = plot(id, `${title}: cumulative distribution, a line per run`, draw);
  const choose = (what) => (value) => { set(id, what, value); draw(chart.firstChild); };
  return section(id, title, { note, better },
    el("div", { class: "controls", id: `${id}-controls` },
      choice("Scale", [["linear", "linear"], ["log", "log"]], state.scale, choose("scale")),
      choice("Show", [["all", "all"], ["tail", "top tenth"]], state.part, choose("part"))),
    chart);
};

const isolated = () => {
  if (!drawn(runs).some((run) => run.isolated)) return null;
  const draw = (holder) => lineChart("isolated", holder,
    drawn(runs).filter((run) => run.isolated).map((run) => ({ name: nameOf(run), index: lineOf(run), x: run.isolated.time, y: run.isolated.flows })),
    { label: "time", format: seconds },
    { label: "isolated flows", format: (v) => brief(v, 4), range: (u, low, high) => [0, (high || 1) * 1.05] }, { height: 260 });
  return section("isolated", "Isolated flows", { note: "Flows that some switch keeps in an isolation queue because a neighbour paused them, in all switches together over time." },
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
    { label: "bytes queued", format: bytes, range: (u, low, high) => [0, (high || 1) * 1.05] }, { height: 260 });
  return section("queues", "Queues over time", { note: "Bytes queued at the egress ports that the scenario samples." },
    plot("queues", "Queue length over time, a line per run and port", draw));
};

const distributions = () => {
  const most = Math.max(...runs.flatMap((run) => run.active_flows?.value.slice(-1) ?? []), 0);
  const queues = unique(runs.map((run) => Number(run.config["switch.queues"])).filter(Boolean));
  return [
    cdf("buffer", "buffer", "Buffer occupancy", "Bytes in a switch: all switches and samples.", { label: "bytes in a switch", format: bytes }, { better: LEFT }),
    cdf("active_flows", "active_flows", "Active flows", "Flows with data in an egress port: all samples of the ports that ever held data.",
      { label: "flows at a port", format: brief },
      { scale: most > 100 ? "log" : "linear", marks: queues.length === 1 ? [{ x: queues[0], text: `${queues[0]} queues` }] : [] })];
};

// What only some runs record; folded, so that a page is no longer for it.
const moreOfQueues = () => {
  const sections = [
    isolated(),
    queuesOverTime(),
    cdf("queue", null, "Queue length", "Bytes queued at the sampled egress ports: all samples, a line per run and port.",
      { label: "bytes queued", format: bytes },
      { better: LEFT, linesOf: (run) => run.queues.map((queue) => ({ name: queueName(run, queue), ...queue.cdf })) }),
    cdf("pool", "pool", "Shared pool", "Bytes in a shared pool: all samples of the pools that ever held any.", { label: "bytes in a pool", format: bytes }, { better: LEFT }),
    cdf("queueing_delay", "queueing_delay", "Queueing delay", "Time of data packets in egress queues.", { label: "delay", format: (ns) => seconds(ns * 1e-9) }, { better: LEFT })].filter(Boolean);
  if (sections.length === 0) return null;
  const fold = foldedSection("more-queues", "More about queues", sections.map((one) => one.querySelector("h2").firstChild.textContent).join(", "), el("div", { class: "pair" }, ...sections));
  fold.firstChild.addEventListener("toggle", () => redraw()); // Folded they have no width to draw in.
  return fold;
};
