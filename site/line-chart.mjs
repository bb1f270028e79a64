// A chart of lines and bands over time as SVG.
import { FONT, paper, style } from "./drawing.mjs";

/** Narrow enough to be read on a phone. */
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [460, 300, 56, 16, 66, 40];
const [INNER_WIDTH, INNER_HEIGHT] = [WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM];

/**
 * Draws `lines` (`{ name, color, points }`) and `bands` (`{ name, color, low, high }`), one value for each step of `x`; a color is the name of one of
 * every drawing. `most` is the largest value of the vertical axis.
 */
export function lineChart({ title, subtitle, xLabel, most, lines, bands = [] }) {
  const steps = lines[0].points.length;
  const x = (index) => (LEFT + (index / (steps - 1)) * INNER_WIDTH).toFixed(1);
  const y = (value) => (TOP + INNER_HEIGHT * (1 - Math.min(value, most) / most)).toFixed(1);
  const path = (points) => points.map((value, i) => `${x(i)},${y(value)}`).join(" ");
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => Math.round(share * most));
  const grid = ticks.map(
    (value) =>
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(value)}" y2="${y(value)}"/>` +
      `<text class="quiet" x="${LEFT - 8}" y="${Number(y(value)) + 4}" text-anchor="end">${value.toLocaleString("en")}</text>`,
  );
  const times = Array.from({ length: Math.floor((steps - 1) / 10) + 1 }, (_, i) => i * 10).map(
    (step) => `<text class="quiet" x="${x(step)}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${step}</text>`,
  );
  const areas = bands.map(
    ({ color, low, high }) =>
      `<polygon class="${color}" points="${path(high)} ${path(low).split(" ").toReversed().join(" ")}"/>`,
  );
  const strokes = lines.map(({ color, points }) => `<polyline class="${color}" points="${path(points)}"/>`);
  const legend = [...lines, ...bands].map(
    ({ name, color, points }, i) =>
      `<rect class="${color}${points ? "" : " band"}" x="${16 + i * 136}" y="46" width="12" height="4"/><text x="${34 + i * 136}" y="52">${name}</text>`,
  );
  const styles = style(
    (colors) => `
text { font: 12px ${FONT}; fill: ${colors.text}; }
.title { font-weight: 600; font-size: 13px; }
.quiet { fill: ${colors.quiet}; }
.paper { fill: ${colors.paper}; }
line { stroke: ${colors.line}; }
polyline { fill: none; stroke-width: 2; }
polygon, .band { opacity: 0.3; }
${["own", "arrow", "bad"].map((color) => `polyline.${color} { stroke: ${colors[color]}; }\nrect.${color}, polygon.${color} { fill: ${colors[color]}; }`).join("\n")}
`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">`,
    `<title>${title}: ${subtitle}</title>`,
    styles,
    paper({ width: WIDTH, height: HEIGHT }),
    `<text class="title" x="16" y="20">${title}</text>`,
    `<text class="quiet" x="16" y="37">${subtitle}</text>`,
    ...legend,
    ...grid,
    ...times,
    `<text class="quiet" x="${WIDTH - RIGHT}" y="${HEIGHT - 6}" text-anchor="end">${xLabel}</text>`,
    ...areas,
    ...strokes,
    "</svg>\n",
  ].join("\n");
}
