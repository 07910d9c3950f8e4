// Collectives and jobs: how long an iteration takes, where its time goes, which rank is last, and the bandwidth that comes to.
// What a rank does in an iteration: key, name, and colour. Each instant is one of these.
const PARTS = [["compute", "computes", "--c2"], ["exposed", "exposed communication", "--c1"], ["other", "in other iterations only", "--rule"], ["bubble", "bubble", "--c4"]];
const partKeys = (parts = PARTS) => el("ul", { class: "keys" }, ...parts.map(([, name, tint, opacity = 1]) => el("li", {}, el("span", { class: "square", style: `background: var(${tint}); opacity: ${opacity}`, "aria-hidden": "true" }), name)));

const collectives = () => {
  const known = drawn(runs).flatMap((run) => (run.collectives ?? []).map((one) => ({ ...one, run })));
  if (known.length === 0) return null;
  const several = unique(known.map((one) => one.class)).length > 1;
  const name = (one) => nameOf(one.run) + (several ? `, ${one.class}` : "");
  // An interval that reads as the value does says nothing. Those of percentiles are titles, for room.
  const wide = (measured) => interval(measured.bounds) && measured.bounds.some((v) => seconds(v) !== seconds(measured.value)) ? measured.bounds.map((v) => seconds(v)).join(" to ") : null;
  const within = (measured) => (measured ? { show: [seconds(measured.value), wide(measured) ? el("small", {}, ` ${wide(measured)}`) : null] } : "–");
  const percentile = (measured) => (measured ? { show: seconds(measured.value), title: wide(measured) ?? undefined } : "–");
  const any = (key) => known.some((one) => one[key]);
  const columns = [
    ["run", (one) => ({ show: [swatch(lineOf(one.run)), name(one)], class: "whole" }), true],
    ["pattern", (one) => one.pattern, true],
    ["ranks", (one) => whole(one.ranks)],
    ["iterations", (one) => (one.ended < one.iterations ? `${whole(one.ended)} of ${whole(one.iterations)}` : whole(one.iterations))],
    ["completion", (one) => (one.completion ? within(one.completion) : "not complete")],
    ["time per iteration", (one) => within(one.mean)],
    ...["p50", "p95", "p99"].filter(any).map((key) => [key, (one) => percentile(one[key])]),
    ["longest", (one) => (one.slowest === null ? "–" : seconds(one.slowest))],
    ...[["alg", "algbw"], ["bus", "busbw"]].filter(([key]) => any(key)).map(([key, title]) => [title, (one) => (one[key] === null ? "–" : bits(one[key]))]),
  ];
  const drawable = known.filter((one) => one.times.length > 1);
  const chart = () => plot("collectives", "Time per iteration, a line per run", (holder) => lineChart("collectives", holder,
    drawable.map((one, index) => ({ name: name(one), index: several ? index : lineOf(one.run), x: one.times.map((_, i) => i + 1), y: one.times })),
    { label: "iteration", format: (v) => (Number.isInteger(v) ? whole(v) : ""), name: whole }, { label: "time per iteration", format: seconds, range: (u, low, high) => [0, (high || 1) * 1.05] }, { points: drawable[0].times.length <= 64, height: 240 }));
  return section("collectives", "Collectives and jobs", { better: LOWER,
    note: "Time per iteration is counted from the end of one iteration to the end of the next. An iteration ends when its last rank has ended it. Algbw and busbw are the bandwidths of nccl-tests, and computation counts as time." },
    table(columns.map(([title, , text]) => ({ name: title, text })), known.map((one) => columns.map(([, read]) => read(one))), "Collectives and jobs"),
    drawable.length ? chart() : null,
    ...timeOfRanks(known, name), ...slowestRanks(known, name), ...whyIteration());
};

// Which rank the others wait for.
const slowestRanks = (known, name) => {
  const told = known.filter((one) => one.last);
  return told.length === 0 ? [] : [el("h3", {}, "Which rank is last"),
    el("p", { class: "note" }, "The slowest rank is the one that is most often last alone. Behind is how much later than the median rank it ends then, on average."),
    table([{ name: "run", text: true }, { name: "slowest rank", text: true }, { name: "last in" }, { name: "behind" }],
      told.map((one) => [{ show: [swatch(lineOf(one.run)), name(one)], class: "whole" }, one.last.host, `${one.last.times} of ${one.last.of} iterations`, seconds(one.last.behind)]), "Which rank is last")];
};

// Where the time of an iteration goes: a bar for each run, as long as its iteration.
const timeOfRanks = (known, name) => {
  const told = known.filter((one) => one.exposed !== null);
  if (told.length === 0) return [];
  const total = (one) => sum(PARTS.map(([key]) => one[key])), most = Math.max(...told.map(total));
  const bar = (one) => el("div", { class: "timebar thin", style: `width: ${(100 * total(one)) / most}%`, "aria-hidden": "true" },
    ...PARTS.filter(([key]) => one[key] > 0).map(([key, , tint]) => el("i", { style: `flex-grow: ${one[key] / total(one)}; background: var(${tint})` })));
  return [el("h3", {}, "What a rank does in an iteration"),
    el("p", { class: "note" }, "The mean over ranks and iterations, from the start of the first rank to the end of the last. A rank that waits for a message is in exposed communication, also while the message has not been sent. In a bubble, it has no operation ready or under way."),
    partKeys(),
    table([{ name: "run", text: true }, { name: "", text: true }, { name: "iteration" }, ...PARTS.map(([, title]) => ({ name: title }))],
      told.map((one) => [{ show: [swatch(lineOf(one.run)), name(one)], class: "whole" }, { show: bar(one), class: "wide" }, seconds(total(one)),
        ...PARTS.map(([key]) => (one[key] ? `${seconds(one[key])} (${percent(Number((one[key] / total(one)).toPrecision(2)))})` : "–"))]), "What a rank does in an iteration")];
};
