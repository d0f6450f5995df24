"""The page's script: the time under the pointer, and zoom by dragging, by wheel and by buttons.

It moves what the picture has drawn and makes ticks for what is visible; without it the page shows the same picture.
"""

from __future__ import annotations

import json

from eventide.show.timeline.axis import STEPS_US

_TICKS = """
const DAY = 86400e6, UNITS = {s: 1e6, ms: 1e3, us: 1};
const pad = (n, size) => String(n).padStart(size, "0");
function parts(us) {
  const ms = Math.floor(us / 1000), date = new Date(ms);
  const day = pad(date.getUTCFullYear(), 4) + "-" + pad(date.getUTCMonth() + 1, 2) + "-" + pad(date.getUTCDate(), 2);
  const clock = pad(date.getUTCHours(), 2) + ":" + pad(date.getUTCMinutes(), 2) + ":" + pad(date.getUTCSeconds(), 2)
    + "." + pad(date.getUTCMilliseconds(), 3) + pad(Math.round(us - ms * 1000), 3);
  return [day, clock];
}
const clockText = (clock, step) => clock.slice(0, step >= 60e6 ? 5 : step >= 1e6 ? 8 : step >= 1e3 ? 12 : 15);
const numberText = (us, unit) => Math.floor(us / UNITS[unit]).toLocaleString("en-US");
function instantText(us, unit) {
  us = Math.round(us);
  if (unit) return numberText(us, unit) + " " + unit;
  const [day, clock] = parts(us);
  return day + " " + clock.slice(0, 12);
}
function* multiples(from, to, step, offset) {
  for (let us = Math.ceil((from - offset) / step) * step + offset; us <= to; us += step) yield us;
}
function ticks(from, to, width, unit) {
  const perPx = (to - from) / width, found = [];
  if (unit) {
    const room = Math.max(60, numberText(to, unit).length * 8 + 18) * perPx / UNITS[unit];
    let power = 1;
    while (power * 5 < room) power *= 10;
    const step = Math.max(1, [1, 2, 5].map(n => n * power).find(n => n >= room)) * UNITS[unit];
    for (const us of multiples(from, to, step, 0)) found.push([us, numberText(us, unit), ""]);
    return found;
  }
  const step = STEPS.find(n => n / perPx >= (n < 1e3 ? 120 : n < 1e6 ? 104 : 92));
  if (step === undefined) return months(from, to, 72 * perPx);
  let before = "";
  for (const us of multiples(from, to, step, step >= 7 * DAY ? 4 * DAY : 0)) {
    const [day, clock] = parts(us);
    found.push(step >= DAY ? [us, day, ""] : [us, clockText(clock, step), day === before ? "" : day]);
    before = day;
  }
  return found;
}
function months(from, to, room) {
  const step = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 12000].find(n => n * 28 * DAY >= room) || 60000;
  const first = new Date(from / 1000), found = [];
  let month = Math.ceil((first.getUTCFullYear() * 12 + first.getUTCMonth()) / step) * step;
  for (; ; month += step) {
    const us = new Date(0).setUTCFullYear(Math.floor(month / 12), month % 12, 1) * 1000;
    if (us > to) return found;
    const text = pad(Math.floor(month / 12), 4) + (step >= 12 ? "" : "-" + pad(month % 12 + 1, 2));
    if (us >= from) found.push([us, text, ""]);
  }
}
"""

