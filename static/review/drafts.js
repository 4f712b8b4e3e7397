/* Drafts: entries are saved on the server while people work, one request at a time. A copy stays in this browser
   until the server confirms it. A copy that never reached the server is restored when the record is opened again, even
   after the tab was closed. If a newer draft was saved elsewhere, the entries of this tab are set aside, and people can
   switch between the two. */

import { clock } from "../times.js";
import { addRow, all, changed, form, one, rows, screenEvents } from "./form.js";
import { extendClaim } from "./presence.js";
import { fetchPart, saidIn } from "./requests.js";
import { checkSession, signedOut } from "./session.js";
import { clear, raise, raiseFromServer, settle } from "./strip.js";

const TEXT_MS = 400;
const PASSING_MS = 60 * 1000;
const RETRY_MS = [1000, 2000, 4000, 8000, 15000, 30000];

const FIELD = /^(comments|criteria-\d+-)/;
const fieldsOf = (form) => [...new FormData(form)].filter(([name]) => FIELD.test(name));

const keyOf = (screen) => `draft:${screen.dataset.record.split(":").slice(0, 2).join(":")}`;

/** The draft of one form, for the lifetime of the form. */
class Draft {
  constructor(form) {
    this.form = form;
    this.url = form.dataset.draft;
    this.key = keyOf(one("#screen"));
    this.revision = Number(form.dataset.revision);
    this.isSaved = true;
    this.isCopied = true;
    this.isStopped = false;
    this.isPaused = false;
    this.isRejected = false;
    this.isBehind = false; // a newer draft was saved elsewhere
    this.savedAt = one("#saved time")?.dateTime;
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
    this.say("saving");
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

  /** Save all changes, also those made during a save; resolve when everything is saved, or cannot be now. */
  async flush() {
    do await this.save(); while (this.request || !(this.isSaved || this.isStopped || this.retries));
  }

  async send() {
    const body = new FormData(this.form);
    body.set("revision", this.revision);
    const wasOnLine = navigator.onLine;
    let response;
    try {
      response = await fetchPart(this.url, { method: "POST", body });
    } catch {
      return this.retry("offline");
    }
    // An answer that was under way when the connection was lost does not show that it is back.
    await this.take(response, navigator.onLine || !wasOnLine);
  }

  async take(response, isReachable) {
    if (response.status >= 500 || response.status === 429) return this.retry("failing");
    if (response.status === 401) return this.pause(() => signedOut(this.isCopied));
    if (response.status === 403 && !this.isRejected) {
      this.isRejected = true;
      return this.pause(checkSession);
    }
    if (![200, 204, 409].includes(response.status)) {
      return this.pause(() => this.trouble("refused", () => this.resume(), saidIn(response.text)));
    }
    this.retries = 0;
    this.isRejected = false;
    extendClaim(response.headers.get("X-Claim-Until"));
    const html = response.text;
    if (response.status === 409) {
      this.revision -= 1; // not saved: a copy of it is still news to the next screen
      return this.pause(() => {
        this.isBehind = raiseFromServer(html) === "newer";
        if (this.isBehind) this.setAside(fieldsOf(this.form));
      });
    }
    this.savedAt = response.headers.get("X-Draft-Saved-At") || Date.now();
    this.say(this.isSaved ? "saved" : "saving");
    if (this !== draft) return;
    if (isReachable) settle();
    if (html) raiseFromServer(html);
  }

  retry(state) {
    this.isSaved = false;
    clear(...["offline", "failing"].filter((other) => this === draft && other !== state));
    this.say(state);
    this.trouble(state, () => { if (!this.request) this.save(); });
    this.timer = setTimeout(() => this.save(), RETRY_MS[Math.min(this.retries, RETRY_MS.length - 1)]);
    this.retries += 1;
  }

  /** Stop saving: the draft was submitted or discarded, or cannot be saved now. */
  stop() {
    clearTimeout(this.timer);
    this.isStopped = true;
  }

  /** Stop saving until `resume`, and say why. */
  pause(explain) {
    this.stop();
    this.isPaused = true;
    this.isSaved = false;
    this.say("failing");
    if (this === draft) explain();
  }

  trouble(state, act, reason) {
    if (this === draft) raise(state, { isCopied: this.isSaved ? undefined : this.isCopied, act, reason });
  }

  resume() {
    if (this.isBehind) return;
    this.isStopped = this.isPaused = false;
    if (!this.isSaved) this.change(0);
  }

  /** Show the state of the draft in the header, with the time of the last save. The strip explains trouble. */
  say(state) {
    const line = one("#saved");
    if (this !== draft || !line) return;
    if (state === "saving" && ["offline", "failing"].includes(line.dataset.state)) return;
    line.dataset.state = state;
    line.textContent = state === "saving" ? "Saving…" : this.savedAt ? `Draft saved ${clock(this.savedAt)}` : "";
  }

  // ---- the copy

  /** Keep a copy, without end or for a lifetime in milliseconds. */
  copy(lifetime) {
    const until = lifetime && Date.now() + lifetime;
    if (this.isBehind) this.setAside(fieldsOf(this.form));
    // 0 is never news: the newer draft stays the one that is opened.
    const revision = this.isBehind ? 0 : this.revision + 1;
    const copy = { revision, fields: fieldsOf(this.form), until };
    try {
      localStorage.setItem(this.key, JSON.stringify(copy));
      this.isCopied = true;
    } catch {
      this.isCopied = false; // the browser's storage is full; the form itself still has the text
    }
  }

  forget() {
    localStorage.removeItem(this.key);
  }

  /** Restore a copy that never reached the server. If a newer draft was saved elsewhere, set the copy aside. */
  restore() {
    if (this.form.hasAttribute("data-bound")) return;
    const copy = JSON.parse(localStorage.getItem(this.key) || "null");
    const isNews = copy && !(copy.until < Date.now()) && this.differs(copy.fields);
    if (!isNews) {
      this.forget();
    } else if (copy.revision > this.revision) {
      this.revision = copy.revision; // the request may still be in flight
      fill(this.form, copy.fields);
      one("#restored")?.removeAttribute("hidden");
      changed();
    } else {
      this.forget();
      this.setAside(copy.fields);
    }
    this.offerAside();
  }

  // ---- another version of the draft, kept in this tab

  setAside(fields) {
    try {
      sessionStorage.setItem(this.key, JSON.stringify(fields));
    } catch {
      // As for the copy.
    }
  }

  offerAside() {
    const fields = JSON.parse(sessionStorage.getItem(this.key) || "null");
    if (!fields || !this.differs(fields)) return;
    const act = () => {
      this.setAside(fieldsOf(this.form));
      fill(this.form, fields);
      changed();
      this.offerAside();
    };
    raise("aside", { act });
  }

  differs(fields) {
    return JSON.stringify(fields) !== JSON.stringify(fieldsOf(this.form));
  }

  /** The draft was submitted or discarded. */
  end() {
    this.forget();
    sessionStorage.removeItem(this.key);
  }
}

// ---- filling a form

/** Fill in the form with saved fields. The form may have other rows than when the fields were saved. */
function fill(form, fields) {
  const places = new Map(); // saved row number -> present row number
  for (const box of all("[type=radio], [type=checkbox]", form)) box.checked &&= !FIELD.test(box.name);
  for (const [name, value] of fields) {
    const [, number, rest] = /^criteria-(\d+)-(.*)/.exec(name) || [];
    if (rest === "name") places.set(number, placeOf(value, [...places.values()]));
    const wanted = number === undefined ? name : `criteria-${places.get(number)}-${rest}`;
    all(`[name="${CSS.escape(wanted)}"]`, form).forEach((field) => put(field, value));
  }
  // Rows added since have no saved fields.
  const added = rows().filter((row) => one(".name input", row) && ![...places.values()].includes(row.dataset.number));
  for (const field of added.flatMap((row) => all(".name input, textarea", row))) put(field, "");
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
  const before = field.value;
  field.value = value;
  if (!field.matches("textarea") || field.value === before) return;
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
  if (!draft) return offerKept();
  // A form that came back with errors does not know the drafts that were saved in the meantime.
  if (before?.url === draft.url) draft.revision = Math.max(draft.revision, before.revision);
  if (known.has(shown)) draft.resume();
  else draft.restore();
  known.set(shown, draft);
}

/** Offer the copy of a draft where somebody else has decided the record, so that it has no form. */
function offerKept() {
  const copy = one("#kept") && JSON.parse(localStorage.getItem(keyOf(one("#screen"))) || "null");
  if (copy && !(copy.until < Date.now())) one("#kept").hidden = false;
}

screenEvents.addEventListener("shown", open);
screenEvents.addEventListener("continued", () => { if (draft?.isPaused) draft.resume(); });
screenEvents.addEventListener("changed", (event) => draft?.change(event.detail.isText ? TEXT_MS : 0));
document.addEventListener("focusout", (event) => { if (event.target.matches("textarea, input")) draft?.save(); });
window.addEventListener("offline", () => draft?.trouble("offline", () => draft?.save()));
window.addEventListener("online", () => {
  settle();
  draft?.save();
});
document.addEventListener("click", (event) => {
  const other = event.target.closest("form[data-discards]");
  if (other && draft) known.set(other, draft);
  if (other || event.target.closest("#discard")) draft?.stop();
});
document.addEventListener("htmx:confirm", (event) => {
  // The server takes the entries before a request that leaves their record or discards them.
  if (!event.target.closest("#screen")) return;
  draft?.save();
  if (!draft?.request) return;
  event.preventDefault();
  draft.flush().then(() => event.detail.issueRequest(true));
});
/** The draft that a request of its form, or of a button of its form, submits or discards. */
const draftOf = ({ elt }) => known.get(elt.form ?? elt);
// Before the next screen, which looks for a copy of its draft.
document.addEventListener("htmx:beforeSwap", ({ detail: { requestConfig, xhr } }) => {
  if (xhr.status < 300) draftOf(requestConfig)?.end();
});
document.addEventListener("htmx:afterRequest", ({ detail: { requestConfig, successful } }) => {
  if (!successful) draftOf(requestConfig)?.resume();
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
