import { endpointsOf } from '@baton/kernel/http/service';
import type { Auth } from '../service/auth.ts';
import type { Permission } from '../service/permissions.ts';
import type { Context as LowerContext } from '../work/context.ts';
import type { ErrorCode } from './errors.ts';

/** What a handler of this layer works with. */
export type Context = LowerContext;

/** Declares an operation of this layer; see `EndpointSpec` for what each field does. */
export const endpoint = endpointsOf<{
  code: ErrorCode;
  permission: Permission;
  auth: Auth;
  context: Context;
}>();
