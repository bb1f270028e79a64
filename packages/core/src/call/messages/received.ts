/** A message on its way from a codec that measures, with points in time by `performance.now()`. */
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
