// Only what a page can do without: filters of tables, a choice of lanes, and commands copied by a click.
for (const place of document.querySelectorAll("[data-filters]")) {
  const rows = document.querySelectorAll(`#${place.dataset.filters} tr`);
  const field = document.createElement("input");
  field.type = "search";
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  const label = document.createElement("label");
  label.append("Only lines with ", field);
  place.append(label);
}
for (const [index, place] of document.querySelectorAll("[data-choice]").entries()) {
  const choice = document.createElement("input");
  choice.type = "radio";
  choice.name = "chain";
  choice.checked = index === 0;
  choice.addEventListener("change", () => {
    for (const part of document.querySelectorAll("[data-chain]"))
      part.toggleAttribute("hidden", part.dataset.chain !== place.dataset.choice);
  });
  const label = document.createElement("label");
  label.append(choice, " its causes on the lanes");
  place.append(label);
}
for (const command of document.querySelectorAll(".commands code")) {
  const button = document.createElement("button");
  button.textContent = "copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(command.textContent);
    button.textContent = "copied";
  });
  command.after(button);
}
