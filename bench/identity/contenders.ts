import { createPrivateKey, randomBytes, sign } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { BenchError } from '../bench-error.ts';
import { RawConnection } from '../claim/raw-connection.ts';
import type { ServiceProcess } from '../service-process.ts';
import { audience, type ExchangeFixture, resource, scope } from './fixture.ts';
import type { ContenderName } from './measurement.ts';

/** One of the things whose rate is compared. */
export interface Contender {
  readonly name: ContenderName;
  /** The process that does it; undefined for this one. */
  readonly service: ServiceProcess | undefined;
  /** Makes ready what a round needs; connections don't outlive it, because a server ends idle ones. */
  open(): Promise<Round>;
}

export interface Round {
  /** How many are under way at the same time. */
  readonly lanes: number;
  act(lane: number): Promise<void>;
  close(): void;
}

/** What clients ask of identity and of oidc-provider, each with its own credential on its own connection. */
export function requestsOf(
  { identity, oidcProvider, tokens, clients }: ExchangeFixture,
  connections: number,
): Contender[] {
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

/** One request under way on each connection. */
function overHttp(
  name: ContenderName,
  service: ServiceProcess,
  path: string,
  mediaType: string,
  bodies: readonly string[],
): Contender {
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
        lanes: requests.length,
        async act(lane) {
          const status = await (sockets[lane] as RawConnection).exchange(requests[lane] as string);
          if (status !== 200) throw new BenchError(`${name}: a request was answered with ${status}.`);
        },
        close: () => sockets.forEach((socket) => void socket.close()),
      };
    },
  };
}

const signAsync = promisify(sign);
/** About what stands before the signature of an access token. */
const signedBytes = 900;

/** Nothing but RS256 signatures by the same key, two under way for each core: the most that exchanges could reach. */
export function bareSignatures({ signingKey }: ExchangeFixture): Contender {
  const key = createPrivateKey(signingKey);
  const data = randomBytes(signedBytes);
  const round = {
    lanes: 2 * availableParallelism(),
    async act() {
      await signAsync('RSA-SHA256', data, key);
    },
    close: () => undefined,
  };
  return { name: 'signature', service: undefined, open: async () => round };
}
