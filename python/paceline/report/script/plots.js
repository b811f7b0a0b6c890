// Pictures with planes (`Drawing.open_plane`): values under the pointer or a cursor, zoom, series that are hidden.

const SVG = "http://www.w3.org/2000/svg";
const HELP =
  "In a chart: point to read values, drag or turn the wheel (after a click, or with Ctrl) to zoom, double click for " +
  "all of it, click a name to hide its line. By keyboard: Tab to a chart, arrows read, + and \u2212 zoom, 0 shows " +
  "all of it. The head of a column sorts its table.";
const MOST_READ = 12; // series whose values are shown at once, those nearest to the pointer
const LEAST_DRAG = 6; // coordinates; less is a click
const MARGIN = 5; // of what is drawn beyond a plane's box: marks at its edge
const NEAR = 12; // signs at one place of an axis may stand aside of each other by this
const WHEEL = 1.0018;

let clips = 0;
const pictures = []; // what has been made to answer, to hide a series in all of a section

function made(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent?.append(element);
  return element;
}

// A path's commands: absolute ones with their numbers, relative ones as they are.
function commands(d) {
  return [...d.matchAll(/([A-Za-z])([^A-Za-z]*)/g)].map(([whole, letter, rest]) =>
    /[MLHVC]/.test(letter) ? [letter, (rest.match(/-?\d*\.?\d+/g) ?? []).map(Number)] : [whole, null],
  );
}

// Absolute places of a path, one piece after another.
function vertices(parsed) {
  const found = [];
  let [x, y] = [0, 0];
  for (const [letter, numbers] of parsed) {
    if (letter === "z" || letter === "Z") found.push(null);
    if (!numbers) continue;
    const width = letter === "H" || letter === "V" ? 1 : 2;
    for (let k = 0; k < numbers.length; k += width) {
      if (letter === "H") x = numbers[k];
      else if (letter === "V") y = numbers[k];
      else [x, y] = [numbers[k], numbers[k + 1]];
      found.push({ x, y, starts: letter === "M" && k === 0 });
    }
  }
  return found;
}

// One series of a plane: what moves when the plane is zoomed, and its values.
class Series {
  constructor(name, elements) {
    this.name = name;
    this.elements = elements;
    this.moving = [];
    this.points = []; // places with a sign, read one by one
    this.lines = []; // else read between vertices
    this.spreads = [];
    for (const element of elements) this.take(element);
  }

  take(element) {
    for (const path of element.querySelectorAll("path[d]")) // an interval of what is not known has none
      if (!path.closest("defs, clipPath")) this.takePath(path, commands(path.getAttribute("d")));
    for (const use of element.querySelectorAll("use")) {
      const [x, y] = [Number(use.getAttribute("x")), Number(use.getAttribute("y"))];
      this.moving.push({ element: use, x, y });
      if (!use.closest(".spread")) this.points.push({ x, y });
    }
    for (const text of element.querySelectorAll("text[data-at]")) {
      const [x, y] = text.dataset.at.split(" ").map(Number);
      this.moving.push({ element: text, x, y, shift: text.getAttribute("transform") ?? "" });
    }
  }

  takePath(path, parsed) {
    const title = path.querySelector("title");
    const told = title?.textContent ?? "";
    title?.remove(); // else the browser shows it over what is read here
    this.moving.push({ element: path, parsed, d: path.getAttribute("d") });
    const found = vertices(parsed);
    if (path.matches(".band, .whisker") || path.closest(".spread")) this.spreads.push(found);
    else if (path.matches(".packet")) this.points.push(...found.filter((one) => one.starts));
    else if (path.matches(".mark") && told)
      this.points.push({ ...found[0], told: told.slice(told.lastIndexOf(": ") + 2) });
    else if (path.matches(".line") || path.closest(".curve")) this.lines.push(found);
  }

  get hidden() {
    return this.elements[0].style.display === "none";
  }

  hide(hidden) {
    for (const element of this.elements) element.style.display = hidden ? "none" : "";
  }

