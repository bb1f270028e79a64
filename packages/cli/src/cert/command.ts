import type { DevAuthority, DevCertificate } from "@quicrpc/node";
import { Command } from "commander";
import { colorsFor } from "../report.js";
import { EXIT, printJson } from "../target.js";
import { unknownCommand } from "../usage.js";
import { change, nssStore, NSS_TOOLS, type StoreOutcome, storesOf } from "./stores.js";

interface CertOptions {
  readonly directory?: string;
  readonly host?: readonly string[];
  readonly json?: boolean;
}

interface ShowOptions extends CertOptions {
  readonly hash?: boolean;
}

interface TrustOptions extends CertOptions {
  readonly nss?: readonly string[];
  readonly dryRun?: boolean;
}

const EXAMPLES = `
Examples:
  $ quicrpc cert                  the certificate of development servers, and its expiry
  $ quicrpc cert hash             its hash, for serverCertificateHashes
  $ quicrpc cert rotate           a new one; running servers keep the old one until they are restarted
  $ quicrpc cert trust            make this user's browsers trust it, for WebSockets and HTTP too
  $ quicrpc cert trust --dry-run  the commands that would do so
  $ quicrpc cert untrust

Exit codes: 0 done, 1 a browser could not be changed, 2 wrong usage.`;

export function certCommand(): Command {
  const command = withFolder(new Command("cert"))
    .description("Show this user's development certificate, renew it, or make browsers trust it.")
    .option("--hash", "print only the hash, in hex")
    .addHelpText("after", EXAMPLES)
    .usage("[options] [command]")
    .argument("[command]")
    .action(async (unknown: string | undefined, options: ShowOptions, subcommand: Command) => {
      if (unknown !== undefined) unknownCommand(subcommand, unknown);
      await show(await certificate(options), options);
    });
  const showCommand = withFolder(new Command("show"))
    .description("Show it.")
    .action(async (_: CertOptions, subcommand: Command) => {
      const options = subcommand.optsWithGlobals<ShowOptions>();
      await show(await certificate(options), options);
    });
  const hash = withFolder(new Command("hash"))
    .description("Print only its hash, in hex.")
    .action(async (_: CertOptions, subcommand: Command) => {
      const options = subcommand.optsWithGlobals<CertOptions>();
      await show(await certificate(options), { ...options, hash: true });
    });
  const rotate = withFolder(new Command("rotate"))
    .description("Make a new certificate with a new hash.")
    .action(async (_: CertOptions, subcommand: Command) => {
      const options = subcommand.optsWithGlobals<CertOptions>();
      await show(await certificate(options, true), options);
    });
  const trust = withStores(new Command("trust"))
    .description("Make a certificate authority for localhost only, and make this user's browsers trust it.")
    .addHelpText("after", EXAMPLES)
    .action(async (_: TrustOptions, subcommand: Command) => {
      const options = subcommand.optsWithGlobals<TrustOptions>();
      const { devAuthority } = await import("@quicrpc/node");
      const { host } = options;
      const authority = await devAuthority({ ...folderOf(options), ...(host !== undefined && { hosts: host }) });
      await changeStores("add", authority, options);
    });
  const untrust = withStores(new Command("untrust"))
    .description("Make browsers stop trusting it.")
    .action(async (_: TrustOptions, subcommand: Command) => {
      const options = subcommand.optsWithGlobals<TrustOptions>();
      const { existingDevAuthority } = await import("@quicrpc/node");
      const authority = await existingDevAuthority(folderOf(options));
      if (authority !== undefined) await changeStores("remove", authority, options);
      else if (options.json === true) printJson({ authority: null, stores: [] });
      else process.stdout.write("There is no development authority to remove.\n");
    });
  for (const child of [showCommand, hash, rotate, trust, untrust]) command.addCommand(child);
  return command;
}

function withFolder(command: Command): Command {
  return command
    .option("--directory <folder>", "folder in which it is stored (default: the user's cache folder)")
    .option("--host <name>", "an additional host besides localhost; repeatable", append)
    .option("--json", "print JSON");
}

