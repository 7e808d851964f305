// Tables that sort by the column whose name is pressed: largest first, then smallest, then as it was.
for (const table of document.querySelectorAll("table.sortable")) {
  const [body] = table.tBodies;
  const first = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const textOf = (cell) => cell.dataset.value ?? (cell.firstChild ? cell.firstChild.textContent.trim() : "");
  const compare = (one, other) => {
    const [a, b] = [parseFloat(one), parseFloat(other)];
    if (Number.isNaN(a) && Number.isNaN(b)) return one.localeCompare(other, undefined, { numeric: true });
    return (Number.isNaN(a) ? -Infinity : a) - (Number.isNaN(b) ? -Infinity : b);
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const figures = head.classList.contains("number");
      const orders = figures ? ["descending", "ascending"] : ["ascending", "descending"];
      const order = orders[orders.indexOf(head.getAttribute("aria-sort")) + 1];
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (order) head.setAttribute("aria-sort", order);
      const turn = order === "descending" ? -1 : 1;
      const value = (row) => textOf(row.cells[column]);
      body.append(...(order ? [...first].sort((one, other) => turn * compare(value(one), value(other))) : first));
    });
  });
}
