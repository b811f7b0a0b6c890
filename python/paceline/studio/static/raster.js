// The departure raster: a tick for each packet that leaves, as time passes by; red where one is dropped.
const DEQUEUE = 3,
  DROP = 2;
const PAST = 0.75; // the present stands here

// What leaves and what is dropped at the core, and at the first of the links before it: columns sorted by time.
export function rowsOf(world, network) {
  const { core } = network;
  const into = network.links.find(
    (link) => link.to === network.links.find((one) => one.name === core)?.from && link.name !== core,
  );
  const before = into && world.places.find((name) => name === into.name || name === `${into.name}.0`);
  return [before, core].filter(Boolean).map((name) => {
    const place = world.places.indexOf(name);
    const row = { name, time: [], flow: [], dropped: [] };
    for (let index = 0; index < world.time_ns.length; index += 1) {
      if (world.place[index] !== place || world.kind[index] !== 0) continue;
      if (world.event[index] !== DEQUEUE && world.event[index] !== DROP) continue;
      row.time.push(world.time_ns[index]);
      row.flow.push(world.flow[index]);
      row.dropped.push(world.event[index] === DROP);
    }
    return row;
  });
}

export function drawRaster(canvas, rows, time, speed, stage, followed) {
  const ratio = Math.min(2, devicePixelRatio || 1);
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d", { alpha: false });
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = stage.colours.raised;
  context.fillRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  const shown = 4 * speed; // ns across
  const begin = time - PAST * shown;
  const band = height / rows.length;
  rows.forEach((row, number) => {
    const top = number * band;
    context.fillStyle = stage.colours.soft;
    context.fillText(`leaving ${row.name}`, 6, top + 11);
    for (
      let index = lower(row.time, begin);
      index < row.time.length && row.time[index] <= begin + shown;
      index += 1
    ) {
      const x = ((row.time[index] - begin) / shown) * width;
      context.globalAlpha = followed !== null && row.flow[index] !== followed ? 0.18 : 1;
      context.fillStyle = row.dropped[index] ? stage.colours.s22 : stage.flowColour(row.flow[index]);
      if (row.dropped[index]) context.fillRect(x - 1, top + 16, 2, band - 18);
      else context.fillRect(x, top + 20, 1.25, band - 22);
    }
  });
  context.globalAlpha = 1;
  context.fillStyle = stage.colours.ink;
  context.fillRect(PAST * width, 0, 1, height);
}

function lower(times, time) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
