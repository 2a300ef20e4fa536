import { eventText } from '@baton/values/event-text';
import { emit } from '../../ledger/journal/journal.ts';
import { CommandRefused, type OperatorTools } from '../operator-command.ts';
import { apiKeyRevoked, breakGlassIssued } from './api-keys.events.ts';
import { insertNewKey } from './api-keys.ts';
import {
  findGrantee,
  findTenantsWithEmergencyKeys,
  updateEmergencyKeysToRevoked,
} from './break-glass.sql.ts';

/**
 * Emergency keys, requested by the operator while identity is unavailable; never over HTTP. See
 * docs/reference/access.md#emergency-keys.
 */
export interface BreakGlassRequest {
  principalId: string;
  ttlSeconds: number;
  reason: string;
  /** The operator's account on the host. */
  issuedBy: string;
}

export interface EmergencyKey {
  /** Shown once. */
  key: string;
  keyPrefix: string;
  expiresAt: string;
}

const ttlSecondsMin = 60;
const reasonCharactersMax = 500;
const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Issues an emergency key with the permission `admin` to an active human.
 * @throws CommandRefused `break_glass_disabled`, `invalid_ttl`, `invalid_reason`, `not_found`, `principal_not_human`,
 * `principal_not_active`
 */
export async function issueEmergencyKey(
  { pool, settings, command }: OperatorTools,
  { principalId, ttlSeconds, reason, issuedBy }: BreakGlassRequest,
): Promise<EmergencyKey> {
  const ttlSecondsMax = settings.CP_BREAK_GLASS_MAX_TTL_SECONDS;
  if (!settings.CP_BREAK_GLASS_ENABLED)
    throw new CommandRefused('break_glass_disabled', 'CP_BREAK_GLASS_ENABLED is false.');
  if (!(Number.isInteger(ttlSeconds) && ttlSeconds >= ttlSecondsMin && ttlSeconds <= ttlSecondsMax))
    throw new CommandRefused(
      'invalid_ttl',
      `the lifetime must be ${ttlSecondsMin} to ${ttlSecondsMax} seconds.`,
    );
  if (reason.trim() === '' || reason.length > reasonCharactersMax)
    throw new CommandRefused(
      'invalid_reason',
      `the reason must have 1 to ${reasonCharactersMax} characters.`,
    );
  const grantee = uuidForm.test(principalId) ? await pool.row(findGrantee(principalId)) : undefined;
  if (grantee === undefined) throw new CommandRefused('not_found', 'no principal has this id.');
  if (grantee.kind !== 'human')
    throw new CommandRefused('principal_not_human', 'emergency keys are for humans only.');
  if (grantee.status !== 'active')
    throw new CommandRefused('principal_not_active', `the principal is ${grantee.status}.`);

  return command('break-glass', grantee.tenant_id, async (context) => {
    const permissions = ['admin'];
    const grant = {
      kind: 'emergency',
      principalId: grantee.id,
      permissions,
      lifeSeconds: ttlSeconds,
    } as const;
    const { id, key, keyPrefix, expiresAt } = await insertNewKey(context, grant);
    if (key === null || expiresAt === null) throw new Error('an emergency key was created without an expiry');
    emit(
      { ...context, requestId: `break-glass:${id}` },
      breakGlassIssued,
      { entityId: id },
      {
        principalId: grantee.id,
        keyPrefix,
        permissions,
        expiresAt,
        ttlSeconds,
        reason: eventText(reason.trim()),
        issuedBy,
      },
    );
    return { key, keyPrefix, expiresAt };
  });
}

/** Revokes every live emergency key of every tenant and returns their number. */
export async function revokeEmergencyKeys(
  { pool, command }: OperatorTools,
  issuedBy: string,
): Promise<number> {
  let revoked = 0;
  for (const { tenant_id: tenantId } of await pool.rows(findTenantsWithEmergencyKeys())) {
    revoked += await command('break-glass', tenantId, async (context) => {
      const keys = await context.db.rows(updateEmergencyKeysToRevoked(tenantId));
      for (const { id, key_prefix: keyPrefix } of keys) {
        const payload = { keyPrefix, breakGlass: true, issuedBy } as const;
        emit({ ...context, requestId: `break-glass:${id}` }, apiKeyRevoked, { entityId: id }, payload);
      }
      return keys.length;
    });
  }
  return revoked;
}
