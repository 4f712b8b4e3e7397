/* The review screen: keys, the live verdict, rows, and a copy of unsent typing. It works on whatever screen is
   there, because htmx puts the next record in the place of the last; nothing here is needed to submit a review. */
(function () {
  "use strict";

  const LEVELS = { y: "Yes", p: "Partial", n: "No" };
  const IDLE_MS = 15 * 60 * 1000;
  const GUARD_MS = 300; // a key meant for the last record must not decide the next
  let current = 0;
  let shownAt = 0;
  let activeAt = Date.now();

  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const form = () => one("#review-form");
  const rows = () => all("#criteria > .criterion");
  const isRemoved = (row) => one("[name$='-removed']", row).checked;
  const choice = (row) => one("input[type=radio]:checked", row)?.value || "";
  const word = (row) => (choice(row) === "as judged" ? row.dataset.word : choice(row)).trim().toLowerCase();
  const kept = () => rows().filter((row) => !isRemoved(row));

  // ---- what the form says now

  function isEdited(row) {
    const text = one("textarea", row);
    return text.value !== text.defaultValue || "edited" in text.dataset;
  }

  function isBlank(row) {
    const name = one(".name input", row);
    return Boolean(name) && !name.value.trim() && !choice(row) && !one("textarea", row).value.trim();
  }

  function isChanged(row) {
    if (one(".name input", row)) return !isBlank(row);
    return isRemoved(row) || choice(row) !== row.dataset.judged || isEdited(row);
  }

  function missing() {
    return kept().filter((row) => !choice(row) && !(isBlank(row) && kept().length > 1));
  }

  function verdict() {
    const scores = kept().filter((row) => !isBlank(row)).map(word);
    if (!scores.length || scores.some((score) => !["yes", "partial", "no"].includes(score))) return "open";
    return scores.includes("no") ? "Fail" : scores.includes("partial") ? "Partial" : "Pass";
  }

  const counted = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

  function refresh() {
    if (!form()) return;
    for (const row of rows()) {
      const judged = row.dataset.judged;
      const chosen = choice(row);
      row.classList.toggle("changed", isChanged(row));
      row.classList.toggle("edited", isEdited(row));
      row.classList.toggle("removed", isRemoved(row));
      one(".change strong", row).textContent = judged && chosen && chosen !== judged ? `${row.dataset.word} → ${chosen}` : "";
    }
    const output = one("#verdict");
    const before = output.dataset.judged;
    const after = verdict();
    output.textContent = ["", after].includes(before) || after === "open" ? after : `${before} → ${after}`;
    const submit = one("#submit");
    if (!submit) return;
    const lacking = missing().length;
    const changes = rows().filter(isChanged).length;
    const offered = one(".criterion[data-judged]:not([data-judged=''])", form());
    submit.setAttribute("aria-disabled", String(lacking > 0));
    one("span", submit).textContent = lacking ? `${counted(lacking, "score")} missing`
      : !offered ? "Submit & next" : changes ? `Submit ${counted(changes, "change")}` : "Agree & next";
  }

  // ---- moving and choosing

  function go(index) {
    const list = rows();
    if (!list.length) return;
    current = Math.max(0, Math.min(index, list.length - 1));
    mark();
    list[current].focus({ preventScroll: true });
    list[current].scrollIntoView({ block: "nearest" });
  }

  function mark() {
    rows().forEach((row, index) => row.toggleAttribute("data-current", index === current));
    all("#raw [data-span]").forEach((span) => span.classList.toggle("lit", Number(span.dataset.span) === current));
  }

  function choose(row, level) {
    const radio = all("input[type=radio]", row).find((input) => input.value === level);
    if (radio && !isRemoved(row)) radio.checked = true;
  }

  function score(level, everywhere) {
    if (everywhere) rows().forEach((row) => choose(row, level));
    else if (rows()[current]) choose(rows()[current], level);
    changed();
    if (!everywhere) go(current + 1);
  }

  function edit() {
    const row = rows()[current];
    if (!row) return;
    one("details.edit", row).open = true;
    const text = one("textarea", row);
    text.focus();
    if (!isEdited(row)) text.select();
  }

  function addRow(event) {
    event.preventDefault();
    const number = rows().length;
    const html = one("#blank-row").innerHTML.replaceAll("__n__", number).replaceAll("__place__", number + 1);
    one("#criteria").insertAdjacentHTML("beforeend", html);
    window.htmx.process(one("#criteria").lastElementChild);
    current = number;
    mark();
    one(".name input", rows()[number]).focus();
    refresh();
  }

  function toggleRaw() {
    const raw = one("#raw");
    raw.open = !raw.open;
    if (raw.open) raw.scrollIntoView({ block: "nearest" });
  }

  function submit() {
    const lacking = missing();
    if (lacking.length) go(rows().indexOf(lacking[0]));
    else if (one("#submit") && !one("#submit").disabled) form().requestSubmit(one("#submit"));
  }

  // ---- a copy of what is typed and not sent, kept in this tab

  const place = () => `review:${one("#screen").dataset.record}`;
  const saved = () => [...new FormData(form())].filter(([name]) => /^(criteria-|comments)/.test(name));

  function keep() {
    try {
      sessionStorage.setItem(place(), JSON.stringify(saved()));
    } catch {
      // More text than the browser keeps: the form itself still has it.
    }
  }

  function restore() {
    const sent = sessionStorage.getItem("review:sent");
    if (sent && sent !== place()) sessionStorage.removeItem(sent);
    sessionStorage.removeItem("review:sent");
    if (form().hasAttribute("data-bound")) return keep();
    const copy = JSON.parse(sessionStorage.getItem(place()) || "[]");
    if (!copy.length || JSON.stringify(copy) === JSON.stringify(saved())) return;
    const wanted = new Set(copy.map(([name]) => name.split("-")[1]).filter(Boolean)).size;
    while (rows().length < wanted) addRow(new Event("add"));
    for (const [name, value] of copy) {
      const fields = all(`[name="${CSS.escape(name)}"]`, form());
      for (const field of fields) {
        if (field.type === "radio" || field.type === "checkbox") field.checked = field.value === value;
        else field.value = value;
        if (field.matches("textarea") && field.value !== field.defaultValue) {
          window.htmx.trigger(field, "input");
          field.closest("details")?.setAttribute("open", "");
        }
      }
    }
    one("#restored").hidden = false;
  }

  function discard() {
    sessionStorage.removeItem(place());
    location.reload();
  }

  function changed() {
    refresh();
    keep();
  }

  // ---- keys

  const COMMANDS = {
    a: () => Date.now() - shownAt > GUARD_MS && submit(),
    c: () => one("#comments").focus(),
    e: edit,
    j: () => go(current + 1),
    k: () => go(current - 1),
    r: toggleRaw,
    s: () => Date.now() - shownAt > GUARD_MS && one("#skip")?.click(),
  };

  const isTyping = (target) => target.matches("textarea, select, input:not([type=radio], [type=checkbox])");

  // The letter printed on the key where the layout has none (Cyrillic, Greek).
  const letter = (event) => (/^[\x20-\x7e]$/.test(event.key) ? event.key : event.code.replace("Key", "")).toLowerCase();

  function onKey(event) {
    activeAt = Date.now();
    if (!form() || one("dialog[open]") || event.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      return event.repeat ? undefined : submit();
    }
    if (isTyping(event.target)) {
      // Enter in a name would press the first button of the form.
      const isDone = event.key === "Escape" || (event.key === "Enter" && event.target.matches("input"));
      if (isDone) { event.preventDefault(); go(current); }
      return;
    }
    // Each pane scrolls by itself; from the heading the keys that scroll mean the evidence.
    if (event.target.matches("body, h1") && /^(Arrow|Page|Home|End| )/.test(event.key)) one("#evidence").focus();
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code);
    const command = event.key === "?" ? showKeys
      : digit && !event.shiftKey ? () => go(Number(digit[1]) - 1)
      : LEVELS[letter(event)] ? () => score(LEVELS[letter(event)], event.shiftKey)
      : event.shiftKey ? null : COMMANDS[letter(event)];
    if (!command) return;
    event.preventDefault();
    command();
  }

  function showKeys() {
    one("#keys").showModal();
  }

  // ---- a new screen

  function begin() {
    const screen = one("#screen");
    if (!screen || screen.dataset.begun) return;
    screen.dataset.begun = "yes";
    shownAt = Date.now();
    current = 0;
    if (form()) {
      one("#show-keys").hidden = false;
      restore();
      mark();
      refresh();
    }
    const target = one("[aria-invalid='true']", screen) || one("[data-focus]", screen);
    target?.focus({ preventScroll: !target.matches("[aria-invalid]") });
  }

  document.addEventListener("keydown", onKey);
  for (const name of ["pointermove", "scroll"]) {
    document.addEventListener(name, () => { activeAt = Date.now(); }, { passive: true, capture: true });
  }
  document.addEventListener("input", (event) => { if (event.target.closest("#review-form")) changed(); });
  document.addEventListener("focusin", (event) => {
    const index = rows().indexOf(event.target.closest(".criterion"));
    if (index >= 0) { current = index; mark(); }
  });
  document.addEventListener("click", (event) => {
    const id = event.target.closest("button")?.id;
    if (id === "add") addRow(event);
    else if (id === "show-keys") showKeys();
    else if (id === "discard") discard();
    else if (id === "submit" && missing().length) { event.preventDefault(); submit(); }
  });
  document.addEventListener("submit", (event) => {
    if (event.target === form()) sessionStorage.setItem("review:sent", place());
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    // The claim is kept up only while somebody is here.
    if (event.target.id === "hold" && (document.hidden || Date.now() - activeAt > IDLE_MS)) event.preventDefault();
  });
  document.addEventListener("htmx:afterSettle", begin);
  for (const name of ["htmx:sendError", "htmx:responseError"]) {
    document.addEventListener(name, (event) => {
      const offline = one("#unreachable");
      if (offline && event.target.id !== "hold") offline.hidden = false;
    });
  }
  begin();
})();
