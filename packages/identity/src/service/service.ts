import { type Details, Refusal } from '@baton/kernel/refusal';
import { endpointsOf } from '@baton/kernel/service';
import type { Context } from './context.ts';
import type { ErrorCode } from './errors.ts';

/** Declares one operation of identity; see `EndpointSpec` for what each field does. */
export const endpoint = endpointsOf<{
  code: ErrorCode;
  permission: never;
  /**
   * `presented`: the credential travels in the body. `provisioning`: a SCIM client's bearer token. `none`: nobody is asked.
   * Absent: the admin header.
   */
  auth: 'presented' | 'provisioning' | 'none';
  context: Context;
}>({ idempotency: 'ignored' });

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
