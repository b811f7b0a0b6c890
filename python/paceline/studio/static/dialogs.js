// What opens over the page: a link to share, the scenario as TOML, a sweep in full, a capture that was dropped.
import { html, signal, useEffect, useRef } from "./html.js";
import { at, core, encoded, lines, post, read, save, scenario } from "./state.js";

const open = signal(null); // { kind, … } of the dialog that is open
const refused = signal([]); // what is wrong with the text that was to be used; the page goes on as it was
const running = signal(null); // the sweep under way, or its end
let dragged = 0;
const dragging = signal(false);

export const actions = {
  share: async () => {
    const link = `http://127.0.0.1:8765/${await encoded(scenario.value)}`;
    open.value = { kind: "share", title: "Share this scenario", link };
  },
  toml: async () => {
    const { toml } = await (await post("toml", { document: scenario.value })).json();
    refused.value = [];
    open.value = { kind: "toml", title: "The scenario as TOML", text: toml };
  },
  full: () => {
    open.value = { kind: "full", title: "Run it in full" };
  },
};

function Share({ link }) {
  const text = useRef(null);
  const copy = async (event) => {
    const button = event.target;
    text.current.select();
    await navigator.clipboard.writeText(text.current.value).catch(() => document.execCommand("copy"));
    button.textContent = "Copied";
  };
  return html`<p>The link holds the whole scenario, and nothing of this machine. Whoever has Paceline opens it by the
      command below.</p>
    <label>Command<textarea ref=${text} readonly rows="5"
      spellcheck="false">${`paceline studio "${link}"`}</textarea></label>
    <p><button type="button" onClick=${copy}>Copy</button></p>`;
}

function Toml({ text }) {
  const area = useRef(null);
  const apply = async () => {
    if (await read({ text: area.current.value }, refused)) open.value = null;
  };
  const load = async (event) => {
    const [file] = event.target.files;
    if (file) area.current.value = await file.text();
  };
  return html`<label>Scenario<textarea ref=${area} rows="18" spellcheck="false">${text}</textarea></label>
    ${refused.value.map((line) => html`<p role="alert" class="warning">${line}</p>`)}
    <p class="buttons">
      <button type="button" class="first" onClick=${apply}>Use this</button>
      <button type="button"
        onClick=${() => save("studio.toml", area.current.value, "application/toml")}>Save as a file</button>
      <label class="file">Open a file<input class="spoken" type="file" accept=".toml" onChange=${load} /></label>
    </p>`;
}

async function runInFull(form) {
  const seeds = Number(form.elements.seeds.value);
  const swept =
    form.elements.buffers?.value
      .split(",")
      .map((text) => text.trim())
      .filter(Boolean) ?? [];
  const link = core.value;
  const names = link.path.map((key, index) => String(at(link.path.slice(0, index + 1)).name ?? key));
  const path = names.map((name) => (name.includes(".") ? `"${name}"` : name)).join("."); // as TOML quotes a key
  const buffers = swept.length ? { [`${path}.${link.buffer_key}`]: swept } : null;
  running.value = { share: 0, finished: 0, runs: 0 };
  try {
    const begun = await (await post("full", { document: scenario.value, seeds, buffers })).json();
    running.value = { ...running.value, ...begun };
    for await (const told of lines(await fetch(`api/full/${begun.name}`))) running.value = { ...begun, ...told };
  } catch (error) {
    running.value = { error: error.message };
  }
}

function Full() {
  const now = running.value;
  if (now && !now.error && !now.done)
    return html`<p role="status">${now.finished} of ${now.runs} runs.</p>
      <progress max="1" value=${now.share} aria-label="Share of the sweep that is done"></progress>
      <p><button type="button" onClick=${() => post(`full/${now.name}/stop`, {})}>Stop</button></p>`;
  const buffer = core.value && at([...core.value.path, core.value.buffer_key]);
  return html`${
    now?.done &&
    html`<p role="status"><a href=${now.report} target="_blank"
    rel="noopener">Open the report of ${now.runs} runs</a>; everything is in <code>${now.directory}</code>.</p>`
  }
    ${now?.error && html`<p role="alert" class="warning">${now.error}</p>`}
    <p>Both worlds, each under several seeds, with the report that <code>paceline run</code> writes.</p>
    <form onSubmit=${(event) => {
      event.preventDefault();
      runInFull(event.target);
    }}>
      <label>Seeds<input name="seeds" type="number" min="1" max="200" value="5" /></label>
      <label>Buffers of the core, if several are to be run<input name="buffers"
        placeholder=${buffer ? `${buffer}, 20 packets` : "5 packets, 20 packets"} autocomplete="off" /></label>
      <p><button type="submit" class="first">Run</button></p>
    </form>`;
}

function Capture({ state }) {
  if (state.error) return html`<p role="alert" class="warning">${state.error}</p>`;
  if (!state.found) return html`<p role="status">${state.name} is being read.</p>`;
  const [head, ...rows] = state.found.rows;
  return html`<p><a href=${state.found.report} target="_blank" rel="noopener">Open the whole analysis</a></p>
    ${state.found.notes.map((note) => html`<p class="note">${note}</p>`)}
    ${
      head &&
      html`<div class="scroll" tabindex="0"><table class="results"><thead><tr>${head.map(
        (cell) => html`<th
        scope="col">${cell}</th>`,
      )}</tr></thead>
      <tbody>${rows.map(
        (row) =>
          html`<tr>${row.map((cell, index) =>
            index
              ? html`<td>${cell}</td>`
              : html`<th
        scope="row">${cell}</th>`,
          )}</tr>`,
      )}</tbody></table></div>`
    }`;
}

async function dropped(file) {
  if (file.name.toLowerCase().endsWith(".toml")) return void read({ text: await file.text() });
  open.value = { kind: "capture", title: "A capture", name: file.name };
  const query = new URLSearchParams({ name: file.name });
  const pacing = scenario.value.pacing;
  if (pacing?.method === "edge" && pacing.delay) query.append("pacer", `edge ${pacing.delay}`);
  try {
    const found = await (await post(`capture?${query}`, file, { raw: true })).json();
    open.value = { kind: "capture", title: `What ${file.name} is like`, found };
  } catch (error) {
    open.value = { kind: "capture", title: "A capture", error: error.message };
  }
}

addEventListener("dragover", (event) => event.preventDefault());
addEventListener("dragenter", () => (dragging.value = ++dragged > 0));
addEventListener("dragleave", () => (dragging.value = --dragged > 0));
addEventListener("drop", (event) => {
  event.preventDefault();
  dragged = 0;
  dragging.value = false;
  const [file] = event.dataTransfer.files;
  if (file) dropped(file);
});

const BODIES = { share: Share, toml: Toml, full: Full };

export function Dialogs() {
  const box = useRef(null);
  const state = open.value;
  useEffect(() => {
    if (state && !box.current.open) box.current.showModal();
    if (!state && box.current.open) box.current.close();
  }, [state]);
  const Body = state && BODIES[state.kind];
  return html`<dialog ref=${box} aria-labelledby="dialog-title" onClose=${() => (open.value = null)}>
      <header><h2 id="dialog-title">${state?.title}</h2><button type="button"
        onClick=${() => (open.value = null)}>Close</button></header>
      ${state && (Body ? html`<${Body} ...${state} />` : html`<${Capture} state=${state} />`)}
    </dialog>
    ${
      dragging.value &&
      html`<p class="drop-here"
      aria-hidden="true">Drop a scenario (.toml) or a capture (.pcap)</p>`
    }`;
}
