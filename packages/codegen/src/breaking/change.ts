/**
 * The effect of a change on those who use the version before:
 * - `wire`: messages or calls of one version fail with the other;
 * - `source`: programs that compiled against the old client no longer do;
 * - `validation`: messages of the same shape may now be refused;
 * - `safe`: none of this.
 */
export type ChangeClass = "wire" | "source" | "validation" | "safe";

/** The classes, worst first. */
export const CHANGE_CLASSES: readonly ChangeClass[] = ["wire", "source", "validation", "safe"];

/** Differences of a message. */
export type ShapeChangeKind =
  | "type-changed"
  | "option-added"
  | "option-removed"
  | "type-widened"
  | "type-narrowed"
  | "field-added-required"
  | "field-added-optional"
  | "field-added-refused"
  | "field-removed-required"
  | "field-removed-optional"
  | "field-removed-refused"
  | "field-now-required"
  | "field-now-optional"
  | "others-refused"
  | "others-dropped"
  | "others-added"
  | "others-added-refused"
  | "others-removed"
  | "others-removed-refused"
  | "keys-now-required"
  | "keys-now-optional"
  | "items-added"
  | "items-removed"
  | "check-tightened"
  | "check-loosened"
  | "check-changed";

/** Differences outside of messages. */
export type MethodChangeKind =
  | "service-removed"
  | "service-added"
  | "service-renamed"
  | "service-id-changed"
  | "method-removed"
  | "method-added"
  | "method-renamed"
  | "method-id-changed"
  | "method-kind-changed"
  | "idempotent-removed"
  | "idempotent-added"
  | "read-only-removed"
  | "read-only-added"
  | "once-removed"
  | "once-added"
  | "cursor-removed"
  | "cursor-added"
  | "cursor-changed"
  | "delivery-changed"
  | "input-added"
  | "input-removed"
  | "output-added"
  | "output-removed"
  | "result-changed"
  | "error-added"
  | "error-removed"
  | "error-code-changed"
  | "type-renamed"
  | "path-changed"
  | "json-removed"
  | "json-added";

export type ChangeKind = ShapeChangeKind | MethodChangeKind;

/** One difference between two versions of a service. */
export interface Change {
  readonly class: ChangeClass;
  /** The kind of difference; stable, for tools. */
  readonly kind: ChangeKind;
  readonly service: string;
  readonly method?: string;
  /** Where in the method, as in `input.user.tags[]`. */
  readonly path?: string;
  readonly message: string;
}

/** Which way a message goes: `input` from clients to servers, `output` back. */
export type Role = "input" | "output";

/**
 * The class of each difference of a message, for input and for output. Servers are taken to be upgraded first: an input of
 * an old client must suit the new server, and an output of the new server must suit an old client.
 */
export const SHAPE_CHANGES: Readonly<Record<ShapeChangeKind, readonly [input: ChangeClass, output: ChangeClass]>> = {
  "type-changed": ["wire", "wire"],
  "option-added": ["safe", "wire"],
  "option-removed": ["wire", "source"],
  "type-widened": ["safe", "wire"],
  "type-narrowed": ["wire", "safe"],
  "field-added-required": ["wire", "safe"],
  "field-added-optional": ["safe", "safe"],
  "field-added-refused": ["safe", "wire"],
  "field-removed-required": ["source", "wire"],
  "field-removed-optional": ["source", "source"],
  "field-removed-refused": ["wire", "safe"],
  "field-now-required": ["wire", "safe"],
  "field-now-optional": ["safe", "wire"],
  "others-refused": ["validation", "safe"],
  "others-dropped": ["safe", "safe"],
  "others-added": ["safe", "safe"],
  "others-added-refused": ["safe", "wire"],
  "others-removed": ["source", "source"],
  "others-removed-refused": ["wire", "source"],
  "keys-now-required": ["wire", "safe"],
  "keys-now-optional": ["safe", "wire"],
  "items-added": ["wire", "wire"],
  "items-removed": ["wire", "wire"],
  "check-tightened": ["validation", "safe"],
  "check-loosened": ["safe", "validation"],
  "check-changed": ["validation", "validation"],
};

/** The class of each difference outside of messages. */
export const METHOD_CHANGES: Readonly<Record<MethodChangeKind, ChangeClass>> = {
  "service-removed": "wire",
  "service-added": "safe",
  "service-renamed": "source",
  "service-id-changed": "wire",
  "method-removed": "wire",
  "method-added": "safe",
  "method-renamed": "source",
  "method-id-changed": "wire",
  "method-kind-changed": "wire",
  "idempotent-removed": "wire",
  "idempotent-added": "safe",
  "read-only-removed": "wire",
  "read-only-added": "safe",
  "once-removed": "wire",
  "once-added": "wire",
  "cursor-removed": "wire",
  "cursor-added": "safe",
  "cursor-changed": "wire",
  "delivery-changed": "safe",
  "input-added": "wire",
  "input-removed": "source",
  "output-added": "safe",
  "output-removed": "wire",
  "result-changed": "source",
  "error-added": "safe",
  "error-removed": "source",
  "error-code-changed": "wire",
  "type-renamed": "source",
  "path-changed": "wire",
  "json-removed": "wire",
  "json-added": "safe",
};
