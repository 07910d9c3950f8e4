// The first chart of a sweep: a row a point, a dot a variant, by the measurement of the first sentence. The name at the right has the
// lowest value there.
const winners = () => {
  const shown = data.winners;
  if (!shown) return null;
  const holder = el("div", { class: "dots", role: "img", "aria-label": `${shown.label}: ${shown.rows.length} points of the sweep` });
  const draw = () => holder.replaceChildren(winnersSvg(shown, Math.max(280, holder.clientWidth)));
  redraws.push(draw);
  const runs = shown.rows.flatMap((row) => row.runs);
  const several = unique(runs.map((run) => run.variant)).length > 1;
  const note = [`A row is a point of the sweep, a dot ${several ? "a variant" : "its value"}${runs.some(boundsOf) ? ", the line through it the 95 % interval" : ""}.`,
    several ? "The variant at the right has the lowest value." : "", shown.rows.some((row) => row.tie) ? "In a tie the intervals overlap." : "",
    runs.some((run) => run.ideal) ? "Hollow dots are schemes that cannot be built." : "", shown.left_out ? `${shown.left_out} points between these are left out.` : ""];
  return section("winners", shown.label, { better: BETTER[shown.better], note: note.filter(Boolean).join(" ") },
    el("div", { class: "plot" }, holder, files("winners", () => ({ svg: () => winnersSvg(shown, holder.clientWidth), rows: () => winnersRows(shown) }))));
};

const winnersRows = ({ label, rows }) => [["point", "variant", label, "low", "high"],
  ...rows.flatMap(({ point, runs }) => runs.map((run) => [point, run.variant, run.value, ...(boundsOf(run) ?? [null, null])]))];

const winnersSvg = ({ label, rows }, width) => {
  const [ink, soft, rule, paper] = ["--ink", "--soft", "--rule", "--paper"].map(style);
  const runs = rows.flatMap((row) => row.runs), names = [...new Map(runs.map((run) => [run.variant, run])).values()];
  const told = rows.map(({ best, tie }) => (best ? `${tie ? "tie: " : ""}${names.length > 1 ? `${best.variant} ` : ""}${brief(best.value)}` : "–"));
  const left = Math.min(0.3 * width, 14 + widest(rows.map((row) => row.point))), right = width - Math.min(0.4 * width, 14 + widest(told));
  // Variants of a row lie a little apart, so that none hides another.
  const apart = Math.min(6, 30 / names.length), row = Math.max(ROW, apart * names.length + 8), bottom = rows.length * row + 6;
  const text = (x, y, words, more = {}) => svgEl("text", { x, y, fill: ink, ...more }, words);
  const line = (x1, y1, x2, y2, stroke, more = {}) => svgEl("line", { x1, y1, x2, y2, stroke, ...more });
  const scale = dotScale(runs.filter((run) => run.value !== null).map((run) => ({ value: run.value, bounds: boundsOf(run), published: [] })), null, left, right);
  const nodes = scale ? scale.ticks.flatMap((tick) => [line(scale.at(tick), 0, scale.at(tick), bottom, rule),
    text(scale.at(tick), bottom + 16, brief(tick, digitsOf(scale.ticks)), { fill: soft, "text-anchor": "middle", "font-size": 11.5 })]) : [];
  rows.forEach(({ point, runs: here }, i) => {
    const y = 6 + i * row + row / 2;
    if (i > 0) nodes.push(line(0, y - row / 2, width, y - row / 2, rule));
    nodes.push(text(0, y + 4, point), text(right + 12, y + 4, told[i]));
    for (const run of here.filter(({ value }) => value !== null)) {
      const mine = y + apart * (names.findIndex(({ variant }) => variant === run.variant) - (names.length - 1) / 2);
      const tint = colour(run.slot), bounds = boundsOf(run)?.map(scale.clip);
      if (bounds) nodes.push(line(bounds[0].at, mine, bounds[1].at, mine, tint, { "stroke-width": 1.6 }));
      const words = `${point}, ${run.variant}: ${brief(run.value)}${boundsOf(run) ? ` (${boundsOf(run).map((v) => brief(v)).join(" to ")})` : ""}`;
      nodes.push(svgEl("circle", { class: "dot", cx: scale.at(run.value), cy: mine, r: 4, fill: run.ideal ? paper : tint, stroke: tint, "stroke-width": 2 }, svgEl("title", {}, `${label}, ${words}`)));
    }
  });
  let [x, y] = [left, bottom + 40];
  for (const run of names.length > 1 ? names : []) {
    const wide = 26 + 7 * run.variant.length;
    if (x + wide > width && x > left) [x, y] = [left, y + 20];
    nodes.push(svgEl("circle", { cx: x + 5, cy: y - 4, r: 5, fill: run.ideal ? paper : colour(run.slot), stroke: colour(run.slot), "stroke-width": 2 }), text(x + 15, y, run.variant));
    x += wide;
  }
  const height = names.length > 1 ? y + 8 : bottom + 24;
  return svgEl("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif", "font-size": 12.5 }, line(left, bottom, right, bottom, rule), ...nodes);
};
