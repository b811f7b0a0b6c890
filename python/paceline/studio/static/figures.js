// The two worlds in numbers: a sentence, and a table with the difference that pacing makes.
import { html } from "./html.js";
import { decimalsFor, decimalsWith, fixed, shown, signed, unitFor } from "./quantities.js";
import { compared, core, network, post, repeated, resting, save, scenario, start, worlds } from "./state.js";

const WORLDS = ["unpaced", "paced"];

// Rows of means, or of the one run that is known so far.
function rows() {
  const { metrics } = start.value;
  const known = compared.value;
  return metrics.map((metric) => {
    const row = known?.rows.find((one) => one.key === metric.key);
    if (row) return { metric, ...row };
    const means = WORLDS.map((world) => {
      const mean = worlds.value[world]?.figures[metric.key] ?? null;
      return mean === null ? null : { mean, half: null, count: 1 };
    });
    return { metric, unpaced: means[0], paced: means[1], difference: null };
  });
}

const percent = (share) => `${fixed(100 * share, decimalsFor(100 * share))}\u00a0%`;

export function Headline() {
  const both = rows();
  const find = (key) => both.find((row) => row.metric.key === key);
  const throughput = find("throughput");
  const loss = find("loss");
  if (!throughput?.unpaced || !throughput.paced) return html`<p class="answer" aria-live="polite">Running.</p>`;
  const [before, after] = [throughput.unpaced.mean, throughput.paced.mean];
  const [lostBefore, lostAfter] = [loss.unpaced?.mean ?? 0, loss.paced?.mean ?? 0];
  const difference = throughput.difference;
  const unit = unitFor("bps", Math.max(before, after));
  const decimals = decimalsFor(Math.max(before, after) / unit.factor);
  const [a, b] = [before, after].map((value) => `${fixed(value / unit.factor, decimals)}\u00a0${unit.name}`);
  const sure = difference?.half !== null && difference?.half !== undefined;
  const name = network.value?.core;
  const link = name === "core" ? "The core" : `The link ${name}`;
  const [lessBefore, lessAfter] = [percent(lostBefore), percent(lostAfter)];
  const losses = `${lessBefore} and ${lessAfter} of its packets are lost.`;
  let verdict = `${link} carries ${a} unpaced and ${b} paced; ${losses}`;
  if (a === b && percent(lostBefore) === percent(lostAfter))
    verdict =
      `Pacing changes nothing to see: t${link.slice(1)} carries ${a} in both worlds, ` +
      `and ${lessAfter} of its packets are lost.`;
  return html`<section class="headline" aria-labelledby="headline-title">
    <h2 id="headline-title" class="spoken">What comes of it</h2>
    <p class="answer" aria-live="polite">${verdict}</p>
    <p class="note" id="standing">${standing(sure, difference, throughput.metric)}</p>
  </section>`;
}

function standing(sure, difference, metric) {
  const run = worlds.value.paced;
  if (!run) return "";
  if (run.length < 1)
    return `A first look: ${shown("s", run.duration_s)} of ${shown("s", run.duration_s / run.length)} simulated.`;
  const seeds = compared.value?.seeds ?? 1;
  const count = `${seeds} seed${seeds === 1 ? "" : "s"}${resting.value ? "" : ", and more to come"}.`;
  if (repeated.value)
    return (
      "Simulated in full. Every seed gives the same run, since nothing that is drawn makes a difference: " +
      "there is no interval."
    );
  if (!sure) return `Simulated in full, ${count}`;
  const { mean, half } = difference;
  if (!mean && !half) return `Throughput is the same in both worlds, under every seed. ${count}`;
  const unit = unitFor(metric.kind, Math.max(Math.abs(mean), half));
  const decimals = decimalsWith(mean / unit.factor, half / unit.factor);
  const [by, within] = [signed(mean / unit.factor, decimals), fixed(half / unit.factor, decimals)];
  const told = Math.abs(mean) > half ? "" : ": no difference that these seeds show";
  return `Throughput differs by ${by} ± ${within} ${unit.name} (95 %, seed by seed)${told}. ${count}`;
}

