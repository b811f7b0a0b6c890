// Packets to look at: both worlds animated at once, with pause, step, speed, one flow to follow and one packet's life.
import { effect, html, signal, useEffect, useRef } from "./html.js";
import { livesOf, story } from "./lives.js";
import { Stage } from "./stage.js";
import { drawRaster, rowsOf } from "./raster.js";
import { instant, placeOf, shown, span, valueAt, written } from "./quantities.js";
import { network, post, rested, scenario } from "./state.js";

const LEAST_SPEED = 1e-6; // simulated seconds a second
const MOST_SPEED = 10;
const STEPS = 280;
const SETTLED_MS = 400;

const traces = signal(null); // { network, worlds: [{ world, lives, rows, times }] } of the window that is shown
const loading = signal("");
const playing = signal(false);
const speed = signal(0.02);
const followed = signal(null);
const chosen = signal(null); // { world, number }
const acks = signal(true);
const clock = signal(0); // ns since the window's beginning; told ten times a second
let now = 0;
let asking = null; // stops what is under way

export async function load(fromS = null) {
  asking?.abort();
  const { signal } = (asking = new AbortController());
  loading.value = "Packets are being traced.";
  try {
    const told = await (await post("packets", { document: scenario.value, from_s: fromS }, { signal })).json();
    if (signal.aborted || !told.worlds.length) return;
    const net = network.value;
    const worlds = told.worlds.map((world) => ({
      world,
      lives: livesOf(world),
      rows: rowsOf(world, net),
      times: world.time_ns,
    }));
    const until = Math.min(...told.worlds.map((world) => world.until_ns));
    const begin = Math.min(...told.worlds.map((world) => world.begin_ns));
    now = clock.value = begin;
    chosen.value = null;
    traces.value = { network: net, worlds, begin, until, from: told.worlds[0].from_ns };
    if (followed.value !== null && !worlds.some(({ lives }) => lives.some((life) => life.flow === followed.value)))
      followed.value = null;
    loading.value = "";
  } catch (error) {
    if (!signal.aborted) loading.value = error.message;
  }
}

// A state that rests gets its packets. Until then those that are shown are said to be of the one before, and none are
// asked for: they would take time from its first answer.
let settle = 0;
effect(() => {
  if (!scenario.value) return;
  clearTimeout(settle);
  asking?.abort();
  const old = "These packets are of the state before; this one's come once it has run.";
  loading.value = traces.peek() ? old : "";
});
effect(() => {
  if (!rested.value) return;
  clearTimeout(settle);
  settle = setTimeout(() => load(), SETTLED_MS);
});

const toggle = () => {
  playing.value = !playing.value;
  clock.value = now;
};

// The next event of either world, or the one before.
function step(way) {
  playing.value = false;
  const found = traces.value.worlds.map(({ times }) => {
    let low = 0;
    let high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (way > 0 ? times[middle] <= now : times[middle] < now) low = middle + 1;
      else high = middle;
    }
    return times[way > 0 ? low : low - 1];
  });
  const known = found.filter((time) => time !== undefined);
  if (known.length) seek(way > 0 ? Math.min(...known) : Math.max(...known));
}

function seek(time) {
  now = Math.max(traces.value.begin, Math.min(traces.value.until, time));
  clock.value = now;
}

// As high as the rows of nodes need.
function heightOf(net) {
  const rows = net.nodes.map((node) =>
    net.nodes.filter((one) => one.column === node.column).reduce((sum, one) => sum + Math.min(one.count, 20), 0),
  );
  return Math.min(300, 120 + 9 * Math.max(...rows));
}

