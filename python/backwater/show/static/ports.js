// What ports did, by kind: pauses, utilisation and drops.
const pauses = () => {
  if (!runs.some((run) => run.ports.length)) return null;
  const rows = runs.flatMap((run) => run.ports.map((row) => [
    { show: [swatch(lineOf(run)), nameOf(run)] }, row.ports, percent(row.pfc_paused_mean), percent(row.pfc_paused_max), whole(row.pfc_pauses),
    brief(row.bfc_paused_queues_mean), whole(row.bfc_pauses), whole(row.bfc_resumes), whole(row.bfc_bitmaps)]));
  // PFC pauses whole ports and BFC single queues, so their shares are not comparable: each has its own scale.
  const single = (run) => sum(run.ports.map((row) => row.number * row.bfc_paused_share)) / sum(run.ports.map((row) => row.number));
  const kinds = [
    ["PFC: share of the time that a port was paused, mean of all ports", (run) => run.summary.pause.pfc_paused_fraction],
    ["BFC: share of the time that a queue was paused, mean of all queues of all ports", single]];
  const chart = ([name, read]) => {
    const pausing = drawn(runs).filter((run) => read(run) > 0), others = drawn(runs).filter((run) => !pausing.includes(run));
    if (pausing.length === 0) return null;
    return el("div", {}, el("p", { class: "note" }, name), bars(pausing.map((run) => ({ name: nameOf(run), index: lineOf(run), value: read(run) })), percent),
      others.length ? el("p", { class: "note" }, `0 for ${others.map(nameOf).join(", ")}.`) : null);
  };
  const charts = kinds.map(chart).filter(Boolean);
  const hint = charts.length && !runs.some((run) => run.pause_trees) ? " If links are recorded (measure.links), the page shows where pauses begin and how far they reach." : "";
  return section("pauses", "Pause time", { note: `How long neighbours paused egress ports. A share of queues is not comparable with a share of ports, so each has its own scale.${hint}` },
    charts.length ? el("div", { class: "pair" }, ...charts) : el("p", {}, `No port and no queue was paused in ${drawn(runs).map(nameOf).join(", ")}.`),
    el("details", {}, el("summary", {}, "By kind of port"), table(
      [{ name: "run", text: true }, { name: "ports", text: true }, { name: "PFC, mean" }, { name: "PFC, worst" }, { name: "PFC pauses" },
        { name: "BFC queues paused" }, { name: "BFC pauses" }, { name: "BFC resumes" }, { name: "BFC bitmaps" }], rows, "Pauses by kind of port")));
};

// When utilisation is counted. A job may end before that, or go on after it.
const whenCounted = (list) => {
  const times = unique(list.map(({ config }) => ["run.warmup", "run.duration", "run.cooldown"].map((key) => config[key] ?? "").join("|")));
  const [from, until, cooldown] = times.length === 1 ? times[0].split("|") : [];
  if (!from || !until) return "while flows count";
  return `from ${from} to ${until}${cooldown ? ` less a cooldown of ${cooldown}` : ""}`;
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
  return section("utilisation", "Utilisation", { note: `Share of the time that ${core ? "core links carried frames, all of them together" : "the busiest link carried frames"}. It is counted ${whenCounted(drawn(runs))}.` },
    el("div", {}, bars(drawn(runs).map((run) => ({ name: nameOf(run), index: lineOf(run), value: use(run) ?? 0 })), tenths, 1)),
    el("details", {}, el("summary", {}, "Load asked and realised, and links by kind"),
      table([{ name: "run", text: true }, { name: "flows", text: true }, { name: "asked" }, { name: "realised" }, { name: "standard error" }, { name: "offered" }, { name: "goodput" }], loads, "Load"),
      table([{ name: "run", text: true }, { name: "ports", text: true }, { name: "number" }, { name: "mean" }, { name: "busiest" }], rows, "Utilisation by kind of port")));
};

// By kind of switch, where the runs have memory management units.
const pools = () => {
  const rows = runs.flatMap((run) => run.mmus.map((row) => [
    { show: [swatch(lineOf(run)), nameOf(run)] }, row.switch, whole(row.number), bytes(row.capacity_bytes), bytes(row.peak_bytes),
    whole(row.dropped_full), whole(row.dropped_threshold), whole(row.marked_queue), whole(row.marked_pool)]));
  return rows.length === 0 ? null : el("details", {}, el("summary", {}, "By memory management unit"), table(
    [{ name: "run", text: true }, { name: "switches", text: true }, { name: "MMUs" }, { name: "pool" }, { name: "fullest" }, { name: "dropped, pool full" },
      { name: "dropped, above threshold" }, { name: "marked by queue" }, { name: "marked by pool alone" }], rows, "Memory management units"));
};

// Reasons of drops as the tables have them, in words.
const REASONS = { buffer: "buffer full", headroom: "headroom full", "link-loss": "lost on a link", "link-down": "link down", "no-route": "no route",
  paused: "queue paused", nic: "NIC's queue full", "not-ect": "marked but not ECN-capable" };

const drops = () => {
  const reasons = unique(runs.flatMap((run) => Object.keys(run.summary.drops).filter((reason) => run.summary.drops[reason] > 0)));
  const retries = (run) => run.summary.flows.retransmitted_packets;
  // Columns that only some transports have.
  const extra = [
    ["share of data dropped by switches", (run) => run.summary.loss?.share, percent],
    ["timeouts", (run) => run.summary.timeouts?.total, whole],
    ["flows that timed out", (run) => run.summary.timeouts?.flows, whole],
  ].filter(([, read]) => runs.some((run) => read(run) !== undefined && read(run) !== null));
  return section("drops", "Drops and queue sharing", { note: "Packets lost by reason, packets sent again, and flows that had to share a queue." },
    table([{ name: "run", text: true }, ...reasons.filter((name) => name !== "credit").map((name) => ({ name: REASONS[name] ?? name })), { name: "dropped in all" }, ...(reasons.includes("credit") ? [{ name: "credits dropped by design" }] : []), ...extra.map(([name]) => ({ name })), { name: "retransmitted" },
      { name: "queue assignments" }, { name: "shared" }],
      runs.map((run) => {
        const { assignments, collisions } = run.summary.collisions;
        return [{ show: [swatch(lineOf(run)), nameOf(run)] }, ...reasons.filter((name) => name !== "credit").map((reason) => whole(run.summary.drops[reason] ?? 0)),
          whole(lost(run)), ...(reasons.includes("credit") ? [whole(run.summary.drops.credit ?? 0)] : []), ...extra.map(([, read, format]) => format(read(run))), whole(retries(run)), assignments ? whole(assignments) : "–",
          assignments ? percent(collisions / assignments) : "–"];
      }), "Drops"), pools());
};