  // The nearest place with a sign to a coordinate of the whole plane, between two; undefined where there is none.
  pointAt(x, low, high) {
    const near = (one) => Math.abs(one.x - x);
    const shown = this.points.filter((one) => one.x >= low && one.x <= high);
    return shown.length ? shown.reduce((best, one) => (near(one) < near(best) ? one : best)) : undefined;
  }

  // Where a line is at a coordinate; undefined where it does not reach.
  lineAt(x) {
    for (const line of this.lines)
      for (let k = 0; k < line.length; k += 1) {
        const [a, b] = [line[k], line[k + 1]];
        if (a?.x === x) return a;
        if (a && b && !b.starts && (a.x - x) * (b.x - x) < 0)
          return { x, y: a.y + ((b.y - a.y) * (x - a.x)) / (b.x - a.x) };
      }
    return undefined;
  }

  // The ends of its interval at a coordinate.
  spreadAt(x) {
    const found = [];
    for (const line of this.spreads)
      for (let k = 0; k + 1 < line.length; k += 1) {
        const [a, b] = [line[k], line[k + 1] ?? line[0]];
        if (!a || b.starts || x < Math.min(a.x, b.x) - 0.05 || x > Math.max(a.x, b.x) + 0.05) continue;
        if (Math.abs(a.x - b.x) < 0.05) found.push(a.y, b.y);
        else found.push(a.y + ((b.y - a.y) * (x - a.x)) / (b.x - a.x));
      }
    return found.length > 1 ? [Math.max(...found), Math.min(...found)] : null;
  }

  move(x, y) {
    const whole = !x.zoomed && !y.zoomed;
    for (const { element, parsed, d, x: ownX, y: ownY, shift } of this.moving) {
      if (parsed) element.setAttribute("d", whole ? d : parsed.map((one) => moved(one, x, y)).join(""));
      else if (shift !== undefined)
        element.setAttribute("transform", `translate(${x.moved(ownX) - ownX} ${y.moved(ownY) - ownY}) ${shift}`);
      else {
        element.setAttribute("x", x.moved(ownX));
        element.setAttribute("y", y.moved(ownY));
      }
    }
  }
}

function moved([letter, numbers], x, y) {
  if (!numbers) return letter;
  const across = (k) => letter === "H" || (letter !== "V" && k % 2 === 0);
  return letter + numbers.map((v, k) => (across(k) ? x : y).moved(v).toFixed(2)).join(" ");
}

class Plane {
  constructor(group) {
    this.group = group;
    this.box = group.dataset.box.split(" ").map(Number);
    const [left, top, right, bottom] = this.box;
    this.x = new Scale(JSON.parse(group.dataset.x), left, right);
    this.hasValues = group.dataset.y !== undefined;
    const told = this.hasValues ? JSON.parse(group.dataset.y) : { title: "", low: 0, high: 1, fixed: true };
    this.y = new Scale(told, bottom, top);
    const named = new Map();
    for (const one of group.querySelectorAll(".series"))
      named.set(one.dataset.name, [...(named.get(one.dataset.name) ?? []), one]);
    this.series = [...named].map(([name, elements]) => new Series(name, elements));
    this.unnamed = new Series("", [...group.querySelectorAll(".moves")]);
    this.own = { x: [...group.querySelectorAll(".tick-x")], y: [...group.querySelectorAll(".tick-y")] };
    this.drawn = made("g", {}); // ticks of what is shown
    group.prepend(this.drawn);
  }

  contains({ x, y }) {
    const [left, top, right, bottom] = this.box;
    return x >= left - MARGIN && x <= right + MARGIN && y >= top - MARGIN && y <= bottom + MARGIN;
  }

  get zoomed() {
    return this.x.zoomed || this.y.zoomed;
  }

  // Draws what the scales show now.
  show() {
    for (const one of [...this.series, this.unnamed]) {
      one.move(this.x, this.y);
      for (const element of one.elements)
        if (this.zoomed) element.setAttribute("clip-path", `url(#${this.clip()})`);
        else element.removeAttribute("clip-path");
    }
    this.drawn.replaceChildren();
    this.tick("x", this.x, 6);
    this.tick("y", this.y, 5);
  }

