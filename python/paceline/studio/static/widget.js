// The studio in a notebook: its page in a frame of the cell, whose requests the kernel answers by messages.
// `FILES` stands before this text: the page's modules and styles by their names (widget.py).

const nameIn = (folderOf, path) => new URL(path, `file:///${folderOf}`).pathname.slice(1);

// The address of a module whose imports are addresses, too: nothing is fetched.
function addressOf(name, made) {
  if (!made[name]) {
    const address = (_, word, path) => `${word}"${addressOf(nameIn(name, path), made)}"`;
    const text = FILES[name].replace(/((?:from|import)\s*)"(\.[^"]+)"/g, address);
    made[name] = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  }
  return made[name];
}

// `fetch` of the frame: a request is a message with a number, its answer comes in pieces.
function asking(model, window, waiting) {
  let last = 0;
  return async (path, { method = "GET", body = "", signal } = {}) => {
    const number = (last += 1);
    const bytes = await new window.Response(body || null).arrayBuffer();
    return new window.Promise((resolve, reject) => {
      let sink = null;
      const stream = new window.ReadableStream({ start: (controller) => (sink = controller) });
      const abort = () => {
        if (!waiting.delete(number)) return;
        model.send({ kind: "stop", number });
        const error = new window.DOMException("stopped", "AbortError");
        sink.error(error);
        reject(error);
      };
      signal?.addEventListener("abort", abort);
      waiting.set(number, (told, pieces) => {
        if (told.status) resolve(new window.Response(stream, { status: told.status }));
        for (const { buffer, byteOffset, byteLength } of pieces)
          sink.enqueue(new window.Uint8Array(buffer, byteOffset, byteLength));
        if (!told.ends) return;
        waiting.delete(number);
        signal?.removeEventListener("abort", abort);
        sink.close();
      });
      model.send({ kind: "ask", number, path: String(path), method }, undefined, [bytes]);
    });
  };
}

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "Paceline studio";
  Object.assign(frame.style, { width: "100%", height: `${model.get("height")}px`, border: "0" });
  el.replaceChildren(frame);
  const [window, inside] = [frame.contentWindow, frame.contentDocument];
  const waiting = new Map();
  const answered = (told, buffers) => {
    if (told.kind === "link") window.location.hash = told.link;
    else waiting.get(told.number)?.(told, buffers ?? []);
  };
  model.on("msg:custom", answered);
  window.fetch = asking(model, window, waiting);
  inside.documentElement.lang = "en";
  const style = inside.createElement("style");
  style.textContent = FILES.styles;
  inside.head.append(style);
  inside.body.innerHTML = '<div id="studio"><p class="note">The studio is starting.</p></div>';
  // a report is no page of a server here: it is asked for, and opened as a file of its own
  inside.addEventListener("click", async (event) => {
    const link = event.target.closest?.('a[href^="reports/"]');
    if (!link) return;
    event.preventDefault();
    const page = await (await window.fetch(link.getAttribute("href"))).text();
    globalThis.open(URL.createObjectURL(new Blob([page], { type: "text/html" })), "_blank", "noopener");
  });
  const made = {};
  const script = inside.createElement("script");
  script.type = "module";
  script.src = addressOf("app.js", made);
  inside.body.append(script);
  return () => {
    model.off("msg:custom", answered);
    model.send({ kind: "close" });
    for (const address of Object.values(made)) URL.revokeObjectURL(address);
  };
}

export default { render };
