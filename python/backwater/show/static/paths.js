// Why an iteration took so long: critical paths that were stored, by cause and beside one another. Of one, its steps over time, the
// longest of them, and of the step that the reader picks the ports on its way.
const CAUSE_TINTS = {
  compute: "--c2", own: "--c0", queue: "--c4", "other-queues": "--c7", "other-flows": "--c3", paused: "--bad", transport: "--c5",
  recovery: "--c6", "acks-and-frames": "--soft", idle: "--rule", hosts: "--c1", unfollowed: "--soft", "queue-pair": "--c5",
};
// Of causes that differ in the class of packets only, the longest has the full colour.
const SHADES = [1, 0.6, 0.38, 0.24];
const PATH_ROWS = 6, PATH_TOLD = 4;

const iterationPaths = () => {
  const known = bySeed(drawn(runs)).filter((run) => run.path);
  if (known.length === 0) return null;
  const name = (run) => (run.members ? run.name + run.mark : nameOf(run));
  const names = known.map(name), first = known.find(canWin) ?? known[0];
  const state = settings("iteration-path", { run: [names, name(first)] });
  const same = unique(known.map(({ path }) => `${path.iteration} ${path.class}`)).length === 1;
  const causes = causesOf(known.map(({ path }) => path));
  let shown = null, pieces, at = null, begin = 0, asked = 0;

  const told = el("div"), beside = el("div"), keys = el("div"), chosen = el("p", { class: "finding" });
  const holder = el("div", { class: "dots", role: "img", "aria-label": "Ranks on the path over time: horizontal where one computes, slanted where a message is under way; the list below has the longest steps" });
  const status = el("p", { class: "note", role: "status" }), places = el("div"), listed = el("div", { id: "path-steps" });
  const button = (text, onclick, of = {}) => el("button", { type: "button", onclick, ...of }, text);
  const [shorter, longer, where] = [button("After", () => turn(PATH_ROWS)), button("Before", () => turn(-PATH_ROWS)), el("span", { class: "when" })];
  const [previous, next] = [button("Step before", () => pick(at - 1)), button("Step after", () => pick(at + 1))];
  const heading = el("h3", { tabindex: "-1" }), step = el("div");
  const panel = el("div", { id: "path-step", hidden: "" }, el("div", { class: "controls" }, heading, previous, next, button("Close", () => pick(null))), step);

  const tint = (words) => causes.get(words).tint();
  const square = (words) => el("i", { class: "square", style: `background: ${tint(words)}`, "aria-hidden": "true" });
  const bar = (parts, whole, attributes = {}) => el("div", { class: "timebar", ...attributes },
    ...parts.map(([span, words, title]) => el("i", { style: `flex-grow: ${span / whole}; background: ${tint(words)}`, title: title ?? `${words}: ${seconds(span)} (${tenths(span / whole)})` })));

  // ---- all of them

  const drawBeside = () => {
    const lines = unique(known.flatMap(({ path }) => path.compared));
    const few = known.length > PATH_TOLD && shown ? [shown] : known;
    told.replaceChildren(...(lines.length ? lines.map((line) => el("p", { class: "finding" }, line)) : known.length > 1 ? few.map((run) => el("p", { class: "finding" }, el("b", {}, name(run)), `: ${run.path.told}`)) : []));
    const most = Math.max(...known.map(({ path }) => path.time)), words = [...causes.keys()];
    const row = (run) => [
      { show: [swatch(lineOf(run)), name(run)], class: "whole" },
      { show: bar(words.map((one) => [spanOf(run.path, one), one]).filter(([span]) => span > 0), run.path.time, { class: "timebar thin", style: `width: ${(100 * run.path.time) / most}%`, "aria-hidden": "true" }), class: "widest" },
      ...(same ? [] : [{ show: `${whole(run.path.iteration)} of ${run.path.class}` }]), seconds(run.path.time), seconds(run.path.mean)];
    const cell = (run, one) => { const span = spanOf(run.path, one); return span ? `${seconds(span)} (${tenths(span / run.path.time)})` : "–"; };
    beside.replaceChildren(
      table([{ name: "run", text: true }, { name: "", text: true }, ...(same ? [] : [{ name: "iteration" }]), { name: same ? `iteration ${whole(first.path.iteration)} of ${first.path.class}` : "time" }, { name: "mean iteration" }], known.map(row), "Time of an iteration by cause"),
      el("details", {}, el("summary", {}, known.length > 1 ? "The same in numbers, side by side" : "The same in numbers"),
        table([{ name: "cause", text: true }, ...known.map((run) => ({ name: name(run) }))],
          [...words.map((one) => [{ show: [square(one), one] }, ...known.map((run) => cell(run, one))]), ["all", ...known.map(({ path }) => seconds(path.time))]], "Time of an iteration by cause, in numbers")));
    keys.replaceChildren(el("ul", { class: "keys" }, ...words.filter((one) => causes.get(one).share >= 0.002).map((one) => el("li", {}, square(one), one))));
  };

  // ---- one of them

  const open = async () => {
    const run = known.find((one) => name(one) === state.run), mine = ++asked;
    run.path.unpacked ??= unpackPath(await inflate(run.path.pieces));
    if (mine !== asked) return; // Another was chosen meanwhile.
    [shown, pieces, at, begin] = [run, run.path.unpacked, null, 0];
    draw();
  };
  const mostly = (piece) => shown.path.causes[piece.causes[0]?.[0] ?? 0].words;
  const numberOf = ({ step: one, many: n }) => (n > 1 ? `steps ${whole(one + 1)} to ${whole(one + n)} of ${whole(shown.path.steps)}` : `step ${whole(one + 1)} of ${whole(shown.path.steps)}`);
  const words = (piece) => `${numberOf(piece)}, ${piece.words}: ${seconds(piece.span)}, mostly ${mostly(piece)}`;
  const tell = (piece) => { status.textContent = piece ? words(piece) : "Touch the drawing to see which step it is, and click it to see where its time went."; };
  const svg = (width) => pathSvg({ ...shown, pieces, causes, tint, mostly, picked: at === null ? null : pieces[at] }, width);
  const drawPath = () => {
    const node = svg(Math.max(280, holder.clientWidth));
    const found = (event) => {
      const box = node.getBoundingClientRect(), [left, right] = node.ends;
      const time = ((event.clientX - box.left - left) / (right - left)) * shown.path.time;
      return time < 0 || time > shown.path.time ? null : Math.max(0, pieces.findIndex((piece) => piece.end >= time));
    };
    node.addEventListener("pointermove", (event) => { const i = found(event); tell(i === null ? null : pieces[i]); });
    node.addEventListener("pointerleave", () => tell(at === null ? null : pieces[at]));
    node.addEventListener("click", (event) => { const i = found(event); if (i !== null) pick(i); });
    holder.replaceChildren(node);
  };
  const longest = () => (shown.longest ??= [...pieces.keys()].filter((i) => pieces[i].many === 1).sort((a, b) => pieces[b].span - pieces[a].span || a - b));
  const drawList = () => {
    const all = longest(), last = Math.min(begin + PATH_ROWS, all.length);
    listed.replaceChildren(table([{ name: "step", text: true }, { name: "what", text: true }, { name: "begins" }, { name: "time" }, { name: "mostly", text: true }],
      all.slice(begin, last).map((i) => [
        { class: "whole", show: button(whole(pieces[i].step + 1), () => pick(i, true), { class: "link", "aria-pressed": String(i === at) }) },
        pieces[i].words, pieces[i].begin ? seconds(pieces[i].begin) : "0", seconds(pieces[i].span), { show: [square(mostly(pieces[i])), mostly(pieces[i])] }]), "The longest steps"));
    [longer.disabled, shorter.disabled] = [begin === 0, last === all.length];
    where.textContent = `${begin + 1} to ${last} of ${whole(all.length)}`;
  };
  const turn = (by) => { begin = Math.max(0, begin + by); drawList(); };
  const pick = (i, go = false) => {
    at = i;
    draw();
    if (go) heading.focus();
    const piece = i === null ? null : pieces[i];
    if (!networkOfFlows.follow) return;
    const aside = piece ? piece.span / 4 : 0, [from, to] = piece ? [shown.path.begin + piece.begin, shown.path.begin + piece.end] : [0, 0];
    networkOfFlows.follow(piece?.way ? { run: shown.name, name: `flow ${piece.number}`, from, to, way: piece.way, range: [Math.max(0, from - aside), to + aside] } : null);
  };
  const drawStep = () => {
    panel.hidden = at === null;
    if (at === null) return;
    const piece = pieces[at], hops = piece.hops ?? [];
    heading.textContent = numberOf(piece).replace(/^s/, "S");
    [previous.disabled, next.disabled] = [at === 0, at + 1 === pieces.length];
    const causeName = (i) => shown.path.causes[i].words;
    const parts = hops.length ? hops.flatMap((hop) => hop.parts.map(([span, what, i]) => [span, causeName(i), `${seconds(span)} ${what}, at ${hop.where}`]))
      : piece.causes.map(([i, span]) => [span, causeName(i)]);
    const item = ([span, what, i]) => el("li", {}, square(causeName(i)), `${seconds(span)} ${what}`);
    step.replaceChildren(...[
      el("p", { class: "finding" }, `${piece.words[0].toUpperCase()}${piece.words.slice(1)}: ${seconds(piece.span)}, from ${piece.begin ? seconds(piece.begin) : "0"} in the iteration.${piece.flow ? ` It is ${piece.flow}.` : ""}`),
      bar(parts, piece.span, { role: "img", "aria-label": "The time of the step by cause; the list below says the same" }),
      hops.length ? el("ul", { class: "tree", id: "path-tree" }, ...hops.map((hop) => el("li", {}, `${hop.where}: ${seconds(hop.span)} (${tenths(hop.span / piece.span)})`, el("ul", {}, ...hop.parts.map(item)))))
        : el("ul", { class: "keys" }, ...piece.causes.map(([i, span]) => el("li", {}, square(causeName(i)), `${causeName(i)} ${seconds(span)}`)))]);
  };
  const draw = () => {
    drawBeside();
    const { path } = shown, joined = pieces.filter(({ many: n }) => n > 1);
    chosen.replaceChildren(...(known.length > 1 ? [el("b", {}, name(shown)), ": "] : []), path.told,
      joined.length ? ` Of ${whole(path.steps)} steps, ${whole(pieces.length - joined.length)} are drawn one by one, the longest among them. Those between are joined, and dashed.` : "");
    places.replaceChildren(table([{ name: "where", text: true }, { name: "what", text: true }, { name: "share" }, { name: "time" }],
      path.places.map(([place, what, share, time]) => [place, what, tenths(share), seconds(time)]), "Where the iteration spent its time"));
    drawPath();
    tell(at === null ? null : pieces[at]);
    drawList();
    drawStep();
  };

  redraws.push(() => (shown ? draw() : open()));
  window.backwater.path = () => ({ run: shown && name(shown), at, pieces });
  const rows = () => [["step", "steps", "what", "begin s", "end s", "from rank", "to rank", "mostly"], ...pieces.map((piece) =>
    [piece.step + 1, piece.many, piece.words, piece.begin, piece.end, shown.path.ranks[piece.from], shown.path.ranks[piece.to], mostly(piece)])];
  return section("iteration-path", "Why an iteration took so long",
    { note: "The end of an iteration waited for a message, that message for a computation, and so on back to its start. This chain is the critical path. Whatever is not on it may be slower without an effect. The parts of a path sum to the time of the iteration." },
    told, beside, keys,
    known.length > 1 ? el("div", { class: "controls" }, select("Path of", names.map((one) => [one, one]), state.run, (v) => { set("iteration-path", "run", v); open(); })) : null,
    chosen, el("div", { class: "plot" }, holder, files("iteration-path", () => ({ svg: () => svg(holder.clientWidth), rows }))), status,
    el("h3", {}, "The longest steps"), listed, el("div", { class: "player" }, longer, shorter, where), panel,
    el("details", {}, el("summary", {}, "Where the iteration spent its time, by place and cause"), places), addPath());
};

