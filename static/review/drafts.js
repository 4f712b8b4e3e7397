/* Drafts: entries are saved on the server while people work, one request at a time. A copy stays in this browser
   until the server confirms it. A copy that never reached the server is restored when the record is opened again, even
   after the tab was closed. */

import { clock } from "../times.js";
import { addRow, all, changed, form, notice, one, rows, screenEvents } from "./form.js";
import { extendClaim } from "./presence.js";

const TEXT_MS = 400;
const PASSING_MS = 60 * 1000;
const RETRY_MS = [1000, 2000, 4000, 8000, 15000, 30000];
const OFFLINE = "You're offline. Draft saved in this browser; reconnecting…";
const BROKEN = "The server couldn't save your draft. Draft saved in this browser; retrying…";
const LOGGED_OUT = "You've been logged out. Your draft is safe in this browser. Log in to continue.";
const REFUSED = "Your draft couldn't be saved on the server. It is saved in this browser.";
const LOST = "Not saved: you no longer have a claim on this record. Your draft is saved in this browser.";
const OUTDATED = "Not saved: a newer draft was saved in another tab.";

const FIELD = /^(comments|criteria-\d+-)/;
const fieldsOf = (form) => [...new FormData(form)].filter(([name]) => FIELD.test(name));

/** The draft of one form, for the lifetime of the form. */
class Draft {
  constructor(form) {
    this.form = form;
    this.url = form.dataset.draft;
    this.key = `draft:${one("#screen").dataset.record.split(":").slice(0, 2).join(":")}`;
    this.revision = Number(form.dataset.revision);
    this.isSaved = true;
    this.isStopped = false;
    this.retries = 0;
    this.request = null;
    this.timer = 0;
    if (form.hasAttribute("data-bound")) this.change(TEXT_MS);
  }

  /** Keep a copy of the form now, and save the draft after a delay in milliseconds. */
  change(delay) {
    this.isSaved = false;
    this.copy();
    if (this.isStopped) return;
    this.say("saving", "Saving…");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), this.retries ? RETRY_MS[0] : delay);
  }

  /** Save unsaved changes now; resolve when the request has finished. */
  async save() {
    clearTimeout(this.timer);
    if (this.request || this.isSaved || this.isStopped) return this.request;
    this.isSaved = true;
    this.revision += 1;
    this.request = this.send();
    await this.request;
    this.request = null;
    if (this.isSaved) this.forget();
    else if (!this.retries) this.save();
  }

  async send() {
    const body = new FormData(this.form);
    body.set("revision", this.revision);
    let response;
    try {
      response = await fetch(this.url, { method: "POST", body, headers: { "HX-Request": "true" } });
    } catch {
      return this.retry("offline", OFFLINE);
    }
    await this.take(response);
  }

  async take(response) {
    if (response.status >= 500 || response.status === 429) return this.retry("failed", BROKEN);
    if (![200, 204, 409].includes(response.status)) {
      return this.stop(response.status === 401 ? LOGGED_OUT : REFUSED);
    }
    this.retries = 0;
    extendClaim(response.headers.get("X-Claim-Until"));
    if (response.status === 409) return this.refused(response);
    this.say("saved", `Draft saved ${clock(response.headers.get("X-Draft-Saved-At") || Date.now())}`);
    if (response.status === 204) return;
    const html = await response.text();
    if (this === draft) notice(html);
  }

  async refused(response) {
    const html = await response.text();
    if (this === draft) notice(html);
    this.stop(one("#notices [data-outdated]") ? OUTDATED : LOST);
  }

  retry(state, words) {
    this.isSaved = false;
    this.say(state, words);
    this.timer = setTimeout(() => this.save(), RETRY_MS[Math.min(this.retries, RETRY_MS.length - 1)]);
    this.retries += 1;
  }

  /** Stop saving: the draft was submitted or discarded, or the server rejects it. */
  stop(words) {
    clearTimeout(this.timer);
    this.isStopped = true;
    if (!words) return;
    this.isSaved = false;
    this.say("failed", words);
  }

  resume() {
    this.isStopped = false;
    if (!this.isSaved) this.change(0);
  }

  say(state, words) {
    const line = one("#saved");
    if (this !== draft || !line) return;
    const isTrouble = (word) => word === "offline" || word === "failed";
    if (state === "saving" && isTrouble(line.dataset.state)) return;
    // Screen readers announce only problems.
    line.setAttribute("aria-live", isTrouble(state) ? "assertive" : "off");
    line.dataset.state = state;
    line.textContent = words;
  }

  // ---- the copy

  /** Keep a copy, without end or for a lifetime in milliseconds. */
  copy(lifetime) {
    const until = lifetime && Date.now() + lifetime;
    const copy = { revision: this.revision + 1, fields: fieldsOf(this.form), until };
    try {
      localStorage.setItem(this.key, JSON.stringify(copy));
    } catch {
      // More text than the browser stores. The form itself still has the text.
    }
  }

  forget() {
    localStorage.removeItem(this.key);
  }

  /** Restore a copy that never reached the server, unless a newer draft was saved in another tab. */
  restore() {
    const copy = JSON.parse(localStorage.getItem(this.key) || "null");
    if (!copy || this.form.hasAttribute("data-bound")) return;
    const isOver = copy.until < Date.now();
    const isNews = JSON.stringify(copy.fields) !== JSON.stringify(fieldsOf(this.form));
    if (copy.revision <= this.revision || !isNews || isOver) return this.forget();
    this.revision = copy.revision; // the request may still be in flight
    fill(this.form, copy.fields);
    one("#restored").hidden = false;
    changed();
  }
}