function withStores(command: Command): Command {
  return withFolder(command)
    .option("--nss <folder>", "only this NSS database, such as a profile of Firefox; repeatable", append)
    .option("--dry-run", "print the browsers' commands without running them; the authority is made");
}

function append(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

function folderOf({ directory }: CertOptions): { directory?: string } {
  return directory === undefined ? {} : { directory };
}

async function certificate(options: CertOptions, renew = false): Promise<DevCertificate> {
  // Loaded here because it loads the native engine, which help and usage errors do not need.
  const { devCertificate } = await import("@quicrpc/node");
  const { host } = options;
  const hosts = host === undefined ? undefined : ["localhost", "127.0.0.1", "::1", ...host];
  return devCertificate({
    renew,
    ...folderOf(options),
    ...(hosts !== undefined && { hosts }),
  });
}

async function show(devCert: DevCertificate, options: ShowOptions): Promise<void> {
  const described = await describe(devCert);
  if (options.json === true) printJson(described);
  else if (options.hash === true) process.stdout.write(`${described.hash}\n`);
  else {
    const lines = [
      ["hosts", described.hosts.join(", ")],
      ["signed by", described.issuer],
      ["valid until", `${described.validTo} (${described.daysLeft} days)`],
      ["sha-256", described.hash],
      ["file", described.file],
    ];
    process.stdout.write(lines.map(([key = "", value = ""]) => `${key.padEnd(12)}${value}\n`).join(""));
  }
}

async function describe({ cert, hash, validTo, file }: DevCertificate) {
  const { X509Certificate } = await import("node:crypto");
  const { subject, issuer, subjectAltName = "" } = new X509Certificate(cert);
  return {
    file,
    hosts: subjectAltName.split(", ").map((name) => name.replace(/^(DNS|IP Address):/, "")),
    subject: subject.replace(/^CN=/, ""),
    issuer: subject === issuer ? "itself" : issuer.replace(/^CN=/, ""),
    validTo: validTo.toISOString(),
    daysLeft: Math.floor((validTo.getTime() - Date.now()) / 86_400_000),
    hash: Buffer.from(hash.value).toString("hex"),
  };
}

async function changeStores(action: "add" | "remove", authority: DevAuthority, options: TrustOptions): Promise<void> {
  const { nss, dryRun = false, json = false } = options;
  const stores = nss === undefined ? storesOf() : nss.map((folder) => nssStore(folder));
  const outcomes = stores.map((store) => change(store, action, authority, dryRun));
  const added = action === "add" ? { certificate: await describe(await certificate(options)) } : {};
  process.exitCode = outcomes.some(({ outcome }) => outcome === "failed" || outcome === "no tool")
    ? EXIT.failed
    : EXIT.ok;
  if (json) {
    const { cert: _, ...printed } = authority;
    printJson({ authority: printed, ...added, stores: outcomes });
    return;
  }
  process.stdout.write(outcomes.map((outcome) => `${lineOf(outcome, action)}\n`).join(""));
  if (action === "remove" || dryRun) return;
  process.stdout.write(
    `\nServers started from now on use a certificate by ${authority.name}, for ${authority.hosts.join(", ")}.\n` +
      `Install ${authority.file} in browsers on other devices, such as a phone. Restart running browsers.\n`,
  );
}

function lineOf({ store, command, outcome, detail }: StoreOutcome, action: "add" | "remove"): string {
  const colors = colorsFor(process.stdout, process.env);
  if (outcome === "shown") return command;
  if (outcome === "done") return `${colors.green(action === "add" ? "trusted" : "removed")}  ${store}`;
  if (outcome === "failed") return `${colors.red("failed")}   ${store}: ${detail}\n         ${command}`;
  return `${colors.red("failed")}   ${store}: certutil is missing: install ${NSS_TOOLS}, and run this again`;
}
