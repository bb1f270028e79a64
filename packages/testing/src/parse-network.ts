import { nearest } from "@quicrpc/core/internal";
import type { Conditions } from "./conditions.js";
import type { Outages } from "./network.js";

/** Result of parsing the description of a network. */
export interface DescribedNetwork {
  readonly conditions: Partial<Conditions>;
  readonly outages?: Outages;
}

/** Descriptions of networks by name, such as `3g`. */
export const NETWORKS: Readonly<Record<string, string>> = {
  "3g": "rtt=150 jitter=30 loss=1 down=1.6mbit up=750kbit",
  "flaky-wifi": "rtt=20 jitter=40 loss=4 reorder=2 down=20mbit up=10mbit",
  "no-udp": "udp=blocked",
};

/** Quantities in the description of a network, as in `rtt=80`. */
const QUANTITIES = [
  "rtt",
  "jitter",
  "loss",
  "duplicate",
  "reorder",
  "corrupt",
  "down",
  "up",
  "rate",
  "queue",
  "udp",
  "offline",
];
/** Words without a value in the description of a network. */
const WORDS = ["offline"];

const UNITS: Readonly<Record<string, number>> = { bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9 };

/**
 * Parses the description of a network. It consists of words such as `rtt=80` and `jitter=5` (milliseconds), `loss=2`,
 * `duplicate=`, `reorder=`, `corrupt=` (percent), `down=3mbit`, `up=` and `rate=` (both), `queue=64` (packets of 1200
 * bytes), `udp=blocked`, `offline 5s` (for 5 s in every 30), and names: `3g`, `flaky-wifi`, `no-udp`. Later words
 * replace earlier ones. Throws `TypeError` for any other word.
 */
export function parseNetwork(text: string): DescribedNetwork {
  const conditions: { -readonly [Name in keyof Conditions]?: Conditions[Name] } = {};
  let outages: Outages | undefined;
  const words = text.trim().split(/[\s,]+/);
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as string;
    const named = Object.hasOwn(NETWORKS, word) ? NETWORKS[word] : undefined;
    if (named !== undefined) {
      Object.assign(conditions, parseNetwork(named).conditions);
    } else if (word === "offline" || word.startsWith("offline=")) {
      const duration = word.split("=")[1] ?? words[++index];
      if (duration === undefined) throw new TypeError(`"offline" requires a duration, as in "offline 5s"`);
      outages = { offlineMs: milliseconds(duration) };
    } else {
      Object.assign(conditions, conditionOf(word));
    }
  }
  return { conditions, ...(outages !== undefined && { outages }) };
}

function conditionOf(word: string): Partial<Conditions> {
  const [name = "", value = ""] = word.split("=");
  switch (name) {
    case "rtt":
      return { delayMs: milliseconds(value) / 2 };
    case "jitter":
      return { jitterMs: milliseconds(value) };
    case "loss":
    case "duplicate":
    case "reorder":
    case "corrupt":
      return { [name]: percent(value) };
    case "down":
      return { downBytesPerSecond: bytesPerSecond(value) };
    case "up":
      return { upBytesPerSecond: bytesPerSecond(value) };
    case "rate":
      return { downBytesPerSecond: bytesPerSecond(value), upBytesPerSecond: bytesPerSecond(value) };
    case "queue":
      return { queueBytes: 1200 * numberOf(value, value) };
    case "udp":
      if (value === "blocked") return { udpBlocked: true };
  }
  const names = Object.keys(NETWORKS).join(", ");
  const [known, remainder] = word.includes("=")
    ? [QUANTITIES, `=${value}`]
    : [[...Object.keys(NETWORKS), ...WORDS], ""];
  const near = nearest(name, known);
  const suggestion = near === undefined ? "" : `: did you mean ${near}${remainder}?`;
  throw new TypeError(
    `unknown word "${word}" in the description of a network; use rtt=80, jitter=5, loss=2, duplicate=1, reorder=1, corrupt=1, down=3mbit, up=1mbit, queue=64, udp=blocked, offline 5s, or one of ${names}${suggestion}`,
  );
}

function milliseconds(text: string): number {
  const [, digits = "", unit = "ms"] = /^([\d.]+)(ms|s)?$/.exec(text) ?? [];
  return numberOf(digits, text) * (unit === "s" ? 1000 : 1);
}

function percent(text: string): number {
  const share = numberOf(text.replace(/%$/, ""), text) / 100;
  if (share > 1) throw new TypeError(`"${text}" is more than 100%`);
  return share;
}

function bytesPerSecond(text: string): number {
  const [, digits = "", unit = "mbit"] = /^([\d.]+)([kmg]?bit)?$/i.exec(text) ?? [];
  return (numberOf(digits, text) * (UNITS[unit.toLowerCase()] ?? 1)) / 8;
}

function numberOf(digits: string, text: string): number {
  const value = Number(digits);
  if (digits === "" || !(value >= 0))
    throw new TypeError(`"${text}" in the description of a network is not a quantity`);
  return value;
}
