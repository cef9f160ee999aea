/** Points of one line, in ascending order of x. */
export interface Line {
  readonly name: string;
  readonly points: readonly { readonly x: number; readonly y: number; readonly least: number; readonly most: number }[];
}

export interface Plot {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly lines: readonly Line[];
}

const [width, height] = [720, 380];
const margin = { left: 72, right: 24, top: 44, bottom: 52 };
/** Colours that red-green colour-blind readers can distinguish (Okabe and Ito). */
const colors = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/** Both axes are logarithmic: equal ratios have equal distances. Bars show the spread of the samples. */
export function drawPlot({ title, xTitle, yTitle, lines }: Plot): string {
  const points = lines.flatMap((line) => line.points);
  const x = scale(
    points.map((point) => point.x),
    margin.left,
    width - margin.right,
  );
  const y = scale(
    points.flatMap((point) => [point.least, point.most]),
    height - margin.bottom,
    margin.top,
  );
  const middle = (margin.top + height - margin.bottom) / 2;
  const drawn = [
    text(width / 2, 22, title, 'text-anchor="middle" font-weight="bold"'),
    text(width / 2, height - 10, xTitle, 'text-anchor="middle"'),
    text(16, middle, yTitle, `text-anchor="middle" transform="rotate(-90 16 ${middle})"`),
    ...ticksOf(points.map((point) => point.x)).map((tick) => verticalTick(x(tick), tick)),
    ...ticksOf(points.flatMap((point) => [point.least, point.most])).map((tick) => horizontalTick(y(tick), tick)),
    ...lines.map((line, index) => drawLine(line, colors[index % colors.length] ?? "#000", index, x, y)),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
<title>${escaped(title)}</title>
<rect width="${width}" height="${height}" fill="#fff"/>
${drawn.join("\n")}
</svg>
`;
}

type Scale = (value: number) => number;

function scale(values: readonly number[], from: number, to: number): Scale {
  const [least, most] = [Math.log(Math.min(...values)), Math.log(Math.max(...values))];
  const span = most - least || 1;
  return (value) => from + ((Math.log(value) - least) / span) * (to - from);
}

/** 1, 2 and 5 times the powers of ten within the range; over many decades the powers alone. */
export function ticksOf(values: readonly number[]): readonly number[] {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const [first, last] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
  const steps = last - first > 3 ? [1] : [1, 2, 5];
  const exponents = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return exponents
    .flatMap((exponent) => steps.map((step) => Number((step * 10 ** exponent).toPrecision(1))))
    .filter((tick) => tick >= least && tick <= most);
}

const verticalTick = (at: number, tick: number): string =>
  `<line x1="${round(at)}" x2="${round(at)}" y1="${margin.top}" y2="${height - margin.bottom}" stroke="#ddd"/>` +
  text(at, height - margin.bottom + 18, short(tick), 'text-anchor="middle"');

const horizontalTick = (at: number, tick: number): string =>
  `<line x1="${margin.left}" x2="${width - margin.right}" y1="${round(at)}" y2="${round(at)}" stroke="#ddd"/>` +
  text(margin.left - 6, at + 4, short(tick), 'text-anchor="end"');

function drawLine({ name, points }: Line, color: string, index: number, x: Scale, y: Scale): string {
  const path = points.map((point, at) => `${at === 0 ? "M" : "L"}${round(x(point.x))} ${round(y(point.y))}`).join(" ");
  const marks = points.map((point) => {
    const [at, from, to] = [round(x(point.x)), round(y(point.least)), round(y(point.most))];
    return `<line x1="${at}" x2="${at}" y1="${from}" y2="${to}"/><circle cx="${at}" cy="${round(y(point.y))}" r="3"/>`;
  });
  const label = text(margin.left + 10, margin.top + 14 + index * 16, name, `fill="${color}" stroke="none"`);
  return `<g stroke="${color}" fill="${color}"><path d="${path}" fill="none" stroke-width="2"/>${marks.join("")}${label}</g>`;
}

const text = (x: number, y: number, content: string, attributes: string): string =>
  `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escaped(content)}</text>`;

const escaped = (content: string): string =>
  content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const round = (value: number): number => Math.round(value * 10) / 10;

const short = (value: number): string =>
  value >= 1e6 ? `${value / 1e6}M` : value >= 1e3 ? `${value / 1e3}k` : String(value);
