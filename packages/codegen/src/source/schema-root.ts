/** An export of a module, from which a schema is reached. */
export interface SchemaRoot {
  /** The module's absolute path. */
  readonly file: string;
  readonly name: string;
}
