// The measurements that the experiment asks for, beside what was published. Lines along a swept number; a dot plot where nothing was
// swept, of the measurement of the first sentence where the experiment asks for none.
const firstChart = () => {
  const key = panelKey(), axis = key === undefined ? null : axisAlong(key);
  const wanted = data.panels.length ? data.panels : data.headline;
  if (wanted.length === 0) return null;
  const published = wanted.some((panel) => panel.published?.length);
  const title = published ? "Measured beside published" : axis ? `Along ${shortKey(key)}` : "Comparison";
  return axis ? section("panels", title, { note: data.figure?.title }, el("div", { class: "pair" }, ...wanted.map((panel, i) => panelLines(panel, i, key, axis))))
    : section("panels", title, { note: dotKey(wanted, published) }, panelDots(wanted));
};

const panelKeys = swept.filter((k) => k !== "seed");
const panelKey = () => panelKeys.find((k) => unique(data.runs.map((run) => run.point[k])).length > 1);
const boundsOf = (run) => interval([run.low, run.high]);
const isOf = (point, run) => run.variant === point.variant && Object.entries(point.where).every(([k, v]) => run.point[k] === v);

const dotKey = (wanted, published) => {
  const seeded = wanted.some((panel) => panel.runs.some(boundsOf)), { reference } = wanted.find((panel) => panel.reference) ?? {};
  const ideal = data.runs.some((run) => run.ideal);
  return [seeded ? "A dot is the mean over the seeds, the line through it the 95 % interval." : "A dot is the value of one run.",
    published ? "A band or diamond is what was published." : "", reference ? `The dashed line is at ${reference.name}.` : "",
    ideal ? "Hollow dots are schemes that cannot be built." : ""].filter(Boolean).join(" ");
};

const panelDots = (wanted) => {
  const runOf = new Map(data.runs.map((run) => [run.named, run]));
  const nameOfRun = (run) => [run.variant, ...Object.values(run.point)].join(", ");
  const columns = wanted.map((panel) => ({ label: panel.label, better: panel.better, reference: panel.reference, values: new Map(panel.runs.map((run) => {
    const beside = (panel.published ?? []).filter((point) => isOf(point, run) && (point.at === null || Object.values(run.point).includes(point.at)));
    return [nameOfRun(run), { value: run.value, bounds: boundsOf(run), published: beside.map(({ value }) => value).sort((a, b) => a - b) }];
  })) }));
  const all = new Map(wanted.flatMap((panel) => panel.runs.map((run) => [nameOfRun(run), run])));
  // The best comes first, by the first measurement.
  const { values, better } = columns[0], sign = better === "higher" ? -1 : 1;
  const rank = (name) => sign * (values.get(name)?.value ?? sign * Infinity);
  const rows = [...all].map(([name, run]) => {
    const faint = runOf.get(run.variant)?.ideal ?? false;
    return { name, index: run.slot, faint, title: faint ? `${name}: cannot be built` : name };
  });
  if (better) rows.sort((a, b) => (rank(a.name) === rank(b.name) ? 0 : rank(a.name) - rank(b.name)));
  return dotPlot("panels", rows, columns);
};

const panelLines = (panel, i, key, axis) => {
  const known = panel.runs.filter((run) => run.value !== null);
  const others = panelKeys.filter((k) => k !== key && data.panels.some((one) => one.runs.some((run) => k in run.point)));
  const lineName = (run) => [run.variant, ...others.map((k) => `${shortKey(k)} ${run.point[k]}`)].join(", ");
  const lineSlots = slotsOf(panel.runs, lineName), names = unique(known.map(lineName));
  // Of several lines of a variant the first carries its points.
  const lineOfPoint = (point) => names.findIndex((name) => known.some((run) => lineName(run) === name && isOf(point, run)));
  const placed = (panel.published ?? []).filter((point) => axis.place(point.at) !== null).sort((a, b) => axis.place(a.at) - axis.place(b.at));
  const positive = known.map((run) => run.value);
  const log = positive.length > 0 && Math.min(...positive) > 0 && Math.max(...positive) >= 10 * Math.min(...positive);
  const draw = (holder) => lineChart(`panel${i}`, holder, names.flatMap((name, n) => {
    const index = lineSlots.get(name);
    const at = known.filter((run) => lineName(run) === name).sort((a, b) => axis.at(a) - axis.at(b));
    const beside = placed.filter((point) => lineOfPoint(point) === n);
    return [{ name, index, x: at.map(axis.at), y: at.map((run) => run.value), bounds: at.map(boundsOf) },
      { name: `${name}, published`, index, x: beside.map((point) => axis.place(point.at)), y: beside.map((point) => point.value), published: true }];
  }), { label: axis.label, format: brief, log: axis.wide },
  // Lines that would be one on an axis from zero get one of their own.
  { label: "", format: brief, log, range: log ? undefined : (u, low, high) => (low > 0.5 * high && low < high ? [low - 0.1 * (high - low), high + 0.1 * (high - low)] : [0, (high || 1) * 1.05]) },
  { points: true, height: 260, marks: Object.entries(panel.marks ?? {}).map(([text, at]) => ({ text, x: axis.place(at) })).filter(({ x }) => x !== null) });
  return el("div", {}, el("h3", {}, panel.label, betterNote(BETTER[panel.better])), plot(`panel${i}`, `${panel.label}, a line per variant`, draw));
};
