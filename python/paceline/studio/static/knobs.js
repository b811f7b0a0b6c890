// Sliders with units: what is turned most often, and the pacer with its parameters.
import { Live } from "./figures.js";
import { html } from "./html.js";
import { parsed, placeOf, shown, typed, valueAt, written } from "./quantities.js";
import { at, core, network, put, scenario, start } from "./state.js";

const STEPS = 200;
const RANGES = { rate: [1e5, 1e10], time: [1e-4, 0.3], size: [1500, 1e6], packets: [1, 1000], KB: [1, 10000], BDP: [0.01, 4] };
const TCP_KINDS = ["bulk", "closed-loop", "rpc"];

// One slider with its value beside it, which can be typed too. `set` gets the value in text.
function Slider({ id, label, hint, text, value, least, most, write, set, whole = false, linear = false }) {
  const known = value !== null && Number.isFinite(value);
  const place = known ? (linear ? (value - least) / (most - least) : placeOf(value, least, most)) : 0;
  const valueOf = (step) => {
    const share = step / STEPS;
    const to = linear ? Number((least + share * (most - least)).toPrecision(2)) : valueAt(share, least, most);
    return whole ? Math.max(least, Math.round(to)) : to;
  };
  // Where steps are finer than what is written, the next value in that direction: a key moves it too.
  const moved = (event) => {
    const before = Math.round(place * STEPS);
    let step = Number(event.target.value);
    const way = Math.sign(step - before);
    while (way && valueOf(step) === value && step > 0 && step < STEPS) step += way;
    set(write(valueOf(step)));
  };
  return html`<div class="knob">
    <label for=${id}>${label}</label>
    <input id=${`${id}-text`} aria-label=${`${label}, as text`} value=${text ?? ""} placeholder="none"
      autocomplete="off" spellcheck="false"
      onChange=${(event) => set(event.target.value.trim() === "" ? undefined : event.target.value.trim())} />
    <input id=${id} type="range" min="0" max=${STEPS} value=${Math.round(place * STEPS)}
      aria-valuetext=${text ?? "none"}
      disabled=${!known} onInput=${moved} />
    ${hint && html`<p class="note">${hint}</p>`}
  </div>`;
}

function Choice({ id, label, value, options, set, hint }) {
  return html`<div class="knob">
    <label for=${id}>${label}</label>
    <select id=${id} value=${value} onChange=${(event) => set(event.target.value)}>
      ${options.map(([name, words]) => html`<option value=${name} key=${name}>${words ?? name}</option>`)}
    </select>
    ${hint && html`<p class="note">${hint}</p>`}
  </div>`;
}

function quantityKnob(id, label, kind, keys, hint) {
  const text = at(keys);
  const found = parsed(kind, text);
  const [least, most] = RANGES[kind];
  const write = (value) => written(kind, value, 2);
  const given = typeof text === "string" ? text : text === undefined ? "" : JSON.stringify(text);
  return html`<${Slider} id=${id} label=${label} hint=${hint} text=${given} value=${found?.value ?? null}
    least=${least} most=${most}
    write=${write} set=${(to) => put(keys, to)} />`;
}

function BufferKnob({ link }) {
  const keys = [...link.path, link.buffer_key];
  const text = at(keys);
  const found = parsed("size", text);
  const unit = found?.unit === "packet" ? "packets" : found?.unit;
  const scale = RANGES[unit] ?? RANGES.packets;
  const whole = unit === "packets";
  const write = (number) => `${number} ${unit}`;
  const inUnit = {
    packets: (bytes) => `${Math.max(1, Math.round(bytes / 1500))} packets`,
    KB: (bytes) => `${Number((bytes / 1000).toPrecision(2))} KB`,
  };
  inUnit.BDP = (bytes) => `${Number((bytes / network.value.bdp_bytes).toPrecision(2))} BDP`;
  const bytes = !found
    ? 15000
    : whole
      ? found.number * 1500
      : unit === "BDP"
        ? found.number * network.value.bdp_bytes
        : found.value;
  return html`<${Slider} id="buffer" label="Buffer of the core" text=${text} value=${found?.number ?? null}
    least=${scale[0]} most=${scale[1]}
      write=${write} set=${(to) => put(keys, to)} whole=${whole} />
    <div class="units" role="group" aria-label="Unit of the buffer">
      ${Object.keys(inUnit).map(
        (name) =>
          html`<button type="button" aria-pressed=${unit === name}
            onClick=${() => put(keys, inUnit[name](bytes))}>${name}</button>`,
      )}
      <button type="button" aria-pressed=${text === undefined} onClick=${() => put(keys, undefined)}>unlimited</button>
    </div>`;
}

// Where the core has a policer: what it lets pass, and how much of it at once.
function PolicerKnobs({ link }) {
  const keys = [...link.path, "police"];
  const police = at(keys);
  if (typeof police !== "object") return null;
  return html`
    ${quantityKnob("police-rate", "Rate of the policer", "rate", [...keys, "rate"])}
    ${quantityKnob("police-burst", "Burst of the policer", "size", [...keys, "burst"])}`;
}

function FlowsKnob() {
  const tables = scenario.value;
  const access = tables.network?.access;
  const flows = network.value.flows;
  let keys = ["traffic", 0, "count"];
  let label = "Flows for each pair of hosts";
  if (access && !Array.isArray(access)) {
    const key = "per_edge" in access ? "per_edge" : "hosts";
    keys = ["network", "access", key];
    label = key === "hosts" ? "Sending hosts" : "Hosts on each edge";
  }
  const value = at(keys) ?? 1;
  return html`<${Slider} id="flows" label=${label} text=${value} value=${value} least=${1} most=${250} whole
    write=${(number) => number} set=${(to) => put(keys, typed(to ?? ""))}
      hint=${`${flows} flow${flows === 1 ? "" : "s"} in all`} />`;
}

