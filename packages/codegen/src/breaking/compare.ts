import type { ItemCursor } from "@quicrpc/core/internal";
import { ownValue } from "../schema/node.js";
import { CanonicalText } from "../shape/canonical.js";
import { lastPart, methodName, payloadName } from "../proto/model.js";
import type { MethodSnapshot, SchemaSnapshot, ServiceSnapshot, Shape, ShapeTypes } from "../shape/shape.js";
import { CHANGE_CLASSES, type Change, METHOD_CHANGES, type MethodChangeKind, SHAPE_CHANGES } from "./change.js";
import type { Direction } from "../types/zod.js";
import { compareProto } from "./compare-proto.js";
import { compareShapes } from "./compare-shapes.js";
import { reasonWithoutJson } from "./json-shape.js";

/** Options of `compareSnapshots`. */
export interface CompareOptions {
  /**
   * True if there are clients over HTTP, such as users of the OpenAPI document. They call methods by name and use plain
   * JSON. Default: false.
   */
  readonly http?: boolean;
}

/**
 * Returns the differences between two versions of a project's services, the most severe first. Compares the checks of a
 * service only if both versions were written in the same snapshot format.
 */
export function compareSnapshots(
  before: SchemaSnapshot,
  after: SchemaSnapshot,
  { http = false }: CompareOptions = {},
): Change[] {
  const changes: Change[] = [];
  const renamed = new Map<string, string>();
  for (const [name, { id }] of Object.entries(after.services)) {
    if (Object.hasOwn(before.services, name)) continue;
    const old = Object.entries(before.services).find(
      ([other, service]) => service.id === id && !Object.hasOwn(after.services, other),
    );
    if (old !== undefined) renamed.set(old[0], name);
    else changes.push(change("service-added", { service: name }, "a new service"));
  }
  for (const [name, old] of Object.entries(before.services)) {
    const service = renamed.get(name) ?? name;
    const now = after.services[service];
    if (now === undefined) {
      changes.push(change("service-removed", { service: name }, "the service is gone"));
      continue;
    }
    if (service !== name) changes.push(change("service-renamed", { service: name }, `it is called ${service} now`));
    if (old.id !== now.id) {
      changes.push(change("service-id-changed", { service }, `its id was ${old.id} and is ${now.id}`));
    }
    const found: Change[] = [];
    compareServices(name, old, service, now, http, found);
    // A check in only one version may be missing in the other because its format cannot express it.
    changes.push(...(old.format === now.format ? found : found.filter(({ kind }) => !kind.startsWith("check-"))));
    compareProto(old.proto ?? {}, now.proto ?? {}, (kind, path, message) => {
      changes.push(change(kind, { service, path }, message));
    });
  }
  return changes.sort((a, b) => CHANGE_CLASSES.indexOf(a.class) - CHANGE_CLASSES.indexOf(b.class));
}

function compareServices(
  oldName: string,
  before: ServiceSnapshot,
  service: string,
  after: ServiceSnapshot,
  http: boolean,
  changes: Change[],
): void {
  const matched = new Set<string>();
  for (const [name, old] of Object.entries(before.methods)) {
    const renamed = Object.entries(after.methods).find(
      ([other, { id }]) => id === old.id && !Object.hasOwn(before.methods, other),
    );
    const method = Object.hasOwn(after.methods, name) ? name : (renamed?.[0] ?? name);
    const now = ownValue(after.methods, method);
    if (now === undefined) {
      changes.push(change("method-removed", { service, method }, "the method is gone"));
      continue;
    }
    matched.add(method);
    const at = { service, method };
    if (method !== name)
      changes.push(change("method-renamed", { service, method: name }, `it is called ${method} now`));
    if (old.id !== now.id) changes.push(change("method-id-changed", at, `its id was ${old.id} and is ${now.id}`));
    const hadProto = isInProto(before, oldName, name, old);
    // The name in the .proto file may change although the method's own name does not.
    const rpc = method === name ? old : now;
    if (hadProto && after.proto !== undefined && !isInProto(after, service, method, rpc)) {
      changes.push(change("proto-method-removed", at, "it is no longer in the .proto file"));
    }
    const versions = [
      { method: old, types: before.types },
      { method: now, types: after.types },
    ] as const;
    compareMethods(at, ...versions, changes);
    if (http) compareOverHttp(at, [`/${oldName}/${name}`, `/${service}/${method}`], ...versions, changes);
  }
  for (const method of Object.keys(after.methods)) {
    if (!matched.has(method)) changes.push(change("method-added", { service, method }, "a new method"));
  }
  compareTypeNames(service, before.types, after.types, changes);
}

