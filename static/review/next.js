/* Submit and prefetch. While people read a record, the next two are claimed, fetched and typeset. On submit the first
   of them is shown at once, while the request is still running. If the request fails, the old record comes back. */

import { typesetAhead, typesetMath } from "../math.js";
import { showTimes } from "../times.js";
import { draft } from "./drafts.js";
import { form, one, screenEvents, show } from "./form.js";
import { fetchPart, saidIn } from "./requests.js";
import { checkSession } from "./session.js";
import { clear, detailsOf, raise } from "./strip.js";

const MOST = 2;
const IDLE_MS = 150;
const PATIENCE_MS = 30 * 1000; // a submit that takes longer has failed; sent again, it is not saved twice
let asked = null; // the prefetch in flight
let shownMeanwhile = new Set(); // the records that were on the screen since the prefetch began
let timer = 0;
let sending = null; // the submit in flight, which resolves to whether it was saved: one at a time
let left = null; // the screen that an undo replaces
let isLeaving = false; // for the page of another record, which must not be claimed meanwhile

const store = () => one("#prefetched").content;
const prefetched = () => [...store().children];
const isClaimed = (screen) => Date.parse(screen.dataset.claimUntil) > Date.now();

// ---- prefetch

/** Remove prefetched screens whose claim has expired, or whose record is on the screen. */
function clean() {
  const shown = one("#screen").dataset.pk;
  for (const screen of prefetched()) if (!isClaimed(screen) || screen.dataset.pk === shown) screen.remove();
}

function wantsMore() {
  const screen = one("#screen");
  return !sending && !asked && !isLeaving && Boolean(screen.dataset.prefetch && form() && one("#skip")) && isClaimed(screen) && prefetched().length < MOST;
}

/** Fetch the record after those on the page, then the one after it. */
async function prefetch() {
  clean();
  if (!wantsMore()) return;
  const screen = one("#screen");
  const body = new FormData();
  for (const name of ["csrfmiddlewaretoken", "queue"]) body.set(name, form().elements[name].value);
  for (const page of [screen, ...prefetched()]) body.append("after", page.dataset.pk);
  shownMeanwhile = new Set();
  asked = fetchNext(screen.dataset.prefetch, body);
  const html = await asked;
  asked = null;
  if (!html) return;
  prepare(html);
  planPrefetch();
}

/** Return the screen that the server sends; empty if no record is available or the request failed. */
async function fetchNext(url, body) {
  try {
    const { status, text } = await fetchPart(url, { method: "POST", body });
    return status === 200 ? text : "";
  } catch {
    return ""; // the response to the submit brings the next record
  }
}

function prepare(html) {
  const parsed = document.createElement("template");
  parsed.innerHTML = html;
  const screen = document.adoptNode(one("#screen", parsed.content));
  const isKnown = prefetched().some((known) => known.dataset.pk === screen.dataset.pk);
  if (isKnown || shownMeanwhile.has(screen.dataset.pk)) return; // it may be decided by now
  typesetAhead(screen);
  showTimes(screen);
  window.htmx.process(screen);
  store().append(screen);
  clean();
}

/** Take the first prefetched screen that is still claimed. */
function takePrefetched() {
  clean();
  const [screen] = prefetched();
  screen?.remove();
  return screen ?? null;
}

/** Keep a screen that another record has replaced, with its entries, to be shown next. */
function keep(screen) {
  screen.removeAttribute("aria-busy");
  window.htmx.process(screen);
  store().prepend(screen);
  clean();
}

// ---- submit

/** Run an action of the screen once no submit is in flight, unless the submit fails or the screen is replaced. */
async function afterSubmit(action) {
  const screen = one("#screen");
  if (sending) {
    screen.setAttribute("aria-busy", "true");
    const isSaved = await sending;
    screen.removeAttribute("aria-busy");
    if (!isSaved || !screen.isConnected) return;
  }
  action();
}

function submit(submitted) {
  sending = send(submitted).finally(() => { sending = null; planPrefetch(); });
}

async function send(submitted) {
  const old = one("#screen");
  const own = draft;
  const values = new FormData(submitted);
  clearTimeout(timer);
  own.stop();
  clear("unsent");
  // The response to locking in shows the same record again.
  const isCut = own.retries || !navigator.onLine || detailsOf("signed-out") || detailsOf("someone-else");
  const stays = isCut || submitted.hasAttribute("data-stays");
  const next = stays ? null : takePrefetched();
  if (next) {
    values.set("next", next.dataset.pk);
    show(next);
  } else {
    old.setAttribute("aria-busy", "true");
  }
  await own.request;
  const response = await post(submitted, values, submitted.hasAttribute("data-stays") ? "#scores" : "window");
  const status = response?.status ?? 0;
  const isSaved = status >= 200 && status < 300;
  if (isSaved) {
    own.end();
    if (next?.isConnected) history.replaceState(null, "", next.dataset.url);
    if (next?.isConnected) document.title = next.dataset.title;
  } else if (status === 409 || status === 422) {
    if (next && !next.isConnected) keep(next); // the response has replaced it by the old record
  } else {
    comeBack(old, next);
    raise("unsent", { reason: reasonFor(response), act: () => one("#submit").click() });
    if (status === 403) checkSession();
  }
  return isSaved;
}

