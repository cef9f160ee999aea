// Draws the plots of the overview from the figures in the page; the table has the same figures.

const style = getComputedStyle(document.documentElement);
const color = (name) => style.getPropertyValue(`--${name}`).trim();
const height = 190;

const clock = (seconds, long) => {
  const iso = new Date(seconds * 1000).toISOString();
  return long ? iso.slice(5, 10) : iso.slice(11, 16);
};

const total = (values) => values.reduce((sum, value) => sum + value, 0);

/** Stacks the series; the legend shows each one's own figures. */
function stacked(layers) {
  const sums = layers[0].values.map(() => 0);
  const data = layers.map(({ values }) => values.map((value, at) => (sums[at] += value)));
  return data.reverse();
}

function draw(element) {
  const rows = JSON.parse(element.dataset.series);
  const valuesOf = (name) => rows.map((row) => row[name]);
  const layers =
    element.dataset.plot === "outcomes"
      ? [
          { label: "Allowed", tone: "allow-fill", values: valuesOf("allowed") },
          { label: "Would block", tone: "observe-fill", values: valuesOf("observed") },
          { label: "Denied", tone: "deny-fill", values: valuesOf("denied") },
        ]
      : [{ label: "Decisions under untrusted data", tone: "neutral-fill", values: valuesOf("tainted") }];
  const starts = valuesOf("start");
  const long = starts.at(-1) - starts[0] > 2 * 86400;
  const axis = {
    stroke: color("muted"),
    grid: { stroke: color("line"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui",
  };
  const options = {
    width: element.clientWidth,
    height,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    cursor: { y: false, points: { show: false } },
    legend: { live: true },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.05)] } },
    axes: [
      { ...axis, size: 30, grid: { show: false }, values: (_plot, at) => at.map((seconds) => clock(seconds, long)) },
      { ...axis, size: 52 },
    ],
    series: [
      {
        label: "From",
        value: (_plot, seconds) =>
          seconds == null ? "the whole span" : `${clock(seconds, true)} ${clock(seconds, false)}`,
      },
      ...[...layers].reverse().map(({ label, tone, values }) => ({
        label,
        fill: color(tone),
        stroke: color(tone),
        width: 0,
        points: { show: false },
        paths: uPlot.paths.bars({ size: [0.78, 40], align: 1 }),
        value: (_plot, _value, _series, at) => (at == null ? total(values) : values[at]).toLocaleString("en"),
      })),
    ],
  };
  element.replaceChildren();
  const plot = new uPlot(options, [starts, ...stacked(layers)], element);
  new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height })).observe(element);
}

const drawAll = () => document.querySelectorAll("[data-plot]").forEach(draw);

if (window.uPlot) {
  drawAll();
  // A plot reads its colors when it is drawn.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => location.reload());
}
