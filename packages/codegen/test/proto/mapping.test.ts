// The form in protobuf of each kind of schema.
import { afterAll, describe, expect, test } from "vitest";
import { type Diagnostic, generate, type GeneratedFile, type GenerateResult } from "../../src/index.js";
import { createWorkspace } from "../workspace.js";
import { BUF, buf, writeModule } from "./buf.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

let runs = 0;
interface Made {
  readonly text: string;
  readonly files: readonly GeneratedFile[];
  readonly warnings: readonly Diagnostic[];
}

/** Generates a schema that has mistakes, and returns them. */
async function problemsOf(source: string): Promise<readonly Diagnostic[]> {
  const { files, diagnostics } = await generated(source);
  expect(files).toEqual([]);
  return diagnostics;
}

async function protoOf(source: string): Promise<Made> {
  const { files, diagnostics, warnings, cwd } = await generated(source);
  expect(diagnostics).toEqual([]);
  if (BUF !== undefined) {
    writeModule(`${cwd}/proto`, files);
    expect(buf(`${cwd}/proto`, "lint")).toBe("");
  }
  return { text: files.find(({ path }) => path.endsWith(".proto"))?.text ?? "", files, warnings };
}

async function generated(source: string): Promise<GenerateResult & { readonly cwd: string }> {
  const folder = `m${++runs}`;
  const file = workspace.write(
    `${folder}/a.service.ts`,
    `import { notify, rpc, service, stream, bytes } from "@quicrpc/core";\nimport { blob } from "@quicrpc/blobs";\nimport { z } from "zod";\n${source}`,
  );
  const cwd = `${workspace.path}/${folder}`;
  return { ...(await generate({ files: [file], proto: "proto", cwd })), cwd };
}

/** The fields of a message in proto3, on one line, with the types inside it. */
async function fieldOf(schema: string, before = ""): Promise<string> {
  const { text, warnings } = await protoOf(
    `${before}\nexport const S = service("test.v1.TestService", { m: rpc({ input: z.object({ a: ${schema} }) }) });`,
  );
  if (warnings.length > 0) return `${warnings[0]?.line}: ${warnings[0]?.message}`;
  const [, body = ""] = /message TestServiceMRequest \{\n(.*?)\n\}/s.exec(text) ?? [];
  return body.replaceAll(/\s+/g, " ").trim();
}

