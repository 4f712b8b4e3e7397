/* Draw the table of each [data-chart] ("bar" or "line") as a chart above it. A row is a category, labelled by its
   header; a column with [data-series] is a series of its cells' [data-value]. The table has the same content; arrow
   keys on the chart announce its values. The colours follow the theme. */

const PALETTE = ["--accent", "--warn", "--ok", "--bad"];
const ROW_HEIGHT = 34, AXIS_HEIGHT = 64, LINE_HEIGHT = 240;
const probe = document.body.appendChild(document.createElement("span"));
probe.hidden = true;

function colour(token) {
  probe.style.color = `var(${token})`;
  return getComputedStyle(probe).color;
}

function read(table) {
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies[0].rows];
  const labels = rows.map((row) => row.cells[0].dataset.label || row.cells[0].textContent.trim());
  const series = heads.map((head, place) => ({ head, place })).filter(({ head }) => head.dataset.series);
  const number = (cell) => (cell.dataset.value === "" ? null : Number(cell.dataset.value));
  return {
    labels,
    datasets: series.map(({ head, place }) => ({
      label: head.dataset.series,
      data: rows.map((row) => number(row.cells[place])),
      said: rows.map((row) => row.cells[place].textContent.trim()),
    })),
  };
}

function options(kind, data, isPercent) {
  const text = colour("--muted"), line = colour("--line");
  const axis = { ticks: { color: text }, grid: { color: line }, border: { color: line } };
  const values = { ...axis, beginAtZero: true, ticks: { color: text, precision: 0, maxTicksLimit: 6 } };
  if (isPercent) Object.assign(values, { max: 100, ticks: { ...values.ticks, callback: (value) => `${value}%` } });
  const short = function (value) {
    const name = this.getLabelForValue(value), most = this.chart.width < 480 ? 18 : 48;
    return name.length > most ? `${name.slice(0, most - 1)}…` : name;
  };
  const names = { ...axis, grid: { display: false }, ticks: { color: text, autoSkip: kind === "line", callback: short } };
  return {
    animation: false,
    maintainAspectRatio: false,
    indexAxis: kind === "bar" ? "y" : "x",
    maxBarThickness: 20,
    interaction: { mode: "index", axis: kind === "bar" ? "y" : "x", intersect: false },
    scales: kind === "bar" ? { x: values, y: names } : { x: names, y: values },
    plugins: {
      legend: { display: data.datasets.length > 1, labels: { color: text, usePointStyle: true, pointStyle: kind === "bar" ? "rect" : "line" } },
      tooltip: { callbacks: { label: ({ dataset, dataIndex }) => `${dataset.label}: ${dataset.said[dataIndex]}` } },
    },
  };
}

function paint(drawn) {
  const { chart, kind, data, isPercent } = drawn;
  chart.options = options(kind, data, isPercent);
  data.datasets.forEach((dataset, place) => {
    dataset.borderColor = dataset.backgroundColor = colour(PALETTE[place % PALETTE.length]);
    // Distinguish the series without colour, too.
    if (kind === "line") dataset.borderDash = place % 2 ? [6, 4] : [];
  });
  chart.update();
}

function show(drawn, place) {
  const { chart, data, status } = drawn;
  drawn.place = Math.max(0, Math.min(place, data.labels.length - 1));
  const points = data.datasets.map((_, datasetIndex) => ({ datasetIndex, index: drawn.place }));
  const at = chart.getDatasetMeta(0).data[drawn.place];
  chart.setActiveElements(points);
  chart.tooltip.setActiveElements(points, { x: at.x, y: at.y });
  chart.update();
  const said = data.datasets.map((dataset) => `${dataset.label} ${dataset.said[drawn.place]}`);
  status.textContent = `${data.labels[drawn.place]}: ${said.join(", ")}`;
}

function hide(drawn) {
  drawn.chart.setActiveElements([]);
  drawn.chart.tooltip.setActiveElements([], { x: 0, y: 0 });
  drawn.chart.update();
  drawn.status.textContent = "";
  drawn.place = -1;
}

function onKey(event, drawn) {
  const last = drawn.data.labels.length - 1;
  const places = {
    ArrowRight: drawn.place + 1, ArrowDown: drawn.place + 1, ArrowLeft: drawn.place - 1, ArrowUp: drawn.place - 1,
    Home: 0, End: last,
  };
  if (event.key === "Escape") hide(drawn);
  else if (event.key in places) show(drawn, places[event.key]);
  else return;
  event.preventDefault();
}

function draw(section) {
  const data = read(section.querySelector("table"));
  if (!data.labels.length) return null;
  const kind = section.dataset.chart;
  const plot = section.querySelector(".plot");
  const canvas = plot.querySelector("canvas");
  plot.hidden = false;
  const bars = Math.max(data.datasets.length / 2, 1) * ROW_HEIGHT * data.labels.length + AXIS_HEIGHT;
  plot.style.height = `${kind === "bar" ? bars : LINE_HEIGHT}px`;
  const drawn = {
    kind, data, place: -1, isPercent: "percent" in section.dataset, status: plot.querySelector("[role=status]"),
  };
  drawn.chart = new window.Chart(canvas, { type: kind, data, options: options(kind, data, drawn.isPercent) });
  canvas.addEventListener("keydown", (event) => onKey(event, drawn));
  canvas.addEventListener("blur", () => hide(drawn));
  paint(drawn);
  return drawn;
}

const all = [...document.querySelectorAll("[data-chart]")].map(draw).filter(Boolean);
const repaint = () => all.forEach(paint);
new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
  window.matchMedia(query).addEventListener("change", repaint);
}
