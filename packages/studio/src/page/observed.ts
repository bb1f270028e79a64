import { useEffect, useState } from "preact/hooks";

/** Milliseconds between two times that an object is shown: what changes faster is not read, and would leave the page no time. */
const MIN_MS = 60;

/** An object that is shown, and says when it has changed. Changes that follow each other closely are shown at once. */
export class Observed {
  private readonly listeners: Set<() => void> = new Set();
  private isDue = false;
  private shownAt = Number.NEGATIVE_INFINITY;

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  protected changed(): void {
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
  useEffect(() => observed?.subscribe(() => show((count) => count + 1)), [observed]);
  return observed;
}