// ---- filling a form

/** Fill in the form with saved fields. The form may have other rows than when the fields were saved. */
function fill(form, fields) {
  const places = new Map(); // saved row number -> present row number
  for (const [name, value] of fields) {
    const [, number, rest] = /^criteria-(\d+)-(.*)/.exec(name) || [];
    if (rest === "name") places.set(number, placeOf(value, [...places.values()]));
    const wanted = number === undefined ? name : `criteria-${places.get(number)}-${rest}`;
    all(`[name="${CSS.escape(wanted)}"]`, form).forEach((field) => put(field, value));
  }
}

function placeOf(criterion, taken) {
  const free = rows().filter((row) => !taken.includes(row.dataset.number));
  const offered = free.find((row) => one("input[type=hidden][name$='-name']", row)?.value === criterion);
  const added = free.find((row) => one(".name input", row)); // its name may have been typed only in part
  return (offered || added || addRow()).dataset.number;
}

function put(field, value) {
  if (field.type === "radio" || field.type === "checkbox") {
    field.checked = field.value === value;
    return;
  }
  field.value = value;
  if (!field.matches("textarea") || field.value === field.defaultValue) return;
  window.htmx.trigger(field, "input");
  field.closest("details")?.setAttribute("open", "");
}

// ---- the draft of the current form

const known = new WeakMap(); // a screen comes back if its submit fails
export let draft = null;

function open() {
  const before = draft;
  before?.save();
  const shown = form();
  draft = shown && (known.get(shown) || new Draft(shown));
  if (!draft) return;
  // A form that came back with errors does not know the drafts that were saved in the meantime.
  if (before?.url === draft.url) draft.revision = Math.max(draft.revision, before.revision);
  if (known.has(shown)) draft.resume();
  else draft.restore();
  known.set(shown, draft);
}

screenEvents.addEventListener("shown", open);
screenEvents.addEventListener("changed", (event) => draft?.change(event.detail.isText ? TEXT_MS : 0));
document.addEventListener("focusout", (event) => { if (event.target.matches("textarea, input")) draft?.save(); });
window.addEventListener("online", () => draft?.save());
document.addEventListener("click", (event) => {
  if (event.target.closest("#discard")) draft?.stop();
});
document.addEventListener("htmx:confirm", (event) => {
  // A save in flight must not reach the server after the request that discards the draft.
  if (event.target !== draft?.form || !draft.request) return;
  event.preventDefault();
  draft.request.then(() => event.detail.issueRequest(true));
});
document.addEventListener("htmx:afterRequest", (event) => {
  const discarded = known.get(event.detail.elt);
  if (event.detail.successful) discarded?.forget();
  else discarded?.resume();
});
window.addEventListener("pagehide", () => {
  if (!draft || draft.isStopped) return;
  if (draft.isSaved) {
    // The next page may have been rendered before the last save arrived.
    if (!draft.request && draft.revision > Number(draft.form.dataset.revision)) draft.copy(PASSING_MS);
    return;
  }
  const body = new FormData(draft.form);
  body.set("revision", draft.revision + 1);
  // Browsers reject a large body during unload: then only the copy is left.
  fetch(draft.url, { method: "POST", body, keepalive: true }).catch(() => {});
});
