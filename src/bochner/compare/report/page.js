"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const announce = (message) => { document.getElementById("status").textContent = message; };
  root.classList.add("js");

  // Charts. Colours are variables of the style sheet, which alone defines the themes.
  const PRINT_WIDTH = 640; // pixels of a page without its margins and those of a card
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const hidden = new Set();
  const coarse = matchMedia("(pointer: coarse)").matches;
  let printing = false;
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

  const coloured = (trace) => {
    const ink = colour(trace.meta.colour);
    const result = structuredClone(trace);
    result.visible = !hidden.has(trace.meta.chip);
    result.line.color = ink;
    result.marker.color = ink;
    result.marker.line.color = trace.marker.symbol.endsWith("-open") ? ink : colour("surface");
    if (!trace.marker.symbol.endsWith("-open")) result.marker.line.width = 1;
    if (result.error_y) result.error_y.color = ink;
    const halo = `0 0 3px ${colour("surface")}`; // labels of levels cross lines
    result.textfont = { color: ink, size: 12, shadow: `${halo}, ${halo}, ${halo}` };
    result.hoverlabel = { bordercolor: ink };
    return result;
  };

  const axis = (settings) => ({
    ...settings,
    title: { ...settings.title, standoff: 10, font: { size: 13, color: colour("muted") } },
    gridcolor: colour("grid"),
    linecolor: colour("border"),
    tickfont: { color: colour("muted"), size: 12 },
    zeroline: false,
  });

  const layout = (settings) => ({
    ...settings,
    xaxis: axis(settings.xaxis),
    yaxis: axis(settings.yaxis),
    autosize: !printing,
    width: printing ? PRINT_WIDTH : undefined,
    height: printing ? 330 : undefined,
    margin: { l: 52, r: 14, t: 20, b: 48 },
    paper_bgcolor: colour("surface"),
    plot_bgcolor: colour("surface"),
    font: { family: getComputedStyle(document.body).fontFamily, color: colour("ink") },
    hoverlabel: {
      bgcolor: colour("raised"),
      font: { color: colour("ink"), size: 13 },
      align: "left",
    },
    hovermode: "closest",
    showlegend: false,
    // on touch screens a drag over a chart scrolls the page
    dragmode: coarse ? false : "zoom",
    uirevision: "kept",
  });

  const config = {
    responsive: true,
    displaylogo: false,
    displayModeBar: coarse ? false : "hover",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
    plotlyServerURL: "",
  };

  const draw = () => {
    for (const figure of figures) {
      const place = document.getElementById(`chart-${figure.key}`);
      Plotly.react(place, figure.data.map(coloured), layout(figure.layout), config);
    }
  };

  const print = (on) => {
    if (printing === on) return;
    printing = on;
    root.toggleAttribute("data-print", on);
    draw();
  };

  const press = (chip, on) => {
    chip.setAttribute("aria-pressed", String(on));
    hidden[on ? "delete" : "add"](Number(chip.dataset.chip));
  };

  if (figures.length) {
    const chips = all("[data-chip]");
    for (const bar of all(".chips")) bar.hidden = false;
    for (const chip of chips) {
      chip.addEventListener("click", () => {
        press(chip, chip.getAttribute("aria-pressed") !== "true");
        draw();
      });
    }
    for (const button of all("[data-all]")) {
      button.addEventListener("click", () => {
        for (const chip of chips) press(chip, button.dataset.all === "true");
        draw();
      });
    }
    draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    matchMedia("print").addEventListener("change", (event) => print(event.matches));
    addEventListener("beforeprint", () => print(true));
    addEventListener("afterprint", () => print(false));
  }

  // The table of entries. Rows without a figure are last in either order.
  const sort = (heading) => {
    const table = heading.closest("table");
    const first = heading.dataset.first || "ascending";
    const second = first === "ascending" ? "descending" : "ascending";
    const order = heading.getAttribute("aria-sort") === first ? second : first;
    const sign = order === "ascending" ? 1 : -1;
    const isText = "text" in heading.dataset;
    const value = (row) => row.children[heading.cellIndex].dataset.value;
    const compare = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      return sign * (isText ? x.localeCompare(y) : Number(x) - Number(y));
    };
    closeCode();
    for (const other of all("th[aria-sort]", table)) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", order);
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
    announce(`Sorted by ${heading.textContent.trim()}, ${order}.`);
  };
  for (const heading of all("th[aria-sort]")) {
    heading.querySelector("button").addEventListener("click", () => sort(heading));
  }

  // Code of an entry: copied, or shown below its row.
  const copy = async (button) => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().selectAllChildren(code); // browsers that deny the clipboard to local files
      if (!document.execCommand("copy")) return announce("Select the code to copy it.");
      getSelection().removeAllRanges();
    }
    button.textContent = "Copied";
    announce("Copied.");
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };
  const closeCode = () => {
    for (const row of all(".code-row")) row.remove();
    for (const link of all(".show-code")) link.setAttribute("aria-expanded", "false");
  };
  const showCode = (link) => {
    const wasOpen = link.getAttribute("aria-expanded") === "true";
    closeCode();
    if (wasOpen) return;
    const row = link.closest("tr");
    const shown = document.createElement("tr");
    const cell = shown.insertCell();
    shown.className = "code-row";
    cell.colSpan = row.cells.length;
    cell.append(document.querySelector(`${link.hash} .code`).cloneNode(true));
    row.after(shown);
    link.setAttribute("aria-expanded", "true");
  };
  for (const link of all(".show-code")) {
    link.setAttribute("role", "button");
    link.setAttribute("aria-expanded", "false");
    link.addEventListener("click", (event) => { event.preventDefault(); showCode(link); });
    link.addEventListener("keydown", (event) => {
      if (event.key === " ") { event.preventDefault(); showCode(link); }
    });
  }
  for (const button of all(".copy")) button.hidden = false;
  document.addEventListener("click", (event) => {
    if (event.target.matches(".copy")) copy(event.target);
  });
})();
