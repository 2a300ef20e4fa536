import { endpointsOf } from '@baton/kernel/http/service';
import type { Context as LowerContext } from '../records/context.ts';
import type { Auth } from '../service/auth.ts';
import type { SigningAlgorithms } from './audiences/audience.ts';
import type { ErrorCode } from './errors.ts';

/** The context of this layer's handlers. */
export interface Context extends LowerContext {
  readonly signingAlgorithms: SigningAlgorithms;
}

/** Declares an operation of this layer; see `EndpointSpec` for the fields. */
export const endpoint = endpointsOf<{ code: ErrorCode; permission: never; auth: Auth; context: Context }>({
  idempotency: 'ignored',
});
