// Trees of pauses: a table of the largest, and a picture of the one that is picked: the root at the left, what waits for it at the right.
const pauseTrees = () => {
  const known = drawn(runs).filter((run) => run.pause_trees?.trees.length);
  if (known.length === 0) return null;
  const first = known.find(canWin) ?? known[0];
  const state = settings("pause-trees", { run: [known.map(nameOf), nameOf(first)] });
  const holder = el("div"), picture = el("div"), about = el("p", { class: "note", role: "status" });
  let shown, tree = 0;
  const root = (one) => (one.cycle ? `a cycle through ${one.node}` : `${one.node} to ${one.towards}`);
  const pick = (i) => { tree = i; draw(); };
  const draw = () => {
    const { number, period, trees } = shown.pause_trees, one = trees[tree];
    about.textContent = `${shown.seeds ? `Seed ${shown.seeds[0]}: ` : ""}${whole(number)} ${number === 1 ? "tree" : "trees"} in periods of ${seconds(period)}.${number > trees.length ? ` These ${trees.length} held ports longest, all ports together.` : ""}`;
    holder.replaceChildren(table(
      [{ name: "root port", text: true }, { name: "from" }, { name: "duration" }, { name: "depth" }, { name: "fan-out" }, { name: "hosts held" }, { name: "switch ports held" }, { name: "longest queue at the root" }],
      trees.map((row, i) => [{ show: row.ports.length ? el("button", { type: "button", class: "link", "aria-pressed": String(i === tree), onclick: () => pick(i) }, root(row)) : root(row), class: "whole" },
        seconds(row.begin), seconds(row.end - row.begin), row.depth, row.fan_out, row.hosts, row.switches, bytes(row.queue)]), "Trees of pauses"));
    picture.replaceChildren(...(one.ports.length ? [el("h3", {}, `${root(one)}, ${seconds(one.at)} to ${seconds(one.at + period)}`),
      el("p", { class: "note" }, "What was held when this tree held most ports. A number is how much of a port was held at a time: under PFC a share of the time, under BFC a number of queues."),
      el("div", { class: "scroll" }, treeSvg(one, root(one)))] : []));
  };
  const open = () => { shown = known.find((run) => nameOf(run) === state.run); tree = 0; draw(); };
  redraws.push(() => (shown ? draw() : open()));
  return section("pause-trees", "Trees of pauses", { note: "A switch pauses the ports that send to it, and their nodes pause others in turn. A held port is followed to the node that holds it, and there to the port with the longest queue among those to which its packets go on. The first of these that is not held is the root. Depth is the number of links to the farthest held port. Fan-out is how many ports the root's node holds at once." },
    known.length > 1 ? el("div", { class: "controls" }, select("Run", known.map((run) => [nameOf(run), nameOf(run)]), state.run, (v) => { set("pause-trees", "run", v); open(); })) : null,
    about, holder, picture);
};

const treeSvg = ({ ports, queue, node, towards }, label) => {
  const [ink, soft, rule, bad, panel] = ["--ink", "--soft", "--rule", "--bad", "--panel"].map(style), tall = 26, wide = 190, high = 20;
  const entries = ports.map((one, i) => ({ ...one, i, children: [] }));
  const tops = entries.filter((one) => one.parent === null);
  for (const one of entries) if (one.parent !== null) entries[one.parent].children.push(one);
  let next = 0;
  // A node stands in the middle of its children.
  const place = (one, depth) => {
    one.depth = depth;
    one.children.forEach((child) => place(child, depth + 1));
    one.y = one.children.length ? (one.children[0].y + one.children.at(-1).y) / 2 : next++;
  };
  tops.forEach((one) => place(one, 1));
  const centre = tops.length ? (tops[0].y + tops.at(-1).y) / 2 : 0, deepest = Math.max(1, ...entries.map((one) => one.depth ?? 1));
  const x = (depth) => depth * wide, y = (row) => row * tall + high / 2 + 4;
  const width = x(deepest) + wide - 20, height = Math.max(next, 1) * tall + 6;
  const box = (depth, row, words, fill, title, share) => svgEl("g", {},
    svgEl("rect", { x: x(depth), y: y(row) - high / 2, width: wide - 34, height: high, rx: 4, fill: panel, stroke: fill }),
    share === undefined ? null : svgEl("rect", { x: x(depth), y: y(row) + high / 2 - 3, width: (wide - 34) * Math.min(1, share), height: 3, fill: bad }),
    svgEl("text", { x: x(depth) + 7, y: y(row) + 4, fill: ink }, words), svgEl("title", {}, title));
  const told = (one) => (one.number > 1 ? `${one.number} hosts of ${one.by}` : one.node);
  return svgEl("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif", "font-size": 12, role: "img", "aria-label": `Tree of pauses with root ${label}` },
    ...entries.map((one) => {
      const [from, to] = [one.parent === null ? [0, centre] : [entries[one.parent].depth, entries[one.parent].y], [one.depth, one.y]];
      const [x0, y0, x1, y1] = [x(from[0]) + wide - 34, y(from[1]), x(to[0]), y(to[1])];
      return svgEl("path", { d: `M${x0} ${y0}C${x0 + 17} ${y0} ${x1 - 17} ${y1} ${x1} ${y1}`, fill: "none", stroke: soft });
    }),
    box(0, centre, `${node} → ${towards}`, bad, `${node} to ${towards}: ${bytes(queue)} wait at most`),
    ...entries.map((one) => box(one.depth, one.y, `${told(one)}: ${brief(one.held / one.number, 2)}`, rule,
      `${told(one)}, held by ${one.by}: ${brief(one.held, 3)} at a time${one.number > 1 ? ", all together" : ""}`, one.held / one.number)));
};
