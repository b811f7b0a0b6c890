// Tables sorted by a column: up, down, as they were. Rows keep to the place under whose heading they stand.

const UNITS = { minute: 60, minutes: 60, min: 60, hour: 3600, hours: 3600, h: 3600, day: 86400, days: 86400 };
const PREFIXES = { T: 1e12, G: 1e9, M: 1e6, k: 1e3, K: 1e3, m: 1e-3, u: 1e-6, "\u00b5": 1e-6, n: 1e-9 };
const NUMBER = /^[<>~\u2248]?\s*([+-]?\d*\.?\d+(?:e[+-]?\d+)?)(?:\s*\u00b1\s*<?[\d.]+)?\s*([^\s\d(]\S*)?/i;

function words(cell) {
  const copy = cell.cloneNode(true);
  for (const one of copy.querySelectorAll(".label, .flag, .spoken")) one.remove();
  return copy.textContent.trim();
}

// The number that a cell begins with, in its base unit; NaN where there is none.
function amount(text) {
  const found = NUMBER.exec(text.replace(/\u202f/g, "").replace(/\u2212/g, "-").replace(/\u00a0/g, " "));
  if (!found) return NaN;
  const prefixed = /^([TGMkKmu\u00b5n])(?:bit\/s|B|s)$/.exec(found[2] ?? "");
  return Number(found[1]) * (prefixed ? PREFIXES[prefixed[1]] : (UNITS[found[2]] ?? 1));
}

// Words in their order, quantities in them by what they are: "edge pacing 200 us" before "edge pacing 5 ms".
const QUANTITY = /\d*\.?\d+\s*(?:[TGMkKmu\u00b5n]?(?:bit\/s|B|s))(?![\w/])/g;
const inBase = (text) => text.replace(QUANTITY, (one) => amount(one).toFixed(9).padStart(26, "0"));

// Rows that are sorted among themselves.
function groups(table) {
  const found = [];
  for (const body of table.tBodies) {
    let rows = null;
    for (const one of body.rows) {
      if (one.matches(".place")) rows = null;
      else if (rows) rows.push(one);
      else found.push((rows = [one]));
    }
  }
  return found;
}

function order(rows, column, way) {
  const told = rows.map((one) => words(one.cells[column]));
  const known = told.map(amount);
  const filled = told.filter((text) => text && text !== "\u2014").length;
  const numeric = 2 * known.filter((value) => !Number.isNaN(value)).length > filled;
  const keys = numeric ? known : told.map(inBase);
  const missing = (k) => (numeric ? Number.isNaN(known[k]) : !told[k] || told[k] === "\u2014");
  const compare = (a, b) => {
    if (missing(a) || missing(b)) return missing(a) - missing(b) || a - b; // last, up or down
    const by = numeric ? keys[a] - keys[b] : keys[a].localeCompare(keys[b], "en", { numeric: true });
    return way * by || a - b;
  };
  return rows.map((_, k) => k).sort(compare).map((k) => rows[k]);
}

function sortable(table) {
  const head = table.tHead?.rows[0];
  const parts = head ? groups(table) : [];
  if (!parts.some((rows) => rows.length > 1)) return;
  table.classList.add("sortable");
  const starts = parts.map((rows) => rows[0].previousElementSibling);
  const put = (rows, k) => {
    let last = starts[k];
    const body = parts[k][0].parentElement;
    for (const one of rows) {
      if (last) last.after(one);
      else body.prepend(one);
      last = one;
    }
  };
  [...head.cells].forEach((cell, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...cell.childNodes);
    cell.append(button);
    button.addEventListener("click", () => {
      const next = { ascending: "descending", descending: null }[cell.getAttribute("aria-sort")];
      const way = next === undefined ? "ascending" : next;
      for (const one of head.cells) one.removeAttribute("aria-sort");
      if (way) cell.setAttribute("aria-sort", way);
      parts.forEach((rows, k) => put(way ? order(rows, column, way === "ascending" ? 1 : -1) : rows, k));
    });
  });
}

for (const table of document.querySelectorAll("table")) sortable(table);
