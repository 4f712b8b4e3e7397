/* Whether somebody is there: how long they worked on a record and with how many keys, and the sign of life that
   keeps the record theirs. */
(function () {
  "use strict";

  const { review } = window;
  const { one } = review;
  const LONGEST_PAUSE_MS = 60 * 1000; // thinking is work, up to here
  const AWAY_MS = 15 * 60 * 1000;
  const RENEWED_EVERY_MS = 60 * 1000;
  const WARNED_MS = 2 * 60 * 1000;
  const LOOK_EVERY_MS = 5 * 1000;
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
    const fields = review.form()?.elements;
    activeMs = Number(fields?.active_ms.value) || 0;
    pressed = Number(fields?.keys.value) || 0;
    isHere = document.visibilityState === "visible" && document.hasFocus();
    seenAt = renewedAt = Date.now();
  }

  document.addEventListener("formdata", (event) => {
    if (event.target !== review.form()) return;
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
  document.addEventListener("review:shown", start);

  // ---- the claim

  const held = () => one("#screen[data-claim-until]:not([data-claim-until=''])");

  async function renew() {
    const screen = held();
    renewedAt = Date.now();
    const headers = { "HX-Request": "true", "X-CSRFToken": review.form().elements.csrfmiddlewaretoken.value };
    const response = await fetch(screen.dataset.renew, { method: "POST", headers }).catch(() => null);
    if (!response || screen !== one("#screen")) return;
    const hasNotice = [200, 409].includes(response.status);
    if (response.ok) hold(response.headers.get("X-Claim-Until"));
    if (hasNotice) review.notice(await response.text());
    if (response.status === 409) screen.dataset.claimUntil = "";
  }

  function hold(until) {
    if (!until || !one("#screen")) return;
    one("#screen").dataset.claimUntil = until;
    one("#hold")?.remove();
  }

  function look() {
    const screen = held();
    if (!screen) return;
    const isVisible = document.visibilityState === "visible";
    if (isVisible && Date.now() - seenAt < AWAY_MS && Date.now() - renewedAt >= RENEWED_EVERY_MS) renew();
    const left = Date.parse(screen.dataset.claimUntil) - Date.now();
    if (left > WARNED_MS || one("#hold")) return;
    const warning = one("#hold-warning").content.cloneNode(true);
    one("time", warning).textContent = new Date(screen.dataset.claimUntil).toISOString().slice(11, 16);
    one("#notices").append(warning);
  }

  document.addEventListener("click", (event) => { if (event.target.closest("#keep")) renew(); });
  document.addEventListener("review:held", (event) => hold(event.detail));
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.elt === document.body) hold(event.detail.xhr.getResponseHeader("X-Claim-Until"));
  });
  setInterval(look, LOOK_EVERY_MS);
})();
