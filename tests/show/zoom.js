// A page without a browser: elements with attributes only, as the script reads and writes them.
function element(tagName, attributes = {}, children = []) {
  const node = {
    tagName, children, attributes, listeners: {}, textContent: "", dataset: {}, parentNode: null,
    getAttribute: name => attributes[name] ?? null,
    setAttribute: (name, value) => { attributes[name] = String(value); },
    addEventListener: (name, act) => { node.listeners[name] = act; },
    appendChild: child => { children.push(child); child.parentNode = node; return child; },
    replaceChildren: () => { children.length = 0; },
    querySelector: query => node.querySelectorAll(query)[0] ?? null,
    querySelectorAll: query => {
      const wanted = query.split(",").map(part => part.trim());
      const fits = one => wanted.some(w => w.startsWith(".") ? one.attributes.class === w.slice(1) : one.tagName === w);
      return node.children.flatMap(one => [...(fits(one) ? [one] : []), ...one.querySelectorAll(query)]);
    },
    getBoundingClientRect: () => ({left: 0, width: 1200}),
    setPointerCapture: () => {},
    viewBox: {baseVal: {width: 1200}},
  };
  for (const key in attributes) if (key.startsWith("data-")) node.dataset[key.slice(5)] = attributes[key];
  for (const child of children) child.parentNode = node;
  let kept = "";
  Object.defineProperty(node, "innerHTML", {get: () => kept || "drawn", set: text => { kept = text; node.restored = true; }});
  return node;
}
const build = ([tag, attributes, children]) => element(tag, attributes, children.map(build));
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
const svg = build(given.svg);
const said = element("output"), tools = element("div");
const buttons = ["back", "on", "in", "out", "all"].map(name => element("button", {"data-do": name}));
globalThis.document = {
  createElementNS: (_, name) => element(name),
  querySelector: query => ({"figure svg": svg, ".tools": tools, ".tools output": said})[query],
  querySelectorAll: () => buttons,
};
new Function(given.script)();
const press = name => buttons.find(button => button.dataset.do === name).listeners.click();
const places = query => svg.querySelector(".plot").querySelectorAll(query).map(node => ({...node.attributes}));
const axis = svg.querySelector(".axis");
const report = {first: places(".bar"), hidden: tools.hidden};
svg.listeners.pointermove({clientX: given.at});
report.said = said.textContent;
press("in");
report.zoomed = places(".bar");
report.numbers = places(".number");
report.paths = places(".match").map(path => path.transform);
report.ticks = axis.children.filter(node => node.tagName === "text").map(node => [node.textContent, +node.attributes.x]);
press("back"); press("back"); press("back");
report.earliest = places(".bar");
press("all");
report.last = places(".bar");
report.restored = axis.restored === true && axis.innerHTML === "drawn";
svg.listeners.pointerdown({clientX: given.from, button: 0, preventDefault: () => {}});
svg.listeners.pointermove({clientX: given.to});
svg.listeners.pointerup({clientX: given.to});
report.dragged = places(".bar");
console.log(JSON.stringify(report));
