// Shared parts of drawings: their colours on light and dark pages, and their background.

/** The colours of a drawing on a light page. */
export const LIGHT = {
  paper: "#ffffff",
  /** Boxes on the paper, and boxes around these. */
  box: "#f1f4f8",
  group: "#fafbfc",
  line: "#d0d7de",
  arrow: "#6e7781",
  text: "#24292f",
  quiet: "#57606a",
  own: "#0969da",
  paleOwn: "#cfe4fc",
  other: "#afb8c1",
  bad: "#cf222e",
  paleBad: "#ffd7d5",
};

/** The same on a dark page. */
export const DARK = {
  paper: "#1b1f24",
  box: "#2a3038",
  group: "#20252b",
  line: "#444c56",
  arrow: "#9198a1",
  text: "#e6edf3",
  quiet: "#9198a1",
  own: "#4493f8",
  paleOwn: "#1c3f6e",
  other: "#545d68",
  bad: "#f85149",
  paleBad: "#6e2522",
};

export const FONT = 'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';

/** The styles of a drawing, from its rules for either set of colours: it follows the page that shows it. */
export function style(rules) {
  return `<style>
${rules(LIGHT).trim()}
@media (prefers-color-scheme: dark) {
${rules(DARK).trim()}
}
</style>`;
}

/** The ground of a drawing. It has one of its own, since some programs show it in other colours than those of the page. */
export function paper({ x = 0, y = 0, width, height }) {
  return `<rect class="paper" x="${x}" y="${y}" width="${width}" height="${height}" rx="8"/>`;
}