describe("a field", () => {
  test.each([
    ["z.string()", "string a = 1;"],
    ["z.email().brand<'E'>()", "string a = 1;"],
    ["z.templateLiteral(['a', z.int()])", "string a = 1;"],
    ["z.iso.datetime()", "string a = 1;"],
    ["z.number()", "double a = 1;"],
    ["z.number().min(1)", "double a = 1;"],
    ["z.int()", "int64 a = 1;"],
    ["z.int().min(0).max(9)", "int64 a = 1;"],
    ["z.int().refine((a) => a > 1)", "int64 a = 1;"],
    ["z.int32()", "int32 a = 1;"],
    ["z.uint32()", "uint32 a = 1;"],
    ["z.float32()", "float a = 1;"],
    ["z.float64()", "double a = 1;"],
    ["z.bigint()", "int64 a = 1;"],
    ["z.int64()", "int64 a = 1;"],
    ["z.uint64()", "uint64 a = 1;"],
    ["z.boolean()", "bool a = 1;"],
    ["z.date()", "google.protobuf.Timestamp a = 1;"],
    ["z.instanceof(Uint8Array)", "bytes a = 1;"],
    ["z.instanceof(Float64Array)", "bytes a = 1;"],
    ["z.unknown()", "google.protobuf.Value a = 1;"],
    ["z.json()", "google.protobuf.Value a = 1;"],
    ["z.null()", "google.protobuf.NullValue a = 1;"],
    ["z.undefined()", ""],
    ["z.literal('x')", "string a = 1;"],
    ["z.literal(1)", "double a = 1;"],
    ["z.literal(true)", "bool a = 1;"],
    ["z.string().optional()", "optional string a = 1;"],
    ["z.string().nullable()", "optional string a = 1;"],
    ["z.string().default('x')", "optional string a = 1;"],
    ["z.string().catch('x')", "optional string a = 1;"],
    ["z.string().transform(Number)", "string a = 1;"],
    ["z.preprocess(String, z.string())", "string a = 1;"],
    ["z.preprocess(Number, z.int32())", "double a = 1;"],
    ["z.int().transform(String)", "int64 a = 1;"],
    ["z.int32().transform(String)", "int32 a = 1;"],
    ["z.int32().pipe(z.number())", "int32 a = 1;"],
    ["z.uint64().transform(String)", "uint64 a = 1;"],
    ["z.codec(z.float32(), z.string(), { decode: String, encode: Number })", "float a = 1;"],
    ["z.union([z.email(), z.url()])", "string a = 1;"],
    ["z.union([z.string(), z.null()])", "optional string a = 1;"],
    ["z.date().optional()", "google.protobuf.Timestamp a = 1;"],
    ["z.array(z.int())", "repeated int64 a = 1;"],
    ["z.set(z.string())", "repeated string a = 1;"],
    ["z.record(z.string(), z.int())", "map<string, int64> a = 1;"],
    ["z.partialRecord(z.enum(['a', 'b']), z.int())", "map<string, int64> a = 1;"],
    ["z.map(z.int(), z.string())", "map<int64, string> a = 1;"],
    ["z.map(z.union([z.email(), z.url()]), z.int())", "map<string, int64> a = 1;"],
    [
      "z.map(z.object({ b: z.int() }), z.int())",
      "message APair { message Key { int64 b = 1; } Key key = 1; int64 value = 2; } repeated APair a = 1;",
    ],
    ["z.object({ b: z.int() })", "message A { int64 b = 1; } A a = 1;"],
    ["z.object({ b: z.int() }).optional()", "message A { int64 b = 1; } A a = 1;"],
    ["z.array(z.object({ b: z.int() }))", "message AItem { int64 b = 1; } repeated AItem a = 1;"],
    [
      "z.intersection(z.object({ b: z.int() }), z.object({ c: z.int() }))",
      "message A { int64 b = 1; int64 c = 2; } A a = 1;",
    ],
    [
      "z.tuple([z.int(), z.string()], z.int())",
      "message A { int64 item1 = 1; string item2 = 2; repeated int64 rest = 3; } A a = 1;",
    ],
    ["z.int32().meta({ proto: 'sint32' })", "sint32 a = 1;"],
    ["z.uint64().min(1n).meta({ proto: 'fixed64' }).optional()", "optional fixed64 a = 1;"],
    ["z.map(z.int32().meta({ proto: 'sfixed32' }), z.boolean())", "map<sfixed32, bool> a = 1;"],
    ["z.string().meta({ proto: 'wrapper' }).optional()", "message AItem { string value = 1; } AItem a = 1;"],
    [
      "z.object({ b: z.int(), c: z.int() }).meta({ proto: { c: 7, b: [9, 'required'] } })",
      "message A { optional int64 b = 9; int64 c = 7; } A a = 1;",
    ],
    [
      "z.object({ b: z.array(z.int32()), c: z.int() }).meta({ proto: { b: [4, 'unpacked'] } })",
      "message A { repeated int32 b = 4 [packed = false]; int64 c = 5; } A a = 1;",
    ],
    [
      `z.object({ c: z.discriminatedUnion("case", [${["d", "e"].map((arm) => `z.object({ case: z.literal("${arm}"), value: z.int() })`).join()}]) }).meta({ proto: { c: { d: 3, e: 2 } } })`,
      "message A { oneof c { int64 d = 3; int64 e = 2; } } A a = 1;",
    ],
    [
      "z.int32().meta({ proto: { enum: 'B.C', values: { C_UNSPECIFIED: 0, C_ONE: 1, C_UNO: 1 } } })",
      "enum C { // buf:lint:ignore ENUM_ZERO_VALUE_SUFFIX C_UNSPECIFIED = 0; C_ONE = 1; } C a = 1;",
    ],
    ["z.enum(['new', 'in-progress'])", "enum A { A_UNSPECIFIED = 0; A_NEW = 1; A_IN_PROGRESS = 2; } A a = 1;"],
    ["z.union([z.literal('x'), z.literal('y')])", "enum A { A_UNSPECIFIED = 0; A_X = 1; A_Y = 2; } A a = 1;"],
  ])("%s", async (schema, proto) => {
    expect(await fieldOf(schema)).toBe(proto);
  });

  test.each([
    ["z.int().meta({ proto: 'sint64' })", "a int64 encoded as sint64"],
    ["z.string().meta({ proto: 'fixed32' })", "a string encoded as fixed32"],
    ["z.object({ b: z.int() }).meta({ proto: { b: 0 } })", "field number 0"],
    ["z.object({ b: z.int(), c: z.int() }).meta({ proto: { b: 1, c: 1 } })", "two fields with the number 1"],
    ["z.object({ b: z.int() }).meta({ proto: { b: [1, 'packed'] } })", 'a field that is "packed"'],
    [
      "z.object({ b: z.union([z.int(), z.string()]) }).meta({ proto: { b: { c: 1, d: 2 } } })",
      "a oneof of other options than objects with a discriminator and a value",
    ],
    [
      'z.object({ b: z.discriminatedUnion("case", [z.object({ case: z.literal("c"), value: z.int() })]).nullish() }).meta({ proto: { b: { c: 1 } } })',
      "a oneof that may be null or undefined",
    ],
  ])("with metadata that does not fit: %s", async (schema, reason) => {
    expect(await fieldOf(schema)).toContain(`Protobuf has no form for ${reason}: this method is left out`);
  });

  test("with states that protobuf cannot tell apart is a message around them", async () => {
    expect(await fieldOf("z.array(z.int()).optional()")).toBe(
      "message AList { repeated int64 values = 1; } AList a = 1;",
    );
    expect(await fieldOf("z.string().nullish()")).toBe(
      "message AOrNull { oneof kind { google.protobuf.NullValue null_value = 1; string value = 2; } } AOrNull a = 1;",
    );
    expect(await fieldOf("z.array(z.int().nullable())")).toBe(
      "message AItemItem { optional int64 value = 1; } repeated AItemItem a = 1;",
    );
    expect(await fieldOf("z.array(z.string().meta({ proto: 'wrapper' }).optional())")).toBe(
      "message AItemItem { message ValueItem { string value = 1; } ValueItem value = 1; } repeated AItemItem a = 1;",
    );
    expect(await fieldOf("z.record(z.string(), z.string().meta({ proto: 'wrapper' }).nullable())")).toBe(
      "message AValueItem { message ValueItem { string value = 1; } ValueItem value = 1; } map<string, AValueItem> a = 1;",
    );
    expect(await fieldOf("z.array(z.array(z.int()))")).toBe(
      "message AItemItem { repeated int64 value = 1; } repeated AItemItem a = 1;",
    );
    expect(await fieldOf("z.record(z.string(), z.array(z.int()))")).toBe(
      "message AValueItem { repeated int64 value = 1; } map<string, AValueItem> a = 1;",
    );
    expect(await fieldOf("z.map(z.date(), z.int())")).toBe(
      "message APair { google.protobuf.Timestamp key = 1; int64 value = 2; } repeated APair a = 1;",
    );
  });

  test("of a message has a name that no other field or oneof has", async () => {
    const oneof = (name: string): string =>
      `z.discriminatedUnion("case", [z.object({ case: z.literal("${name}"), value: z.int() })])`;
    expect(
      await fieldOf(
        `z.object({ fooBAR: ${oneof("b")}, fooBar: ${oneof("d")} }).meta({ proto: { fooBAR: { b: 1 }, fooBar: { d: 3 } } })`,
      ),
    ).toBe("message A { oneof foo_bar { int64 b = 1; } oneof foo_bar_choice { int64 d = 3; } } A a = 1;");
  });

  test("of a union is a message with a oneof", async () => {
    expect(await fieldOf("z.union([z.string(), z.int(), z.object({ b: z.int() })])")).toBe(
      "message A { message Option3 { int64 b = 1; } oneof kind { string string_value = 1; int64 int64_value = 2; Option3 option3 = 3; } } A a = 1;",
    );
    const shape = `z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("circle"), r: z.number() }), z.object({ kind: z.literal("square"), side: z.number() })])`;
    expect(await fieldOf(shape)).toBe(
      "message A { message Circle { double r = 1; } message Square { double side = 1; } oneof kind { Circle circle = 1; Square square = 2; } } A a = 1;",
    );
  });

  test("of an enum with numbers keeps them", async () => {
    expect(await fieldOf("z.enum(Level)", "enum Level { Low = 1, High = 5 }")).toBe(
      "enum A { A_UNSPECIFIED = 0; A_LOW = 1; A_HIGH = 5; } A a = 1;",
    );
    expect(await fieldOf("z.enum(Level)", "enum Level { Off, On }")).toBe(
      "enum A { // buf:lint:ignore ENUM_ZERO_VALUE_SUFFIX A_OFF = 0; A_ON = 1; } A a = 1;",
    );
  });

  test("that contains itself is a message that does", async () => {
    const list = "export const List: z.ZodType = z.array(z.lazy(() => List));";
    expect(await fieldOf("List", list)).toBe(
      "message AItemItem { repeated AItemItem value = 1; } repeated AItemItem a = 1;",
    );
    const { text } = await protoOf(
      `export const Tree = z.object({ name: z.string(), get parts() { return z.array(Tree); } });
       export const S = service("test.v1.TestService", { m: rpc({ output: Tree }) });`,
    );
    expect(text).toContain("message TestServiceMResponse {\n  string name = 1;\n  repeated Tree parts = 2;\n}");
    expect(text).toContain("message Tree {\n  string name = 1;\n  repeated Tree parts = 2;\n}");
  });

  test.each([
    ["blob()", "a blob"],
    ["z.looseObject({ b: z.int() })", "an object with undeclared keys"],
    ["z.looseRecord(z.string().regex(/^b/), z.int())", "a loose record"],
    ["z.custom<string>((a) => a === 1)", "a value that only the schema's own code knows"],
    ["z.object({ ['__proto__']: z.int() })", "a field named __proto__"],
    ["z.never().optional()", "a value that only the schema's own code knows"],
    [
      "z.intersection(z.object({ b: z.int() }), z.record(z.string(), z.int()))",
      "an intersection of other types than objects",
    ],
    ["z.intersection(z.object({ b: z.int() }), z.object({ b: z.string() }))", "an intersection with two fields b"],
  ])("has no form for %s", async (schema, reason) => {
    expect(await fieldOf(schema)).toBe(
      `5: Protobuf has no form for ${reason}: this method is left out of the .proto file.`,
    );
  });
});

