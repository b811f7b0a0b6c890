// One picture of a page, made to answer pointer, wheel and keyboard.

const NARROW = 640; // px; as in the style sheet

class Picture {
  constructor(svg) {
    this.svg = svg;
    this.planes = [...svg.querySelectorAll(".plane")].map((group) => new Plane(group));
    this.plane = this.planes[0];
    this.cursor = null; // where it is read, in the picture's coordinates
    this.place = svg.closest("figure") ?? svg.parentElement;
    this.place.classList.add("interactive");
    this.card = document.createElement("div");
    this.card.className = "reading";
    this.card.hidden = true;
    this.spoken = document.createElement("p");
    this.spoken.className = "spoken";
    this.spoken.setAttribute("aria-live", "polite");
    this.all = document.createElement("button");
    Object.assign(this.all, { type: "button", className: "whole", textContent: "All of it", hidden: true });
    this.all.addEventListener("click", () => {
      this.whole();
      svg.focus();
    });
    svg.after(this.card, this.spoken, this.all);
    svg.setAttribute("role", "group"); // it has buttons in it now
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("aria-keyshortcuts", "ArrowLeft ArrowRight + - 0");
    hush(svg);
    this.marks = made("g", { class: "cursor" }, svg);
    this.frame = made("rect", { class: "dragged", visibility: "hidden" }, svg);
    this.listen();
    for (const key of svg.querySelectorAll(".key")) this.answerTo(key);
  }

  listen() {
    const { svg } = this;
    svg.addEventListener("pointermove", (event) => this.pointed(event));
    svg.addEventListener("pointerdown", (event) => this.pressed(event));
    svg.addEventListener("pointerup", (event) => this.released(event));
    svg.addEventListener("pointercancel", () => this.endDrag());
    svg.addEventListener("pointerleave", () => this.start || this.forget());
    svg.addEventListener("dblclick", (event) => event.target.closest(".key") || this.whole());
    svg.addEventListener("wheel", (event) => this.turned(event), { passive: false });
    svg.addEventListener("keydown", (event) => event.target === svg && this.typed(event));
    svg.addEventListener("blur", () => this.forget());
  }

