import { endpointsOf } from '@baton/kernel/http/service';
import type { Context as LowerContext } from '../memory/context.ts';
import type { Auth } from '../service/auth.ts';
import type { Permission } from '../service/permissions.ts';
import type { ErrorCode } from './errors.ts';
import type { Settings } from './settings.ts';

/** The context of this layer's handlers. */
export interface Context extends LowerContext {
  readonly settings: Settings;
}

/** Declares an operation of this layer; see `EndpointSpec` for its fields. */
export const endpoint = endpointsOf<{
  code: ErrorCode;
  permission: Permission;
  auth: Auth;
  context: Context;
}>();