describe("names", () => {
  test("of fields are in snake case, and JSON has the schema's", async () => {
    const { text } = await protoOf(
      `export const S = service("test.v1.TestService", { m: rpc({ input: z.object({
        createdAt: z.int(), userID: z.int(), "x-y": z.int(), foo_bar: z.int(), fooBar: z.int(), "1st": z.int(), "\\"q\\"": z.int(), "": z.int() }) }) });`,
    );
    expect(text.match(/(?<=int64 ).*/g)).toEqual([
      "created_at = 1;",
      'user_id = 2 [json_name = "userID"];',
      'x_y = 3 [json_name = "x-y"];',
      'foo_bar = 4 [json_name = "foo_bar"];',
      'foo_bar_2 = 5 [json_name = "fooBar"];',
      'field_1st = 6 [json_name = "1st"];',
      'q = 7 [json_name = "\\042q\\042"];',
      'field = 8 [json_name = ""];',
    ]);
  });

  test("that the author gave are those of messages and enums at the top level", async () => {
    const { text } = await protoOf(
      `/** Who someone is. */\nexport const Role = z.enum(["admin", "user"]);
       export const Person = z.object({ role: Role, other: z.array(Role) }).describe("Someone.");
       export const S = service("test.v1.TestService", { m: rpc({ input: z.object({
         /** The first one: a*\\/. */ a: Person, b: z.array(Person).meta({ deprecated: true }) }) }) });`,
    );
    expect(text).toContain(`message TestServiceMRequest {
  // The first one: a*/.
  Person a = 1;
  repeated Person b = 2 [deprecated = true];
}

// Someone.
message Person {
  Role role = 1;
  repeated Role other = 2;
}

// Who someone is.
enum Role {
  ROLE_UNSPECIFIED = 0;`);
  });

  test("of types that protobuf would find elsewhere are written in full", async () => {
    const { text } = await protoOf(
      `export const Order = z.object({ id: z.int() });
       export const S = service("test.v1.TestService", { m: rpc({ input: z.object({
         order: z.object({ text: z.string() }), orders: z.array(Order), google: z.date() }) }) });`,
    );
    expect(text).toContain("  Order order = 1;\n  repeated .test.v1.Order orders = 2;\n");
  });

  test("that differ only in ways that protobuf ignores get a number", async () => {
    const namesIn = async (schema: string): Promise<string[] | null> =>
      (await fieldOf(schema)).match(/\w+(?= = [1-9])/g);
    expect(await fieldOf('z.enum(["v_1", "v1", "a", "A", "a2"])')).toBe(
      "enum A { A_UNSPECIFIED = 0; A_V_1 = 1; A_V1_2 = 2; A_A = 3; A_A_2 = 4; A_A2_2 = 5; } A a = 1;",
    );
    expect(await namesIn("z.object({ line1: z.int(), line_1: z.int() })")).toEqual(["line1", "line_1_2", "a"]);
    expect(await namesIn("z.object({ id: z.int(), _id: z.int(), id2: z.int() })")).toEqual([
      "id",
      "id_2",
      "id2_2",
      "a",
    ]);
  });

  test.each([
    [
      "two schemas",
      '{ a: rpc({ input: z.object({ "a-b": z.object({ c: z.int() }), aB: z.object({ d: z.int() }) }) }) }',
      { path: "input.aB", message: "test.v1.TestServiceARequest.AB is already the name of another type." },
    ],
    ["two methods", "{ ok: rpc(), Ok: rpc() }", { method: "Ok", message: "Ok is already the name of another method." }],
    [
      "a schema and a message",
      '{ a: rpc({ input: z.object({ x: z.object({ b: z.int() }).meta({ id: "TestServicePingResponse" }) }) }), ping: rpc() }',
      { method: "ping", message: "test.v1.TestServicePingResponse is already the name of another type." },
    ],
    [
      "a message and a service",
      '{ get: rpc() }); export const T = service("test.v1.TestServiceGetRequest", { m: rpc() }',
      { method: "get", message: "test.v1.TestServiceGetRequest is already the name of a service." },
    ],
    [
      "messages of two services",
      '{ barGet: rpc() }); export const T = service("test.v1.TestServiceBar", { get: rpc() }',
      { method: "get", message: "test.v1.TestServiceBarGetRequest is already the name of another type." },
    ],
    [
      "values of two enums",
      '{ a: rpc({ input: z.object({ status: z.enum(["a", "x_y"]), statusX: z.enum(["y"]) }) }) }',
      {
        path: "input.statusX",
        message: "test.v1.TestServiceARequest.STATUS_X_Y is already the name of the value of another enum.",
      },
    ],
  ])("of %s that are the same are refused", async (_, methods, problem) => {
    const problems = await problemsOf(`export const S = service("test.v1.TestService", ${methods});`);
    expect(problems).toMatchObject([{ code: "proto-clash", ...problem }]);
  });

  test("of methods are not taken for those of messages", async () => {
    const { text } = await protoOf(
      'export const S = service("test.v1.Stream", { get: rpc(), streamGetRequest: rpc() });',
    );
    expect(text).toContain("rpc Get(.test.v1.StreamGetRequest) returns (StreamGetResponse);");
  });
});

