// What the page begins with: the name, the answer in words, and what keeps the runs from being complete.
const header = () => {
  const seeds = Math.max(...data.runs.map((run) => run.seeds?.length ?? 1)), undrawn = data.undrawn.join(", ");
  const notes = [
    seeds > 1 ? `Numbers are means over ${seeds} seeds with 95 % intervals; distributions hold the samples of all seeds.` : "",
    undrawn ? `Charts leave out ${undrawn}, which ${data.undrawn.length > 1 ? "run" : "runs"} without the mechanism that the claims credit. The tables have ${data.undrawn.length > 1 ? "them" : "it"}.` : ""];
  return el("header", {},
    el("h1", {}, data.name),
    data.description ? el("p", { class: "lead" }, data.description) : null,
    ...data.left.map((line) => el("p", { class: "banner", role: "status" }, line)),
    data.answer.length ? el("p", { class: "answer", id: "answer" }, data.answer.join(" ")) : null,
    ...(notes.some(Boolean) ? [el("p", { class: "note" }, notes.filter(Boolean).join(" "))] : []));
};

// Links to every section that has a title; at the side where there is room, else folded at the top.
const contents = () => {
  const list = el("ul"), fold = el("details", {}, el("summary", {}, "Contents"), list);
  const wide = matchMedia("(min-width: 1100px)");
  const unfold = () => { fold.open = wide.matches; };
  wide.addEventListener("change", unfold);
  unfold();
  const read = () => list.replaceChildren(...[...page.querySelectorAll("section[id]:not(section section)")].map((one) => {
    const title = one.querySelector("h2").firstChild.textContent;
    return el("li", {}, el("a", { href: `#${one.id}`, onclick: () => { openFold(one); if (!wide.matches) fold.open = false; } }, title));
  }));
  return { node: el("nav", { class: "contents", "aria-label": "Contents" }, fold), read };
};
