// The animated picture of one world: packets that cross links, wait in buffers and pacers, fall when they are dropped.
import { places as groupPlaces } from "./network.js";
import { colour } from "./plots.js";

const FALL_S = 0.7; // of the watcher's time
const CORE_LENGTH = 2.5; // times that of other links
const SLOT = 7;
const SLOTS_IN_ROW = 12;
const MOST_SLOTS = 36;
const MOST_LINES = 64;
const PALETTE = ["s2", "s3", "s4", "s5", "s7", "s1", "s16", "s17", "s18", "s19", "s20", "s21", "s23"]; // no reds

let versions = 0;

export class Stage {
  constructor(canvas, network, world, lives) {
    this.canvas = canvas;
    this.network = network;
    this.world = world;
    this.lives = lives;
    this.longest = lives.reduce(
      (most, life) => Math.max(most, (life.end === Infinity ? world.until_ns : life.end) - life.start),
      0,
    );
    this.hits = [];
    this.resize();
  }

  // Colours and the still part of the picture, for the canvas as it is now.
  resize() {
    this.version = versions += 1; // another picture is due
    const ratio = Math.min(2, devicePixelRatio || 1);
    this.width = Math.max(1, this.canvas.clientWidth);
    this.height = Math.max(1, this.canvas.clientHeight);
    this.canvas.width = Math.max(1, Math.round(this.width * ratio));
    this.canvas.height = Math.max(1, Math.round(this.height * ratio));
    this.ratio = ratio;
    this.colours = Object.fromEntries(
      ["paper", "ink", "soft", "rule", "grid", "raised", "s22"].map((name) => [name, colour(name)]),
    );
    this.palette = PALETTE.map(colour);
    this.lay();
    this.still = document.createElement("canvas");
    this.still.width = this.canvas.width;
    this.still.height = this.canvas.height;
    const context = this.still.getContext("2d", { alpha: false });
    context.scale(ratio, ratio);
    this.drawStill(context);
  }

  flowColour(flow) {
    return this.palette[flow % this.palette.length];
  }

  // Both ends of every link of the trace.
  lay() {
    const spots = groupPlaces(this.network, CORE_LENGTH);
    const margin = 8;
    const high = this.height - 2 * margin;
    const at = (index, number) => {
      const { x, y, room } = spots[index];
      const { count } = this.network.nodes[index];
      const part = room * high * 0.86;
      return { x: x * this.width, y: margin + y * high + ((number + 0.5) / count - 0.5) * part };
    };
    this.nodeAt = at;
    const groups = new Map(this.network.links.map((link) => [link.name, link]));
    this.ends = this.world.places.map((name) => {
      const back = name.endsWith(".reverse");
      const own = back ? name.slice(0, -8) : name;
      let group = groups.get(own);
      let number = 0;
      if (!group) {
        const dot = own.lastIndexOf(".");
        group = groups.get(own.slice(0, dot));
        number = Number(own.slice(dot + 1));
      }
      if (!group) return null;
      const along = (index) => at(index, Math.floor((number * this.network.nodes[index].count) / group.count));
      const pair = [along(group.from), along(group.to)];
      return {
        from: pair[back ? 1 : 0],
        to: pair[back ? 0 : 1],
        back,
        isCore: group.name === this.network.core,
        link: this.world.links[name],
        single: group.count === 1,
      };
    });
  }

