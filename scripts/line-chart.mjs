// A chart of lines and bands over time as SVG, on paper of its own so that it can be read on a dark page.

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [760, 300, 64, 16, 44, 40];
const [INNER_WIDTH, INNER_HEIGHT] = [WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM];

/**
 * Draws `lines` (`{ name, color, points }`) and `bands` (`{ name, color, low, high }`), one value for each step of `x`, whose
 * labels are `{ title, xLabel, most }`: the largest value of the vertical axis.
 */
export function lineChart({ title, xLabel, most, lines, bands = [] }) {
  const steps = lines[0].points.length;
  const x = (index) => (LEFT + (index / (steps - 1)) * INNER_WIDTH).toFixed(1);
  const y = (value) => (TOP + INNER_HEIGHT * (1 - Math.min(value, most) / most)).toFixed(1);
  const path = (points) => points.map((value, i) => `${x(i)},${y(value)}`).join(" ");
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => Math.round(share * most));
  const grid = ticks.map(
    (value) =>
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(value)}" y2="${y(value)}" stroke="#ddd"/>` +
      `<text x="${LEFT - 8}" y="${Number(y(value)) + 4}" text-anchor="end">${value.toLocaleString("en")}</text>`,
  );
  const times = Array.from({ length: Math.floor((steps - 1) / 10) + 1 }, (_, i) => i * 10).map(
    (step) => `<text x="${x(step)}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${step}</text>`,
  );
  const areas = bands.map(
    ({ color, low, high }) =>
      `<polygon fill="${color}" fill-opacity="0.3" points="${path(high)} ${path(low).split(" ").toReversed().join(" ")}"/>`,
  );
  const strokes = lines.map(
    ({ color, points }) => `<polyline fill="none" stroke="${color}" stroke-width="2" points="${path(points)}"/>`,
  );
  const legend = [...lines, ...bands].map(
    ({ name, color }, i) =>
      `<rect x="${LEFT + i * 220}" y="26" width="12" height="4" fill="${color}"/><text x="${LEFT + i * 220 + 18}" y="32">${name}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" font-family="sans-serif" font-size="12">`,
    `<title>${title}</title><rect width="${WIDTH}" height="${HEIGHT}" rx="8" fill="#fff"/>`,
    `<text x="${LEFT}" y="17" font-weight="bold">${title}</text>`,
    ...legend,
    ...grid,
    ...times,
    `<text x="${WIDTH - RIGHT}" y="${HEIGHT - 6}" text-anchor="end">${xLabel}</text>`,
    ...areas,
    ...strokes,
    "</svg>\n",
  ].join("\n");
}
