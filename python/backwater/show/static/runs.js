// The runs: their names, colours and places in a sweep, and which of them the sections show.
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
const nameOf = (run) => (inSweep ? run.variant : run.shown) + run.mark;
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

// What the sections below show: all runs, or those at the chosen point of a sweep, which is the last one at first, as in the answer.
const pointAsked = settings("at-point", { point: [points, points.at(-1)] }).point;
let runs = inSweep ? data.runs.filter((run) => pointName(run.point) === pointAsked) : data.runs;

// A scheme that cannot be built, such as ideal fair queueing, is a bound and no contender.
const canWin = (run) => !run.ideal && !run.left_out;

// An ablation, which only tests the claims, would set the scale of a chart.
const drawn = (some) => some.filter((run) => !run.left_out);
// Packets that were lost: surplus credits are dropped by design.
const lost = (run) => sum(Object.entries(run.summary.drops).map(([reason, packets]) => (reason === "credit" ? 0 : packets)));
// Each seed by itself, with the flows that were explained of it and its network.
const bySeed = (some) => some.flatMap((run) => run.members?.map((one) => ({ ...run, ...one, summary: { ...run.summary, ...one.summary } })) ?? [run]);
