// Sessions of the benches over Node's own `net` and `tls`: each stream is a connection, with the members of a QUIC
// stream that the workloads use.
import net from "node:net";
import tls from "node:tls";

/** Servers beside an endpoint's; resolves with their ports. */
export async function listen(identity, answer) {
  const accept = (socket) => answer({ attach: ({ onStream }) => onStream(streamOver(socket)) });
  const servers = [
    net.createServer(halfOpen, accept),
    tls.createServer({ ...identity, ...TLS_1_3, ...halfOpen }, accept),
  ];
  const ports = servers.map(
    (server) => new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server.address().port))),
  );
  const [tcp, secure] = await Promise.all(ports);
  return { tcp, tls: secure };
}

const TLS_1_3 = { minVersion: "TLSv1.3" };
const halfOpen = { allowHalfOpen: true };
const host = "127.0.0.1";

export const overTcp = (port) => ({ openStream: () => streamOver(net.connect({ host, port, ...halfOpen })) });

export const overTls = (port, ca) => ({
  openStream: () => streamOver(tls.connect({ host, port, ca, servername: "localhost", ...TLS_1_3, ...halfOpen })),
});

function streamOver(socket) {
  socket.setNoDelay();
  return {
    attach({ onData, onEnd, onDrain }) {
      socket.on("data", onData).on("end", onEnd).on("drain", onDrain);
    },
    write(bytes, end = false) {
      const room = bytes.length === 0 || socket.write(bytes);
      if (end) socket.end();
      return room;
    },
  };
}
