import { CAPNP, FLOOR, GRPC_GO, GRPC_JS, type Results } from "./results.js";

/** One of the project's goals and its measurement. */
interface Goal {
  readonly what: string;
  readonly goal: number;
  /** Whether higher values are better. */
  readonly atLeast: boolean;
  readonly unit: string;
  readonly measured: number | undefined;
}

const OWN = "quicrpc";
const TLS = "quicrpc, tls://";
const WSS = "quicrpc, wss://";
const ALONE = "a call every 2 ms, nothing else";
const CONCURRENT = "10000 concurrent calls that wait 100 ms";
const BESIDE = "a call every 2 ms beside 1 GB one way";

function goalsOf({ rows, far, growth, types }: Results): Goal[] {
  const row = (workload: string, contestant = OWN) =>
    rows.find((one) => one.workload === workload && one.contestant === contestant);
  const rate = (workload: string, contestant?: string): number | undefined => row(workload, contestant)?.perSecond;
  const times = (workload: string, against: string, contestant = OWN): number | undefined =>
    ratio(rate(workload, contestant), rate(workload, against));
  const p50 = (workload: string, contestant?: string): number | undefined => row(workload, contestant)?.latency?.p50;
  const distant = (link: string, workload: string, contestant = OWN) =>
    far.find((one) => one.link === link && one.workload === workload && one.contestant === contestant);
  // With a tenth of them, what V8's young generation happens to hold is as much as the sessions themselves.
  const idle = growth.find(
    ({ of, contestant, count }) => of === "idle sessions" && contestant === OWN && count === 10_000,
  );
  const lossy = "16 ms, 3% lost";
  const clear = "16 ms, 0% lost";
  const batch = "500 empty calls x 128";
  const kibibytes = "256 echoes of 1 KiB at once";
  const connect = "connect to first reply";
  const cpu = (contestant?: string): number | undefined => {
    const one = row("64 in flight", contestant);
    return one && sum(one.clientCpu, one.serverCpu);
  };
  const concurrent = row(CONCURRENT);

  const least = (what: string, goal: number, unit: string, measured: number | undefined): Goal => ({
    what,
    goal,
    unit,
    measured,
    atLeast: true,
  });
  const most = (what: string, goal: number, unit: string, measured: number | undefined): Goal => ({
    what,
    goal,
    unit,
    measured,
    atLeast: false,
  });
  return [
    least("sequential, against the TLS floor", 0.9, "x", times("sequential", FLOOR)),
    least("sequential, against Cap'n Proto over QUIC", 1.4, "x", times("sequential", CAPNP)),
    least("sequential, against grpc-js", 7, "x", times("sequential", GRPC_JS)),
    least("512 in flight, against the TLS floor", 1, "x", times("512 in flight", FLOOR)),
    least("512 in flight, against Cap'n Proto over QUIC", 2, "x", times("512 in flight", CAPNP)),
    least("512 in flight, against gRPC in Go", 6, "x", times("512 in flight", GRPC_GO)),
    least("512 in flight, against grpc-js", 60, "x", times("512 in flight", GRPC_JS)),
    most("CPU of a call, 64 in flight, against the TLS floor's", 1.25, "x", ratio(cpu(), cpu(FLOOR))),
    least(
      "a stream for each call, 64 in flight, against the TLS floor",
      1,
      "x",
      times("64 in flight", FLOOR, "quicrpc, stream per call"),
    ),
    least("empty call, 5000 x 32, against grpc-js", 25, "x", times("empty call, 5000 x 32", GRPC_JS)),
    most("10,000 calls that wait 100 ms", 0.2, "s", ratio(10_000, concurrent?.perSecond)),
    most(
      "the same, a stream for each",
      0.25,
      "s",
      ratio(10_000, row(CONCURRENT, "quicrpc, stream per call")?.perSecond),
    ),
    most("errors among these", 0, "%", concurrent?.errors),
    least("echo 64 KiB, against the TLS floor", 1, "x", times("echo 64 KiB, 8 in flight", FLOOR)),
    least("echo 1 MiB, against the TLS floor", 0.9, "x", times("echo 1 MiB, 8 in flight", FLOOR)),
    least(
      "server stream of small items, against the TLS floor",
      1.1,
      "x",
      times("server stream of small items", FLOOR),
    ),
    least("server stream, against grpc-js", 8, "x", times("server stream of small items", GRPC_JS)),
    least("server stream, against Cap'n Proto over QUIC", 3, "x", times("server stream of small items", CAPNP)),
    least("200 MB one way, against the TLS floor", 0.9, "x", times("200 MB one way", FLOOR)),
    ...(
      [
        ["echo 64 KiB", "echo 64 KiB, 8 in flight", 1.1],
        ["echo 1 MiB", "echo 1 MiB, 8 in flight", 1],
        ["200 MB one way", "200 MB one way", 1],
        ["100 MB both ways", "100 MB both ways at once", 1],
      ] as const
    ).flatMap(([what, workload, goal]) => [
      least(`${what} over tls://, against the TLS floor`, goal, "x", times(workload, FLOOR, TLS)),
      least(`${what} over wss://, against the TLS floor`, 0.8, "x", times(workload, FLOOR, WSS)),
    ]),
    most("connect to first reply, time against the TLS floor's", 0.5, "x", ratio(p50(connect), p50(connect, FLOOR))),
    most(
      "connect to first reply, time against Cap'n Proto over QUIC",
      1.2,
      "x",
      ratio(p50(connect), p50(connect, CAPNP)),
    ),
    most(
      "connect to first reply, 99th percentile against its median",
      3,
      "x",
      ratio(row(connect)?.latency?.p99, p50(connect)),
    ),
    most(
      "connect over WebTransport, time against QUIC's",
      1.2,
      "x",
      ratio(p50(connect, "quicrpc, WebTransport"), p50(connect)),
    ),
    most(
      "a call beside 1 GB on its session, 99th percentile against alone",
      2,
      "x",
      ratio(row(BESIDE)?.latency?.p99, row(ALONE)?.latency?.p99),
    ),
    most("memory of a client with 512 calls in flight", 80, "MB", row("512 in flight")?.clientPeak),
    least(
      "0-RTT over 16 ms saves",
      15,
      "ms",
      difference(distant(clear, connect)?.meanMs, distant(clear, `${connect}, resumed`, "quicrpc, 0-RTT")?.meanMs),
    ),
    most("one of 10,000 idle sessions, at the client", 40, "KiB", idle?.clientKilobytes),
    most("the same, at the server", 20, "KiB", idle?.serverKilobytes),
    most(
      "500 calls x 128 at 3% loss, mean against grpc-js",
      0.38,
      "x",
      ratio(distant(lossy, batch)?.meanMs, distant(lossy, batch, GRPC_JS)?.meanMs),
    ),
    most("the same, p95", 0.38, "x", ratio(distant(lossy, batch)?.p95Ms, distant(lossy, batch, GRPC_JS)?.p95Ms)),
    most(
      "the same, mean against the TLS floor",
      1,
      "x",
      ratio(distant(lossy, batch)?.meanMs, distant(lossy, batch, FLOOR)?.meanMs),
    ),
    most(
      "the same, mean against no loss",
      1.15,
      "x",
      ratio(distant(lossy, batch)?.meanMs, distant(clear, batch)?.meanMs),
    ),
    most(
      "256 echoes of 1 KiB at 3% loss, against no loss",
      1.7,
      "x",
      ratio(distant(lossy, kibibytes)?.meanMs, distant(clear, kibibytes)?.meanMs),
    ),
    most("type-check of a client of 500 methods", 1_000, "ms", types.compileMs),
    most("the same, against tRPC's", 1, "x", ratio(types.compileMs, types.trpcCompileMs)),
  ];
}

/** Returns the goals as a Markdown table. */
export function goalsTable(results: Results): string {
  const lines = goalsOf(results).map(({ what, goal, atLeast, unit, measured }) => {
    const wanted = `${atLeast ? "at least" : "at most"} ${number(goal)} ${unit}`;
    if (measured === undefined) return `| ${what} | ${wanted} | not measured | |`;
    const met = atLeast ? measured >= goal : measured <= goal;
    const missed = goal === 0 ? measured : Math.abs(measured / goal - 1) * 100;
    return `| ${what} | ${wanted} | ${number(measured)} ${unit} | ${met ? "met" : `**missed by ${number(missed)}%**`} |`;
  });
  return ["| | goal | measured | |", "|---|---|---|---|", ...lines].join("\n");
}

function ratio(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a / b;
}

function sum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b;
}

function difference(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a - b;
}

function number(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}
