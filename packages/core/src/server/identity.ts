/** The identity of a session's client, as it last proved it, for calls that started earlier. */
export class Identity<Context> {
  latest: Context;
  private watchers: Set<() => void> | undefined = undefined;

  constructor(first: Context) {
    this.latest = first;
  }

  renew(connection: Context): void {
    this.latest = connection;
    if (this.watchers === undefined) return;
    for (const watcher of this.watchers) watcher();
  }

  /** Calls `watcher` after each renewal. */
  watch(watcher: () => void): void {
    this.watchers ??= new Set();
    this.watchers.add(watcher);
  }

  unwatch(watcher: () => void): void {
    this.watchers?.delete(watcher);
  }
}
