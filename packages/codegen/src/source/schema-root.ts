/** A module's export that leads to a schema. */
export interface SchemaRoot {
  /** Absolute path of the module. */
  readonly file: string;
  readonly name: string;
}
