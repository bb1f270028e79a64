import { existsSync, realpathSync } from "node:fs";
import { relative } from "node:path";
import { affectsOutput, removeStale, runProject, type SchemaRun, writeGenerated } from "@quicrpc/codegen";
import { devCertificate } from "@quicrpc/node";
import { type DescribedNetwork, parseNetwork } from "@quicrpc/testing";
import { colorsFor, formatDiagnostics } from "../report.js";
import { type FileChange, type SourceWatcher, watchSources } from "../watch.js";
import { reachableUrls } from "./addresses.js";
import { CompanionProcess } from "./companion.js";
import { Networks } from "./networks.js";
import { findProgram, Program } from "./program.js";
import { reportEvent } from "./report.js";

export interface DevOptions {
  readonly config?: string;
  readonly network?: (DescribedNetwork & { readonly text: string }) | undefined;
  readonly port: number;
  readonly seed: number;
  readonly drain: number;
  readonly studio: boolean;
  readonly json: boolean;
}

export function readNetwork(text: string): DevOptions["network"] {
  return { ...parseNetwork(text), text };
}

/**
 * Runs `quicrpc dev` for one project: generates its code and runs its server. Repeats both whenever a source file
 * changes.
 */
export class DevSession {
  private readonly cwd: string;
  private readonly options: DevOptions;
  private readonly file: string;
  private readonly command: readonly string[];
  private networks: Networks | undefined = undefined;
  private program: Program | undefined = undefined;
  private watcher: SourceWatcher | undefined = undefined;
  private companions: CompanionProcess[] = [];
  private last: SchemaRun | undefined = undefined;
  private hash = "";
  private hasListened = false;
  private isOver = false;
  private fail!: (error: unknown) => void;
  /** Rejects if `quicrpc dev` cannot continue. */
  readonly failed: Promise<never> = new Promise((_, reject) => (this.fail = reject));

  constructor(cwd: string, program: string | undefined, command: readonly string[], options: DevOptions) {
    this.cwd = cwd;
    this.options = options;
    this.command = command;
    this.file = findProgram(cwd, program);
  }

  /** Starts the program and watches the sources. Resolves when both have been done. */
  async start(): Promise<void> {
    const { network, seed, port } = this.options;
    if (network !== undefined) this.networks = await Networks.prepare(network, seed, port);
    this.hash = Buffer.from((await devCertificate()).hash.value).toString("hex");
    this.last = await this.generate();
    // Started before the program, because a user may change a file as soon as the program is reported to listen.
    const watcher = await watchSources(
      this.last,
      (change) => this.matters(change),
      async (changes) => {
        await this.change(changes).catch((error: unknown) => this.problem(error));
        return this.last?.sources ?? [];
      },
    );
    if (this.isOver) return watcher.close();
    this.watcher = watcher;
    if (this.last.diagnostics.length === 0) this.run();
    if (this.command.length > 0) this.companions.push(this.startCompanion());
  }

  /** Ends all processes and watchers. A `start` that is still in progress starts nothing more. */
  async end(): Promise<void> {
    this.isOver = true;
    await this.watcher?.close();
    await Promise.all([this.program?.end(this.options.drain), ...this.companions.map((companion) => companion.end())]);
    this.networks?.close();
  }

  private startCompanion(): CompanionProcess {
    const { cwd, command } = this;
    const { port, json } = this.options;
    const name = command.join(" ");
    const onEnd = (result: number | null | Error): void => {
      if (result instanceof Error) this.problem(new Error(`${name} cannot be run: ${result.message}`));
      else reportEvent({ event: "besideEnded", command: name, code: result }, json);
    };
    return CompanionProcess.command(command, { cwd, json, port, onEnd });
  }

  private matters(change: FileChange): boolean {
    const { last, program } = this;
    if (last === undefined || affectsOutput(change.event, change.path, last)) return true;
    if (last.files.some((file) => file.path === change.path)) return false;
    // Files that the program has not loaded, such as those of a page, do not matter. If it does not report its files,
    // every file matters.
    return program === undefined || program.files.size === 0 || program.files.has(realPath(change.path));
  }

  private async change(changes: readonly FileChange[]): Promise<void> {
    if (
      this.last === undefined ||
      changes.some(({ event, path }) => affectsOutput(event, path, this.last as SchemaRun))
    ) {
      this.last = await this.generate();
      // The server of the last valid schema continues to run meanwhile.
      if (this.last.diagnostics.length > 0) return;
    }
    const because = [...new Set(changes.map(({ path }) => relative(this.cwd, path)))];
    reportEvent({ event: "restarting", because }, this.options.json);
    await this.program?.end(this.options.drain);
    this.run();
  }

  private async generate(): Promise<SchemaRun> {
    const { config, json } = this.options;
    const run = await runProject([], { ...(config !== undefined && { config }) }, this.cwd);
    if (run.diagnostics.length > 0) {
      if (json)
        reportEvent({ event: "problem", message: run.diagnostics.map(({ message }) => message).join("\n") }, json);
      else process.stderr.write(formatDiagnostics(run.diagnostics, this.cwd, colorsFor(process.stderr, process.env)));
      return run;
    }
    writeGenerated(run.files);
    removeStale(run.stale);
    const files = run.files.filter(({ changed }) => changed).map(({ path }) => relative(this.cwd, path));
    reportEvent({ event: "generated", files }, json);
    return run;
  }

  private run(): void {
    const { port, json } = this.options;
    const started = performance.now();
    const env = { PORT: String(this.networks?.programPort ?? port) };
    this.program = new Program(this.file, this.cwd, env, json, {
      onListening: (urls) => {
        const ms = Math.round(performance.now() - started);
        this.listening(urls, ms).catch((error: unknown) => this.problem(error));
      },
      // A change of a file would not help.
      onTaken: (message) => this.fail(new Error(`${message}: stop the process that uses it, or choose another port`)),
      onExit: (code) => reportEvent({ event: "ended", code }, json),
    });
  }

  private async listening(listens: readonly string[], ms: number): Promise<void> {
    const { network, json, studio } = this.options;
    const urls: string[] = [];
    try {
      for (const url of listens) urls.push(...reachableUrls((await this.networks?.urlThrough(url)) ?? url));
    } catch (error) {
      // Without its network nothing would reach the program.
      this.fail(error);
      return;
    }
    reportEvent(
      { event: "listening", urls, ...(network !== undefined && { network: network.text }), hash: this.hash, ms },
      json,
    );
    // The studio needs a way through the network.
    const first = urls.find((url) => !isBlocked(url, network));
    if (this.hasListened || first === undefined) return;
    this.hasListened = true;
    const companion = studio
      ? CompanionProcess.studio(first, this.cwd, (page) => reportEvent({ event: "studio", url: page }, json))
      : undefined;
    if (companion !== undefined) this.companions.push(companion);
  }

  private problem(error: unknown): void {
    reportEvent(
      { event: "problem", message: error instanceof Error ? error.message : String(error) },
      this.options.json,
    );
  }
}

function isBlocked(url: string, network: DevOptions["network"]): boolean {
  return network?.conditions.udpBlocked === true && /^(quic|https):/.test(url);
}

function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}
