import { request } from "node:https";
import type { Handshake } from "./certificate.js";
import { type Finding, ok, problem } from "./finding.js";

/** Tolerated difference of clocks in seconds: a Date header has whole seconds, and a response takes time. */
const TOLERANCE_S = 5;

/** Compares this machine's clock with that of a server that answers over HTTP. Returns nothing if none does. */
export async function examineClock(
  seen: Handshake | string,
  host: string,
  port: number,
  timeoutMs: number,
): Promise<Finding[]> {
  if (typeof seen === "string") return [];
  const date = await new Promise<string | undefined>((resolve) => {
    const asked = request(
      { host, port, path: "/", method: "HEAD", rejectUnauthorized: false, timeout: timeoutMs },
      (answer) => {
        resolve(answer.headers.date);
        answer.destroy();
      },
    );
    asked.on("timeout", () => asked.destroy());
    asked.on("error", () => resolve(undefined));
    asked.end();
  });
  return date === undefined ? [] : [judgeClock(Date.now(), Date.parse(date))];
}

/** Checks the difference of two clocks, in milliseconds since the epoch. */
export function judgeClock(here: number, there: number): Finding {
  const seconds = Math.round((here - there) / 1000);
  if (Math.abs(seconds) <= TOLERANCE_S) return ok("clock", "agrees with the server's");
  const text = `is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} the server's`;
  return problem("clock", text, "set the wrong one by NTP: certificates and credentials are judged by it");
}
