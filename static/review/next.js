/* Submit and prefetch. While people read a record, the next one is claimed, fetched and typeset. On submit it is shown
   at once, while the request is still running. If the request fails, the old record comes back. */

import { typesetMath } from "../math.js";
import { showTimes } from "../times.js";
import { draft } from "./drafts.js";
import { form, one, screenEvents, show } from "./form.js";
import { clear, detailsOf, raise } from "./strip.js";

const IDLE_MS = 300;
let fetching = null; // the controller that aborts a prefetch
let asked = null; // the prefetch in flight
let timer = 0;
let sending = null; // the submit in flight: one at a time

const store = () => one("#prefetched").content;
const prefetched = () => store().firstElementChild;
const isClaimed = (screen) => Date.parse(screen.dataset.claimUntil) > Date.now();

// ---- prefetch

async function prefetch() {
  const screen = one("#screen");
  const fields = form()?.elements;
  if (prefetched() || sending || !fields || !one("#skip") || !isClaimed(screen)) return;
  const body = new FormData();
  for (const name of ["csrfmiddlewaretoken", "queue"]) body.set(name, fields[name].value);
  body.set("current", screen.dataset.pk);
  fetching = new AbortController();
  const options = { method: "POST", body, headers: { "HX-Request": "true" }, signal: fetching.signal };
  try {
    const response = await fetch(screen.dataset.prefetch, options);
    if (response.status === 200) prepare(await response.text());
  } catch {
    // Without a prefetched record, the response to the submit brings the next one.
  }
}

function prepare(html) {
  one("#prefetched").innerHTML = html;
  const screen = document.adoptNode(one("#screen", store()));
  typesetMath(screen);
  showTimes(screen);
  window.htmx.process(screen);
  store().replaceChildren(screen);
}

/** Take the prefetched screen, if its claim is still valid and its record is not the current one. */
function takePrefetched() {
  const screen = prefetched();
  store().replaceChildren();
  return screen && isClaimed(screen) && screen.dataset.pk !== one("#screen").dataset.pk ? screen : null;
}

// ---- submit

function submit(submitted) {
  if (sending) {
    sending.then(() => { if (submitted === form()) submitted.requestSubmit(one("#submit")); });
    return;
  }
  sending = send(submitted);
  sending.finally(() => { sending = null; planPrefetch(); });
}

async function send(submitted) {
  const old = one("#screen");
  const own = draft;
  const values = new FormData(submitted);
  fetching?.abort();
  clearTimeout(timer);
  own.stop();
  clear("unsent");
  // The response to locking in shows the same record again.
  const stays = own.retries || !navigator.onLine || detailsOf("signed-out") || submitted.hasAttribute("data-stays");
  const next = stays ? null : takePrefetched();
  if (next) {
    values.set("next", next.dataset.pk);
    show(next);
  } else {
    old.setAttribute("aria-busy", "true");
  }
  await own.request;
  const { status, reason } = await post(submitted, values);
  if (status >= 200 && status < 300) {
    own.forget();
    if (next?.isConnected) history.replaceState(null, "", next.dataset.url);
    if (next?.isConnected) document.title = next.dataset.title;
  } else if (status !== 409 && status !== 422) {
    comeBack(old, next);
    raise("unsent", { reason, act: () => one("#submit").click() });
  }
}

/** Send a review through htmx; resolve to the status of the response, or 0 without one, and the reason of a failure. */
async function post(submitted, values) {
  let answer = { status: 0, reason: reasonFor() };
  const listen = ({ detail: { elt, xhr } }) => { if (elt === document.body) answer = { status: xhr.status, reason: reasonFor(xhr) }; };
  document.body.addEventListener("htmx:afterRequest", listen);
  const context = { target: "#screen", swap: "outerHTML show:window:top", values };
  await window.htmx.ajax("POST", submitted.getAttribute("action"), context).catch(() => {});
  document.body.removeEventListener("htmx:afterRequest", listen);
  return answer;
}

function comeBack(old, next) {
  old.removeAttribute("aria-busy");
  if (next) {
    show(old);
    store().replaceChildren(next);
  } else {
    draft?.resume();
  }
}

/** Why a request failed, for the middle of a sentence. */
function reasonFor(xhr) {
  if (xhr?.status === 401) return "you were signed out";
  if (xhr?.getResponseHeader("HX-Retarget") === "#messages") {
    const said = new DOMParser().parseFromString(xhr.responseText, "text/html").body.textContent.split(".")[0];
    return said.charAt(0).toLowerCase() + said.slice(1);
  }
  if (xhr?.status) return "the server failed";
  return navigator.onLine ? "the server is unreachable" : "you're offline";
}

/** Resolve when no submit is in flight. */
export async function sent() { await sending; }

// ---- when

function planPrefetch() {
  clearTimeout(timer);
  const ask = () => { asked = prefetch().finally(() => { asked = null; }); };
  timer = setTimeout(() => requestIdleCallback(ask, { timeout: IDLE_MS }), IDLE_MS);
}

document.addEventListener("submit", (event) => {
  if (event.target !== form() || event.submitter?.id !== "submit") return;
  event.preventDefault();
  event.stopPropagation();
  submit(event.target);
}, true);
screenEvents.addEventListener("shown", planPrefetch);
document.addEventListener("htmx:confirm", (event) => {
  // Other requests wait for the submit, so that an undo finds the new decision.
  if (!sending || event.target === document.body) return;
  event.preventDefault();
  sending.then(() => event.detail.issueRequest(true));
});
for (const name of ["htmx:sendError", "htmx:responseError"]) {
  document.addEventListener(name, (event) => {
    const { target, detail: { xhr } } = event;
    if (target.matches("form")) raise("failed", { reason: reasonFor(xhr), act: () => target.requestSubmit() });
  });
}

/** Release the prefetched record, also while the page unloads. */
async function release() {
  const screen = prefetched();
  if (!screen) return;
  const body = new FormData();
  body.set("csrfmiddlewaretoken", one("[name=csrfmiddlewaretoken]", screen).value);
  store().replaceChildren();
  await fetch(screen.dataset.releasePrefetched, { method: "POST", body, keepalive: true }).catch(() => {});
}

window.addEventListener("pagehide", () => { release(); });
document.addEventListener("click", async (event) => {
  // Viewing a record needs no claim, and the next record may be the prefetched one: release it first.
  const link = event.target.closest("#look-next, #look-previous");
  if (!link || !(prefetched() || asked) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  await asked;
  await release();
  location.assign(link.href);
});
