import type { Db } from '@baton/kernel/database/db';
import type { Call } from '@baton/kernel/http/runtime';
import { endpointsOf } from '@baton/kernel/http/service';
import type { Caller } from '../provisioning/caller.ts';
import type { Context as LowerContext } from '../provisioning/context.ts';
import type { ErrorCode } from '../provisioning/errors.ts';
import type { Auth } from '../service/auth.ts';
import type { Settings } from './settings.ts';

/** The context of this layer's handlers. */
export interface Context extends LowerContext {
  readonly settings: Settings;
}

type OfRequest =
  | 'db'
  | 'caller'
  | 'endpoint'
  | 'requestId'
  | 'address'
  | 'whenGone'
  | 'headers'
  | 'events'
  | 'audits'
  | 'eventTypes';

/** The parts of a context that all requests in a process share. */
export type Tools = Omit<Context, OfRequest>;

export function contextOf(tools: Tools, call: Call<Caller>, db: Db): Context {
  return {
    ...tools,
    db,
    caller: call.caller,
    endpoint: call.endpoint,
    requestId: call.requestId,
    address: call.address,
    whenGone: call.whenGone,
    headers: call.headers,
    events: [],
    audits: [],
    eventTypes: new Set(),
  };
}

/** Declares an operation of this layer; see `EndpointSpec` for the fields. */
export const endpoint = endpointsOf<{ code: ErrorCode; permission: never; auth: Auth; context: Context }>({
  idempotency: 'ignored',
});
