/* What is entered and not submitted: saved on the server while people work, one request at a time, and copied in
   this browser until the server says that it has it. A copy that never arrived is filled in again when the record
   is opened the next time, also after the tab was closed. */
(function () {
  "use strict";

  const { review } = window;
  const { one, all } = review;
  const TEXT_MS = 400;
  const PASSING_MS = 60 * 1000;
  const RETRY_MS = [1000, 2000, 4000, 8000, 15000, 30000];
  const OFFLINE = "Offline. Your draft is kept in this browser; retrying.";
  const BROKEN = "The server could not save your draft. It is kept in this browser; retrying.";
  const LOGGED_OUT = "You are logged out. Your draft is kept in this browser; log in again to go on.";
  const REFUSED = "Your draft was not saved. It is kept in this browser.";
  const LOST = "Not saved: you do not hold this record. Your draft is kept in this browser.";
  const OUTDATED = "Not saved: a newer draft was saved elsewhere.";

  const FIELD = /^(comments|criteria-\d+-)/;
  const fieldsOf = (form) => [...new FormData(form)].filter(([name]) => FIELD.test(name));
  const clock = (moment) => new Date(moment).toISOString().slice(11, 16);

  /** The draft of one form, for as long as the form is there. */
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

    /** Something was entered: keep a copy at once, and save it after a while (milliseconds). */
    change(delay) {
      this.isSaved = false;
      this.copy();
      if (this.isStopped) return;
      this.say("saving", "saving…");
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.save(), this.retries ? RETRY_MS[0] : delay);
    }

    /** Save now what is not saved; resolves when no request is on its way. */
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
      review.tell("held", response.headers.get("X-Claim-Until"));
      if (response.status === 409) return this.refused(response);
      this.say("saved", `saved ${clock(response.headers.get("X-Draft-Saved-At") || Date.now())}`);
      if (response.status === 204) return;
      const notice = await response.text();
      if (this !== draft) return;
      review.notice(notice);
    }

    async refused(response) {
      const notice = await response.text();
      if (this === draft) review.notice(notice);
      this.stop(one("#notices [data-outdated]") ? OUTDATED : LOST);
    }

    retry(state, words) {
      this.isSaved = false;
      this.say(state, words);
      this.timer = setTimeout(() => this.save(), RETRY_MS[Math.min(this.retries, RETRY_MS.length - 1)]);
      this.retries += 1;
    }

    /** Send nothing more: it would be refused, or it is submitted or thrown away. */
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
      // Read aloud is only what goes wrong.
      line.setAttribute("aria-live", isTrouble(state) ? "assertive" : "off");
      line.dataset.state = state;
      line.textContent = words;
    }

    // ---- the copy

    /** Keep a copy, for good or for a while (milliseconds). */
    copy(lifetime) {
      const until = lifetime && Date.now() + lifetime;
      const copy = { revision: this.revision + 1, fields: fieldsOf(this.form), until };
      try {
        localStorage.setItem(this.key, JSON.stringify(copy));
      } catch {
        // More text than the browser keeps: the form itself still has it.
      }
    }

    forget() {
      localStorage.removeItem(this.key);
    }

    /** Fill in a copy that never arrived, unless something newer was saved elsewhere. */
    restore() {
      const copy = JSON.parse(localStorage.getItem(this.key) || "null");
      if (!copy || this.form.hasAttribute("data-bound")) return;
      const isOver = copy.until < Date.now();
      const isNews = JSON.stringify(copy.fields) !== JSON.stringify(fieldsOf(this.form));
      if (copy.revision <= this.revision || !isNews || isOver) return this.forget();
      this.revision = copy.revision; // it may be on its way still
      fill(this.form, copy.fields);
      one("#restored").hidden = false;
      review.changed();
    }
  }

  // ---- filling a form

  /** Put fields of a form as it was into the form as it is: its rows may be others now. */
  function fill(form, fields) {
    const places = new Map(); // of a row: its number then, and now
    for (const [name, value] of fields) {
      const [, number, rest] = /^criteria-(\d+)-(.*)/.exec(name) || [];
      if (rest === "name") places.set(number, placeOf(value, [...places.values()]));
      const wanted = number === undefined ? name : `criteria-${places.get(number)}-${rest}`;
      all(`[name="${CSS.escape(wanted)}"]`, form).forEach((field) => put(field, value));
    }
  }

  function placeOf(criterion, taken) {
    const rows = review.rows().filter((row) => !taken.includes(row.dataset.number));
    const offered = rows.find((row) => one("input[type=hidden][name$='-name']", row)?.value === criterion);
    const added = rows.find((row) => one(".name input", row)); // its name may be half of what it is now
    return (offered || added || review.addRow()).dataset.number;
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

  // ---- the draft of the form that is shown

  const known = new WeakMap(); // a screen may come back when its submit failed
  let draft = null;

  function open() {
    const before = draft;
    before?.save();
    const form = review.form();
    draft = form && (known.get(form) || new Draft(form));
    if (!draft) return;
    // A form that came back with its mistakes does not know what was saved meanwhile.
    if (before?.url === draft.url) draft.revision = Math.max(draft.revision, before.revision);
    if (known.has(form)) draft.resume();
    else draft.restore();
    known.set(form, draft);
  }

  document.addEventListener("review:shown", open);
  document.addEventListener("review:changed", (event) => draft?.change(event.detail.isText ? TEXT_MS : 0));
  document.addEventListener("focusout", (event) => { if (event.target.matches("textarea, input")) draft?.save(); });
  window.addEventListener("online", () => draft?.save());
  document.addEventListener("click", (event) => {
    if (event.target.closest("#discard")) draft?.stop();
  });
  document.addEventListener("htmx:confirm", (event) => {
    // What is on its way must not arrive behind what throws it away.
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
      // The page that comes now may have been made before the last save arrived.
      if (!draft.request && draft.revision > Number(draft.form.dataset.revision)) draft.copy(PASSING_MS);
      return;
    }
    const body = new FormData(draft.form);
    body.set("revision", draft.revision + 1);
    // Refused where it is too long for a page that goes away: then the copy is all there is.
    fetch(draft.url, { method: "POST", body, keepalive: true }).catch(() => {});
  });

  review.draft = () => draft;
})();
