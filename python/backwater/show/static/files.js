// Charts as files: SVG pictures and CSV tables, which the browser saves.
const save = (name, kind, text) => {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type: kind })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
const fileName = (id, ending) => `${data.name} ${id}`.replace(/[^A-Za-z0-9._+-]+/g, "-") + `.${ending}`;
const csv = (rows) => rows.map((row) => row.map((cell) => {
  const text = cell === null || cell === undefined ? "" : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}).join(",")).join("\n") + "\n";
// A picture for paper: in light colours, whatever the page has.
const svgText = (make) => {
  const root = document.documentElement;
  root.classList.add("on-paper");
  try {
    const node = make();
    node.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    node.prepend(svgEl("rect", { width: "100%", height: "100%", fill: style("--paper") }));
    return new XMLSerializer().serializeToString(node);
  } finally {
    root.classList.remove("on-paper");
  }
};

// Two links. `read` returns the chart now: what draws it as an SVG element, and what lists its rows below their headings.
const files = (id, read) => el("span", { class: "files" },
  el("button", { type: "button", class: "link", title: "Save this chart as SVG", onclick: () => save(fileName(id, "svg"), "image/svg+xml", svgText(read().svg)) }, "SVG"),
  el("button", { type: "button", class: "link", title: "Save the numbers of this chart as CSV", onclick: () => save(fileName(id, "csv"), "text/csv", csv(read().rows())) }, "CSV"));
