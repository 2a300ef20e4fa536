import { createPrivateKey, randomBytes, sign } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { findTokens, insertLedgerEntries } from '@baton/identity/issuing/exchange/exchanges.sql';
import { createPool } from '@baton/kernel/database/db';
import { BenchError } from '../bench-error.ts';
import { RawConnection } from '../claim/raw-connection.ts';
import type { ServiceProcess } from '../service-process.ts';
import { audience, type ExchangeFixture, ellipticAudience, resource, scope } from './fixture.ts';
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
export function createRequests(
  { identity, oidcProvider, tokens, clients }: ExchangeFixture,
  connections: number,
): Workload[] {
  const bearers = tokens.slice(0, connections);
  const accounts = clients.slice(0, connections);
  const form = { grant_type: 'client_credentials', scope, resource };
  const exchangeBodies = bearers.map((token) => JSON.stringify({ token, audience }));
  const ellipticBodies = bearers.map((token) => JSON.stringify({ token, audience: ellipticAudience }));
  const accountBodies = accounts.map((client) => JSON.stringify({ ...client, audience, scopes: [scope] }));
  const introspectionBodies = bearers.map((token) => JSON.stringify({ token }));
  const formBodies = accounts.map(({ clientId, clientSecret }) =>
    new URLSearchParams({ ...form, client_id: clientId, client_secret: clientSecret }).toString(),
  );
  const base = '/api/v1/platform-access-tokens';
  return [
    overHttp('exchange', identity, `${base}:exchange`, json, exchangeBodies),
    overHttp('ES256 exchange', identity, `${base}:exchange`, json, ellipticBodies),
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

/**
 * The two statements of an exchange, sent by the driver without the service: each worker runs them for its own token,
 * one after the other, on its own connection.
 */
export function bareDriver(
  { databaseUrl, auditKey, tokens }: ExchangeFixture,
  connections: number,
  cleanup: AsyncDisposableStack,
): Workload {
  const pool = createPool({
    url: databaseUrl,
    connectionsMax: connections,
    applicationName: 'baton-bench',
    statementTimeoutMs: 10_000,
    lockTimeoutMs: 10_000,
    idleInTransactionTimeoutMs: 60_000,
    onError: () => undefined,
  });
  cleanup.defer(() => pool.close());
  const queries = tokens.slice(0, connections).map((token) => ({
    kind: 'platform_access_token' as const,
    publicPrefix: token.split('_')[2] ?? '',
    audience,
  }));
  const round = {
    concurrency: connections,
    async run(worker: number) {
      const query = queries[worker] as (typeof queries)[number];
      const row = await pool.row(findTokens([query], useIntervalSeconds));
      if (row?.allowed_scopes == null) throw new BenchError('The statement found no token.');
      const draft = {
        tenant_id: row.tenant_id,
        action: 'platform_access_tokens.exchange' as const,
        actor_ref: row.principal_id,
        resource_type: 'platform_access_token',
        resource_id: row.id,
        outcome: 'allowed' as const,
        reason: `pat:${query.publicPrefix} audience:${audience}`,
        request_id: `req_${worker}`,
      };
      const used = row.is_use_due ? (['platform_access_token', row.id] as const) : undefined;
      await pool.run(insertLedgerEntries([{ audit: draft, used }], auditKey));
    },
    close: () => undefined,
  };
  return { name: 'bare driver', service: undefined, open: async () => round };
}

/** The default of IAM_PAT_LAST_USED_INTERVAL_SECONDS. */
const useIntervalSeconds = 30;
