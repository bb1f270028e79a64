// Pages load this file, and not the checks of options, which only their development builds have.

/** Returns options with those of `advanced` next to the others. */
export function flatOptions<Options extends { readonly advanced?: object }>({
  advanced,
  ...options
}: Options): Omit<Options, "advanced"> & NonNullable<Options["advanced"]> {
  return { ...options, ...advanced };
}
