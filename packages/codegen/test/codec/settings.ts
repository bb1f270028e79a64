/** Random schemas of each comparison that `npm run differential` asks for; undefined in other runs, which make few. */
const SCHEMAS = process.env["QUICRPC_DIFFERENTIAL_SCHEMAS"];

export const SEED: number = Number(process.env["QUICRPC_DIFFERENTIAL_SEED"] ?? 20_260);

/** The batches of `size` random schemas that a test compares, `few` unless more are asked for. */
export function batchesOf(few: number, size: number): number {
  return SCHEMAS === undefined ? few : Math.ceil(Number(SCHEMAS) / size);
}
