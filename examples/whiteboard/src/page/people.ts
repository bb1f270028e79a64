import type { PageCursorInput, Person } from "../generated/whiteboard.js";
import { byId } from "./dom.js";
import { BOARD } from "./lines.js";

/** Milliseconds after which a cursor that does not move is hidden. */
const IDLE_MS = 5000;

/** Degrees between colours. */
const HUE_STEP = 30;

interface Cursor {
  readonly element: HTMLElement;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** The participants and their cursors. */
export class People {
  private people: ReadonlyMap<string, Person> = new Map();
  private readonly cursors: Map<string, Cursor> = new Map();
  private readonly hues: Map<string, number> = new Map();

  /** Returns a participant's colour: the one that differs most from those present; the id breaks ties. */
  hueOf(id: string): number {
    const known = this.hues.get(id);
    if (known !== undefined) return known;
    const taken = [...this.people.keys()].flatMap((each) => this.hues.get(each) ?? []);
    const distance = (hue: number): number =>
      Math.min(180, ...taken.map((other) => 180 - Math.abs(Math.abs(hue - other) - 180)));
    const first = id.charCodeAt(0) * HUE_STEP;
    const hues = Array.from({ length: 360 / HUE_STEP }, (_, at) => (first + at * HUE_STEP) % 360);
    const hue = hues.reduce((best, each) => (distance(each) > distance(best) ? each : best));
    this.hues.set(id, hue);
    return hue;
  }

  show(people: readonly Person[]): void {
    this.people = new Map(people.map((person) => [person.id, person]));
    byId("people").replaceChildren(...people.map((person) => badge(person, this.hueOf(person.id))));
    for (const id of this.cursors.keys()) if (!this.people.has(id)) this.hide(id);
  }

  point({ by, x, y }: PageCursorInput): void {
    const person = this.people.get(by);
    if (person === undefined) return;
    const cursor: Cursor = this.cursors.get(by) ?? { element: document.createElement("div"), timer: undefined };
    const { element } = cursor;
    element.className = "cursor";
    element.textContent = person.name;
    element.style.setProperty("--hue", String(this.hueOf(by)));
    element.style.left = `${(x / BOARD.width) * 100}%`;
    element.style.top = `${(y / BOARD.height) * 100}%`;
    if (!element.isConnected) byId("cursors").append(element);
    clearTimeout(cursor.timer);
    cursor.timer = setTimeout(() => this.hide(by), IDLE_MS);
    this.cursors.set(by, cursor);
  }

  private hide(id: string): void {
    const cursor = this.cursors.get(id);
    if (cursor === undefined) return;
    clearTimeout(cursor.timer);
    cursor.element.remove();
    this.cursors.delete(id);
  }
}

function badge({ name }: Person, hue: number): HTMLElement {
  const element = document.createElement("li");
  element.title = name;
  element.style.setProperty("--hue", String(hue));
  element.textContent =
    Array.from(name.matchAll(/(?<=^|\s)\p{L}/gu), String)
      .slice(0, 2)
      .join("")
      .toUpperCase() || "?";
  element.setAttribute("aria-label", name);
  return element;
}
