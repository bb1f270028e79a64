import type { RootCommand } from "@bomb.sh/tab";
import tab from "@bomb.sh/tab/commander";
import type { ServiceDescription } from "@quicrpc/services";
import { Command } from "commander";
import { listServices } from "./described-services.js";
import { dialTarget, type TargetOptions, withTrust } from "./target.js";

/**
 * Command arguments that are completed with names of services or methods of the server in the command's first argument.
 */
const OF_SERVER: readonly (readonly [command: string, argument: string, names: "services" | "methods" | "both"])[] = [
  ["call", "method", "methods"],
  ["load", "method", "methods"],
  ["describe", "name", "both"],
  ["ls", "service", "services"],
  ["health", "service", "services"],
];
/** Milliseconds that a server has to list its services while the shell completes a command. */
const PATIENCE_MS = 1500;

/**
 * Adds the command `completion <shell>`. `words` is the command line to complete. If it contains a server's URL, that
 * server is asked for its services.
 */
export async function addCompletion(program: Command, words: readonly string[]): Promise<void> {
  const root = tab(program, { completionCommandName: "completion" });
  // The script of the package `tab` for bash is not used, because it requires another package and evaluates the typed
  // text.
  program.commands
    .find((command) => command.name() === "completion")
    ?.action((shell: string) => {
      if (shell === "bash") process.stdout.write(BASH_COMPLETION);
      else root.setup(program.name(), program.name(), shell);
    });
  complete(
    root,
    "help",
    "command",
    program.commands.map((command) => command.name()),
  );
  const url = words.find((word) => /^[a-z+]+:\S/.test(word));
  if (words[0] !== "complete" || url === undefined) return;
  const services = await servicesOf(url, words).catch(() => []);
  const names = services.map(({ name }) => name);
  const methods = services.flatMap(({ name, methods: all }) => all.map((method) => `${name}/${method.name}`));
  const lists = { services: names, methods, both: [...names, ...methods] };
  for (const [command, argument, listName] of OF_SERVER) complete(root, command, argument, lists[listName]);
}

function complete(root: RootCommand, command: string, argument: string, names: readonly string[]): void {
  const commandArgument = root.commands.get(command)?.arguments.get(argument);
  if (commandArgument === undefined) return;
  commandArgument.handler = (suggest) => {
    for (const name of names) suggest(name, "");
  };
}

/** Lists the services of the server in a command line, using the options for trust and credentials in that line. */
async function servicesOf(url: string, words: readonly string[]): Promise<readonly ServiceDescription[]> {
  const line = withTrust(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  // The words of the line follow the first "--".
  line.parseOptions(words.slice(words.indexOf("--") + 1));
  const options = { ...line.opts<TargetOptions>(), timeout: PATIENCE_MS };
  const session = await dialTarget(url, options);
  try {
    return await listServices(session, { timeoutMs: PATIENCE_MS });
  } finally {
    await session.close();
  }
}

/**
 * Completion script for bash 3.2 and later. The script splits the line itself, because bash splits words at colons,
 * which URLs contain. The script never evaluates text that the user has typed.
 */
const BASH_COMPLETION = `# bash completion for quicrpc

__quicrpc_complete() {
    local line=\${COMP_LINE:0:COMP_POINT} cur="" value last
    local -a words
    read -r -a words <<< "$line"
    if [[ $line == *[![:space:]] ]]; then
        cur=\${words[\${#words[@]} - 1]}
    else
        words[\${#words[@]}]=""
    fi
    # What bash replaces begins behind the last character that breaks words.
    last=\${cur##*[:=]}
    COMPREPLY=()
    while IFS=$'\\t' read -r value _; do
        if [[ $value == "$cur"* && $value != :* ]]; then
            COMPREPLY[\${#COMPREPLY[@]}]=\${value#"\${cur%"$last"}"}
        fi
    done < <(quicrpc complete -- "\${words[@]:1}" 2>/dev/null)
}

complete -o default -F __quicrpc_complete quicrpc
`;
