// The busiest links and those that were paused longest, by name. The neighbour at a link's far end is who paused it.
const LINKS = 10;
const hotLinks = () => {
  const known = drawn(runs).filter((run) => run.hot?.length);
  if (known.length === 0) return null;
  const first = known.find(canWin) ?? known[0];
  const paused = (row) => row.pfc > 0 || row.bfc > 0;
  const orders = { use: ["utilisation", (row) => row.use], pause: ["pause time", (row) => row.pfc || row.bfc] };
  const state = settings("links", { run: [known.map(nameOf), nameOf(first)], order: [Object.keys(orders), "use"] });
  const anyPaused = known.some((run) => run.hot.some(paused)), holder = el("div");
  const draw = () => {
    const run = known.find((one) => nameOf(one) === state.run), [, by] = orders[state.order];
    const seeded = Boolean(run.seeds), rows = run.hot.filter((row) => by(row) > 0).sort((a, b) => by(b) - by(a)).slice(0, LINKS);
    const columns = [
      ["link", (row) => ({ show: row.link, class: "whole" }), true],
      ...(seeded ? [["seed", (row) => row.seed]] : []),
      ["utilisation", (row) => tenths(row.use)],
      ...(rows.some((row) => row.pfc > 0) ? [["time paused by PFC", (row) => (row.pfc ? tenths(row.pfc) : "–")]] : []),
      ...(rows.some((row) => row.bfc > 0) ? [["queues paused by BFC", (row) => (row.bfc ? brief(row.bfc, 2) : "–")]] : []),
      ...(rows.some(paused) ? [["paused by", (row) => (paused(row) ? row.by + (row.next ? `, whose busiest port leads to ${row.next} (${tenths(row.next_use)})` : "") : "–"), true]] : []),
    ];
    holder.replaceChildren(rows.length === 0 ? el("p", {}, "No link was paused.")
      : table(columns.map(([name, , text]) => ({ name, text })), rows.map((row) => columns.map(([, read]) => read(row))), "Hot links"));
  };
  draw();
  const choose = (key) => (value) => { set("links", key, value); draw(); };
  return section("links", "Hot links", { note: `The top ${LINKS} of ${first.seeds ? "all links and seeds" : "all links"}, one direction each. Utilisation is counted ${whenCounted(known)}${anyPaused ? ", and pause time over the whole run" : ""}.${anyPaused ? " The node at the far end of a link pauses it." : ""}${known.some((run) => run.hot.some((row) => row.bfc > 0)) ? " Queues paused are the mean number at a time." : ""}` },
    el("div", { class: "controls" },
      known.length > 1 ? select("Run", known.map((run) => [nameOf(run), nameOf(run)]), state.run, choose("run")) : null,
      anyPaused ? choice("Order by", Object.entries(orders).map(([id, [name]]) => [id, name]), state.order, choose("order")) : null),
    holder);
};
