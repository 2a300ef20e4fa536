import { endpointsOf } from '@baton/kernel/http/service';
import type { Auth } from '../service/auth.ts';
import type { Context as LowerContext } from '../sign-in/context.ts';
import type { Caller } from './caller.ts';
import type { ErrorCode } from './errors.ts';
import type { Settings } from './settings.ts';
import type { UpstreamDirectory } from './upstream-directory/upstream-directory.ts';

/** The context of this layer's handlers. */
export interface Context extends LowerContext {
  readonly settings: Settings;
  readonly caller: Caller;
  readonly upstream: UpstreamDirectory;
}

/** Declares an operation of this layer; see `EndpointSpec` for the fields. */
export const endpoint = endpointsOf<{ code: ErrorCode; permission: never; auth: Auth; context: Context }>({
  idempotency: 'ignored',
});
