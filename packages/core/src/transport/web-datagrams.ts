import type { Datagrams, WebTransportDatagrams } from "./session.js";

/** The direct interface of W3C datagrams; undefined if the session has none or the application has locked them. */
function webDatagrams(given: WebTransportDatagrams | undefined): Datagrams | undefined {
  const writable = given?.createWritable?.() ?? given?.writable;
  if (given === undefined || writable === undefined || writable.locked) return undefined;
  const writer = writable.getWriter();
  // Its end is the session's, which is reported there.
  writer.closed.catch(() => {});
  return {
    get maxSize() {
      return given.maxDatagramSize;
    },
    send(bytes) {
      if ((writer.desiredSize ?? 0) <= 0) return false;
      writer.write(bytes.slice()).catch(() => {});
      return true;
    },
  };
}

const made = new WeakMap<WebTransportDatagrams, Datagrams | undefined>();

/** The direct interface of either kind of datagrams; of W3C ones there is one writer. */
export function directDatagrams(given: Datagrams | WebTransportDatagrams | undefined): Datagrams | undefined {
  if (given === undefined || "send" in given) return given;
  if (!made.has(given)) made.set(given, webDatagrams(given));
  return made.get(given);
}

/** Passes on received datagrams, until the session ends. */
export async function readDatagrams(
  { readable }: WebTransportDatagrams,
  onDatagram: (bytes: Uint8Array) => void,
): Promise<void> {
  if (readable.locked) return;
  const reader = readable.getReader();
  for (;;) {
    const next = await reader.read().catch(() => undefined);
    if (next?.value === undefined) return;
    onDatagram(next.value);
  }
}
