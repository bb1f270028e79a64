import { Resolver } from "node:dns/promises";
import { TransportError } from "@quicrpc/core";
import { checkOptions, type OptionNames, publicUrl } from "@quicrpc/core/internal";
import type { ResolveTargets, TargetSpec } from "@quicrpc/pool";
import { transportError } from "./transport/failure.js";

/** A DNS resolver, such as `Resolver` of `node:dns/promises`. */
export interface DnsResolver {
  resolve4(name: string): Promise<string[]>;
  resolve6(name: string): Promise<string[]>;
  resolveSrv(name: string): Promise<readonly SrvRecord[]>;
}

/** One SRV record (RFC 2782). */
export interface SrvRecord {
  readonly name: string;
  readonly port: number;
  readonly priority: number;
  readonly weight: number;
}

/** Options of `dnsTargets`. */
export interface DnsTargetsOptions {
  /**
   * DNS records to look up. "address": A and AAAA records, whichever exist. "SRV": hosts and ports with their
   * priorities and weights. Default "address".
   */
  readonly records?: "address" | "A" | "AAAA" | "SRV";
  /** DNS resolver. Default: the system's DNS servers, with two attempts of 2 s each. The hosts file is not used. */
  readonly resolver?: DnsResolver;
}

const OPTIONS: OptionNames<DnsTargetsOptions> = { records: true, resolver: true };

/** Targets of `connectPool` that are looked up in DNS. */
export interface DnsTargets {
  readonly resolve: ResolveTargets;
  /**
   * Name that the servers' certificates must contain: the host name in the URL, not a name that DNS returned (RFC 9525
   * §6.1).
   */
  readonly serverName: string;
}

/**
 * Returns the servers behind a URL as targets of `connectPool`, one for each DNS record. The URL is for example
 * `quic://orders.example:4433`, or `quic://_orders._udp.example` with SRV records.
 */
export function dnsTargets(url: string | URL, options: DnsTargetsOptions = {}): DnsTargets {
  checkOptions("dnsTargets()", options, OPTIONS);
  const { records = "address", resolver } = options;
  const base = new URL(url);
  const { hostname } = base;
  return {
    serverName: records === "SRV" ? hostname.replace(/^(_[^.]+\.){1,2}/, "") : hostname,
    resolve: async (signal) => {
      const usedResolver = resolver ?? ownResolver(signal);
      try {
        if (records === "SRV") return srvTargets(base, await usedResolver.resolveSrv(hostname));
        const lookups: Promise<string[]>[] = [];
        if (records !== "AAAA") lookups.push(usedResolver.resolve4(hostname));
        if (records !== "A")
          lookups.push(usedResolver.resolve6(hostname).then((found) => found.map((address) => `[${address}]`)));
        return (await anyOf(lookups)).map((host) => at(base, host));
      } catch (error) {
        throw unresolved(error, base, signal);
      }
    },
  };
}

function unresolved(error: unknown, base: URL, signal: AbortSignal): unknown {
  const { code } = error as { readonly code?: unknown };
  const isUnknown = code === "ENOTFOUND" || code === "ENODATA";
  const failed = transportError(error, { action: "connect to", url: publicUrl(base) }, signal);
  if (!isUnknown || !(failed instanceof TransportError)) return failed;
  const { url, message } = failed;
  return new TransportError({ code, url, message, hint: NO_RECORD, cause: error });
}

const NO_RECORD =
  "DNS has no such record: check the name and the option `records`. dnsTargets only queries DNS; for a name of the hosts file, such as localhost, pass a list of URLs";

/** Weight used for SRV records with weight 0, so that they get a very small share of the calls (RFC 2782). */
const LEAST_WEIGHT = 0.01;

function srvTargets(base: URL, records: readonly SrvRecord[]): TargetSpec[] {
  // A record with the root domain as its target means that the service is not available (RFC 2782).
  const offered = records.filter(({ name }) => name !== "." && name !== "");
  const weighs = new Set(offered.filter(({ weight }) => weight > 0).map(({ priority }) => priority));
  return offered.map(({ name, port, priority, weight }) => ({
    target: at(base, name, port),
    priority,
    weight: weighs.has(priority) ? Math.max(weight, LEAST_WEIGHT) : 1,
  }));
}

/** Returns the results of all queries that succeeded. Rejects with the first error if every query failed. */
async function anyOf(questions: readonly Promise<string[]>[]): Promise<string[]> {
  const answers = await Promise.allSettled(questions);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  const failed = answers.find((answer) => answer.status === "rejected");
  if (addresses.length === 0 && failed !== undefined) throw failed.reason;
  return addresses;
}

function at(base: URL, host: string, port?: number): string {
  const { protocol, pathname, search } = base;
  const ports = port === undefined ? base.port : String(port);
  return `${protocol}//${host}${ports === "" ? "" : `:${ports}`}${pathname}${search}`;
}

function ownResolver(signal: AbortSignal): DnsResolver {
  const resolver = new Resolver({ timeout: 2000, tries: 2 });
  signal.addEventListener("abort", () => resolver.cancel(), { once: true });
  return resolver;
}
