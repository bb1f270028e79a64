import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { GeneratedFile } from "../../src/index.js";

const require = createRequire(import.meta.url);

/** Path of buf; undefined if it is not installed for this platform. */
export const BUF: string | undefined = findBuf();
if (BUF === undefined) console.warn("buf is not installed here: its tests are skipped.");

function findBuf(): string | undefined {
  try {
    const platform = `${process.platform}-${process.arch === "arm64" && process.platform === "linux" ? "aarch64" : process.arch}`;
    const folder = dirname(require.resolve(`@bufbuild/buf-${platform}/package.json`));
    return ["buf", "buf.exe"].map((name) => join(folder, "bin", name)).find((path) => existsSync(path));
  } catch {
    return undefined;
  }
}

/** Runs buf in `cwd`, and returns what it says: nothing if all is well. */
export function buf(cwd: string, ...args: readonly string[]): string {
  if (BUF === undefined) throw new Error("buf is not installed.");
  try {
    return execFileSync(BUF, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    return stdout + stderr;
  }
}

/** Writes the `.proto` files of a run as a module of buf. */
export function writeModule(directory: string, files: readonly GeneratedFile[], config = ""): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "buf.yaml"), `version: v2\n${config}`);
  for (const { path, text } of files) {
    if (!path.endsWith(".proto")) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}

/** Returns the descriptors of generated files, in base64, that buf builds and no generated code has. */
export function missingDescriptors(directory: string, files: readonly GeneratedFile[]): string[] {
  if (!files.some(({ path }) => path.endsWith(".proto"))) return [];
  const image = join(directory, "image.binpb");
  const said = buf(directory, "build", "--as-file-descriptor-set", "--exclude-source-info", "-o", image);
  if (said !== "") return [said];
  return fromBinary(FileDescriptorSetSchema, readFileSync(image))
    .file.filter(({ name }) => files.some(({ path }) => path.endsWith(`/${name}`)))
    .map((file) => Buffer.from(toBinary(FileDescriptorProtoSchema, file)).toString("base64"))
    .filter((descriptor) => !files.some(({ text }) => text.includes(descriptor)));
}
