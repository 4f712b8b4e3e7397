/* Typeset formulas: <span class="math" data-display="true|false">source</span>, as `rendering.py` writes them.
   KaTeX builds elements, never HTML text. A formula that it rejects stays as source.

   A record can have a thousand formulas. Only those within a screen of the visible part are typeset, in slices that
   leave time for keys and frames. Formulas farther away, in a hidden pane or in a closed <details> wait until they
   come near. */

const options = { throwOnError: true, trust: false, strict: "ignore", maxExpand: 500, maxSize: 20 };
const SLICE_MS = 8;
const FIRST_OF_SECTION = 40;

const sources = new WeakMap();
const near = new Set(); // formulas to switch in the next frames, the closest first
let showsSource = false;
let frame = 0;

const waiting = () => (showsSource ? ".math.typeset" : ".math:not(.typeset)");

// ---- one formula

function typeset(node) {
  const source = sources.get(node) ?? node.textContent;
  sources.set(node, source);
  node.classList.add("typeset");
  try {
    window.katex.render(source, node, { ...options, displayMode: node.dataset.display === "true" });
  } catch (error) {
    node.textContent = source;
    node.classList.add("math-error");
    node.title = String(error.message || error);
  }
  keepPunctuation(node);
  watchWidth(node);
}

/** Keep the punctuation beside a formula in its line: browsers break lines before and after each part of a formula. */
function keepPunctuation(node) {
  if (node.dataset.display === "true") return;
  const isKept = node.parentNode.matches(".math-with-punctuation");
  if (!isKept && !wrapPunctuation(node)) return;
  for (const part of [...node.querySelectorAll(".katex-base")].slice(0, -1)) part.after(document.createElement("wbr"));
}

function wrapPunctuation(node) {
  const { previousSibling: before, nextSibling: after } = node;
  const opening = before?.data?.match(/[\p{Ps}\p{Pi}]+$/u);
  const closing = after?.data?.match(/^\p{P}+/u);
  if (!opening && !closing) return false;
  const wrapper = document.createElement("span");
  wrapper.className = "math-with-punctuation";
  node.before(wrapper);
  if (opening) wrapper.append(before.splitText(opening.index));
  wrapper.append(node);
  if (closing) {
    after.splitText(closing[0].length);
    wrapper.append(after);
  }
  return true;
}

function untypeset(node) {
  node.textContent = sources.get(node);
  node.classList.remove("typeset", "math-error");
  node.removeAttribute("title");
  setWide(node, false);
}

function switchOne(node) {
  near.delete(node);
  nearness.unobserve(node);
  if (node.matches(waiting())) (showsSource ? untypeset : typeset)(node);
}

// ---- widths

// What is wider than its place scrolls sideways and can be reached by keyboard: formulas on lines of their own, tables,
// and formulas in a line, which otherwise break between their parts. Widths are read after the layout of a frame and
// all together: reading one after a change would lay out the page each time.
const SCROLLS = ".math[data-display='true'], .prose table";
const LINES = "p, li, td, th, dd, dt, div, section, summary, blockquote";
const CUTS = ".siblings"; // cuts what is too wide
const holderOf = (node) => (node.matches(SCROLLS) ? node : node.closest(LINES));

function watchWidth(node) {
  const holder = holderOf(node);
  if (!holder || node.closest(CUTS)) return;
  sizes.unobserve(holder); // so that an unchanged size is reported, too
  sizes.observe(holder);
}

function isWide(node, holder) {
  if (node.clientWidth) return node.scrollWidth > node.clientWidth;
  return node.getBoundingClientRect().right > holder.getBoundingClientRect().right + 1; // in a line
}

function setWide(node, isWide) {
  node.toggleAttribute("data-wide", isWide);
  if (isWide) node.tabIndex = 0;
  else node.removeAttribute("tabindex");
}

const sizes = new ResizeObserver((entries) => {
  const found = entries.flatMap(({ target }) => {
    const nodes = target.matches(SCROLLS) ? [target] : [...target.querySelectorAll(".math.typeset")];
    return nodes.filter((node) => holderOf(node) === target).map((node) => [node, isWide(node, target)]);
  });
  requestAnimationFrame(() => { for (const [node, isWide] of found) setWide(node, isWide); });
});

// ---- slices

/** Switch the first formulas of a set, as many as take some milliseconds. */
function slice(nodes) {
  const end = performance.now() + SLICE_MS;
  for (const node of nodes) {
    nodes.delete(node);
    switchOne(node);
    if (performance.now() > end) return;
  }
}

function onFrame() {
  slice(near);
  frame = near.size && requestAnimationFrame(onFrame);
}

const distance = ({ boundingClientRect: box }) => Math.max(0, -box.bottom, box.top - innerHeight);

const nearness = new IntersectionObserver((entries) => {
  for (const { target } of entries) near.delete(target);
  const found = entries.filter((entry) => entry.isIntersecting);
  for (const { target } of found.sort((a, b) => distance(a) - distance(b))) near.add(target);
  if (near.size) frame ||= requestAnimationFrame(onFrame);
}, { rootMargin: "100% 0%", scrollMargin: "100% 0%" });

/** Typeset the formulas of the page that are near the visible part, now and when others come near. */
export function typesetMath() {
  document.querySelectorAll(".prose table").forEach(watchWidth);
  if (!window.katex) return;
  for (const node of document.querySelectorAll(waiting())) nearness.observe(node);
}

/** Switch all formulas between typeset and source. */
export function toggleMathSource() {
  showsSource = !showsSource;
  typesetMath();
}

// ---- a screen that is not in the page yet

// It has no layout: assume that its first pane will be visible.
function isFirst(node) {
  const first = node.closest(".panes")?.querySelector("[name=pane]:checked")?.value;
  const pane = node.closest(".pane")?.dataset.pane;
  return !first || !pane || pane === first;
}

/** Typeset the formulas that a screen will probably show first, while the browser is idle. */
export async function typesetAhead(screen) {
  if (!window.katex || showsSource) return;
  const counts = new Map();
  const ahead = new Set([...screen.querySelectorAll(waiting())].filter((node) => {
    const section = node.closest("section, details, fieldset");
    counts.set(section, (counts.get(section) ?? 0) + 1);
    return counts.get(section) <= FIRST_OF_SECTION && isFirst(node);
  }));
  while (ahead.size) {
    await new Promise((resolve) => { requestIdleCallback(resolve, { timeout: 200 }); });
    slice(ahead);
  }
}

typesetMath();
document.addEventListener("htmx:afterSwap", typesetMath);
window.addEventListener("beforeprint", () => {
  [...document.querySelectorAll(waiting())].filter((node) => node.checkVisibility()).forEach(switchOne);
});
