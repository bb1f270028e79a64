/**
 * A service that every server of this library has over HTTP. Clients call its method `ping` to check that the server is
 * reachable.
 */
export const HTTP_SERVICE = { name: "quicrpc.v1.Http", id: 0 } as const;
