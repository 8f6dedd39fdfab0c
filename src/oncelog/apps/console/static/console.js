// The console's own script: times in the visitor's zone, pausing, the live tail, charts. Pages work without it.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const own = document.currentScript;

  // A browser's language may be none of the standard's (en-US@posix): whoever formats numbers with it throws.
  try {
    Intl.getCanonicalLocales(navigator.language);
  } catch {
    Object.defineProperty(navigator, "language", { value: "en" });
  }

  // Made when the first time is shown: a page without any is drawn sooner.
  const made = {};
  const lazily = (name, make) => (made[name] ??= make());
  const day = () => lazily("day", () => new Intl.DateTimeFormat(undefined, {
    year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
    fractionalSecondDigits: 3, hourCycle: "h23",
  }));
  const clock = () => lazily("clock", () => new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }));
  const zone = () => lazily("zone", () => Intl.DateTimeFormat().resolvedOptions().timeZone);

  function localTimes(root) {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const moment = new Date(time.dateTime);
      if (isNaN(moment)) continue;
      const parts = Object.fromEntries(day().formatToParts(moment).map((part) => [part.type, part.value]));
      const text = `${parts.year}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute}:${parts.second}.${parts.fractionalSecond}`;
      if (time.textContent !== text) time.textContent = text;
      time.title = `${zone()} · ${time.dateTime}`;
    }
  }

  // Only a page on https or on this machine may write to the clipboard.
  function copyButtons(root) {
    if (navigator.clipboard) for (const button of root.querySelectorAll("button.copy")) button.hidden = false;
  }

  // A form's times are the visitor's too: what has no zone of its own is sent as UTC.
  function zonedTimes(event) {
    for (const input of event.target.querySelectorAll('input[name="time"]')) {
      if (/^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?$/.test(input.value)) {
        const local = new Date(input.value.includes(":") ? input.value.replace(" ", "T") : `${input.value}T00:00`);
        if (!isNaN(local)) input.value = local.toISOString();
      }
    }
  }

  // --- what updates by itself

  let paused = false;
  function showPause() {
    const button = byId("pause");
    if (button) button.hidden = !document.querySelector("[data-live], [data-source]");
  }

  document.addEventListener("htmx:beforeRequest", (event) => {
    const own = event.detail.elt;
    if (own.hasAttribute("data-live") && (paused || document.hidden)) event.preventDefault();
  });
  document.addEventListener("htmx:sendError", () => { byId("offline").hidden = false; });
  document.addEventListener("htmx:timeout", () => { byId("offline").hidden = false; });
  document.addEventListener("htmx:afterOnLoad", () => { byId("offline").hidden = true; });
  document.addEventListener("htmx:afterSettle", () => { localTimes(document); copyButtons(document); showPause(); tailButton(); draw(); });
  // A session that ended leads to the login: the whole page goes there, not a part of it.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const address = event.detail.xhr.responseURL;
    if (address && new URL(address).pathname === "/login") {
      event.detail.shouldSwap = false;
      location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
    }
  });

  // --- live tail

  const MAX_ROWS = 500;
  let source = null, seen = 0;

  function tailButton() {
    const button = byId("tail");
    if (button && typeof EventSource !== "undefined") button.hidden = false;
  }

  function say(text) { byId("tail-state").textContent = text; }

  function stopTail() {
    if (source) source.close();
    source = null;
    const button = byId("tail");
    if (button) button.setAttribute("aria-pressed", "false");
  }

  function startTail(button) {
    button.setAttribute("aria-pressed", "true");
    seen = 0;
    say("Live: looking for the end of the log.");
    source = new EventSource(button.dataset.source);
    source.addEventListener("begun", () => say(seen ? "Live: connected again." : "Live: waiting for records."));
    source.addEventListener("records", (event) => {
      const news = JSON.parse(event.data);
      const holder = document.createElement("template");
      holder.innerHTML = news.html;
      const body = byId("rows");
      for (const row of holder.content.querySelectorAll("tr")) row.classList.add("fresh");
      body.prepend(holder.content);
      while (body.rows.length > MAX_ROWS) body.lastElementChild.remove();
      setTimeout(() => { for (const row of body.querySelectorAll(".fresh")) row.classList.remove("fresh"); }, 1500);
      localTimes(body);
      copyButtons(body);
      seen += news.count;
      say(`Live: ${seen} new records.`);
    });
    source.addEventListener("ended", (event) => {
      const news = JSON.parse(event.data);
      for (const row of byId("rows").rows) {
        if (row.dataset.partition === String(news.partition) && row.dataset.producer === String(news.producer) && Number(row.dataset.offset) < news.offset) {
          const outcome = row.querySelector(".outcome.open");
          if (outcome) { outcome.textContent = news.outcome; outcome.className = `outcome ${news.outcome}`; }
        }
      }
    });
    source.addEventListener("problem", (event) => say(`Live: the broker does not answer, trying again. ${event.data}`));
    source.addEventListener("well", () => say("Live: the broker answers again."));
    source.onerror = () => {
      say("Live: the console is not answering, retrying.");
      if (source && source.readyState === EventSource.CLOSED) {
        stopTail();
        setTimeout(() => { const again = byId("tail"); if (again && !source) startTail(again); }, 2000);
      }
    };
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.id === "tail") { if (source) { stopTail(); say("The live tail was stopped."); } else startTail(button); }
    if (button.id === "pause") {
      paused = !paused;
      button.setAttribute("aria-pressed", String(paused));
      button.textContent = paused ? "Resume updates" : "Pause updates";
    }
    if (button.dataset.remove) byId(button.dataset.remove)?.remove();
    if (button.dataset.copy) {
      navigator.clipboard.writeText(button.dataset.copy).then(() => {
        button.classList.add("copied");
        setTimeout(() => button.classList.remove("copied"), 1500);
      }, () => {});
    }
  });
  // What it removes may be replaced between press and release, and a click would then be nobody's.
  document.addEventListener("pointerdown", (event) => {
    const button = event.target instanceof Element ? event.target.closest("[data-remove]") : null;
    if (button && event.button === 0) byId(button.dataset.remove)?.remove();
  });
  document.addEventListener("submit", zonedTimes, true);

  // --- charts: <div class="chart" data-chart='{"x": [...], "series": [{"label": ..., "values": [...]}]}'>

  const charts = new Map();
  // Ticks within one second, as an axis with a single point has, read the same.
  const onceEach = (texts) => texts.map((text, index) => (index && text === texts[index - 1] ? "" : text));
  function draw() {
    if (typeof uPlot === "undefined") return;
    for (const [holder, chart] of charts) if (!holder.isConnected) { chart.destroy(); charts.delete(holder); }
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    for (const from of document.querySelectorAll("[data-chart]")) {
      const holder = byId(from.dataset.into);
      if (!holder) continue;
      const given = JSON.parse(from.dataset.chart);
      const data = [given.x, ...given.series.map((one) => one.values)];
      if (charts.has(holder)) { charts.get(holder).setData(data); continue; }
      const strokes = ["--accent", "--warn"];
      const made = new uPlot({
        width: Math.max(280, holder.clientWidth), height: 150, cursor: { y: false },
        series: [{ label: "time", value: (chart, at) => (at == null ? "–" : clock().format(at * 1000)) }, ...given.series.map((one, index) => ({ label: one.label, stroke: colour(strokes[index]), width: 1.5, scale: one.label }))],
        scales: Object.fromEntries(given.series.map((one) => [one.label, { range: (chart, low, high) => [0, Math.max(1, high * 1.1)] }])),
        axes: [
          { stroke: colour("--dim"), grid: { stroke: colour("--line") }, space: 80, values: (chart, ticks) => onceEach(ticks.map((at) => clock().format(at * 1000))) },
          ...given.series.map((one, index) => ({ scale: one.label, side: index ? 1 : 3, stroke: colour(strokes[index]), grid: { show: !index, stroke: colour("--line") }, size: 64 })),
        ],
      }, data, holder);
      charts.set(holder, made);
      const legend = made.root.querySelector(".u-legend");
      legend.setAttribute("aria-label", "Values at the pointer");
      for (const head of legend.querySelectorAll("th")) head.scope = "row";
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    localTimes(document); copyButtons(document); showPause(); tailButton(); draw();
  });

  // --- what updates parts of a page is loaded when the page is drawn

  function updating() {
    // What somebody has opened stays open when the part around it is updated.
    Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) => !(name === "open" && node.tagName === "DETAILS");
    Idiomorph.defaults.callbacks.beforeNodeMorphed = (node) => !(node.classList && node.classList.contains("chart"));
    Idiomorph.defaults.ignoreActiveValue = true;
  }

  function loadLater() {
    for (const address of own.dataset.later.split(" ")) {
      const script = document.createElement("script");
      script.src = address;
      script.async = false;
      script.addEventListener("load", () => { if (window.Idiomorph) updating(); });
      document.head.append(script);
    }
  }

  window.addEventListener("load", () => requestAnimationFrame(() => setTimeout(loadLater)));
})();
