/* Typesets formulas: <span class="math" data-display="true|false">source</span>, as `rendering.py` writes them.
   KaTeX builds elements, never HTML text; what it refuses stays as its source. Formulas that nobody sees yet
   (another pane, a closed <details>) wait until they are shown. */
(function () {
  "use strict";

  const options = { throwOnError: true, trust: false, strict: "ignore", maxExpand: 500, maxSize: 20 };
  const sources = new WeakMap();
  let showsSource = false;

  // Before it is in the page there is no layout to ask: what the first pane holds is what will be seen.
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
    // What scrolls sideways must be reachable by keyboard.
    if (isDisplay && node.scrollWidth > node.clientWidth) node.tabIndex = 0;
  }

  function untypeset(node) {
    node.textContent = sources.get(node);
    node.classList.remove("typeset", "math-error");
  }

  /** Typeset what is seen in `root`: the page, or a screen that is not in it yet. */
  window.typesetMath = function (root) {
    if (!window.katex || showsSource) return;
    [...root.querySelectorAll(".math:not(.typeset)")].filter(isSeen).forEach(typeset);
  };

  /** Show formulas as their source, or typeset again; says which. */
  window.toggleMathSource = function () {
    showsSource = !showsSource;
    if (showsSource) document.querySelectorAll(".math.typeset").forEach(untypeset);
    else window.typesetMath(document);
    return showsSource;
  };

  const refresh = () => window.typesetMath(document);
  refresh();
  document.addEventListener("htmx:afterSwap", refresh);
  document.addEventListener("change", refresh);
  document.addEventListener("toggle", refresh, true);
  window.addEventListener("resize", refresh);
})();
