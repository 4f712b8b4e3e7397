/* Typesets formulas: <span class="math" data-display="true|false">source</span>, as `rendering.py` writes them.
   KaTeX builds elements, never HTML text; what it refuses stays as its source. */
(function () {
  "use strict";

  const options = { throwOnError: true, trust: false, strict: "ignore", maxExpand: 500, maxSize: 20 };

  function typeset(node) {
    const source = node.textContent;
    const isDisplay = node.dataset.display === "true";
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

  window.typesetMath = function (root) {
    if (window.katex) root.querySelectorAll(".math:not(.typeset)").forEach(typeset);
  };

  typesetMath(document);
  document.addEventListener("htmx:afterSwap", (event) => typesetMath(event.detail.target.isConnected ? event.detail.target : document));
})();
