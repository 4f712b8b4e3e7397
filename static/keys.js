/* Single-key shortcuts, on every page. Each person chooses their keys: #key-map holds them, and is {} where single
   keys are off. A page adds its own commands to `keys`. */

const chosen = JSON.parse(document.querySelector("#key-map")?.textContent || "{}");
const names = new Map(Object.entries(chosen).map(([name, key]) => [key, name]));
let isGoing = false;

export const keys = {
  isOn: names.size > 0,
  nameOf: (key) => names.get(key),
  /** Whether keys pressed on the target are text input. */
  isText: (target) => target.matches("textarea, select, input:not([type=radio], [type=checkbox], [type=number], [type=range])"),
  /** Handle a key before it is looked up as a command; return true if it was handled. */
  before: () => false,
  /** Commands by name; those in `shifted` run with Shift. */
  commands: {
    go: () => { isGoing = true; },
    start: () => [...document.querySelectorAll("[data-start]")].at(-1)?.click(),
    // A record has a sheet of its own.
    keys: () => (document.querySelector("#keys") ?? document.querySelector("#page-keys"))?.showModal(),
    search: () => document.querySelector("input[type=search], #filter-q")?.focus(),
  },
  shifted: {},
};

// On layouts without Latin letters (Cyrillic, Greek), take the letter printed on the key.
const sign = (event) => (/^[\x20-\x7e]$/.test(event.key) ? event.key : event.code.replace("Key", "")).toLowerCase();

function onKey(event) {
  if (!keys.isOn || event.defaultPrevented || event.isComposing || event.repeat || keys.isText(event.target)) return;
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open], .menu-list:popover-open")) return;
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

document.addEventListener("keydown", onKey);
