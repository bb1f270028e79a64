import type { Contestant } from "../contestant.js";
import { grpcJs } from "./grpc.js";
import { lane, stream } from "./quicrpc.js";
import { tlsFloor } from "./tls-floor.js";

export const contestants: readonly Contestant[] = [lane, stream, grpcJs, tlsFloor];

export function contestantNamed(name: string | undefined): Contestant {
  const found = contestants.find((contestant) => contestant.name === name);
  if (found === undefined) throw new Error(`no contestant is called ${name}`);
  return found;
}
