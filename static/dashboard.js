/* Refresh the dashboard while its tab is visible. What the reader has open, scrolled or focused stays as it is. */

const INTERVAL = 60_000;
const OPEN = "details[open], .scroll";
let kept = null;

const live = () => document.getElementById("live");
const isReading = () => live().querySelector(":popover-open, .htmx-request") || live().contains(getSelection().anchorNode) && !getSelection().isCollapsed;

/** Name an element so that it is found again after the refresh: its section and its place among those alike there. */
function nameOf(element) {
  const section = element.closest("section");
  const alike = section ? [...section.querySelectorAll(element.localName)] : [];
  return { section: section?.getAttribute("aria-labelledby"), tag: element.localName, text: element.textContent, place: alike.indexOf(element) };
}

function find({ section, tag, text, place }) {
  const alike = [...live().querySelectorAll(`section[aria-labelledby="${section}"] ${tag}`)];
  return alike[place]?.textContent === text ? alike[place] : alike.find((one) => one.textContent === text) ?? null;
}

function keep() {
  const focused = live().contains(document.activeElement) ? nameOf(document.activeElement) : null;
  const states = [...live().querySelectorAll(OPEN)].map((element) => ({
    section: element.closest("section").getAttribute("aria-labelledby"), isOpen: element.open, left: element.scrollLeft, top: element.scrollTop,
  }));
  // The first section in sight stays where it is, also if those above it grow.
  const anchor = [...live().querySelectorAll("section")].find((section) => section.getBoundingClientRect().bottom > 0);
  return { focused, states, anchor: anchor?.getAttribute("aria-labelledby"), top: anchor?.getBoundingClientRect().top };
}

function restore({ focused, states, anchor, top: before }) {
  for (const { section, isOpen, left, top } of states) {
    const element = live().querySelector(`section[aria-labelledby="${section}"] :is(${isOpen ? "details" : ".scroll"})`);
    if (!element) continue;
    if (isOpen) element.open = true;
    else element.scrollTo({ left, top, behavior: "instant" });
  }
  if (focused) find(focused)?.focus({ preventScroll: true });
  const moved = live().querySelector(`section[aria-labelledby="${anchor}"]`)?.getBoundingClientRect().top - before;
  if (moved) scrollBy({ top: moved, behavior: "instant" });
}

let due = Date.now() + INTERVAL;
function refresh() {
  if (document.hidden || Date.now() < due || isReading()) return;
  due = Date.now() + INTERVAL;
  window.htmx.trigger("#live", "refresh");
}

document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.id !== "live") return;
  // The page to sign in again, or an error, must not replace the figures.
  if (!event.detail.serverResponse.includes('id="live"') || event.detail.serverResponse.includes("<html")) event.detail.shouldSwap = false;
  else kept = keep();
});
document.addEventListener("htmx:afterSwap", () => {
  if (kept) restore(kept);
  kept = null;
});
document.addEventListener("visibilitychange", refresh);
setInterval(refresh, 5_000);