  clip() {
    if (!this.clipName) {
      const [left, top, right, bottom] = this.box;
      this.clipName = `plane-${(clips += 1)}`;
      const size = { x: left - MARGIN, y: top - MARGIN, width: right - left + 2 * MARGIN };
      made("rect", { ...size, height: bottom - top + 2 * MARGIN }, made("clipPath", { id: this.clipName }, this.group));
    }
    return this.clipName;
  }

  tick(way, scale, about) {
    const own = this.own[way];
    const zoomed = scale.zoomed;
    const shift = (by) => `translate(${way === "x" ? `${by} 0` : `0 ${by}`})`;
    if (scale.places.length) {
      for (const one of own) {
        const [place, low, high] = [scale.moved(tickPlace(one, way)), this.box[0], this.box[2]];
        one.style.display = zoomed && (place < low || place > high) ? "none" : "";
        one.setAttribute("transform", shift(place - tickPlace(one, way)));
      }
      return;
    }
    for (const one of own) one.style.display = zoomed ? "none" : "";
    const named = own.filter((one) => one.querySelector("text"));
    const model = way === "x" ? named[0] : named.at(-1);
    if (!zoomed || !model) return;
    for (const [place, name] of scale.ticks(about)) {
      const copy = model.cloneNode(true);
      copy.style.display = "";
      const text = copy.querySelector("text");
      text.textContent = name;
      if (way === "x" && !/rotate\(-?[1-9]/.test(text.getAttribute("transform") ?? "")) {
        text.removeAttribute("transform");
        text.setAttribute("x", tickPlace(model, way));
        text.style.textAnchor = "middle";
      }
      copy.setAttribute("transform", shift(place - tickPlace(model, way)));
      this.drawn.append(copy);
    }
  }

  // What the series have at a coordinate, or at the nearest one where something has a sign: where it is, and each
  // series' value from top to bottom; of many, those nearest to `y`.
  read(x, y) {
    const [low, high] = [this.x.still(this.box[0]) - 1, this.x.still(this.box[2]) + 1];
    const series = this.series.filter((one) => !one.hidden);
    const points = series.map((one) => one.pointAt(this.x.still(x), low, high));
    const known = points.filter(Boolean).map((one) => one.x);
    const far = (place) => Math.abs(place - this.x.still(x));
    const snaps = this.hasValues && known.length > 0;
    const still = snaps ? known.reduce((best, one) => (far(one) < far(best) ? one : best)) : this.x.still(x);
    const found = series.flatMap((one) => {
      const point = one.pointAt(still, low, high);
      const near = point && (!this.hasValues || Math.abs(point.x - still) * this.x.factor <= NEAR);
      const at = near ? point : one.lineAt(still);
      if (!at) return [];
      const [px, py] = [this.x.moved(at.x), this.y.moved(at.y)];
      if (this.hasValues && !this.contains({ x: px, y: py })) return [];
      return [{ series: one, px, py, text: at.told ?? this.textOf(one, at, px, py) }];
    });
    if (!this.hasValues) return { at: x, found };
    const nearest = found.sort((a, b) => Math.abs(a.py - y) - Math.abs(b.py - y)).slice(0, MOST_READ);
    return { at: this.x.moved(still), found: nearest.sort((a, b) => a.py - b.py) };
  }

  textOf(series, one, px, py) {
    if (!this.hasValues) return this.x.text(px);
    const spread = series.spreadAt(one.x);
    const value = this.y.text(py);
    if (!spread || Math.abs(spread[0] - spread[1]) < 0.02) return value;
    const [low, high] = spread.map((place) => this.y.text(this.y.moved(place)));
    return `${value} (${low.replace(/\u00a0.*/, "")} to ${high.replace(/\u00a0.*/, "")})`;
  }
}

// The coordinate of a tick in the whole plane.
function tickPlace(group, way) {
  const sign = group.querySelector("use") ?? group.querySelector("line") ?? group.querySelector("text");
  return Number(sign.getAttribute(sign.tagName === "line" ? `${way}1` : way));
}
