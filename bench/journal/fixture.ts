import { foundTenant } from '@baton/coordination/app/bootstrap/found-tenant';
import { encodeCursor } from '@baton/coordination/ledger/journal/cursor';
import { startIssuer } from '@baton/coordination/testing/issuer';
import { createPool, type Pool } from '@baton/kernel/database/db';
import { migrate } from '@baton/kernel/database/migrate';
import { sql } from '@baton/kernel/database/sql';
import { insertClaimant, migrations, tokenSeconds } from '../claim/fixture.ts';

export interface JournalTenant {
  readonly tenantId: string;
  /** A token that may read the journal and create tasks. */
  readonly token: string;
  /** Cursors distributed over its journal, each before at least one page. */
  readonly places: readonly { readonly position: number; readonly sequence: number }[];
}

export interface JournalFixture {
  /** A pool of 16 connections directly to the database. */
  readonly pool: Pool;
  readonly small: JournalTenant;
  readonly large: JournalTenant;
  /** Coordination's settings for the database and the tokens. */
  readonly settings: Readonly<Record<string, string>>;
  /** Returns the end of a tenant's journal. */
  endCursor(tenantId: string): Promise<string>;
  close(): Promise<void>;
}

export const connections = 16;
const smallEvents = 10_000;
const eventsPerInsert = 250_000;
const placesMax = 500;
const pageEvents = 200;

/** Two tenants in an empty database: one with 10,000 events, one with `events`. */
export async function makeJournalFixture(databaseUrl: string, events: number): Promise<JournalFixture> {
  await migrate(databaseUrl, migrations);
  const issuer = await startIssuer();
  const pool = createPool({
    url: databaseUrl,
    connectionsMax: connections,
    applicationName: 'baton-bench',
    statementTimeoutMs: 120_000,
    lockTimeoutMs: 60_000,
    idleInTransactionTimeoutMs: 60_000,
    onError: () => undefined,
  });
  const makeTenant = async (slug: string, count: number): Promise<JournalTenant> => {
    const { tenantId } = await foundTenant(pool, {
      tenantSlug: slug,
      tenantName: slug,
      adminDisplayName: slug,
    });
    const { iamPrincipalId } = await insertClaimant(pool, tenantId, issuer.issuer, [
      'events.read',
      'tasks.write',
      'tasks.read',
    ]);
    const token = await issuer.sign(
      {
        sub: iamPrincipalId,
        tenant_id: tenantId,
        scope: ['control-plane:write', 'control-plane:read'],
      },
      { lifeSeconds: tokenSeconds },
    );
    await fill(pool, tenantId, count);
    return { tenantId, token, places: await placesIn(pool, tenantId, count) };
  };
  const large = await makeTenant('large', events);
  const small = await makeTenant('small', smallEvents);
  return {
    pool,
    small,
    large,
    settings: {
      CP_DATABASE_URL: databaseUrl,
      CP_IAM_ISSUER: issuer.issuer,
      CP_IAM_JWKS_URL: issuer.jwksUrl,
      // Longer than a run: events reach a socket only by a notification.
      CP_WS_POLL_INTERVAL_SECONDS: '3600',
      CP_MAX_WS_PER_PRINCIPAL: '0',
    },
    async endCursor(tenantId) {
      const end = await pool.row(sql<{ position: number; sequence: number }>`
        select position, sequence from events where tenant_id = ${tenantId}
        order by position desc, sequence desc limit 1`);
      return encodeCursor(end as { position: number; sequence: number });
    },
    async close() {
      await pool.close();
      await issuer.close();
    },
  };
}

/** Each insert is a transaction, and so has its own position. */
async function fill(pool: Pool, tenantId: string, events: number): Promise<void> {
  for (let left = events; left > 0; left -= eventsPerInsert)
    await pool.run(sql`
      insert into events (id, tenant_id, type, schema_version, entity_type, entity_id, actor_id, correlation_id,
        request_id, trace_run_id, payload)
      select gen_random_uuid(), ${tenantId}, 'task.claimed', 1, 'task', gen_random_uuid(), gen_random_uuid(),
        'req_' || md5(n::text), 'req_' || md5(n::text), 'run_' || md5(n::text),
        jsonb_build_object('claimId', gen_random_uuid(), 'sessionId', gen_random_uuid(), 'holderId', gen_random_uuid(),
          'fencingToken', n, 'expiresAt', now())
      from generate_series(1, ${Math.min(left, eventsPerInsert)}::integer) n`);
  await pool.run(sql`analyze events`);
}

async function placesIn(pool: Pool, tenantId: string, events: number) {
  const { first } = (await pool.row(sql<{ first: number }>`
    select sequence as first from events where tenant_id = ${tenantId} order by position, sequence limit 1`)) as {
    first: number;
  };
  const room = Math.max(1, events - 2 * pageEvents);
  const sequences = Array.from({ length: placesMax }, (_, n) => first + Math.floor((n * room) / placesMax));
  return pool.rows(sql<{ position: number; sequence: number }>`
    select position, sequence from events where sequence = any (${sequences}::bigint[]) and tenant_id = ${tenantId}`);
}
