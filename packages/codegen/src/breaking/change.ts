/**
 * Effect of a change on users of the earlier version:
 * - `wire`: messages or calls between the two versions fail;
 * - `source`: programs that compiled with the old client no longer compile;
 * - `validation`: messages of the same shape may now be refused;
 * - `safe`: none of these.
 */
export type ChangeClass = "wire" | "source" | "validation" | "safe";

/** All classes of changes, the most severe first. */
export const CHANGE_CLASSES: readonly ChangeClass[] = ["wire", "source", "validation", "safe"];

/** A difference between two versions of a service's schema. */
export interface Change {
  readonly class: ChangeClass;
  /** Kind of the difference. Tools can rely on these names. */
  readonly kind: ChangeKind;
  readonly service: string;
  readonly method?: string;
  /** Location of the difference in the method, such as `input.user.tags[]`. */
  readonly path?: string;
  readonly message: string;
}

/**
 * Effect of each kind of difference in a message, for input and output. Servers are assumed to be upgraded first: the
 * new server must accept input of an old client, and an old client must accept output of the new server.
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

/** Effect of each kind of difference that is not in a message. */
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

export type ShapeChangeKind = keyof typeof SHAPE_CHANGES;
export type MethodChangeKind = keyof typeof METHOD_CHANGES;
export type ChangeKind = ShapeChangeKind | MethodChangeKind;
