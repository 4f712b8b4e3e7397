/* Typeset formulas: <span class="math" data-display="true|false">source</span>, as `rendering.py` writes them.
   KaTeX builds elements, never HTML text. A formula that it rejects stays as source. Hidden formulas (in another
   pane or a closed <details>) wait until they are shown. */

const options = { throwOnError: true, trust: false, strict: "ignore", maxExpand: 500, maxSize: 20 };
const sources = new WeakMap();
let showsSource = false;

// A screen that is not in the page yet has no layout: assume that its first pane will be visible.
function isSeen(node) {
  if (node.isConnected) return node.checkVisibility();
  const first = node.closest(".panes")?.querySelector("[name=pane]:checked")?.value;
  const pane = node.closest(".pane")?.dataset.pane;
  return !first || !pane || pane === first;
}

function typeset(node) {
  const source = sources.get(node) ?? node.textContent;
  const isDisplay = node.dataset.display === "true";
  sources.set(node, source);
  node.classList.add("typeset");
  try {
    window.katex.render(source, node, { ...options, displayMode: isDisplay });
  } catch (error) {
    node.textContent = source;
    node.classList.add("math-error");
    node.title = String(error.message || error);
  }
  // A formula that scrolls sideways must be reachable by keyboard.
  if (isDisplay && node.scrollWidth > node.clientWidth) node.tabIndex = 0;
}

function untypeset(node) {
  node.textContent = sources.get(node);
  node.classList.remove("typeset", "math-error");
}

/** Typeset the visible formulas in `root`: the page, or a screen that is not in the page yet. */
export function typesetMath(root) {
  if (!window.katex || showsSource) return;
  [...root.querySelectorAll(".math:not(.typeset)")].filter(isSeen).forEach(typeset);
}

/** Switch all formulas between typeset and source. */
export function toggleMathSource() {
  showsSource = !showsSource;
  if (showsSource) document.querySelectorAll(".math.typeset").forEach(untypeset);
  else typesetMath(document);
}

const refresh = () => typesetMath(document);
refresh();
document.addEventListener("htmx:afterSwap", refresh);
document.addEventListener("change", refresh);
document.addEventListener("toggle", refresh, true);
window.addEventListener("resize", refresh);
