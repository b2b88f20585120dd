"use strict";

// The page: draws the heat map and the findings, and draws them anew when the filter changes.
(() => {
  const at = (id) => document.getElementById(id);
  const data = JSON.parse(at("data").textContent);
  const report = Logic.decode(data);
  const AT_ONCE = 100;
  const PLACES = 100;

  let cell = null; // the one that the findings are limited to
  let heat = null; // {map, phase, cells, rows}: what is drawn
  let groups = [];
  let drawn = 0;

  // An element with its text and attributes; nothing of a document is ever read as HTML.
  function made(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in element) element[name] = value;
      else element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  function markOf(verdict) {
    return made("span", { className: `mark ${verdict}`, "aria-hidden": "true" }, report.letters[verdict]);
  }

  function counted(number, one, many = `${one}s`) {
    return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
  }

  // The filter

  const buttons = [...at("verdicts").querySelectorAll("button")];

  function filterNow() {
    const pressed = buttons.filter((button) => button.ariaPressed === "true");
    return {
      words: Logic.wordsOf(at("query").value),
      verdicts: new Set(pressed.map((button) => button.dataset.verdict)),
      suite: at("suite").value,
      cell,
    };
  }

  function filtered() {
    const filter = filterNow();
    at("reset").hidden = !(filter.words.length || filter.verdicts.size || filter.suite || cell);
    at("only").hidden = !cell;
    if (cell) at("only").textContent = `only ${Logic.idOf(cell)} ✕`;
    filterMap(filter);
    filterFindings(filter);
  }

  let waiting = 0;
  at("query").addEventListener("input", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(filtered);
  });
  at("suite").addEventListener("change", filtered);
  at("verdicts").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    button.ariaPressed = button.ariaPressed === "true" ? "false" : "true";
    filtered();
  });
  at("only").addEventListener("click", () => {
    cell = null;
    filtered();
    at("query").focus();
  });
  at("filter").addEventListener("submit", (event) => event.preventDefault());
  at("filter").addEventListener("reset", () => {
    for (const button of buttons) button.ariaPressed = "false";
    cell = null;
    at("query").focus(); // the button that had the focus goes
    requestAnimationFrame(filtered); // the fields are empty only after the event
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      at("query").focus();
    }
  });
  document.querySelector(".suites").addEventListener("click", (event) => {
    const link = event.target.closest("a[data-suite]");
    if (!link) return;
    event.preventDefault();
    at("suite").value = link.dataset.suite;
    cell = null;
    filtered();
    goToFindings();
  });

  function goToFindings() {
    at("findings").focus({ preventScroll: true });
    at("findings").scrollIntoView();
  }

  // The heat map

  function drawMap() {
    const map = report.maps[at("map-of").value];
    const phase = Number(at("phase").value);
    const cells = Logic.cellsOf(map, phase, report);
    at("map-suite").textContent = map.suite;
    at("cells").style.setProperty("--columns", map.dtypes.length);
    at("cells").tHead.replaceChildren(
      made("tr", { role: "row" }, made("th", { role: "columnheader" }, "name"), ...map.dtypes.map((dtype) => made("th", { role: "columnheader" }, dtype || "no dtype"))),
    );
    const body = document.createDocumentFragment();
    const rows = map.rows.map(([name], row) => {
      const line = made("tr", { role: "row" }, made("th", { role: "rowheader", title: name }, name));
      map.dtypes.forEach((dtype, column) => {
        const verdict = cells[row][column];
        const place = line.insertCell();
        place.role = "gridcell";
        place.className = verdict;
        place.tabIndex = -1;
        place.textContent = verdict ? report.letters[verdict] : "";
        place.ariaLabel = `${dtype || "no dtype"} ${verdict || "not run"}`;
      });
      if (cells[row].every((verdict) => !verdict || verdict === "pass")) line.className = "clean";
      body.append(line);
      return line;
    });
    at("cells").tBodies[0].replaceChildren(body);
    at("cell").textContent = "";
    heat = { map, phase, cells, rows };
  }

  function filterMap(filter) {
    if (!heat) return;
    const shown = new Set(Logic.rowsOf(heat.map, heat.cells, heat.phase, filter, report));
    heat.rows.forEach((line, row) => {
      line.hidden = !shown.has(row);
    });
    const only = [...filter.verdicts].map((verdict) => `only-${verdict}`);
    at("cells").className = only.length ? `filtered ${only.join(" ")}` : "";
    at("map-count").textContent = `${shown.size.toLocaleString("en")} of ${counted(heat.rows.length, "row")}`;
    const first = [...shown][0];
    for (const stop of at("cells").querySelectorAll("td[tabindex='0']")) stop.tabIndex = -1;
    if (first !== undefined) heat.rows[first].cells[1].tabIndex = 0;
  }

  function placeOf(target) {
    const place = target.closest("#cells td");
    return place && { place, row: place.parentElement.sectionRowIndex, column: place.cellIndex - 1 };
  }

  function tellCell(event) {
    const found = placeOf(event.target);
    if (found) at("cell").textContent = Logic.sentenceOf(heat.map, found.row, found.column, report);
  }

  function chooseCell(event) {
    const found = placeOf(event.target);
    if (!found) return;
    const dtype = heat.map.dtypes[found.column];
    cell = { suite: heat.map.suite, name: heat.map.rows[found.row][0], dtype };
    tellCell(event);
    filtered();
    goToFindings();
  }

  const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

  function stepCell(event) {
    const found = placeOf(event.target);
    if (!found) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      chooseCell(event);
      return;
    }
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    let row = found.row + step[0];
    while (heat.rows[row]?.hidden) row += step[0];
    const next = heat.rows[row]?.cells[1 + found.column + step[1]];
    if (next?.tagName !== "TD") return;
    found.place.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  at("cells").addEventListener("mouseover", tellCell);
  at("cells").addEventListener("focusin", tellCell);
  at("cells").addEventListener("click", chooseCell);
  at("cells").addEventListener("keydown", stepCell);

  function choosePhases() {
    const { phases } = report.maps[at("map-of").value];
    at("phase").replaceChildren(
      made("option", { value: -1 }, "worst of all"),
      ...phases.map((phase, place) => made("option", { value: place }, phase || "no phase")),
    );
    drawMap();
  }

  at("map-of").addEventListener("change", () => {
    choosePhases();
    filterMap(filterNow());
  });
  at("phase").addEventListener("change", () => {
    drawMap();
    filterMap(filterNow());
  });

  // The findings

  function filterFindings(filter) {
    const found = Logic.matching(report.findings, filter);
    groups = at("together").checked ? Logic.together(found) : found.map((finding) => [finding]);
    const all = report.findings.length;
    at("findings-count").textContent = all
      ? `${found.length.toLocaleString("en")} of ${counted(all, "finding")}` +
        (groups.length < found.length ? `, in ${counted(groups.length, "group")}` : "")
      : "Nothing but passes.";
    at("none").hidden = !all || found.length > 0;
    drawn = 0;
    at("list").replaceChildren();
    drawMore();
  }

  function drawMore() {
    at("list").append(...groups.slice(drawn, drawn + AT_ONCE).map(groupOf));
    drawn = Math.min(groups.length, drawn + AT_ONCE);
    const rest = groups.length - drawn;
    at("more").hidden = !rest;
    at("more").textContent = `Show ${Math.min(rest, AT_ONCE)} more of ${rest.toLocaleString("en")}`;
  }

  function groupOf(group) {
    const [first] = group;
    const said = (first.message || first.reason).trim().split("\n", 1)[0];
    const amount = group.length > 1 ? made("span", { className: "amount" }, `${group.length.toLocaleString("en")} entries`) : null;
    const details = made(
      "details",
      { className: `finding ${first.verdict}` },
      made(
        "summary",
        {},
        markOf(first.verdict),
        made("span", { className: "verdict" }, first.verdict),
        made("code", {}, Logic.titleOf(group)),
        amount,
        made("span", { className: "said" }, said),
      ),
    );
    // What is inside is made when it is first opened: most never are.
    details.addEventListener("toggle", () => fill(details, group), { once: true });
    return details;
  }

  function fill(details, group) {
    if (details.children.length === 1) details.append(bodyOf(group));
  }

  function bodyOf(group) {
    const [first] = group;
    const body = made("div", { className: "body" });
    body.append(
      made(
        "dl",
        {},
        ...told("Promise", first.promise),
        ...told("Message", first.message, "pre"),
        ...told("Reason", first.reason, "pre"),
        ...told("PyTorch needs it in", first.called_by, "code"),
        ...told("Without it", first.without),
        ...told("Tier", first.tier),
      ),
    );
    if (group.length === 1) body.append(...shownOf(first));
    else body.append(placesOf(group));
    return body;
  }

  function told(term, text, tag = "span") {
    return text ? [made("div", {}, made("dt", {}, term), made("dd", {}, made(tag, {}, text)))] : [];
  }

  // The reproduction and the trace of a finding.
  function shownOf(finding) {
    const parts = [];
    if (finding.reproduction) {
      const code = made("pre", { tabIndex: 0, ariaLabel: "Reproduction" }, finding.reproduction);
      const button = made("button", { type: "button", className: "copy" }, "Copy");
      button.addEventListener("click", () => copy(code, button));
      parts.push(made("div", { className: "reproduction" }, made("p", {}, "Reproduction"), button, code));
    }
    if (finding.trace) {
      parts.push(made("details", { className: "trace" }, made("summary", {}, "Trace"), made("pre", { tabIndex: 0 }, finding.trace)));
    }
    return parts;
  }

  function placesOf(group) {
    const list = made("ul", { className: "places" });
    const add = (findings) => {
      for (const finding of findings) {
        const name = made("code", {}, Logic.idOf(finding));
        const parts = shownOf(finding);
        list.append(made("li", {}, parts.length ? made("details", {}, made("summary", {}, name), ...parts) : name));
      }
    };
    add(group.slice(0, PLACES));
    if (group.length <= PLACES) return list;
    const button = made("button", { type: "button" }, `Show all ${group.length.toLocaleString("en")}`);
    button.addEventListener("click", () => {
      button.remove();
      add(group.slice(PLACES));
    });
    return made("div", {}, list, button);
  }

  async function copy(code, button) {
    getSelection().selectAllChildren(code); // what is left to the reader where a browser says no
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  }

  at("more").addEventListener("click", () => {
    const next = drawn;
    drawMore();
    at("list").children[next].firstElementChild.focus();
  });
  at("together").addEventListener("change", () => filterFindings(filterNow()));

  // On paper, what is wrong is told whole; the mild verdicts stay lines.
  let opened = [];
  addEventListener("beforeprint", () => {
    const worst = at("list").querySelectorAll(".finding:is(.crash, .timeout, .fail):not([open])");
    opened = [...worst].map((details, place) => {
      fill(details, groups[[...at("list").children].indexOf(details)]);
      details.open = true;
      return details;
    });
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });

  if (data.left_out) {
    at("left-out").hidden = false;
    at("left-out").textContent =
      `Of ${counted(data.left_out, "finding")} some texts, traces first, are left out of this page, ` +
      "which would grow too large; the JSON document of the run has them.";
  }
  if (report.maps.length) {
    at("map").hidden = false;
    at("map-of").replaceChildren(...report.maps.map((map, place) => made("option", { value: place }, map.suite)));
    at("map-choice").hidden = report.maps.length === 1;
    choosePhases();
  }
  at("filter").hidden = false;
  at("findings").hidden = false;
  filtered();
})();
