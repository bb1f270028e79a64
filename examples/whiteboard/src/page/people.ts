import type { PageCursorInput, Person } from "../generated/whiteboard.js";
import { byId } from "./dom.js";
import { BOARD } from "./lines.js";

/** Milliseconds for which a cursor that does not move is shown. */
const IDLE_MS = 5000;

interface Cursor {
  readonly element: HTMLElement;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** Who is there, and where they point. */
export class People {
  private people: ReadonlyMap<string, Person> = new Map();
  private readonly cursors: Map<string, Cursor> = new Map();

  show(people: readonly Person[]): void {
    this.people = new Map(people.map((person) => [person.id, person]));
    byId("people").replaceChildren(...people.map(badge));
    for (const id of this.cursors.keys()) if (!this.people.has(id)) this.hide(id);
  }

  point({ by, x, y }: PageCursorInput): void {
    const person = this.people.get(by);
    if (person === undefined) return;
    const cursor: Cursor = this.cursors.get(by) ?? { element: document.createElement("div"), timer: undefined };
    const { element } = cursor;
    element.className = "cursor";
    element.textContent = person.name;
    element.style.setProperty("--hue", String(person.hue));
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

function badge({ name, hue }: Person): HTMLElement {
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