  // A name in the picture that hides its series.
  answerTo(key) {
    const { name } = key.dataset;
    key.setAttribute("role", "button");
    key.setAttribute("tabindex", "0");
    key.setAttribute("aria-pressed", "true");
    key.setAttribute("aria-label", name);
    key.addEventListener("click", () => this.toggle(name));
    key.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this.toggle(name);
    });
  }

  toggle(name, hide = !this.hides(name)) {
    for (const series of this.planes.flatMap((plane) => plane.series))
      if (series.name === name) series.hide(hide);
    for (const key of this.svg.querySelectorAll(".key"))
      if (key.dataset.name === name) key.setAttribute("aria-pressed", String(!hide));
    this.forget();
  }

  hides(name) {
    return this.planes.some((plane) => plane.series.some((series) => series.name === name && series.hidden));
  }

  // An event's place in the picture's coordinates.
  at(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
  }

  pointed(event) {
    const at = this.at(event);
    if (this.start) return this.drag(at);
    const plane = this.planes.find((one) => one.contains(at));
    if (!plane || event.target.closest(".key")) return this.forget();
    this.plane = plane;
    this.readAt(at);
  }

  pressed(event) {
    const at = this.at(event);
    if (event.button !== 0 || event.target.closest(".key") || !this.planes.some((one) => one.contains(at))) return;
    if (event.pointerType === "touch") return this.pointed(event); // a finger reads; two are the browser's own zoom
    this.plane = this.planes.find((one) => one.contains(at));
    this.start = at;
    this.svg.setPointerCapture(event.pointerId);
  }

  // A drag along one axis zooms that axis alone.
  dragged(at) {
    const [left, top, right, bottom] = this.plane.box;
    const within = (value, low, high) => Math.min(Math.max(value, low), high);
    const x = [this.start.x, within(at.x, left, right)].sort((a, b) => a - b);
    const y = [this.start.y, within(at.y, top, bottom)].sort((a, b) => a - b);
    const [wide, tall] = [x[1] - x[0] >= LEAST_DRAG, y[1] - y[0] >= LEAST_DRAG && !this.plane.y.fixed];
    if (wide && tall && 6 * (y[1] - y[0]) < x[1] - x[0]) return [x, null];
    if (wide && tall && 6 * (x[1] - x[0]) < y[1] - y[0]) return [null, y];
    return [wide ? x : null, tall ? y : null];
  }

  drag(at) {
    const [x, y] = this.dragged(at);
    this.forget();
    if (!x && !y) return this.frame.setAttribute("visibility", "hidden");
    const [left, top, right, bottom] = this.plane.box;
    const [[x0, x1], [y0, y1]] = [x ?? [left, right], y ?? [top, bottom]];
    const size = { x: x0, y: y0, width: x1 - x0, height: y1 - y0, visibility: "visible" };
    for (const [name, value] of Object.entries(size)) this.frame.setAttribute(name, value);
  }

  released(event) {
    if (!this.start) return;
    const [x, y] = this.dragged(this.at(event));
    this.endDrag();
    if (x || y) this.zoom((plane) => (x && plane.x.zoom(...x), y && plane.y.zoom(...y)));
  }

  endDrag() {
    this.start = null;
    this.frame.setAttribute("visibility", "hidden");
  }

  // Zooms the plane that is meant, and others in the same box.
  zoom(how) {
    for (const plane of this.planes)
      if (String(plane.box) === String(this.plane.box)) {
        how(plane);
        plane.show();
      }
    this.forget();
    this.all.hidden = !this.planes.some((plane) => plane.zoomed);
  }

  whole() {
    for (const plane of this.planes) {
      plane.x.whole();
      plane.y.whole();
      plane.show();
    }
    this.forget();
    this.all.hidden = true;
  }

  // The wheel is the page's own until the picture is chosen, by a click or with Ctrl.
  turned(event) {
    const at = this.at(event);
    const plane = this.planes.find((one) => one.contains(at));
    if (!plane || !(event.ctrlKey || document.activeElement === this.svg)) return;
    if (event.deltaY > 0 && !plane.zoomed) return;
    event.preventDefault();
    this.plane = plane;
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 33 : 1;
    this.zoomAbout(at, WHEEL ** (-event.deltaY * lines * (event.ctrlKey ? 4 : 1)));
    this.readAt(at);
  }

  zoomAbout(at, times) {
    this.zoom((plane) => {
      plane.x.zoomAbout(at.x, times);
      plane.y.zoomAbout(at.y, times);
    });
  }

  typed(event) {
    const [left, top, right, bottom] = this.plane.box;
    const middle = { x: (left + right) / 2, y: (top + bottom) / 2 };
    const acts = {
      ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1),
      ArrowUp: () => this.otherPlane(-1),
      ArrowDown: () => this.otherPlane(1),
      "+": () => this.zoomAbout(this.cursor ?? middle, 1.6),
      "=": () => this.zoomAbout(this.cursor ?? middle, 1.6),
      "-": () => this.zoomAbout(this.cursor ?? middle, 1 / 1.6),
      0: () => this.whole(),
      Escape: () => this.forget(),
    };
    const vertical = event.key === "ArrowUp" || event.key === "ArrowDown";
    if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey || (vertical && !this.planes[1])) return;
    event.preventDefault();
    acts[event.key]();
  }

  otherPlane(by) {
    this.plane = this.planes.at((this.planes.indexOf(this.plane) + by) % this.planes.length);
    this.cursor = null;
    this.step(1);
  }

  // To the next place with a value, or a fiftieth of the width where lines have values everywhere.
  step(by) {
    const { x, box, series } = this.plane;
    const [left, , right] = box;
    const from = this.cursor?.x ?? (by > 0 ? left - 1 : right + 1);
    const places = series.filter((one) => !one.hidden).flatMap((one) => one.points.map((point) => x.moved(point.x)));
    const shown = places.filter((place) => place >= left - MARGIN && place <= right + MARGIN);
    const here = this.cursor && x.places.length ? x.text(from) : null; // signs at one place stand aside of each other
    const ahead = shown.filter((place) => by * (place - from) > 1 && x.text(place) !== here);
    const next = ahead.length ? by * Math.min(...ahead.map((place) => by * place)) : from + (by * (right - left)) / 50;
    if (places.length && !ahead.length) return;
    this.readAt({ x: Math.min(Math.max(next, left), right), y: (box[1] + box[3]) / 2 }, true);
  }

  // Shows what is read at a place; `aloud` for those who do not see it.
  readAt({ x, y }, aloud = false) {
    const { plane } = this;
    const { at, found: read } = plane.read(x, y);
    this.forget();
    this.cursor = { x: at, y };
    const head = `${plane.x.title}${plane.x.title ? ": " : ""}${plane.x.text(at)}`;
    const line = { x1: at, x2: at, y1: plane.box[1], y2: plane.box[3] };
    made("line", line, this.marks);
    if (plane.hasValues) for (const { px, py } of read) made("circle", { cx: px, cy: py, r: 3.5 }, this.marks);
    this.card.replaceChildren(row("strong", head));
    for (const { series, text } of read) {
      const one = row("p", "");
      one.style.setProperty("--c", colourOf(series));
      one.append(row("i", ""), row("span", series.name), row("b", text));
      this.card.append(one);
    }
    this.card.hidden = false;
    this.lay(at);
    if (aloud) this.spoken.textContent = [head, ...read.map((one) => `${one.series.name}: ${one.text}`)].join("; ");
  }

  // The card beside the cursor, on the side where there is room; above the plane where there is little.
  lay(x) {
    const [place, card] = [this.place.getBoundingClientRect(), this.card];
    const there = new DOMPoint(x, this.plane.box[1]).matrixTransform(this.svg.getScreenCTM());
    const room = document.documentElement.clientWidth;
    const width = card.offsetWidth;
    const left = there.x + 14 + width < room ? there.x + 14 : there.x - 14 - width;
    card.style.left = `${Math.max(4, Math.min(left, room - width - 4)) - place.left}px`;
    const above = room < NARROW ? card.offsetHeight + 4 : 0;
    card.style.top = `${there.y - place.top - above}px`;
  }

  forget() {
    this.marks.replaceChildren();
    this.card.hidden = true;
    this.cursor = null;
  }
}

