import type { Code } from "../errors.js";
import type { Schema } from "./schema.js";

/** An error as `rpc` takes it: the schema of its details, or what there is to say of it. */
type ErrorSchema = Schema | { readonly code?: Code; readonly details?: Schema };

/** Errors by name, as `rpc` takes them. */
export type ErrorSchemas = Readonly<Record<string, ErrorSchema>>;

/** The code of a declared error that names none. */
const DEFAULT_CODE = "failed_precondition";

/** An error of a service schema. */
export interface DeclaredError<ItsCode extends Code = Code, Details extends Schema | undefined = Schema | undefined> {
  readonly code: ItsCode;
  readonly details: Details;
}

/** Errors by name, in one form. */
export type DeclaredErrors<Errors extends ErrorSchemas> = {
  readonly [Name in keyof Errors]: Errors[Name] extends Schema
    ? DeclaredError<typeof DEFAULT_CODE, Errors[Name]>
    : DeclaredError<
        Errors[Name] extends { readonly code: infer Given extends Code } ? Given : typeof DEFAULT_CODE,
        Errors[Name] extends { readonly details: infer Details extends Schema } ? Details : undefined
      >;
};

/** Returns all errors in one form. What is no error, and what it does not know of one, is kept for the generator to complain of. */
export function normalErrors<Errors extends ErrorSchemas>(errors: Errors): DeclaredErrors<Errors> {
  const declared = Object.entries(errors).map(([name, error]): [string, DeclaredError] => {
    if (!isPlain(error)) return [name, { code: DEFAULT_CODE, details: error }];
    return [name, { ...error, code: error.code ?? DEFAULT_CODE, details: error.details }];
  });
  return Object.fromEntries(declared) as unknown as DeclaredErrors<Errors>;
}

/** Whether an error says its code and details in an object; otherwise it is the schema of the details. */
function isPlain(error: ErrorSchema): error is Exclude<ErrorSchema, Schema> {
  return typeof error === "object" && error !== null && Object.getPrototypeOf(error) === Object.prototype;
}
