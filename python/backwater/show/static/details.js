// The runs themselves: what they came to in all, the claims, the configuration, and how to run them again.
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
          ["pass", "part", "direction", "fail", "undecided", "unsettled", "vacuous", "fact", "refers", "not-run"].filter(verdicts).map((v) => `${verdicts(v)} ${v}`).join(", "),
          verdicts("fail") ? "bad" : verdicts("pass") ? "good" : undefined)
      : null,
    tile("Digest", el("span", { class: "mono digest" }, each("digest", (d) => d.slice(0, 12))), "of all tables"),
    tile(seeds > 1 ? "Seeds" : "Seed", seeds > 1 ? whole(seeds) : each("seed"), each("scale") && `scale ${each("scale")}`),
    tile("Version", each("version"), "Backwater"),
    computed ? tile("Time", seconds(wall)) : tile("Packet-hops/s", wall ? many(hops / wall) : "–", `${many(hops)} in ${seconds(wall)}`));
};

const seedNote = () => {
  const seeded = data.runs.find((run) => run.seeds);
  return seeded ? `Flows, drops and packet-hops are sums over the seeds. Curves over time and the network are those of seed ${seeded.seeds[0]}.` : null;
};

const overview = () => section("runs", "Runs", { note: seedNote() }, strip(),
  computed ? null : el("details", {}, el("summary", {}, data.runs.some((run) => run.members) ? "Each seed, with its digest" : "Each run, with its digest"), table(
    [{ name: "run", text: true }, { name: "scheme", text: true }, { name: "finished" }, { name: "unfinished" }, { name: "dropped" },
      { name: "retransmitted" }, { name: "packet-hops" }, { name: "packet-hops/s" }, { name: "digest" }],
    runs.flatMap((run) => (run.members ?? [run]).map((member) => ({ ...run, ...member, name: run.members ? member.name + member.mark : nameOf(run) }))).map((run) => [
      { show: [swatch(lineOf(run)), run.name] }, run.scheme,
      whole(run.summary.flows.finished), whole(run.summary.flows.unfinished), whole(lost(run)),
      whole(run.summary.flows.retransmitted_packets), many(run.summary.packet_hops), many(run.packet_hops_per_s),
      { show: run.digest.slice(0, 12), class: "mono" },
    ]), "Runs")));

const results = () => {
  const names = unique(data.runs.flatMap((run) => Object.keys(run.summary.results ?? {})));
  return section("results", "Results", { note: "What each run came to." },
    el("div", {}, table([{ name: "run", text: true }, ...names.map((name) => ({ name }))],
      data.runs.map((run) => [{ show: [swatch(lineOf(run)), run.name + run.mark] }, ...names.map((name) => brief(run.summary.results?.[name], 4))]), "Results")));
};

const claims = () => {
  if (data.claims.length === 0) return null;
  const judged = (row) => !["fact", "refers", "not-run"].includes(row.verdict);
  const kinds = { pass: "good", fail: "bad", direction: "warn", part: "warn", undecided: "warn", unsettled: "warn", vacuous: "warn" };
  const more = (text) => (text ? el("small", { class: "more" }, text) : null);
  const list = (rows) => table(
    [{ name: "claim", text: true }, { name: "what", text: true }, { name: "expected", text: true }, { name: "measured", text: true }, { name: "verdict", text: true }],
    rows.map((row) => [{ show: row.claim, class: "whole" }, { show: [row.metric, more(row.says)] },
      { show: [row.expected, ...(row.amended ?? []).map((why) => more(`amended: ${why}`))] }, { show: [row.measured, more(row.settling), more(row.configured), more(row.without), more(row.needs), more(row.note)] },
      { show: [row.verdict + (row.amended?.length ? "*" : ""), more(row.coverage)], class: `whole verdict ${kinds[row.verdict] ?? ""}` }]), "Claims");
  const rest = data.claims.filter((row) => !judged(row));
  const counted = ["pass", "part", "direction", "fail", "undecided", "unsettled", "vacuous"].map((verdict) => [data.claims.filter((row) => row.verdict === verdict).length, verdict]).filter(([n]) => n);
  const hint = counted.length ? counted.map(([n, verdict]) => `${n} ${verdict}`).join(", ") : "none could be judged";
  return foldedSection("claims", "Claims", rest.length ? `${hint}; ${rest.length} not judged` : hint,
    el("p", { class: "note" }, "What the publication says beside what was measured here, with 95 % intervals over the seeds. part: what could be judged holds, but not all could be judged. direction: at least half of the effect is there. undecided: the interval allows both answers; more seeds decide. unsettled: a measurement would be another number in a longer run. vacuous: the claim also holds without the mechanism that it credits. fact: the set-up implies it, so no measurement could contradict it. *: the expectation was changed after a result was seen."),
    data.claims.some(judged) ? list(data.claims.filter(judged)) : null,
    rest.length ? el("details", { open: data.claims.some(judged) ? undefined : "" }, el("summary", {}, `Facts, claims of other figures, and claims that were not run (${rest.length})`), list(rest)) : null);
};

// Keys of tables that a run's scheme does not use are not among them.
const configuration = () => {
  const keys = unique(runs.flatMap((run) => Object.keys(run.config)));
  // A scheme that does not use a table does not differ in it.
  const uses = (run, key) => !run.unused.includes(key.split(".").slice(0, 2).join("."));
  const differs = (key) => new Set(runs.filter((run) => uses(run, key)).map((run) => run.config[key])).size > 1;
  const differing = keys.filter(differs), holder = el("div");
  const state = settings("configuration", { show: [["differences", "all"], "differences"] });
  const show = () => {
    const shown = state.show === "all" || runs.length === 1 ? keys : differing;
    holder.replaceChildren(shown.length === 0 ? el("p", { class: "note" }, "The runs do not differ.") : table(
      [{ name: "key", text: true }, ...runs.map((run) => ({ name: nameOf(run), text: true }))],
      shown.map((key) => [{ show: key, class: "mono" }, ...runs.map((run) => ({ show: run.config[key] ?? "–", class: `mono ${state.show === "all" && differs(key) ? "best" : ""}` }))]),
      "Configuration"));
  };
  show();
  return foldedSection("configuration", "Configuration", runs.length > 1 ? `${differing.length} of ${keys.length} keys differ` : `${keys.length} keys`,
    runs.length > 1 ? el("div", { class: "controls" }, choice("Show", [["differences", "what differs"], ["all", "everything, defaults included"]], state.show,
      (v) => { set("configuration", "show", v); show(); })) : null,
    holder);
};

const rerun = () => section("rerun", "Run it again", {}, ...data.experiments.map((experiment) => copyable(experiment.command)));

const footer = () => el("footer", {},
  `Backwater ${unique(data.experiments.map((e) => e.version)).join(", ")}. Digest ${unique(data.experiments.map((e) => e.digest)).join(", ")}. ` +
  "Wall-clock figures are not part of the digest. The tables behind this page are Parquet files beside it.");
