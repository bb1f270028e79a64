import { BOARD, type Line, type Point } from "./lines.js";

/** Milliseconds after which a line that does not grow is drawn to its end. */
const SETTLE_MS = 150;

/** Draws lines on a canvas that fills its surroundings, in the colours of the page's theme. */
export class Paper {
  private readonly canvas: HTMLCanvasElement;
  private readonly overlay: HTMLElement;
  private readonly lines: () => readonly Line[];
  private scheduled = false;
  private settling: ReturnType<typeof setTimeout> | undefined;

  /** @param overlay element that is kept aligned with the canvas */
  constructor(canvas: HTMLCanvasElement, overlay: HTMLElement, lines: () => readonly Line[]) {
    this.canvas = canvas;
    this.overlay = overlay;
    this.lines = lines;
    new ResizeObserver(() => this.fit()).observe(canvas.parentElement as HTMLElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.repaint());
  }

  /** Converts the position of a pointer to the board's units. */
  pointAt({ clientX, clientY }: { clientX: number; clientY: number }): Point {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const within = (value: number, most: number): number => Math.round(Math.min(Math.max(value, 0), 1) * most);
    return {
      x: within((clientX - left) / width, BOARD.width),
      y: within((clientY - top) / height, BOARD.height),
    };
  }

  /** Redraws everything at the next frame. */
  repaint(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.context().clearRect(0, 0, BOARD.width, BOARD.height);
      for (const line of this.lines()) this.paint(line, 0, true);
    });
  }

  /**
   * Draws a growing line from the point `from`. The last half step follows later, because the line's end is not known
   * yet.
   */
  grow(line: Line, from: number): void {
    this.paint(line, from, false);
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.repaint(), SETTLE_MS);
  }

  /** Draws curves through the midpoints between points, so that corners are round. */
  private paint({ points, color, width }: Line, from: number, toEnd: boolean): void {
    const context = this.context();
    context.strokeStyle = getComputedStyle(this.canvas).getPropertyValue(`--${color}`);
    context.lineWidth = width;
    context.beginPath();
    const start = Math.max(from - 2, 0);
    const first = points[start] as Point;
    const begin = start === 0 ? first : middle(first, points[start + 1] as Point);
    context.moveTo(begin.x, begin.y);
    for (let at = start + 1; at < points.length - 1; at++) {
      const point = points[at] as Point;
      const end = middle(point, points[at + 1] as Point);
      context.quadraticCurveTo(point.x, point.y, end.x, end.y);
    }
    const last = points.at(-1) as Point;
    if (toEnd || points.length === 1) context.lineTo(last.x, last.y);
    context.stroke();
  }

  private context(): CanvasRenderingContext2D {
    const context = this.canvas.getContext("2d") as CanvasRenderingContext2D;
    const scale = this.canvas.width / BOARD.width;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.lineCap = "round";
    context.lineJoin = "round";
    return context;
  }

  private fit(): void {
    const { clientWidth, clientHeight } = this.canvas.parentElement as HTMLElement;
    const scale = Math.min(clientWidth / BOARD.width, clientHeight / BOARD.height);
    for (const { style } of [this.canvas, this.overlay]) {
      style.width = `${BOARD.width * scale}px`;
      style.height = `${BOARD.height * scale}px`;
    }
    this.canvas.width = Math.round(BOARD.width * scale * devicePixelRatio);
    this.canvas.height = Math.round(BOARD.height * scale * devicePixelRatio);
    this.repaint();
  }
}

function middle(one: Point, other: Point): Point {
  return { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 };
}
