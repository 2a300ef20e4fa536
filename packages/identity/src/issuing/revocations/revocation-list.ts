import { hash } from 'node:crypto';
import { z } from 'zod';

/**
 * The subjects of revocations of access tokens: the principal, credential, tenant or identity provider in the tokens'
 * claims; a workload rule is a credential. Anyone may read the list, so ids are hashed. Ids are random, so a hash
 * reveals no unknown id. The hash of a provider includes its tenant's id, because its key can be guessed. A disabled
 * external identity has no entry of its own, because its principal has one.
 */
export const RevocationList = z
  .strictObject({
    not_before: z
      .int()
      .describe(
        'Seconds since 1970: every token with an earlier `iat` is revoked. 0 unless the revocations exceed the size of the list.',
      ),
    revoked: z.array(
      z.strictObject({
        sha256: z
          .string()
          .describe(
            'The hash of the lower-case UUID of a principal (`sub`), a credential (`credential_id`) or a tenant (`tenant_id`); for an identity provider, the hash of `tenant_id`, a space and `client_id`. In base64url.',
          ),
        not_before: z
          .int()
          .nullable()
          .describe('Tokens with an earlier `iat` are revoked; null means all tokens.'),
      }),
    ),
  })
  .meta({ id: 'RevocationList' });
export type RevocationList = z.infer<typeof RevocationList>;

/** An event that revokes access tokens, or makes them valid or available again. */
export interface RevocationEvent {
  readonly tenant_id: string;
  readonly type: RevocationType;
  /** The principal, credential, tenant or identity provider. */
  readonly aggregate_id: string;
  /** Of a tenant. */
  readonly status: string | null;
  /** Set only for an identity provider. */
  readonly key: string | null;
  readonly at_seconds: number;
  /** The time at which a principal was enabled. */
  readonly sessions_not_before: number | null;
}

const revocationTypes = [
  'principal.disabled',
  'principal.enabled',
  'credential.revoked',
  'tenant.updated',
  'identity_provider.disabled',
  'identity_provider.enabled',
  'workload_rule.disabled',
  'workload_rule.enabled',
  'workload_rule.deleted',
  'browser_session.revoked',
] as const;
type RevocationType = (typeof revocationTypes)[number];

export function isRevocation(eventType: string): boolean {
  return (revocationTypes as readonly string[]).includes(eventType);
}

export interface RevocationBounds {
  /**
   * The maximum number of entries. Older events are left out, and every token issued before the newest of them is then
   * revoked.
   */
  readonly entriesMax: number;
  /**
   * The limit for one tenant. Beyond it, every token of that tenant issued before the newest omitted event is revoked
   * in the same way.
   */
  readonly entriesOfTenantMax: number;
}

/**
 * Creates the list from the events of the last few minutes.
 * @param events the newest event of each principal, credential, tenant and identity provider, newest first
 */
export function makeRevocationList(
  events: readonly RevocationEvent[],
  { entriesMax, entriesOfTenantMax }: RevocationBounds,
): RevocationList {
  const revoked = new Map<string, number | null>();
  const counts = new Map<string, number>();
  for (const event of events.slice(0, entriesMax)) {
    const count = (counts.get(event.tenant_id) ?? 0) + 1;
    counts.set(event.tenant_id, count);
    if (count <= entriesOfTenantMax) {
      if (revokes(event)) revoked.set(subjectOf(event), event.sessions_not_before);
    } else if (!revoked.has(event.tenant_id)) revoked.set(event.tenant_id, event.at_seconds + 1);
  }
  const leftOut = events[entriesMax];
  return {
    not_before: leftOut === undefined ? 0 : leftOut.at_seconds + 1,
    revoked: [...revoked].map(([id, notBefore]) => ({
      sha256: hash('sha256', id, 'base64url'),
      not_before: notBefore,
    })),
  };
}

/**
 * Whether an event revokes tokens. All tokens of a reactivated tenant, provider or workload rule are valid again; for a
 * principal, only those issued after it was enabled.
 */
function revokes({ type, status }: RevocationEvent): boolean {
  if (type === 'identity_provider.enabled' || type === 'workload_rule.enabled') return false;
  return type !== 'tenant.updated' || status === 'disabled';
}

/** The string whose hash the entry contains. */
function subjectOf({ type, aggregate_id: id, tenant_id: tenantId, key }: RevocationEvent): string {
  return type === 'identity_provider.disabled' ? `${tenantId} idp:${key}` : id;
}

/** Whether the list covers an access token with these claims. */
export function isRevoked(
  { not_before, revoked }: RevocationList,
  {
    iat,
    sub,
    credential_id,
    tenant_id,
    client_id,
  }: { iat: number; sub: string; credential_id: string; tenant_id: string; client_id?: unknown },
): boolean {
  if (iat < not_before) return true;
  if (revoked.length === 0) return false;
  const hashes = [sub, credential_id, tenant_id, `${tenant_id} ${client_id}`].map((id) =>
    hash('sha256', id, 'base64url'),
  );
  return revoked.some(
    (entry) => hashes.includes(entry.sha256) && (entry.not_before === null || iat < entry.not_before),
  );
}
