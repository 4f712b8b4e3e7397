/* The reviewer's presence: the active time and the keys pressed on a record, and the renewal of its claim. */

import { form, one, screenEvents } from "./form.js";
import { fetchPart } from "./requests.js";
import { checkSession, signedOut } from "./session.js";
import { clear, raise, raiseFromServer } from "./strip.js";

const LONGEST_PAUSE_MS = 60 * 1000; // a longer pause counts as this much active time
const AWAY_MS = 15 * 60 * 1000;
const CHECK_EVERY_MS = 5 * 1000;
let activeMs = 0;
let pressed = 0;
let isHere = true;
let seenAt = Date.now();
let renewedAt = Date.now();

// ---- active time and keys

function note() {
  const now = Date.now();
  if (isHere) activeMs += Math.min(now - seenAt, LONGEST_PAUSE_MS);
  isHere = document.visibilityState === "visible" && document.hasFocus();
  seenAt = now;
}

function start() {
  const fields = form()?.elements;
  activeMs = Number(fields?.active_ms.value) || 0;
  pressed = Number(fields?.keys.value) || 0;
  isHere = document.visibilityState === "visible" && document.hasFocus();
  seenAt = renewedAt = Date.now();
}

document.addEventListener("formdata", (event) => {
  if (event.target !== form()) return;
  note();
  event.formData.set("active_ms", Math.round(activeMs));
  event.formData.set("keys", pressed);
});
document.addEventListener("keydown", (event) => {
  if (!event.repeat && !["Shift", "Control", "Alt", "AltGraph", "Meta"].includes(event.key)) pressed += 1;
}, true);
for (const name of ["keydown", "pointerdown", "pointermove", "scroll", "wheel", "visibilitychange"]) {
  document.addEventListener(name, note, { capture: true, passive: true });
}
for (const name of ["focus", "blur"]) window.addEventListener(name, note);
screenEvents.addEventListener("shown", start);

// ---- the claim

const renewalMs = (screen) => 1000 * Number(screen.dataset.renewEvery);
const claimed = () => one("#screen[data-claim-until]:not([data-claim-until=''])");

async function renew() {
  const screen = claimed();
  renewedAt = Date.now();
  const headers = { "X-CSRFToken": form().elements.csrfmiddlewaretoken.value };
  const response = await fetchPart(screen.dataset.renew, { method: "POST", headers }).catch(() => null);
  if (!response || screen !== one("#screen")) return;
  if (response.status === 401) signedOut();
  if (response.status === 403) checkSession();
  if (response.ok) extendClaim(response.headers.get("X-Claim-Until"));
  if ([200, 409].includes(response.status)) raiseFromServer(response.text);
  if (response.status === 409) screen.dataset.claimUntil = "";
}

/** Take over the new end of the claim, if the server sent one. */
export function extendClaim(until) {
  if (!until || !one("#screen")) return;
  one("#screen").dataset.claimUntil = until;
  clear("expiring");
}

function checkClaim() {
  const screen = claimed();
  if (!screen) return;
  const isVisible = document.visibilityState === "visible";
  if (isVisible && Date.now() - seenAt < AWAY_MS && Date.now() - renewedAt >= renewalMs(screen)) renew();
  const left = Date.parse(screen.dataset.claimUntil) - Date.now();
  if (left > 2 * renewalMs(screen)) return;
  raise("expiring", { until: screen.dataset.claimUntil, act: renew });
}

document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.elt === document.body) extendClaim(event.detail.xhr.getResponseHeader("X-Claim-Until"));
});
setInterval(checkClaim, CHECK_EVERY_MS);
