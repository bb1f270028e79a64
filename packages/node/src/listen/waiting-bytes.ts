/** A waiting connection, and the bytes that have arrived on it. */
interface WaitingConnection {
  /** Address or network of the peer. */
  readonly source: string;
  readonly close: () => void;
  bytes: number;
}

/**
 * Bytes that have arrived on waiting connections, with a maximum for all of them. If they exceed it, the largest connection
 * of the source that holds most is closed, whichever connection the last bytes arrived on.
 */
export class WaitingBytes {
  private readonly maxBytes: number;
  private readonly connections: Set<WaitingConnection> = new Set();
  private total = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Adds a connection. */
  add(source: string, close: () => void): WaitingConnection {
    const connection = { source, close, bytes: 0 };
    this.connections.add(connection);
    return connection;
  }

  /** Counts bytes that have arrived on a connection, unless it has been removed. */
  count(connection: WaitingConnection, bytes: number): void {
    if (!this.connections.has(connection)) return;
    connection.bytes += bytes;
    this.total += bytes;
    while (this.total > this.maxBytes) this.closeLargest();
  }

  /** Removes a connection, which has closed or no longer waits. */
  remove(connection: WaitingConnection): void {
    if (this.connections.delete(connection)) this.total -= connection.bytes;
  }

  private closeLargest(): void {
    const bySource = new Map<string, { bytes: number; largest: WaitingConnection }>();
    let heaviest: { bytes: number; largest: WaitingConnection } | undefined;
    for (const connection of this.connections) {
      const { source, bytes } = connection;
      const sum = bySource.get(source) ?? { bytes: 0, largest: connection };
      sum.bytes += bytes;
      if (bytes > sum.largest.bytes) sum.largest = connection;
      bySource.set(source, sum);
      if (sum.bytes > (heaviest?.bytes ?? 0)) heaviest = sum;
    }
    if (heaviest === undefined) return;
    this.remove(heaviest.largest);
    heaviest.largest.close();
  }
}