// All but the buttons is said by the picture's name and by what is read aloud.
function hush(element) {
  for (const child of element.children)
    if (child.querySelector(".key")) hush(child);
    else if (!child.matches(".key")) child.setAttribute("aria-hidden", "true");
}

function row(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

function colourOf(series) {
  const [drawn] = series.elements.flatMap((one) => [...one.querySelectorAll("path.line, path.packet, g > path, use")]);
  const stroke = drawn ? getComputedStyle(drawn).stroke : "none";
  return stroke === "none" ? "currentColor" : stroke;
}

for (const svg of document.querySelectorAll("svg.picture:has(.plane)")) pictures.push(new Picture(svg));

// Names above several pictures hide a series in all pictures of their section.
for (const entry of document.querySelectorAll("ul.legend > li")) {
  const own = pictures.filter((one) => entry.closest("section").contains(one.svg));
  if (!own.length) continue;
  const name = entry.textContent.trim();
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-pressed", "true");
  button.append(...entry.childNodes);
  entry.append(button);
  button.addEventListener("click", () => {
    const hide = button.getAttribute("aria-pressed") === "true";
    button.setAttribute("aria-pressed", String(!hide));
    for (const one of own) one.toggle(name, hide);
  });
}

if (pictures.length) {
  const help = document.createElement("details");
  help.className = "help";
  help.append(row("summary", "What can be done with charts and tables"), row("p", HELP));
  document.querySelector("body > header")?.append(help);
}
