import { useEffect, useState } from "preact/hooks";

/**
 * Minimum time in milliseconds between two renderings of an object. More frequent changes could not be read, and would
 * block the page.
 */
const MIN_MS = 60;

/**
 * An object that the page shows. It notifies components of changes, and several changes within a short time cause one
 * rendering.
 */
export class Observed {
  private readonly listeners: Set<() => void> = new Set();
  private isDue = false;
  private shownAt = Number.NEGATIVE_INFINITY;
  private changes = 0;

  get version(): number {
    return this.changes;
  }

  /** Calls `listener` after each change that follows the version `drawn`, including changes before this call. */
  subscribe(listener: () => void, drawn: number = this.changes): () => void {
    this.listeners.add(listener);
    if (this.changes !== drawn) listener();
    return () => void this.listeners.delete(listener);
  }

  protected changed(): void {
    this.changes++;
    if (this.isDue) return;
    this.isDue = true;
    const delayMs = this.shownAt + MIN_MS - performance.now();
    if (delayMs > 0) setTimeout(() => this.show(), delayMs);
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

/** Renders the component again whenever the object changes (a hook). */
export function useObserved<T extends Observed | undefined>(observed: T): T {
  const [, show] = useState(0);
  const drawn = observed?.version;
  // Effects run some time after their component was rendered.
  useEffect(() => observed?.subscribe(() => show((count) => count + 1), drawn), [observed]);
  return observed;
}
