import { useEffect, useState } from "preact/hooks";

/** Milliseconds between two times that an object is shown: what changes faster is not read, and would leave the page no time. */
const MIN_MS = 60;

/** An object that is shown, and says when it has changed. Changes that follow each other closely are shown at once. */
export class Observed {
  private readonly listeners: Set<() => void> = new Set();
  private isDue = false;
  private shownAt = Number.NEGATIVE_INFINITY;
  private changes = 0;

  /** How often it has changed. */
  get version(): number {
    return this.changes;
  }

  /** Tells `listener` of every change since the version that it has `drawn`, also of one that came before it listened. */
  subscribe(listener: () => void, drawn: number = this.changes): () => void {
    this.listeners.add(listener);
    if (this.changes !== drawn) listener();
    return () => void this.listeners.delete(listener);
  }

  protected changed(): void {
    this.changes++;
    if (this.isDue) return;
    this.isDue = true;
    const wait = this.shownAt + MIN_MS - performance.now();
    if (wait > 0) setTimeout(() => this.show(), wait);
    else this.show();
  }

  private show(): void {
    requestAnimationFrame(() => {
      this.isDue = false;
      this.shownAt = performance.now();
      for (const listener of this.listeners) listener();
    });
  }
}

/** Shows a component again whenever the object changes. */
export function useObserved<T extends Observed | undefined>(observed: T): T {
  const [, show] = useState(0);
  const drawn = observed?.version;
  // Effects run some time after their component was drawn.
  useEffect(() => observed?.subscribe(() => show((count) => count + 1), drawn), [observed]);
  return observed;
}
