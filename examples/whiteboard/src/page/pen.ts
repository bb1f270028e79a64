import type { Color } from "../generated/whiteboard.js";
import type { Board } from "./board.js";
import { byId } from "./dom.js";
import type { Point } from "./lines.js";

const COLORS: readonly Color[] = ["ink", "red", "orange", "green", "blue", "violet"];
const UNDO_KEY = "z";
/** Minimum distance of two points in units of the board, because pointers tremble. */
const STEP = 4;

interface Stroke {
  readonly line: ReturnType<Board["begin"]>;
  last: Point | undefined;
}

/** Draws with a mouse, a finger or a pen. Calls `onMove` with the position, at most once a frame. */
export function takePen(board: Board, onMove: (point: Point) => void): void {
  const canvas = byId<HTMLCanvasElement>("canvas");
  const width = byId<HTMLInputElement>("width");
  const color = colorPicker();
  const strokes = new Map<number, Stroke>();
  let moved: Point | undefined;

  const draw = (event: PointerEvent): void => {
    const stroke = strokes.get(event.pointerId);
    if (stroke === undefined) return;
    // All that happened since the last frame; some browsers have none for the event that begins a line.
    const events = event.getCoalescedEvents();
    const points = [];
    for (const each of events.length > 0 ? events : [event]) {
      const point = board.paper.pointAt(each);
      if (stroke.last !== undefined && distance(point, stroke.last) < STEP) continue;
      stroke.last = point;
      points.push(point);
    }
    if (points.length > 0) board.draw({ ...stroke.line, points });
  };
  const move = (event: PointerEvent): void => {
    if (moved === undefined) {
      requestAnimationFrame(() => {
        if (moved !== undefined) onMove(moved);
        moved = undefined;
      });
    }
    moved = board.paper.pointAt(event);
    draw(event);
  };
  const lift = ({ pointerId }: PointerEvent): void => void strokes.delete(pointerId);

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    strokes.set(event.pointerId, { line: board.begin(color(), width.valueAsNumber), last: undefined });
    draw(event);
  });
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);

  byId("undo").addEventListener("click", () => board.tell("undo"));
  byId("clear").addEventListener("click", () => board.tell("clear"));
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLInputElement && event.target.type !== "range";
    if (event.key === UNDO_KEY && (event.ctrlKey || event.metaKey) && !typing) board.tell("undo");
  });
}

/** Makes a button for each colour. The returned function returns the selected colour. */
function colorPicker(): () => Color {
  let chosen: Color = COLORS[0] as Color;
  const buttons = COLORS.map((color) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = color;
    button.setAttribute("aria-label", color);
    button.style.setProperty("--color", `var(--${color})`);
    button.addEventListener("click", () => choose(color));
    return button;
  });
  const choose = (color: Color): void => {
    chosen = color;
    for (const [at, button] of buttons.entries()) button.setAttribute("aria-pressed", String(COLORS[at] === color));
  };
  byId("colors").replaceChildren(...buttons);
  choose(chosen);
  return () => chosen;
}

function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y);
}