describe("a service", () => {
  test("has a method of each kind, with its comments and options", async () => {
    const { text } = await protoOf(
      `/** All kinds. */
       export const S = service("test.v1.Kinds", {
         /** One each way. */
         get: rpc({ input: z.int(), output: z.string(), readOnly: true }),
         put: rpc({ idempotent: true }),
         down: rpc({ output: stream(z.int()) }), up: rpc({ input: stream(z.int()) }),
         both: rpc({ input: bytes(), output: bytes() }), tell: notify({ input: z.object({}) }) });`,
    );
    expect(text).toContain(`// All kinds.
// buf:lint:ignore SERVICE_SUFFIX
service Kinds {
  // One each way.
  rpc Get(KindsGetRequest) returns (KindsGetResponse) {
    option idempotency_level = NO_SIDE_EFFECTS;
  }
  rpc Put(KindsPutRequest) returns (KindsPutResponse) {
    option idempotency_level = IDEMPOTENT;
  }
  rpc Down(KindsDownRequest) returns (stream KindsDownResponse);
  rpc Up(stream KindsUpRequest) returns (KindsUpResponse);
  rpc Both(stream KindsBothRequest) returns (stream KindsBothResponse);
  rpc Tell(KindsTellRequest) returns (KindsTellResponse);
}

message KindsGetRequest {
  int64 value = 1;
}`);
    expect(text).toContain("message KindsBothRequest {\n  bytes value = 1;\n}");
    expect(text).toContain("message KindsTellRequest {}\n\nmessage KindsTellResponse {}");
  });

  test("is in the file of its package, with others of it", async () => {
    const { files } = await protoOf(
      `export const Item = z.object({ id: z.int() });
       const of = { m: rpc({ output: z.array(Item) }) };
       export const A = service("shop.v1.OneService", of);
       export const B = service("shop.v1.TwoService", of);
       export const C = service("shop.v2.OneService", of);`,
    );
    const protos = files.filter(({ path }) => path.endsWith(".proto"));
    expect(protos.map(({ path }) => path.slice(path.indexOf("proto/")))).toEqual([
      "proto/shop/v1/shop.proto",
      "proto/shop/v2/shop.proto",
    ]);
    expect(protos[0]?.text.match(/^message Item /gm)).toHaveLength(1);
  });
});