  drawStill(context) {
    const { colours, network } = this;
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, this.width, this.height);
    context.strokeStyle = colours.rule;
    for (const link of network.links) {
      const lines = Math.min(link.count, MOST_LINES);
      context.lineWidth = link.count > 12 ? 0.5 : 1;
      if (link.name === network.core) context.lineWidth = 3;
      context.beginPath();
      for (let line = 0; line < lines; line += 1) {
        const number = Math.floor((line * link.count) / lines);
        const a = this.nodeAt(link.from, Math.floor((number * network.nodes[link.from].count) / link.count));
        const b = this.nodeAt(link.to, Math.floor((number * network.nodes[link.to].count) / link.count));
        context.moveTo(a.x, a.y);
        context.lineTo(b.x, b.y);
      }
      context.stroke();
    }
    network.nodes.forEach((node, index) => {
      const shown = Math.min(node.count, MOST_LINES);
      for (let dot = 0; dot < shown; dot += 1) {
        const { x, y } = this.nodeAt(index, Math.floor((dot * node.count) / shown));
        context.fillStyle = node.is_host ? colours.soft : colours.ink;
        if (node.is_host) {
          context.beginPath();
          context.arc(x, y, node.count > 16 ? 2 : 4, 0, 7);
          context.fill();
        } else context.fillRect(x - 5, y - 5, 10, 10);
      }
    });
    context.strokeStyle = colours.soft;
    context.lineWidth = 1;
    for (const end of this.ends) {
      if (!end || end.back || !end.single || end.link?.places === null || !end.link) continue;
      for (let slot = 0; slot < Math.min(end.link.places, MOST_SLOTS); slot += 1) {
        const { x, y } = slotAt(end, slot);
        context.strokeRect(x - 2.5, y - 2.5, SLOT - 2, SLOT - 2);
      }
    }
  }

  // The picture at `time`, ns; `speed` is ns a second. Returns how many packets it shows.
  draw(time, speed, { followed, chosen, acks }) {
    const context = this.canvas.getContext("2d", { alpha: false });
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.still, 0, 0);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const falls = FALL_S * speed;
    const waiting = new Map();
    this.hits.length = 0;
    let drawn = 0;
    for (let index = this.firstAfter(time - this.longest - falls); index < this.lives.length; index += 1) {
      const life = this.lives[index];
      if (life.start > time) break;
      if (life.kind === 1 && !acks) continue;
      const spot = this.spotOf(life, time, falls, waiting);
      if (!spot) continue;
      drawn += 1;
      const faint = followed !== null && life.flow !== followed;
      context.globalAlpha = (faint ? 0.18 : 1) * (spot.alpha ?? 1);
      context.fillStyle = spot.falls ? this.colours.s22 : this.flowColour(life.flow);
      if (life.kind === 1) context.fillRect(spot.x - 1.5, spot.y + 2, 3, 3);
      else context.fillRect(spot.x - 3, spot.y - 2.5, 6, 5);
      if (chosen === life.number) {
        context.globalAlpha = 1;
        context.strokeStyle = this.colours.ink;
        context.lineWidth = 1.5;
        context.strokeRect(spot.x - 6, spot.y - 5.5, 12, 11);
      }
      this.hits.push(spot.x, spot.y, life.number);
    }
    context.globalAlpha = 1;
    return drawn;
  }

  firstAfter(time) {
    let low = 0;
    let high = this.lives.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.lives[middle].start < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  spotOf(life, time, falls, waiting) {
    if (life.dropped && time >= life.dropped.time) {
      const share = (time - life.dropped.time) / falls;
      const end = this.ends[life.dropped.place];
      if (share > 1 || !end) return null;
      return {
        x: end.from.x - 4 - 10 * share,
        y: end.from.y + share * share * Math.min(70, this.height * 0.4),
        alpha: 1 - share * 0.5,
        falls: true,
      };
    }
    if (time >= life.end) return null;
    for (let index = life.hops.length - 1; index >= 0; index -= 1) {
      const hop = life.hops[index];
      if (hop.enter > time) continue;
      const end = this.ends[hop.place];
      if (!end) return null;
      if (hop.leave === null || time < hop.leave) {
        const before = waiting.get(hop.place) ?? 0;
        waiting.set(hop.place, before + 1);
        return slotAt(end, before);
      }
      if (hop.arrive === null) return null;
      const share = Math.min(1, (time - hop.leave) / (hop.arrive - hop.leave));
      return { x: end.from.x + (end.to.x - end.from.x) * share, y: end.from.y + (end.to.y - end.from.y) * share };
    }
    return null;
  }

  // The packet nearest to a point, within a finger's width; null where there is none.
  packetAt(x, y) {
    let best = null;
    let least = 18 ** 2;
    for (let index = 0; index < this.hits.length; index += 3) {
      const distance = (this.hits[index] - x) ** 2 + (this.hits[index + 1] - y) ** 2;
      if (distance < least) [best, least] = [this.hits[index + 2], distance];
    }
    return best;
  }

  // Of the packets that are drawn, the one sent after this one, or before it; the first or last where it is not drawn.
  packetBeside(number, way) {
    const drawn = this.hits.filter((_, index) => index % 3 === 2);
    const place = drawn.indexOf(number);
    if (place < 0) return drawn.at(way > 0 ? 0 : -1) ?? null;
    return drawn[(place + way + drawn.length) % drawn.length];
  }
}

// Where what waits before a link stands: in rows above its beginning, the first at the wire.
function slotAt(end, number) {
  const way = end.back ? 1 : -1;
  const slot = Math.min(number, 4 * MOST_SLOTS);
  return {
    x: end.from.x + way * (9 + (slot % SLOTS_IN_ROW) * SLOT),
    y: end.from.y - 12 - Math.floor(slot / SLOTS_IN_ROW) * SLOT,
  };
}
