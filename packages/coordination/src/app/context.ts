import type { Db } from '@baton/kernel/database/db';
import type { Call } from '@baton/kernel/http/runtime';
import { endpointsOf } from '@baton/kernel/http/service';
import type { Context as LowerContext } from '../notifications/context.ts';
import type { Auth } from '../service/auth.ts';
import type { Caller } from '../service/caller.ts';
import type { Permission } from '../service/permissions.ts';
import type { ErrorCode } from './errors.ts';
import { eventCatalog } from './event-types/event-catalog.ts';
import type { Health } from './health/health.ts';
import type { Settings } from './settings.ts';

/** The context of this layer's handlers. */
export interface Context extends LowerContext {
  readonly settings: Settings;
  readonly health: Health;
}

/** Tools shared by the commands of one process. */
export type Tools = Pick<
  Context,
  | 'settings'
  | 'log'
  | 'counters'
  | 'health'
  | 'contents'
  | 'memory'
  | 'secrets'
  | 'identityAdministration'
  | 'differences'
  | 'publishBindingChange'
  | 'verifyAdmission'
>;

/** The initiator of a command, the ids for its events, and the headers of a request. */
type Origin = Pick<Call<Caller>, 'caller' | 'endpoint' | 'requestId' | 'correlationId' | 'traceRunId'> &
  Partial<Pick<Call<Caller>, 'headers'>> & { readonly authorities?: Context['authorities'] };

/** @param transactional whether `db` is the transaction of a command */
export function contextOf(tools: Tools, origin: Origin, db: Db, transactional: boolean): Context {
  return {
    ...tools,
    db,
    transactional,
    caller: origin.caller,
    tenantId: origin.caller.tenantId,
    endpoint: origin.endpoint,
    requestId: origin.requestId,
    correlationId: isReserved(origin.correlationId) ? origin.requestId : origin.correlationId,
    traceRunId: origin.traceRunId,
    idempotencyKey: keyIn(origin.headers?.['idempotency-key']),
    ifNoneMatch: origin.headers?.['if-none-match'],
    authorities: origin.authorities,
    eventCatalog,
    drafts: [],
    wroteEvents: false,
    afterCommit: [],
  };
}

/**
 * Rules and process instances mark their own changes with these correlation ids. Callers can't use them, because an
 * event that a rule has marked triggers no rule, and one that an instance has marked belongs to the instance.
 */
function isReserved(correlationId: string): boolean {
  return correlationId.startsWith('work-rule:') || correlationId.startsWith('process:');
}

function keyIn(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && header.trim() !== '' ? header.trim() : null;
}

/** Runs after the commit of a command: calls its callbacks, then notifies the tenant's readers. Must not throw. */
export function finishCommand(context: Context, wake: (tenantId: string) => void): void {
  for (const act of context.afterCommit) act();
  if (context.wroteEvents) wake(context.tenantId);
}

/** Declares an operation of this layer; see `EndpointSpec` for each field. */
export const endpoint = endpointsOf<{
  code: ErrorCode;
  permission: Permission;
  auth: Auth;
  context: Context;
}>();
