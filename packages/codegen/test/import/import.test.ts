// Imported .proto files: the modules are as the generator and compilers want them, and messages have the same bytes as
// those of protobuf-es.
import { createFileRegistry, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { MessageCodec } from "@quicrpc/core/generated";
import { protobufCodec, type ProtobufService } from "@quicrpc/protobuf";
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { generate, writeGenerated } from "../../src/index.js";
import { importProtos } from "../../src/import/index.js";
import { encode } from "../codec/compile.js";
import { SEED } from "../codec/settings.js";
import { numbers } from "../codec/values.js";
import { BUF, buf, missingDescriptors, writeModule } from "../proto/buf.js";
import { createWorkspace, fixture, TSC } from "../workspace.js";
import { randomMessage } from "./random.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const PROTOBUFJS = dirname(createRequire(import.meta.url).resolve("protobufjs/package.json"));
const VALUES = 60;

/** Options of google/example/library/v1/library.proto, which the importer does not need. */
const OPTIONS = {
  client:
    "extend google.protobuf.ServiceOptions { string default_host = 1049; string oauth_scopes = 1050; }\n" +
    "extend google.protobuf.MethodOptions { repeated string method_signature = 1051; }",
  field_behavior:
    "enum FieldBehavior { FIELD_BEHAVIOR_UNSPECIFIED = 0; REQUIRED = 2; OUTPUT_ONLY = 3; IDENTIFIER = 8; }\n" +
    "extend google.protobuf.FieldOptions { repeated FieldBehavior field_behavior = 1052; }",
  resource:
    "message ResourceDescriptor { string type = 1; repeated string pattern = 2; }\n" +
    "message ResourceReference { string type = 1; string child_type = 2; }\n" +
    "extend google.protobuf.MessageOptions { ResourceDescriptor resource = 1053; }\n" +
    "extend google.protobuf.FieldOptions { ResourceReference resource_reference = 1055; }",
};

/** Returns the descriptors of the messages in the .proto files of a folder. */
function descriptorsOf(folder: string): DescMessage[] {
  const source = join(workspace.path, folder);
  cpSync(fixture("import"), source, { recursive: true });
  cpSync(join(PROTOBUFJS, "google/api"), join(source, "google/api"), {
    recursive: true,
    filter: (path) => !path.endsWith(".json"),
  });
  for (const [name, text] of Object.entries(OPTIONS)) {
    const head = 'syntax = "proto3"; package google.api; import "google/protobuf/descriptor.proto";\n';
    workspace.write(`${folder}/google/api/${name}.proto`, head + text);
  }
  writeModule(source, []);
  const image = join(workspace.path, `${folder}.binpb`);
  expect(buf(source, "build", "--as-file-descriptor-set", "-o", image)).toBe("");
  return [...createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(image)))].filter(
    (type) => type.kind === "message",
  );
}

/** Name of the constant for a message. */
function constantOf({ typeName, file }: DescMessage): string {
  return typeName.slice(file.proto.package.length + 1).replaceAll(/[._]/g, "");
}

test.skipIf(BUF === undefined)(
  "messages of imported files have the bytes of protobuf-es",
  { timeout: 120_000 },
  async () => {
    const { files, diagnostics, warnings } = importProtos({
      files: [
        "connectrpc/conformance/v1/service.proto",
        "google/example/library/v1/library.proto",
        "google/protobuf/test_messages_proto3.proto",
        "recursive.proto",
      ].map((name) => fixture(`import/${name}`)),
      folders: [fixture("import")],
      out: join(workspace.path, "all"),
      importExtension: "ts",
      cwd: workspace.path,
    });
    expect(diagnostics).toEqual([]);
    expect(warnings).toEqual([]);
    writeGenerated(files);

    const messages = descriptorsOf("originals").filter(({ file }) =>
      /^(connectrpc|google\/example|google\/protobuf\/(test|any|duration)|recursive)/.test(file.name),
    );
    const modules = files.flatMap(({ path, text }) => {
      const names = Array.from(text.matchAll(/^export const (\w+) = z.object\(/gm), ([, name = ""]) => name);
      return names.map((name) => ({ path, name }));
    });
    const imports = [...new Set(modules.map(({ path }) => path))];
    const lines = imports.map((path, i) => `import * as m${i} from ${JSON.stringify(path)};\n`);
    const methods = modules.map(
      ({ path, name }) => `${name.toLowerCase()}: rpc({ input: m${imports.indexOf(path)}.${name} })`,
    );
    const all = workspace.write(
      "all/all.service.ts",
      `import { rpc, service } from "@quicrpc/core";\n${lines.join("")}export const All = service("all.v1.All", {\n  ${methods.join(",\n  ")}\n});\n`,
    );
    const services = files.map(({ path }) => path).filter((path) => path.endsWith(".service.ts"));
    const proto = join(workspace.path, "all/proto");
    const result = await generate({
      files: [...services, all],
      proto,
      importExtension: "ts",
      cwd: join(workspace.path, "all"),
    });
    expect(result.diagnostics).toEqual([]);
    expect(result.warnings).toEqual([]);
    writeGenerated(result.files);
    writeModule(proto, result.files);
    expect(missingDescriptors(proto, result.files)).toEqual([]);

    // Compilers accept the modules and the generated files.
    workspace.write(
      "all/tsconfig.json",
      JSON.stringify({
        compilerOptions: {
          strict: true,
          module: "nodenext",
          target: "es2023",
          noEmit: true,
          types: ["node"],
          skipLibCheck: true,
          allowImportingTsExtensions: true,
          exactOptionalPropertyTypes: true,
          noUncheckedIndexedAccess: true,
        },
        include: ["**/*.ts"],
      }),
    );
    execFileSync(process.execPath, [TSC, "-p", join(workspace.path, "all")], { stdio: "inherit" });

    const load = (name: string): Promise<unknown> =>
      import(/* @vite-ignore */ join(workspace.path, "all/generated", name));
    const { allMethods } = (await load("all.ts")) as { allMethods: Record<string, { input: MessageCodec<unknown> }> };
    const { allProtobuf } = (await load("all.protobuf.ts")) as { allProtobuf: ProtobufService };
    const random = numbers(SEED);
    let compared = 0;
    for (const schema of messages) {
      const name = constantOf(schema).toLowerCase();
      const [codec, message] = [allMethods[name]?.input, allProtobuf.methods[name]?.input];
      if (codec === undefined || message === undefined) continue;
      const protobuf = protobufCodec(codec, message);
      for (let i = 0; i < VALUES; i++) {
        const bytes = toBinary(schema, randomMessage(schema, random));
        const value = protobuf.decode(bytes, 0, bytes.length);
        const hex = (each: Uint8Array): string => `${schema.typeName} ${Buffer.from(each).toString("hex")}`;
        expect(hex(encode(protobuf, value))).toBe(hex(bytes));
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(40 * VALUES);
  },
);
