// Curves of both worlds, one beside the other: the queue, windows; and together: rate, completion times.
import uPlot from "./vendor/uplot.js";
import { html, signal, useEffect, useRef } from "./html.js";
import { decimalsFor, fixed, unitFor } from "./quantities.js";
import { network, worlds } from "./state.js";

const HEIGHT = 190;
const dark = matchMedia("(prefers-color-scheme: dark)");
const scheme = signal(dark.matches);
dark.addEventListener("change", () => (scheme.value = dark.matches));

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const WORLD_COLOURS = { unpaced: "s0", paced: "s1" };
const FLOW_COLOURS = ["s2", "s3", "s4", "s5"];

function options({ width, lines, unit, xUnit, most, right, step }) {
  const axis = {
    stroke: colour("soft"),
    grid: { stroke: colour("grid"), width: 1 },
    ticks: { stroke: colour("grid"), width: 1 },
    font: "11px system-ui",
  };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, sync: { key: xUnit === "s" ? "time" : xUnit }, points: { size: 6 } },
    scales: { x: { time: false }, y: { range: [0, most ? most * 1.05 : 1], ...(right ? { range: [0, 1] } : {}) } },
    axes: [
      { ...axis, size: 30, values: (_, ticks) => ticks.map((tick) => `${Number(tick.toPrecision(6))} ${xUnit}`) },
      { ...axis, size: 54, values: (_, ticks) => ticks.map((tick) => `${Number(tick.toPrecision(6))}`) },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.name,
        stroke: colour(line.colour),
        width: line.width ?? 1.5,
        points: { show: false },
        ...(step ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
      })),
    ],
  };
}

// One picture. `lines`: name, colour, x and y, in the kind's base unit; `most` is the end of the y axis, so that worlds
// compare.
function Plot({ title, kind, lines, most, xUnit = "s", xFactor = 1, share = false, step = false }) {
  const place = useRef(null);
  const drawn = useRef(null);
  const unit = share ? { name: "", factor: 1 } : unitFor(kind, most);
  const isDark = scheme.value;
  const made = useRef("");
  useEffect(() => {
    if (!place.current) return; // gone before it was its turn
    const width = Math.max(200, place.current.clientWidth);
    const data = uPlot.join(
      lines.map((line) => [line.x.map((x) => x / xFactor), line.y.map((y) => (y === null ? null : y / unit.factor))]),
    );
    const like = JSON.stringify([
      width,
      lines.map((line) => [line.name, line.colour]),
      unit.name,
      most,
      isDark,
      xUnit,
    ]);
    if (!lines.length || !data?.[0]?.length) return;
    if (made.current === like) return drawn.current.setData(data);
    drawn.current?.destroy();
    made.current = like;
    drawn.current = new uPlot(
      options({ width, lines, unit, xUnit, most: most / unit.factor, right: share, step }),
      data,
      place.current,
    );
  });
  useEffect(() => {
    const watch = new ResizeObserver(
      () =>
        place.current && drawn.current?.setSize({ width: Math.max(200, place.current.clientWidth), height: HEIGHT }),
    );
    watch.observe(place.current);
    return () => {
      watch.disconnect();
      drawn.current?.destroy();
    };
  }, []);
  const ends = lines.map(
    (line) =>
      `${line.name}: from ${said(line.y[0], unit)} to ${said(line.y.at(-1), unit)}, ` +
      `at most ${said(mostOf([line.y]), unit)}`,
  );
  return html`<figure class="plot">
    <figcaption>${title}${unit.name && `, ${unit.name}`}</figcaption>
    <div ref=${place} role="img"
      aria-label=${`${title}${unit.name ? `, ${unit.name}` : ""}. ${ends.slice(0, 4).join("; ")}`}></div>
    ${
      lines.length > 1 &&
      html`<ul class="legend">${lines.map(
        (line) => html`<li><span
      class=${`line-swatch ${line.colour}`} aria-hidden="true"></span>${line.name}</li>`,
      )}</ul>`
    }
  </figure>`;
}

function said(value, unit) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "nothing";
  return fixed(value / unit.factor, decimalsFor(value / unit.factor));
}

const mostOf = (columns) => Math.max(0, ...columns.flatMap((ys) => ys.filter((y) => y !== null)));

const lineOf = ({ world }, [x, y]) => ({ name: world, colour: WORLD_COLOURS[world], x, y, width: 1.25 });

const windowsOf = (world) =>
  Object.entries(world.curves.windows).map(([name, [x, y]], index) => ({
    name,
    colour: FLOW_COLOURS[index],
    x,
    y,
    width: 1.25,
  }));

export function Plots() {
  const both = ["unpaced", "paced"].map((name) => worlds.value[name]).filter(Boolean);
  if (both.length < 2 || !network.value) return null;
  const queues = mostOf(both.map((world) => world.curves.queue[1]));
  const windows = mostOf(both.flatMap((world) => Object.values(world.curves.windows).map(([, ys]) => ys)));
  const rates = mostOf(both.map((world) => world.curves.rate[1]));
  const finished = both.filter((world) => world.curves.completion[0].length);
  const slowest = mostOf(finished.map((world) => world.curves.completion[0]));
  const time = unitFor("s", slowest);
  const name = network.value.core;
  return html`<section aria-labelledby="curves-title">
    <h2 id="curves-title">Side by side</h2>
    <div class="side-by-side">
      ${both.map(
        (world) => html`<div key=${world.world} class="world">
        <h3 class=${world.world}>${world.world === "paced" ? "Paced" : "Unpaced"}</h3>
        <${Plot} title=${`Queue at ${name}`} kind="bytes" most=${queues} step
          lines=${[{ ...lineOf(world, world.curves.queue), name: "queue", width: 1 }]} />
        ${
          Object.keys(world.curves.windows).length > 0 &&
          html`<${Plot} title="Windows of the first flows, packets" kind="number" most=${windows}
          lines=${windowsOf(world)} />`
        }
      </div>`,
      )}
    </div>
    <div class="side-by-side">
      <${Plot} title=${`Rate that ${name} carries`} kind="bps" most=${rates}
        lines=${both.map((world) => lineOf(world, world.curves.rate))} />
      ${
        finished.length > 0 &&
        html`<${Plot} title="Share of transfers complete within" kind="number" most=${1} share xUnit=${time.name}
          xFactor=${time.factor}
        lines=${finished.map((world) => lineOf(world, world.curves.completion))} />`
      }
    </div>
  </section>`;
}
