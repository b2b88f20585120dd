"use strict";

// What the page decides and finds, without the page: tests run this file in an engine of their own.
const Logic = (() => {
  // The findings and heat maps of the embedded data, with their texts in place of numbers.
  function decode(data) {
    const findings = data.findings.map(([verdict, ...numbers]) => {
      const finding = { verdict: data.verdicts[verdict][0] };
      data.fields.forEach((field, place) => {
        finding[field] = data.texts[numbers[place] || 0];
      });
      finding.searched = [idOf(finding), finding.message, finding.reason, finding.promise]
        .join("\n")
        .toLowerCase();
      return finding;
    });
    return {
      findings,
      maps: data.maps,
      worstFirst: data.verdicts.map(([name]) => name),
      letters: Object.fromEntries(data.verdicts),
      names: Object.fromEntries(data.verdicts.map(([name, letter]) => [letter, name])),
    };
  }

  function idOf({ suite, name, dtype, phase }) {
    return [suite, name, dtype, phase].filter(Boolean).join("/");
  }

  // Each word of a query has to be found; their order does not matter, nor does their case.
  function wordsOf(query) {
    return query.toLowerCase().split(/\s+/).filter(Boolean);
  }

  function hasAll(text, words) {
    return words.every((word) => text.includes(word));
  }

  // A filter is {words, verdicts, suite, cell}: verdicts a set that is empty for all, suite "" for
  // all, cell null or {suite, name, dtype}.
  function matching(findings, filter) {
    const { words, verdicts, suite, cell } = filter;
    return findings.filter(
      (finding) =>
        (!verdicts.size || verdicts.has(finding.verdict)) &&
        (!suite || finding.suite === suite) &&
        (!cell ||
          (finding.suite === cell.suite &&
            finding.name === cell.name &&
            finding.dtype === cell.dtype)) &&
        hasAll(finding.searched, words),
    );
  }

  const SAID = ["verdict", "suite", "message", "reason", "promise", "called_by", "without", "tier"];

  // Findings that say the same, in the order of the first of each: [[finding, ...], ...].
  function together(findings) {
    const groups = new Map();
    for (const finding of findings) {
      const key = SAID.map((field) => finding[field]).join("\u0000");
      if (groups.has(key)) groups.get(key).push(finding);
      else groups.set(key, [finding]);
    }
    return [...groups.values()];
  }

  // What a group is called: its suite, and as many of its names as have room.
  function titleOf(group, room = 60) {
    const [first] = group;
    if (group.length === 1) return idOf(first);
    const names = [...new Set(group.map((finding) => finding.name))];
    if (names.length === 1) {
      const places = [...new Set(group.map(({ dtype, phase }) => [dtype, phase].filter(Boolean).join("/")))];
      return `${first.suite}/${first.name} ${listed(places, room)}`;
    }
    return `${first.suite}: ${listed(names, room)}`;
  }

  function listed(names, room) {
    let shown = 0;
    let length = 0;
    while (shown < names.length && (!shown || length + names[shown].length <= room)) {
      length += names[shown].length + 2;
      shown += 1;
    }
    const rest = names.length - shown;
    return names.slice(0, shown).join(", ") + (rest ? ` and ${rest} more` : "");
  }

  // The letters of a cell's phases, " " where a phase did not run.
  function lettersAt(map, row, dtype) {
    const [, letters] = map.rows[row];
    return letters.slice(dtype * map.phases.length, (dtype + 1) * map.phases.length);
  }

  // What each cell of a map shows, by row and dtype: the verdict, "" where nothing ran. `phase` is a
  // number of map.phases, or -1 for the worst over all of them.
  function cellsOf(map, phase, report) {
    return map.rows.map((_, row) =>
      map.dtypes.map((_, dtype) => {
        const letters = lettersAt(map, row, dtype);
        if (phase >= 0) return report.names[letters[phase]] || "";
        return report.worstFirst.find((name) => letters.includes(report.letters[name])) || "";
      }),
    );
  }

  // The numbers of the rows to show: those with a cell of a wanted verdict whose name, with suite
  // and dtype, has the words, or of which a finding has them.
  function rowsOf(map, cells, phase, filter, report) {
    const { words, verdicts, suite } = filter;
    if (suite && suite !== map.suite) return [];
    const told = new Set();
    if (words.length) {
      for (const finding of report.findings) {
        if (
          finding.suite === map.suite &&
          (phase < 0 || finding.phase === map.phases[phase]) &&
          (!verdicts.size || verdicts.has(finding.verdict)) &&
          hasAll(finding.searched, words)
        ) {
          told.add(finding.name);
        }
      }
    }
    const shown = [];
    map.rows.forEach(([name], row) => {
      const wanted = map.dtypes.some((dtype, column) => {
        const verdict = cells[row][column];
        return (
          verdict &&
          (!verdicts.size || verdicts.has(verdict)) &&
          hasAll(idOf({ suite: map.suite, name, dtype }).toLowerCase(), words)
        );
      });
      if (wanted || told.has(name)) shown.push(row);
    });
    return shown;
  }

  // A cell in words: "add, float32: forward pass, backward fail".
  function sentenceOf(map, row, dtype, report) {
    const ran = [...lettersAt(map, row, dtype)]
      .map((letter, phase) => [map.phases[phase], report.names[letter]])
      .filter(([, verdict]) => verdict)
      .map(([phase, verdict]) => (phase ? `${phase} ${verdict}` : verdict));
    const place = [map.rows[row][0], map.dtypes[dtype]].filter(Boolean).join(", ");
    return `${place}: ${ran.join(", ") || "nothing ran"}`;
  }

  return { decode, idOf, wordsOf, matching, together, titleOf, cellsOf, rowsOf, sentenceOf };
})();
