import type { RootCommand } from "@bomb.sh/tab";
import tab from "@bomb.sh/tab/commander";
import type { Command } from "commander";
import { listServices } from "./described-services.js";
import { dialTarget } from "./target.js";

/** Commands whose second argument names a method, or a service, of the server that the first names. */
const OF_METHODS: Readonly<Record<string, string>> = { call: "method", load: "method", describe: "name" };
/** Milliseconds that a server has to say what it serves while somebody waits for a completion. */
const PATIENCE_MS = 1500;

/** Adds `completion <shell>`. For a line that a shell asks to complete, `words` of it, the server that it names is asked for its methods. */
export async function addCompletion(program: Command, words: readonly string[]): Promise<void> {
  const root = tab(program, { completionCommandName: "completion" });
  const url = words.find((word) => /^[a-z+]+:\S/.test(word));
  if (words[0] !== "complete" || url === undefined) return;
  const names = await methodsOf(url, words.includes("--dev")).catch(() => []);
  for (const [command, argument] of Object.entries(OF_METHODS)) complete(root, command, argument, names);
}

function complete(root: RootCommand, command: string, argument: string, names: readonly string[]): void {
  const found = root.commands.get(command)?.arguments.get(argument);
  if (found === undefined) return;
  found.handler = (suggest) => {
    for (const name of names) suggest(name, "");
  };
}

async function methodsOf(url: string, dev: boolean): Promise<string[]> {
  const session = await dialTarget(url, { dev, timeout: PATIENCE_MS });
  try {
    const services = await listServices(session, { timeoutMs: PATIENCE_MS });
    return services.flatMap(({ name, methods }) => methods.map((method) => `${name}/${method.name}`));
  } finally {
    await session.close();
  }
}
