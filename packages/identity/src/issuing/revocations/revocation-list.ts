import { hash } from 'node:crypto';
import { z } from 'zod';

/**
 * What makes access tokens invalid before they expire: the principal, credential or tenant in their claims. Anybody may read it,
 * so ids are hashed; they are random, so a hash reveals none that the reader doesn't know.
 */
export const RevocationList = z
  .strictObject({
    not_before: z
      .int()
      .describe(
        'Seconds since 1970: every token with an earlier `iat` is revoked. 0, unless more was revoked at once than the list holds.',
      ),
    revoked: z.array(
      z.strictObject({
        sha256: z
          .string()
          .describe(
            'Of the UUID, in lower case, of a principal (`sub`), a credential (`credential_id`) or a tenant (`tenant_id`); base64url.',
          ),
        not_before: z
          .int()
          .nullable()
          .describe('Its tokens with an earlier `iat` are revoked; null: all of them.'),
      }),
    ),
  })
  .meta({ id: 'RevocationList' });
export type RevocationList = z.infer<typeof RevocationList>;

/** An event that revokes access tokens, or lets them be issued again. */
export interface RevocationEvent {
  readonly tenant_id: string;
  readonly type: RevocationType;
  /** The principal, credential or tenant. */
  readonly aggregate_id: string;
  /** Of a tenant. */
  readonly status: string | null;
  readonly at_seconds: number;
  /** Of a principal that was enabled. */
  readonly sessions_not_before: number | null;
}

const revocationTypes = [
  'principal.disabled',
  'principal.enabled',
  'credential.revoked',
  'tenant.updated',
] as const;
type RevocationType = (typeof revocationTypes)[number];

export function isRevocation(eventType: string): boolean {
  return (revocationTypes as readonly string[]).includes(eventType);
}

export interface RevocationBounds {
  /** Older events are left out; every token from before the newest of these is then revoked. */
  readonly entriesMax: number;
  /** The same of one tenant: then every token of that tenant is. */
  readonly entriesOfTenantMax: number;
}

/**
 * Makes the list from the events of the last minutes.
 * @param events the newest of each principal, credential and tenant, the newest first
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
      if (revokes(event)) revoked.set(event.aggregate_id, event.sessions_not_before);
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

/** A tenant that is active again has its tokens back; a principal has only those from after it was enabled. */
function revokes({ type, status }: RevocationEvent): boolean {
  return type !== 'tenant.updated' || status === 'disabled';
}

/** Whether the list covers an access token with these claims. */
export function isRevoked(
  { not_before, revoked }: RevocationList,
  {
    iat,
    sub,
    credential_id,
    tenant_id,
  }: { iat: number; sub: string; credential_id: string; tenant_id: string },
): boolean {
  if (iat < not_before) return true;
  if (revoked.length === 0) return false;
  const hashes = [sub, credential_id, tenant_id].map((id) => hash('sha256', id, 'base64url'));
  return revoked.some(
    (entry) => hashes.includes(entry.sha256) && (entry.not_before === null || iat < entry.not_before),
  );
}
