// What is wrong on a page for who cannot see it, or sees little: run in the page, returns sentences.
() => {
  const wrong = [];
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  for (const id of new Set(ids)) if (ids.filter((one) => one === id).length > 1) wrong.push(`two elements are called ${id}`);
  if (!document.documentElement.lang) wrong.push("no language");
  if (!document.title) wrong.push("no title");
  if (document.querySelectorAll("main").length !== 1) wrong.push("not one main");
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
  let before = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    const level = Number(heading.tagName[1]);
    if (level > before + 1) wrong.push(`h${level} "${heading.textContent}" follows h${before}`);
    before = level;
  }
  for (const cell of document.querySelectorAll("th")) if (!cell.scope) wrong.push(`th "${cell.textContent}" has no scope`);
  for (const one of document.querySelectorAll("[aria-labelledby], [aria-describedby], [aria-controls]"))
    for (const name of ["aria-labelledby", "aria-describedby", "aria-controls"])
      for (const id of (one.getAttribute(name) || "").split(" ").filter(Boolean))
        if (!document.getElementById(id)) wrong.push(`${name} names ${id}, which is not there`);
  if (document.querySelector("[tabindex]:not([tabindex='0']):not([tabindex='-1'])")) wrong.push("an order of its own");
  const rgba = (text) => { const n = text.match(/[\d.]+/g).map(Number); return [n[0], n[1], n[2], n.length > 3 ? n[3] : 1]; };
  const over = (top, under) => top.slice(0, 3).map((c, i) => c * top[3] + under[i] * (1 - top[3])).concat(1);
  const ground = (one) => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    return layers.reverse().reduce((under, top) => over(top, under), dark ? [18, 18, 18, 1] : [255, 255, 255, 1]);
  };
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const one = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || one.closest("svg, script, style, .hide, .skip") || !one.checkVisibility({ opacityProperty: true })) continue;
    const behind = ground(one), ink = over(rgba(getComputedStyle(one).color), behind);
    const [high, low] = [light(ink), light(behind)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) wrong.push(`contrast ${ratio.toFixed(2)} of "${texts.currentNode.textContent.trim().slice(0, 30)}"`);
  }
  return [...new Set(wrong)];
}
