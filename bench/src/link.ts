import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Settings of a link for both directions; a name that ends in `-ab` or `-ba` applies to one direction. */
export interface LinkSettings {
  /** Milliseconds, one way. */
  readonly delay?: number;
  /** Milliseconds, uniform, plus and minus; packets stay in order. */
  readonly jitter?: number;
  /** Percent, independent for each packet. */
  readonly loss?: number;
  /** Packets lost in a row, on average (Gilbert's two states); `loss` stays the share of all. */
  readonly burst?: number;
  /** Mbit/s; 0: no limit. */
  readonly rate?: number;
  /** Maximum number of packets that wait for the rate; further ones are dropped. */
  readonly queue?: number;
  /** Seed of the random numbers; the same seed loses the same packets. */
  readonly seed?: number;
}

/** Packets of one direction since the previous call. */
export interface Traffic {
  readonly seen: number;
  /** Lost at random. */
  readonly lost: number;
  /** Dropped because the queue was full. */
  readonly dropped: number;
}

/** Address of end `a` of every link, as seen by `b`. */
export const ADDRESS = "10.99.0.1";

/** Returns why links cannot be created here, or undefined if they can. */
export function linkObstacle(): string | undefined {
  if (process.platform !== "linux") return "a simulated link needs Linux (network namespaces, TUN devices)";
  if (process.getuid?.() !== 0) return "a simulated link needs root, for network namespaces: sudo npm run bench link";
  try {
    accessSync("/dev/net/tun", constants.R_OK | constants.W_OK);
  } catch {
    return "a simulated link needs /dev/net/tun: modprobe tun, or run the container with --device /dev/net/tun";
  }
  if (!exists("cc")) return "a simulated link needs a C compiler: apt-get install gcc libc6-dev";
  if (!exists("ip")) return "a simulated link needs ip: apt-get install iproute2";
  return undefined;
}

function exists(command: string): boolean {
  return spawnSync(command, ["-V"], { stdio: "ignore" }).error === undefined;
}

/**
 * Two network namespaces, connected by TUN devices and a forwarder that delays, loses and queues IP packets. TCP and
 * UDP pass through it in the same way, and the rest of the system is not affected.
 */
export class Link {
  private readonly directory = mkdtempSync(join(tmpdir(), "quicrpc-link-"));
  private readonly name = `quicrpc${process.pid}`;
  private readonly binary = join(this.directory, "link");
  private readonly socket = join(this.directory, "control");
  private forwarder: ChildProcess | undefined;
  private readonly onExit = (): void => this.down();

  static async up(settings: LinkSettings): Promise<Link> {
    const link = new Link();
    try {
      await link.start(settings);
      return link;
    } catch (error) {
      link.down();
      throw error;
    }
  }

  /** Returns the prefix of a command that runs at one end. */
  at(end: "a" | "b"): readonly string[] {
    return ["ip", "netns", "exec", `${this.name}-${end}`];
  }

  set(settings: LinkSettings): void {
    run(this.binary, ["ctl", this.socket, "set", ...pairs(settings)]);
  }

  /** Returns the counters since the previous call, by direction. */
  traffic(): { readonly ab: Traffic; readonly ba: Traffic } {
    const text = execFileSync(this.binary, ["ctl", this.socket, "stats"], { encoding: "utf8" });
    return JSON.parse(text) as { ab: Traffic; ba: Traffic };
  }

  down(): void {
    process.off("exit", this.onExit);
    this.forwarder?.kill();
    for (const end of ["a", "b"]) spawnSync("ip", ["netns", "del", `${this.name}-${end}`], { stdio: "ignore" });
    rmSync(this.directory, { recursive: true, force: true });
  }

  private async start(settings: LinkSettings): Promise<void> {
    process.once("exit", this.onExit);
    run("cc", ["-O2", "-o", this.binary, fileURLToPath(new URL("../link/link.c", import.meta.url))]);
    const ends = ["a", "b"].map((end) => `${this.name}-${end}`);
    for (const end of ends) run("ip", ["netns", "add", end]);
    const args = ["run", ...ends, this.socket, ...pairs(settings)];
    const forwarder = spawn(this.binary, args, { stdio: ["ignore", "pipe", "inherit"] });
    this.forwarder = forwarder;
    await new Promise((resolve, reject) => {
      forwarder.stdout.once("data", resolve);
      forwarder.once("exit", () => reject(new Error("the forwarder ended")));
    });
    for (const [index, end] of ends.entries()) {
      // Nothing but the measured traffic, and nothing remembered from one connection to the next.
      const settled = ["net.ipv6.conf.tun0.disable_ipv6=1", "net.ipv4.tcp_no_metrics_save=1"];
      run("ip", ["netns", "exec", end, "sysctl", "-qw", ...settled]);
      run("ip", ["-n", end, "addr", "add", `10.99.0.${index + 1}/24`, "dev", "tun0"]);
      run("ip", ["-n", end, "link", "set", "tun0", "txqueuelen", "10000", "mtu", "1500", "up"]);
      run("ip", ["-n", end, "link", "set", "lo", "up"]);
    }
  }
}

function pairs(settings: LinkSettings): string[] {
  return Object.entries(settings).map(([key, value]) => `${key}=${value}`);
}

function run(command: string, args: readonly string[]): void {
  execFileSync(command, args, { stdio: ["ignore", "ignore", "inherit"] });
}
