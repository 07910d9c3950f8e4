// What the reader chose, by section. The page's address holds what differs from the defaults, so a link leads to the same view:
// `#slowdown.statistic=p95&slowdown.scale=linear`.
const chosen = {}, defaults = {};
const asked = new URLSearchParams(location.hash.slice(1));

// Settings of a section; `options` has for each key its values and which of them is the default.
const settings = (id, options) => {
  const state = (chosen[id] ??= {}), initial = (defaults[id] ??= {});
  for (const [key, [values, initially]] of Object.entries(options)) {
    initial[key] = initially;
    const wanted = state[key] ?? asked.get(`${id}.${key}`);
    state[key] = values.includes(wanted) ? wanted : initially;
  }
  return state;
};

const set = (id, key, value) => {
  chosen[id][key] = value;
  const differing = Object.entries(chosen).flatMap(([of, state]) =>
    Object.entries(state).filter(([name, now]) => now !== defaults[of]?.[name]).map(([name, now]) => [`${of}.${name}`, now]));
  try { history.replaceState(null, "", differing.length ? `#${new URLSearchParams(differing)}` : location.pathname + location.search); }
  catch { /* A sandbox may forbid it; the page works without. */ }
};

// Where an address with settings in it leads: to the first section that it names.
const sectionAsked = () => [...asked.keys()].map((key) => document.getElementById(key.split(".")[0])).find(Boolean);
