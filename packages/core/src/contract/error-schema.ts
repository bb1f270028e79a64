import type { Code } from "../errors.js";
import type { Schema } from "./schema.js";

/** An error as `rpc` accepts it: the schema of its details, or an object with code and details. */
type ErrorSchema = Schema | { readonly code?: Code; readonly details?: Schema };

/** Errors by name, as `rpc` accepts them. */
export type ErrorSchemas = Readonly<Record<string, ErrorSchema>>;

/** The code of a declared error without an explicit code. */
const DEFAULT_CODE = "failed_precondition";

/** An error of a service schema. */
export interface DeclaredError<ItsCode extends Code = Code, Details extends Schema | undefined = Schema | undefined> {
  readonly code: ItsCode;
  readonly details: Details;
}

/** Declared errors by name, normalized. */
export type DeclaredErrors<Errors extends ErrorSchemas> = {
  readonly [Name in keyof Errors]: Errors[Name] extends Schema
    ? DeclaredError<typeof DEFAULT_CODE, Errors[Name]>
    : DeclaredError<
        Errors[Name] extends { readonly code: infer Given extends Code } ? Given : typeof DEFAULT_CODE,
        Errors[Name] extends { readonly details: infer Details extends Schema } ? Details : undefined
      >;
};

/** Normalizes the declared errors. Invalid entries and unknown properties are kept, so that the generator can report them. */
export function normalErrors<Errors extends ErrorSchemas>(errors: Errors): DeclaredErrors<Errors> {
  const declared = Object.entries(errors).map(([name, error]): [string, DeclaredError] => {
    if (!isPlain(error)) return [name, { code: DEFAULT_CODE, details: error }];
    return [name, { ...error, code: error.code ?? DEFAULT_CODE, details: error.details }];
  });
  return Object.fromEntries(declared) as unknown as DeclaredErrors<Errors>;
}

/** Returns true if an error is an object with code and details, and false if it is the schema of the details. */
function isPlain(error: ErrorSchema): error is Exclude<ErrorSchema, Schema> {
  return typeof error === "object" && error !== null && Object.getPrototypeOf(error) === Object.prototype;
}
