"use strict";
// Tables are sorted by a click on a heading; what has no value stays last, whichever way.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") !== "descending" && (column > 0 || heading.hasAttribute("aria-sort"));
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const key = row => row.cells[column].dataset.value;
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
        const order = column ? x - y : x.localeCompare(y, undefined, { numeric: true });
        return down ? -order : order;
      });
      body.append(...rows);
    });
  });
}
for (const choice of document.querySelectorAll("input[name=published]")) {
  const show = () => {
    if (!choice.checked) return;
    const table = document.getElementById("headlines");
    table.classList.toggle("hide-published", choice.value === "none");
    table.classList.toggle("hide-others", choice.value === "own");
  };
  choice.addEventListener("change", show);
  show();
}
document.querySelector("button.theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