function methodOf(pacing) {
  if (Array.isArray(pacing)) return null;
  return (typeof pacing === "string" ? pacing.split(" ")[0] : pacing?.method) ?? "none";
}

function PacerKnobs() {
  const { pacers } = start.value.choices;
  const pacing = scenario.value.pacing;
  const method = methodOf(pacing);
  if (method === null) return html`<p class="note">Several pacers are at work; change them as TOML.</p>`;
  const choose = (name) => {
    const begin = Object.fromEntries(
      pacers[name].knobs
        .filter((knob) => knob.kind !== "number" || name === "qlbp")
        .map((knob) => [knob.key, knob.begin]),
    );
    const needsPlace = !["none", "host", "port"].includes(name) && network.value.template !== "dumbbell";
    put(["pacing"], { method: name, ...begin, ...(needsPlace ? { at: [network.value.links[0].name] } : {}) });
  };
  const table = typeof pacing === "object" ? pacing : null;
  return html`
    <${Choice} id="pacer" label="Pacer" value=${method} set=${choose}
      options=${Object.keys(pacers).map((name) => [name])} hint=${pacers[method]?.meaning} />
    ${
      table === null &&
      method !== "none" &&
      html`<p
      class="note">Written as "${pacing}"; choose a method to have its sliders.</p>`
    }
    ${
      table !== null &&
      (pacers[method]?.knobs ?? []).map((knob) => {
        const text = table[knob.key] ?? (knob.kind === "number" ? knob.begin : undefined);
        const keys = ["pacing", knob.key];
        const label = knob.key.replace("_", " ");
        return html`<${Slider} key=${`${method}.${knob.key}`} id=${`pacer-${knob.key}`}
          label=${label[0].toUpperCase() + label.slice(1)} text=${text}
        value=${parsed(knob.kind, text)?.value ?? null} least=${knob.least} most=${knob.most}
          linear=${knob.kind === "number"}
        write=${(value) => written(knob.kind, value, 2)}
          set=${(to) => put(keys, knob.kind === "number" ? typed(to) : to)} />`;
      })
    }
    ${
      table !== null &&
      method !== "none" &&
      html`<${Slider} id="share" label="Share of hosts or links that pace" text=${table.share ?? 1}
        value=${table.share ?? 1} least=${0} most=${1} linear
      write=${(value) => value}
        set=${(to) => put(["pacing", "share"], Number(to) === 1 ? undefined : typed(to))} />`
    }`;
}

function TcpKnobs() {
  const { variants, profiles } = start.value.choices;
  const numbers = (scenario.value.traffic ?? []).flatMap((one, number) =>
    TCP_KINDS.includes(one.kind) ? [number] : [],
  );
  if (!numbers.length) return null;
  const tcp = scenario.value.traffic[numbers[0]].tcp ?? {};
  const set = (key) => (value) => {
    const traffic = structuredClone(scenario.value.traffic);
    for (const number of numbers) {
      traffic[number].tcp = { ...traffic[number].tcp, [key]: value };
      if (value === "") delete traffic[number].tcp[key];
    }
    put(["traffic"], traffic);
  };
  return html`
    <${Choice} id="tcp" label="TCP" value=${tcp.variant ?? ""} set=${set("variant")}
      options=${[["", "as the profile has it"], ...variants.map((name) => [name])]} />
    <${Choice} id="profile" label="TCP's other constants" value=${tcp.profile ?? "linux"} set=${set("profile")}
      options=${profiles.map((name) => [name])} />`;
}

function QueueKnob({ link }) {
  const keys = [...link.path, "queue"];
  const queue = at(keys) ?? "drop-tail";
  const name = typeof queue === "string" ? queue : queue.discipline;
  const { queues } = start.value.choices;
  return html`<${Choice} id="queue" label="Queue discipline of the core" value=${name}
    set=${(to) => put(keys, to === "drop-tail" ? undefined : to)}
    options=${queues.map((one) => [one.name])} hint=${queues.find((one) => one.name === name)?.meaning} />`;
}

export function Knobs() {
  const link = core.value;
  if (!link?.path) return null;
  const [low, high] = network.value.rtt_s;
  const rtt = low === high ? shown("s", low) : `${shown("s", low)} to ${shown("s", high)}`;
  const trips = `Round trips of ${rtt}; one BDP is ${shown("bytes", network.value.bdp_bytes)}`;
  return html`<form class="knobs" aria-label="Settings of the scenario" onSubmit=${(event) => event.preventDefault()}>
    <${Live} />
    <fieldset><legend>Network</legend>
      <${BufferKnob} link=${link} />
      ${quantityKnob("rate", "Rate of the core", "rate", [...link.path, "rate"])}
      ${quantityKnob("delay", "Delay of the core, one way", "time", [...link.path, "delay"], trips)}
      <${QueueKnob} link=${link} />
      <${PolicerKnobs} link=${link} />
    </fieldset>
    <fieldset><legend>Pacing</legend><${PacerKnobs} /></fieldset>
    <fieldset><legend>Traffic</legend><${FlowsKnob} /><${TcpKnobs} /></fieldset>
    <fieldset class="run"><legend>Run</legend>
      ${[
        ["duration", "Simulated time"],
        ["warmup", "Statistics start at"],
        ["seed", "First seed"],
      ].map(
        ([key, label]) => html`<div class="knob"><label for=${key}>${label}</label>
          <input id=${key} value=${scenario.value[key] ?? (key === "seed" ? 1 : "0 s")} autocomplete="off"
            onChange=${(event) => put([key], key === "seed" ? typed(event.target.value) : event.target.value)}
              /></div>`,
      )}
    </fieldset>
  </form>`;
}
