// The network, drawn left to right, with its rates, delays and buffers to be written over in place.
import { html, signal } from "./html.js";
import { at, network, put, scenario } from "./state.js";

const narrow = matchMedia("(max-width: 44rem)");
const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", () => (isNarrow.value = narrow.matches));
const MOST_DOTS = 6;
const FIELDS = [
  ["rate", "Rate"],
  ["delay", "Delay"],
  ["buffer", "Buffer"],
];

// Where each group of nodes stands, in shares of the drawing: x by its column, y by its place among those of it.
// The core is `wide` times as long as other links.
export function places(net, wide = 1) {
  const columns = Math.max(...net.nodes.map((node) => node.column)) + 1;
  const core = net.links.find((link) => link.name === net.core);
  const [first, last] = [net.nodes[core.from].column, net.nodes[core.to].column];
  const across = (column) => column + 0.5 + (wide - 1) * Math.min(Math.max(column - first, 0), last - first);
  const all = columns + (wide - 1) * (last - first);
  const inColumn = Array.from({ length: columns }, () => []);
  net.nodes.forEach((node, index) => inColumn[node.column].push(index));
  return net.nodes.map((node, index) => {
    const mates = inColumn[node.column];
    return { x: across(node.column) / all, y: (mates.indexOf(index) + 0.5) / mates.length, room: 1 / mates.length };
  });
}

// Whether the links stand one behind another, so that what is written of each fits below it.
const inRow = (net) =>
  net.links.every((link, index) => net.nodes[link.from].column === index && net.nodes[link.to].column === index + 1);

const dotsOf = (count) => Math.min(count, MOST_DOTS);

function named(node) {
  if (isNarrow.value) return node.count > 1 ? node.count : "";
  return node.count > 1 ? `${node.count} × ${node.name}` : node.name;
}

function Drawing({ net }) {
  const width = isNarrow.value ? 400 : 1000; // about a pixel each
  const rows = Math.max(...places(net).map((place) => Math.round(1 / place.room)));
  const height = Math.max(150, 122 * rows);
  const spots = places(net).map(({ x, y, room }) => ({
    x: x * width,
    y: y * (height - 26) + 4,
    room: room * (height - 26),
  }));
  const dot = (index, number) => {
    const { x, y, room } = spots[index];
    const many = dotsOf(net.nodes[index].count);
    const gap = Math.min(18, (room - 30) / many);
    return [x, y + (number - (many - 1) / 2) * gap];
  };
  const { pacing } = scenario.value;
  const paces = ["host", "port"].includes(typeof pacing === "string" ? pacing.split(" ")[0] : pacing?.method);
  const words = net.links.map(
    (link) => `${link.count > 1 ? link.count + " times " : ""}${link.name}, ${link.rate}, ${link.delay}`,
  );
  return html`<svg class="picture network" viewBox="0 0 ${width} ${height}" role="img"
    aria-label=${`The network: ${words.join("; ")}`}>
    ${net.links.map((link) => {
      const lines = Math.min(MOST_DOTS, Math.max(link.count, 1));
      const from = dotsOf(net.nodes[link.from].count);
      const to = dotsOf(net.nodes[link.to].count);
      return Array.from({ length: lines }, (_, number) => {
        const [x1, y1] = dot(link.from, Math.floor((number * from) / lines));
        const [x2, y2] = dot(link.to, Math.floor((number * to) / lines));
        return html`<line class=${link.name === net.core ? "core" : "cable"} x1=${x1} y1=${y1} x2=${x2} y2=${y2} />`;
      });
    })}
    ${net.links.map((link) => {
      const [x1, y1] = spots[link.from] && [spots[link.from].x, spots[link.from].y];
      const [x2, y2] = [spots[link.to].x, spots[link.to].y];
      const near = isNarrow.value ? 0.5 : 0.24;
      const [x, y] = [x1 + (x2 - x1) * near, y1 + (y2 - y1) * near];
      return html`
        ${
          link.buffer &&
          html`<g>${[0, 1, 2, 3].map(
            (slot) => html`<rect class=${`slot${slot > 1 ? " full" : ""}`}
          x=${x - 16 + 9 * slot} y=${y - 8} width="8" height="16" />`,
          )}</g>`
        }
        ${
          link.paced > 0 &&
          html`<g class="is-paced"><circle class="pacer" cx=${x - (link.buffer ? 32 : 0)} cy=${y} r="13" />
          <path class="pacer-ticks" d=${`M${x - 6 - (link.buffer ? 32 : 0)} ${y - 5}v10m6 -10v10m6 -10v10`} /></g>`
        }`;
    })}
    ${net.nodes.map((node, index) => {
      const many = dotsOf(node.count);
      return html`
        ${Array.from({ length: many }, (_, number) => {
          const [x, y] = dot(index, number);
          return node.is_host
            ? html`<circle
              class=${`host${paces && net.links.some((link) => link.from === index) ? " paced is-paced" : ""}`}
                cx=${x} cy=${y} r="6" />`
            : html`<rect class="router" x=${x - 9} y=${y - 7} width="18" height="14" rx="3" />`;
        })}
        <text class="tick halo" x=${spots[index].x} y=${dot(index, many - 1)[1] + 24}
          text-anchor="middle">${named(node)}</text>`;
    })}
  </svg>`;
}

function Field({ link, name, label }) {
  const key = name === "buffer" ? link.buffer_key : name;
  const keys = [...link.path, key];
  const value = at(keys);
  const plain = value === undefined || typeof value === "string";
  const commit = (event) => put(keys, event.target.value.trim() === "" ? undefined : event.target.value.trim());
  return html`<label><span>${label}</span>
    <input value=${plain ? (value ?? "") : JSON.stringify(value)} placeholder=${name === "buffer" ? "unlimited" : ""}
      title=${value} disabled=${!plain} size="12"
      aria-label=${`${label} of ${link.name}`} autocomplete="off" spellcheck="false" onChange=${commit} /></label>`;
}

export function Network() {
  const net = network.value;
  if (!net) return null;
  scenario.value; // drawn again as it changes
  const row = inRow(net);
  const columns = Math.max(...net.nodes.map((node) => node.column)) + 1;
  return html`<section aria-labelledby="network-title">
    <h2 id="network-title">Network</h2>
    <${Drawing} net=${net} />
    <div class=${`links-in-place${row ? " in-row" : ""}`} data-links=${net.links.length}
      style=${row ? `--links: ${net.links.length}; --columns: ${columns}` : ""}>
      ${net.links
        .filter((link) => link.path)
        .map(
          (link) => html`<fieldset key=${link.name} class=${link.name === net.core ? "is-core" : ""}>
          <legend>${link.name}${link.count > 1 ? ` × ${link.count}` : ""}</legend>
          ${FIELDS.map(([name, label]) => html`<${Field} link=${link} name=${name} label=${label} />`)}
        </fieldset>`,
        )}
    </div>
  </section>`;
}
