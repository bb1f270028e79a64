interface WaitingConnection {
  /** Address of the peer, or the network that contains the address. */
  readonly source: string;
  readonly close: () => void;
  bytes: number;
}

/**
 * Limits the total number of bytes received on connections that wait for room. If the limit is exceeded, closes one
 * connection: of the source with the most bytes, the connection with the most bytes.
 */
export class WaitingBytes {
  private readonly maxBytes: number;
  private readonly connections: Set<WaitingConnection> = new Set();
  private total = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  add(source: string, close: () => void): WaitingConnection {
    const connection = { source, close, bytes: 0 };
    this.connections.add(connection);
    return connection;
  }

  count(connection: WaitingConnection, bytes: number): void {
    if (!this.connections.has(connection)) return;
    connection.bytes += bytes;
    this.total += bytes;
    while (this.total > this.maxBytes) this.closeLargest();
  }

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
