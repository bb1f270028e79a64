/** A message from a measuring codec, with times from `performance.now()`. */
export class Received {
  readonly value: unknown;
  readonly arrived: number;
  readonly decoded: number;

  constructor(value: unknown, arrived: number, decoded: number) {
    this.value = value;
    this.arrived = arrived;
    this.decoded = decoded;
  }
}
