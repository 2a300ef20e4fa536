import { z } from 'zod';
import { ConcurrencyLimit } from '@baton/kernel/limits/concurrency-limit';
import { requestJson } from '@baton/kernel/outbound/json-request';
import type { SigningAlgorithm } from '../../../directory/audiences/audience.ts';
import { signAccessToken } from '../../../issuing/exchange/access-token.ts';
import { auditDraft } from '../../../records/audit.ts';
import type { PresentedSessionRow } from '../../browser-sessions/browser-session.ts';
import type { Context } from '../../context.ts';
import { findAudienceAlgorithm } from './reached-workspaces.sql.ts';

/**
 * Identity has no workspaces, so it requests them from coordination, as the principal for which the client would act.
 */

const namesMax = 20;
const waitMsMax = 2000;
const answerBytesMax = 256 * 1024;
const readers = new ConcurrencyLimit('readers of workspaces', {
  runningMax: 8,
  queuedMax: 100,
  waitMsMax,
});

const Listed = z.object({
  items: z.array(z.object({ name: z.string().max(500) })),
  nextCursor: z.string().nullish(),
});

export interface ReachedWorkspaces {
  readonly names: string[];
  readonly hasMore: boolean;
}

/** The principal for which the client would act, and the rights that the client would have. */
export interface Actor {
  readonly principalId: string;
  readonly kind: 'human' | 'agent';
  readonly audience: string;
  readonly scopes: readonly string[];
}

/**
 * The workspaces in which a client would have rights. The token for the request never leaves the two services.
 * @returns undefined if coordination's address isn't configured, or it returned no list in time
 */
export async function readReachedWorkspaces(
  context: Context,
  person: PresentedSessionRow,
  actor: Actor,
): Promise<ReachedWorkspaces | undefined> {
  const base = context.settings.IAM_COORDINATION_URL.replace(/\/+$/, '');
  if (base === '') return undefined;
  try {
    return await readers.run('', async () => {
      const token = await signFor(context, person, actor);
      const { status, json } = await requestJson(
        `${base}/api/v1/workspaces?status=active&limit=${namesMax}`,
        {
          method: 'GET',
          headers: { authorization: `Bearer ${token}` },
          timeoutMs: waitMsMax,
          answerBytesMax,
        },
      );
      if (status !== 200) return undefined;
      const { items, nextCursor } = Listed.parse(json);
      return { names: items.map(({ name }) => name).slice(0, namesMax), hasMore: nextCursor != null };
    });
  } catch (error) {
    // The error is only logged, because the person can decide without the names.
    context.log.warn({ err: error }, 'the workspaces of an OAuth request could not be read');
    return undefined;
  }
}

async function signFor(context: Context, person: PresentedSessionRow, actor: Actor): Promise<string> {
  const { tenant_id: tenantId, principal_id: personId, id: credentialId, public_prefix: prefix } = person;
  const found = await context.db.row(findAudienceAlgorithm(tenantId, actor.audience));
  const signing = signAccessToken(context, {
    tenantId,
    principalId: actor.principalId,
    principalKind: actor.kind,
    credentialId,
    clientId: person.client_id,
    audience: actor.audience,
    algorithm: found?.signing_algorithm as SigningAlgorithm,
    scope: actor.scopes,
    nowSeconds: person.now_seconds,
    ...(actor.kind === 'human' && { authTime: person.auth_time, acr: person.acr }),
  });
  const recording = context.ledger.record({
    audit: auditDraft(context, {
      tenantId,
      action: 'browser_sessions.use',
      resource: ['browser_session', credentialId],
      reason: `session:${prefix} workspaces of principal:${actor.principalId}`,
      actor: personId,
    }),
  });
  const [token] = await Promise.all([signing, recording]);
  return token;
}
