import { type Details, Refusal } from '@baton/kernel/refusal';
import { endpointsOf } from '@baton/kernel/service';
import type { Context } from './context.ts';
import type { ErrorCode } from './errors.ts';
import type { Permission } from './permissions.ts';

/** Declares one operation of coordination; see `EndpointSpec` for what each field does. */
export const endpoint = endpointsOf<{
  code: ErrorCode;
  permission: Permission;
  /** `bootstrap`: the bootstrap secret. `none`: nobody is asked. Absent: a bearer credential. */
  auth: 'bootstrap' | 'none';
  context: Context;
}>();

/** Refuses the request with a code of the error table; `reason` goes to the log only. */
export function fail(
  code: ErrorCode,
  details?: Details,
  options?: {
    headers?: Record<string, string>;
    reason?: string;
    commits?: boolean;
    status?: number;
    cause?: unknown;
  },
): never {
  throw new Refusal(code, details, options);
}
