/** An export of a module that is a schema or contains one. */
export interface SchemaRoot {
  /** Absolute path of the module. */
  readonly file: string;
  readonly name: string;
}
