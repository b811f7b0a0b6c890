"use strict";
// Axes of a plane: from coordinates to values and back, also while a part of the plane is shown, and their ticks.

const LARGEST_ZOOM = 500; // coordinates have two decimals
const NARROW_SPACE = "\u202f";

// A number as the page writes it: thin spaces between thousands, a true minus sign.
function plain(value, decimals) {
  const [whole, rest] = Math.abs(value).toFixed(decimals).split(".");
  const digits = whole.replace(/\B(?=(\d{3})+$)/g, NARROW_SPACE) + (rest ? `.${rest}` : "");
  return value < 0 && /[1-9]/.test(digits) ? `\u2212${digits}` : digits;
}

const withUnit = (text, unit) => (unit ? `${text}\u00a0${unit}` : text);

class Scale {
  // `told`: title, low, high, unit, and where they are, log, steps, places, fixed (`Extent` of svg.py); `from` and `to`
  // are the coordinates of low and high.
  constructor(told, from, to) {
    Object.assign(this, { unit: "", log: false, steps: [], places: [], fixed: false }, told, { from, to });
    this.whole();
  }

  whole() {
    this.factor = 1;
    this.offset = 0;
  }

  get zoomed() {
    return this.factor !== 1;
  }

  // Where a coordinate of the whole plane is now, and back.
  moved(place) {
    return this.factor * place + this.offset;
  }

  still(place) {
    return (place - this.offset) / this.factor;
  }

  // What lies between two coordinates, spread over the whole axis, as far as there is something.
  zoom(a, b) {
    if (this.fixed) return;
    const [least, most] = [Math.min(this.from, this.to), Math.max(this.from, this.to)];
    const smallest = (most - least) / LARGEST_ZOOM;
    let [start, end] = [this.still(Math.min(a, b)), this.still(Math.max(a, b))];
    if (end - start < smallest) [start, end] = [(start + end - smallest) / 2, (start + end + smallest) / 2];
    if (end - start >= most - least) return this.whole();
    const shift = Math.max(0, least - start) - Math.max(0, end - most);
    [start, end] = [start + shift, end + shift];
    this.factor = (most - least) / (end - start);
    this.offset = least - this.factor * start;
  }

  // By `times` about a coordinate that stays where it is.
  zoomAbout(place, times) {
    this.zoom(place + (this.from - place) / times, place + (this.to - place) / times);
  }

  value(place) {
    const share = (this.still(place) - this.from) / (this.to - this.from);
    return this.log ? this.low * (this.high / this.low) ** share : this.low + share * (this.high - this.low);
  }

  placeOf(value) {
    const share = this.log
      ? Math.log(value / this.low) / Math.log(this.high / this.low)
      : (value - this.low) / (this.high - this.low);
    return this.moved(this.from + share * (this.to - this.from));
  }

  // What stands at a coordinate, in words: as many digits as the picture has.
  text(place) {
    if (this.places.length) {
      const far = ([at]) => Math.abs(this.moved(at) - place);
      return this.places.reduce((best, one) => (far(one) < far(best) ? one : best))[1];
    }
    const value = this.value(place);
    if (this.log) return this.inOwnUnit(value);
    const range = Math.abs(this.value(this.to) - this.value(this.from));
    return withUnit(plain(value, decimalsOf(range / 2000)), this.unit);
  }

  inOwnUnit(value) {
    const fits = this.steps.find(([least]) => value * 1.0000001 >= least);
    const [step, unit] = fits ?? this.steps.at(-1) ?? [1, this.unit];
    const number = value / step;
    const digits = Math.floor(Math.log10(Math.abs(number) || 1) + 1e-9);
    return withUnit(plain(number, Math.max(0, 2 - digits)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, ""), unit);
  }

  // Coordinates of round values in what is shown, with their names.
  ticks(about) {
    const [a, b] = [this.value(this.from), this.value(this.to)];
    const [low, high] = [Math.min(a, b), Math.max(a, b)];
    if (this.log && high / low > 3) {
      for (const digits of [[1, 2, 5], [1, 3], [1]]) {
        const values = [];
        for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1)
          values.push(...digits.map((digit) => digit * 10 ** power));
        const found = values.filter((value) => value >= low * 0.999 && value <= high * 1.001);
        if (found.length <= about || digits.length === 1)
          return found.map((value) => [this.placeOf(value), this.inOwnUnit(value)]);
      }
    }
    const raw = (high - low) / about;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].find((times) => times * power >= raw * 0.999) * power;
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * (high - low); k += 1) found.push(k * step);
    const decimals = decimalsOf(step) + (/^2\.?5/.test((step / power).toString()) ? 1 : 0);
    return found.map((v) => [this.placeOf(v), this.log ? this.inOwnUnit(v) : plain(v, Math.min(decimals, 9))]);
  }
}

// The decimals that show steps of this size.
const decimalsOf = (step) => Math.min(9, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
