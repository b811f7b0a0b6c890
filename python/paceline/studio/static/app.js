// The page: what is asked, the network, the two worlds, their packets.
import { html, render } from "./html.js";
import { Dialogs, actions } from "./dialogs.js";
import { Figures, Headline } from "./figures.js";
import { Knobs } from "./knobs.js";
import { Lessons } from "./lessons.js";
import { Network } from "./network.js";
import { Packets } from "./packets.js";
import { Plots } from "./plots.js";
import { begin, errors, latency, scenario, start } from "./state.js";

function Header() {
  const buttons = [
    ...(location.protocol === "about:" ? [] : [["Share", actions.share]]), // a cell of a notebook has no address
    ["TOML", actions.toml],
    ["Run it in full", actions.full],
  ];
  return html`<header class="top">
    <p class="kicker">Paceline studio</p>
    <h1>${scenario.value.title ?? "A scenario without a title"}</h1>
    <nav aria-label="What to do with this scenario">
      ${buttons.map(([name, act]) => html`<button type="button" onClick=${act}>${name}</button>`)}
    </nav>
  </header>`;
}

function Errors() {
  if (!errors.value.length) return null;
  return html`<div class="warning" role="alert">${errors.value.map((line) => html`<p>${line}</p>`)}</div>`;
}

function Studio() {
  if (!scenario.value) return html`<p class="note">The studio is starting.</p>`;
  return html`
    <${Header} />
    <div class="columns">
      <aside aria-label="Settings"><${Lessons} /><${Knobs} /></aside>
      <main>
        <${Errors} />
        <${Headline} />
        <${Network} />
        <${Figures} />
        <${Plots} />
        <${Packets} />
      </main>
    </div>
    <footer>
      Paceline ${start.value.version}. Drop a scenario or a capture anywhere on this page.
      ${
        latency.value !== null &&
        html` <span id="latency" data-ms=${latency.value.ms}
        data-number=${latency.value.number}>First answer after ${Math.round(latency.value.ms)} ms.</span>`
      }
    </footer>
    <${Dialogs} />`;
}

render(html`<${Studio} />`, document.getElementById("studio"));
begin().catch(() => {
  errors.value = ["the studio does not answer; is its command still running?"];
});
