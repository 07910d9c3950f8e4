// Ranks over time: a row for each rank, and in it what the rank does in each iteration.
const BAR = 17, STEP = BAR + 5, PALE = 0.4;

const timelines = () => {
  const known = drawn(runs).flatMap((run) => (run.timelines ?? []).map((line) => ({ run, line })));
  if (known.length === 0) return null;
  const several = unique(known.map(({ line }) => line.class)).length > 1;
  const nameOfOne = ({ run, line }) => nameOf(run) + (several ? `, ${line.class}` : "");
  const names = known.map(nameOfOne), first = known.find(({ run }) => canWin(run)) ?? known[0];
  const numbers = unique(known.flatMap(({ line }) => line.iterations.map(({ number }) => String(number))));
  const state = settings("timeline", { run: [names, nameOfOne(first)], iteration: [["longest", "all", ...numbers], "longest"] });
  const holder = el("div", { class: "dots", role: "img", "aria-label": "A row for each rank, with what it does in each iteration" });
  const note = el("p", { class: "note", role: "status" }), controls = el("div", { class: "controls" });
  let shown, spans;

  const length = ({ begin, end }) => end - begin;
  const longest = () => shown.line.iterations.reduce((a, b) => (length(b) > length(a) ? b : a));
  const span = () => {
    const { iterations } = shown.line;
    if (isWhole()) return { begin: Math.min(...iterations.map(({ begin }) => begin)), end: Math.max(...iterations.map(({ end }) => end)) };
    return iterations.find(({ number }) => String(number) === state.iteration) ?? longest();
  };
  const few = () => shown.line.iterations.length === shown.line.ended;
  const isWhole = () => state.iteration === "all" && few();

  const open = async () => {
    const wanted = known.find((one) => nameOfOne(one) === state.run), { line } = wanted;
    const [times, cells, bubbles, messages] = await Promise.all([line.times, line.cells, line.bubbles, line.messages].map((one) => (one === null ? null : inflate(one))));
    const t = new Uint32Array(times), c = new Uint16Array(cells), at = (v) => v * line.unit;
    const threes = (buffer) => { const m = new Uint32Array(buffer); return Array.from({ length: m.length / 3 }, (_, i) => ({ row: m[3 * i], begin: at(m[3 * i + 1]), end: at(m[3 * i + 2]) })); };
    if (state.run !== nameOfOne(wanted)) return; // Another was chosen meanwhile.
    shown = wanted;
    spans = {
      phases: Array.from({ length: t.length / 3 }, (_, i) => ({
        begin: at(t[3 * i]), end: at(t[3 * i] + t[3 * i + 1]), compute: at(t[3 * i + 2]),
        row: c[4 * i], iteration: line.iterations[c[4 * i + 1]], first: line.phases[c[4 * i + 2]], last: line.phases[c[4 * i + 3]],
      })),
      bubbles: threes(bubbles), messages: messages && threes(messages),
    };
    const chosen = line.iterations.some(({ number }) => String(number) === state.iteration) ? state.iteration : isWhole() ? "all" : "longest";
    const options = [["longest", `the longest (${whole(longest().number)})`], ...(few() ? [["all", "all"]] : []), ...line.iterations.map((one) => [String(one.number), `${whole(one.number)}: ${seconds(length(one))}`])];
    controls.replaceChildren(...[
      known.length > 1 ? select("Run", names.map((name) => [name, name]), state.run, (v) => { set("timeline", "run", v); open(); }) : null,
      line.iterations.length > 1 ? select("Iteration", options, chosen, (v) => { set("timeline", "iteration", v); draw(); }) : null].filter(Boolean));
    draw();
  };

  const draw = () => {
    const { line, run } = shown, fewer = line.rows.length < line.ranks, some = line.iterations.length < line.ended;
    note.textContent = [
      `The ${line.pattern} of ${whole(line.ranks)} ranks under ${nameOf(run)}${run.seeds ? `, seed ${run.seeds[0]}` : ""}.`,
      fewer ? `${line.rows.length} ranks are shown: those that are often the first, the median or the last, and others between.` : "",
      some ? `${line.iterations.length} of ${whole(line.ended)} iterations are shown: the longest, the shortest, the median and others.` : ""].filter(Boolean).join(" ");
    holder.replaceChildren(timelineSvg({ ...shown, ...spans, span: span(), all: isWhole() }, Math.max(280, holder.clientWidth)));
  };
  redraws.push(() => (spans ? draw() : open()));
  const sent = known.some(({ line }) => line.messages !== null);
  const keys = partKeys([PARTS[0], [null, sent ? "exposed, a message of the rank is under way" : PARTS[1][1], "--c1"], ...(sent ? [[null, "no message of it is under way: computes, or waits for one to be sent", "--c1", PALE]] : []),
    [null, "in another iteration", "--rule"], PARTS[3]]);
  return section("timeline", "Ranks over time", { note: "A bar is a phase, filled as high as the share of its time in which the rank computes. The tables do not say at which instants of a phase it computes." },
    controls, note, keys,
    el("div", { class: "plot" }, holder, files("timeline", () => ({
      svg: () => timelineSvg({ ...shown, ...spans, span: span(), all: isWhole() }, holder.clientWidth), rows: () => timelineRows(shown, spans) }))));
};

const phaseName = ({ first, last }) => (first === last ? first : `${first} to ${last}`);

const timelineRows = ({ line }, { phases }) => [["rank", "host", "iteration", "phase", "begin s", "end s", "compute s"],
  ...phases.map((one) => [line.rows[one.row].rank, line.rows[one.row].host, one.iteration.number, phaseName(one), one.begin, one.end, one.compute])];