function isInProto(
  { proto = {} }: ServiceSnapshot,
  service: string,
  method: string,
  { proto: rpc = methodName(method) }: MethodSnapshot,
): boolean {
  return Object.hasOwn(proto, payloadName(lastPart(service), rpc, "Request"));
}

/**
 * Adds the differences that affect clients over HTTP. Their requests contain the name of the method, and plain JSON
 * cannot represent some messages.
 */
function compareOverHttp(
  at: Place,
  [oldPath, path]: readonly [before: string, after: string],
  before: VersionedMethod,
  after: VersionedMethod,
  changes: Change[],
): void {
  if (oldPath !== path) changes.push(change("path-changed", at, `over HTTP it was at ${oldPath} and is at ${path}`));
  const [had, has] = [reasonWithoutJson(before.method, before.types), reasonWithoutJson(after.method, after.types)];
  if (had === undefined && has !== undefined) {
    const message = `over HTTP it is no longer called in JSON, which does not say all of ${has}`;
    changes.push(change("json-removed", at, message));
  } else if (had !== undefined && has === undefined) {
    changes.push(change("json-added", at, "over HTTP it is called in JSON now"));
  }
}

interface VersionedMethod {
  readonly method: MethodSnapshot;
  readonly types: ShapeTypes;
}

type Place = Pick<Change, "service" | "method" | "path">;

/** Options of methods that are on or off, each with the effect of turning it on or off. */
const FLAGS = [
  [
    "idempotent",
    "idempotent",
    "it is no longer idempotent, and old clients go on calling it again",
    "it is idempotent now",
  ],
  [
    "readOnly",
    "read-only",
    "it is no longer readOnly, and is not answered to GET and server-sent events",
    "it is readOnly now",
  ],
  [
    "once",
    "once",
    "it is no longer once, and calls that old clients make again run again",
    "it is once now, and calls of old clients have no key",
  ],
] as const;

function compareMethods(at: Place, before: VersionedMethod, after: VersionedMethod, changes: Change[]): void {
  const { method: old } = before;
  const { method: now } = after;
  if (old.kind !== now.kind) {
    // Messages are not compared further, because the items of a stream cannot be compared with single messages.
    changes.push(change("method-kind-changed", at, `it was ${old.kind} and is ${now.kind}`));
    return;
  }
  for (const [key, kind, gone, there] of FLAGS) {
    if ((old[key] === true) === (now[key] === true)) continue;
    changes.push(now[key] === true ? change(`${kind}-added`, at, there) : change(`${kind}-removed`, at, gone));
  }
  compareCursors(at, old.cursor, now.cursor, changes);
  if (old.delivery !== now.delivery) {
    const text = (delivery: string | undefined): string => delivery ?? "reliable";
    changes.push(change("delivery-changed", at, `its delivery was ${text(old.delivery)} and is ${text(now.delivery)}`));
  }
  for (const role of ["input", "output"] as const) {
    if (old[role] === undefined && now[role] !== undefined) {
      changes.push(change(`${role}-added`, { ...at, path: role }, `it has an ${role} now`));
    } else if (old[role] !== undefined && now[role] === undefined) {
      changes.push(change(`${role}-removed`, { ...at, path: role }, `it has no ${role} any more`));
    } else {
      compareMessages(at, role, role, [old[role], before.types], [now[role], after.types], changes);
    }
  }
  compareResults(at, before, after, changes);
  compareErrors(at, before, after, changes);
}

/**
 * Compares the cursors of items. Old clients continue streams from stored cursors, and check items by the cursor fields
 * that they know.
 */
