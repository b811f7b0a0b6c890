// From events of a trace to lives of packets: where each waits, travels, is dropped or arrives, and when.

const SEND = 0,
  ENQUEUE = 1,
  DROP = 2,
  DEQUEUE = 3,
  RECEIVE = 4,
  MARK = 5;

// The link behind a place of the trace: its numbers, and ns that a packet spends on its wire and way.
const flight = (link, bytes) => (bytes * 8e9) / link.rate_bps + link.delay_ns;

// Lives in the order of their beginnings. A life has `flow`, `kind` (0 data, 1 ack), `seq`, `bytes`,
// `start`, `end`, `hops` ({ place, enter, leave, arrive }), `dropped` ({ place, time }) or null, `received` or null.
export function livesOf(world) {
  const lives = [];
  const open = new Map();
  const sent = new Set(); // also of what has arrived or was dropped since
  const count = world.time_ns.length;
  for (let row = 0; row < count; row += 1) {
    const time = world.time_ns[row];
    const event = world.event[row];
    const place = world.place[row];
    const key = `${world.flow[row]} ${world.kind[row]} ${world.seq[row]}`;
    let mates = open.get(key);
    if (event === SEND || !mates) {
      const life = {
        number: lives.length,
        flow: world.flow[row],
        kind: world.kind[row],
        seq: world.seq[row],
        bytes: world.bytes[row],
        start: time,
        end: Infinity,
        sent: event === SEND ? { place, time } : null,
        hops: [],
        dropped: null,
        received: null,
        marked: null,
        again: event === SEND && sent.has(key),
      };
      lives.push(life);
      if (event === SEND) sent.add(key);
      if (!mates) open.set(key, (mates = []));
      mates.push(life);
      if (event === SEND) continue;
    }
    const life = nearest(mates, event, place, time, world);
    step(life, event, place, time, world);
    if (life.end !== Infinity) mates.splice(mates.indexOf(life), 1);
    if (!mates.length) open.delete(key);
  }
  for (const life of lives) finish(life, world);
  return lives;
}

// Of packets that are alike, the one that is due there and then.
function nearest(mates, event, place, time, world) {
  if (mates.length < 2) return mates[0];
  let best = mates[0];
  let least = Infinity;
  for (const life of mates) {
    const hop = life.hops.at(-1);
    const isHere = hop && world.places[hop.place] === world.places[place] && hop.leave === null;
    if (event === DEQUEUE) {
      if (isHere) return life;
      continue;
    }
    if (hop && hop.leave === null) continue;
    const due = hop ? hop.leave + flight(world.links[world.places[hop.place]], life.bytes) : life.start;
    if (Math.abs(due - time) < least) [best, least] = [life, Math.abs(due - time)];
  }
  return best;
}

function step(life, event, place, time, world) {
  const hop = life.hops.at(-1);
  if (event === MARK) {
    life.marked = { place, time };
    return;
  }
  if (event !== DEQUEUE && hop && hop.arrive === null) hop.arrive = time;
  if (event === ENQUEUE) life.hops.push({ place, enter: time, leave: null, arrive: null });
  else if (event === DEQUEUE) {
    if (hop?.place === place && hop.leave === null) hop.leave = time;
    else life.hops.push({ place, enter: time, leave: time, arrive: null });
  } else if (event === DROP) {
    life.dropped = { place, time };
    life.end = time;
  } else if (event === RECEIVE) {
    life.received = { place, time };
    life.end = time;
  }
}

// What the window's end cuts off is reckoned from the link: a packet on its way goes on, one that waits stays.
function finish(life, world) {
  const hop = life.hops.at(-1);
  if (hop && hop.leave !== null && hop.arrive === null)
    hop.arrive = hop.leave + flight(world.links[world.places[hop.place]], life.bytes);
  if (life.end === Infinity && hop?.arrive) life.end = hop.arrive;
}

// What a packet does, in words: rows of [time in ns, what, where].
export function story(life, world) {
  const rows = [];
  const name = (place) => world.places[place];
  // an acknowledgement of the same number is no repetition of a packet: it says that another one came
  const repeated = life.kind === 1 ? "is sent, a duplicate" : "is sent again";
  if (life.sent) rows.push([life.sent.time, life.again ? repeated : "is sent", name(life.sent.place)]);
  for (const hop of life.hops) {
    const waited = hop.leave === null ? null : hop.leave - hop.enter;
    const link = world.links[name(hop.place)];
    if (waited === null || waited > 0)
      rows.push([hop.enter, link?.paced ? "is held by the pacer" : "waits", name(hop.place), waited]);
    if (hop.leave !== null)
      rows.push([hop.leave, "is on the wire", name(hop.place), hop.arrive === null ? null : hop.arrive - hop.leave]);
  }
  if (life.marked) rows.push([life.marked.time, "is marked", name(life.marked.place)]);
  if (life.dropped) rows.push([life.dropped.time, "is dropped", name(life.dropped.place)]);
  if (life.received) rows.push([life.received.time, "arrives", name(life.received.place)]);
  return rows.sort((a, b) => a[0] - b[0]);
}
