/* Copy buttons: <button data-copy="ID" hidden>Copy</button> copies the value of the field with that id. Without scripts, or where
   the browser has no clipboard (it needs https or localhost), the button selects the text instead or stays hidden. */

const SHOWN_MS = 2000;

async function copy(button) {
  const field = document.getElementById(button.dataset.copy);
  const said = button.querySelector("[role=status]") ?? button;
  let word = "Copied";
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    field.focus();
    field.select();
    word = "Selected";
  }
  const label = button.dataset.label ??= said.textContent;
  said.textContent = word;
  setTimeout(() => { said.textContent = label; }, SHOWN_MS);
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}
