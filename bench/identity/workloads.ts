import { createPrivateKey, randomBytes, sign } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { BenchError } from '../bench-error.ts';
import { RawConnection } from '../claim/raw-connection.ts';
import type { ServiceProcess } from '../service-process.ts';
import { audience, type ExchangeFixture, resource, scope } from './fixture.ts';
import type { WorkloadName } from './measurement.ts';

/** One of the operations whose rates are compared. */
export interface Workload {
  readonly name: WorkloadName;
  /** The process that does the work; undefined for this process. */
  readonly service: ServiceProcess | undefined;
  /** Prepares a round. Each round opens its own connections, because servers close idle ones. */
  open(): Promise<Round>;
}

export interface Round {
  /** The number of concurrent operations. */
  readonly concurrency: number;
  run(worker: number): Promise<void>;
  close(): void;
}

/** Requests to identity and to oidc-provider, each with its own credential on its own connection. */
export function requestsOf(
  { identity, oidcProvider, tokens, clients }: ExchangeFixture,
  connections: number,
): Workload[] {
  const bearers = tokens.slice(0, connections);
  const accounts = clients.slice(0, connections);
  const form = { grant_type: 'client_credentials', scope, resource };
  const exchangeBodies = bearers.map((token) => JSON.stringify({ token, audience }));
  const accountBodies = accounts.map((client) => JSON.stringify({ ...client, audience, scopes: [scope] }));
  const introspectionBodies = bearers.map((token) => JSON.stringify({ token }));
  const formBodies = accounts.map(({ clientId, clientSecret }) =>
    new URLSearchParams({ ...form, client_id: clientId, client_secret: clientSecret }).toString(),
  );
  const base = '/api/v1/platform-access-tokens';
  return [
    overHttp('exchange', identity, `${base}:exchange`, json, exchangeBodies),
    overHttp('service account', identity, '/api/v1/tokens/exchange', json, accountBodies),
    overHttp('introspection', identity, `${base}:introspect`, json, introspectionBodies),
    overHttp('oidc-provider', oidcProvider, '/token', 'application/x-www-form-urlencoded', formBodies),
  ];
}

const json = 'application/json';

/** One request at a time on each connection. */
function overHttp(
  name: WorkloadName,
  service: ServiceProcess,
  path: string,
  mediaType: string,
  bodies: readonly string[],
): Workload {
  const { port } = service;
  const requests = bodies.map((body) => {
    const head = [
      `POST ${path} HTTP/1.1`,
      `host: 127.0.0.1:${port}`,
      `content-type: ${mediaType}`,
      `content-length: ${body.length}`,
    ];
    return `${head.join('\r\n')}\r\n\r\n${body}`;
  });
  return {
    name,
    service,
    async open() {
      const sockets = await Promise.all(requests.map(() => RawConnection.open(port)));
      return {
        concurrency: requests.length,
        async run(worker) {
          const status = await (sockets[worker] as RawConnection).exchange(requests[worker] as string);
          if (status !== 200) throw new BenchError(`${name}: a request got ${status}.`);
        },
        close: () => sockets.forEach((socket) => void socket.close()),
      };
    },
  };
}

const signAsync = promisify(sign);
/** About the size of an access token's signed part. */
const signedBytes = 900;

/** Only RS256 signatures by the same key, two at a time per core: the upper limit for exchanges. */
export function bareSignatures({ signingKey }: ExchangeFixture): Workload {
  const key = createPrivateKey(signingKey);
  const data = randomBytes(signedBytes);
  const round = {
    concurrency: 2 * availableParallelism(),
    async run() {
      await signAsync('RSA-SHA256', data, key);
    },
    close: () => undefined,
  };
  return { name: 'signature', service: undefined, open: async () => round };
}
