import type { Row } from "../rows.js";
import { FLOOR, type Results } from "./results.js";

/** A workload in which another contestant is faster, and the known reason. */
interface Reason {
  readonly faster: RegExp;
  readonly workload: RegExp;
  readonly why: string;
}

const REASONS: readonly Reason[] = [
  {
    faster: /over TCP/,
    workload: /./,
    why: "It encrypts nothing, and checks nothing.",
  },
  {
    faster: /./,
    workload: /^sequential|x 1$/,
    why: "A call alone is one datagram each way, with nothing to share its costs: a UDP system call costs more than TCP's, and every packet is encrypted, its header as well, and acknowledged.",
  },
  {
    faster: /./,
    workload: /in flight$|^empty call/,
    why: "QUIC's packets, acknowledgements and timers are handled in the process, TCP's in the kernel; the floor neither validates nor can cancel.",
  },
  {
    faster: /./,
    workload: /^echo|one way$/,
    why: "The kernel moves 64 KiB of TCP at a time, and TLS encrypts 16 KiB at a time. QUIC encrypts packet by packet, and what was received is copied once more.",
  },
  {
    faster: /Go|Cap'n Proto/,
    workload: /^connect/,
    why: "Compiled code needs no warming up, and the first connections of a process run before V8 has optimised theirs.",
  },
  { faster: /./, workload: /^connect/, why: "There is no TLS handshake." },
];

/**
 * Returns a table row for each contestant that is faster than the best of quicrpc's modes on this Node, by more than
 * noise.
 */
export function lossesTable({ rows }: Results): string {
  const workloads = [...new Set(rows.map(({ workload }) => workload))];
  const lines = workloads.flatMap((workload) => {
    const all = rows.filter((row) => row.workload === workload && row.perSecond !== undefined);
    const quicrpcRows = all.filter(({ contestant }) => isOwn(contestant));
    const best = Math.max(...quicrpcRows.map(speed));
    return all
      .filter((row) => !isOwn(row.contestant) && !row.contestant.includes("(Node") && speed(row) > best * 1.05)
      .map(({ contestant, ...row }) => {
        const why = REASONS.find(({ faster, workload: of }) => faster.test(contestant) && of.test(workload))?.why ?? "";
        return `| ${workload} | ${contestant} | ${(speed(row) / best).toFixed(2)}x | ${why} |`;
      });
  });
  if (lines.length === 0) return `Nowhere in this run, but for what the goals above show. (The floor is "${FLOOR}".)`;
  return ["| workload | who is faster | than the best of quicrpc | why |", "|---|---|---|---|", ...lines].join("\n");
}

function isOwn(contestant: string): boolean {
  return contestant.startsWith("quicrpc") && !contestant.includes("(Node");
}

function speed({ perSecond = 0 }: Pick<Row, "perSecond">): number {
  return perSecond;
}