function World({ trace, index }) {
  const canvas = useRef(null);
  const raster = useRef(null);
  const { world, lives, rows } = trace;
  useEffect(() => {
    const stage = new Stage(canvas.current, traces.value.network, world, lives);
    stages[index] = { stage, rows, canvas: canvas.current, raster: raster.current };
    const watch = new ResizeObserver(() => stage.resize());
    watch.observe(canvas.current);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const again = () => stage.resize();
    scheme.addEventListener("change", again);
    return () => {
      watch.disconnect();
      scheme.removeEventListener("change", again);
    };
  }, [trace]);
  const choose = (event) => {
    const box = canvas.current.getBoundingClientRect();
    const number = stages[index].stage.packetAt(event.clientX - box.left, event.clientY - box.top);
    chosen.value = number === null ? null : { index, number };
    if (number !== null) playing.value = false;
  };
  const go = (event) => {
    const way = { ArrowLeft: -1, ArrowRight: 1, Escape: 0 }[event.key];
    if (way === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    playing.value = false;
    const { stage } = stages[index];
    const from = chosen.value?.index === index ? chosen.value.number : null;
    const number = way === 0 ? null : stage.packetBeside(from, way);
    chosen.value = number === null ? null : { index, number };
  };
  return html`<figure class="stage">
    <figcaption class=${world.world}>${world.world === "paced" ? "Paced" : "Unpaced"}</figcaption>
    <canvas ref=${canvas} class="packets" role="img" style=${{ height: `${heightOf(traces.value.network)}px` }}
      onClick=${choose} tabindex="0" onKeyDown=${go} aria-keyshortcuts="ArrowLeft ArrowRight Escape"
      aria-label=${`Packets crossing the network, ${world.world}; figures and curves above say it in numbers`}></canvas>
    <canvas ref=${raster} class="raster" role="img"
      aria-label=${`Departures from ${rows.map((row) => row.name).join(" and from ")}, ${world.world}`}></canvas>
  </figure>`;
}

const stages = [];
let lastFrame = 0;
let lastTold = 0;

let shownAs = ""; // what the last picture was of: one that would be the same is not drawn

function frame(at) {
  const passed = Math.min(100, at - lastFrame);
  lastFrame = at;
  const held = traces.value;
  const as = [
    now,
    speed.value,
    followed.value,
    chosen.value?.index,
    chosen.value?.number,
    acks.value,
    ...stages.map(({ stage }) => stage.version),
  ].join();
  if (held && !document.hidden && (playing.value || as !== shownAs)) {
    shownAs = as;
    if (playing.value) {
      now += passed * 1e6 * speed.value;
      if (now > held.until) now = held.begin;
    }
    let drawn = 0;
    stages.forEach(({ stage, rows, canvas, raster }, index) => {
      const picked = chosen.value?.index === index ? chosen.value.number : null;
      drawn += stage.draw(now, speed.value * 1e9, { followed: followed.value, chosen: picked, acks: acks.value });
      drawRaster(raster, rows, now, speed.value * 1e9, stage, followed.value);
      if (index === 0) canvas.dataset.time = now;
    });
    if (stages[0]) stages[0].canvas.dataset.drawn = drawn;
    if (playing.value && at - lastTold > 100) {
      lastTold = at;
      clock.value = now;
    }
  }
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);

function lasting(ns) {
  if (ns === undefined) return "";
  return ns === null ? "longer than is shown" : span(ns);
}

function Life() {
  if (!chosen.value) return html`<p class="note">Click a packet to see its life; or Tab to a picture, and ← and →.</p>`;
  const { world, lives } = traces.value.worlds[chosen.value.index];
  const life = lives[chosen.value.number];
  const what = life.kind === 1 ? "Acknowledgement" : "Packet";
  return html`<div class="life" aria-live="polite">
    <h3>${what} ${life.seq} of flow ${life.flow}, ${life.bytes} B, ${world.world}</h3>
    <div class="scroll" tabindex="0"><table class="results"><thead><tr><th scope="col">Time</th><th
      scope="col">What</th><th scope="col">Where</th><th scope="col">For</th></tr></thead>
      <tbody>${story(life, world).map(
        ([time, event, where, lasts]) => html`<tr><th
        scope="row">${instant(time + world.from_ns)}</th>
        <td>${event}</td><td>${where}</td><td>${lasting(lasts)}</td></tr>`,
      )}</tbody></table></div>
    <p><button type="button" onClick=${() => (followed.value = life.flow)}>Follow flow ${life.flow}</button></p>
  </div>`;
}

function Controls() {
  const { begin, until, from, worlds } = traces.value;
  const flows = [...new Set(worlds.flatMap(({ lives }) => lives.map((life) => life.flow)))].sort((a, b) => a - b);
  const keys = (event) => {
    if (["INPUT", "SELECT"].includes(event.target.tagName) || event.altKey || event.ctrlKey || event.metaKey) return;
    const acts = { ",": () => step(-1), ".": () => step(1), p: toggle };
    if (acts[event.key]) {
      acts[event.key]();
      event.preventDefault();
    }
  };
  useEffect(() => {
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  });
  const pace = `${written("time", speed.value, 2).replace("us", "µs")} a second`;
  return html`<div class="controls" role="group" aria-label="What the packets do">
    <div class="buttons">
      <button type="button" id="play" class="first" aria-keyshortcuts="p"
        onClick=${toggle}>${playing.value ? "Pause" : "Play"}</button>
      <button type="button" aria-keyshortcuts="," aria-label="To the event before"
        onClick=${() => step(-1)}>Back</button>
      <button type="button" id="step" aria-keyshortcuts="." aria-label="To the next event"
        onClick=${() => step(1)}>Step</button>
      <span class="clock" id="clock">${instant(clock.value + from)}</span>
    </div>
    <label class="wide">Time<input type="range" id="time" min="0" max="1000"
      value=${Math.round((1000 * (clock.value - begin)) / (until - begin))}
        aria-valuetext=${instant(clock.value + from)}
      onInput=${(event) => seek(begin + ((until - begin) * event.target.value) / 1000)} /></label>
    <label class="wide">Speed: ${pace}<input type="range" id="speed" min="0" max=${STEPS}
      value=${Math.round(placeOf(speed.value, LEAST_SPEED, MOST_SPEED) * STEPS)} aria-valuetext=${pace}
      onInput=${(event) => (speed.value = valueAt(event.target.value / STEPS, LEAST_SPEED, MOST_SPEED))} /></label>
    <label>Follow<select id="follow" value=${followed.value ?? ""}
      onChange=${(event) => (followed.value = event.target.value === "" ? null : Number(event.target.value))}>
      <option value="">all flows</option>${flows.map(
        (flow) => html`<option value=${flow}
        key=${flow}>flow ${flow}</option>`,
      )}</select></label>
    <label class="check"><input type="checkbox" checked=${acks.value}
      onChange=${(event) => (acks.value = event.target.checked)} />Acknowledgements</label>
    <label>From, s<input type="number" id="from" min="0" step="any" value=${(from + begin) / 1e9}
      onChange=${(event) => load(Number(event.target.value))} /></label>
  </div>`;
}

export function Packets() {
  const held = traces.value;
  return html`<section aria-labelledby="packets-title" class="packets-section">
    <h2 id="packets-title">Packets</h2>
    <p role="status" class="note">${loading.value}</p>
    ${
      held &&
      html`
      <${Controls} />
      <div class="side-by-side">${held.worlds.map(
        (trace, index) => html`<${World} key=${index} trace=${trace}
        index=${index} />`,
      )}</div>
      <p class="note">A packet has the colour of its flow; those in rows before a link wait there, in its buffer or its
        pacer, and those that are dropped fall, in red. Shown are ${shown("s", (held.until - held.begin) / 1e9)}${" "}
        from ${instant(held.from + held.begin)} on. Keys: p plays and pauses, comma and full stop step.</p>
      <${Life} />`
    }
  </section>`;
}