function Cell({ value, unit, most, sign = false }) {
  if (!value) return "none";
  const half = value.half === null ? null : value.half / unit.factor;
  const decimals = decimalsWith(most / unit.factor, half);
  return html`${(sign ? signed : fixed)(value.mean / unit.factor, decimals)}${
    half > 0 &&
    html` <span
    class="half">± ${fixed(half, decimals)}</span>`
  }`;
}

function caption(seeds) {
  const of = `Of the link ${core.value.name}, and of all flows`;
  if (repeated.value) return `${of}; one run, which every seed repeats. The difference is paced less unpaced.`;
  if (seeds < 2) return `${of}; one seed so far.`;
  const intervals = seeds < 5 ? "" : ", with 95 % intervals";
  return `${of}; means over ${seeds} seeds${intervals}. The difference is paced less unpaced, seed by seed.`;
}

// The same in a line, beside the sliders where the page is narrow.
export function Live() {
  const both = rows();
  const found = ["throughput", "loss"].map((key) => both.find((row) => row.metric.key === key));
  if (found.some((row) => !row?.unpaced || !row.paced)) return null;
  const [rate, loss] = found.map(
    (row) => `${shown(row.metric.kind, row.unpaced.mean)} → ${shown(row.metric.kind, row.paced.mean)}`,
  );
  return html`<p class="live" aria-hidden="true">${rate}<br />lost ${loss}</p>`;
}

// Which world is ahead where the interval of the difference leaves zero out.
function winner({ metric, difference }) {
  if (!metric.better || !difference || difference.half === null || Math.abs(difference.mean) <= difference.half)
    return null;
  return difference.mean * metric.better > 0 ? "paced" : "unpaced";
}

async function saveJson() {
  const { json } = await (await post("json", { document: scenario.value })).json();
  for (const world of WORLDS) save(`${world}.json`, json[world], "application/json");
}

export function Figures() {
  const known = rows().filter((row) => row.unpaced || row.paced);
  if (!known.length || !core.value) return null;
  const cut = WORLDS.some((world) => (worlds.value[world]?.length ?? 1) < 1);
  return html`<section aria-labelledby="worlds-title" class=${cut ? "first-look" : ""}>
    <h2 id="worlds-title" tabindex="-1">Two worlds, the same seeds</h2>
    <div class="scroll" tabindex="0" role="region" aria-label="Figures of both worlds">
      <table class="results figures">
        <caption><span>${caption(compared.value?.seeds ?? 1)}</span></caption>
        <thead><tr><th scope="col">Figure</th><th scope="col">Unpaced</th><th scope="col">Paced</th><th
          scope="col">Difference</th></tr></thead>
        <tbody>
          ${known.map((row) => {
            const most = Math.max(Math.abs(row.unpaced?.mean ?? 0), Math.abs(row.paced?.mean ?? 0));
            const unit = unitFor(row.metric.kind, most);
            const ahead = winner(row);
            return html`<tr key=${row.metric.key}>
              <th scope="row" title=${row.metric.meaning}>${row.metric.title}${
                unit.name &&
                html` <span
                class="unit-in-row">${unit.name}</span>`
              }</th>
              ${WORLDS.map(
                (world) => html`<td class=${row[world] ? "" : "unclear"}><${Cell} value=${row[world]}
                unit=${unit} most=${most} /></td>`,
              )}
              <td class=${ahead ? `ahead ${ahead}` : "unclear"}><${Cell} value=${row.difference} unit=${unit}
                most=${most} sign />${ahead && html`<span class="spoken">, ${ahead} is better</span>`}</td>
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
    <p class="buttons"><button type="button" onClick=${saveJson}>Save both worlds' runs</button>
      <span class="note">Seed ${scenario.value.seed ?? 1}, as <code>paceline run --json</code> prints them.</span></p>
  </section>`;
}
