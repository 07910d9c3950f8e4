// Puts the page together. `window.backwater` holds data and charts, for tests and for the curious.
window.backwater = { data, charts };

const atPoint = el("div");
const pointChoice = () => inSweep ? section("at-point", "At one point", { note: "Everything below is about the runs at this point of the sweep." },
  select("Point", points.map((name) => [name, name]), pointName(runs[0].point), (value) => {
    set("at-point", "point", value);
    runs = data.runs.filter((run) => pointName(run.point) === value);
    showPoint();
  }, { id: "point" })) : null;

const fixedCharts = (id) => id === "sweep" || id.startsWith("panel");
const showPoint = () => {
  for (const id of Object.keys(charts)) if (!fixedCharts(id)) { charts[id].destroy(); delete charts[id]; }
  redraws = redraws.filter((draw) => draw.fixed);
  if (computed) {
    atPoint.replaceChildren(...[results(), overview(), claims(), configuration(), rerun()].filter(Boolean));
  } else {
    const explained = explainedFlows();
    const flows = [slowdown(explained), explained?.node], links = [hotLinks(), collectives(), iterationPaths(), timelines()];
    atPoint.replaceChildren(...[
      // Of a page that compares nothing, slowdown is the first chart.
      ...(body.querySelector("#panels, #winners") ? [...links, ...flows] : [...flows, ...links]), networkOverTime(), pauseTrees(),
      el("div", { class: "pair" }, ...[...distributions(), pauses(), utilisation()].filter(Boolean)), moreOfQueues(),
      drops(), overview(), claims(), configuration(), rerun()].filter(Boolean));
  }
  side.read();
  redraw();
};
const redraw = () => redraws.forEach((draw) => draw());

// A folded section that an address names is opened.
const unfold = () => openFold(document.getElementById(location.hash.slice(1)));

const side = contents();
const body = el("div", { class: "body" });
page.replaceChildren(side.node, body);
body.replaceChildren(...[header(), winners(), firstChart(), programs(), sweep(), pointChoice(), atPoint, footer()].filter(Boolean));
redraws.forEach((draw) => { draw.fixed = true; });
showPoint();
unfold();
openFold(sectionAsked());
(sectionAsked() ?? document.getElementById(location.hash.slice(1)))?.scrollIntoView();
addEventListener("hashchange", unfold);
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); } });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
