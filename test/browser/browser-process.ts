import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";

/** A browser's answer to a command: one of both. */
interface Answer {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** An event that a browser tells of by itself. */
interface BrowserEvent {
  readonly method: string;
  readonly params: unknown;
}

export interface BrowserCommand {
  readonly executablePath: string;
  /** Given the folder of a new profile. */
  readonly options: (profile: string) => readonly string[];
  /** Path on which it accepts commands, as printed on its error output. */
  readonly path: string;
  /** Called with the folder of the new profile, which is the browser's home too, before it starts. */
  readonly prepare?: ((profile: string) => Promise<void>) | undefined;
}

/** A browser in a process of its own, driven by numbered commands over a WebSocket, as DevTools and WebDriver BiDi have them. */
export class BrowserProcess {
  private readonly child: ChildProcess;
  private readonly profile: string;
  private readonly socket: WebSocket;
  private readonly waiting: Map<number, (answer: Answer) => void> = new Map();
  /** Called with each event, such as those that `session.subscribe` of WebDriver BiDi asks for. */
  onEvent: (event: BrowserEvent) => void = () => {};
  private count = 0;

  private constructor(child: ChildProcess, profile: string, socket: WebSocket) {
    this.child = child;
    this.profile = profile;
    this.socket = socket;
    socket.on("message", (data: Buffer) => {
      const answer = JSON.parse(data.toString()) as Answer & BrowserEvent;
      if (answer.id === undefined) {
        this.onEvent(answer);
        return;
      }
      this.waiting.get(answer.id)?.(answer);
      this.waiting.delete(answer.id);
    });
  }

  static async start({ executablePath, options, path, prepare }: BrowserCommand): Promise<BrowserProcess> {
    const profile = await mkdtemp(join(tmpdir(), "quicrpc-browser-"));
    await prepare?.(profile);
    const child = spawn(executablePath, options(profile), {
      // Firefox refuses a home directory of another user.
      env: { ...process.env, HOME: profile },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const socket = new WebSocket((await addressOf(child)) + path);
    await new Promise((opened) => socket.once("open", opened));
    return new BrowserProcess(child, profile, socket);
  }

  /** `others` are further members of the command, besides its number, method and parameters. */
  async send(method: string, params: object, others: object = {}): Promise<unknown> {
    const id = ++this.count;
    const answer = new Promise<Answer>((answered) => this.waiting.set(id, answered));
    this.socket.send(JSON.stringify({ id, method, params, ...others }));
    const { result, error } = await answer;
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  }

  async close(): Promise<void> {
    this.socket.close();
    const ended = new Promise((exited) => this.child.once("exit", exited));
    this.child.kill();
    await ended;
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

function addressOf(browser: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    browser.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const [url] = /ws:\/\/\S+/.exec(said) ?? [];
      if (url !== undefined) resolve(url);
    });
    browser.once("exit", () => reject(new Error(`the browser has ended: ${said}`)));
  });
}
