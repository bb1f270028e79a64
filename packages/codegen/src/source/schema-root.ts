/** A module's export from which a schema can be reached. */
export interface SchemaRoot {
  /** Absolute path of the module. */
  readonly file: string;
  readonly name: string;
}
