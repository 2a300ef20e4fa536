import { endpointsOf } from '@baton/kernel/http/service';
import type { Context as LowerContext } from '../processes/context.ts';
import type { Settings } from '../processes/settings.ts';
import type { Auth } from '../service/auth.ts';
import type { Permission } from '../service/permissions.ts';
import type { ErrorCode } from './errors.ts';

/** The dependencies of this layer's handlers. */
export interface Context extends LowerContext {
  readonly settings: Settings;
}

/** Declares an operation of this layer; see `EndpointSpec` for what each field does. */
export const endpoint = endpointsOf<{
  code: ErrorCode;
  permission: Permission;
  auth: Auth;
  context: Context;
}>();
