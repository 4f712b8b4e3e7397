/* Copy buttons (includes/copy_field.html) copy the value of the field whose id is in `data-copy`. Without scripts, or where the
   browser has no clipboard (it needs https or localhost), the button selects the text instead or stays hidden. */

const SHOWN_MS = 2000;

async function copy(button) {
  const field = document.getElementById(button.dataset.copy);
  const [label] = button.children;
  let word = "Copied";
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    field.focus();
    field.select();
    word = "Selected";
  }
  button.dataset.label ??= label.textContent;
  const status = button.nextElementSibling;
  label.textContent = word;
  status.textContent = word; // outside the button, whose name a status would take
  setTimeout(() => {
    label.textContent = button.dataset.label;
    status.textContent = "";
  }, SHOWN_MS);
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}