// Causes of these paths, the longest first, each with its colour.
const causesOf = (paths) => {
  const found = new Map();
  for (const { causes, time } of paths) for (const { why, words, span } of causes) {
    const one = found.get(words) ?? { why, span: 0, share: 0 };
    found.set(words, { why, span: one.span + span, share: Math.max(one.share, span / time) });
  }
  const sorted = new Map([...found].sort((a, b) => b[1].span - a[1].span)), seen = {};
  for (const one of sorted.values()) {
    const nth = (seen[one.why] = (seen[one.why] ?? -1) + 1);
    one.tint = () => mixed(style(CAUSE_TINTS[one.why]), style("--paper"), SHADES[Math.min(nth, SHADES.length - 1)]);
  }
  return sorted;
};
const spanOf = (path, words) => path.causes.find((one) => one.words === words)?.span ?? 0;

// Times in seconds, and the start of each piece.
const unpackPath = (buffer) => {
  let begin = 0;
  return JSON.parse(new TextDecoder().decode(buffer)).map((piece) => {
    const end = piece.end * 1e-12, made = {
      ...piece, begin, end, span: end - begin, causes: piece.causes.map(([i, ps]) => [i, ps * 1e-12]),
      hops: piece.hops?.map((hop) => ({ ...hop, span: hop.span * 1e-12, parts: hop.parts.map(([ps, ...rest]) => [ps * 1e-12, ...rest]) })),
    };
    begin = end;
    return made;
  });
};