/** Send a review through htmx, and scroll to the part `shown` of the new screen; resolve to the request, or null if none
    was sent. */
async function post(submitted, values, shown) {
  let sent = null;
  const listen = ({ detail: { elt, xhr } }) => { if (elt === document.body) sent = xhr; };
  const limit = ({ detail: { elt, xhr } }) => { if (elt === document.body) xhr.timeout = PATIENCE_MS; };
  document.body.addEventListener("htmx:beforeSend", limit);
  document.body.addEventListener("htmx:afterRequest", listen);
  const context = { target: "#screen", swap: `outerHTML show:${shown}:top`, values };
  await window.htmx.ajax("POST", submitted.getAttribute("action"), context).catch(() => {});
  document.body.removeEventListener("htmx:beforeSend", limit);
  document.body.removeEventListener("htmx:afterRequest", listen);
  return sent;
}

function comeBack(old, next) {
  old.removeAttribute("aria-busy");
  if (next) {
    show(old);
    keep(next);
  } else {
    draft?.resume();
  }
}

/** Why a request failed, for the middle of a sentence. */
function reasonFor(xhr) {
  if (xhr?.status === 401) return "you were signed out";
  if (xhr?.status) return saidIn(xhr.responseText) || "the server failed";
  return navigator.onLine ? "the server is unreachable" : "you're offline";
}

/** Run an action once no submit is in flight, unless the submit fails. */
export async function afterSaving(action) {
  if (!sending || await sending) action();
}

// ---- when

function planPrefetch() {
  clearTimeout(timer);
  timer = setTimeout(() => requestIdleCallback(prefetch, { timeout: IDLE_MS }), IDLE_MS);
}

document.addEventListener("submit", (event) => {
  if (event.target !== form() || event.submitter?.id !== "submit") return;
  event.preventDefault();
  event.stopPropagation();
  const submitted = event.target;
  afterSubmit(() => submit(submitted));
}, true);
screenEvents.addEventListener("shown", () => {
  shownMeanwhile.add(one("#screen").dataset.pk);
  if (left) keep(left);
  left = null;
  clean();
  planPrefetch();
});
document.addEventListener("htmx:beforeSwap", (event) => {
  const screen = one("#screen");
  const isUndone = event.detail.target === screen && event.detail.xhr.getResponseHeader("X-Undone");
  left = isUndone && isClaimed(screen) && one("#skip", screen) ? screen : null;
});
screenEvents.addEventListener("shown", typesetMath);
// A long pause may outlast the claims of prefetched records.
for (const name of ["keydown", "pointerdown"]) {
  document.addEventListener(name, () => { if (prefetched().some((screen) => !isClaimed(screen))) planPrefetch(); }, true);
}
document.addEventListener("htmx:confirm", (event) => {
  // Other requests wait for the submit, so that an undo finds the new decision.
  if (!sending || event.target === document.body || event.defaultPrevented) return;
  event.preventDefault();
  afterSubmit(() => event.detail.issueRequest(true));
});
// A screen that waits for its request to decide it shows that, after a moment.
document.addEventListener("htmx:beforeRequest", (event) => {
  const { elt, target, requestConfig } = event.detail;
  if (elt !== document.body && target.id === "screen" && requestConfig.verb !== "get") target.setAttribute("aria-busy", "true");
});
document.addEventListener("htmx:afterRequest", (event) => {
  // The response may have another target than the request, such as the form of a dialog with an error.
  const { elt, requestConfig: { target } } = event.detail;
  if (elt !== document.body && target?.id === "screen") target.removeAttribute("aria-busy");
});
for (const name of ["htmx:sendError", "htmx:responseError"]) {
  document.addEventListener(name, (event) => {
    const { target, detail: { xhr } } = event;
    if (target.matches("form")) raise("failed", { reason: reasonFor(xhr), act: () => target.requestSubmit() });
  });
}

/** Release the prefetched records, also while the page unloads. */
async function release() {
  const [screen] = prefetched();
  if (!screen) return;
  const body = new FormData();
  body.set("csrfmiddlewaretoken", one("[name=csrfmiddlewaretoken]", screen).value);
  store().replaceChildren();
  await fetch(screen.dataset.releasePrefetched, { method: "POST", body, keepalive: true }).catch(() => {});
}

window.addEventListener("pagehide", () => { release(); });
// On the window, after the listeners of links that open a dialog.
window.addEventListener("click", async (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || link.target || link.getAttribute("href").startsWith("#")) return;
  if (detailsOf("offline")) return event.preventDefault(); // the browser would show an error page: the strip says why
  // Leaving the page would cancel the submit. Viewing a record needs no claim, and the next record may be a prefetched
  // one: release it first.
  const views = link.matches("#look-next, #look-previous") && (prefetched().length || asked);
  if (!(views || sending)) return;
  event.preventDefault();
  isLeaving = Boolean(views);
  const isSaved = await (sending ?? true);
  if (views) {
    await asked;
    await release();
  }
  if (isSaved) location.assign(link.href);
  else isLeaving = false;
});
