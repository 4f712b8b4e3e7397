/* Single keys as commands, on every page. Which key is which command is the person's own choice: #key-map, which
   is {} where single keys are off. A page puts its commands into `window.keys`. */
(function () {
  "use strict";

  const chosen = JSON.parse(document.querySelector("#key-map")?.textContent || "{}");
  const names = new Map(Object.entries(chosen).map(([name, key]) => [key, name]));
  let isGoing = false;

  const keys = {
    isOn: names.size > 0,
    nameOf: (key) => names.get(key),
    /** Whether keys that are pressed there are text. */
    isText: (target) => target.matches("textarea, select, input:not([type=radio], [type=checkbox])"),
    /** What a page does with a key before it is a command; true if it did something. */
    before: () => false,
    /** By the name of the command; `shifted` is done when Shift is held. */
    commands: {
      go: () => { isGoing = true; },
      search: () => document.querySelector("input[type=search], #filter-q")?.focus(),
    },
    shifted: {},
  };

  // The letter printed on the key where the layout has none (Cyrillic, Greek); a name for keys without a sign.
  const sign = (event) => (/^[\x20-\x7e]$/.test(event.key) ? event.key : event.code.replace("Key", "")).toLowerCase();

  function onKey(event) {
    if (!keys.isOn || event.defaultPrevented || event.isComposing || event.repeat || keys.isText(event.target)) return;
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    const key = sign(event);
    if (isGoing && key.length === 1) {
      isGoing = false;
      document.querySelector(`[data-go="${CSS.escape(key)}"]`)?.click();
      event.preventDefault();
      return;
    }
    if (keys.before(event, key)) return;
    const isShifted = event.shiftKey && /^[a-z]$/.test(key);
    const command = (isShifted ? keys.shifted : keys.commands)[names.get(key)];
    if (!command) return;
    event.preventDefault();
    command();
  }

  window.keys = keys;
  document.addEventListener("keydown", onKey);
})();