// Time from left to right, ranks on the path from top to bottom. `ends` of the node is where the time axis begins and ends.
const pathSvg = ({ path, pieces, tint, mostly, picked }, width) => {
  const [ink, soft, rule] = ["--ink", "--soft", "--rule"].map(style), { ranks, time } = path;
  const gap = ranks.length <= 24 ? 18 : Math.max(432 / ranks.length, 0.4), left = 16 + CHARACTER * Math.max(4, String(ranks.at(-1)).length), right = width - 22;
  const top = 26, bottom = top + gap * ranks.length, height = bottom + 40;
  const x = (t) => left + (t / time) * (right - left), y = (row) => top + (row + 0.5) * gap;
  const every = Math.max(1, Math.ceil(14 / gap)), crowded = pieces.length > 500, thick = Math.max(1.5, Math.min(7, gap * 0.6)), thin = crowded ? 1.2 : 2;
  const line = (piece, stroke, more) => svgEl("line", { x1: x(piece.begin), y1: y(piece.from), x2: x(piece.end), y2: y(piece.to), stroke, ...more });
  const flat = (piece) => piece.from === piece.to && piece.many === 1;
  const nodes = ranks.flatMap((rank, row) => (row % every ? [] : [
    svgEl("line", { x1: left, x2: right, y1: y(row), y2: y(row), stroke: rule, "stroke-width": 0.6 }),
    svgEl("text", { x: left - 8, y: y(row) + 4, fill: ink, "text-anchor": "end" }, String(rank))]));
  for (const piece of pieces) nodes.push(line(piece, tint(mostly(piece)), { class: "piece", "stroke-width": flat(piece) ? thick : thin, ...(piece.many > 1 ? { "stroke-dasharray": "3 2" } : {}) }));
  if (picked) {
    const middle = x((picked.begin + picked.end) / 2), bold = flat(picked) ? thick : thin + 1;
    nodes.push(line(picked, ink, { "stroke-width": bold + 4, "stroke-linecap": "round", class: "picked" }), line(picked, tint(mostly(picked)), { "stroke-width": bold }),
      svgEl("path", { d: `M${middle - 5} ${top - 9}h10l-5 7z`, fill: ink }));
  }
  for (const tick of linearTicks(0, time, 8)) nodes.push(svgEl("line", { x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 5, stroke: soft }), svgEl("text", { x: x(tick), y: bottom + 18, fill: soft, "text-anchor": "middle", "font-size": 11.5 }, tick === 0 ? "0" : seconds(tick)));
  nodes.push(svgEl("line", { x1: left, x2: right, y1: bottom, y2: bottom, stroke: rule }), svgEl("text", { x: left - 8, y: 13, fill: soft, "text-anchor": "end" }, "rank"),
    svgEl("text", { x: (left + right) / 2, y: bottom + 35, fill: soft, "text-anchor": "middle" }, `time in iteration ${path.iteration}, which begins at ${path.begin ? seconds(path.begin) : "0"}`));
  const node = svgEl("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif", "font-size": 12.5, style: "cursor: pointer" }, ...nodes);
  node.ends = [left, right];
  return node;
};

// The commands that add paths of runs that have none.
const pathCommands = () => drawn(runs).map((run) => run.path_command).filter((one, i, all) => one && all.findIndex((other) => other?.command === one.command) === i);
const both = (names) => (names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0]);
const addPath = () => {
  const found = pathCommands();
  return found.length === 0 ? null : el("details", {}, el("summary", {}, `Explain ${both(found.flatMap(({ labels }) => labels))} too`), ...found.map(({ command }) => copyable(command)));
};
// Where no run has a path yet.
const whyIteration = () => {
  const found = bySeed(drawn(runs)).some((run) => run.path) ? [] : pathCommands();
  return found.map(({ labels, iteration, usual, command }) => el("div", { class: "why-iteration" },
    el("p", { class: "note" }, `Why does an iteration take so long? This command runs ${both(labels)} again, follows the messages that ${iteration === "slowest" ? "the slowest iteration" : `iteration ${iteration}`} waited for, and adds to this page where its time went.${usual ? ` Its times come nearest to the mean time under each run.` : ""}`),
    copyable(command)));
};