_PAGE = """
function start(svg) {
  const data = svg.dataset, first = +data.start, last = +data.end, left = +data.left, right = +data.right;
  const unit = data.unit, NS = "http" + "://www.w3.org/2000/svg", MAX = 200;
  const plot = svg.querySelector(".plot"), axis = svg.querySelector(".axis"), drawn = axis.innerHTML;
  const said = document.querySelector(".tools output");
  const number = (node, name) => parseFloat(node.getAttribute(name)) || 0;
  const moved = [...plot.querySelectorAll("rect, line, text, use, path")].map(node => {
    const kind = node.tagName;
    if (kind === "path") return (k, x) => node.setAttribute("transform", `matrix(${k} 0 0 1 ${x(0)} 0)`);
    if (kind === "line") {
      const at = number(node, "x1");
      return (k, x) => { node.setAttribute("x1", x(at)); node.setAttribute("x2", x(at)); };
    }
    const at = number(node, "x"), thin = node.dataset.w, wide = number(node, "width"), real = thin ? +thin : wide;
    return (k, x) => {
      node.setAttribute("x", x(at));
      if (kind === "rect") node.setAttribute("width", Math.max(Math.min(wide, 2), real * k));
    };
  });
  let from = first, to = last;
  function show(a, b) {
    const least = (last - first) / MAX;
    if (b - a < least) { const mid = (a + b) / 2; a = mid - least / 2; b = mid + least / 2; }
    if (a < first) { b += first - a; a = first; }
    if (b > last) { a -= b - last; b = last; }
    from = Math.max(first, a); to = Math.min(last, b);
    const k = (last - first) / (to - from), base = left + (from - first) / (last - first) * (right - left);
    for (const move of moved) move(k, at => left + (at - base) * k);
    if (k === 1) axis.innerHTML = drawn; else label();
  }
  function label() {
    const {top, bottom, labels} = axis.dataset;
    axis.replaceChildren();
    for (const [us, text, below] of ticks(from, to, right - left, unit)) {
      const x = left + (us - from) / (to - from) * (right - left);
      add("line", {class: "grid", x1: x, x2: x, y1: top, y2: bottom});
      for (const y of labels.split(" ")) {
        add("text", {class: "soft", x, y, "text-anchor": "middle"}, text);
        if (below) add("text", {class: "soft", x, y: +y + 14, "text-anchor": "middle"}, below);
      }
    }
  }
  function add(name, attributes, text, parent = axis) {
    const node = document.createElementNS(NS, name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text) node.textContent = text;
    return parent.appendChild(node);
  }
  const edge = plot.parentNode.querySelector(".ground");
  const low = number(edge, "x"), high = low + number(edge, "width");
  const y1 = number(edge, "y"), y2 = y1 + number(edge, "height");
  const cursor = add("line", {class: "cursor", y1, y2, visibility: "hidden"}, "", svg);
  const chosen = add("rect", {class: "chosen", y: y1, height: y2 - y1, visibility: "hidden"}, "", svg);
  const place = event => {
    const box = svg.getBoundingClientRect();
    return (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
  };
  const time = x => from + (Math.min(right, Math.max(left, x)) - left) / (right - left) * (to - from);
  const zoom = (factor, at) => show(at - (at - from) * factor, at + (to - at) * factor);
  let grip = null;
  svg.addEventListener("pointermove", event => {
    const x = place(event), inside = x >= low && x <= high;
    cursor.setAttribute("visibility", inside ? "visible" : "hidden");
    cursor.setAttribute("x1", x); cursor.setAttribute("x2", x);
    said.textContent = inside ? instantText(time(x), unit) : "";
    if (grip === null) return;
    chosen.setAttribute("visibility", "visible");
    chosen.setAttribute("x", Math.min(x, grip)); chosen.setAttribute("width", Math.abs(x - grip));
  });
  svg.addEventListener("pointerleave", () => { cursor.setAttribute("visibility", "hidden"); said.textContent = ""; });
  svg.addEventListener("pointerdown", event => {
    const x = place(event);
    if (event.button || event.pointerType === "touch" || x < low || x > high) return;
    grip = x;
    svg.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  svg.addEventListener("pointerup", event => {
    const x = place(event), was = grip;
    grip = null;
    chosen.setAttribute("visibility", "hidden");
    if (was !== null && Math.abs(x - was) > 5) show(Math.min(time(x), time(was)), Math.max(time(x), time(was)));
  });
  svg.addEventListener("dblclick", () => show(first, last));
  svg.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    zoom((event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, time(place(event)));
  }, {passive: false});
  const actions = {
    in: () => zoom(0.5, (from + to) / 2), out: () => zoom(2, (from + to) / 2), all: () => show(first, last),
    back: () => show(from - (to - from) / 2, to - (to - from) / 2),
    on: () => show(from + (to - from) / 2, to + (to - from) / 2),
  };
  for (const button of document.querySelectorAll(".tools button"))
    button.addEventListener("click", actions[button.dataset.do]);
  document.querySelector(".tools").hidden = false;
}
if (typeof document !== "undefined") start(document.querySelector("figure svg"));
"""

SCRIPT = f'"use strict";\nconst STEPS = {json.dumps(STEPS_US)};{_TICKS}{_PAGE}'
