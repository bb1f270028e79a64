import type { DirectSession, DirectStream } from "@quicrpc/core/transport";

/** Passes on all that happens on each of two sessions to the other, as if their far ends had one session between them. */
export function joinSessions(one: DirectSession, other: DirectSession): void {
  passSession(one, other);
  passSession(other, one);
}

function passSession(from: DirectSession, to: DirectSession): void {
  let over = false;
  from.attach({
    onStream: (stream) => {
      if (over) return;
      try {
        joinStreams(stream, to.openStream());
      } catch {
        // The other has ended, and its end is on its way here.
      }
    },
    onDatagram: (bytes) => void to.datagrams?.send(bytes),
    onClosed: (info, error) => {
      over = true;
      to.close(
        error === undefined || info.closeCode !== undefined ? info : { closeCode: 1, reason: "the other end is lost" },
      );
    },
  });
}

function joinStreams(one: DirectStream, other: DirectStream): void {
  passStream(one, other);
  passStream(other, one);
}

function passStream(from: DirectStream, to: DirectStream): void {
  from.attach({
    onData: (chunk) => {
      if (!to.write(chunk)) from.pause();
    },
    onEnd: () => void to.write(new Uint8Array(0), true),
    onReset: (code) => to.reset(code),
    onStopSending: (code) => to.stopSending(code),
    // There is room again for the other side's data.
    onDrain: () => to.resume(),
    onClosed: () => {},
  });
}
