// Only what a page can do without: filters of tables, and commands copied by a click.
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
for (const choice of document.querySelectorAll("input[name=chain]")) {
  const show = () => {
    if (!choice.checked) return;
    for (const part of document.querySelectorAll("[data-chain]"))
      part.toggleAttribute("hidden", part.dataset.chain !== choice.value);
  };
  choice.addEventListener("change", show);
  show();  // a browser may have kept the choice of an earlier look
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
