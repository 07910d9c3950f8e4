// Collectives: how long an iteration takes, which rank is last, and the bandwidth that comes to.
const collectives = () => {
  const known = drawn(runs).flatMap((run) => (run.collectives ?? []).map((one) => ({ ...one, run })));
  if (known.length === 0) return null;
  const several = unique(known.map((one) => one.class)).length > 1;
  const name = (one) => nameOf(one.run) + (several ? `, ${one.class}` : "");
  const within = ({ value, bounds }) => [seconds(value), interval(bounds) ? el("small", {}, ` ${bounds.map((v) => seconds(v)).join(" to ")}`) : null];
  const rows = known.map((one) => [
    { show: [swatch(lineOf(one.run)), name(one)], class: "whole" }, `${one.pattern}, ${one.ranks} ranks`, whole(one.iterations),
    one.completion ? { show: within(one.completion) } : "not complete", one.mean ? { show: within(one.mean) } : "–", one.slowest === null ? "–" : seconds(one.slowest),
    one.last ? `${one.last.host}, last in ${one.last.times} of ${one.last.of}` : "–", one.last ? seconds(one.last.behind) : "–", one.compute ? seconds(one.exposed) : "–", one.bus === null ? "–" : bits(one.bus)]);
  const drawable = known.filter((one) => one.times.length > 1);
  const chart = () => plot("collectives", "Time per iteration, a line per run", (holder) => lineChart("collectives", holder,
    drawable.map((one, index) => ({ name: name(one), index: several ? index : lineOf(one.run), x: one.times.map((_, i) => i + 1), y: one.times })),
    { label: "iteration", format: whole }, { label: "time per iteration", format: seconds, range: (u, low, high) => [0, (high || 1) * 1.05] }, { points: drawable[0].times.length <= 64, height: 240 }));
  return section("collectives", "Collectives and jobs", { better: LOWER,
    note: "An iteration ends when its last rank has ended it. The slowest rank is the one that is most often last alone; behind is how much later than the median rank it ends then, on average. Exposed is the time for which a rank is in an iteration and does not compute. Bus bandwidth is as in nccl-tests, and computation counts as time." },
    table([{ name: "run", text: true }, { name: "pattern", text: true }, { name: "iterations" }, { name: "completion" }, { name: "time per iteration" }, { name: "slowest iteration" },
      { name: "slowest rank", text: true }, { name: "behind" }, { name: "exposed" }, { name: "bus bandwidth" }], rows, "Collectives and jobs"),
    drawable.length ? chart() : null);
};