function compareCursors(at: Place, old: ItemCursor | undefined, now: ItemCursor | undefined, changes: Change[]): void {
  if (old === undefined && now === undefined) return;
  if (old === undefined) {
    changes.push(change("cursor-added", at, "its items have cursors now"));
  } else if (now === undefined) {
    changes.push(
      change("cursor-removed", at, "its items have no cursors any more, and streams of old clients cannot go on"),
    );
  } else if (old.field !== now.field) {
    changes.push(change("cursor-changed", at, `the cursor of its items was ${old.field} and is ${now.field}`));
  } else if (old.predecessor !== now.predecessor) {
    const text = (field: string | undefined): string => field ?? "not told";
    const message = `the item before was ${text(old.predecessor)} and is ${text(now.predecessor)}`;
    changes.push(change("cursor-changed", at, message));
  }
}

type Message = readonly [shape: Shape | undefined, types: ShapeTypes];

function compareMessages(
  at: Place,
  role: Direction,
  path: string,
  [before, oldTypes]: Message,
  [after, newTypes]: Message,
  changes: Change[],
): void {
  if (before === undefined || after === undefined) return;
  compareShapes({ shape: before, types: oldTypes }, { shape: after, types: newTypes }, path, (kind, where, message) => {
    const [input, output] = SHAPE_CHANGES[kind];
    changes.push({ class: role === "input" ? input : output, kind, ...at, path: where, message });
  });
}

/**
 * Compares the values that callers receive. Defaults and conversions may change these values although the messages stay
 * the same.
 */
function compareResults(at: Place, before: VersionedMethod, after: VersionedMethod, changes: Change[]): void {
  const old = before.method.result ?? before.method.output;
  const now = after.method.result ?? after.method.output;
  if (old === undefined || now === undefined) return;
  const reported = new Set(
    changes
      .filter((each) => each.method === at.method && (each.class === "wire" || each.class === "source"))
      .map((each) => each.path),
  );
  compareShapes(
    { shape: old, types: before.types },
    { shape: now, types: after.types },
    "output",
    (kind, path, message) => {
      const [, output] = SHAPE_CHANGES[kind];
      if (reported.has(path) || output === "safe" || output === "validation") return;
      changes.push(change("result-changed", { ...at, path }, `as the caller gets it: ${message}`));
    },
  );
}

function compareErrors(at: Place, before: VersionedMethod, after: VersionedMethod, changes: Change[]): void {
  const [old, now] = [before.method.errors ?? {}, after.method.errors ?? {}];
  for (const [reason, { code, details }] of Object.entries(old)) {
    const path = `errors.${reason}`;
    const other = ownValue(now, reason);
    if (other === undefined) {
      changes.push(change("error-removed", { ...at, path }, "the error is gone"));
      continue;
    }
    if (code !== other.code) {
      changes.push(change("error-code-changed", { ...at, path }, `its code was ${code} and is ${other.code}`));
    }
    compareMessages(at, "output", path, [details, before.types], [other.details, after.types], changes);
  }
  for (const reason of Object.keys(now)) {
    if (!Object.hasOwn(old, reason))
      changes.push(change("error-added", { ...at, path: `errors.${reason}` }, "a new error"));
  }
}

/** Reports type names that no longer exist although the type does, because programs import types by name. */
function compareTypeNames(service: string, before: ShapeTypes, after: ShapeTypes, changes: Change[]): void {
  const [oldText, newText] = [new CanonicalText(before), new CanonicalText(after)];
  const candidates = Object.keys(after).filter((name) => !Object.hasOwn(before, name));
  for (const name of Object.keys(before)) {
    if (Object.hasOwn(after, name)) continue;
    const text = oldText.of({ kind: "ref", name });
    const now = candidates.find((each) => newText.of({ kind: "ref", name: each }) === text);
    if (now !== undefined) {
      changes.push(change("type-renamed", { service, path: name }, `the type ${name} is called ${now} now`));
    }
  }
}

function change(kind: MethodChangeKind, at: Place, message: string): Change {
  return { class: METHOD_CHANGES[kind], kind, ...at, message };
}
