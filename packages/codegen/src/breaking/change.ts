/**
 * The effect of a change on users of the earlier version:
 * - `wire`: messages or calls between the two versions fail;
 * - `source`: programs that compiled with the old client no longer do;
 * - `validation`: messages of the same shape may now be refused;
 * - `safe`: none of these.
 */
export type ChangeClass = "wire" | "source" | "validation" | "safe";

/** The classes, the worst first. */
export const CHANGE_CLASSES: readonly ChangeClass[] = ["wire", "source", "validation", "safe"];

/** A difference between two versions of a service. */
export interface Change {
  readonly class: ChangeClass;
  /** The kind of difference. Stable, for tools. */
  readonly kind: ChangeKind;
  readonly service: string;
  readonly method?: string;
  /** Location in the method, such as `input.user.tags[]`. */
  readonly path?: string;
  readonly message: string;
}

/** Direction of a message: `input` from clients to servers, `output` back. */
export type Role = "input" | "output";

/**
 * The class of each difference within a message, for input and for output. It is assumed that servers are upgraded
 * first: an input of an old client must suit the new server, and an output of the new server must suit an old client.
 */
export const SHAPE_CHANGES = {
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
} as const;

/** The class of each difference outside messages. */
export const METHOD_CHANGES = {
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
  "proto-method-removed": "wire",
  "proto-type-changed": "wire",
  "proto-number-changed": "wire",
  "proto-field-renamed": "source",
} as const;

/** Kinds of differences within a message. */
export type ShapeChangeKind = keyof typeof SHAPE_CHANGES;
/** Kinds of differences outside messages. */
export type MethodChangeKind = keyof typeof METHOD_CHANGES;
export type ChangeKind = ShapeChangeKind | MethodChangeKind;
