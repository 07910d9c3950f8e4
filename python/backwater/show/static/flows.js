// Flows that were explained: why they were slow, dots over the slowdowns, a list, and for the one that the reader picks where its time
// went, its rate and, in the network over time, its path.
const explainedFlows = () => {
  const explained = bySeed(runs).filter((run) => run.explained);
  if (explained.length === 0) return null;
  const state = settings("why", { run: [explained.map((run) => run.name), explained[0].name], axis: [["life", "run"], "life"] });

  // If more runs than this are explained, only the chosen one is told of.
  const ROWS = 8, TOLD = 4;
  const colours = {
    paused: "--bad", queue: "--c4", "other-queues": "--c2", "other-flows": "--c3", "own-packets": "--c0",
    "acks-and-frames": "--c7", transport: "--c5", recovery: "--c6", idle: "--rule", link: "--soft",
  };
  const square = (why) => el("i", { class: "square", style: `background: var(${colours[why]})`, "aria-hidden": "true" });
  const find = (name) => explained.find((run) => run.name === name);
  let run = find(state.run), at = null, flow = null, first = 0, asked = 0;

  const findings = el("div");
  const causes = el("div");
  const listed = el("div", { id: "flow-list" });
  const list = el("details", {}, el("summary", {}, "The flows, the slowest first"));
  const said = el("output", { class: "when", role: "status" });
  const chooser = el("select", { onchange: (event) => show(find(event.target.value)) }, ...explained.map((one) => el("option", { value: one.name }, one.name)));
  const number = el("input", { type: "text", inputmode: "numeric", size: 9, "aria-label": "Number of a flow" });
  const button = (text, onclick, of = {}) => el("button", { type: "button", onclick, ...of }, text);
  const [before, after, where] = [button("Before", () => turn(-ROWS)), button("After", () => turn(ROWS)), el("span", { class: "when" })];
  const [slower, faster] = [button("Slower", () => pick(run, at - 1)), button("Faster", () => pick(run, at + 1))];
  const heading = el("h3", { tabindex: "-1" }), shown = el("div");
  const panel = el("div", { id: "flow", hidden: "" }, el("div", { class: "controls" }, heading, slower, faster, button("Close", () => close())), shown);

  // ---- which flow

  const unpack = ({ explained: of }, block) => ((of.unpacked ??= [])[block] ??= inflate(of.details[block])
    .then((buffer) => JSON.parse(new TextDecoder().decode(buffer))));
  // While nothing else is to do, so that no pick has to wait for it.
  const ahead = async () => {
    for (const of of explained) for (const block of of.explained.details.keys()) {
      await new Promise((idle) => (window.requestIdleCallback ?? setTimeout)(idle));
      if (!panel.isConnected) return;
      await unpack(of, block);
    }
  };
  // `go`: to what there is to read of it.
  const pick = async (of, i, go = false) => {
    const mine = ++asked, { block } = of.explained;
    const found = (await unpack(of, Math.floor(i / block)))[i % block];
    if (mine !== asked || !panel.isConnected) return;
    if (of !== run) show(of);
    list.open = true;
    [at, flow, first] = [i, found, Math.floor(i / ROWS) * ROWS];
    said.textContent = "";
    draw();
    if (go) heading.focus();
  };
  const close = () => { asked++; at = flow = null; draw(); number.focus(); };
  const show = (of) => {
    [run, first, at, flow] = [of, 0, null, null];
    set("why", "run", of.name);
    chooser.value = of.name;
    draw();
  };
  const look = (event) => {
    event.preventDefault();
    const asked = number.value.trim(), i = run.explained.flow.indexOf(Number(asked || NaN));
    if (i >= 0) return pick(run, i, true);
    said.textContent = asked && `Flow ${asked} is not among those explained here: backwater explain RUN --flow ${asked} --page`;
  };

  // ---- lists

  const drawList = () => {
    const { causes: rows, flow: numbers, class: classes, size, slowdown } = run.explained;
    const finding = ({ name, explained: { told, left_out: left, flow: { length } } }) => el("p", { class: "finding" }, el("b", {}, name), `, ${told}` + (left ? ` The ${length} slowest are here.` : ""));
    findings.replaceChildren(...(explained.length > TOLD ? [run] : explained).map(finding));
    causes.replaceChildren(table([{ name: "where", text: true }, { name: "what", text: true }, { name: "share" }, { name: "mean" }],
      rows.map(([where, what, share, mean]) => [where, what, tenths(share), seconds(mean)]), "Where these flows spent their time"));
    const last = Math.min(first + ROWS, numbers.length);
    listed.replaceChildren(table([{ name: "flow", text: true }, { name: "class", text: true }, { name: "size" }, { name: "slowdown" }],
      numbers.slice(first, last).map((one, j) => [
        { class: "whole", show: button(String(one), () => pick(run, first + j, true), { class: "link", "aria-pressed": String(first + j === at) }) },
        classes[first + j], bytes(size[first + j]), brief(slowdown[first + j])]), "Explained flows"));
    [before.disabled, after.disabled] = [first === 0, last === numbers.length];
    where.textContent = `${first + 1} to ${last} of ${numbers.length}`;
  };
  const turn = (by) => { first = Math.max(0, first + by); drawList(); };

  // ---- one flow

  const tile = (name, value, under) => el("div", { class: "tile" }, el("dt", {}, name), el("dd", {}, value, under ? el("small", {}, under) : null));
  const partWords = (span, what) => `${seconds(span)} ${what}`;
  const bar = () => {
    const whole = flow.to - flow.from, { kinds } = run.explained;
    const parts = flow.hops.flatMap((hop, i) => hop.parts.map(([span, what, why], j) => ({ span, why, words: `${partWords(span, what)}, at ${hop.where}`, starts: j === 0 && i > 0 })));
    const teller = el("p", { class: "note", role: "status" });
    const tell = ({ target }) => { if (target.dataset.part) teller.textContent = parts[target.dataset.part].words; };
    const rest = "From left to right along its way; touch a part to see what it is.";
    teller.textContent = rest;
    const by = new Map();
    for (const { why, span } of parts) by.set(why, (by.get(why) ?? 0) + span);
    return [
      el("div", { class: "timebar", role: "img", "aria-label": "The completion time by cause; the tree below says the same",
        onpointerover: tell, onclick: tell, onpointerleave: () => { teller.textContent = rest; } },
      ...parts.map((part, i) => el("i", { "data-part": i, class: part.starts ? "starts" : undefined,
        style: `flex-grow: ${part.span / whole}; background: var(${colours[part.why]})` }))),
      teller,
      el("ul", { class: "keys" }, ...[...by].sort((a, b) => b[1] - a[1])
        .map(([why, span]) => el("li", {}, square(why), `${kinds[why]} ${tenths(span / whole)}`))),
    ];
  };
  const tree = () => el("ul", { class: "tree", id: "flow-tree" }, ...flow.hops.map((hop) => el("li", {}, `${hop.where}: ${seconds(hop.span)} (${tenths(hop.span / (flow.to - flow.from))})`,
    el("ul", {}, ...hop.parts.map(([span, what, why]) => el("li", {}, square(why), partWords(span, what)))))));

  // The rate as steps; between intervals in which something came it is zero.
  const steps = () => {
    const { span, end, bytes: got } = flow.rate, x = [], y = [];
    const point = (time, rate) => { x.push(time); y.push(rate); };
    end.forEach((time, i) => {
      point(time - span, (got[i] * 8) / span);
      if (i + 1 === end.length || end[i + 1] - time > 1.5 * span) point(time, 0);
    });
    return { name: `flow ${flow.flow}`, index: lineOf(run), x, y };
  };
  const whole = () => [0, run.network ? run.network.ends.at(-1) : run.summary.sim_time_ps * 1e-12];
  const range = () => {
    const aside = (flow.to - flow.from) / 4;
    return state.axis === "life" ? [Math.max(0, flow.from - aside), flow.to + aside] : whole();
  };
  const drawRate = (holder) => lineChart("flow-rate", holder, [steps()], { label: "time", format: seconds, range: range() },
    { label: "rate", format: bits, range: (u, low, high) => [0, (high || 1) * 1.05] },
    { stepped: true, height: 190, wide: WIDE, marks: [{ x: flow.from, text: "arrives" }, { x: flow.to, text: "complete" }] });
  const drawPanel = () => {
    panel.hidden = flow === null;
    if (flow === null) { charts["flow-rate"]?.destroy(); delete charts["flow-rate"]; return; }
    const holder = el("div", { class: "chart short" });
    heading.textContent = `Flow ${flow.flow}`;
    [slower.disabled, faster.disabled] = [at === 0, at + 1 === run.explained.flow.length];
    shown.replaceChildren(
      el("dl", { class: "strip" },
        tile("Size", bytes(flow.size), flow.class), tile("From", flow.src), tile("To", flow.dst), tile("Arrives", seconds(flow.from)),
        tile("Completion time", seconds(flow.to - flow.from), `ideal ${seconds(flow.ideal)}`), tile("Slowdown", brief(flow.slowdown))),
      ...bar(), tree(),
      el("p", { class: "note" }, "What its receiver got, without headers."),
      el("div", { class: "controls" }, choice("Time axis", [["life", "the flow's"], ["run", "the run's"]], state.axis, (v) => { set("why", "axis", v); drawRate(holder); follow(); })),
      holder);
    drawRate(holder);
  };

  const follow = () => networkOfFlows.follow?.(flow && { run: run.name, name: `flow ${flow.flow}`, from: flow.from, to: flow.to, way: flow.way, range: range() });
  const draw = () => { drawList(); drawPanel(); follow(); charts.slowdown?.ring?.(); };

  Object.assign(window.backwater, { flow: () => flow, dots: () => charts.slowdown.dots.flatMap(({ of }) => of) });
  redraws.push(() => { drawList(); drawPanel(); });
  requestAnimationFrame(ahead);
  // The dots of a class, for the plot of slowdowns.
  const dots = (flows) => explained.filter((of) => !of.left_out).map((of) => {
    const { class: classes, size, slowdown } = of.explained;
    return { colour: lineOf(of), of: classes.flatMap((name, i) => (name === flows ? [{ x: size[i], y: slowdown[i], i, run: of }] : [])) };
  });
  const other = unexplained();
  list.append(el("form", { class: "player", onsubmit: look }, el("label", { class: "select" }, "Flow ", number), button("Show", look), said),
    listed, el("div", { class: "player" }, before, after, where));
  const node = section("why", "Why the tail is slow",
    { note: "These flows were followed in a second run. Each is a dot in the plot above. Pick a dot, or a flow of the list, to see where its time went." },
    findings, explained.length > 1 ? el("div", { class: "controls" }, el("label", { class: "select" }, "Run ", chooser)) : null,
    el("details", {}, el("summary", {}, "Where their time went, by cause"), causes), list, panel,
    other ? el("details", {}, el("summary", {}, `Explain ${other.explain.label} too`), copyable(other.explain.command)) : null);
  return { node, dots, pick: (dot) => pick(dot.run, dot.i, true), isPicked: (dot) => dot.run === run && dot.i === at };
};
