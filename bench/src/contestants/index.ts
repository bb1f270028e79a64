import type { Contestant } from "../contestant.js";
import { capnweb } from "./capnweb.js";
import { connectNode } from "./connect.js";
import { tcpFloor, tlsFloor } from "./floor.js";
import { grpcJs } from "./grpc.js";
import { auto, lane, stream, webTransport } from "./quicrpc.js";
import { socketIo } from "./socket-io.js";
import { trpc } from "./trpc.js";

export const contestants: readonly Contestant[] = [
  auto,
  lane,
  stream,
  webTransport,
  grpcJs,
  connectNode,
  trpc,
  capnweb,
  socketIo,
  tlsFloor,
  tcpFloor,
];

export function contestantNamed(name: string | undefined): Contestant {
  const found = contestants.find((contestant) => contestant.name === name);
  if (found !== undefined) return found;
  const names = contestants.map((contestant) => `"${contestant.name}"`).join(", ");
  throw new Error(`no contestant is called "${name}"; there are ${names}`);
}
