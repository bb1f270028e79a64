/** The name of this platform, as the files and packages of its engine have it: `linux-x64-gnu`. */
export function platformName(): string;
