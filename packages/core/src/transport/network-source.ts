/** Returns the source that limits count by: an IPv4 address, or the /64 network of one of IPv6, which is usually one host's or one site's. */
export function sourceOf(address: string): string {
  if (!address.includes(":")) return address;
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  if (!plain.includes(":")) return plain;
  const [head = "", tail] = plain.split("::");
  const first = head.split(":").filter(Boolean);
  const last = tail?.split(":").filter(Boolean) ?? [];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => "0");
  return [...first, ...zeros, ...last].slice(0, 4).join(":");
}