const timelineSvg = ({ line, phases, bubbles, messages, span, all }, width) => {
  const [ink, soft, rule, compute, exposed, bubble] = ["--ink", "--soft", "--rule", "--c2", "--c1", "--c4"].map(style);
  const labels = line.rows.map(({ rank, host }) => `${rank} (${host})`);
  const left = Math.min(0.3 * width, 16 + Math.max(widest(labels), 11 * CHARACTER)), right = width - 22;
  const top = 20, bottom = top + STEP * line.rows.length, height = bottom + 40;
  const x = (t) => left + ((Math.min(Math.max(t, span.begin), span.end) - span.begin) / (span.end - span.begin)) * (right - left);
  const y = (row) => top + row * STEP;
  const rect = (one, at, tall, fill, more = {}, ...children) => svgEl("rect", { x: x(one.begin), y: at, width: Math.max(0.4, x(one.end) - x(one.begin)), height: tall, fill, ...more }, ...children);
  const seen = (one) => one.end > span.begin && one.begin < span.end;
  const here = (one) => all || one.iteration.number === span.number;
  const nodes = [];
  line.rows.forEach((_, row) => nodes.push(
    svgEl("text", { x: left - 8, y: y(row) + BAR - 3, fill: ink, "text-anchor": "end" }, labels[row]),
    rect(span, y(row), BAR, rule)));
  for (const one of bubbles.filter(seen)) nodes.push(rect(one, y(one.row), BAR, bubble, { class: "bubble" }, svgEl("title", {}, `rank ${line.rows[one.row].rank}: bubble of ${seconds(one.end - one.begin)} from ${seconds(one.begin)}`)));
  const inView = phases.filter(seen), mine = inView.filter(here), pale = messages ? mixed(exposed, style("--paper"), PALE) : exposed;
  for (const one of inView) {
    const name = phaseName(one);
    const title = `rank ${line.rows[one.row].rank}, iteration ${one.iteration.number}${name === line.class ? "" : `, ${name}`}: ${seconds(one.end - one.begin)} from ${seconds(one.begin)}; ` +
      `computes ${seconds(one.compute)}, exposed ${seconds(one.end - one.begin - one.compute)}`;
    nodes.push(rect(one, y(one.row), BAR, here(one) ? pale : rule, { class: "phase" }, svgEl("title", {}, title)));
  }
  // What lies over these does not hide their titles.
  const over = { "pointer-events": "none" }, byRow = line.rows.map((_, row) => mine.filter((one) => one.row === row));
  for (const { row, begin, end } of (messages ?? []).filter(seen)) {
    for (const one of byRow[row].filter((phase) => end > phase.begin && begin < phase.end)) nodes.push(rect({ begin: Math.max(begin, one.begin), end: Math.min(end, one.end) }, y(row), BAR, exposed, { class: "message", ...over }));
  }
  byRow.forEach((some, row) => computing(some).forEach((one) => {
    const tall = Math.max(1.5, BAR * Math.min(1, one.share)); // The least that can be seen.
    nodes.push(rect(one, y(row) + BAR - tall, tall, compute, { class: "compute", ...over }));
  }));
  // A line where a phase begins, if there is room.
  for (const one of mine) if (x(one.end) - x(one.begin) > 3 && one.begin > span.begin) nodes.push(svgEl("line", { x1: x(one.begin), x2: x(one.begin), y1: y(one.row), y2: y(one.row) + BAR, stroke: style("--paper"), "stroke-width": 1 }));
  // Time from the start of what is shown.
  const ticks = linearTicks(0, span.end - span.begin);
  for (const tick of ticks) {
    const at = x(span.begin + tick);
    nodes.push(svgEl("line", { x1: at, x2: at, y1: bottom, y2: bottom + 5, stroke: soft }), svgEl("text", { x: at, y: bottom + 18, fill: soft, "text-anchor": "middle", "font-size": 11.5 }, tick === 0 ? "0" : seconds(tick)));
  }
  if (all) for (const { end } of line.iterations) nodes.push(svgEl("line", { x1: x(end), x2: x(end), y1: top - 4, y2: bottom, stroke: ink, "stroke-dasharray": "2 3" }));
  const what = all ? `time from ${seconds(span.begin)}; dashed: an iteration ends` : `time in iteration ${span.number}, which begins at ${seconds(span.begin)}`;
  nodes.push(svgEl("line", { x1: left, x2: right, y1: bottom, y2: bottom, stroke: rule }), svgEl("text", { x: (left + right) / 2, y: bottom + 35, fill: soft, "text-anchor": "middle" }, what),
    svgEl("text", { x: left - 8, y: 13, fill: soft, "text-anchor": "end" }, "rank (host)"));
  return svgEl("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif", "font-size": 12.5 }, ...nodes);
};

// The share of computation over time in phases of a rank, which may overlap if they are of several iterations.
const computing = (some) => {
  const ends = unique(some.flatMap(({ begin, end }) => [begin, end])).sort((a, b) => a - b), busy = some.filter(({ compute }) => compute > 0);
  return ends.slice(1).map((end, i) => ({ begin: ends[i], end, share: sum(busy.filter((one) => one.begin <= ends[i] && one.end >= end).map((one) => one.compute / (one.end - one.begin))) })).filter(({ share }) => share > 0);
};

// A share of one colour on another, both as #rrggbb.
const mixed = (colour, ground, share) => {
  const parts = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
  const [a, b] = [parts(colour), parts(ground)];
  return `#${a.map((v, i) => Math.round(share * v + (1 - share) * b[i]).toString(16).padStart(2, "0")).join("")}`;
};
