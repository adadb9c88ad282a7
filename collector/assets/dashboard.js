// Draws the charts, turns times into the reader's, keeps the feed fresh. The page works without it.
"use strict";

(() => {
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const drawn = [];

  for (const element of document.querySelectorAll("[data-chart]")) {
    draw(element, JSON.parse(element.dataset.chart));
  }
  const redraw = () => {
    for (const { plot, element, data } of drawn.splice(0)) {
      plot.destroy();
      draw(element, data);
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let resizing;
  addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(() => {
      for (const { plot, element } of drawn) plot.setSize({ width: element.clientWidth, height: 220 });
    }, 100);
  });

  const clock = new Intl.DateTimeFormat([], { hour: "numeric", minute: "2-digit" });
  const day = new Intl.DateTimeFormat([], { day: "numeric", month: "short" });
  const moment = new Intl.DateTimeFormat([], { day: "numeric", month: "short", hour: "numeric", minute: "2-digit" });

  // The axis of time as the reader writes times: the day where one begins, the hour between.
  function times(_, splits, __, ___, step) {
    return splits.map((seconds) => {
      const date = new Date(seconds * 1000);
      return step >= 86400 || (date.getHours() === 0 && date.getMinutes() === 0) ? day.format(date) : clock.format(date);
    });
  }

  function draw(element, data) {
    const bars = data.kind === "bars";
    const shown = data.series.map((series) => series.values);
    const values = bars ? stacked(shown) : shown;
    const unit = data.unit ? " " + data.unit : "";
    // Where nothing is pointed at, the legend says how many there were in all; milliseconds have no sum.
    const total = (index) => (data.unit ? "" : shown[index].reduce((sum, value) => sum + value, 0).toLocaleString());
    // Stacked bars are drawn from the tallest sum to the smallest, each hiding the foot of the one before.
    const order = data.series.map((_, index) => index);
    if (bars) order.reverse();
    const options = {
      width: element.clientWidth,
      height: 220,
      padding: [null, 32, null, null],
      cursor: { points: { size: 6 }, drag: { x: false, y: false } },
      legend: { live: true },
      scales: { x: { time: true, range: (_, low, high) => [low - (bars ? data.step : 0), high + (bars ? data.step : 0)] }, y: { range: (_, __, high) => [0, Math.max(high * 1.1, data.unit ? 10 : 4)] } },
      axes: [axis({ space: 84, size: 32, values: times }), axis({ size: data.unit ? 64 : 48, values: (_, ticks) => ticks.map((tick) => (data.unit || Number.isInteger(tick) ? compact(tick) + unit : "")) })],
      series: [
        { value: (_, seconds) => (seconds === null ? (data.unit ? "" : "In all") : moment.format(seconds * 1000)) },
        ...order.map((index) => ({
          label: data.series[index].name,
          stroke: color(data.series[index].color),
          fill: bars ? color(data.series[index].color) : undefined,
          width: bars ? 0 : 2,
          spanGaps: true,
          paths: bars ? uPlot.paths.bars({ size: [0.7, 40] }) : undefined,
          points: { show: !bars && data.x.length < 40, size: 5 },
          value: (_, __, ___, at) => (at === null ? total(index) : shown[index][at] === null ? "–" : shown[index][at].toLocaleString() + unit),
        })),
      ],
    };
    element.replaceChildren();
    const plot = new uPlot(options, [data.x, ...order.map((index) => values[index])], element);
    // The legend of a stack is read from its foot up.
    if (bars) for (const entry of [...plot.root.querySelectorAll(".u-series")].slice(1)) entry.parentElement.children[0].after(entry);
    drawn.push({ plot, element, data });
  }

  function axis(more) {
    return { stroke: color("--soft"), grid: { stroke: color("--track"), width: 1 }, ticks: { stroke: color("--track"), width: 1 }, font: "12px system-ui", ...more };
  }

  function stacked(series) {
    const sums = series[0].map(() => 0);
    return series.map((values) => values.map((value, at) => (sums[at] += value ?? 0)));
  }

  function compact(value) {
    return Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value);
  }

  function localTimes(root) {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const date = new Date(time.dateTime);
      if (Number.isNaN(date.getTime())) continue;
      const today = date.toDateString() === new Date().toDateString();
      time.textContent = today ? date.toLocaleTimeString() : date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
      time.title = date.toISOString();
    }
  }
  localTimes(document);
  document.getElementById("zone").textContent = `Times are those of ${Intl.DateTimeFormat().resolvedOptions().timeZone}, in tables UTC.`;

  const origin = document.getElementById("origin");
  if (origin) origin.textContent = location.origin;

  for (const input of document.querySelectorAll(".filter input, .filter select")) {
    // By keyboard a choice is walked through, so only a pointer's choice is sent at once.
    let byPointer = false;
    input.addEventListener("pointerdown", () => (byPointer = true));
    input.addEventListener("keydown", () => (byPointer = false));
    input.addEventListener("change", () => byPointer && input.form.submit());
  }

  const feed = document.getElementById("feed");
  const pause = document.getElementById("pause");
  let paused = false;
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Resume" : "Pause";
  });
  let wait = 3000;
  const refresh = async () => {
    if (!paused && !document.hidden && !feed.contains(document.activeElement)) {
      try {
        const answer = await fetch(feed.dataset.live, { credentials: "same-origin" });
        if (answer.status === 401) return location.reload();
        if (answer.ok) show(await answer.text());
        wait = answer.ok ? 3000 : Math.min(wait * 2, 60000);
      } catch {
        wait = Math.min(wait * 2, 60000);
      }
    }
    setTimeout(refresh, wait);
  };
  setTimeout(refresh, wait);

  function show(html) {
    // The server escaped it; a template's content runs nothing, and the policy of the page allows no inline code.
    const fresh = document.createElement("template");
    fresh.innerHTML = html;
    const known = new Set([...feed.children].map((entry) => entry.dataset.key ?? key(entry)));
    for (const entry of fresh.content.children) {
      entry.dataset.key = key(entry);
      if (!known.has(entry.dataset.key) && entry.querySelector("time")) entry.classList.add("new");
    }
    localTimes(fresh.content);
    // The first event has come: now there are figures to show.
    if (document.querySelector(".welcome") && fresh.content.querySelector("time")) return location.reload();
    feed.replaceChildren(...fresh.content.children);
  }

  function key(entry) {
    return (entry.querySelector("time")?.dateTime ?? "") + entry.querySelector(".what").textContent + (entry.querySelector(".detail")?.textContent ?? "");
  }
})();
